"""Batches for contrastive learning: each example is two views, the second of another image than the first.

Batch norm must not tell a query from the keys that were normalised with it, so the keys of a batch are shuffled before they are
encoded (He et al. 2020, arXiv 1911.05722, section 3.3). The shuffle is done here: row i of a batch holds a query of image i and
the key of another, and the row's label says where the key of image i is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from runners.contract.data import streams
from runners.contract.data.batches import Batches, Labels
from runners.contract.data.views import make_view

_SHOWN = 8


class PairBatches(Batches):
    """Training batches of two views, evaluation batches of plain images, and the bank of training images."""

    def train(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the batch of step `step`: float32 [batch, 2, height, width, channel]; int32 [batch], where each row's key is."""
        images = self._data.train_images[self._index(step)]
        views = (self._view(images, step, view) for view in ("query", "key"))
        return shuffled(*map(self._normalise, views), seed=self._seed, step=step)

    def few(self, step: int, first: int, *, count: int) -> tuple[np.ndarray, Labels]:
        """Return some rows of a step's batch; whose keys lie elsewhere are given each other's, in the order of their places."""
        pairs, place = super().few(step, first, count=count)
        return pairs, np.argsort(np.argsort(np.asarray(place))).astype(np.int32)

    def shown(self) -> dict[str, np.ndarray]:
        """Return what a picture shows of step 0, uint8 [8, height, width, channel] each: images, and their two views."""
        images = self._data.train_images[self._index(0)]
        views = {f"{view}_views": self._view(images, 0, view)[:_SHOWN] for view in ("query", "key")}
        return {"images": images[:_SHOWN]} | {name: np.rint(pixels).astype(np.uint8) for name, pixels in views.items()}

    def bank(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (images, labels, weights) of all training images, in batches of the evaluation's size."""
        return self._plain(self._data.train_images, self._data.train_labels)

    def _view(self, images: np.ndarray, step: int, view: str) -> np.ndarray:
        return make_view(images, self._augmentation, seed=self._seed, step=step, view=view)


def shuffled(queries: np.ndarray, keys: np.ndarray, *, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs [batch, 2, ...] with keys in another order, and for each row the place of its own key, int32 [batch]."""
    order = streams.permutation(seed, "views/shuffle", step, count=len(keys))
    place = np.empty(len(keys), np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    return np.stack([queries, keys[order]], axis=1), place
