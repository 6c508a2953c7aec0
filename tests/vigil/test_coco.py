"""The 24 published figures of COCO's evaluator, exactly; the same evaluator on arrays; and ways to hand things over wrongly."""

from __future__ import annotations

import copy
import dataclasses
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from pycocotools import mask as coder

from runners.contract.data import instances
from runners.contract.kinds.detections import Detections
from vigil.data.coco import figures
from vigil.data.coco.documents import decode
from vigil.data.coco.figures import FIGURES, average_precision, evaluate

DATA = Path(__file__).resolve().parents[1] / "data" / "coco_eval"
KINDS = ("bbox", "segm")
# pycocotools 2.0.11, to six decimals; the published table has three.
EXACT = {
    "bbox": (
        *(0.504581, 0.696973, 0.572982, 0.585626, 0.519400, 0.501398),
        *(0.386813, 0.593680, 0.595353, 0.639811, 0.566421, 0.564291),
    ),
    "segm": (
        *(0.319545, 0.562288, 0.298927, 0.387374, 0.310183, 0.326934),
        *(0.268230, 0.415449, 0.416839, 0.469450, 0.376759, 0.381472),
    ),
}


def read(name: str):
    return json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))


def published(kind: str) -> list[float]:
    """Return the twelve figures of the published table."""
    section = (DATA / "published.txt").read_text(encoding="utf-8").split(f"type={kind}")[1].split("type=")[0]
    return [float(figure) for figure in re.findall(r"= (\d\.\d{3})$", section, flags=re.MULTILINE)]


@pytest.fixture(scope="module")
def _truth():
    return read("ground_truth")


@pytest.fixture
def truth(_truth):
    """The ground truth, a copy that a test may change."""
    return copy.deepcopy(_truth)


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


def assert_published(truth, found, kind) -> None:
    """Raise unless the figures are the published ones to three decimals, and to six those that were written down."""
    reached = average_precision(truth, found, kind=kind)
    assert [round(reached[name], 3) for name in FIGURES] == published(kind)
    assert tuple(round(reached[name], 6) for name in FIGURES) == EXACT[kind]


def test_the_published_figures_are_reproduced(truth, kind):
    """All twelve, for boxes and for masks, from the published detections."""
    assert len(published(kind)) == 12
    assert_published(truth, read(f"{kind}_results"), kind)


def one_detection_dropped(truth, found, kind):
    found.remove(max(found, key=lambda result: result["score"]))


def categories_shifted(truth, found, kind):
    ids = [category["id"] for category in truth["categories"]]
    following = dict(zip(ids, ids[1:] + ids[:1], strict=True))
    for result in found:
        result["category_id"] = following[result["category_id"]]


def boxes_as_corners(truth, found, kind):
    for result in found:
        left, top, width, height = result["bbox"]
        result["bbox"] = [left, top, left + width, top + height]


def masks_read_along_rows(truth, found, kind):
    for result in found:
        mask = decode(result["segmentation"])
        result["segmentation"] = coder.encode(np.asfortranarray(mask.T.reshape(mask.shape), np.uint8))


def crowds_counted(truth, found, kind):
    for annotation in truth["annotations"]:
        annotation["iscrowd"] = 0


def crowds_dropped(truth, found, kind):
    truth["annotations"] = [annotation for annotation in truth["annotations"] if not annotation["iscrowd"]]


def areas_of_boxes(truth, found, kind):
    for annotation in truth["annotations"]:
        annotation["area"] = annotation["bbox"][2] * annotation["bbox"][3]


def scores_in_one_decimal(truth, found, kind):
    for result in found:
        result["score"] = round(result["score"], 1)


DEFECTS_OF_BOTH = (one_detection_dropped, categories_shifted, crowds_counted, areas_of_boxes, scores_in_one_decimal)


@pytest.mark.parametrize(
    ("kind", "defect"),
    [
        ("bbox", boxes_as_corners),
        ("bbox", crowds_dropped),  # no made-up mask meets a crowd: for masks, the test on arrays below sees it
        ("segm", masks_read_along_rows),
        *((kind, defect) for kind in KINDS for defect in DEFECTS_OF_BOTH),
    ],
)
def test_a_defect_is_caught_by_the_figures(truth, kind, defect):
    """Each of these moves at least one of the figures beyond what they are held to."""
    found = read(f"{kind}_results")
    defect(truth, found, kind)
    with pytest.raises(AssertionError):
        assert_published(truth, found, kind)


def test_transposed_masks_do_not_fit_their_images(truth):
    """Height and width exchanged are found by the size, with the result's place."""
    found = read("segm_results")
    found[5]["segmentation"] = coder.encode(np.asfortranarray(decode(found[5]["segmentation"]).T, np.uint8))
    with pytest.raises(ValueError, match=r"result 5 .*its mask has size \[\d+, \d+\], its image \[\d+, \d+\]"):
        average_precision(truth, found, kind="segm")


