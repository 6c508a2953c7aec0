"""The whole training state as one .npz file: a flat dict from canonical name to array, and the step it belongs to.

Beside the checkpoint that a run goes on from lie the few before it, from which one of its steps is replayed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import numpy as np

from runners.contract.arrays import Arrays, digest_of_arrays, read_arrays, write_arrays

State = Arrays
CHECKPOINT = "checkpoint.npz"
FINAL = "final.npz"
KEPT = 3
# Of what is free beside them, too.
_KEPT_BYTES, _KEPT_SHARE = 2**30, 0.1
_SCALER = "scaler/"


def save_state(path: Path, state: State, *, step: int) -> None:
    """Replace the file by a state: a killed process leaves the old one or the new one, whole."""
    write_arrays(path, {"step": np.array(step, dtype=np.int64), **state}, durable=True)


def save_checkpoint(directory: Path, state: State, *, step: int, last: int | None) -> None:
    """Replace the checkpoint of a run, and keep the one that was there, of step `last`, among the few before it.

    At most `KEPT` are kept, of 1 GiB and a tenth of the free space together; on a full disk they give way. A kept one is a second
    name of a file that was written anyway: it costs no time.
    """
    path = directory / CHECKPOINT
    if last is not None:
        with contextlib.suppress(OSError):  # it is kept already, or the file system has no second names
            os.link(path, kept_path(directory, last))
    _save_or_make_room(path, state, step=step)
    _forget(directory, most=KEPT, most_bytes=min(_KEPT_BYTES, _KEPT_SHARE * shutil.disk_usage(directory).free))


def save_final(directory: Path, state: State, *, step: int) -> None:
    """Write the state that a run ends with; on a full disk the kept checkpoints give way."""
    _save_or_make_room(directory / FINAL, state, step=step)


def _save_or_make_room(path: Path, state: State, *, step: int) -> None:
    try:
        save_state(path, state, step=step)
    except OSError:
        if not _forget(path.parent, most=0, most_bytes=0.0):
            raise
        save_state(path, state, step=step)


def kept_path(directory: Path, step: int) -> Path:
    """Return where the checkpoint of a step is kept, once a later one has taken its place."""
    return directory / f"checkpoint-{step}.npz"


def kept_steps(directory: Path) -> list[int]:
    """Return the steps of the checkpoints that are kept, the oldest first."""
    names = (path.stem.rpartition("-")[2] for path in directory.glob("checkpoint-*.npz"))
    return sorted(int(name) for name in names if name.isdigit())


def _forget(directory: Path, *, most: int, most_bytes: float) -> int:
    """Remove the oldest of the kept checkpoints that are too many or too large; return how many."""
    paths = [kept_path(directory, step) for step in kept_steps(directory)]
    total, removed = sum(path.stat().st_size for path in paths), 0
    for number, path in enumerate(paths):
        if len(paths) - number <= most and total <= most_bytes:
            break
        total -= path.stat().st_size
        path.unlink()
        removed += 1
    return removed


def what_is_not_finite(state: State) -> str:
    """Return which arrays have numbers that are not finite, and how many; nothing where all are. A loss scale may be infinite."""
    found = []
    for name, array in state.items():
        if np.asarray(array).dtype.kind == "f" and not name.startswith(_SCALER):
            wrong = np.size(array) - int(np.count_nonzero(np.isfinite(array)))
            found += [f"{wrong} of {np.size(array)} elements of {name}"] if wrong else []
    more = f", and of {len(found) - 1} more arrays" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else ""


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
