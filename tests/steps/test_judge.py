"""From differences to a verdict and an origin."""

from __future__ import annotations

import contextlib
import json
import math
import types

import numpy as np
import pytest

from runners.contract.arrays import write_arrays
from runners.contract.protocol.events import EventWriter
from runners.contract.steps import frame
from vigil.documents.failure import Failure
from vigil.documents.step import DirectionalDerivative
from vigil.documents.verdict import Verdict
from vigil.errors import CannotRun
from vigil.steps.judge import Judged, differences_of, judge, origin_of, verdict_of, wrong_derivative
from vigil.steps.limits import limits_of, normal_score, require, step_limits
from vigil.steps.processes import Ended
from vigil.steps.verify import PRECISIONS, _found, settings_of
from vigil.verify.distance import Difference

DRAWS = [[1.0, 0.01, 0.0], [1.1, -0.01, 0.0], [0.9, 0.0, 0.01]]


def judged(tensor: str, *, is_out: bool, case: str = "look/step/segments") -> Judged:
    """Return a difference that is out, or not."""
    return Judged(Difference(case, tensor, 100.0 if is_out else 1.0, 1.0, 0.0, 0.0, 0.0), 10.0 if is_out else 0.1)


def looked(*tensors: str, out: tuple[str, ...]) -> list[Judged]:
    """Return tensors in the order in which they were computed, some of them out."""
    return [judged(each, is_out=each in out) for each in tensors]


def test_a_module_whose_input_agrees_and_whose_output_does_not_is_the_origin():
    """Later modules inherit it."""
    tensors = ("forward/0000/a/input", "forward/0001/a/output", "forward/0002/b/input", "forward/0003/b/output")
    origin = origin_of(looked(*tensors, out=tensors[3:]), [])
    assert (origin.where, origin.phase) == ("b", "forward")


def test_what_lies_between_two_modules_is_told_so():
    """The input of the second is out, and the output of the first is not."""
    tensors = ("forward/0000/a/input", "forward/0001/a/output", "forward/0002/b/input", "forward/0003/b/output")
    origin = origin_of(looked(*tensors, out=tensors[2:]), [])
    assert origin.text == "between a and b, forward"


def test_the_backward_pass_of_a_module_is_an_origin():
    """The gradient of its output agrees, that of its input does not."""
    tensors = ("forward/0001/b/output", "backward/0003/b/output", "backward/0002/b/input", "backward/0001/a/output")
    origin = origin_of(looked(*tensors, out=tensors[2:]), [])
    assert (origin.where, origin.phase) == ("b", "backward")


def test_a_weight_gradient_is_an_origin_where_nothing_before_it_is_out():
    """All that is inside agrees, and a gradient does not."""
    inside = looked("forward/0000/a/input", "forward/0001/a/output", out=())
    origin = origin_of([*inside, judged("gradients/layers.a.weight", is_out=True)], [])
    assert (origin.where, origin.phase) == ("layers.a", "gradient")


def test_a_gradient_that_the_step_has_right_is_no_origin():
    """A look is another program, whose limits are narrower: the update is wrong, and no gradient is."""
    inside = looked("forward/0000/a/input", "gradients/layers.a.bias", out=("gradients/layers.a.bias",))
    step = [judged("gradients/layers.a.bias", is_out=False, case="step/step"), judged("params/a", is_out=True, case="step/step")]
    assert origin_of(inside, step).phase == "update"
    assert origin_of(inside, step[1:]).phase == "gradient"


@pytest.mark.parametrize(
    ("tensor", "case", "text"),
    [
        ("params/head.weight", "step/step", "the optimizer, update"),
        ("stats/norm.running_var", "step/step", "norm, statistics"),
        ("outputs/0", "evaluation/step", "the step, evaluation"),
        ("loss", "step/step", "the loss, forward"),
    ],
)
def test_without_a_look_the_first_tensor_that_is_out_says_the_phase(tensor, case, text):
    """Update, statistics, evaluation or forward."""
    origin = origin_of([], [judged(tensor, is_out=True, case=case)])
    assert origin.phase == text.split()[-1].strip(",")


def test_nothing_that_is_out_is_no_origin():
    """A clean look has none."""
    assert origin_of(looked("forward/0000/a/input", out=()), []) is None


