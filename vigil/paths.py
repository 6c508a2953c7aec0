"""Where things lie: the project root, the run directories, a user's data."""

from __future__ import annotations

import os
from pathlib import Path

from vigil.errors import CannotRun


def project_root() -> Path:
    """Return the checkout that holds recipes/, runners/ and reference_results/."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "recipes").is_dir() or not (root / "runners").is_dir():
        raise CannotRun(
            f"{root} holds no recipes/ and runners/. Vigil runs from a checkout: install it with `pip install -e .` there."
        )
    return root


def runs_directory() -> Path:
    """Return the folder for run directories: $VIGIL_RUNS_DIR, or runs/ in the checkout."""
    chosen = os.environ.get("VIGIL_RUNS_DIR")
    return Path(chosen).expanduser().resolve() if chosen else project_root() / "runs"


def reference_directory() -> Path:
    """Return the folder of raw reference samples."""
    return project_root() / "reference_results"


def data_directory() -> Path:
    """Return the folder that holds or receives official data: $VIGIL_DATA_DIR, or data/ in the checkout."""
    chosen = os.environ.get("VIGIL_DATA_DIR")
    return Path(chosen).expanduser().resolve() if chosen else project_root() / "data"


def cache_directory() -> Path:
    """Return the folder for what can be made again: $VIGIL_CACHE_DIR, else $XDG_CACHE_HOME/vigil, else ~/.cache/vigil."""
    chosen = os.environ.get("VIGIL_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve() / "vigil"
