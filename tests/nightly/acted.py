"""A nightly of which all is real but what needs a network or trains: for nights that share a cache, and a tracker that stops."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vigil.cli.nightly
import vigil.runs.carry_out
from tests.reports.documents import a_document as a_verification
from tests.vigil.scripted import end_run
from vigil.cli.main import main
from vigil.documents.verification import Verification
from vigil.nightly import cell_work, conduct
from vigil.process.execute import Ending
from vigil.releases import installer, store
from vigil.verify.golden import path_of

NIGHTLY = ["nightly", "resnet_cifar", "--framework", "jax", "--jobs", "1"]
N_CELLS = 5  # in mode jit and fp32: verified on one device, on two, and on two uneven ones; reproduced on one and on two
INSTALLS = "installs.txt"


def act(patch: pytest.MonkeyPatch, *, on_run: Callable[[Path], Any] = str, slowly: float = 0.0) -> None:
    """Let runs end at once with 88 %, steps be right, and environments be a link to this Python, made in `slowly` seconds.

    on_run: told the directory of each run that is trained. Each installation is a line in the cache's INSTALLS.
    """
    real = conduct.night_cells

    def some(*arguments: Any, **options: Any) -> list[Any]:
        return [cell for cell in real(*arguments, **options) if (cell.context.mode, cell.context.precision) == ("jit", "fp32")]

    def execute(directory: Path, framework: str, **options: Any) -> Ending:
        on_run(directory)
        end_run(directory, 88.0)
        return Ending(0)

    def verify_context(standard: Any, context: Any, place: Path, **options: Any) -> Verification:
        facts = {"verify_id": place.name, "context": context.as_dict(), "night": options["night"], "tracking": None}
        document = a_verification(**facts)
        document.write(place)
        return document

    def resolve(requirements: list[str], **options: Any) -> list[tuple[str, str]]:
        return [(name, "1.0") for name in ("flax", "jax", "jaxlib", "numpy", "optax")]

    def make_venv(directory: Path) -> None:
        (directory / "bin").mkdir(parents=True)  # fails where somebody else is building
        (directory / "bin" / "python").symlink_to(sys.executable)

    def install(python: Path, packages: list[str], **options: Any) -> None:
        with open(store.cache_directory() / INSTALLS, "a", encoding="utf-8") as log:
            log.write("begun\n")
        time.sleep(slowly)

    patch.setattr(conduct, "night_cells", some)
    patch.setattr(vigil.runs.carry_out, "execute", execute)
    patch.setattr(cell_work, "verify_context", verify_context)
    patch.setattr(cell_work, "load_standard", lambda *arguments, **options: None)
    for name in ("draw_pictures", "draw_picture"):
        patch.setattr(vigil.cli.nightly, name, lambda place: None)
    patch.setattr(installer, "resolve", resolve)
    patch.setattr(installer, "uploaded", lambda requirement, **options: None)
    patch.setattr(installer, "install", install)
    patch.setattr(store, "_make_venv", make_venv)
    assert path_of("resnet_cifar", "quick").is_file()


def nightly_of_its_own(runs: str, cache: str, uri: str) -> None:
    """Run a nightly in this process, which is one for it alone, and end the process with its exit code."""
    patch = pytest.MonkeyPatch()
    for name, value in {"VIGIL_RUNS_DIR": runs, "VIGIL_CACHE_DIR": cache, "MLFLOW_TRACKING_URI": uri}.items():
        patch.setenv(name, value)
    act(patch, slowly=2.0)
    sys.exit(main(NIGHTLY))
