"""The two installers that packages are resolved and installed with: uv where there is one, else pip.

Both read what is asked for from a file that only its owner can read: an index's password on a command line would be every user's
to see. What they say is redacted before anybody is shown it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from vigil.errors import EnvironmentFailed
from vigil.redaction import redact

_LAST_LINES = 12
# Of pip's output: what it says of itself, and of places that it did not need.
_IDLE = re.compile(r"\[notice\]|WARNING: (Location|Retrying)|Looking in |Defaulting to user")


def installer() -> tuple[str, list[str]]:
    """Return the installer's name and how it is called. Raises EnvironmentFailed where there is none."""
    if path := shutil.which("uv"):
        return "uv", [path, "pip"]
    if importlib.util.find_spec("uv") is not None:
        return "uv", [sys.executable, "-m", "uv", "pip"]
    if importlib.util.find_spec("pip") is not None:
        return "pip", [sys.executable, "-m", "pip"]
    raise EnvironmentFailed(f"there is neither uv nor pip to build environments with. Add pip: `{sys.executable} -m ensurepip`.")


def resolve(requirements: Sequence[str], *, indexes: Sequence[str], what: str) -> list[tuple[str, str]]:
    """Return (name, version) of every package that the requirements need, themselves included, on this Python and platform.

    The version of a wheel that was named by its path is that of the wheel. Nothing is installed.

    Raises:
        EnvironmentFailed: with the installer's last lines; `what` is what is resolved.
    """
    name, call = installer()
    failed = f"{what}: no set of packages fits, says {name}"
    with _file_of(requirements, indexes) as asked:
        if name == "uv":
            # By itself uv resolves for whichever Python it finds first.
            options = ["--quiet", "--no-header", "--no-annotate", "--python", sys.executable]
            return _pins_of_uv(_run([*call, "compile", *options, *_uv(), str(asked)], failed))
        report = asked.with_name("report.json")
        options = ["--quiet", "--dry-run", "--ignore-installed", "--report", str(report)]
        _run([*call, "install", *options, *_pip(), "-r", str(asked)], failed)
        packages = json.loads(report.read_text(encoding="utf-8"))["install"]
        return sorted((_normal(each["metadata"]["name"]), each["metadata"]["version"]) for each in packages)


def install(python: Path, packages: Sequence[str], *, indexes: Sequence[str], what: str, holds: Sequence[int] = ()) -> None:
    """Install exactly these packages into the environment of an interpreter.

    Args:
        holds: files that the installer's process has open as well. A lock on one of them lasts as long as it works, even where
            whoever started it was killed.

    Raises:
        EnvironmentFailed: with the installer's last lines.
    """
    name, call = installer()
    with _file_of(packages, indexes) as asked:
        if name == "uv":
            command = [*call, "install", "--quiet", "--no-deps", "--compile-bytecode", "--python", str(python), *_uv()]
            command += ["-r", str(asked)]
        else:
            # pip installs into another environment, so that this one needs no pip of its own.
            command = [*call, "--python", str(python), "install", "--quiet", "--no-deps", *_pip(), "-r", str(asked)]
        _run(command, f"{what}: {name} could not install its packages", holds=holds)


def _uv() -> list[str]:
    # Of all indexes the best match, as pip does it; uv by itself stops at the first index that knows a name.
    return ["--index-strategy", "unsafe-best-match", "--no-progress"]


def _pip() -> list[str]:
    return ["--disable-pip-version-check", "--no-input", "--no-warn-script-location"]


@contextlib.contextmanager
def _file_of(requirements: Sequence[str], indexes: Sequence[str]) -> Iterator[Path]:
    """Yield a requirements file in a directory that only this user can enter, and that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="vigil-") as folder:
        path = Path(folder) / "requirements.txt"
        lines = [*(f"--extra-index-url {index}" for index in indexes), *requirements]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield path


def _run(command: Sequence[str], failed: str, *, holds: Sequence[int] = ()) -> str:
    """Return what a command writes to its output; on failure raise with the last lines of all that it said."""
    # What belongs to the conductor's own environment must not steer the installer of another one.
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(
            command,
            env=inherited,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=tuple(holds),
        )
    except OSError as error:
        raise EnvironmentFailed(f"{failed}: {command[0]}: {error.strerror}") from error
    if done.returncode:
        said = [line.rstrip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = [redact(line) for line in said if not _IDLE.search(line)]
        raise EnvironmentFailed(f"{failed} (exit code {done.returncode}).", log_tail=told[-_LAST_LINES:])
    return done.stdout


def _pins_of_uv(text: str) -> list[tuple[str, str]]:
    """Return the pins in what `uv pip compile` writes: `name==version`, or `name @ file:///.../name-version-...whl`."""
    pins = []
    for line in (line.split(" ;")[0].strip() for line in text.splitlines()):
        if not line or line.startswith(("#", "-")):
            continue
        name, separator, rest = line.partition(" @ ") if " @ " in line else line.partition("==")
        version = rest.rsplit("/", 1)[-1].split("-")[1] if separator == " @ " else rest
        pins.append((_normal(name), version.replace("%2B", "+").strip()))
    return sorted(pins)


def _normal(name: str) -> str:
    """Return a package's name as indexes compare names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
