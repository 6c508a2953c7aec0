"""Environments in the cache: built once, torn ones again, held while used, and pruned when nobody does."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import threading
import time

import pytest

from vigil.errors import DirectoryError, EnvironmentFailed
from vigil.releases import store
from vigil.releases.naming import Release, parse_release
from vigil.releases.recorded import interpreter
from vigil.releases.resolve import Unavailable
from vigil.releases.store import MARKER, held, listed, obtain, obtain_or_say_why, prune, prune_to

JAX = "jax==0.9.2"
YEAR = 365 * 86_400.0


def test_a_release_is_built_once_and_needs_no_network_again(fake, cache):
    """The second time neither resolver nor installer is asked, and the marker says what is there."""
    first = obtain(parse_release(JAX))
    fake.problem = "resolve"
    assert obtain(parse_release(JAX)) == first
    assert (len(fake.resolved), len(fake.installed)) == (1, 1)
    marker = json.loads((cache / first.key / MARKER).read_text())
    assert marker["release"] == first.named.as_json() == {"request": JAX, "key": first.key, "pins": list(first.pins)}
    assert (marker["python"], marker["size"] > 0) == ("3.11.7", True)


def test_a_wheel_that_was_built_needs_no_network_again(fake, tmp_path):
    """It is known by its content, wherever it lies; a changed one is built, and its version names no release of an index."""
    wheel = tmp_path / "jax-0.9.2-py3-none-any.whl"
    wheel.write_bytes(b"one")
    first = obtain(parse_release(str(wheel)))
    (tmp_path / "moved").mkdir()
    moved = wheel.rename(tmp_path / "moved" / wheel.name)
    assert obtain(parse_release(str(moved))).key == first.key
    assert len(fake.resolved) == 1
    moved.write_bytes(b"two")
    assert obtain(parse_release(str(moved))).key != first.key
    assert obtain(parse_release(JAX)).key not in (first.key, None)
    assert len(fake.resolved) == len(fake.installed) == 3


def test_the_newest_release_is_asked_for_each_time(fake):
    """When a newer one is out it is another environment; what was newest is still found by its version."""
    first = obtain(parse_release("jax"))
    fake.newest["jax"] = "0.11.0"
    second = obtain(parse_release("jax"))
    assert (first.version, second.version, len(fake.resolved)) == ("0.10.2", "0.11.0", 2)
    fake.problem = "resolve"
    assert obtain(parse_release("jax==0.10.2")).key == first.key
    with pytest.raises(EnvironmentFailed, match="no set of packages fits"):
        obtain(parse_release("jax"))


@pytest.mark.parametrize("other", ["jax==0.9.1", "jax==0.9.20", "tensorflow-cpu==0.9.2"])
def test_an_environment_stands_for_no_other_release(fake, other):
    """A neighbouring version, and the same version of another framework, are built."""
    key = obtain(parse_release(JAX)).key
    assert obtain(parse_release(other)).key != key
    assert len(fake.installed) == 2


def test_an_environment_stands_for_no_other_index_or_python(fake, monkeypatch):
    """The same pins from elsewhere, or under another Python, are other files."""
    obtain(parse_release(JAX))
    obtain(parse_release(JAX, indexes=["https://example.com/simple"]))
    monkeypatch.setattr(store.sys.modules["platform"], "python_version", lambda: "3.12.1")
    obtain(parse_release(JAX))
    assert len({environment.resolved.key for environment in listed()}) == len(fake.installed) == 3


def test_an_environment_stands_for_no_other_build_of_its_version(fake, shelf, monkeypatch):
    """Wheels in a folder are replaced, as those of a night: what was built from the old ones is not taken."""
    path = shelf("jax", "0.9.2")
    monkeypatch.setenv("UV_FIND_LINKS", str(path.parent))
    first = obtain(parse_release(JAX))
    assert obtain(parse_release(JAX)).key == first.key
    path.write_bytes(path.read_bytes() + b"another build")
    assert obtain(parse_release(JAX)).key != first.key
    assert len(fake.installed) == 2


@pytest.mark.parametrize("damage", ["no marker", "half a marker", "another schema", "no interpreter"])
def test_a_torn_environment_is_built_again(fake, cache, damage):
    """What a killed build, or a Python that was removed, leaves behind is no environment."""
    resolved = obtain(parse_release(JAX))
    marker = cache / resolved.key / MARKER
    if damage == "no marker":
        marker.unlink()
    elif damage == "no interpreter":
        (cache / resolved.key / "bin" / "python").unlink()
        (cache / resolved.key / "bin" / "python").symlink_to("/nowhere/python")
    else:
        marker.write_text(marker.read_text()[:40] if damage == "half a marker" else '{"schema": 0}')
    (cache / resolved.key / "left-over").touch()
    assert listed() == []
    assert obtain(parse_release(JAX)) == resolved
    assert len(fake.installed) == 2
    assert not (cache / resolved.key / "left-over").exists()


@pytest.mark.parametrize(
    "marker", ["[]", "null", "3", '{"schema": 2}', '{"schema": 2, "release": {}, "python": "3", "size": 1, "created": "now"}']
)
def test_a_marker_that_is_not_whole_is_none(fake, cache, marker):
    """It ends no list: the others are told, and the environment is removed as one that is torn."""
    torn, whole = obtain(parse_release(JAX)), obtain(parse_release("jax==0.9.1"))
    (cache / torn.key / MARKER).write_text(marker)
    assert [environment.resolved.key for environment in listed()] == [whole.key]
    assert [each.key for each in prune(unused_seconds=YEAR)] == [torn.key]


def test_a_torn_environment_that_counts_is_caught(fake, cache, monkeypatch):
    """Were a directory enough, nothing would be built over what a killed build left."""
    monkeypatch.setattr(store, "is_complete", lambda directory: directory.is_dir())
    resolved = obtain(parse_release(JAX))
    (cache / resolved.key / MARKER).unlink()
    with held(resolved):
        assert len(fake.installed) == 1


@pytest.mark.parametrize("problem", ["install", "resolve"])
def test_a_failed_build_leaves_nothing_and_can_be_tried_again(fake, cache, problem):
    """The error has the installer's last lines; where other work goes on it is kept as the reason."""
    fake.problem = problem
    outcome = obtain_or_say_why(parse_release(JAX))
    assert isinstance(outcome, Unavailable)
    assert outcome.failure.exit_code == 3
    assert outcome.failure.log_tail[0].startswith("ERROR: ")
    assert f"    | {outcome.failure.log_tail[0]}" in str(outcome.failure)
    assert not [path for path in cache.glob("*/") if path.is_dir()]
    fake.problem = None
    assert obtain(parse_release(JAX)).version == "0.9.2"


