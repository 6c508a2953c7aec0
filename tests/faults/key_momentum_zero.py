"""Planted fault: MoCo's key encoder is the query encoder's copy at every step (momentum 0): keys in the queue are out of date."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    model = importlib.import_module(f"runners.{FRAMEWORK}.models.moco_lite")
    original = model.MocoLite.__init__

    def init(self, *, key_momentum, **rest):
        original(self, key_momentum=0.0, **rest)

    model.MocoLite.__init__ = init
