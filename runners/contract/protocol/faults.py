"""Planted faults: a file that patches the framework, run after its import and before the model is built.

Its `install_torch()`, `install_tensorflow()` or `install_jax()` does it, or one `install()` for all of them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

from runners.contract.data import kept
from runners.contract.errors import FaultError


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def install(fault: dict[str, str], framework: str) -> None:
    """Execute the fault file and plant it in a framework. Raises FaultError when it is missing, altered or refuses."""
    path = Path(fault["path"])
    if not path.is_file():
        raise FaultError(f"{path}: no such fault file")
    if file_sha256(path) != fault["sha256"]:
        raise FaultError(f"{path}: the fault file has changed since the run was planned; start a new run")
    kept.keep_nothing()
    spec = importlib.util.spec_from_file_location(f"vigil_fault_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FaultError(f"{path}: a fault file is Python, and ends in .py")
    module = importlib.util.module_from_spec(spec)
    # torch.compile looks a traced function's globals up in its module, by name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise FaultError(f"{path}: it cannot be executed, {type(error).__name__}: {error}") from error
    for name in (f"install_{framework}", "install"):
        if hasattr(module, name):
            break
    else:
        raise FaultError(f"{path}: it has neither install_{framework}() nor install(), and cannot be planted in {framework}")
    try:
        getattr(module, name)()
    except Exception as error:
        raise FaultError(f"{path}: {name}() failed with {type(error).__name__}: {error}") from error
