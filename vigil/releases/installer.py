"""uv, which resolves and installs packages, and tells when a release was uploaded.

It reads what is asked for from a file that only its owner can read: an index's password on a command line would be every user's
to see. What it says is redacted before anybody is shown it. Where pip was told of a mirror, an index, a folder of wheels or a
certificate, and uv was not, uv is told the same.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from vigil.errors import EnvironmentFailed
from vigil.redaction import redact

_LAST_LINES = 12
# By pip's option: the variable of uv that says the same, and the other variables by which a user may have said it to uv.
_OF_PIP: dict[str, tuple[str, ...]] = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "find-links": ("UV_FIND_LINKS",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "cert": ("SSL_CERT_FILE",),
}
_FOLDERS = "UV_FIND_LINKS"
_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_NO_INDEX")
# The sections of pip's configuration, what is said in a later one counts.
_SECTIONS = ("global", "install", ":env:")
# Of all indexes the best match, as pip does it; uv by itself stops at the first index that knows a name.
_OPTIONS = ("--index-strategy", "unsafe-best-match", "--no-progress")
_EVER = "9000-01-01"
# What uv says where an index cannot be reached or a disk is full: nothing of the packages themselves.
_PASSING = (
    "No space left on device", "error sending request", "dns error", "Connection refused", "Connection reset", "timed out",
    "Failed to fetch", "Could not connect", "Disk quota exceeded", "Cannot allocate memory", "could not be queried",
    "network was disabled",
)  # fmt: skip
# What it says where the packages themselves are why: it will say so again.
_FINAL = "No solution found"
# PEP 440: a specifier that names a pre-release allows them, for this package and no other.
PRE_RELEASES = ">=0.dev0"


def resolve(
    requirements: Sequence[str],
    *,
    indexes: Sequence[str],
    what: str,
    before: datetime | None = None,
    of_any_day: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Return (name, version) of every package that the requirements need, themselves included, on this Python and platform.

    The version of a wheel that was named by its path is that of the wheel. Nothing is installed.

    Args:
        before: packages that were uploaded later are not taken, nor are those of which an index does not say when they were;
            what lies in a folder is taken.
        of_any_day: packages to which that does not apply.

    Raises:
        EnvironmentFailed: with the installer's last lines; `what` is what is resolved.
    """
    options = ["--exclude-newer", before.isoformat()] if before else []
    for name in of_any_day if before else ():
        options += ["--exclude-newer-package", f"{name}={_EVER}"]
    if pre := [requirement for requirement in requirements if requirement.endswith(PRE_RELEASES)]:
        # uv allows pre-releases of all packages or, where a final one fits, of none: the first answer is taken for these alone.
        done = _compile(pre, [*options, "--prerelease", "allow"], indexes=indexes)
        names = {requirement.removesuffix(PRE_RELEASES) for requirement in pre}
        exact = [f"{name}=={version}" for name, version in _pins(done.stdout) if name in names] if not done.returncode else pre
        requirements = [*(requirement for requirement in requirements if requirement not in pre), *exact]
    done = _compile(requirements, options, indexes=indexes)
    if done.returncode:
        raise _failure(f"{what}: no set of packages fits, says uv", done)
    return _pins(done.stdout)


def uploaded(requirement: str, *, indexes: Sequence[str], what: str, is_lowest: bool = False) -> datetime | None:
    """Return when the first file of the newest release that fits was uploaded, or with is_lowest of the oldest.

    None where no release fits of which an index says that.

    Raises:
        EnvironmentFailed: an index cannot be asked.
    """
    # Files without a time are passed over: another index may know it.
    options = ["--no-deps", "--exclude-newer", _EVER, "--format", "pylock.toml"]
    done = _compile([requirement], options + (["--resolution", "lowest"] if is_lowest else []), indexes=indexes)
    if done.returncode not in (0, 1):  # 1: nothing fits
        raise _failure(f"{what}: no index says when it was released", done)
    times = re.findall(r"upload-time = ([0-9T:.+-]+)", done.stdout) if done.returncode == 0 else []
    return min((datetime.fromisoformat(f"{time}+00:00") for time in times), default=None)


def versions(distribution: str, *, indexes: Sequence[str]) -> list[str]:
    """Return the final releases of a package that this Python can use, the oldest first, as pip lists them.

    Releases that were withdrawn are not among them.

    Raises:
        EnvironmentFailed: there is no pip, or it cannot reach an index, or knows no such package.
    """
    if importlib.util.find_spec("pip") is None:
        raise EnvironmentFailed(f"pip, which lists releases, is missing. Install it: `{sys.executable} -m ensurepip`.")
    command = [sys.executable, "-m", "pip", "index", "versions", distribution]
    # A command line is every user's to see, and an index may have a password.
    own = os.environ.get("PIP_EXTRA_INDEX_URL") or configuration_of_pip().get("extra-index-url", "") if indexes else ""
    variables = {**os.environ, "PIP_EXTRA_INDEX_URL": " ".join([*own.split(), *indexes])} if indexes else None
    done = subprocess.run(
        command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )  # fmt: skip
    found = re.search(r"^Available versions: (.+)$", done.stdout, flags=re.MULTILINE)
    if done.returncode or found is None:
        raise _failure(f"{distribution}: pip lists no releases of it", done)
    listed = [version.strip() for version in found[1].split(",")]
    # A build of a machine's own is the release that it is named after.
    return list(dict.fromkeys(version.partition("+")[0] for version in reversed(listed)))


