"""What the conductor's arrays are called in COCO's JSON: images, annotations and categories, and results.

The format: https://cocodataset.org/#format-data and #format-results. A box is left, top, width, height in pixels. A mask is run
lengths down the columns. Classes are counted from 1, and so are annotations: to pycocotools an annotation 0 is none at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.contract.data.instances import Instances
from runners.contract.kinds.detections import Detections
from vigil.data.coco.paste import paste_mask

Document = dict[str, Any]


def ground_truth(split: Instances, class_names: Sequence[str]) -> Document:
    """Return a split as a document: images without file names, annotations with boxes, areas and run lengths, categories."""
    annotations: list[Document] = []
    for index, image_id in enumerate(split.image_ids.tolist()):
        there = np.flatnonzero(split.classes[index] >= 0)
        masks = split.masks(index)[there]
        for row, lengths, area in zip(there, run_lengths(masks), masks.sum(axis=(1, 2)).tolist(), strict=True):
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": image_id,
                    "category_id": int(split.classes[index, row]) + 1,
                    "iscrowd": int(split.crowd[index, row]),
                    "area": area,
                    "bbox": _corner_and_size(split.boxes[index, row]),
                    "segmentation": lengths,
                }
            )
    images = [{"id": image_id, "height": split.side, "width": split.side} for image_id in split.image_ids.tolist()]
    return {"images": images, "annotations": annotations, "categories": categories(class_names)}


def categories(class_names: Sequence[str]) -> list[Document]:
    """Return the categories, counted from 1."""
    return [{"id": number, "name": name} for number, name in enumerate(class_names, start=1)]


def results(detections: Detections, *, side: int) -> tuple[list[Document], list[Document]]:
    """Return detections as results with boxes, and as results with the masks pasted into images of so many pixels' side."""
    boxes: list[Document] = []
    masks: list[Document] = []
    for index, image_id in enumerate(detections.image_ids.tolist()):
        there = np.flatnonzero(detections.classes[index] >= 0)
        pasted = [
            paste_mask(detections.masks[index, row], detections.boxes[index, row], height=side, width=side) for row in there
        ]
        for row, lengths in zip(there, run_lengths(np.array(pasted).reshape(-1, side, side)), strict=True):
            shared = {
                "image_id": image_id,
                "category_id": int(detections.classes[index, row]) + 1,
                "score": float(detections.scores[index, row]),
            }
            boxes.append({**shared, "bbox": _corner_and_size(detections.boxes[index, row])})
            masks.append({**shared, "segmentation": lengths})
    return boxes, masks


def run_lengths(masks: np.ndarray) -> list[Document]:
    """Return the compressed run lengths of masks, bool [n, height, width], each with its size; counts are bytes."""
    from pycocotools import mask as coder

    return coder.encode(np.asfortranarray(masks.transpose(1, 2, 0), np.uint8))


def decode(lengths: Document) -> np.ndarray:
    """Return the mask of run lengths, bool [height, width]: compressed as text or bytes, or a list of numbers.

    A run of zeros comes first, then one of ones, and so on, down the columns. Compressed, a number is a row of
    characters of 5 bits each, from "0" on, the lowest first, with a sixth bit that says whether more follow; from the fourth
    number on it is the difference to the last run of its kind (rleToString in cocoapi's maskApi.c). pycocotools' own decoder
    makes numpy 2 warn.

    Raises:
        ValueError: The runs do not add up to the mask's size.
    """
    height, width = lengths["size"]
    counts = lengths["counts"]
    if isinstance(counts, str | bytes):
        counts = _numbers(counts.encode() if isinstance(counts, str) else counts)
    if min(counts, default=0) < 0 or sum(counts) != height * width:
        raise ValueError(f"run lengths add up to {sum(counts)}, the mask has {height} x {width} pixels")
    runs = np.arange(len(counts)) % 2 == 1
    return np.repeat(runs, counts).reshape(width, height).T


def _numbers(text: bytes) -> list[int]:
    numbers: list[int] = []
    number, shift = 0, 0
    for character in text:
        bits = character - 48
        if not 0 <= bits < 64:
            raise ValueError(f"run lengths contain the character {chr(character)!r}")
        number |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            number -= 1 << shift
        numbers.append(number + (numbers[-2] if len(numbers) > 2 else 0))
        number, shift = 0, 0
    if shift:
        raise ValueError("run lengths end within a number")
    return numbers


def _corner_and_size(box: np.ndarray) -> list[float]:
    left, top, right, bottom = box.astype(np.float64).tolist()
    return [left, top, right - left, bottom - top]
