"""The loss scaler in float16: what is kept, doubled, halved and skipped is due at one moment, and told when it is not."""

import dataclasses

import numpy as np
import pytest

from vigil.documents.context import make_context
from vigil.verify.ask import is_fresh, lines_of, state_key, states_of
from vigil.verify.invariants import check_scaler
from vigil.verify.localise import origins_of_scaler
from vigil.verify.standard_cases import TOO_LARGE, StandardCase, further_cases

STEP = StandardCase("early/margin", "step", "early", ("early/margin",), 0.1, 4, 4)
LOADED = {"params/w": np.array([1.0, -2.0]), "momentum/w": np.array([0.5, 0.0]), "stats/m": np.array([0.0])}
SKIPPED = {"params/w": np.float32([1.0, -2.0]), "momentum/w": np.float32([0.5, 0.0]), "stats/m": np.float32([3.0])}


def found(case, scale, good_steps, *, fresh=False, state=SKIPPED):
    """Return what is broken where a step ends with this scaler."""
    answer = {**state, "scaler/scale": np.float64(scale), "scaler/good_steps": np.int64(good_steps)}
    return check_scaler(case, LOADED, answer, is_fresh=fresh)


@pytest.mark.parametrize(
    ("scale", "good_steps", "fresh", "due"),
    [
        pytest.param(4096.0, 0, False, (4096.0, 1), id="kept"),
        pytest.param(4096.0, 0, True, (65536.0, 1), id="fresh"),
        pytest.param(4096.0, 1999, False, (8192.0, 0), id="doubled"),
        pytest.param(TOO_LARGE, 5, False, (TOO_LARGE / 2, 0), id="halved"),
    ],
)
def test_one_scale_and_one_count_are_due(scale, good_steps, fresh, due):
    """All others are told, with what was found and what was due."""
    case = dataclasses.replace(STEP, scale=scale, good_steps=good_steps)
    assert found(case, *due, fresh=fresh) == []
    (grown,) = found(case, 2 * due[0], due[1], fresh=fresh)
    assert (grown.tensor, f"{2 * due[0]:.10g}" in grown.what) == ("scaler/scale", True)
    assert f"where {due[0]:.10g} is due" in grown.what
    (counted,) = found(case, due[0], due[1] + 1, fresh=fresh)
    assert counted.tensor == "scaler/good_steps"
    assert len(found(case, np.nan, -1, fresh=fresh)) == 2


@pytest.mark.parametrize("name", ["params/w", "momentum/w"])
@pytest.mark.parametrize("value", [np.float32([np.nan, np.nan]), np.float32([1.0, -1.9999999]), None])
def test_a_step_to_be_skipped_leaves_every_bit(name, value):
    """Parameters and what the optimizer keeps; running statistics belong to the forward pass."""
    case = dataclasses.replace(STEP, scale=TOO_LARGE)
    state = {key: array for key, array in SKIPPED.items() if key != name} | ({} if value is None else {name: value})
    (broken,) = found(case, TOO_LARGE / 2, 0, state=state)
    assert (broken.tensor, broken.what.split(",")[0]) == (name, "missing" if value is None else "moved")


def test_a_scaler_that_is_not_answered_is_missing():
    """An answer without it is none."""
    assert [each.what.split(" after")[0] for each in check_scaler(STEP, LOADED, {}, is_fresh=False)] == [
        "the loss scale is missing",
        "the count of good steps is missing",
    ]


def test_every_call_of_a_case_is_looked_at():
    """Of repeated calls each is one step; of a trajectory, each kept state has as many as its number."""
    repeat, long = (dataclasses.replace(STEP, kind=kind) for kind in ("repeat", "trajectory"))
    answer = {f"{call}/scaler/{name}": value for call in (0, 8) for name, value in (("scale", 4096.0), ("good_steps", call))}
    assert check_scaler(long, LOADED, answer, is_fresh=False) == []
    assert {each.tensor for each in check_scaler(repeat, LOADED, answer, is_fresh=False)} == {
        "0/scaler/good_steps",
        "8/scaler/good_steps",
    }
    answer["8/scaler/scale"] = 8192.0
    assert [each.tensor for each in check_scaler(long, LOADED, answer, is_fresh=False)] == ["8/scaler/scale"]


def test_the_origin_is_the_loss_scale():
    """It is named with what was found, as far off as can be."""
    (origin,) = origins_of_scaler(found(STEP, 8192.0, 1))
    assert (origin.layer, origin.phase, origin.quantity) == ("optimizer", "update", "loss scale")
    assert origin.remark == "the loss scale is 8192 after a step whose gradients are finite, where 4096 is due"
    assert origins_of_scaler([]) == []


def test_cases_of_the_scaler_have_states_of_their_own(tape):
    """The training state is that of `early`; nothing else of it is changed."""
    cases = further_cases(tape.training, tape.probes, precision="fp16")
    arrays = states_of(tape, cases)
    context = make_context(framework="torch", precision="fp16")
    for case, line in zip(cases, lines_of(tape, cases, context), strict=True):
        key = f"state/{line['state']}"
        assert line["state"] == state_key(case) != case.state
        assert (arrays[f"{key}/scaler/scale"], arrays[f"{key}/scaler/good_steps"]) == (case.scale, case.good_steps)
        for name, array in tape.probes["early"].state.items():
            np.testing.assert_array_equal(arrays[f"{key}/{name}"], array)


def test_a_first_scale_that_may_overflow_is_not_asked_for(tape, monkeypatch):
    """A correct program would skip that step; in other precisions the optimizer is fresh all the same."""
    half, single = (make_context(framework="torch", precision=precision) for precision in ("fp16", "fp32"))
    first = tape.cases[0]
    assert first.is_fresh
    assert is_fresh(first, tape, single)
    large = {name: tensor * 1e6 for name, tensor in tape.expected(first).items()}
    monkeypatch.setattr(tape, "expected", lambda case: large)
    assert not is_fresh(first, tape, half)
    assert is_fresh(first, tape, single)