def install(python: Path, packages: Sequence[str], *, indexes: Sequence[str], what: str, holds: Sequence[int] = ()) -> None:
    """Install exactly these packages into the environment of an interpreter.

    Args:
        holds: files that the installer's process has open as well. A lock on one of them lasts as long as it works, even where
            whoever started it was killed.

    Raises:
        EnvironmentFailed: with the installer's last lines.
    """
    with _file_of(packages, indexes) as asked:
        arguments = ["install", "--quiet", "--no-deps", "--python", str(python), *_OPTIONS]
        # What is imported compiles itself, at the first import, unless the user forbids that. All that is never imported took
        # 13 s of the 14 s of an environment of JAX (AMD EPYC, 2 cores, 2026-11-25), and its first import 5 s less.
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            arguments.append("--compile-bytecode")
        done = _run([*arguments, "-r", str(asked)], holds=holds)
    if done.returncode:
        raise _failure(f"{what}: uv could not install its packages", done)


def _compile(requirements: Sequence[str], options: Sequence[str], *, indexes: Sequence[str]) -> subprocess.CompletedProcess[str]:
    with _file_of(requirements, indexes) as asked:
        # By itself uv resolves for whichever Python it finds first.
        arguments = ["compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable, *_OPTIONS, *options]
        return _run([*arguments, str(asked)])


@contextlib.contextmanager
def _file_of(requirements: Sequence[str], indexes: Sequence[str]) -> Iterator[Path]:
    """Yield a requirements file in a directory that only this user can enter, and that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="vigil-") as folder:
        path = Path(folder) / "requirements.txt"
        lines = [*(f"--extra-index-url {index}" for index in indexes), *requirements]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield path


def _run(arguments: Sequence[str], *, holds: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    """Run `uv pip`. Raises EnvironmentFailed where it cannot be started."""
    if importlib.util.find_spec("uv") is None:
        raise EnvironmentFailed(
            f"uv, which builds environments, is missing. Install it: `{sys.executable} -m pip install uv`.", may_pass=True
        )
    told = configuration_of_pip()
    options = ["--no-index"] if "no-index" in told else []  # for which uv has no variable
    try:
        return subprocess.run(
            [sys.executable, "-m", "uv", "pip", *arguments, *options],
            env=environment_of_uv(told),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=tuple(holds),
        )
    except OSError as error:
        raise EnvironmentFailed(f"uv cannot be started: {error.strerror}", may_pass=True) from error


def _failure(message: str, done: subprocess.CompletedProcess[str]) -> EnvironmentFailed:
    lines = [redact(line.rstrip()) for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    # A signal is none of the packages' doing.
    may_pass = done.returncode < 0 or any(phrase in line for phrase in _PASSING for line in lines)
    return EnvironmentFailed(
        f"{message} (exit code {done.returncode}).",
        log_tail=lines[-_LAST_LINES:],
        may_pass=may_pass,
        is_final=not may_pass and any(_FINAL in line for line in lines),
    )


def environment_of_uv(told: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that uv runs with: the user's, and what pip was told and uv was not."""
    # What belongs to the conductor's own environment must not steer the installer of another one.
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    for option, value in told.items():
        if option in _OF_PIP and not any(name in variables for name in _OF_PIP[option]):
            # uv parts folders by commas, and all else by blanks.
            variables[_OF_PIP[option][0]] = ("," if option == "find-links" else " ").join(value.split())
    # An environment must not change with a file of another one: uv by itself gives them one file with two names.
    return {"UV_LINK_MODE": "copy", **variables}


def sources(told: Mapping[str, str]) -> dict[str, str]:
    """Return where uv looks for packages besides the indexes that it is given, without secrets, and without folders.

    Args:
        told: what pip was told.
    """
    variables = {**environment_of_uv(told), **({"UV_NO_INDEX": "1"} if "no-index" in told else {})}
    found = {name: redact(variables[name]) for name in _INDEXES if variables.get(name)}
    addresses = [place for place in variables.get(_FOLDERS, "").split(",") if place and not _folder(place).is_dir()]
    return {**found, **({_FOLDERS: redact(" ".join(addresses))} if addresses else {})}


def shelved(told: Mapping[str, str]) -> dict[Path, str]:
    """Return the packages that lie in the folders in which uv looks: file -> the pin that it is."""
    places = environment_of_uv(told).get(_FOLDERS, "").split(",")
    found = {}
    for path in sorted(path for place in places if place for path in _folder(place).glob("*")):
        name, _, version = path.name.removesuffix(".tar.gz").rpartition("-")
        if path.suffix == ".whl":
            name, version = path.name.split("-")[:2]
        if path.name.endswith((".whl", ".tar.gz")):
            found[path] = f"{_normal(name)}=={version}"
    return found


def _folder(place: str) -> Path:
    return Path(place.strip().removeprefix("file://"))


def configuration_of_pip() -> dict[str, str]:
    """Return what pip was told by its files and variables of where packages come from; nothing where there is no pip."""
    if importlib.util.find_spec("pip") is None:
        return {}
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    settings: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for section, option, value in re.findall(r"^(\S+)\.([\w-]+)=(.*)$", done.stdout, flags=re.MULTILINE):
        if section in settings and option in (*_OF_PIP, "no-index"):
            settings[section][option] = str(ast.literal_eval(value))
    merged = {option: value for section in _SECTIONS for option, value in settings[section].items()}
    return {option: value for option, value in merged.items() if value.strip() not in ("", "0", "false", "no", "off")}


def _pins(text: str) -> list[tuple[str, str]]:
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
