"""What moved between two releases is told by how far, in which tensor, and beside what another seed would have changed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from vigil.releases import apart
from vigil.releases.apart import losses_moved, states_moved
from vigil.verify.floors import Floor

OLD, NEW = Path("old"), Path("new")
BIAS, KERNEL = "params/output.bias", "params/output.kernel"


def floor(distance: float) -> Floor:
    """Return a floor of so much."""
    return Floor(distance, 0.0, (0.0, 1.0), (0.0, 1.0), 12)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ({0: [2.0, 1.0, 0.5], 1: [4.0, 1.0, 0.5]}, (0.0, 0.0, 0.0, 1, None)),
        ({0: [2.0, 1.0, 0.25], 1: [4.0, 1.0, 0.5]}, (0.0, 0.0, 0.5, 3, 3)),
        ({0: [2.0, 1.0, 0.5], 1: [8.0, 1.0, 0.4]}, (0.5, 5.0, 0.5, 1, 1)),
        ({0: [2.0, math.nan], 1: [4.0, 1.0, 0.5]}, (0.0, 0.0, math.inf, 2, 2)),
    ],
)
def test_losses_that_moved_are_told_by_step(monkeypatch, losses, expected):
    """The largest share over the seeds: of the first step, which nothing has been carried into, in floors too; and of any."""
    first = {0: [2.0, 1.0, 0.5], 1: [4.0, 1.0, 0.5]}
    monkeypatch.setattr(apart, "_losses", {OLD: first, NEW: losses}.get)
    moved = losses_moved(OLD, NEW, floor=0.1)
    assert (moved.first_step, moved.first_step_floors, moved.largest, moved.step, moved.since) == expected
    assert losses_moved(OLD, NEW).first_step_floors is None


def states(**arrays: float) -> dict[int, dict[str, np.ndarray]]:
    """Return the parameters of two seeds: a bias of 4 and a kernel of 100 elements, all alike; seed 1 has twice as much."""
    sizes = {"bias": (BIAS, 4), "kernel": (KERNEL, 100)}
    whole = {name: np.full(size, arrays[key]) for key, (name, size) in sizes.items()}
    return {0: whole, 1: {name: 2.0 * array for name, array in whole.items()}}


def test_final_parameters_are_told_beside_what_two_seeds_differ_by(monkeypatch):
    """In floors the kernel is furthest, in its size the bias: where floors are known, they say."""
    monkeypatch.setattr(apart, "_final_states", {OLD: states(bias=1.0, kernel=1.0), NEW: states(bias=1.5, kernel=1.25)}.get)
    moved = states_moved(OLD, NEW, floors={BIAS: floor(1.0), KERNEL: floor(0.5)})
    assert (moved.tensor, moved.tensor_floors, moved.tensor_share) == (KERNEL, 10.0, 0.25)
    assert moved.share == pytest.approx(math.sqrt((4 * 0.25 + 100 * 0.0625) / 104))
    assert (moved.between_seeds, moved.seeds, moved.equal) == (1.0, 2, 0)
    without = states_moved(OLD, NEW, floors={})
    assert (without.tensor, without.tensor_floors, without.tensor_share) == (BIAS, None, 0.5)


def test_equal_parameters_are_counted_and_missing_ones_are_infinitely_far(monkeypatch):
    """NaN on both sides has the same bits; an array that one side does not have is no number."""
    one = states(bias=1.0, kernel=math.nan)
    monkeypatch.setattr(apart, "_final_states", {OLD: one, NEW: one}.get)
    same = states_moved(OLD, NEW, floors={})
    assert (same.equal, same.share) == (2, 0.0)
    monkeypatch.setattr(apart, "_final_states", {OLD: states(bias=1.0, kernel=1.0), NEW: {0: {BIAS: np.ones(4)}}}.get)
    assert states_moved(OLD, NEW, floors={}).tensor == KERNEL
    assert math.isinf(states_moved(OLD, NEW, floors={}).share)
    monkeypatch.setattr(apart, "_final_states", {OLD: {}, NEW: one}.get)
    assert states_moved(OLD, NEW, floors={}) is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({BIAS: np.ones(4)}, {BIAS: np.ones(4)}, 0.0),
        ({BIAS: np.ones(4)}, {BIAS: np.full(4, 1.5)}, 10.0),
        ({BIAS: np.full(4, math.nan)}, {BIAS: np.full(4, math.nan)}, 0.0),
        ({BIAS: np.ones(4)}, {BIAS: np.full(4, math.nan)}, math.inf),
        ({BIAS: np.ones(4)}, {BIAS: np.ones(3)}, math.inf),
        ({BIAS: np.ones(4)}, {}, math.inf),
        ({}, {BIAS: np.ones(4)}, math.inf),
        ({}, {}, 0.0),
    ],
)
def test_one_tensor_of_a_step_is_told_in_floors(before, after, expected):
    """Nothing hides: what is no number, or there on one side alone, is infinitely far."""
    assert apart._ratio("init/margin", BIAS, before, after, floor=floor(0.1)) == pytest.approx(expected)
