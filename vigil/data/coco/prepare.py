"""From a user's folder in COCO's format to one file that a runner loads, with a count of everything that is left out.

Training images: crowds are left out, then of an image with more instances than rows the smallest ones, then images without any.
Test images: all of them, with every instance; a crowd stays, as a region where a detector is neither right nor wrong. In both, an
instance of which no pixel is left at the recipe's side is left out. A box is the smallest around its mask, as in the scenes.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from runners.contract.data.instances import Instances, InstanceSet, make_set
from runners.contract.data.scenes import box_of
from vigil.data.coco.annotations import decode_annotation, read_document, read_image
from vigil.data.coco.documents import Document
from vigil.data.coco.resize import fit_image, fit_mask
from vigil.errors import DataError

# Called with the split, the images that are done, and all there are.
Progress = Callable[[str, int, int], None]


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a split comes from: a file of annotations, and the folder that its file names are in."""

    annotations: Path
    images: Path


@dataclasses.dataclass
class Counts:
    """What became of a split."""

    images: int = 0
    instances: int = 0
    crowds: int = 0
    crowds_left_out: int = 0
    vanished: int = 0
    beyond_the_most: int = 0
    images_beyond_the_most: int = 0
    images_left_out: int = 0
    turned: int = 0


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A set, what became of each split, and how many test images have the pixels of a training image."""

    whole: InstanceSet
    counts: dict[str, Counts]
    shared_images: int


def prepare(*, train: Source, test: Source, side: int, most: int, progress: Progress) -> Prepared:
    """Return the set of two splits.

    Args:
        side: height and width of every image, in pixels; a multiple of 8. most: rows for instances in a training image.

    Raises:
        DataError: A file is missing or wrong, or the splits have other categories.
    """
    documents = {name: read_document(source.annotations) for name, source in (("train", train), ("test", test))}
    categories = {name: {each["id"]: each["name"] for each in document["categories"]} for name, document in documents.items()}
    if categories["train"] != categories["test"]:
        differing = sorted(set(categories["train"].items()) ^ set(categories["test"].items()))
        raise DataError(
            f"{test.annotations}: its categories are not those of {train.annotations}; in one of them only: {differing[:5]}. "
            "Both splits need the same ids and names."
        )
    places = {number: place for place, number in enumerate(sorted(categories["train"]))}
    counts = {"train": Counts(), "test": Counts()}
    splits = {
        name: _prepare_split(name, documents[name], source, places, counts[name], side=side, most=most, progress=progress)
        for name, source in (("train", train), ("test", test))
    }
    known = {image.tobytes() for image in splits["train"].images}
    shared = sum(image.tobytes() in known for image in splits["test"].images)
    whole = make_set(splits["train"], splits["test"], tuple(categories["train"][number] for number in places))
    return Prepared(whole, counts, shared)


def _prepare_split(
    name: str,
    document: Document,
    source: Source,
    places: dict[int, int],
    counts: Counts,
    *,
    side: int,
    most: int,
    progress: Progress,
) -> Instances:
    annotations = defaultdict(list)
    for place, annotation in enumerate(document["annotations"]):
        annotations[annotation["image_id"]].append((place, annotation))
    images, ids, rows = [], [], []
    for done, image in enumerate(document["images"]):
        progress(name, done, len(document["images"]))
        found = _instances(image, annotations[image["id"]], source, counts, side=side, keeps_crowds=name == "test")
        if name == "train":
            found = _largest(found, most, counts)
            if not found:
                counts.images_left_out += 1
                continue
        pixels, is_turned = read_image(source.images / image["file_name"], height=image["height"], width=image["width"])
        counts.turned += is_turned
        images.append(fit_image(pixels, side))
        ids.append(image["id"])
        rows.append([(places[category], is_crowd, mask) for category, is_crowd, mask in found])
    if not images:
        raise DataError(f"{source.annotations}: no image is left for {name}. Give one with at least one instance.")
    counts.images = len(images)
    counts.crowds = sum(is_crowd for row in rows for _, is_crowd, _ in row)
    counts.instances = sum(map(len, rows)) - counts.crowds
    return _stacked(np.stack(images), np.array(ids, np.int64), rows, side=side, most=max(most, *map(len, rows)))


def _instances(
    image: Document,
    annotations: list[tuple[int, Document]],
    source: Source,
    counts: Counts,
    *,
    side: int,
    keeps_crowds: bool,
) -> list[tuple[int, bool, np.ndarray]]:
    """Return category, crowd or not, and mask at the recipe's side, of what is left of an image's annotations, in their order."""
    found = []
    for place, annotation in annotations:
        is_crowd = bool(annotation.get("iscrowd", 0))
        if is_crowd and not keeps_crowds:
            counts.crowds_left_out += 1
            continue
        try:
            mask = fit_mask(decode_annotation(annotation, height=image["height"], width=image["width"]), side)
        except (ValueError, TypeError) as error:
            raise DataError(f"{source.annotations}: annotations[{place}]: {error}.") from error
        if mask.any():
            found.append((annotation["category_id"], is_crowd, mask))
        else:
            counts.vanished += 1
    return found


def _largest(found: list[tuple[int, bool, np.ndarray]], most: int, counts: Counts) -> list[tuple[int, bool, np.ndarray]]:
    """Return the instances with the most pixels, in the order in which they were."""
    if len(found) <= most:
        return found
    counts.images_beyond_the_most += 1
    counts.beyond_the_most += len(found) - most
    areas = [-int(mask.sum()) for _, _, mask in found]
    return [found[place] for place in sorted(np.argsort(areas, kind="stable")[:most])]


def _stacked(images: np.ndarray, ids: np.ndarray, rows: list[list], *, side: int, most: int) -> Instances:
    count = len(images)
    classes, crowd = np.full((count, most), -1, np.int32), np.zeros((count, most), bool)
    boxes, packed = np.zeros((count, most, 4), np.float32), np.zeros((count, most, side * side // 8), np.uint8)
    for image, row in enumerate(rows):
        for place, (kind, is_crowd, mask) in enumerate(row):
            classes[image, place], crowd[image, place], boxes[image, place] = kind, is_crowd, box_of(mask)
            packed[image, place] = np.packbits(mask)
    return Instances(images, ids, classes, boxes, crowd, packed)
