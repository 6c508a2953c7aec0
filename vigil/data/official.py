"""Getting official data to this machine: found unpacked, found as an archive, or downloaded, and verified before use.

Nothing is unpacked before the archive's MD5 agrees, and only the expected files are taken out of it, by name. A download that
fails leaves nothing behind, and is tried again from its beginning.
"""

from __future__ import annotations

import contextlib
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from runners.contract.data import cifar10, instances, labelled, texts
from runners.contract.errors import UnusableData
from runners.contract.kinds.table import kind_of
from vigil.documents.judgement import Metric
from vigil.errors import DataError, DirectoryError, UsageError
from vigil.paths import data_directory

ARCHIVE = "cifar-10-python.tar.gz"
ARCHIVE_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
ARCHIVE_MD5 = "c58f30108f718f92721af3b95e74349a"
CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30
RETRIES = 2

# Called with what is done and what there is to do, in bytes; the second is None if the server does not say.
Progress = Callable[[int, "int | None"], None]


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
    if data.get("checksum"):
        return _ensure_imported(training)
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


def metric_of(training: dict[str, Any]) -> Metric:
    """Return the metric of a recipe's resolved content, with what chance gives on an imported set, where that is here."""
    data, kind = training["data"], kind_of(training)
    metric = Metric.of(training)
    if data.get("checksum"):
        with contextlib.suppress(UnusableData):
            return metric.replace(chance=kind.chance(training, kind.load(data, str(data_directory()))))
    return metric


def _ensure_imported(training: dict[str, Any]) -> Path:
    """Return the data directory, with what a recipe names there verified, and fit for its model: batches can be made of it."""
    base, kind = data_directory(), kind_of(training)
    with _as_vigil_error():
        kind.make_batches(kind.load(training["data"], str(base)), training, seed=0)
    return base


def write_text(name: str, whole: texts.TextSet) -> Path:
    """Write a text into the data directory and return the path, as `write_instances` does."""
    return _write(name, whole, texts)


def write_labelled(name: str, whole: labelled.LabelledSet) -> Path:
    """Write labelled images into the data directory and return the path, as `write_instances` does."""
    return _write(name, whole, labelled)


def write_instances(name: str, whole: instances.InstanceSet) -> Path:
    """Write a set of instances into the data directory and return its path; one that is there already is not replaced.

    Raises:
        UsageError: Another set of that name is there.
        DirectoryError: The data directory cannot be written.
    """
    return _write(name, whole, instances)


def _write(name: str, whole: Any, form: ModuleType) -> Path:
    path = data_directory() / f"{name}.npz"
    if path.exists():
        with _as_vigil_error():
            found = form.read(path).checksum
        if found != whole.checksum:
            raise UsageError(
                f"{path}: is there already with checksum {found}, this import has {whole.checksum}. Choose another "
                "name, or remove it."
            )
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        form.write(path, whole)
    except OSError as error:
        raise DirectoryError(
            f"{path}: cannot be written ({error.strerror or error}). Make room or give access, or let VIGIL_DATA_DIR name "
            "another directory."
        ) from error
    return path


class _Bar:
    """Hands pooch's progress on. It tells whole chunks, and all of it once more at the end."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._n_bytes, self._n_total = progress, 0, 0

    @property
    def total(self) -> int:
        return self._n_total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._n_bytes, self._n_total = 0, n_bytes
        self._progress(0, n_bytes or None)

    def update(self, n_bytes: int) -> None:
        if self._n_bytes < self._n_total or not self._n_total:
            self._n_bytes = min(self._n_bytes + n_bytes, self._n_total or self._n_bytes + n_bytes)
            self._progress(self._n_bytes, self._n_total or None)

    def reset(self) -> None:
        """All has arrived: what is told after it is told already."""

    def close(self) -> None:
        """There is nothing to end."""


def _download(archive: Path, *, progress: Progress) -> None:
    """Fetch the archive under its name; nothing is there until its MD5 agrees. A network that fails is tried again."""
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")  # what it says of retries and of registries is about itself
    downloader = pooch.HTTPDownloader(
        progressbar=_Bar(progress), chunk_size=CHUNK_BYTES, timeout=TIMEOUT_SECONDS, headers={"User-Agent": "vigil-bench"}
    )
    store = pooch.create(
        path=archive.parent,
        base_url="",
        registry={ARCHIVE: f"md5:{ARCHIVE_MD5}"},
        urls={ARCHIVE: ARCHIVE_URL},
        retry_if_failed=RETRIES,
    )
    with _writing(archive.parent):
        try:
            store.fetch(ARCHIVE, downloader=downloader)
        except requests.HTTPError as error:
            reason = f"the server answered {error.response.status_code} {error.response.reason}"
            raise DataError(_offline_message(archive, reason)) from error
        except requests.RequestException as error:  # before OSError, of which it is one
            cause = error.args[0] if error.args else error
            raise DataError(_offline_message(archive, str(getattr(cause, "reason", cause)))) from error
        except ValueError as error:
            raise DataError(f"{ARCHIVE_URL}: {error} Run again, or put the official {ARCHIVE} at {archive} yourself.") from error


def _offline_message(archive: Path, reason: str) -> str:
    return (
        f"{ARCHIVE_URL}: cannot be downloaded ({reason}). Without a network, put {ARCHIVE} (MD5 {ARCHIVE_MD5}) "
        f"at {archive}, or the unpacked folder at {archive.parent / cifar10.FOLDER}. VIGIL_DATA_DIR names another "
        "directory than this one. The profiles smoke and quick need no download."
    )


def _check_archive(archive: Path) -> None:
    import pooch

    found = pooch.file_hash(str(archive), alg="md5")
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
    except UnusableData as error:
        raise DataError(str(error)) from error
