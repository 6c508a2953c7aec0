"""Where things lie: homes that are known, and those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from vigil import paths
from vigil.errors import CannotRun, UsageError


def test_a_home_is_put_for_its_sign_and_an_unknown_one_is_refused(monkeypatch):
    """A user that is not there has no home: neither is anything read from there, nor a folder of that name made here."""
    monkeypatch.setenv("HOME", "/home/me")
    assert paths.expanded("~/x.yaml") == Path("/home/me/x.yaml")
    with pytest.raises(UsageError, match=r"~no_such_user/x\.yaml: there is no such home"):
        paths.expanded("~no_such_user/x.yaml")
    monkeypatch.setenv("VIGIL_RUNS_DIR", "~no_such_user/runs")
    with pytest.raises(UsageError, match="~no_such_user/runs"):
        paths.runs_directory()


def test_a_cache_without_a_home_is_asked_for(monkeypatch):
    """A container's user may have no home: a folder named ~ in the working directory would be no place for a cache."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("VIGIL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(paths.Path, "home", no_home)
    with pytest.raises(CannotRun, match="Name a directory in VIGIL_CACHE_DIR"):
        paths.cache_directory()
