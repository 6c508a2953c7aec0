"""The input pipeline alone, on one thread, with nothing to feed: is it fast enough for the fastest runner?"""

from __future__ import annotations

import time
from typing import Any

from runners.contract.data import datasets
from runners.contract.data.batches import Batches

_SECONDS = 3.0
_WARM_UP_STEPS = 20


def images_per_second(training: dict[str, Any]) -> float:
    """Return how many normalised and augmented images a second are made, over about three seconds."""
    batches = Batches(datasets.load(training["data"], None), training, seed=0)
    for step in range(_WARM_UP_STEPS):
        batches.train(step)
    started, step = time.perf_counter(), 0
    while (seconds := time.perf_counter() - started) < _SECONDS:
        batches.train(step)
        step += 1
    return step * training["batch_size"] / seconds
