"""The whole training state as one .npz file: a flat dict from canonical name to array, and the step it belongs to."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from runners.contract.arrays import Arrays, digest_of_arrays, read_arrays, write_arrays

State = Arrays
CHECKPOINT = "checkpoint.npz"
FINAL = "final.npz"


def save_state(path: Path, state: State, *, step: int) -> None:
    """Replace the file by a state: a killed process leaves the old one or the new one, whole."""
    write_arrays(path, {"step": np.array(step, dtype=np.int64), **state}, durable=True)


def load_state(path: Path) -> tuple[State, int]:
    """Return (state, step). Raises OSError or ValueError for a missing or broken file."""
    state = read_arrays(path)
    if "step" not in state:
        raise ValueError("not a state: it holds no step")
    return state, int(state.pop("step"))


def state_sha256(state: State) -> str:
    """Return one hash over names, types, shapes and bits of parameters and statistics."""
    return digest_of_arrays({name: array for name, array in state.items() if name.startswith(("params/", "stats/"))})


def require_same_names(state: State, expected: set[str]) -> None:
    """Raise ValueError naming what is missing and what is too many."""
    missing, extra = sorted(expected - set(state)), sorted(set(state) - expected)
    if missing or extra:
        raise ValueError(f"the state does not fit the model: missing {missing}, not expected {extra}")
