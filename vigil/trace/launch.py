"""In the traced process: the frameworks that the script imports are hooked as they come, and then the script is run as it is.

It needs what the script's interpreter has, and nothing of Vigil's own packages.
"""

from __future__ import annotations

import importlib.util
import os
import random
import runpy
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any

from runners.contract.trace.records import Recorder
from vigil import probe

COMMAND = """
import sys
root, folder, changes = sys.argv[1:4]
sys.path.append(root)
from vigil.trace import launch
launch.run(folder, changes.split(","), sys.argv[4:])
"""
SEEDS, SWITCH, THREAD = "seeds", "switch", "one thread"
_HOOKED = ("torch", "tensorflow", "keras", "jax")


class _Watching(MetaPathFinder, Loader):
    """Calls a function when a framework has been imported."""

    def __init__(self, imported: Callable[[str], None]) -> None:
        self._imported = imported
        self._loaders: dict[str, Any] = {}
        self._under_way = 0
        self._waiting: list[str] = []

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname not in _HOOKED or fullname in self._loaders:
            return None
        self._loaders[fullname] = None  # what follows asks all finders again
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        self._loaders[fullname], spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: Any) -> Any:
        return self._loaders[spec.name].create_module(spec)

    def exec_module(self, module: Any) -> None:
        loader = self._loaders[module.__name__]
        module.__spec__.loader = module.__loader__ = loader
        self._under_way += 1
        try:
            loader.exec_module(module)
        finally:
            self._under_way -= 1
        # Keras imports TensorFlow, and both import JAX to see whether it is there: Keras is not whole by then. All are hooked
        # once all are whole: the script may use whichever of them it names later.
        self._waiting.append(module.__name__)
        while self._waiting and not self._under_way:
            self._imported(self._waiting.pop(0))


def run(folder: str, changes: list[str], command: list[str]) -> None:
    """Run a script with its arguments, and write down what it computes into a folder."""
    recorder = Recorder(Path(folder))  # which has imported NumPy
    imported = probe.start(recorder)
    if THREAD in changes and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # as many threads as cores is what libraries begin with
    if SEEDS in changes:
        random.seed(0)
        _seed_numpy()

    def hook(framework: str) -> None:
        imported(framework).install(recorder, framework, has_seeds=SEEDS in changes, has_switch=SWITCH in changes)

    sys.meta_path.insert(0, _Watching(hook))
    script = command[0]
    sys.argv = list(command)
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    recorder.close()


def _seed_numpy() -> None:
    import numpy as np

    np.random.seed(0)
    own = np.random.default_rng

    def seeded(seed: Any = None) -> Any:
        return own(0 if seed is None else seed)

    np.random.default_rng = seeded
