"""What is cached is read back exactly, or seen to be damaged: never half of it."""

from __future__ import annotations

import json
import threading

import pytest

from vigil.errors import CannotRun, DirectoryError
from vigil.paths import cache_directory
from vigil.tracking.history_cache import NOTE, SCHEMA, CachedTables, CacheState, HistoryCache, table_of
from vigil.tracking.history_rows import TABLES

URI = "http://anna:s3cret@host"
ROW = {"identity": "a/b", "mlflow_run_id": "1", "uploaded_at": "", "invocation_id": "a", "run_id": "b", "created": 5, "seed": 1}


@pytest.fixture
def cached() -> CachedTables:
    return CachedTables(CacheState("2026-11-20T12:00:00+00:00", "2026-11-20", {"r": {"why": "w"}}, ("1 e 5",)), {
        "samples": table_of("samples", [ROW | {"value": 82.5}]), "verifications": table_of("verifications", [])})  # fmt: skip


@pytest.fixture
def cache(cached) -> HistoryCache:
    """Return a cache that was written twice."""
    cache = HistoryCache(URI)
    with cache.alone():
        cache.write(CachedTables(CacheState("2026-11-19T12:00:00+00:00", None), {name: table_of(name, []) for name in TABLES}))
        cache.write(cached)
    return cache


def test_what_is_written_is_read(cache, cached):
    """Tables and state come back equal; nothing in the cache holds the password."""
    found = cache.read()
    assert found.state == cached.state
    assert all(found.tables[name].equals(cached.tables[name]) for name in TABLES)
    assert "s3cret" not in (cache.directory / NOTE).read_text() + str(cache.directory)
    assert HistoryCache("http://bert:other@host").directory == cache.directory != HistoryCache("http://other").directory


def test_tables_of_long_ago_are_removed(cache, cached):
    """The last two generations stay, for whoever reads just now; the directory does not grow."""
    for _ in range(3):
        cache.write(cached)
    assert len(list(cache.directory.glob("*.parquet"))) == 4


def _truncate(cache, samples):
    samples.write_bytes(samples.read_bytes()[:-30])


def _alter(cache, samples):
    content = bytearray(samples.read_bytes())
    content[60] ^= 1
    samples.write_bytes(content)


def _remove(cache, samples):
    samples.unlink()


def _tear_the_note(cache, samples):
    note = cache.directory / NOTE
    note.write_text(note.read_text()[:-40])


def _write_another_note(cache, samples):
    (cache.directory / NOTE).write_text("[1]")


def _raise_the_schema(cache, samples):
    note = cache.directory / NOTE
    note.write_text(json.dumps(json.loads(note.read_text()) | {"schema": SCHEMA + 1}))


def _mix_generations(cache, samples):
    other = next(path for path in cache.directory.glob("samples-*.parquet") if path != samples)
    samples.write_bytes(other.read_bytes())


@pytest.mark.parametrize(
    "damage",
    [_truncate, _alter, _remove, _tear_the_note, _write_another_note, _raise_the_schema, _mix_generations],
)
def test_a_damaged_cache_is_seen_and_told(cache, capsys, damage):
    """Each kind of damage gives nothing, with a word on standard error, rather than some of the rows."""
    note = json.loads((cache.directory / NOTE).read_text())
    damage(cache, cache.directory / note["files"]["samples"]["name"])
    assert cache.read() is None
    assert "cannot be used" in capsys.readouterr().err


def test_nothing_cached_is_nothing_without_a_word(capsys):
    """A first use is no damage."""
    assert HistoryCache(URI).read() is None
    assert capsys.readouterr().err == ""


def test_only_one_at_a_time_brings_it_up_to_date(cache):
    """Whoever comes second waits; who only reads does not."""
    entered = threading.Event()

    def enter():
        with HistoryCache(URI).alone():
            entered.set()

    with cache.alone():
        other = threading.Thread(target=enter)
        other.start()
        assert not entered.wait(0.2)
        assert cache.read() is not None
    other.join()
    assert entered.is_set()


def test_a_value_of_another_type_does_not_enter():
    """A seed that is text is refused, not stored as text."""
    with pytest.raises(Exception, match="convert"):
        table_of("samples", [ROW | {"seed": "one"}])


def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch, cached):
    """A cache below a file ends with the variable that moves it; a disk that is full leaves what was there."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(DirectoryError, match="VIGIL_CACHE_DIR"), HistoryCache(URI).alone():
        pass
    with pytest.raises(CannotRun, match="VIGIL_CACHE_DIR"):
        HistoryCache(URI).write(cached)


def test_the_place_is_chosen_by_the_user(monkeypatch, tmp_path):
    """$VIGIL_CACHE_DIR comes first, then $XDG_CACHE_HOME, then ~/.cache."""
    assert cache_directory() == tmp_path / "cache"
    monkeypatch.delenv("VIGIL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "vigil"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "vigil"
