"""A shelf of tiny wheels in the place of an index, and an installer that makes no files worth mentioning."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vigil.errors import EnvironmentFailed
from vigil.releases import installer, store


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """Return this test's own folder of environments."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "environments"


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Callable[..., Path]:
    """Return a function that puts a wheel of one module where uv, which sees no index, looks for packages."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    # As pip is told of it: uv is to be told the same.
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))

    def make(name: str, version: str, *, requires: tuple[str, ...] = (), into: Path = folder, build: str = "") -> Path:
        path = into / f"{name}-{version}-{f'{build}-' if build else ''}py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        contents = {
            f"{name}.py": f'__version__ = "{version}"\n',
            f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {each}\n" for each in requires),
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        contents[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*contents, f"{info}/RECORD"])
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in contents.items():
                archive.writestr(member, text)
        return path

    return make


class FakeInstaller:
    """What is newest, what was asked, and what goes wrong. Environments are a link to this Python and one file."""

    def __init__(self) -> None:
        self.newest = {"torch": "2.0", "jax": "0.10.2", "tensorflow-cpu": "2.21.0"}
        self.newest |= {"numpy": "2.4", "flax": "0.12", "optax": "0.2", "jaxlib": "0.10.2", "setuptools": "81.0"}
        self.resolved: list[list[str]] = []
        self.installed: list[list[str]] = []
        self.problem: str | None = None
        # Requirements that no set of packages fulfils together.
        self.impossible: set[str] = set()
        self.on_install: Callable[[], None] = lambda: None

    def resolve(self, requirements, *, indexes, what, before=None, of_any_day=()) -> list[tuple[str, str]]:
        self.resolved.append(list(requirements))
        self.before, self.of_any_day = before, of_any_day
        if self.problem == "resolve" or (self.impossible and self.impossible <= set(requirements)):
            raise EnvironmentFailed(f"{what}: no set of packages fits", log_tail=["ERROR: no matching distribution"])
        asked = (requirement.replace(">=0.dev0", "") for requirement in requirements if "<=" not in requirement)
        pairs = (requirement.replace(" @ ", "==").split("==") for requirement in asked)
        return sorted((name, self.version(name, rest)) for name, *rest in pairs)

    def version(self, name: str, rest: list[str]) -> str:
        if not rest:
            return self.newest[name]
        return rest[0].rsplit("/", 1)[-1].split("-")[1] if "/" in rest[0] else rest[0]

    def install(self, python, packages, *, indexes, what, holds) -> None:
        self.installed.append(list(packages))
        self.held = list(holds)
        self.on_install()
        if self.problem == "install":
            raise EnvironmentFailed(f"{what}: could not install", log_tail=["ERROR: disk full"])
        (python.parent.parent / "packages.txt").write_text("\n".join(packages) * 1000)


@pytest.fixture
def fake(monkeypatch) -> FakeInstaller:
    """Return the installer that is used instead of uv. No index says when anything was uploaded."""
    stand_in = FakeInstaller()
    monkeypatch.setattr(installer, "resolve", stand_in.resolve)
    monkeypatch.setattr(installer, "configuration_of_pip", dict)  # which takes a second
    monkeypatch.setattr(installer, "uploaded", lambda requirement, **facts: None)
    monkeypatch.setattr(installer, "install", stand_in.install)

    def make_venv(directory: Path) -> None:
        (directory / "bin").mkdir(parents=True)
        (directory / "bin" / "python").symlink_to(sys.executable)

    monkeypatch.setattr(store, "_make_venv", make_venv)
    monkeypatch.setattr(store, "_python_version", lambda python: "3.11.7")
    return stand_in
