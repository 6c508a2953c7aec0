"""The block of a step under two releases: the answer first, then both sides, contexts and programs."""

from __future__ import annotations

import pytest

from reports.step_comparison_text import comparison_block
from tests.steps.compared import CRASHED, ELSEWHERE, NOT_THERE, RIGHT, WRONG, context, exact
from vigil.documents.failure import Failure
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.step import OwnFileFacts, Repeated
from vigil.documents.step_comparison import ContextMoved, ExactMoved, SidesJudgement, SidesVerdict, StepComparison, StepSide
from vigil.documents.verification import LimitFacts, StepVerdict


def side(name: str, release: str | None) -> StepSide:
    """Return a side of a release, or of the user's own environment."""
    return StepSide(
        name=name,
        release=NamedRelease(request=release, key="k", pins=()) if release else None,
        python=None if release else "/ours/bin/python",
        framework_version="2.13.0",
        versions={"torch": "2.13.0", "numpy": "2.4.6"},
        verdict=StepVerdict(name=RIGHT, reason="1 of 1 contexts"),
        verification="20261125-step",
    )


def document(
    name: SidesVerdict,
    *contexts: ContextMoved,
    programs: ExactMoved | None = None,
    fault: PlantedFault | None = None,
) -> StepComparison:
    """Return the comparison of these contexts."""
    return StepComparison(
        compare_id="x",
        created="2026-11-25T00:00:00+00:00",
        command="vigil compare my_step.py torch==2.12.0 /ours/bin/python",
        file=OwnFileFacts(path="/somewhere/my_step.py", sha256="0" * 64),
        framework="torch",
        fault=fault,
        old=side("OLD", "torch==2.12.0"),
        new=side("NEW", None),
        verdict=SidesJudgement(name=name, reason="why", exit_code=name.exit_code),
        exact=(programs or exact(),),
        contexts=contexts,
        limits=LimitFacts(clean_rows=900),
        not_seen=("what float64 does wrong as well",),
        seconds=41.0,
    )


@pytest.mark.parametrize(
    ("name", "contexts", "first"),
    [
        (SidesVerdict.IDENTICAL, [context(RIGHT, RIGHT)], "No difference: my_step.py: why"),
        (SidesVerdict.ROUNDED, [context(RIGHT, RIGHT, equal=1)], "No difference but for rounding: my_step.py: why"),
        (SidesVerdict.NEW_WRONG, [context(RIGHT, WRONG, equal=1)], "Moved, a step of NEW is wrong: my_step.py: why"),
        (SidesVerdict.NEW_WRONG, [context(WRONG, WRONG)], "Not moved, and wrong under both: my_step.py: why"),
        # The first calls have the same bits, and later ones under NEW are wrong.
        (SidesVerdict.NEW_WRONG, [context(RIGHT, WRONG, results=(1, 9))], "Moved, a step of NEW is wrong: my_step.py: why"),
        (SidesVerdict.NEW_COARSER, [context(RIGHT, RIGHT, equal=1)], "Moved, NEW rounds more than OLD: my_step.py: why"),
        (SidesVerdict.COULD_NOT_RUN, [context(RIGHT, CRASHED)], "Could not run: my_step.py: why"),
        (SidesVerdict.CANNOT_TELL, [], "Cannot tell: my_step.py: why"),
    ],
)
def test_the_first_line_is_the_answer(name, contexts, first):
    """Did it move, and why is that said."""
    assert comparison_block(document(name, *contexts), directory="runs/x").startswith(f"{first}\n")


def test_each_context_says_how_far_apart_the_sides_are():
    """The farthest tensor, how many have the same bits, and which side has other ones by itself."""
    wavers = context(RIGHT, RIGHT, equal=1).replace(new_repeated=Repeated(calls=60, results=3))
    text = " ".join(comparison_block(document(SidesVerdict.ROUNDED, wavers), directory="runs/x").split())
    assert "at most gradients/w in case step, 2x its noise floor apart; 1 of 3 tensors have the same bits" in text
    updated = wavers.replace(farthest=wavers.farthest.replace(ratio=0.0))
    told = " ".join(comparison_block(document(SidesVerdict.ROUNDED, updated), directory="runs/x").split())
    assert "all that a step computes has the same bits, and what its optimizer leaves has not; 1 of 3 tensors" in told
    assert "NEW by itself gave 3 different results in 60 calls" in text
    first = context(RIGHT, RIGHT, results=(1, 3))
    same = " ".join(comparison_block(document(SidesVerdict.ROUNDED, first), directory="runs/x").split())
    assert "the same bits in all 3 tensors; NEW by itself gave 3 different results in 60 calls" in same
    coarse = context(RIGHT, RIGHT, equal=1, coarser=ELSEWHERE)
    more = " ".join(comparison_block(document(SidesVerdict.NEW_COARSER, coarse), directory="runs/x").split())
    assert "same bits; NEW's loss in case step is 80x OLD's noise floor off float64, which its own program explains" in more
    assert "OLD torch==2.12.0: torch 2.13.0, numpy 2.4.6; reproduced" in text
    assert "NEW /ours/bin/python: torch" in text


