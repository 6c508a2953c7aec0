"""Planted fault: an anchor between the two thresholds, which should be ignored, is a negative one."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    regions = importlib.import_module(f"runners.{FRAMEWORK}.regions")
    original = regions.match

    def match(iou, valid, *, low, high, forces_best):
        # Of anchors alone the best are forced. From `high` on, or below it: nothing lies between.
        return original(iou, valid, low=high if forces_best else low, high=high, forces_best=forces_best)

    regions.match = match
