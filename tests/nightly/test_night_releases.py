"""Which release a night asks for, and what it records of it."""

import pytest

from vigil.errors import UsageError
from vigil.nightly import night_releases
from vigil.nightly.night_releases import NewestReleases
from vigil.releases import store
from vigil.releases.resolve import Resolved


@pytest.fixture
def asked(monkeypatch):
    """Replace the resolver by one that remembers what it is asked; nothing is in the cache but jax 0.9.2."""
    found = []

    def known(release):
        return Resolved(release.text, "k9", ("jax==0.9.2", "jaxlib==0.9.2")) if release.version == "0.9.2" else None

    def resolve(release):
        found.append(release.text)
        return Resolved(release.text, "k1", ("jax==0.10.2", "numpy==2.4.0"), release.shown_indexes)

    monkeypatch.setattr(store, "known", known)
    monkeypatch.setattr(store, "resolve", resolve)
    return found


@pytest.mark.parametrize(("is_pre", "request_"), [(False, "jax"), (True, "jax@pre")])
def test_the_newest_is_asked_for_each_night(asked, is_pre, request_):
    """Its pins and their key are recorded, with the version that a person reads."""
    release = NewestReleases(is_pre=is_pre).resolve("jax")
    assert asked == [request_]
    assert (release.request, release.key, release.version) == (request_, "k1", "0.10.2")


def test_what_is_held_and_was_built_needs_no_network(asked):
    """The pins are those of its environment."""
    release = NewestReleases(named=["jax==0.9.2"], is_pre=True).resolve("jax")
    assert asked == []
    assert (release.version, release.pins) == ("0.9.2", ("jax==0.9.2", "jaxlib==0.9.2"))


def test_a_password_of_an_index_is_not_recorded(asked):
    """It is used for building, and shown to nobody."""
    releases = NewestReleases(indexes=["https://user:secret@example.org/simple"])
    release = releases.resolve("jax")
    assert "secret" not in str(release)
    used = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(night_releases, "held", lambda resolved, tell: used.append(resolved))
        releases.hold(release, tell=print)
    assert used[0].indexes == ("https://user:secret@example.org/simple",)


def test_two_releases_of_one_framework_are_refused():
    """A cell is of one of them."""
    with pytest.raises(UsageError, match="found two of jax"):
        NewestReleases(named=["jax==0.9.2", "jax==0.10.2"])
