"""Files that verdicts rest on, and their digests: each folder lists its own in SHA256SUMS, as sha256sum(1) writes it.

A file is held to its line whenever it is read: one that was altered, cut or lost is refused, with what to do. While a file is
replaced two lines stand for it, of the content before and of that to come, so that a kill leaves nothing that cannot be read.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from runners.contract.files import replacing
from vigil.errors import DataError

FILE_NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")

Listed = Mapping[str, Collection[str]]
"""File name -> the digests that it may have: one, or two while it is replaced."""


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# What a file that is yet to be made is listed as.
_NOTHING = digest_of(b"")


def read_listed(folder: Path, pattern: str) -> dict[str, bytes]:
    """Return what the files of a folder hold whose names match, by name; nothing where there is no such folder.

    Raises:
        DataError: One cannot be read, is not what its line says, has no line, or is gone although it has one.
    """
    listed = _read_list(folder)
    while True:
        present = {path.name for path in folder.glob(pattern)}
        names = sorted(present | {name for name in listed if fnmatch.fnmatchcase(name, pattern)})
        contents = {name: _content(folder / name) for name in names}
        wrong = [name for name in names if digest_of(contents[name] or b"") not in listed.get(name, ())]
        if not wrong:
            return {name: content for name, content in contents.items() if content is not None}
        # One that is replaced meanwhile is listed before it is there.
        before, listed = listed, _read_list(folder)
        if listed == before:
            raise DataError(_refusal(folder, wrong[0], contents[wrong[0]], listed))


def read_one(path: Path) -> bytes | None:
    """Return what one file holds; None where it is neither there nor listed. Raises DataError as `read_listed` does."""
    return read_listed(path.parent, glob.escape(path.name)).get(path.name)


def is_listed(path: Path) -> bool:
    """Is a file there, or listed as one that should be?"""
    return path.is_file() or path.name in _read_list(path.parent)


def replace_listed(path: Path, content: bytes) -> None:
    """Replace a file, which need not be there, and its line. The caller holds the folder alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before, digest = digest_of(_content(path) or b""), digest_of(content)
    listed = _read_list(path.parent)
    _write_list(path.parent, {**listed, path.name: {before, digest}})
    with replacing(path, durable=True) as file:
        file.write(content)
    _write_list(path.parent, {**listed, path.name: {digest}})


def append_listed(path: Path, text: str) -> None:
    """Append lines to a file, and keep those that are there byte for byte. The caller holds the folder alone.

    Raises:
        DataError: What is there is not what its line says.
    """
    before = read_one(path) or b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    replace_listed(path, before + text.encode("utf-8"))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error


def _read_list(folder: Path) -> dict[str, set[str]]:
    path = folder / FILE_NAME
    listed: dict[str, set[str]] = {}
    for number, line in enumerate((_content(path) or b"").decode("utf-8", errors="replace").splitlines(), start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise DataError(
                f"{path}:{number}: found {line[:90]!r}, needed is a SHA-256, two spaces and a file name. "
                f"Restore it from version control; after a merge, {_anew(folder)}."
            )
        listed.setdefault(found[2], set()).add(found[1])
    return listed


def _write_list(folder: Path, listed: Listed) -> None:
    lines = [f"{digest}  {name}\n" for name in sorted(listed) for digest in sorted(listed[name])]
    with replacing(folder / FILE_NAME, durable=True) as file:
        file.write("".join(lines).encode("utf-8"))


def _refusal(folder: Path, name: str, content: bytes | None, listed: Listed) -> str:
    path, sums = folder / name, folder / FILE_NAME
    if not listed:
        return (
            f"{sums}: missing, and verdicts rest on the files beside it. Restore it from version control; "
            f"if there never was one, {_anew(folder)}."
        )
    if content is None:
        return f"{path}: missing, although {sums} lists it. Restore it from version control; if it is to go, take its line out."
    line = f"{digest_of(content)}  {name}"
    if name not in listed:
        return f"{path}: not listed in {sums}. Restore the list from version control; if the file is to be there, add: {line}"
    return (
        f"{path}: its SHA-256 is not the one in {sums}: it was altered or cut off, and verdicts rest on it. "
        f"Restore it from version control; if the change is meant, let its line there be: {line}"
    )


def _anew(folder: Path) -> str:
    return f"make it anew once you have seen that each file is as it should be: cd {folder} && sha256sum *.* > {FILE_NAME}"
