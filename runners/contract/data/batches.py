"""Batches: a pure function of (seed, step), so that any run can begin at any step and see what it would have seen.

Normalised and augmented in vectorised numpy, a few batches ahead of the framework, on a thread of its own.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runners.contract.data import streams
from runners.contract.data.datasets import DataSet, require_fit

# One number a row, or several arrays by name, each with a row for each image.
Labels = np.ndarray | dict[str, np.ndarray]
_AHEAD = 8
_SUMMED_AT_ONCE = 256


class Batches:
    """Training and evaluation batches of one run.

    Args:
        training: the recipe's resolved content (`batch_size`, `evaluation_batch_size`, `input`).
        order: epoch -> index array [n_train]; the shared permutation by default, a framework's own under native randomness.
    """

    def __init__(
        self, dataset: DataSet, training: dict[str, Any], *, seed: int, order: Callable[[int], np.ndarray] | None = None
    ) -> None:
        if dataset.class_names:
            require_fit(dataset, training["model"])
        self._data = dataset
        self._seed = seed
        self._batch_size = training["batch_size"]
        self._evaluation_batch_size = training["evaluation_batch_size"]
        self._augmentation = training["input"]["augmentation"]
        mean, scale = normalisation(dataset.train_images, training["input"]["normalisation"])
        # As long as an image: numpy broadcasts whole images five times faster than three channels.
        shape = dataset.train_images.shape[1:]
        self._mean, self._scale = (np.broadcast_to(each, shape).ravel() for each in (mean, scale))
        self._order = order or (lambda epoch: streams.permutation(seed, "order", epoch, count=len(dataset.train_labels)))
        self._epoch_order: tuple[int, np.ndarray] = (-1, np.empty(0))
        self.steps_per_epoch = len(dataset.train_labels) // self._batch_size

    def train(self, step: int) -> tuple[np.ndarray, Labels]:
        """Return the batch of step `step`: images float32 [batch, height, width, channel], labels int32 [batch]."""
        index = self._index(step)
        images = self._normalise(self._data.train_images[index])
        if self._augmentation is not None:
            images = augment(images, self._augmentation, seed=self._seed, step=step)
        return images, self._data.train_labels[index].astype(np.int32)

    def rows(self, step: int) -> int:
        """Return how many examples step `step` trains on."""
        del step
        return self._batch_size

    def few(self, step: int, first: int, *, count: int) -> tuple[np.ndarray, Labels]:
        """Return some rows of a step's batch, a batch of their own."""
        images, labels = self.train(step)
        _, own, _ = split(labels, (first, count, len(images) - first - count))
        return images[first : first + count], own

    def train_between(self, first: int, end: int) -> Iterator[tuple[int, np.ndarray, Labels]]:
        """Yield (step, images, labels) for first <= step < end, prepared ahead."""
        return prefetch(((step, *self.train(step)) for step in range(first, end)), ahead=_AHEAD)

    def evaluation(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (images, labels, weights); the last batch is filled up with images of weight 0, so every shape is the same."""
        return self._plain(self._data.test_images, self._data.test_labels)

    def shown(self) -> dict[str, np.ndarray]:
        """Return what a picture of the inputs shows, by name: nothing, where images are trained on as they are."""
        return {}

    def _index(self, step: int) -> np.ndarray:
        """Return which training images a step's batch is made of."""
        epoch, position = divmod(step, self.steps_per_epoch)
        order = self._epoch_order  # a thread that asks for another epoch's may replace it
        if order[0] != epoch:
            order = self._epoch_order = (epoch, self._order(epoch))
        return order[1][position * self._batch_size : (position + 1) * self._batch_size]

    def _plain(self, images: np.ndarray, labels: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        size = self._evaluation_batch_size
        for start in range(0, len(labels), size):
            some, some_labels = self._normalise(images[start : start + size]), labels[start : start + size].astype(np.int32)
            missing = size - len(some_labels)
            weights = np.concatenate([np.ones(len(some_labels), np.float32), np.zeros(missing, np.float32)])
            yield np.pad(some, ((0, missing), (0, 0), (0, 0), (0, 0))), np.pad(some_labels, (0, missing)), weights

    def _normalise(self, images: np.ndarray) -> np.ndarray:
        flat = np.subtract(images.reshape(len(images), -1), self._mean, dtype=np.float32)
        flat *= self._scale
        return flat.reshape(images.shape)


def normalisation(images: np.ndarray, rule: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return (mean, 1 / deviation) as float32, in units of a pixel from 0 to 255.

    Either is three numbers of the recipe, for pixels from 0 to 1; or the mean image and each channel's deviation are taken of the
    training images, from exact integer sums. Between `minimum` and `maximum`, of each pixel, images lie from 0 to 1. A pixel, or
    a channel, that is always the same is 0.
    """
    if rule == {"minimum": "per_pixel", "maximum": "per_pixel"}:
        least, most = images.min(axis=0).astype(np.float64), images.max(axis=0)
        return least.astype(np.float32), (1.0 / np.where(most > least, most - least, 1.0)).astype(np.float32)
    if isinstance(rule.get("mean"), list):
        mean, deviation = (255.0 * np.array(rule[key]) for key in ("mean", "deviation"))
        return mean.astype(np.float32), (1.0 / deviation).astype(np.float32)
    if rule != {"mean": "per_pixel", "deviation": "per_channel"}:
        raise ValueError(
            f"normalisation {rule}: allowed is a per_pixel mean with a per_channel deviation, numbers, or a per_pixel minimum "
            "and maximum"
        )
    sums, squares = _sums(images)
    n = images.size // images.shape[-1]
    total, total_of_squares = (each.sum(axis=(0, 1)) for each in (sums, squares))
    variance = total_of_squares / n - (total / n) ** 2
    return (sums / len(images)).astype(np.float32), (1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))).astype(np.float32)


def _sums(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over images uint8 [n, height, width, channel], and of their squares, int64 [height, width, channel]."""
    rows = images.reshape(len(images), -1)
    sums, squares = np.zeros((2, rows.shape[1]), np.int64)
    # Of so many rows 16 bits hold the sums, and 32 those of squares. In 64 bits CIFAR-10 takes 1.6 s, and 0.06 s so.
    for first in range(0, len(rows), _SUMMED_AT_ONCE):
        some = rows[first : first + _SUMMED_AT_ONCE]
        sums += some.sum(axis=0, dtype=np.uint16)
        squares += np.square(some, dtype=np.uint16).sum(axis=0, dtype=np.uint32)
    return sums.reshape(images.shape[1:]), squares.reshape(images.shape[1:])


def augment(images: np.ndarray, rule: dict[str, Any], *, seed: int, step: int) -> np.ndarray:
    """Mirror each image with the given probability, pad it with zeros (the mean), and cut a window at a random place.

    Args:
        images: normalised, float32 [batch, height, width, channel].
        rule: `padding` pixels on each side, `crop` side of the window, `flip_probability`.
    """
    count, height, width, channels = images.shape
    padding, crop = rule["padding"], rule["crop"]
    places = [side + 2 * padding - crop + 1 for side in (height, width)]
    row = streams.integers(seed, "augmentation/row", step, count=count, below=places[0])
    column = streams.integers(seed, "augmentation/column", step, count=count, below=places[1])
    flip = streams.uniform(seed, "augmentation/flip", step, count=count) < rule["flip_probability"]
    padded = np.zeros((count, height + 2 * padding, width + 2 * padding, channels), images.dtype)
    padded[:, padding : padding + height, padding : padding + width] = images
    rows = row[:, None] + np.arange(crop)
    columns = column[:, None] + np.arange(crop)
    columns = np.where(flip[:, None], padded.shape[2] - 1 - columns, columns)
    index = (np.arange(count)[:, None, None] * padded.shape[1] + rows[:, :, None]) * padded.shape[2] + columns[:, None, :]
    return padded.reshape(-1, channels).take(index.ravel(), axis=0).reshape(count, crop, crop, channels)


def split(batch: Labels, sizes: tuple[int, ...]) -> list[Labels]:
    """Return the shards of a global batch, one for each device, in order; those of labels in several arrays have them all."""
    places = np.cumsum(sizes)[:-1]
    if not isinstance(batch, dict):
        return [*np.split(batch, places)]
    shards = {name: np.split(array, places) for name, array in batch.items()}
    return [{name: parts[index] for name, parts in shards.items()} for index in range(len(sizes))]


def prefetch(items: Iterator, *, ahead: int) -> Iterator:
    """Yield the items, up to `ahead` of them prepared on another thread. Its errors are raised here.

    It begins when few are ready and then fills up, several items in a row: after a training step caches hold nothing of the
    last one. One at a time, PyTorch's ResNet-8 ran at 0.95 to 0.96 of its own step, so at 0.95 to 0.99 (docs/benchmarks.md).
    """
    ready: collections.deque = collections.deque()
    changed = threading.Condition()
    is_left = False
    end = object()

    def put(item: object) -> bool:
        with changed:
            if len(ready) >= ahead:
                changed.wait_for(lambda: is_left or len(ready) <= ahead // 4)
            ready.append(item)
            changed.notify_all()
            return not is_left

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(end)
        except BaseException as error:  # handed over to the consumer, whatever it is
            put(error)

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while True:
            with changed:
                changed.wait_for(lambda: ready)
                item = ready.popleft()
                changed.notify_all()
            if item is end:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        with changed:
            is_left = True
            changed.notify_all()
        thread.join()
