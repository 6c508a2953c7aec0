"""Pins and their key: whatever can change an installed byte changes the key, and nothing else does."""

from __future__ import annotations

import dataclasses
import os
import platform
import sysconfig
from datetime import datetime, timedelta, timezone

import pytest

from vigil.errors import EnvironmentFailed
from vigil.releases import resolve as module
from vigil.releases.naming import parse_release
from vigil.releases.resolve import Resolved, is_same_version, key_of, last_day_of, packages_of, resolve, version_in

FIRST = datetime(2024, 5, 1, tzinfo=timezone.utc)
PINS = ["flax==0.12.8", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"]


@pytest.mark.parametrize("index", range(len(PINS)))
def test_the_key_depends_on_every_pin(index):
    """Another version of any one package, or one package less, is another environment."""
    other = [pin if place != index else pin[:-1] + "9" for place, pin in enumerate(PINS)]
    fewer = [pin for place, pin in enumerate(PINS) if place != index]
    assert len({key_of(PINS, ()), key_of(other, ()), key_of(fewer, ())}) == 3


def test_the_key_depends_on_python_platform_and_indexes_and_on_nothing_else(monkeypatch):
    """The order of the pins is nothing; each of the others makes another key."""
    keys = [key_of(PINS, ()), key_of(PINS, ("https://example.com",))]
    assert key_of(PINS[::-1], ()) == keys[0]
    with monkeypatch.context() as patch:
        patch.setattr(platform, "python_version", lambda: "3.12.1")
        keys.append(key_of(PINS, ()))
    with monkeypatch.context() as patch:
        patch.setattr(sysconfig, "get_platform", lambda: "linux-aarch64")
        keys.append(key_of(PINS, ()))
    assert len(set(keys)) == 4


@pytest.mark.parametrize(
    "variable", ["UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_NO_INDEX"]
)
def test_the_key_depends_on_what_the_installer_is_told_of_indexes(monkeypatch, variable):
    """A mirror may have another build of the same version; its password is no part of that."""
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    keys = [key_of(PINS, ())]
    for value in ("1",) if variable == "UV_NO_INDEX" else ("https://one.example/x", "https://me:one@two.example/x"):
        monkeypatch.setenv(variable, value)
        keys.append(key_of(PINS, ()))
    assert len(set(keys)) == len(keys)
    monkeypatch.setenv(variable, value.replace(":one@", ":two@"))
    assert key_of(PINS, ()) == keys[-1]


def test_the_key_depends_on_the_builds_in_a_folder(shelf):
    """Of the packages that the pins name, and no others."""
    path = shelf("jax", "0.10.2")
    first = key_of(PINS, ())
    shelf("jax", "0.10.3")
    assert key_of(PINS, ()) == first
    path.write_bytes(path.read_bytes() + b"another build")
    assert key_of(PINS, ()) != first


def test_a_wheel_is_known_by_its_content(fake, tmp_path):
    """Two builds of one name and version have two keys, and the changed one is not installed for the first."""
    path = tmp_path / "jax-0.11.0-py3-none-any.whl"
    path.write_bytes(b"one")
    first = resolve(parse_release(str(path)))
    assert packages_of(first)[1] == f"jax @ {path.as_uri()}"
    path.write_bytes(b"two")
    assert resolve(parse_release(str(path))).key != first.key
    with pytest.raises(EnvironmentFailed, match="the wheel is another one now"):
        packages_of(first)
    path.unlink()
    with pytest.raises(EnvironmentFailed, match="the wheel is gone"):
        packages_of(first)


def test_what_is_recorded_can_be_read_back_and_holds_no_secret(fake):
    """The request, the key and the pins come back; a password does not get in."""
    resolved = resolve(parse_release("jax==0.9.2", indexes=["https://user:hidden-word@example.com/simple"]))
    recorded = resolved.named
    assert "hidden-word" not in f"{recorded}{resolved!r}"
    assert resolved.indexes == ("https://user:hidden-word@example.com/simple",)
    again = Resolved.from_named(recorded)
    assert again == resolved
    assert again.indexes == ("https://example.com/simple",)
    assert (again.framework, again.version) == ("jax", "0.9.2")


@pytest.mark.parametrize(
    ("name", "own", "following", "bound"),
    [
        ("jax==0.4.28", 9, 40, 40),
        # A correction of an old line, younger than the line that follows.
        ("tensorflow==2.18.1", 60, 50, 60),
        # The newest; one whose index has no times; and what is asked for as the newest.
        ("jax==0.10.2", 90, None, None),
        ("torch==2.13.0+cpu", None, None, None),
        ("jax", 90, None, None),
        ("jax@pre", 90, None, None),
    ],
)
def test_the_time_of_a_release_ends_with_the_next_one(fake, monkeypatch, name, own, following, bound):
    """What is resolved with it was there by then; nothing is bound where there is no next one or nobody says when."""
    moments = {False: own, True: following}
    asked = []

    def uploaded(requirement, *, is_lowest=False, **facts):
        asked.append(requirement)
        return None if moments[is_lowest] is None else FIRST + timedelta(days=moments[is_lowest])

    monkeypatch.setattr(module.installer, "uploaded", uploaded)
    assert last_day_of(parse_release(name)) == (None if bound is None else FIRST + timedelta(days=bound))
    if name == "jax==0.4.28":
        assert asked == ["jax==0.4.28", "jax>0.4.28"]
    resolve(parse_release(name))
    assert fake.before == (None if bound is None else FIRST + timedelta(days=bound))


def test_a_sibling_is_no_newer_than_its_release():
    """Of a release of 2024 the metadata allow any later jaxlib, and its runner would end at its first import."""
    assert "jaxlib<=0.4.28" in parse_release("jax==0.4.28").requirements()
    assert not any(line.startswith("jaxlib") for line in parse_release("jax").requirements())


def test_a_resolution_without_the_framework_is_none(fake, monkeypatch):
    """An installer that answers with other packages is not believed."""
    monkeypatch.setattr(module.installer, "resolve", lambda *facts, **options: [("numpy", "2.4.6")])
    with pytest.raises(EnvironmentFailed, match="jax is not among the packages"):
        resolve(parse_release("jax==0.9.2"))


@pytest.mark.parametrize(
    ("asked", "found", "same"),
    [
        ("0.9", "0.9.0", True),
        ("0.9.0", "0.9", True),
        ("2.13.0", "2.13.0+cpu", True),
        ("2.13.0+cpu", "2.13.0", False),
        ("0.9.1", "0.9.10", False),
        ("0.10", "0.1", False),
    ],
)
def test_versions_are_compared_as_versions(asked, found, same):
    """Trailing zeros say nothing, and a local part only where it was asked for."""
    assert is_same_version(asked, found) is same


def holding(release: str, *held: str):
    """Return a release beside which packages are held."""
    return dataclasses.replace(parse_release(release), hold=held)


def test_what_is_held_may_be_younger_than_the_release(fake, monkeypatch):
    """The release's time ends with the next one; a package that was named with its version, itself too, is taken all the same."""
    monkeypatch.setattr(module.installer, "uploaded", lambda requirement, **facts: FIRST)
    resolved = resolve(holding("jax==0.9.2", "flax==0.12.8"))
    assert (fake.before, list(fake.of_any_day)) == (FIRST, ["flax", "jax"])
    assert (version_in(resolved.pins, "flax"), resolved.named.hold) == ("0.12.8", ("flax==0.12.8",))
    assert Resolved.from_named(resolved.named) == resolved


def test_mxnet_comes_with_a_numpy_that_is_younger(fake, monkeypatch):
    """MXNet 1.9.1 works with no newer one, and with none of its own time on today's Python."""
    monkeypatch.setattr(module.installer, "uploaded", lambda requirement, **facts: FIRST)
    resolved = resolve(parse_release("mxnet==1.9.1"))
    assert (fake.before, list(fake.of_any_day)) == (FIRST, ["numpy", "mxnet"])
    assert (resolved.framework, resolved.version, version_in(resolved.pins, "numpy")) == ("mxnet", "1.9.1", "1.23.5")


@pytest.mark.parametrize(
    ("impossible", "message"),
    [
        # Together with the release, alone, and the release itself.
        ({"flax==0.5.0", "jax==0.9.2"}, "jax==0.9.2 and flax==0.5.0, numpy==2.0 exist, and the resolver cannot"),
        ({"flax==0.5.0"}, "--hold flax==0.5.0: there is no such version"),
        ({"jax==0.9.2"}, "^jax==0.9.2: no set of packages fits"),
    ],
)
def test_why_a_release_cannot_be_had_with_what_is_held(fake, impossible, message):
    """That two do not go together is told apart from a version that there is not, and from a release that there is not."""
    fake.impossible = impossible
    with pytest.raises(EnvironmentFailed, match=message) as caught:
        resolve(holding("jax==0.9.2", "flax==0.5.0", "numpy==2.0"))
    assert caught.value.log_tail == ["ERROR: no matching distribution"]
    if len(impossible) == 2:
        assert "Without --hold jax==0.9.2 can be had, with flax 0.12, numpy 2.4" in caught.value.reason
