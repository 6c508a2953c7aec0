"""Simulated nights are what they claim to be: rates, seeds, bits, and drifts from a file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.calibration.draws import DISTRIBUTIONS, gaussian
from benchmarks.e_divisive import e_divisive
from benchmarks.simulated_nights import PLANS, SPREAD, main, plant, read_drifts, simulate
from vigil.errors import UsageError

DRIFTS = Path(__file__).resolve().parent.parent.parent / "benchmarks" / "drifts"


def values_of(samples, cells: int) -> np.ndarray:
    """Return the values as [cell, night]."""
    return samples["value"].to_numpy().reshape(cells, -1)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_values_have_the_spread_and_the_correlation_that_they_claim(name):
    """Over 4,000 cells the spread is 0.8, and values of one seed are correlated by a half."""
    values = values_of(simulate(np.random.default_rng(0), DISTRIBUTIONS[name], plan=PLANS[0], cells=4000), 4000)
    assert values.std() == pytest.approx(SPREAD, rel=0.03)
    assert np.corrcoef(values[:, 0], values[:, 5])[0, 1] == pytest.approx(0.5, abs=0.08)
    assert abs(np.corrcoef(values[:, 0], values[:, 1])[0, 1]) < 0.08


def test_same_bits_repeat_within_a_release_only():
    """Two seeds in turn give two values a release, and other ones under the next release or once they drift."""
    samples = simulate(np.random.default_rng(0), gaussian, plan=PLANS[1], cells=3)
    assert (samples.groupby(["context", "release"])["state_sha256"].nunique() == 2).all()
    assert (samples.groupby("state_sha256")["value"].nunique() == 1).all()


def test_a_file_plants_its_drift_and_nothing_else():
    """From night 12 on the cells of the pattern are four standard deviations lower; all else stays."""
    samples = simulate(np.random.default_rng(0), gaussian, plan=PLANS[0], cells=12, frameworks=("jax", "torch"))
    moved = plant(samples, read_drifts(DRIFTS / "night_12.yaml"))["value"] - samples["value"]
    hit = samples["context"].str.startswith("jax-jit-") & (samples["night"] >= "night-012")
    assert hit.sum() == 18
    assert moved[hit].to_numpy() == pytest.approx(-4.0 * SPREAD)
    assert (moved[~hit] == 0.0).all()


@pytest.mark.parametrize("text", ["cells: a", "- cells: a\n  first_night: 3", "- [1]"])
def test_a_file_that_is_no_list_of_drifts_is_refused(tmp_path, text):
    """A key that is missing, and anything that is no list, is told."""
    file = tmp_path / "drifts.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="allowed is a list of drifts, each with cells, first_night, size"):
        read_drifts(file)


def test_a_drift_that_fits_no_run_is_refused(tmp_path):
    """A pattern without a cell would plant nothing, and its test would pass."""
    file = tmp_path / "drifts.yaml"
    file.write_text("[{cells: 'mxnet*', first_night: 12, size: -1}]", encoding="utf-8")
    with pytest.raises(UsageError, match="is none of"):
        plant(simulate(np.random.default_rng(0), gaussian, plan=PLANS[0], cells=2), read_drifts(file))


def test_the_drift_of_the_file_is_found_with_its_night_mode_and_release(capsys):
    """The command ends with 1 and names night, releases and mode; without a file it ends with 0."""
    assert main([str(DRIFTS / "night_12.yaml"), "--cells", "18"]) == 1
    blocks = [block for block in re.split(r"\n(?! )", capsys.readouterr().out) if "only jit" in block]
    assert blocks
    assert all("night-012, 2.0 -> 3.0" in block for block in blocks)
    assert main(["--cells", "6", "--seed", "3"]) == 0


def test_e_divisive_finds_a_clear_step_and_nothing_in_noise():
    """The method that ours is measured against works: a step of five is found, noise is not."""
    generator = np.random.default_rng(1)
    values = generator.standard_normal(20)
    assert e_divisive(values, generator) > 0.05
    assert e_divisive(values - 5.0 * (np.arange(20) >= 11), generator) < 0.01
