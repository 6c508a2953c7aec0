"""The block of a user's own step: the answer first, each context, and what cannot be seen."""

from __future__ import annotations

import math

import pytest

from reports.step_text import step_block
from vigil.documents.context import make_context
from vigil.documents.failure import Failure
from vigil.documents.step import (
    DirectionalDerivative,
    OracleFacts,
    OwnFileFacts,
    Repeated,
    StepContext,
    StepOrigin,
    StepVerification,
)
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict, TensorDifference


def difference(tensor: str, *, case: str = "step", score: float = 0.1) -> TensorDifference:
    """Return a tensor that is out, or not, by its score."""
    return TensorDifference(
        case=case,
        tensor=tensor,
        ratio=10 * score,
        slope=1.0,
        intercept=0.0,
        slope_z=0.0,
        intercept_z=0.0,
        problem=None,
        score=score,
    )


def context(mode: str, *, out: tuple[TensorDifference, ...] = (), failure: Failure | None = None) -> StepContext:
    """Return a context that is reproduced, regressed or failed."""
    name = failure.verdict if failure else Verdict.REGRESSED if out else Verdict.REPRODUCED
    reason = failure.message if failure else "2 of 73 tensors beyond what rounding does: gradients" if out else "all 73 tensors"
    origin = StepOrigin(phase="backward", where="blocks.1.mlp", tensor="backward/0003/blocks.1.mlp/input", ratio=310.0)
    return StepContext(
        context=make_context(framework="torch", mode=mode),
        threads=1,
        verdict=StepVerdict(name=name, reason=reason, failure=failure),
        tensors=73,
        tensors_out=len(out),
        worst=out[0] if out else difference("loss"),
        out=out,
        origin=origin if out else None,
        repeated=Repeated(calls=60, results=1 if mode == "eager" else 3),
        environment={},
        directory=mode,
        seconds=1.0,
    )


def document(*contexts: StepContext, name: Verdict = Verdict.REPRODUCED) -> StepVerification:
    """Return the verification of these contexts."""
    oracle = OracleFacts(
        precision="fp32",
        seed=2,
        candidates=4,
        operators=1128,
        loss_scale=1.0,
        draws=12,
        flips={"step": {"relu": 3}},
        derivatives=(DirectionalDerivative(parameter=None, central=0.25, gradients=0.2500001, error=1e-5),),
        remarks=("rows: not tried in another order",),
        failure=None,
        seconds=9.0,
    )
    return StepVerification(
        step_id="x",
        created="2026-11-25T00:00:00+00:00",
        command="vigil verify my_step.py",
        file=OwnFileFacts(path="/somewhere/my_step.py", sha256="0" * 64),
        framework="torch",
        framework_version="2.13.0",
        release=None,
        fault=None,
        verdict=StepVerdict(name=name, reason=f"{len(contexts)} of {len(contexts)} contexts"),
        oracles=(oracle,),
        contexts=contexts,
        limits=LimitFacts(clean_rows=900),
        not_seen=("what float64 does wrong as well",),
        seconds=41.0,
    )


def test_the_answer_of_a_sound_step_comes_first():
    """Contexts and tensors are counted; each context has its line, with how often its results differed."""
    text = step_block(document(context("eager"), context("jit")), directory="runs/x")
    assert text.startswith("reproduced: my_step.py, torch 2.13.0: 2 of 2 contexts, 146 tensors")
    assert "60 calls gave 3 different results" in " ".join(text.split())
    assert "choices that rounding flips: relu" in text
    assert "by central differences 0.25" in " ".join(text.split())
    assert "rows: not tried in another order" in text


def test_the_origin_of_a_wrong_step_comes_first():
    """Then the tensors that are farthest out, each once, where it is farthest."""
    out = (
        difference("gradients/w", score=30.0),
        difference("gradients/w", case="rows", score=20.0),
        difference("gradients/b", score=9.0),
    )
    text = step_block(document(context("eager", out=out), name=Verdict.REGRESSED), directory="runs/x")
    assert text.startswith("REGRESSED: my_step.py, torch 2.13.0: torch-eager-fp32-x1: the origin is blocks.1.mlp, backward, 310x")
    assert text.count("gradients/w") == 1
    assert "gradients/b" in text


def test_a_failure_is_told_with_the_end_of_its_log():
    """Which phase, and the last lines."""
    failure = Failure(category="crash", phase="verify", step=0, message="RuntimeError: no kernel", log_tail=("one", "two"))
    text = step_block(document(context("eager", failure=failure), name=Verdict.FAILED_CRASH), directory="runs/x")
    assert "crash in phase verify" in text
    assert "      | two" in text


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(monkeypatch, columns):
    """But for words that cannot be broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    out = (difference("gradients/" + "a_long_name." * 3 + "weight", score=math.inf),)
    text = step_block(document(context("eager", out=out), context("compile"), name=Verdict.REGRESSED), directory="runs/x")
    assert max(map(len, text.splitlines()[1:])) <= min(columns, 110)