def limits(*, largest: float = 1.0):
    """Return limits of four programs that are alike."""
    statistics = {"distance": largest, "slope": largest, "intercept": largest}
    return limits_of(
        {"program": f"p{k}", "precision": "fp32", "case": "step/step", "context": "c", "hardware": "some, 2 cores",
         "largest": {"gradients": {name: value * (1 + 0.02 * k) for name, value in statistics.items()}}}
        for k in range(4)
    )  # fmt: skip


def test_a_verdict_counts_what_is_beyond_its_limit():
    """Clean, scaled by a hundred floors, and missing."""
    facts = {"norm": 10.0, "size": 50, "draws": DRAWS}
    floors = {"step": {"gradients/w": facts, "gradients/v": facts}}
    clean = {"step": {"lines": {"gradients/w": [1.0, 0.0, 0.0], "gradients/v": [0.5, 0.0, 0.0]}}}
    wrong = {"step": {"lines": {"gradients/w": [1.0, 0.0, 0.0], "gradients/v": [100.0, 10.0, 0.0]}}}
    missing = {"step": {"lines": {"gradients/w": [1.0, 0.0, 0.0], "gradients/v": "missing"}}}
    verdicts = [verdict_of(judge(differences_of(each, floors, {}), limits(), "fp32"), {}) for each in (clean, wrong, missing)]
    assert [each.name for each in verdicts] == [Verdict.REPRODUCED, Verdict.REGRESSED, Verdict.REGRESSED]
    assert verdicts[1].reason == "1 of 2 tensors beyond what rounding does: gradients"


def test_nothing_compared_is_not_reproduced():
    """A context that answered nothing is unknown."""
    assert verdict_of([], {}).name is Verdict.UNKNOWN


def test_updates_go_by_what_they_are_of():
    """`after/params/...` is judged as parameters, and named so."""
    facts = {"norm": 1.0, "size": 9, "draws": DRAWS}
    update = {"lines": {"after/params/w": [1.0, 0.0, 0.0]}, "floors": {"after/params/w": facts}}
    floors = {"step": {}, "steps": {"loss": facts}}
    answers = {"step": {"lines": {}}, "steps": {"lines": {"loss": [9.0, 0.0, 0.0]}}}
    found, later = differences_of(answers, floors, {"step": update})
    assert (found.tensor, found.family, later.tensor) == ("params/w", "params", "loss")  # what it leads to comes later


def test_a_limit_is_of_the_next_program():
    """Programs that differ more leave more room; one whose row is no rounding is refused."""
    narrow, wide = limits(largest=1.0), limits_of(
        {"program": f"p{k}", "precision": "fp32", "case": "step/step", "context": "c", "hardware": "some, 2 cores",
         "largest": {"gradients": {"distance": 1.0 + k, "slope": 1.0, "intercept": 1.0}}} for k in range(4)
    )  # fmt: skip
    key = ("fp32", "margin", "gradients", "distance")
    assert 1.06 < narrow.table[key].value < wide.table[key].value <= 20.0
    with pytest.raises(CannotRun, match="no rounding"):
        limits(largest=25.0)


def test_too_few_programs_make_no_limit():
    """Of one program nothing can be said of the next."""
    row = {"program": "p", "precision": "fp32", "case": "step/step", "context": "c", "hardware": "some, 2 cores",
           "largest": {"loss": {"distance": 1.0, "slope": 1.0, "intercept": 1.0}}}  # fmt: skip
    assert limits_of([row]).table == {}


def test_a_wrong_derivative_is_told_with_its_parameters():
    """All of them first, then those that differ."""
    right = DirectionalDerivative(parameter=None, central=1.0, gradients=1.0, error=1e-6)
    whole = DirectionalDerivative(parameter=None, central=1.0, gradients=1.1, error=1e-6)
    one = DirectionalDerivative(parameter="head.weight", central=0.5, gradients=0.6, error=1e-6)
    fine = DirectionalDerivative(parameter="head.bias", central=0.5, gradients=0.5, error=1e-6)
    unknown = DirectionalDerivative(parameter=None, central=math.nan, gradients=0.5, error=1e-6)
    assert wrong_derivative(()) is None
    assert wrong_derivative((right,)) is None
    assert "not the derivative of the loss: head.weight (" in wrong_derivative((whole, one, fine))
    assert wrong_derivative((whole,)).endswith("Where they stop on purpose, say STOPS_GRADIENT = True in the file")
    assert wrong_derivative((unknown,)) is not None


