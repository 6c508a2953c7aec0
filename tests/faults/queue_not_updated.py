"""Planted fault: MoCo's queue stays what it was; queries are told from noise for ever."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    model = importlib.import_module(f"runners.{FRAMEWORK}.models.moco_lite")
    model.MocoLite.enqueue = lambda self, keys: None
