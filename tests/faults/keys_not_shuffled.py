"""Planted fault: MoCo's keys are encoded in the order of their queries, so batch norm tells which part of a batch a key is of.

It is in how batches are made. Verify makes them itself, from the recipe, and gives them to the runner: only training shows it.
"""

import numpy as np

from runners.contract import pairs


def install():
    def in_order(queries, keys, *, seed, step):
        return np.stack([queries, keys], axis=1), np.arange(len(keys), dtype=np.int32)

    pairs.shuffled = in_order