def test_nothing_is_printed_and_nothing_is_written_into_what_was_given(truth, kind, capsys):
    """pycocotools prints, and changes the annotations that it is given: neither reaches the caller."""
    found = read(f"{kind}_results")
    before = copy.deepcopy((truth, found))
    average_precision(truth, found, kind=kind)
    assert (truth, found) == before
    assert capsys.readouterr() == ("", "")


def test_the_numbers_of_annotations_do_not_matter(truth, kind):
    """Counted from 0, or all alike, they give the same figures; pycocotools alone would lose the first, or all."""
    for number, annotation in enumerate(truth["annotations"]):
        annotation["id"] = number // 2
    assert_published(truth, read(f"{kind}_results"), kind)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"image_id": 43}, "the ground truth has no such image or category"),
        ({"category_id": 12}, "the ground truth has no such image or category"),
        ({"score": float("nan")}, "score nan, allowed is a finite number"),
        ({"score": float("inf")}, "score inf, allowed is a finite number"),
        ({"bbox": [1.0, 2.0, float("nan"), 3.0]}, "box .*allowed are finite numbers"),
        ({"bbox": [1.0, 2.0, -1.0, 3.0]}, "box .*with width and height from 0"),
    ],
)
def test_a_result_that_cannot_be_is_refused(truth, change, what):
    """pycocotools would pass over it, or put it first: here the message has its place."""
    found = read("bbox_results")
    found[7] |= change
    with pytest.raises(ValueError, match=f"result 7 .*{what}"):
        average_precision(truth, found, kind="bbox")


def test_no_detections_are_a_result_of_zero(truth, kind):
    """Where nothing is found every figure is 0, and none is left out."""
    assert average_precision(truth, [], kind=kind) == dict.fromkeys(FIGURES, 0.0)


# Arrays.


@pytest.fixture(scope="module")
def scene_set() -> instances.InstanceSet:
    return instances.load({"name": "scenes", "n_train": 1, "n_test": 30}, None)


def perfect(split: instances.Instances, *, cells: int = 28) -> Detections:
    """Return the ground truth as detections: its boxes, and its masks read at the centres of cells."""
    n, most = split.classes.shape
    masks = np.zeros((n, most, cells, cells), np.float16)
    for image, row in np.argwhere(split.classes >= 0):
        left, top, right, bottom = split.boxes[image, row]
        places = (np.arange(cells) + 0.5) / cells
        rows, columns = (top + places * (bottom - top)).astype(int), (left + places * (right - left)).astype(int)
        masks[image, row] = split.masks(image)[row][rows[:, None], columns]
    # Scores fall from row to row, so that no two in an image are alike.
    scores = np.where(split.classes >= 0, np.linspace(0.95, 0.6, most, dtype=np.float32), np.float32(0))
    return Detections(split.image_ids.copy(), scores, split.boxes.copy(), split.classes.copy(), masks)


def figures_of(scene_set, **changes) -> figures.Figures:
    found = dataclasses.replace(perfect(scene_set.test), **changes)
    return evaluate(scene_set.test, found, class_names=scene_set.class_names)


def test_the_ground_truth_itself_is_found(scene_set):
    """Boxes are perfect. Masks lose by 28 x 28 cells what they lose: 0.970, and 1 at an overlap of one half."""
    reached = figures_of(scene_set)
    assert set(reached) == {f"{kind}_{name}" for kind in ("box", "mask") for name in FIGURES}
    assert reached["box_ap"] == reached["box_ap75"] == reached["box_ar100"] == 1.0
    assert reached["mask_ap50"] == 1.0
    assert round(reached["mask_ap"], 3) == 0.970


def test_what_is_not_there_has_no_figure(scene_set):
    """No shape is larger than 96 x 96 pixels: those figures are None, and not a number."""
    reached = figures_of(scene_set)
    assert [name for name, value in reached.items() if value is None] == [
        f"{kind}_{name}" for kind in ("box", "mask") for name in ("ap_large", "ar_large")
    ]


def test_images_and_rows_may_come_in_any_order(scene_set):
    """Detections belong to their image by its id, and a row's place means nothing."""
    order, rows = np.random.default_rng(0).permutation(30), np.array([5, 1, 7, 0, 3, 2, 6, 4])
    found = perfect(scene_set.test)
    mixed = {field.name: getattr(found, field.name)[order] for field in dataclasses.fields(Detections)}
    mixed |= {name: mixed[name][:, rows] for name in ("scores", "boxes", "classes", "masks")}
    assert evaluate(scene_set.test, Detections(**mixed), class_names=scene_set.class_names) == figures_of(scene_set)


