"""The learning rate of a step."""

import math

import pytest

from runners.contract.schedule import learning_rate


def test_a_piecewise_rate_changes_at_its_boundaries():
    """A boundary b means: from step b on."""
    schedule = {"kind": "piecewise", "boundaries": [2, 5], "values": [0.1, 0.01, 0.001]}
    assert [learning_rate(schedule, step) for step in range(7)] == [0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001]


def test_a_cosine_falls_once_a_stair():
    """The first stair is k = 1, the last is zero; within a stair the rate stands still."""
    schedule = {"kind": "cosine", "base": 0.06, "stairs": 4, "steps_per_stair": 3}
    rates = [learning_rate(schedule, step) for step in range(12)]
    assert rates[0] == rates[1] == rates[2] == pytest.approx(0.06 * 0.5 * (1 + math.cos(math.pi / 4)))
    assert rates[3] == pytest.approx(0.03)
    assert rates[11] == pytest.approx(0.0, abs=1e-17)


def test_a_rate_warms_up_and_falls_to_its_least():
    """NanoGPT's: a line from base / (steps + 1) on, half a cosine from the base to the least, and the least from then on."""
    schedule = {"kind": "warm_up_cosine", "base": 1e-3, "least": 1e-4, "warm_up_steps": 100, "steps": 2000}
    rates = [learning_rate(schedule, step) for step in range(2100)]
    assert rates[0] == pytest.approx(1e-3 / 101)
    assert rates[99] == pytest.approx(1e-3 * 100 / 101)
    assert max(rates) == rates[100] == 1e-3
    assert rates[1050] == pytest.approx(5.5e-4)
    assert rates[2000] == rates[2099] == pytest.approx(1e-4)


def test_the_published_log_has_these_rates():
    """MoCo's CIFAR-10 demonstration prints 0.059996 for its first of 200 epochs and 0.059985 for its second."""
    schedule = {"kind": "cosine", "base": 0.06, "stairs": 200, "steps_per_stair": 97}
    assert [round(learning_rate(schedule, step), 6) for step in (0, 96, 97)] == [0.059996, 0.059996, 0.059985]
