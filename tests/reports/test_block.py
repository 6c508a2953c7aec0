"""The verdict block says what invocation.json says, for every way an invocation can end."""

from __future__ import annotations

import pytest

from reports.block import verdict_block
from tests.documents import BAND, a_judgement, an_invocation
from vigil.documents.invocation import Invocation
from vigil.documents.judgement import MeanBand
from vigil.progress import duration

TARGET = {
    "value": 91.25,
    "published_as": "8.75 % test error",
    "source": "He et al. 2015",
    "link": "",
    "judged": False,
    "meets": None,
    "tolerance": None,
    "reason": "its protocol is profile paper",
}


def block(invocation: Invocation | None = None, **changes) -> str:
    """Return the block of an invocation, or of one whose verdict has these changes."""
    return verdict_block(invocation or an_invocation(verdict=a_judgement(targets=[TARGET], **changes)), directory="runs/x")


def test_a_reproduced_run_shows_all_that_the_issue_asks_for():
    """Value and seed, band and how it was made, verdict, power, target, time, directory and tracker are there."""
    text = block()
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


def test_several_runs_show_each_value_the_mean_and_both_bands():
    """Three seeds are named one by one, with their mean and the band for a mean."""
    values = [{"seed": seed, "value": 80.0 + seed, "verdict": "reproduced"} for seed in range(3)]
    of_one = {name: getattr(BAND, name) for name in MeanBand.model_fields}
    text = block(values=values, mean=81.0, mean_band=MeanBand(**of_one | {"low": 79.0, "high": 82.5}))
    assert "80.00 (seed 0), 81.00 (seed 1), 82.00 (seed 2); mean 81.00" in text
    assert "79.00 to 82.50 for the mean of 3" in text
    assert "these 3 runs would have caught" in text


def test_a_regression_stands_out():
    """A verdict that is not `reproduced` is in capitals."""
    assert "verdict         REGRESSED" in block(name="regressed")


def test_an_unknown_verdict_has_no_band_and_no_power():
    """Without a reference the block says none, and claims no power."""
    text = block(name="unknown", band=None, detectable_drop=None, reason="no samples at all")
    assert "band            none" in text
    assert "no samples at all" in text
    assert "caught" not in text


@pytest.mark.parametrize(("name", "shows_log"), [("failed:crash", True), ("unsupported", False)])
def test_a_failed_run_shows_where_and_the_end_of_its_log(name, shows_log):
    """Category, phase, step and seed are there; a refusal needs no log."""
    tail = [f"line {n}" for n in range(9)]
    failure = {"seed": 1, "category": name.removeprefix("failed:"), "phase": "train", "step": 3, "log_tail": tail}
    verdict = a_judgement(name=name, values=[], mean=None, band=None, detectable_drop=None, failure=failure)
    text = block(an_invocation(verdict=verdict))
    assert "no value" in text
    assert "in phase train, step 3, seed 1" in text
    assert ("    | line 8" in text) is shows_log
    assert "line 2" not in text


@pytest.mark.parametrize(("name", "is_told"), [("failed:nan_loss", True), ("failed:nan_state", True), ("failed:hang", False)])
def test_a_number_that_is_not_finite_says_how_to_replay_it(name, is_told):
    """The command stands unbroken; another failure has nothing to replay."""
    failure = {"seed": 0, "category": name.removeprefix("failed:"), "phase": "train", "step": 3, "log_tail": []}
    verdict = a_judgement(name=name, values=[], mean=None, band=None, detectable_drop=None, failure=failure)
    text = block(an_invocation(verdict=verdict))
    assert any(line.startswith("replay it       vigil replay ") for line in text.splitlines()) is is_told


def test_a_planted_fault_is_said():
    """A faulted run cannot be mistaken for a clean one."""
    assert "PLANTED FAULT   no_weight_decay" in block(an_invocation(fault="no_weight_decay"))


def test_a_tracker_that_failed_is_said():
    """The tracker's own reason stands there."""
    assert "not recorded: cannot reach 127.0.0.1." in block(an_invocation(tracking={"error": "cannot reach 127.0.0.1."}))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599.7, "1 h 00 min"), (7800, "2 h 10 min")],
)
def test_durations_read_well(seconds, text):
    """Seconds, minutes and hours, rounded, with no `60 s` among them."""
    assert duration(seconds) == text