class Rounds:
    """An oracle of one weight, whose first six draws happen to lie ten times nearer to each other than the others."""

    def under(self, draw):
        self.draw = draw

    def update(self, before, gradients):
        exact = np.linspace(1.0, 2.0, 50) - 0.1 * gradients["w"]
        if self.draw is None:
            return {"after/params/w": exact}
        noise = np.random.default_rng(self.draw).standard_normal(50)
        return {"after/params/w": exact * (1 + (1e-8 if self.draw < 6 else 1e-7) * noise)}


@pytest.mark.parametrize(("moved", "draws", "is_clean"), [(1e-8, 6, True), (1e-7, 24, True), (1e-3, 24, False)])
def test_an_update_that_few_draws_leave_open_is_decided_by_more(tmp_path, moved, draws, is_clean):
    """What is right may be beyond few draws that happen to lie near to each other; what is wrong is beyond all of them."""
    gradients = np.linspace(-1.0, 1.0, 50)
    after = (np.linspace(1.0, 2.0, 50) - 0.1 * gradients) * (1 + moved * np.random.default_rng(99).standard_normal(50))
    states = {"step/before/params/w": after, "step/gradients/w": gradients, "step/after/params/w": after}
    write_arrays(tmp_path / frame.STATES, states)
    request = types.SimpleNamespace(expected=[str(tmp_path)])
    with contextlib.closing(EventWriter(tmp_path, heartbeat_seconds=60.0)) as events:
        frame._updates(Rounds(), request, events)
    updates = json.loads((tmp_path / frame.UPDATES).read_text(encoding="utf-8"))
    assert len(updates["step"]["floors"]["after/params/w"]["draws"]) == draws
    found = judge(differences_of({"step": {"lines": {}}}, {"step": {}}, updates), step_limits(), "fp32")
    assert [each.score <= 1.0 for each in found] == [is_clean]


def test_updates_that_nobody_judged_are_no_pass(tmp_path):
    """Where the process that judges updates has died, the context is failed, whatever the rest says."""
    setting = settings_of("torch", ["eager"], ["fp32"], [1])[0]
    (tmp_path / frame.FLOORS).write_text(json.dumps({"floors": {"step": {}}, "facts": {}}), encoding="utf-8")
    (tmp_path / frame.ANSWERS).write_text(json.dumps({frame.REPEAT: {"lines": {}, "calls": 60, "results": 1}}), encoding="utf-8")
    (tmp_path / frame.UPDATES).write_text("{}", encoding="utf-8")
    died = Failure(category="died", phase="verify", step=0, message="killed", log_tail=())
    whole = {name: Ended(tmp_path, None, {}, 1.0) for name in ("torch-eager-fp32-x1-t1", "oracle-fp32", "updates-fp32")}
    assert _found(setting, whole, limits()).failure is None
    for name in whole:
        failing = whole | {name: Ended(tmp_path, died, {}, 1.0)}
        assert _found(setting, failing, limits()).failure == died


def test_what_is_zero_but_for_rounding_has_no_slope():
    """The gradient of a bias before batch norm is zero: float64 has noise there, and a line through noise says nothing."""
    lines = {"step": {"lines": {"gradients/bias": [1.0, 500.0, 30.0]}}}
    for norm, is_out in ((1e-9, False), (1e3, True)):
        floors = {"step": {"gradients/bias": {"norm": norm, "size": 50, "draws": DRAWS}}}
        [found] = judge(differences_of(lines, floors, {}), limits(), "fp32")
        assert (found.score > 1.0) == is_out


def test_deviations_from_few_draws_say_less():
    """Nine of them are rarer by chance with twelve draws than with six; what is infinite stays so."""
    assert normal_score(9.0, 12) > normal_score(9.0, 6) > normal_score(3.0, 6)
    assert normal_score(math.inf, 6) == math.inf


def test_the_limits_that_are_shipped_hold_for_every_tensor_that_there_is():
    """Where one were missing, a verification would come to nothing at its very end."""
    table, whole = step_limits().table, ("loss", "gradients", "stats", "outputs", "params", "optimizer")
    sizes = {"margin": whole, "margin/tapped": ("forward", "backward", "loss", "gradients", "stats")}
    missing = [
        (precision, size, family, statistic)
        for precision in PRECISIONS
        for size, families in sizes.items()
        for family in families
        for statistic in ("distance", "slope", "intercept")
        if (precision, size, family, statistic) not in table
    ]
    assert missing == []


def test_without_clean_rows_nothing_is_begun():
    """What to do stands in the error."""
    with pytest.raises(CannotRun, match=r"no clean runs of bf16 .*benchmarks.own_steps measure"):
        require(limits(), "bf16")
    require(limits(), "fp32")
