"""What a person calls a release, and which packages that asks for.

`jax==0.9.2` is that release, `jax` the newest, `jax@pre` the newest with pre-releases allowed, `./jaxlib-0.10.2-...whl` a wheel.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from vigil.errors import UsageError, nearest
from vigil.frameworks import OF_BATCH_NORM, TABLE
from vigil.paths import expanded
from vigil.redaction import redact

ALLOWED = "NAME==VERSION, NAME (the newest), NAME@pre (pre-releases too), or a wheel's path; NAME is torch, tensorflow or jax"
# PEP 440's versions, without its spellings that nobody publishes under.
_VERSION = re.compile(r"\d+!?(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9.]+)?")


@dataclasses.dataclass(frozen=True)
class Release:
    """One release of a framework, as it was asked for.

    text: as it is recorded; a wheel by its absolute path. distribution: the package that carries the framework's version.
    It may be a library beside the framework, as optax or keras: the framework is then of that release's time.
    version: None for the newest. indexes: as given, passwords included; only `shown_indexes` may be recorded.
    hold: other packages at one version each, whatever the release would get by itself, as `flax==0.12.8`.
    """

    text: str
    framework: str
    distribution: str
    version: str | None = None
    is_pre: bool = False
    wheel: Path | None = None
    indexes: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()

    @property
    def shown_indexes(self) -> tuple[str, ...]:
        """Return the extra indexes without the secrets in them."""
        return tuple(redact(index) for index in self.indexes)

    def requirements(self) -> list[str]:
        """Return what is asked of the installer: numpy, the framework, and the libraries that its runner is written in.

        A sibling is no newer than the release that was named: the metadata of old releases bound it from below only.
        """
        row = OF_BATCH_NORM[self.framework]
        carrier = self.distribution if self.distribution in row.carriers else row.distribution
        asked = dict.fromkeys(("numpy", carrier, *row.companions, *row.undeclared), "")
        if self.is_pre:
            # PEP 440: a specifier that names a pre-release allows them, for this package and no other.
            asked |= dict.fromkeys((self.distribution, *row.siblings), ">=0.dev0")
        elif self.wheel:
            asked[self.distribution] = f" @ {self.wheel.as_uri()}"
        elif self.version:
            bound = f"<={self.version}" if self.distribution in row.owned else ""
            asked |= {self.distribution: f"=={self.version}"} | dict.fromkeys(row.siblings, bound)
        for held in (*row.beside, *self.hold):
            name, _, version = held.partition("==")
            asked[name] = f"=={version}"
        return [f"{name}{specifier}" for name, specifier in asked.items()]


def parse_release(text: str, *, indexes: Sequence[str] = ()) -> Release:
    """Return the release that a text names. Raises UsageError with what is allowed."""
    given = text.strip()
    for index in indexes:
        if not re.match(r"(https?|file)://.|/.", index) or re.search(r"\s", index):
            raise UsageError(f"--extra-index: found {redact(index)!r}. Allowed: an http, https or file URL, or an absolute path.")
    if given.endswith(".whl"):
        return _wheel(given, tuple(indexes))
    name, version, is_pre = given, None, False
    if "==" in given:
        name, version = (part.strip() for part in given.split("==", 1))
        if not _VERSION.fullmatch(version):
            raise UsageError(f"release: found {text!r}, whose version is {version!r}. Allowed: {ALLOWED}. As in jax==0.9.2.")
    elif "@" in given:
        name, _, suffix = given.partition("@")
        is_pre = suffix == "pre"
        if not is_pre:
            raise UsageError(f"release: found {text!r}. Allowed: {ALLOWED}.{nearest(given, [f'{name}@pre'])}")
    distribution = name.replace("_", "-")
    row = next((row for row in OF_BATCH_NORM.values() if distribution in row.carriers), None)
    if row is None:
        raise UsageError(f"release: found {text!r}. Allowed: {ALLOWED}.{nearest(name, list(OF_BATCH_NORM))}")
    return Release(
        text=given.replace(" ", ""),
        framework=row.name,
        distribution=row.distribution if distribution == row.name else distribution,
        version=version,
        is_pre=is_pre,
        indexes=tuple(indexes),
    )


def parse_hold(texts: Sequence[str], *, framework: str) -> tuple[str, ...]:
    """Return the packages that are kept at one version beside each release of a framework. Raises UsageError.

    >>> parse_hold(["flax == 0.12.8", "numpy==2.4.6"], framework="jax")
    ('flax==0.12.8', 'numpy==2.4.6')
    """
    row = TABLE[framework]
    allowed = f"Allowed: NAME==VERSION, as {row.holdable[0]}==1.2.3; NAME is {', '.join(row.holdable)} beside {framework}"
    found: dict[str, str] = {}
    for text in texts:
        name, _, version = (part.strip() for part in text.partition("=="))
        name = name.replace("_", "-")
        if name in (framework, *row.owned):
            raise UsageError(f"--hold: found {text!r}, which is compared or released with what is. {allowed}.")
        if name not in row.holdable:
            raise UsageError(f"--hold: found {text!r}. {allowed}.{nearest(name, row.holdable)}")
        if not _VERSION.fullmatch(version):
            raise UsageError(f"--hold: found {text!r}, whose version is {version!r}. {allowed}.")
        if name in found:
            raise UsageError(f"--hold: found two of {name}, {found[name]} and {version}.")
        found[name] = version
    return tuple(f"{name}=={version}" for name, version in found.items())


def distribution_named(text: str) -> str:
    """Return the package that a release's text names.

    >>> distribution_named("jax==0.9.2"), distribution_named("optax@pre"), distribution_named("/w/jaxlib-0.9.2-cp311-any.whl")
    ('jax', 'optax', 'jaxlib')
    """
    if text.endswith(".whl"):
        return Path(text).stem.split("-")[0].lower().replace("_", "-")
    name = re.split("==|@", text)[0].replace("_", "-")
    return TABLE[name].distribution if name in TABLE else name


def with_held(release: str, hold: Sequence[str]) -> str:
    """Return a release as a person is told of it, with what is held beside it.

    >>> with_held("jax==0.9.2", ["flax==0.12.6"]), with_held("jax", [])
    ('jax==0.9.2 with flax==0.12.6', 'jax')
    """
    return f"{release} with {', '.join(hold)}" if hold else release


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, which may be large."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _wheel(text: str, indexes: tuple[str, ...]) -> Release:
    path = expanded(text).resolve()
    # The binary distribution format: name-version(-build)-python-abi-platform, of the first two `-` is no part.
    parts = path.stem.split("-")
    distribution = parts[0].lower().replace("_", "-")
    owners = {name: row.name for row in TABLE.values() for name in row.owned}
    if distribution not in owners or len(parts) not in (5, 6):
        names = [name.replace("-", "_") for name in owners]
        raise UsageError(
            f"release: found {text!r}. Allowed: the wheel of a framework, named as its build named it "
            f"(NAME-VERSION-PYTHON-ABI-PLATFORM.whl); NAME is {', '.join(names)}.{nearest(parts[0], names)}"
        )
    if not path.is_file():
        raise UsageError(f"release: {text}: no such file. Allowed: {ALLOWED}.")
    return Release(str(path), owners[distribution], distribution, version=parts[1], wheel=path, indexes=indexes)
