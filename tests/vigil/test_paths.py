"""Where things lie: homes that are known, and those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from vigil import paths
from vigil.errors import CannotRun


def test_a_home_is_put_for_its_sign_and_an_unknown_one_is_left(monkeypatch):
    """A user that is not there has no home: the path stays, and whoever opens it says that it is not there."""
    monkeypatch.setenv("HOME", "/home/me")
    assert paths.expanded("~/x.yaml") == Path("/home/me/x.yaml")
    assert paths.expanded("~no_such_user/x.yaml") == Path("~no_such_user/x.yaml")


def test_a_cache_without_a_home_is_asked_for(monkeypatch):
    """A container's user may have no home: a folder named ~ in the working directory would be no place for a cache."""
    for name in ("VIGIL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(paths.os.path, "expanduser", lambda path: path)
    with pytest.raises(CannotRun, match="Name a directory in VIGIL_CACHE_DIR"):
        paths.cache_directory()
