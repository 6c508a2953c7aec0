"""The history that never happened is what its docstring says: else every simulation on it would be about something else."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.history_scale import of_nights, write_cache
from benchmarks.synthetic_history import SEED_SPREAD, SPREAD, synthetic_history
from benchmarks.synthetic_timelines import night_points
from vigil.documents.context import parse_context
from vigil.tracking.history import load_history
from vigil.tracking.history_rows import SAMPLES, VERIFICATIONS


@pytest.fixture(scope="module")
def clean():
    return synthetic_history(48, 108, seed=3)


def values(history, *, cells: int) -> np.ndarray:
    """Return the metric as [night, cell]."""
    return history.samples["value"].to_numpy().reshape(-1, cells)


def test_it_has_the_columns_and_types_of_a_real_one(clean, monkeypatch, tmp_path):
    """Written to the cache and read by load_history it is equal, so nothing can tell it from one that was measured."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path))
    uri = f"sqlite:///{tmp_path}/none.db"
    write_cache(uri, clean)
    read = load_history(uri, refresh=False)
    assert (list(clean.samples), list(clean.verifications)) == (list(SAMPLES), list(VERIFICATIONS))
    assert read.samples.equals(clean.samples)
    assert read.verifications.equals(clean.verifications)


def test_cells_are_contexts_and_seeds_rotate(clean):
    """A cell keeps its recipe and context over the nights; night k trains seed k mod 16; releases hold for 5 to 9 nights."""
    samples = clean.samples
    cells = samples.groupby(["recipe", "context", "recipe_hash"])
    assert len(cells) == 108
    assert (cells.size() == 48).all()
    assert samples["seed"].to_numpy().reshape(48, 108)[:, 5].tolist() == [night % 16 for night in range(48)]
    assert parse_context(samples["context"][60]).framework == samples["framework"][60]
    held = samples[samples["framework"] == "jax"].groupby("release", sort=False)["night"].nunique().tolist()
    assert all(5 <= nights <= 9 for nights in held[:-1])


def test_spreads_and_bands_are_what_they_claim(clean):
    """One run spreads by SPREAD, cells of a recipe share the effect of a seed, and about one run in a hundred is out."""
    found = values(clean, cells=108)
    assert found.std(axis=0, ddof=1).mean() == pytest.approx(SPREAD, rel=0.1)
    shared = np.corrcoef(found[:, 0], found[:, 1:54].mean(axis=1))[0, 1]
    assert shared == pytest.approx(SEED_SPREAD / SPREAD, abs=0.2)
    big = synthetic_history(100, 500, seed=0).samples
    assert (big["verdict"] != "reproduced").mean() == pytest.approx(0.01, abs=0.006)


def test_a_drift_moves_its_cells_from_its_night_on_and_nothing_else(clean):
    """The difference to the clean history of the same seed is the drift, to the rounding of a value."""
    drifted = synthetic_history(48, 108, seed=3, drifts=[(range(0, 108, 54), 12, -2.0), (7, 40, 1.0)])
    difference = values(drifted, cells=108) - values(clean, cells=108)
    expected = np.zeros((48, 108))
    expected[12:, [0, 54]], expected[40:, 7] = -2.0 * SPREAD, SPREAD
    np.testing.assert_allclose(difference, expected, atol=0.0101)
    assert not np.allclose(values(synthetic_history(48, 108, seed=4), cells=108), values(clean, cells=108))


def test_a_night_is_a_part_of_it(clean):
    """The points of one night are its cells, with the numbers of that night."""
    points = night_points(clean, "night011")
    part = of_nights(clean, 11, 12)
    assert [point.value for point in points] == part.samples["value"].tolist()
    assert len({point.key for point in points}) == 108
    assert points[0].verify_worst_ratio == part.verifications["worst_ratio"].iloc[0]
