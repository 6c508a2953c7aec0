"""Detections that lie in a run directory, with the ground truth that the spec beside them names."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

from runners.contract.data import instances
from runners.contract.data.instances import Instances
from runners.contract.errors import UnusableData
from runners.contract.kinds import detections
from runners.contract.kinds.detections import Detections
from runners.contract.protocol.spec import FILE_NAME, read_spec
from vigil.data.official import ensure_instances
from vigil.documents.record import Record
from vigil.errors import DataError


@dataclasses.dataclass(frozen=True)
class RecordedDetections:
    """Detections, the test split that they are of, the data set's name, and which run they are from."""

    detections: Detections
    truth: Instances
    class_names: tuple[str, ...]
    name: str
    title: str


def read_recorded(path: Path) -> RecordedDetections:
    """Return the detections of a file in a run directory.

    Raises:
        DataError: The file, the spec beside it, or the data set is missing, damaged or altered.
        DocumentError: The record beside it is, or says that it was made of another file.
    """
    with contextlib.suppress(FileNotFoundError):  # of a run that was killed
        Record.read(path.parent).require_files(path.parent, path.name)
    try:
        found = detections.read(path)
    except UnusableData as error:
        raise DataError(str(error)) from error
    try:
        spec = read_spec(path.parent)
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"{path.parent / FILE_NAME}: cannot be read ({reason}). It says which images the detections are of: leave "
            f"{path.name} in its run directory."
        ) from error
    data = spec.training["data"]
    directory = ensure_instances(data)
    whole = instances.load(data, str(directory) if directory else None)
    title = f"{spec.recipe['name']}, {spec.recipe['profile']}, {spec.framework}, seed {spec.seed}"
    return RecordedDetections(found, whole.test, whole.class_names, data["name"], title)
