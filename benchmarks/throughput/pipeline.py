"""The input pipeline alone, on one thread, with nothing to feed: is it fast enough for the fastest runner?"""

from __future__ import annotations

import time
from typing import Any

from runners.contract.kinds.table import kind_of

_SECONDS = 3.0
_WARM_UP_STEPS = 20


def images_per_second(training: dict[str, Any]) -> float:
    """Return how many images a second are made ready for a step, over about three seconds."""
    kind = kind_of(training)
    batches = kind.make_batches(kind.load(training["data"], None), training, seed=0)
    for step in range(_WARM_UP_STEPS):
        batches.train(step)
    started, step = time.perf_counter(), 0
    while (seconds := time.perf_counter() - started) < _SECONDS:
        batches.train(step)
        step += 1
    return step * training["batch_size"] / seconds
