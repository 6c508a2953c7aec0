"""MLflow: what is sent there, and what is read back. `client` alone imports it; whoever is outside uses the names below."""

from vigil.tracking.address import TrackingUnavailable, artifact_directory, check_reachable, experiment_page, tracking_uri
from vigil.tracking.client import make_tables
from vigil.tracking.nights import record_night_summary
from vigil.tracking.timeline import TIMELINES, NightPoint, record_night
from vigil.tracking.uploads import (
    INVOCATION,
    RUN_PICTURES,
    VERIFICATION,
    document_path,
    read_document,
    record_tracking,
    upload,
    upload_or_note,
)

__all__ = [
    "INVOCATION",
    "RUN_PICTURES",
    "TIMELINES",
    "VERIFICATION",
    "NightPoint",
    "TrackingUnavailable",
    "artifact_directory",
    "check_reachable",
    "document_path",
    "experiment_page",
    "make_tables",
    "read_document",
    "record_night",
    "record_night_summary",
    "record_tracking",
    "tracking_uri",
    "upload",
    "upload_or_note",
]