def test_ctrl_c_in_a_build_leaves_nothing(fake, cache):
    """An interrupted build removes what it made, and its lock is free."""

    def press() -> None:
        raise KeyboardInterrupt

    fake.on_install = press
    with pytest.raises(KeyboardInterrupt):
        obtain(parse_release(JAX))
    fake.on_install = lambda: None
    assert obtain(parse_release(JAX)).version == "0.9.2"


def concurrent_builds(fake) -> tuple[int, list[str]]:
    """Let two ask for one release at once; return how often it was installed, and what both were told."""
    is_building, may_end, told = threading.Event(), threading.Event(), []

    def slow() -> None:
        is_building.set()
        may_end.wait(1.0)

    fake.on_install = slow

    def tell(text: str) -> None:
        told.append(text)
        if "waiting" in text:
            may_end.set()

    threads = [threading.Thread(target=obtain, args=(parse_release(JAX),), kwargs={"tell": tell}) for _ in range(2)]
    threads[0].start()
    assert is_building.wait(5.0)
    threads[1].start()
    for thread in threads:
        thread.join(10.0)
    return len(fake.installed), told


def test_the_second_of_two_builders_waits_says_so_and_uses_what_is_there(fake):
    """One build, and one message that another is awaited."""
    installs, told = concurrent_builds(fake)
    assert installs == 1
    assert sum("another process is building jax==0.9.2; waiting" in text for text in told) == 1


