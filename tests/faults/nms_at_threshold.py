"""Planted fault: suppression drops a box at the threshold too, not only above it. Exact ties alone tell.

The threshold is lower by one or two of float32's steps, so that it is the same in every type.
"""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    regions = importlib.import_module(f"runners.{FRAMEWORK}.regions")
    original = regions.nms

    def nms(boxes, scores, valid, *, threshold, count):
        return original(boxes, scores, valid, threshold=threshold * (1 - 2.0**-23), count=count)

    regions.nms = nms
