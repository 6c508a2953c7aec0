"""Average precision and recall of boxes and masks, by pycocotools: Lin et al. 2014, Microsoft COCO, arXiv 1405.0312.

The twelve figures are those of https://cocodataset.org/#detection-eval. Precision is averaged over classes and over the overlaps
0.50, 0.55 to 0.95 that a detection must have with the ground truth; small is an area of up to 32 x 32 pixels, large one from
96 x 96 on, in the images as they are evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from runners.contract.data.instances import Instances
from runners.contract.kinds.detections import Detections, check
from vigil.data.coco.documents import Document, ground_truth, results

FIGURES = (
    *("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large"),
    *("ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large"),
)
Figures = dict[str, "float | None"]


def evaluate(truth: Instances, detections: Detections, *, class_names: Sequence[str]) -> Figures:
    """Return the twelve figures of boxes and of masks, `box_ap` to `mask_ar_large`, from 0 to 1.

    A figure is None where there is nothing to find, as no large instance. Every image of the ground truth counts: one in which
    nothing was found is there with empty rows. Boxes are taken as they are, beyond the image too; masks are pasted by
    `vigil.data.coco.paste`.

    Raises:
        ValueError: Detections of other images than the ground truth's, of a class that it has no name for, or with a number that
            is none.
    """
    check(detections)
    expected, found = set(truth.image_ids.tolist()), set(detections.image_ids.tolist())
    if expected != found:
        raise ValueError(
            f"{len(expected & found)} of {len(expected)} images have detections, and {len(found - expected)} more are not "
            "of this set. Evaluate every test image, and no other"
        )
    if detections.classes.max(initial=-1) >= len(class_names):
        raise ValueError(f"class {detections.classes.max()} was found: allowed are 0 to {len(class_names) - 1}")
    document = ground_truth(truth, class_names)
    boxes, masks = results(detections, side=truth.side)
    figures = {f"box_{name}": value for name, value in average_precision(document, boxes, kind="bbox").items()}
    return figures | {f"mask_{name}": value for name, value in average_precision(document, masks, kind="segm").items()}


def average_precision(document: Document, found: Sequence[Document], *, kind: Literal["bbox", "segm"]) -> Figures:
    """Return the twelve figures of boxes or of masks.

    Args:
        document: images, annotations and categories in COCO's format; it is left as it is.
        found: results in COCO's format, with `bbox` or `segmentation`.

    Raises:
        ValueError: A result for an image or category that the ground truth does not have, which pycocotools would pass over, or
            with a score or box that is no number, with its place.
    """
    from pycocotools.cocoeval import COCOeval

    _keep_quiet()
    _check_results(document, found, kind=kind)
    judge = COCOeval(_indexed(document, document["annotations"]), _indexed(document, _measured(found, kind=kind)), kind)
    judge.evaluate()
    judge.accumulate()
    judge.summarize()
    # pycocotools says -1 where there is nothing to find.
    return {name: None if value == -1 else float(value) for name, value in zip(FIGURES, judge.stats, strict=True)}


def _keep_quiet() -> None:
    """Let pycocotools print nothing: redirecting the output would take the lines of other threads as well."""
    from pycocotools import coco, cocoeval

    for module in (coco, cocoeval):
        module.print = _say_nothing


def _say_nothing(*words: object) -> None:
    pass


def _indexed(document: Document, annotations: Sequence[Document]) -> Any:
    """Return pycocotools' index of annotations in the images and categories of a document.

    They are counted anew: pycocotools takes an annotation 0 for none, and two of the same number for one. They are copied, for
    it writes into them.
    """
    from pycocotools.coco import COCO

    index = COCO()
    numbered = [{**annotation, "id": number} for number, annotation in enumerate(annotations, start=1)]
    index.dataset = {"images": document["images"], "categories": document["categories"], "annotations": numbered}
    index.createIndex()
    return index


def _measured(found: Sequence[Document], *, kind: str) -> list[Document]:
    """Return results with the area that they are small or large by: the box's for boxes, the mask's for masks."""
    from pycocotools import mask as coder

    if kind == "bbox":
        areas = [result["bbox"][2] * result["bbox"][3] for result in found]
    else:
        areas = [int(coder.area(result["segmentation"])) for result in found]
    return [{**result, "area": area, "iscrowd": 0} for result, area in zip(found, areas, strict=True)]


def _check_results(document: Document, found: Sequence[Document], *, kind: str) -> None:
    sizes = {image["id"]: [image["height"], image["width"]] for image in document["images"]}
    known = {category["id"] for category in document["categories"]}
    for place, result in enumerate(found):
        where = f"result {place} (image {result['image_id']}, category {result['category_id']})"
        if result["image_id"] not in sizes or result["category_id"] not in known:
            raise ValueError(f"{where}: the ground truth has no such image or category")
        if not math.isfinite(result["score"]):
            raise ValueError(f"{where}: score {result['score']}, allowed is a finite number")
        if kind == "bbox":
            if not all(map(math.isfinite, result["bbox"])) or min(result["bbox"][2:]) < 0:
                raise ValueError(f"{where}: box {result['bbox']}, allowed are finite numbers, with width and height from 0")
        elif list(result["segmentation"]["size"]) != sizes[result["image_id"]]:
            raise ValueError(
                f"{where}: its mask has size {result['segmentation']['size']}, its image {sizes[result['image_id']]} "
                "(height, width)"
            )
