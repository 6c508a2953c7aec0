"""The whole training state as one .npz file: a flat dict from canonical name to array, and the step it belongs to."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.errors import DAMAGED_ARCHIVE
from runners.contract.files import replacing

State = dict[str, np.ndarray]
CHECKPOINT = "checkpoint.npz"
FINAL = "final.npz"


def save_state(path: Path, state: State, *, step: int) -> None:
    """Replace the file by a state: a killed process leaves the old one or the new one, whole."""
    arrays: dict[str, Any] = {"step": np.int64(step), **state}
    with replacing(path, durable=True) as file:
        np.savez(file, **arrays)


def load_state(path: Path) -> tuple[State, int]:
    """Return (state, step). Raises OSError or ValueError for a missing or broken file."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            state = {name: archive[name] for name in archive.files if name != "step"}
            return state, int(archive["step"])
    except OSError:
        raise
    except DAMAGED_ARCHIVE as error:
        raise ValueError(f"not a whole .npz file of a state: {type(error).__name__}: {error}") from error


def state_sha256(state: State) -> str:
    """Return one hash over names, types, shapes and bits of parameters and statistics."""
    digest = hashlib.sha256()
    for name in sorted(state):
        if name.startswith(("params/", "stats/")):
            array = np.ascontiguousarray(state[name])
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


def require_same_names(state: State, expected: set[str]) -> None:
    """Raise ValueError naming what is missing and what is too many."""
    missing, extra = sorted(expected - set(state)), sorted(set(state) - expected)
    if missing or extra:
        raise ValueError(f"the state does not fit the model: missing {missing}, not expected {extra}")
