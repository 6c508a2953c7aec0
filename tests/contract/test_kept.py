"""Data that are kept: read back to the bit, made again when damaged or when the source has changed, and never under a fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from runners.contract.data import instances, kept
from runners.contract.data.kept import keep_nothing


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_is_on", True)
    return tmp_path / "cache"


@pytest.fixture
def counted() -> tuple[list[int], Callable[[], dict[str, np.ndarray]]]:
    """Return the list of calls, and a function that makes arrays and adds to it."""
    calls: list[int] = []

    def make() -> dict[str, np.ndarray]:
        calls.append(len(calls))
        return {"images": np.arange(12, dtype=np.uint8).reshape(3, 4), "labels": np.full(3, len(calls))}

    return calls, make


def test_what_was_made_is_read(cache, counted):
    """The second call makes nothing, and has the same bits, which nobody can change."""
    calls, make = counted
    first, second = kept.kept("things", make), kept.kept("things", make)
    assert calls == [0]
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array, strict=True)
        assert not second[name].flags.writeable
        assert not array.flags.writeable


@pytest.mark.parametrize("damage", ["cut", "one bit"])
def test_a_damaged_file_is_made_again(cache, counted, damage):
    """A file that ends early, or has one bit of an array changed, is not believed."""
    calls, make = counted
    kept.kept("things", make)
    (path,) = (cache / "data").iterdir()
    content = bytearray(path.read_bytes())
    content[content.index(bytes(range(12)))] ^= 1
    path.write_bytes(content if damage == "one bit" else content[:-40])
    assert kept.kept("things", make)["labels"].tolist() == [2, 2, 2]
    assert kept.kept("things", make)["labels"].tolist() == [2, 2, 2]
    assert calls == [0, 1]


def test_other_source_text_makes_anew(cache, counted, monkeypatch):
    """An edit of what makes data leaves no file of what it was; one of another name stays."""
    calls, make = counted
    kept.kept("things", make)
    kept.kept("things-2", make)
    monkeypatch.setattr(kept, "_sources", lambda: "0" * 16)
    kept.kept("things", make)
    assert calls == [0, 1, 2]
    assert len(list((cache / "data").iterdir())) == 2


def test_under_a_fault_nothing_is_kept_and_nothing_read(cache, counted):
    """A process with a planted fault makes its own data, and leaves none to others."""
    _, make = counted
    kept.kept("things", make)
    keep_nothing()
    assert kept.kept("things", make)["labels"].tolist() == [2, 2, 2]
    kept.kept("others", make)
    assert len(list((cache / "data").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_done_without(counted, tmp_path, monkeypatch):
    """A file where the directory should be is no error."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "file"))
    _, make = counted
    assert kept.kept("things", make)["labels"].tolist() == [1, 1, 1]
    assert kept.kept("things", make)["labels"].tolist() == [2, 2, 2]


def test_kept_scenes_have_the_checksum_of_made_ones(cache):
    """What is read gives the data set that was made, by its checksum."""
    data = {"name": "scenes", "checksum": None, "n_train": 3, "n_test": 2}
    found = []
    for _ in range(2):
        instances._from_scenes.cache_clear()
        found.append(instances.load(data, None).checksum)
    assert found[0] == found[1]
    assert len(list((cache / "data").iterdir())) == 2
