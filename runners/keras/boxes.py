"""Keras: boxes in images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported

boxes_of = keras.utils.bounding_boxes
_HEIGHT, _WIDTH = 80, 120
_SHAPE = (_HEIGHT, _WIDTH, 3)


def _written(value: Any, source: str, target: str) -> Any:
    return boxes_of.convert_format(value, source, target, height=_HEIGHT, width=_WIDTH)


def _overlap(first: Any, second: Any, form: str) -> Any:
    own = (_written(first, "xyxy", form), _written(second, "xyxy", form))
    return boxes_of.compute_iou(*own, form, image_shape=_SHAPE)


def _complete(pair: Any, form: str) -> Any:
    return boxes_of.compute_ciou(_written(pair[0], "xyxy", form), _written(pair[1], "xyxy", form), form)


def _encoded(anchors: Any, boxes: Any, form: str, variance: Any) -> Any:
    return boxes_of.encode_box_to_deltas(anchors, boxes, "xyxy", "xyxy", form, variance, _SHAPE)


def _decoded(anchors: Any, deltas: Any, form: str, variance: Any, target: str) -> Any:
    if target != "xyxy":
        anchors = _written(anchors, "xyxy", target)
    return boxes_of.decode_deltas_to_boxes(anchors, deltas, target, target, form, variance, _SHAPE)


def _within(boxes: Any) -> Any:
    labels = ops.zeros(boxes.shape[:-1])
    found = boxes_of.clip_to_image_size({"boxes": boxes, "labels": labels}, _HEIGHT, _WIDTH, "xyxy")
    return found["boxes"]


def _each(first: Any, second: Any) -> Any:
    if first.shape[0] != second.shape[0]:
        raise Unsupported("batches: both have as many. Allowed: equal counts.")
    return boxes_of.compute_iou(first, second, "xyxy")


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "boxes_written": {"keras.utils.bounding_boxes.convert_format": lambda boxes, source, target: _written(boxes, source, target)},
    "boxes_read": {"keras.utils.bounding_boxes.convert_format": lambda parts, source, target: _written(parts, source, target)},
    "boxes_overlap": {"keras.utils.bounding_boxes.compute_iou": _overlap},
    "boxes_overlap_in_batches": {"keras.utils.bounding_boxes.compute_iou": _each},
    "complete_overlap": {"keras.utils.bounding_boxes.compute_ciou": _complete},
    "boxes_encoded": {"keras.utils.bounding_boxes.encode_box_to_deltas": _encoded},
    "boxes_decoded": {"keras.utils.bounding_boxes.decode_deltas_to_boxes": _decoded},
    "boxes_within": {"keras.utils.bounding_boxes.clip_to_image_size": _within},
}
