"""Planted fault: what the box head's deltas should be is encoded without its weights, in training only.

Anchors' weights are 1, so that the proposals' loss stays what it was; what is found is decoded with the weights.
"""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    regions = importlib.import_module(f"runners.{FRAMEWORK}.regions")
    original = regions.encode
    regions.encode = lambda boxes, anchors, weights: original(boxes, anchors, (1.0, 1.0, 1.0, 1.0))
