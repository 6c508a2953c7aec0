"""Where things lie: the project root, the run directories, a user's data."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from runners.contract import files
from vigil.errors import CannotRun, UsageError

_LONGEST_NAME = 80


def expanded(path: str | Path) -> Path:
    """Return a path with `~` and `~user` as homes. Raises UsageError for a home that is not known."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: there is no such home. Write the whole path, or ./~name for a file here.") from error


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
    return expanded(chosen).resolve() if chosen else project_root() / "runs"


def report_directory() -> Path:
    """Return the folder that `vigil report` writes unless another is named: reports/html in the checkout."""
    return project_root() / "reports" / "html"


def reference_directory(source: str | None = None) -> Path:
    """Return the folder of raw reference samples, golden tapes and clean runs.

    Args:
        source: the file of a recipe of a user's own, whose folder is $VIGIL_REFERENCE_DIR, or reference_results/ beside it.
    """
    if source is None:
        return project_root() / "reference_results"
    return chosen_reference_directory() or expanded(source).resolve().parent / "reference_results"


def chosen_reference_directory() -> Path | None:
    """Return $VIGIL_REFERENCE_DIR, if that is set: who knows a recipe's name alone looks there, too."""
    chosen = os.environ.get("VIGIL_REFERENCE_DIR")
    return expanded(chosen).resolve() if chosen else None


def data_directory() -> Path:
    """Return the folder that holds or receives official data: $VIGIL_DATA_DIR, or data/ in the checkout."""
    chosen = os.environ.get("VIGIL_DATA_DIR")
    return expanded(chosen).resolve() if chosen else project_root() / "data"


def cache_directory() -> Path:
    """Return the folder for what can be made again: $VIGIL_CACHE_DIR, $XDG_CACHE_HOME/vigil, or ~/.cache/vigil.

    Raises:
        CannotRun: None of the three is known: there is no home.
    """
    if chosen := os.environ.get("VIGIL_CACHE_DIR"):
        return expanded(chosen).resolve()
    directory = files.cache_directory()
    if directory is None:
        raise CannotRun("there is no home directory for a cache. Name a directory in VIGIL_CACHE_DIR.")
    return directory


def file_name(*parts: str) -> str:
    """Return a file name of these parts, letters, digits, `_`, `+` and `-` only, and not two parts lists with the same one."""
    text = "-".join(parts)
    plain = re.sub(r"[^A-Za-z0-9_+-]+", "_", text)[:_LONGEST_NAME].strip("-_") or "cell"
    is_whole = plain == text and plain == plain.lower() and not any("-" in part for part in parts[:-1])
    return plain if is_whole else f"{plain}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"
