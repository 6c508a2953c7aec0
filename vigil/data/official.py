"""Getting official data to this machine: found unpacked, found as an archive, or downloaded, and verified before use.

A download that breaks off is kept as a .part file and resumed. Nothing is unpacked before the archive's MD5 agrees, and
only the expected files are taken out of it, by name.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from runners.contract.data import cifar10, instances
from runners.contract.errors import DataError as ContractDataError
from runners.contract.kinds.table import kind_of
from vigil.errors import DataError, DirectoryError, UsageError
from vigil.paths import data_directory

ARCHIVE = "cifar-10-python.tar.gz"
ARCHIVE_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
ARCHIVE_MD5 = "c58f30108f718f92721af3b95e74349a"
CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30
ATTEMPTS = 3  # in a row that bring nothing new

# Called with what is done and what there is to do, in bytes; the second is None if the server does not say.
Progress = Callable[[int, "int | None"], None]


class _Interrupted(Exception):
    """The network failed; what has arrived is kept."""


def ensure_cifar10(*, progress: Progress) -> Path:
    """Return the folder of the official CIFAR-10 files, every MD5 verified, downloading the archive if need be.

    The data directory ($VIGIL_DATA_DIR, or data/ in the checkout) is searched for the folder, then for the archive.

    Raises:
        DataError: A file is altered, truncated or missing, or the archive cannot be downloaded.
        DirectoryError: The data directory cannot be written.
    """
    base = data_directory()
    for folder in (base, base / cifar10.FOLDER):
        if any((folder / name).exists() for name in cifar10.FILES):
            with _as_vigil_error():
                cifar10.verify(folder)
            return folder
    archive = base / ARCHIVE
    with _writing(base):
        base.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        _download(archive, progress=progress)
    _check_archive(archive)
    return _unpack(archive, base)


def ensure_data(training: dict[str, Any], *, progress: Progress) -> Path | None:
    """Return the directory of what a recipe's resolved content names as its data, verified, or None for an embedded set.

    Raises:
        DataError, DirectoryError: As `ensure_cifar10` and `ensure_instances` do.
    """
    data = training["data"]
    if kind_of(training).has_instances:
        return ensure_instances(data)
    return ensure_cifar10(progress=progress) if data["name"] == "cifar10" else None


def ensure_instances(data: dict[str, Any]) -> Path | None:
    """Return the data directory, with the set of instances that a recipe's data block names verified; None for the embedded one.

    Raises:
        DataError: NAME.npz is missing, damaged, has another checksum than the recipe says, or too few images.
    """
    if data["name"] == instances.EMBEDDED:
        return None
    base = data_directory()
    with _as_vigil_error():
        instances.load(data, str(base))
    return base


def write_instances(name: str, whole: instances.InstanceSet) -> Path:
    """Write a set of instances into the data directory and return its path; one that is there already is not replaced.

    Raises:
        UsageError: Another set of that name is there.
        DirectoryError: The data directory cannot be written.
    """
    path = data_directory() / f"{name}.npz"
    if path.exists():
        with _as_vigil_error():
            found = instances.read(path).checksum
        if found != whole.checksum:
            raise UsageError(
                f"{path}: is there already with checksum {found}, this import has {whole.checksum}. Choose another "
                "name, or remove it."
            )
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        instances.write(path, whole)
    except OSError as error:
        raise DirectoryError(
            f"{path}: cannot be written ({error.strerror or error}). Make room or give access, or let VIGIL_DATA_DIR name "
            "another directory."
        ) from error
    return path


def _download(archive: Path, *, progress: Progress) -> None:
    """Fetch the archive under its name, continuing where the last attempt ended."""
    part = archive.with_name(f"{ARCHIVE}.part")
    most_bytes, fruitless = 0, 0
    while True:
        try:
            _fetch(part, progress=progress)
            break
        except _Interrupted as error:
            n_bytes = part.stat().st_size
            fruitless = 0 if n_bytes > most_bytes else fruitless + 1
            most_bytes = max(most_bytes, n_bytes)
            if fruitless == ATTEMPTS:
                raise DataError(_offline_message(archive, part, str(error))) from error
    found = _md5(part)
    with _writing(archive.parent):
        if found == ARCHIVE_MD5:
            part.replace(archive)
            return
        part.unlink()
    raise DataError(
        f"{ARCHIVE_URL}: expected MD5 {ARCHIVE_MD5}, found {found}. The download was altered on its way and has been "
        f"removed: run again, or put the official {ARCHIVE} at {archive} yourself."
    )


def _fetch(part: Path, *, progress: Progress) -> None:
    """Make the .part file whole. Raises _Interrupted if the network ends first."""
    with _writing(part.parent), part.open("ab") as file:
        n_bytes = file.tell()
        with _open_at(n_bytes) as response:
            if response is None:
                return
            if response.status == http.client.OK:  # the server sends all of it, whatever was asked for
                file.truncate(0)
                n_bytes = 0
            length = response.headers.get("Content-Length")
            total = n_bytes + int(length) if length else None
            progress(n_bytes, total)
            while chunk := _read(response):
                file.write(chunk)
                n_bytes += len(chunk)
                progress(n_bytes, total)
    if total is not None and n_bytes < total:
        raise _Interrupted(f"the connection ended after {n_bytes} of {total} bytes")


@contextlib.contextmanager
def _open_at(n_bytes: int) -> Iterator[http.client.HTTPResponse | None]:
    """Open the archive's address from a byte on; None if there is nothing after it."""
    headers = {"User-Agent": "vigil-bench", **({"Range": f"bytes={n_bytes}-"} if n_bytes else {})}
    try:
        response = urllib.request.urlopen(urllib.request.Request(ARCHIVE_URL, headers=headers), timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _Interrupted(f"the server answered {error.code} {error.reason}") from error
        response = None
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(str(getattr(error, "reason", error))) from error
    with response or contextlib.nullcontext() as opened:
        yield opened


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(str(error) or type(error).__name__) from error


def _offline_message(archive: Path, part: Path, reason: str) -> str:
    arrived = part.stat().st_size > 0
    kept = f" What has arrived is kept in {part}, and the next run continues it." if arrived else ""
    return (
        f"{ARCHIVE_URL}: cannot be downloaded ({reason}).{kept} Without a network, put {ARCHIVE} (MD5 {ARCHIVE_MD5}) "
        f"at {archive}, or the unpacked folder at {archive.parent / cifar10.FOLDER}. VIGIL_DATA_DIR names another "
        "directory than this one. The profiles smoke and quick need no download."
    )


def _check_archive(archive: Path) -> None:
    found = _md5(archive)
    if found != ARCHIVE_MD5:
        raise DataError(
            f"{archive}: expected MD5 {ARCHIVE_MD5}, found {found}. The archive is truncated or altered: remove "
            "it, and run again or put the official one there."
        )


def _unpack(archive: Path, base: Path) -> Path:
    """Take the expected files out of a verified archive, all of them or none."""
    target = base / cifar10.FOLDER
    with _writing(base):
        scratch = Path(tempfile.mkdtemp(prefix=f".{cifar10.FOLDER}-", dir=base))
    try:
        with _writing(base), tarfile.open(archive, "r:gz") as tar:
            for name in cifar10.FILES:
                (scratch / name).write_bytes(_member(tar, archive, name))
        with _as_vigil_error():
            cifar10.verify(scratch)
        with _writing(base):
            scratch.chmod(0o755)
            scratch.replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _member(tar: tarfile.TarFile, archive: Path, name: str) -> bytes:
    try:
        file = tar.extractfile(f"{cifar10.FOLDER}/{name}")
    except KeyError:
        file = None
    if file is None:
        raise DataError(f"{archive}: holds no file {cifar10.FOLDER}/{name}. Put the official archive there.")
    return file.read()


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Turn a failure of the disk into an error that names the directory; a DataError from inside passes through."""
    try:
        yield
    except OSError as error:
        raise DirectoryError(
            f"{directory}: cannot be written ({error.strerror or error}). Make room or give access, or let "
            "VIGIL_DATA_DIR name another directory. The archive takes 170 MB, and 186 MB unpacked."
        ) from error


@contextlib.contextmanager
def _as_vigil_error() -> Iterator[None]:
    try:
        yield
    except ContractDataError as error:
        raise DataError(str(error)) from error
