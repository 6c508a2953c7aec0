"""Sketches: a tensor's norm and a few dozen fixed random projections, from which the distance of two tensors can be told.

Each element goes, with a random sign, into one of `BUCKETS` sums (count sketch: Charikar, Chen and Farach-Colton 2002,
https://doi.org/10.1007/3-540-45465-9_59). The norm of the difference of two sketches estimates that of the tensors without bias
(squared), with a relative standard deviation of at most 1 / sqrt(2 * BUCKETS). Order, sign and scale all matter to it.
"""

from __future__ import annotations

import functools

import numpy as np

from runners.contract.data import streams

BUCKETS = 112
_SEED = 20021


def make_sketch(tensor: np.ndarray) -> np.ndarray:
    """Return float64 [min(size, BUCKETS)]; a tensor that is no larger than its sketch would be is kept as it is."""
    flat = np.asarray(tensor, np.float64).ravel()
    if flat.size <= BUCKETS:
        return flat.copy()
    bucket, sign = _plan(flat.size)
    return np.bincount(bucket, weights=flat * sign, minlength=BUCKETS)


def sketch_distance(sketch: np.ndarray, tensor: np.ndarray) -> float:
    """Return the estimated norm of the difference between a sketched tensor and another; exact for small tensors.

    A value that is not finite, on either side, gives infinity.
    """
    distance = float(np.linalg.norm(sketch - make_sketch(tensor)))
    return distance if np.isfinite(distance) else float("inf")


@functools.lru_cache(maxsize=64)
def _plan(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bucket [size] and sign [size], the same for every tensor of one size."""
    bucket = streams.integers(_SEED, f"sketch/bucket/{size}", count=size, below=BUCKETS)
    return bucket, 2.0 * streams.integers(_SEED, f"sketch/sign/{size}", count=size, below=2) - 1.0
