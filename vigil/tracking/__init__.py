"""MLflow: what is sent there, and what is read back. `client` alone imports it; whoever is outside uses the names below.

History, which takes pandas, is a name of its own: `vigil.tracking.history` (`History`, `load_history`), with the columns of its
tables in `history_rows`.
"""

from vigil.tracking.client import (
    TrackingUnavailable,
    artifact_directory,
    check_reachable,
    experiment_page,
    make_tables,
    tracking_uri,
)
from vigil.tracking.timeline import TIMELINES, NightPoint, record_night, record_night_summary
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
