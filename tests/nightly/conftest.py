"""Nights that need no framework."""

import pytest

from tests.nightly.bench import Bench, FakeBases
from vigil.nightly import conduct


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """Return a bench with every cell of ResNet's quick profile."""
    # The sources of this checkout are hashed in test_basis.py; here a basis is the release.
    monkeypatch.setattr(conduct, "Bases", lambda keys, hashes, own, steps: FakeBases(keys))
    return Bench(tmp_path)


@pytest.fixture
def bench(whole, monkeypatch):
    """Return a bench with five cells: jit in fp32, verified on one device, two, and two uneven ones, reproduced on two."""
    real = conduct.night_cells

    def some(recipe, profile, *, frameworks, is_verified=True):
        cells = real(recipe, profile, frameworks=frameworks, is_verified=is_verified)
        return [cell for cell in cells if cell.context.mode == "jit" and cell.context.precision == "fp32"]

    monkeypatch.setattr(conduct, "night_cells", some)
    return whole