def test_what_differs_between_the_programs_is_told():
    """In float64, in what they begin with, and what could not be asked."""
    told = {
        "the same program: 3 tensors agree to float64's rounding": exact(),
        "not the same program: at most loss in case step, 80x": exact(is_same=False, farthest=ELSEWHERE),
        "updates of the same gradients: at most loss in case step": exact(is_same=False, updated=ELSEWHERE),
        "NEW draws other numbers of the same key": exact(is_same=False, farthest=ELSEWHERE, draws_otherwise=True),
        "one side alone begins with a: there each side has its own": exact(unmatched=("a",)),
        "other numbers under NEW: a, b, c, d and 1 more; both sides began with OLD's": exact(moved=tuple("abcde")),
        "batch() gives other numbers under NEW": exact(batches=(2,)),
        "NEW's optimizer was not asked": exact(remark="NEW's optimizer was not asked"),
    }
    for text, programs in told.items():
        block = comparison_block(document(SidesVerdict.ROUNDED, context(RIGHT, RIGHT), programs=programs), directory="runs/x")
        assert text in " ".join(block.split())


def test_a_failure_is_told_with_the_end_of_its_log_unless_both_sides_lack_the_context():
    """Which side, which phase, and the last lines."""
    failure = Failure(category="crash", phase="verify", step=0, message="no kernel", log_tail=("one", "two"))
    crashed = context(RIGHT, CRASHED)
    crashed = crashed.replace(new=crashed.new.replace(failure=failure))
    text = comparison_block(document(SidesVerdict.COULD_NOT_RUN, crashed), directory="runs/x")
    assert "torch-jit-fp32-x1: NEW, verify: no kernel\n      | one\n      | two\n" in text
    eager = crashed.replace(context=context(RIGHT, CRASHED, mode="eager").context)
    both = comparison_block(document(SidesVerdict.COULD_NOT_RUN, crashed, eager), directory="runs/x")
    assert "torch-jit-fp32-x1 and 1 more: NEW, verify: no kernel\n" in both
    assert both.count("| two") == 1
    neither = context(NOT_THERE, NOT_THERE)
    neither = neither.replace(old=neither.old.replace(failure=failure), new=neither.new.replace(failure=failure))
    assert "| two" not in comparison_block(document(SidesVerdict.IDENTICAL, neither), directory="runs/x")


@pytest.mark.parametrize(
    ("name", "sides", "caught"),
    [
        (SidesVerdict.NEW_WRONG, context(RIGHT, WRONG, equal=1), ": caught torch"),
        (SidesVerdict.IDENTICAL, context(RIGHT, RIGHT), ": not caught torch"),
        # What differs in float64, where no fault is planted, and what OLD has wrong too, is not the fault.
        (SidesVerdict.PROGRAMS_DIFFER, context(RIGHT, RIGHT, equal=1), ": not caught torch"),
        (SidesVerdict.NEW_WRONG, context(WRONG, WRONG), ": not caught torch"),
        (SidesVerdict.COULD_NOT_RUN, context(RIGHT, CRASHED), " torch"),
    ],
)
def test_a_planted_fault_is_caught_or_not(name, sides, caught):
    """A comparison that missed it says so."""
    fault = PlantedFault(name="half", sha256="0" * 64)
    text = " ".join(comparison_block(document(name, sides, fault=fault), directory="runs/x").split())
    assert f"half, under NEW on purpose{caught}" in text


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(monkeypatch, columns):
    """But for words that cannot be broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    contexts = [context(RIGHT, RIGHT, equal=0), context(WRONG, WRONG, equal=1, mode="compile")]
    text = comparison_block(document(SidesVerdict.NEW_WRONG, *contexts), directory="runs/x")
    assert max(map(len, text.splitlines()[1:])) <= min(columns, 110)
