"""detections.npz: what a detector found in the test images. A runner writes it, the conductor makes the figures of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from runners.contract.arrays import read_arrays, write_arrays
from runners.contract.errors import DAMAGED_ARCHIVE, NanDetections, UnusableData
from runners.contract.files import replacing

FILE_NAME = "detections.npz"


@dataclasses.dataclass(frozen=True)
class Detections:
    """What was found in n images, in any order; an image has rows for `most` detections, and those that are empty have class -1.

    image_ids: int64 [n], those of the data set. scores: float32 [n, most], 0 to 1; 0 in an empty row.
    boxes: float32 [n, most, 4], left, top, right, bottom in pixels, as far out of the image as the detector says.
    classes: int32 [n, most], a place in the class names, or -1.
    masks: float16 or float32 [n, most, m, m], 0 to 1: how probable it is that a cell of the box is the detected class's instance.
    """

    image_ids: np.ndarray
    scores: np.ndarray
    boxes: np.ndarray
    classes: np.ndarray
    masks: np.ndarray


def from_rows(rows: np.ndarray, image_ids: np.ndarray) -> Detections:
    """Return detections from what a model gives back in evaluation mode.

    Args:
        rows: [image, detection, number]: class (-1 where there is none), score, left, top, right, bottom, and the m * m cells of
            the mask. All numbers of an image are NaN that has one that is not finite anywhere: compared to a threshold it would
            pass for an image with nothing in it.

    Raises:
        NanDetections: A number is not finite.
    """
    if not np.isfinite(rows).all():
        wrong = ~np.isfinite(rows).all(axis=(1, 2))
        raise NanDetections(
            f"what was found in {int(wrong.sum())} of {len(rows)} test images is not finite, the first has the id "
            f"{image_ids[wrong][0]}"
        )
    classes, scores, boxes, masks = np.split(rows, [1, 2, 6], axis=-1)
    cells = round(masks.shape[-1] ** 0.5)
    return Detections(
        image_ids=image_ids,
        scores=scores[..., 0].astype(np.float32),
        boxes=boxes.astype(np.float32),
        classes=classes[..., 0].astype(np.int32),
        masks=masks.reshape(*masks.shape[:2], cells, cells).astype(np.float16),
    )


def write(path: Path, detections: Detections) -> None:
    """Check and write detections, all of them or nothing. Raises ValueError as `check` does."""
    check(detections)
    arrays = {field.name: getattr(detections, field.name) for field in dataclasses.fields(Detections)}
    write_arrays(path, arrays, is_compressed=True)


def step_path(run_directory: Path, step: int) -> Path:
    """Return where the detections of one evaluation are."""
    return run_directory / f"detections-{step}.npz"


def write_step(run_directory: Path, detections: Detections, *, step: int) -> None:
    """Write the detections of an evaluation after so many steps, which are the run's detections until the next."""
    path = step_path(run_directory, step)
    write(path, detections)
    with replacing(run_directory / FILE_NAME) as file:
        file.write(path.read_bytes())


def read(path: Path) -> Detections:
    """Return detections that have been checked. Raises UnusableData, with the file."""
    try:
        arrays = read_arrays(path)
        detections = Detections(**{field.name: arrays[field.name] for field in dataclasses.fields(Detections)})
        check(detections)
    except OSError as error:
        reason = error.strerror or error
        raise UnusableData(f"{path}: cannot be read ({reason}). A runner writes it at each evaluation.") from error
    except DAMAGED_ARCHIVE as error:
        raise UnusableData(f"{path}: holds no detections, or wrong ones: {error}. Run the evaluation again.") from error
    return detections


def check(detections: Detections) -> None:
    """Raise ValueError unless shapes agree, numbers are finite and in range, and empty rows are empty.

    A number that is not finite has no place in an order by score, and a mask of logits in the place of probabilities would be
    taken for one that is a little off.
    """
    _check_shapes(detections)
    found = detections.classes >= 0
    boxes, scores = detections.boxes.astype(np.float64), detections.scores
    with np.errstate(invalid="ignore"):
        for what, wrong in {
            "its class is below -1": detections.classes < -1,
            "it has class -1 and a score": ~found & (scores != 0),
            "its score is not a number from 0 to 1": found & ~((scores >= 0) & (scores <= 1)),
            "its box is not finite": found & ~np.isfinite(boxes).all(axis=-1),
            "its box ends before it begins": found & ((boxes[..., 2] < boxes[..., 0]) | (boxes[..., 3] < boxes[..., 1])),
            "its mask is not of numbers from 0 to 1": found
            & ~((detections.masks >= 0) & (detections.masks <= 1)).all(axis=(-2, -1)),
        }.items():
            if wrong.any():
                image, row = (int(index) for index in np.argwhere(wrong)[0])
                raise ValueError(
                    f"image {detections.image_ids[image]}, detection {row}: {what} (class {detections.classes[image, row]}, "
                    f"score {scores[image, row]}, box {detections.boxes[image, row].tolist()}). There are {int(wrong.sum())}"
                )


def _check_shapes(detections: Detections) -> None:
    shape = detections.scores.shape
    cells = detections.masks.shape[-1:]
    expected = {"image_ids": shape[:1], "boxes": (*shape, 4), "classes": shape, "masks": (*shape, *cells, *cells)}
    for name, wanted in expected.items():
        if (found := getattr(detections, name).shape) != wanted or len(shape) != 2:
            raise ValueError(
                f"{name} has shape {found} where scores have {shape}: allowed is {wanted}, with scores [image, detection]"
            )
    if len(np.unique(detections.image_ids)) != len(detections.image_ids):
        raise ValueError("image_ids: an image is there twice")
