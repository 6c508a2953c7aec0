"""What the evaluations of a run are worth: each one's detections, in the run directory, to average precision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runners.contract.data import instances
from runners.contract.errors import UnusableData
from runners.contract.kinds import detections
from runners.contract.protocol.spec import RunSpec
from vigil.data.coco.figures import evaluate
from vigil.documents.record import CurvePoint
from vigil.errors import DataError

FIGURES = ("box_ap", "mask_ap")


def with_average_precision(curve: Sequence[CurvePoint], run_directory: Path, spec: RunSpec) -> tuple[CurvePoint, ...]:
    """Return a run's evaluations, each with its average precision of boxes and of masks, in percent.

    It is a function of the files: a run that was resumed has them from every attempt, and those of a step that was run twice are
    the last ones.

    Args:
        curve: of record.json.

    Raises:
        DataError: Detections are missing, damaged or of other images, or the test images hold nothing to find.
    """
    if not curve:
        return ()
    measured = []
    try:
        whole = instances.load(spec.training["data"], spec.data_directory)
        for point in curve:
            found = detections.read(detections.step_path(run_directory, point.step))
            figures = evaluate(whole.test, found, class_names=whole.class_names)
            shares = {name: share for name in FIGURES if (share := figures[name]) is not None}
            if len(shares) < len(FIGURES):
                raise ValueError("the test images hold no instance: there is nothing to find")
            measures = {name: 100.0 * share for name, share in shares.items()}
            measured.append(point.replace(metrics={**point.metrics, **measures}))
    except (UnusableData, ValueError) as error:
        raise DataError(f"{run_directory}: {error}") from error
    return tuple(measured)
