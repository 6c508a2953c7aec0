"""Detections: they come back bit for bit, and what cannot be a detection is refused by image and row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from runners.contract.errors import UnusableData
from runners.contract.kinds import detections
from runners.contract.kinds.detections import Detections, check


@pytest.fixture
def found() -> Detections:
    """Three images with rows for four detections, of which one, none and four are filled."""
    classes = np.full((3, 4), -1, np.int32)
    classes[0, 0], classes[2] = 5, [0, 1, 2, 0]
    boxes = np.zeros((3, 4, 4), np.float32)
    boxes[classes >= 0] = [2.5, 3.0, 40.0, 20.25]
    scores = np.where(classes >= 0, np.float32(0.75), np.float32(0))
    masks = np.zeros((3, 4, 28, 28), np.float16)
    masks[classes >= 0] = np.linspace(0, 1, 28, dtype=np.float16)
    return Detections(np.array([11, 12, 4]), scores, boxes, classes, masks)


def test_detections_come_back_bit_for_bit(tmp_path, found):
    """Every array has its type, shape and bits, and nothing is left beside the file."""
    detections.write(tmp_path / "detections.npz", found)
    again = detections.read(tmp_path / "detections.npz")
    for field in dataclasses.fields(Detections):
        one, other = getattr(found, field.name), getattr(again, field.name)
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    assert [path.name for path in tmp_path.iterdir()] == ["detections.npz"]


@pytest.mark.parametrize(
    ("name", "index", "value", "what"),
    [
        ("scores", (2, 1), np.nan, "its score is not a number from 0 to 1"),
        ("scores", (2, 1), np.inf, "its score is not a number from 0 to 1"),
        ("scores", (2, 1), 1.01, "its score is not a number from 0 to 1"),
        ("scores", (2, 1), -0.01, "its score is not a number from 0 to 1"),
        ("boxes", (2, 1, 3), np.nan, "its box is not finite"),
        ("boxes", (2, 1, 2), np.inf, "its box is not finite"),
        ("boxes", (2, 1, 0), 40.5, "its box ends before it begins"),
        ("masks", (2, 1, 0, 27), np.nan, "its mask is not of numbers from 0 to 1"),
        ("masks", (2, 1, 0, 27), -3.0, "its mask is not of numbers from 0 to 1"),
        ("classes", (2, 1), -2, "its class is below -1"),
        ("classes", (2, 1), -1, "it has class -1 and a score"),
    ],
)
def test_what_is_not_a_detection_is_refused_by_image_and_row(tmp_path, found, name, index, value, what):
    """NaN, infinity, logits, an inverted box and a score without a class are each said, on writing and on reading."""
    check(found)
    getattr(found, name)[index] = value
    with pytest.raises(ValueError, match=f"image 4, detection 1: {what}"):
        detections.write(tmp_path / "detections.npz", found)
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "detections.npz", **{field.name: getattr(found, field.name) for field in dataclasses.fields(Detections)})
    with pytest.raises(UnusableData, match=rf"detections\.npz: holds no detections, or wrong ones: image 4, detection 1: {what}"):
        detections.read(tmp_path / "detections.npz")


def test_an_empty_row_may_hold_any_box(found):
    """What a box and a mask are where there is no detection is nobody's business."""
    found.boxes[1, 0], found.masks[1, 0] = np.nan, 7.0
    check(found)


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": np.zeros((3, 3), np.int32)}, {"boxes": np.zeros((3, 4), np.float32)}, {"image_ids": np.arange(4)},
        {"masks": np.zeros((3, 4, 28, 14), np.float16)}, {"scores": np.zeros(3, np.float32)},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_shapes_that_do_not_agree_are_refused(found, changes):
    """The message says which array has which shape, and which one is allowed."""
    with pytest.raises(ValueError, match="has shape"):
        check(dataclasses.replace(found, **changes))


def test_an_image_that_is_there_twice_is_refused(found):
    """Two rows for one image would count its detections twice."""
    with pytest.raises(ValueError, match="an image is there twice"):
        check(dataclasses.replace(found, image_ids=np.array([11, 12, 11])))


@pytest.mark.parametrize("keep", [0, 200, -1])
def test_a_damaged_file_is_said(tmp_path, found, keep):
    """A file that ends early names itself and what to do."""
    path = tmp_path / "detections.npz"
    detections.write(path, found)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UnusableData, match="Run the evaluation again"):
        detections.read(path)


def test_a_missing_file_is_said(tmp_path):
    """It names the file, and who writes it."""
    with pytest.raises(UnusableData, match=r"detections\.npz: cannot be read \(No such file or directory\)\. A runner writes it"):
        detections.read(tmp_path / "detections.npz")
