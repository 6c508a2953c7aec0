"""A user's text as a data set: a UTF-8 file to train on, and another to test on, or the last tenth of the one.

Whatever is wrong is a DataError of one line, with the file and the place.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from runners.contract.data import texts
from vigil.errors import DataError


def make_text(train: Path, test: Path | None) -> texts.TextSet:
    """Return the set of one text, of which the last tenth is tested on, or of two.

    Raises:
        DataError: A file is missing or no UTF-8, holds nothing, or is tested on a character that training does not have.
    """
    whole = trained = _read(train)
    if test is None:
        cut = len(whole) * 9 // 10
        trained, tested, name = whole[:cut], whole[cut:], f"{train}, its last tenth"
    else:
        whole = tested = _read(test)
        name = str(test)
    for path, points in ((str(train), trained), (name, tested)):
        if len(points) < 2:
            raise DataError(f"{path}: number of characters: found {len(points)}. Needed are two or more.")
    kinds = np.unique(trained)
    if len(kinds) < 2:
        raise DataError(f"{train}: one kind of character, {chr(kinds[0])!r}. Needed are two or more.")
    for place in np.flatnonzero(~np.isin(tested, kinds))[:1]:
        line = int(np.count_nonzero(whole[: len(whole) - len(tested) + place] == ord("\n"))) + 1
        raise DataError(
            f"{name}: line {line}: the character {chr(tested[place])!r} is nowhere in the text that is trained on. Remove it, or "
            "add it there."
        )
    if len(kinds) > texts.LARGEST_VOCABULARY:
        raise DataError(f"{train}: {len(kinds):,} kinds of characters. Allowed: at most {texts.LARGEST_VOCABULARY:,}.")
    return texts.make_set(trained, tested)


def _read(path: Path) -> np.ndarray:
    """Return the code points of a UTF-8 file, uint32 [character], line ends as they are and without a byte order mark."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8 ({error.reason}). Save it as UTF-8.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    return np.frombuffer(text.encode("utf-32-le"), "<u4")
