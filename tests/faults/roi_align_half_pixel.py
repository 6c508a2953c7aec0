"""Planted fault: RoIAlign, of features and of true masks, lacks the move by half a pixel: torchvision's with aligned=False."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    regions = importlib.import_module(f"runners.{FRAMEWORK}.regions")
    original = regions.roi_align

    def roi_align(features, boxes, *, stride, size, samples):
        return original(features, boxes + 0.5 * stride, stride=stride, size=size, samples=samples)

    regions.roi_align = roi_align