@pytest.mark.parametrize(
    ("defect", "lowered", "kept"),
    [
        (lambda found: {"masks": found.masks.swapaxes(-1, -2)}, ["mask_ap75"], ["box_ap"]),
        (lambda found: {"masks": found.masks[:, ::-1]}, ["mask_ap50"], ["box_ap"]),
        (lambda found: {"masks": 1 - found.masks}, ["mask_ap50"], ["box_ap"]),
        (lambda found: {"boxes": found.boxes[..., [1, 0, 3, 2]]}, ["box_ap50", "mask_ap50"], []),
        (lambda found: {"boxes": found.boxes + np.float32(6)}, ["box_ap75", "mask_ap75"], []),
        (lambda found: {"classes": np.where(found.classes < 0, -1, (found.classes + 1) % 6)}, ["box_ap50", "mask_ap50"], []),
        (lambda found: {"image_ids": np.roll(found.image_ids, 1)}, ["box_ap50", "mask_ap50"], []),
    ],
    ids=["transposed", "of-another", "inverted", "rows-for-columns", "moved", "classes-shifted", "images-shifted"],
)
def test_a_defect_lowers_the_figures_that_it_should(scene_set, defect, lowered, kept):
    """A wrong mask leaves the boxes' figures; a wrong box, class or image lowers both."""
    whole, broken = figures_of(scene_set), figures_of(scene_set, **defect(perfect(scene_set.test)))
    for name in lowered:
        assert broken[name] < 0.9 * whole[name], name
    for name in kept:
        assert broken[name] == whole[name], name


def test_a_detection_in_a_crowd_is_neither_right_nor_wrong(scene_set):
    """With an instance marked as a crowd its detection is passed over; with the instance gone it is a false positive."""
    classes = scene_set.test.classes
    image, row = np.argwhere((classes >= 0) & ((classes >= 0).sum(axis=1, keepdims=True) > 2))[0]
    crowd, without = np.zeros_like(scene_set.test.crowd), classes.copy()
    crowd[image, row], without[image, row] = True, -1
    found, names = perfect(scene_set.test), scene_set.class_names
    passed = evaluate(dataclasses.replace(scene_set.test, crowd=crowd), found, class_names=names)
    wrong = evaluate(dataclasses.replace(scene_set.test, classes=without), found, class_names=names)
    assert (passed["box_ap"], passed["mask_ap50"]) == (1.0, 1.0)
    assert wrong["box_ap"] < 1.0
    assert wrong["mask_ap50"] < 1.0
    # Nor need it be found: an instance would be missed.
    found.classes[image, row], found.scores[image, row] = -1, 0
    assert evaluate(dataclasses.replace(scene_set.test, crowd=crowd), found, class_names=names)["box_ap"] == 1.0
    assert evaluate(scene_set.test, found, class_names=names)["box_ap"] < 1.0


def test_every_test_image_must_have_been_evaluated(scene_set):
    """Half of the images, or one of another set, is an error: missed instances would look like a weak detector."""
    found = perfect(scene_set.test)
    fewer = Detections(**{field.name: getattr(found, field.name)[:20] for field in dataclasses.fields(Detections)})
    with pytest.raises(ValueError, match="20 of 30 images have detections, and 0 more"):
        evaluate(scene_set.test, fewer, class_names=scene_set.class_names)
    with pytest.raises(ValueError, match="29 of 30 images have detections, and 1 more"):
        figures_of(scene_set, image_ids=np.where(found.image_ids == 7, 99, found.image_ids))


def test_a_class_without_a_name_is_refused(scene_set):
    """pycocotools would not count its detections at all."""
    with pytest.raises(ValueError, match="class 6 was found: allowed are 0 to 5"):
        figures_of(scene_set, classes=np.where(perfect(scene_set.test).classes == 5, 6, perfect(scene_set.test).classes))


def test_a_score_that_is_no_number_is_refused(scene_set):
    """Sorted by score, NaN would have a place; here it has a message."""
    scores = perfect(scene_set.test).scores
    scores[3, 0] = np.nan
    with pytest.raises(ValueError, match="image 4, detection 0: its score is not a number from 0 to 1"):
        figures_of(scene_set, scores=scores)


def test_nothing_found_is_zero(scene_set):
    """Empty rows only: every figure is 0, or None where there is nothing to find."""
    found = perfect(scene_set.test)
    reached = figures_of(scene_set, classes=np.full_like(found.classes, -1), scores=np.zeros_like(found.scores))
    assert set(reached.values()) == {0.0, None}