def test_two_builders_without_a_lock_are_caught(fake, monkeypatch):
    """Were nothing locked, both would build, into one directory."""
    monkeypatch.setattr(fcntl, "flock", lambda lock, kind: None)
    with pytest.raises(AssertionError):
        test_the_second_of_two_builders_waits_says_so_and_uses_what_is_there(fake)


def test_a_lock_lasts_as_long_as_an_installer_whose_conductor_was_killed(fake, cache, monkeypatch):
    """pip lives on when vigil is killed, and writes on: who comes next must not build between its files."""
    install, locks = fake.install, []

    def killed(*facts, holds, **options) -> None:
        # What the installer's process has inherited is the same open file: a copy of it stands for that process.
        locks.extend(map(os.dup, holds))
        install(*facts, holds=holds, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(store.installer, "install", killed)
    with pytest.raises(KeyboardInterrupt):
        obtain(parse_release(JAX))
    [path] = cache.glob("*.lock")
    with open(path, "a") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.close(locks[0])
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_prune_removes_what_was_not_used_and_says_what_that_freed(fake, cache):
    """Age decides; use is what makes an environment young again."""
    old, young = obtain(parse_release(JAX)), obtain(parse_release("jax==0.9.1"))
    for resolved in (old, young):
        os.utime(cache / resolved.key / store.LAST_USED, (time.time() - YEAR,) * 2)
    obtain(parse_release("jax==0.9.1"))
    [outcome] = prune(unused_seconds=YEAR / 2)
    assert (outcome.key, outcome.is_in_use) == (old.key, False)
    assert outcome.freed >= 4096
    assert [environment.resolved.key for environment in listed()] == [young.key]
    assert not (cache / old.key).exists()


def test_prune_leaves_what_is_in_use(fake, cache):
    """However old it is and whatever is asked for; afterwards it goes."""
    resolved = obtain(parse_release(JAX))
    with held(resolved) as python:
        [outcome] = prune(unused_seconds=0.0)
        assert (outcome.is_in_use, outcome.freed, python.exists()) == (True, 0, True)
    assert not prune(unused_seconds=0.0)[0].is_in_use
    assert listed() == []


def test_a_library_on_another_framework_is_another_environment(fake, cache):
    """What was built for Keras on TensorFlow has no JAX, and what was built for jax has not the Keras of that release."""
    fake.newest |= {"keras": "3.15.1"}
    of = {
        name: Release(text="keras==3.12.0", framework=name, distribution="keras", version="3.12.0")
        for name in ("tensorflow", "jax")
    }
    found = {name: obtain(release) for name, release in of.items()}
    assert found["tensorflow"].key != found["jax"].key
    assert {name: obtain(release).key for name, release in of.items()} == {name: each.key for name, each in found.items()}
    assert obtain(parse_release("jax==0.10.2")).request == "jax==0.10.2"


def test_prune_to_a_size_removes_the_longest_unused_first(fake, cache):
    """What is in use is left, and what is small enough is not touched."""
    for number, version in enumerate(("0.9.0", "0.9.1", "0.9.2")):
        resolved = obtain(parse_release(f"jax=={version}"))
        os.utime(cache / resolved.key / "last-used", (number, number))
    size = listed()[0].size
    with held(obtain(parse_release("jax==0.9.0"))):
        os.utime(cache / listed()[0].resolved.key / "last-used", (0, 0))
        gone = prune_to(2 * size)
    assert [each.resolved.request for each in gone] == ["jax==0.9.1"]
    assert {each.resolved.request for each in listed()} == {"jax==0.9.0", "jax==0.9.2"}
    assert prune_to(2 * size) == []


def test_prune_to_a_size_leaves_room_on_the_disk(fake, cache, monkeypatch):
    """However much environments may take, a disk that is nearly full holds fewer."""
    for version in ("0.9.0", "0.9.1"):
        obtain(parse_release(f"jax=={version}"))
    assert prune_to(2**60) == []
    usage = store.shutil.disk_usage(cache)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage._replace(free=2**30))
    assert len(prune_to(2**60)) == 2


