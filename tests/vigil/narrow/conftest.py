"""Releases on a shelf of tiny wheels, and a cache of this test's own."""

from __future__ import annotations

from tests.vigil.releases.conftest import cache, shelf

__all__ = ["cache", "shelf"]
