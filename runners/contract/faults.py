"""Planted faults: a file whose `install()` patches the framework, run after its import and before the model is built."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

from runners.contract.errors import FaultError


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def install(fault: dict[str, str]) -> None:
    """Execute the fault file and call its `install()`. Raises FaultError when it is missing, altered or refuses."""
    path = Path(fault["path"])
    if not path.is_file():
        raise FaultError(f"{path}: no such fault file")
    if file_sha256(path) != fault["sha256"]:
        raise FaultError(f"{path}: the fault file has changed since the run was planned; start a new run")
    spec = importlib.util.spec_from_file_location(f"vigil_fault_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    # torch.compile looks a traced function's globals up in its module, by name.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        module.install()
    except Exception as error:
        raise FaultError(f"{path}: install() failed with {type(error).__name__}: {error}") from error
