"""MLflow: what is sent there, and what is read back. `client` alone imports it; whoever is outside uses the names below.

History, which takes pandas, is a name of its own: `vigil.tracking.history` (`History`, `load_history`), with the columns of its
tables in `history_rows`.
"""

from vigil.tracking.client import (
    VIEW_PARAMETER,
    TrackingUnavailable,
    artifact_directory,
    check_reachable,
    experiment_pages,
    import_ahead,
    make_tables,
    tracking_uri,
)
from vigil.tracking.looks import EXPERIMENTS, SINCE
from vigil.tracking.run_entry import REPORT_PORT
from vigil.tracking.timeline import (
    NIGHTS,
    TIMELINES,
    NightPoint,
    PooledDrift,
    record_drift,
    record_night,
    record_night_summary,
)
from vigil.tracking.uploads import (
    DOCUMENTS,
    INVOCATION,
    RUN_PICTURES,
    VERIFICATION,
    TrackedDocument,
    document_path,
    held_looks,
    held_runs,
    read_document,
    record_tracking,
    upload,
    upload_or_note,
)

__all__ = [
    "DOCUMENTS",
    "EXPERIMENTS",
    "INVOCATION",
    "NIGHTS",
    "REPORT_PORT",
    "RUN_PICTURES",
    "SINCE",
    "TIMELINES",
    "VERIFICATION",
    "VIEW_PARAMETER",
    "NightPoint",
    "PooledDrift",
    "TrackedDocument",
    "TrackingUnavailable",
    "artifact_directory",
    "check_reachable",
    "document_path",
    "experiment_pages",
    "held_looks",
    "held_runs",
    "import_ahead",
    "make_tables",
    "read_document",
    "record_drift",
    "record_night",
    "record_night_summary",
    "record_tracking",
    "tracking_uri",
    "upload",
    "upload_or_note",
]
