"""What a runner tells of a call: one that has no gradient is asked for its outputs."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.audit import frame
from runners.contract.audit.frame import Answer, Framework, Question, _asked, _mutated, _repeated

QUESTION = Question(
    id="own-0", operator="own", parameters={}, arguments={"x": np.ones(3, np.float32)}, differentiated=("x",), kept=(),
    cotangents=(np.ones(3, np.float32),), precision="fp32", layout="plain", directions=({"x": np.ones(3)},) * 2,
)  # fmt: skip


class Adapter:
    """Of a framework whose calls have no gradient, and say so in some words."""

    tools = None

    def __init__(self, said: str, *, has_outputs: bool = True) -> None:
        self._said, self._has_outputs = said, has_outputs

    def prepared(self, call, question):
        def made() -> Answer:
            if question.differentiated or not self._has_outputs:
                raise LookupError(self._said)
            outputs = [call(**question.arguments)]
            return Answer(outputs, {}, lambda: outputs)

        return made

    def elsewhere(self, call, question):
        return None


def told(said: str, **more):
    """Return the row and the arrays of a call."""
    own = Framework("own", lambda request: None, dict, lambda request: None)
    return _asked(own, Adapter(said, **more), QUESTION, "numpy.square", lambda x: 2 * x)


def mutated(monkeypatch, **planted):
    """Return the rows and the arrays of a call without a gradient, with each defect planted in it."""
    for name, mutant in planted.items():
        monkeypatch.setitem(frame.MUTANTS, name, mutant)
    adapter = Adapter("No gradient defined for operation")
    return list(_mutated(adapter, QUESTION, "numpy.square", lambda x: 2 * x, list(planted)))


def test_a_call_without_a_gradient_answers_with_its_outputs():
    """What is said of the gradient is told beside them."""
    row, arrays = told("No gradient defined for operation")
    assert (row["status"], row["no_gradient"]) == ("answered", "LookupError: No gradient defined for operation")
    assert list(arrays) == ["outputs/0"]
    assert arrays["outputs/0"].tolist() == [2, 2, 2]
    assert "derived" not in row


def test_each_call_is_held_to_the_bits_of_the_first():
    """What is told is which call had others first, and how many had; its numbers are kept, and arguments that it wrote to."""
    numbers = iter([1.0] * 16 + [2.0, 1.0, 3.0] + [1.0] * 9)
    answers = (
        Answer([np.array([value]), np.array([7.0])], {}, list, ("x",) if value == 3.0 else ()) for value in numbers
    )
    first = next(answers)
    held = {name: array.tobytes() for name, array in first.named().items()}
    found = _repeated(lambda: next(answers), held, 28)
    assert (found.calls, found.others) == (28, {"outputs/0": [17, 2]})
    assert found.arrays["outputs/0"].tolist() == [2.0]
    assert found.changed == {"x"}
    assert next(answers, None) is None  # 28 calls, the first among them


def test_a_slow_call_is_made_twice_and_no_more(monkeypatch):
    """However often it should be."""
    monkeypatch.setattr(frame, "_LONGEST_REPEATS", 0.0)
    assert _repeated(lambda: Answer([np.zeros(1)], {}, list), {"outputs/0": np.ones(1).tobytes()}, 60).calls == 2


def test_a_mutant_without_a_gradient_says_so_too(monkeypatch):
    """Else the gradient that it has not would count as a defect that was seen."""
    [(row, arrays)] = mutated(monkeypatch, own=lambda call, tools: lambda x: 3 * x)
    assert row["mutant"] == "own"
    assert row["no_gradient"]
    assert arrays["outputs/0"].tolist() == [3, 3, 3]


def test_defects_that_show_nothing_or_end_a_call_are_not_told(monkeypatch):
    """They would count as overlooked, or hide those that come after them."""
    same, ends, other = (lambda x: x + x), (lambda x: x / None), (lambda x: 3 * x)
    planted = {"same": lambda call, tools: same, "ends": lambda call, tools: ends, "other": lambda call, tools: other}
    assert [row["mutant"] for row, _ in mutated(monkeypatch, **planted)] == ["other"]


@pytest.mark.parametrize(
    ("said", "has_outputs", "status"),
    [("No gradient defined", False, "cannot"), ("division by zero", True, "raises"), ("division by zero", False, "raises")],
)
def test_no_other_error_is_taken_for_a_missing_gradient(said, has_outputs, status):
    """A type of numbers that there is not raises without gradients as well; what is no refusal is an error."""
    row, arrays = told(said, has_outputs=has_outputs)
    assert (row["status"], row["message"], arrays) == (status, f"LookupError: {said}", {})
