"""Planted fault: MoCo's similarities are divided by the temperature twice."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    model = importlib.import_module(f"runners.{FRAMEWORK}.models.moco_lite")
    original = model.MocoLite.__init__

    def init(self, *, temperature, **rest):
        original(self, temperature=temperature * temperature, **rest)

    model.MocoLite.__init__ = init
