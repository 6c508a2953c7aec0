"""The verdict block says what invocation.json says, for every way an invocation can end."""

from __future__ import annotations

import copy

import pytest

from reports.block import verdict_block
from vigil.progress import duration

INVOCATION = {
    "recipe": {"name": "resnet_cifar", "version": 1, "hash": "ab12cd34", "profile": "quick"},
    "context": {"text": "jax-jit-fp32-x1"},
    "fault": None,
    "wall_seconds": 128.4,
    "tracking": {"uri": "sqlite:///mlflow.db", "experiment": "resnet_cifar", "run_id": "0123abc"},
    "verdict": {
        "name": "reproduced",
        "reason": "the value is 0.40 points above the reference's mean",
        "metric": "test_accuracy",
        "unit": "percent",
        "direction": "higher",
        "values": [{"seed": 7, "value": 81.25, "verdict": "reproduced"}],
        "mean": 81.25,
        "mean_band": None,
        "welch": None,
        "detectable_drop": 2.345,
        "power": 0.9,
        "band": {
            "low": 78.125,
            "high": 83.5,
            "method": "prediction interval",
            "coverage": 0.99,
            "n": 30,
            "n_seeds": 10,
            "frameworks": ["jax", "tensorflow", "torch"],
            "dates": ["2026-10-01", "2026-10-03"],
        },
        "targets": [
            {
                "value": 91.25,
                "published_as": "8.75 % test error",
                "source": "He et al. 2015",
                "link": "",
                "judged": False,
                "meets": None,
                "reason": "its protocol is profile paper",
            }
        ],
    },
}


@pytest.fixture
def invocation():
    return copy.deepcopy(INVOCATION)


def block(invocation) -> str:
    return verdict_block(invocation, directory="runs/x")


def test_a_reproduced_run_shows_all_that_the_issue_asks_for(invocation):
    """Value and seed, band and how it was made, verdict, power, target, time, directory and tracker are there."""
    text = block(invocation)
    for part in (
        "resnet_cifar v1 (ab12cd34), profile quick, jax-jit-fp32-x1",
        "81.25 (seed 7)",
        "78.12 to 83.50 for one run",
        "99% prediction interval, from 30 runs of 10 seeds on jax, tensorflow, torch, 2026-10-01 to 2026-10-03",
        "verdict         reproduced",
        "would have caught a drop of 2.35 points with probability 0.9",
        "91.25 (8.75 % test error; He et al. 2015): not judged",
        "2 min 08 s",
        "runs/x",
        "experiment resnet_cifar, run 0123abc",
    ):
        assert " ".join(part.split()) in " ".join(text.split())
    assert "FAULT" not in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_several_runs_show_each_value_the_mean_and_both_bands(invocation):
    """Three seeds are named one by one, with their mean and the band for a mean."""
    judged = invocation["verdict"]
    judged["values"] = [{"seed": seed, "value": 80.0 + seed, "verdict": "reproduced"} for seed in range(3)]
    judged |= {"mean": 81.0, "mean_band": {"low": 79.0, "high": 82.5}}
    text = block(invocation)
    assert "80.00 (seed 0), 81.00 (seed 1), 82.00 (seed 2); mean 81.00" in text
    assert "79.00 to 82.50 for the mean of 3" in text
    assert "these 3 runs would have caught" in text


def test_a_regression_stands_out(invocation):
    """A verdict that is not `reproduced` is in capitals."""
    invocation["verdict"]["name"] = "regressed"
    assert "verdict         REGRESSED" in block(invocation)


def test_an_unknown_verdict_has_no_band_and_no_power(invocation):
    """Without a reference the block says none, and claims no power."""
    invocation["verdict"] |= {"name": "unknown", "band": None, "detectable_drop": None, "reason": "no samples at all"}
    text = block(invocation)
    assert "band            none" in text
    assert "no samples at all" in text
    assert "caught" not in text


@pytest.mark.parametrize(("name", "shows_log"), [("failed:crash", True), ("unsupported", False)])
def test_a_failed_run_shows_where_and_the_end_of_its_log(invocation, name, shows_log):
    """Category, phase, step and seed are there; a refusal needs no log."""
    invocation["verdict"] |= {
        "name": name,
        "values": [],
        "mean": None,
        "band": None,
        "detectable_drop": None,
        "targets": [],
        "failure": {
            "seed": 1,
            "category": name[-5:],
            "phase": "train",
            "step": 3,
            "log_tail": [f"line {n}" for n in range(9)],
        },
    }
    text = block(invocation)
    assert "no value" in text
    assert "in phase train, step 3, seed 1" in text
    assert ("    | line 8" in text) is shows_log
    assert "line 2" not in text


def test_a_planted_fault_is_said(invocation):
    """A faulted run cannot be mistaken for a clean one."""
    invocation["fault"] = "no_weight_decay"
    assert "PLANTED FAULT   no_weight_decay" in block(invocation)


def test_a_tracker_that_failed_is_said(invocation):
    """The tracker's own reason stands there."""
    invocation["tracking"] = {"error": "cannot reach 127.0.0.1."}
    assert "not recorded: cannot reach 127.0.0.1." in block(invocation)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599.7, "1 h 00 min"), (7800, "2 h 10 min")],
)
def test_durations_read_well(seconds, text):
    """Seconds, minutes and hours, rounded, with no `60 s` among them."""
    assert duration(seconds) == text
