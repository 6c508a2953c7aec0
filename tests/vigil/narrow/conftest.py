"""Releases of a small package: on a shelf of tiny wheels, or written into environments by hand, which takes no time."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.vigil.releases.conftest import FakeInstaller, cache, fake, shelf
from vigil.releases import installer, store

__all__ = ["cache", "fake", "shelf"]
RELEASES = [f"0.{minor}.0" for minor in range(1, 10)]


class Written(FakeInstaller):
    """Packages that are a module with a version each; a jaxlib is released with each jax."""

    def resolve(self, requirements, **facts) -> list[tuple[str, str]]:
        pairs = dict(super().resolve(requirements, **facts))
        return sorted((pairs | {"jaxlib": next(each.split("<=")[1] for each in requirements if "<=" in each)}).items())

    def install(self, python, packages, *, indexes, what, holds) -> None:
        super().install(python, packages, indexes=indexes, what=what, holds=holds)
        folder = Path(sysconfig.get_path("purelib", vars={"base": str(python.parent.parent)}))
        folder.mkdir(parents=True)
        for name, version in (each.split("==") for each in packages):
            (folder / f"{name}.py").write_text(f'__version__ = "{version}"')


@pytest.fixture
def written(cache, fake, monkeypatch, tmp_path) -> Written:
    """Return the installer of nine releases of jax."""
    stand_in = Written()
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setattr(installer, "resolve", stand_in.resolve)
    monkeypatch.setattr(installer, "install", stand_in.install)
    monkeypatch.setattr(installer, "versions", lambda name, **facts: RELEASES)

    def make_venv(directory: Path) -> None:
        (directory / "bin").mkdir(parents=True)
        (directory / "bin" / "python").symlink_to(sys.executable)
        (directory / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")

    monkeypatch.setattr(store, "_make_venv", make_venv)
    return stand_in
