"""A user's annotations and images: read, checked entry by entry, and refused with the file, the place and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from vigil.data.coco.documents import Document, decode
from vigil.errors import DataError

_EXIF_ORIENTATION = 0x0112
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK")  # of 8 bits a channel: others would be cut off
_FARTHEST = 1e5  # a coordinate in pixels


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63  # ids are kept in 64 bits


def _is_size(value: Any) -> bool:
    return _is_count(value) and value > 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_inside(value: Any) -> bool:
    return _is_text(value) and not PurePosixPath(value).is_absolute() and ".." not in PurePosixPath(value).parts


_ENTRIES: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "images": {
        "id": (_is_count, "a whole number from 0"),
        "file_name": (_is_inside, "a path within the folder of images"),
        "height": (_is_size, "a whole number from 1"),
        "width": (_is_size, "a whole number from 1"),
    },
    "categories": {"id": (_is_count, "a whole number from 0"), "name": (_is_text, "a name")},
    "annotations": {
        "image_id": (_is_count, "the id of an image"),
        "category_id": (_is_count, "the id of a category"),
        "segmentation": (lambda value: isinstance(value, list | dict) and bool(value), "polygons or run lengths"),
    },
}


def read_document(path: Path) -> Document:
    """Return images, categories and annotations of a file in COCO's format, every entry checked.

    Raises:
        DataError: The file cannot be read, or an entry lacks what is needed, names what is not there, or is there twice.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Give a file of annotations in COCO's format.") from error
    except ValueError as error:
        raise DataError(f"{path}: is no JSON ({error}). Give a file of annotations in COCO's format.") from error
    for name, keys in _ENTRIES.items():
        entries = document.get(name) if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise DataError(f"{path}: has no list {name!r}. A file of annotations has {', '.join(_ENTRIES)}.")
        for place, entry in enumerate(entries):
            for key, (is_allowed, allowed) in keys.items():
                found = entry.get(key) if isinstance(entry, dict) else None
                if not is_allowed(found):
                    raise DataError(f"{path}: {name}[{place}]: {key} is {_shown(found)}, allowed is {allowed}.")
    _check_references(document, path)
    return document


def decode_annotation(annotation: Document, *, height: int, width: int) -> np.ndarray:
    """Return the mask of an annotation's polygons or run lengths, bool [height, width]. Raises ValueError."""
    from pycocotools import mask as coder

    segmentation = annotation["segmentation"]
    if isinstance(segmentation, dict):
        if list(segmentation.get("size", ())) != [height, width]:
            raise ValueError(f"its mask has size {segmentation.get('size')}, its image {[height, width]} (height, width)")
        if not isinstance(segmentation.get("counts"), str | list):
            raise ValueError("its mask has no counts, as a text or a list")
        return decode(segmentation)
    for polygon in segmentation:
        # Of four numbers pycocotools would make a box.
        if not isinstance(polygon, list) or len(polygon) < 6 or len(polygon) % 2 or not all(map(_is_coordinate, polygon)):
            raise ValueError(f"polygon {_shown(polygon)}: allowed are at least three points, x and y, in pixels")
    lengths = coder.merge(coder.frPyObjects([[float(each) for each in polygon] for polygon in segmentation], height, width))
    return decode(lengths)


def read_image(path: Path, *, height: int, width: int) -> tuple[np.ndarray, bool]:
    """Return the pixels of an image, uint8 [height, width, 3], and whether its camera was turned.

    Annotations are in the pixels as they are stored, so that a turn that the file asks for is not carried out.

    Raises:
        DataError: The file is missing or damaged, has more than 8 bits a channel, or another size than its annotations say.
    """
    from PIL import Image

    try:
        with Image.open(path) as image:
            image.load()
            mode, size = image.mode, (image.height, image.width)
            is_turned = image.getexif().get(_EXIF_ORIENTATION, 1) != 1
            pixels = np.array(image.convert("RGB")) if mode in _MODES else None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: cannot be read as an image ({getattr(error, 'strerror', None) or error}).") from error
    if pixels is None:
        raise DataError(f"{path}: has pixels of kind {mode}, allowed are {', '.join(_MODES)}. Convert it to 8 bits a channel.")
    if size != (height, width):
        raise DataError(
            f"{path}: is {size[0]} x {size[1]} pixels (height x width), its annotations say {height} x {width}. They must be of "
            "the same image, as it is stored."
        )
    return pixels, is_turned


def _check_references(document: Document, path: Path) -> None:
    for name, key in (("images", "id"), ("categories", "id"), ("categories", "name")):
        seen = set()
        for place, entry in enumerate(document[name]):
            if entry[key] in seen:
                raise DataError(f"{path}: {name}[{place}]: {key} {entry[key]!r} is there twice.")
            seen.add(entry[key])
    for key, name in (("image_id", "images"), ("category_id", "categories")):
        known = {entry["id"] for entry in document[name]}
        for place, annotation in enumerate(document["annotations"]):
            if annotation[key] not in known:
                raise DataError(f"{path}: annotations[{place}]: {key} {annotation[key]} is not among the {name}.")
    for place, annotation in enumerate(document["annotations"]):
        if annotation.get("iscrowd", 0) not in (0, 1):
            raise DataError(f"{path}: annotations[{place}]: iscrowd is {_shown(annotation['iscrowd'])}, allowed are 0 and 1.")


def _is_coordinate(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= _FARTHEST  # of NaN nothing is true


def _shown(value: Any) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
