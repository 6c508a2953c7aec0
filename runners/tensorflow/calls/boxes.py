"""TensorFlow: boxes in images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

image_of = tf.image


def _stay(boxes: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    return image_of.non_max_suppression(boxes, scores, count, overlap, least)


def _stay_with_scores(boxes: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    return image_of.non_max_suppression_with_scores(boxes, scores, count, overlap, least)[0]


def _stay_turned(boxes: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    """Return what stays of boxes whose corners are the other two."""
    return image_of.non_max_suppression(tf.gather(boxes, [2, 1, 0, 3], axis=-1), scores, count, overlap, least)


def _stay_padded(boxes: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    return image_of.non_max_suppression_padded(boxes, scores, count, overlap, least, pad_to_max_output_size=True)


def _stay_in_tiles(boxes: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    """Return what stays of one batch, which goes another way: boxes in tiles of eight."""
    found, kept = image_of.non_max_suppression_padded(
        boxes[None],
        scores[None],
        count,
        overlap,
        least,
        pad_to_max_output_size=True,
        sorted_input=False,
        canonicalized_coordinates=True,
        tile_size=8,
    )
    # Behind those that stay there is anything.
    return tf.where(tf.range(count) < kept[0], found[0], 0), kept[0]


def _fade(boxes: Any, scores: Any, count: int, sigma: float, least: float) -> Any:
    return image_of.non_max_suppression_with_scores(boxes, scores, count, 1.0, least, sigma)


def _overlaps(overlaps: Any, scores: Any, count: int, overlap: float, least: float) -> Any:
    return image_of.non_max_suppression_overlaps(overlaps, scores, count, overlap, least)


def _of_classes(boxes: Any, scores: Any, each: int, total: int, overlap: float, least: float) -> Any:
    return tuple(image_of.combined_non_max_suppression(boxes[:, :, None], scores, each, total, overlap, least))


def _cut(image: Any, boxes: Any, height: int, width: int, method: str, outside: float) -> Any:
    of = tf.range(len(boxes)) % 2
    return image_of.crop_and_resize(image, boxes, of, [height, width], method, outside)


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "boxes_that_stay": {
        "tensorflow.image.non_max_suppression": _stay,
        "tensorflow.image.non_max_suppression (other corners)": _stay_turned,
        "tensorflow.image.non_max_suppression_with_scores": _stay_with_scores,
    },
    "boxes_that_stay_padded": {
        "tensorflow.image.non_max_suppression_padded": _stay_padded,
        "tensorflow.image.non_max_suppression_padded (batches)": _stay_in_tiles,
    },
    "boxes_that_fade": {"tensorflow.image.non_max_suppression_with_scores": _fade},
    "overlaps_that_stay": {"tensorflow.image.non_max_suppression_overlaps": _overlaps},
    "boxes_of_classes_that_stay": {"tensorflow.image.combined_non_max_suppression": _of_classes},
    "cut_and_resized": {"tensorflow.image.crop_and_resize": _cut},
}