def test_prune_passes_over_what_another_process_has_removed(fake, cache, monkeypatch):
    """Two searches side by side list the same environments, and each would remove the same one."""
    obtain(parse_release(JAX))
    lock_of = store._lock_of

    @contextlib.contextmanager
    def late(directory, **options):
        shutil.rmtree(directory, ignore_errors=True)
        with lock_of(directory, **options) as lock:
            yield lock

    monkeypatch.setattr(store, "_lock_of", late)
    assert prune_to(0) == []
    (cache / "torn").mkdir()
    assert prune(unused_seconds=0.0) == []


def test_prune_leaves_what_is_being_built(fake, cache):
    """An environment without its marker is torn only where nobody is at work on it."""
    outcomes = []
    fake.on_install = lambda: outcomes.extend(prune(unused_seconds=0.0))
    obtain(parse_release(JAX))
    assert [outcome.is_in_use for outcome in outcomes] == [True]


def test_prune_removes_torn_ones_whatever_their_age(fake, cache):
    """What lacks its marker is of no use to anybody."""
    resolved = obtain(parse_release(JAX))
    (cache / resolved.key / MARKER).unlink()
    [outcome] = prune(unused_seconds=YEAR)
    assert (outcome.resolved, outcome.is_in_use, outcome.freed > 0) == (None, False, True)


def test_what_was_pruned_is_built_again_from_its_pins(fake):
    """A recorded release needs no resolver, even where the newest packages are others by now."""
    recorded = obtain(parse_release(JAX)).named
    prune(unused_seconds=0.0)
    fake.newest["numpy"], fake.problem = "3.0", "resolve"
    with interpreter(recorded, tell=lambda text: None) as (python, again):
        assert python.exists()
        assert again == recorded
    assert fake.installed[0] == fake.installed[1] == list(recorded.pins)


def test_without_a_release_the_interpreter_is_this_one():
    """None stands for it, and nothing is recorded."""
    with interpreter(None, tell=lambda text: None) as found:
        assert found == (None, None)


def test_a_cache_that_cannot_be_written_is_named(fake, tmp_path, monkeypatch):
    """The message says which folder, and how another is chosen."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(DirectoryError, match="Set VIGIL_CACHE_DIR"):
        obtain(parse_release(JAX))


def test_an_environment_with_packages_held_stands_for_no_release_without(fake):
    """Nor for one that holds another version; what is held again is found again, and so is what has it by itself."""
    by_itself = parse_release(JAX)
    older, newest = (dataclasses.replace(by_itself, hold=(f"flax=={version}",)) for version in ("0.11", "0.12"))
    first = obtain(older)
    assert obtain(by_itself).key != first.key
    assert len(fake.installed) == 2
    fake.problem = "resolve"
    assert obtain(older) == first
    assert obtain(newest).key == obtain(by_itself).key
    with pytest.raises(EnvironmentFailed, match="no set of packages fits"):
        obtain(dataclasses.replace(by_itself, hold=("flax==0.10",)))


def test_a_release_that_could_not_be_had_is_tried_again_with_what_was_held(fake):
    """Of such a one no pins are recorded, only what was asked for."""
    fake.problem = "resolve"
    asked = dataclasses.replace(parse_release(JAX), hold=("flax==0.11",))
    unavailable = obtain_or_say_why(asked)
    assert isinstance(unavailable, Unavailable)
    fake.problem = None
    with interpreter(unavailable.named, tell=print) as (_, named):
        assert named.hold == ("flax==0.11",)
        assert "flax==0.11" in named.pins
