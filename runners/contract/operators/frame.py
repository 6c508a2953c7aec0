"""The frame of a runner of operators: what each trial measures, and what is made of it.

The reference in float64 says what is right, and draws of rounding how far a correct operator may be from it. What is farther off
is told apart here, where the inputs are at hand: other bits from equal ones are a race; what the reference, where it jumps, gives
for inputs that are moved by as much as rounding moves them, on one side or the other, is a kink; all else is a bug.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from runners.contract.arrays import write_arrays
from runners.contract.errors import ContractError
from runners.contract.files import replace_text
from runners.contract.operators.own import (
    INPUTS,
    OperatorFile,
    Tolerance,
    is_floating,
    load_operator,
    named_leaves,
)
from runners.contract.operators.request import FILE_NAME, OPTION, OperatorRequest, read_request
from runners.contract.operators.trials import GIVEN, PLAIN, UNITS, USUAL, Trial, around, arranged, plan, rounded
from runners.contract.protocol.events import EventWriter, encode_float
from runners.contract.steps import process
from runners.contract.steps.own import Batch, OwnFileError

Arrays = dict[str, np.ndarray]
ANSWERS = "answers.json"
RIGHT = "right.npz"  # of a single trial, all tensors as they should be
# What a trial comes to. `refused`: the inputs, or the reference, have no such size; `unstable`: rounding alone makes of a number
# one that is not finite, or the reference gives none itself.
FINE, BUG, KINK, RACE, RAISES, WRITES, REFUSED, UNSTABLE = (
    "fine", "bug", "kink", "race", "raises", "writes", "refused", "unstable",
)  # fmt: skip
WRONG = (BUG, RACE, RAISES, WRITES)
# Inputs are moved by so many units of rounding: what an operator rounds within itself, as a coordinate, moves by as much.
_MOVED = 4.0
_SIDES = 16
_SHRINKS = 40
_EVERY_TRIAL = 2  # calls with the same inputs
_SMALLER_CALLS = 15  # of a race that is made smaller: one that shows in a fifth of the calls is missed once in thirty times
_CROSSED = 100.0  # times the median of draws' squared distances
_PARTING = 8.0  # an element is out beyond so many times what rounding does to it


class Question(NamedTuple):
    """What an operator is asked: inputs, as NumPy arrays, and the gradient of what it gives.

    differentiated: the names of inputs. layout: how arguments and gradients lie in memory.
    """

    inputs: Batch
    differentiated: tuple[str, ...]
    precision: str
    layout: str
    seed: int

    def cotangent(self, place: int, shape: Sequence[int]) -> np.ndarray:
        """Return the gradient of an output, a float32 array of numbers that the precision has."""
        if self.layout == "expanded":
            return np.ones(tuple(shape), np.float32)
        numbers = np.random.default_rng((self.seed, place)).standard_normal(tuple(shape))
        return rounded(numbers, self.precision)


class Operator(Protocol):
    """What a framework brings. All three answer `outputs/<path>` and, of floating inputs, `gradients/<path>`."""

    has_layouts: bool

    def candidate(self, question: Question) -> tuple[Arrays, Batch]:
        """Return what the candidate gives, and its inputs as they are after it."""

    def reference(self, question: Question) -> Arrays:
        """Return what the reference gives in the precision."""

    def exact(self, question: Question, *, draw: int | None = None, moved: Mapping[str, np.ndarray] | None = None) -> Arrays:
        """Return what the reference gives in float64, with the rounding of a draw, and with inputs moved by so much."""

    def choices(self) -> list[tuple[str, int]]:
        """Return of the last call of `exact`, of each operator that chose, its name and a checksum of what it chose."""


class Framework(NamedTuple):
    """What a framework brings. `set_up` comes before its first operation."""

    name: str
    set_up: Callable[[OperatorRequest], None]
    describe: Callable[[], dict[str, Any]]
    to_numpy: Callable[[Batch], Batch]
    operator: Callable[[OperatorFile, OperatorRequest], Operator]


def main(name: str, load: Callable[[], Framework], arguments: list[str]) -> int:
    """Try the operator that a request names; return the exit code. A failure of any kind becomes a `failed` event.

    Args:
        load: imports the framework.
    """
    return process.main(name, load, arguments, file=FILE_NAME, read=read_request, option=OPTION, answer=_answer)


def _answer(framework: Framework, request: OperatorRequest, directory: Path, events: EventWriter) -> None:
    file = load_operator(Path(request.file), request.file_sha256)
    events.enter("build")
    examiner = Examiner(file, framework.operator(file, request), framework.to_numpy, request)
    events.enter("verify")
    if request.trial is not None:
        _alone(examiner, Trial(**request.trial), request, directory, events)
        return
    precisions = file.precisions_of(request.precisions)
    trials = plan(file, precisions=precisions, seeds=request.seeds, has_layouts=examiner.operator.has_layouts)
    results = []
    for number, trial in enumerate(trials):
        started = time.monotonic()
        result = examiner.examine(trial, calls=request.repeats if number == 0 else _EVERY_TRIAL)
        if trial.group == USUAL and result["kind"] == REFUSED:
            raise OwnFileError(f"{file.name}: of the usual sizes: {result['message']}")
        results.append(result)
        events.advance()
        events.emit("probed", index=number, total=len(trials), name=trial.group, seconds=round(time.monotonic() - started, 3))
    tell_races(results, examiner, calls=request.repeats, on_call=events.advance)
    smallest = [examiner.smallest(each, on_call=events.advance) for each in _least_of_each(results)]
    tolerances = {precision: file.tolerance(precision) for precision in precisions}
    content = {
        "usual": file.usual, "precisions": precisions, "results": results, "smallest": smallest,
        "tolerances": {precision: each and each._asdict() for precision, each in tolerances.items()},
    }  # fmt: skip
    replace_text(directory / ANSWERS, json.dumps(_plain(content)))


def _alone(examiner: Examiner, trial: Trial, request: OperatorRequest, directory: Path, events: EventWriter) -> None:
    """Try one set of inputs, then plainer and smaller ones; write what shows the failure, and what is right."""
    result = examiner.examine(trial, calls=request.repeats)
    events.advance()
    for plainer in (trial._replace(layout=PLAIN), trial._replace(layout=PLAIN, values=GIVEN), trial._replace(values=GIVEN)):
        if result["kind"] not in WRONG or plainer == trial:
            continue
        found = examiner.examine(plainer, calls=request.repeats)
        events.advance()
        if (found["kind"], found.get("tensor")) == (result["kind"], result.get("tensor")):
            result = found
    if result["kind"] in WRONG:
        result = examiner.smallest(result, on_call=events.advance)
    right = examiner.right(Trial(**result["trial"]))
    content = {"result": result, "asked": examiner.asked}
    if right is not None:
        write_arrays(directory / RIGHT, right.tensors)
        content |= {"floors": right.floors, "limits": right.limits}
    replace_text(directory / ANSWERS, json.dumps(_plain(content)))


def _first_of_each(results: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the first result of each kind of failure, by precision and tensor; those of usual sizes come first."""
    seen = set()
    for result in results:
        key = result["kind"], result["trial"]["precision"], result.get("tensor")
        if result["kind"] in WRONG and key not in seen:
            seen.add(key)
            yield result


def _least_of_each(results: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield of each kind of failure, by precision and tensor, the result of the least sizes, the first of several."""
    by_size = sorted(results, key=lambda each: math.prod(each["trial"]["sizes"].values()))
    return _first_of_each(by_size)


def tell_races(results: Sequence[dict[str, Any]], examiner: Examiner, *, calls: int, on_call: Callable[[], None]) -> None:
    """Call a bug of each precision and tensor so many times, and make all of them races if that one is a race.

    A trial has but two calls: a race that is mostly wrong, with equal bits, is a bug in most of them.
    """
    for first in list(_first_of_each(results)):
        if first["kind"] != BUG or first["calls"]["calls"] >= calls:
            continue
        again = examiner.examine(Trial(**first["trial"]), calls=calls)
        on_call()
        if (again["kind"], again.get("tensor")) != (RACE, first["tensor"]):
            continue
        for each in results:
            is_same = each["kind"] == BUG and each["tensor"] == first["tensor"]
            if is_same and each["trial"]["precision"] == first["trial"]["precision"]:
                each |= again if each is first else {"kind": RACE, "wrong_calls": each["calls"]["calls"]}


class _Measured(NamedTuple):
    """One tensor of one call: how many floors it is off, and how many it may be."""

    ratio: float
    limit: float

    @property
    def score(self) -> float:
        return self.ratio / self.limit


class _Exact(NamedTuple):
    """What is right for one question: tensors in float64, what each draw of rounding makes of them, and their floors."""

    tensors: Arrays
    draws: list[Arrays]
    scales: Arrays  # what rounding does to each element: root mean square over draws
    floors: dict[str, float]
    limits: dict[str, float]
    flips: tuple[str, ...]


class Examiner:
    """Tries one operator."""

    def __init__(
        self, file: OperatorFile, operator: Operator, to_numpy: Callable[[Batch], Batch], request: OperatorRequest
    ) -> None:
        self.file, self.operator, self._to_numpy, self._request = file, operator, to_numpy, request
        self.asked = 0

    def examine(self, trial: Trial, *, calls: int) -> dict[str, Any]:
        """Return what a trial comes to: its `kind`, and what shows it."""
        self.asked += 1
        found: dict[str, Any] = {"trial": trial._asdict(), "kind": FINE}
        question = self._question(trial)
        if isinstance(question, str):
            return found | {"kind": REFUSED, "message": question}
        try:
            exact = self._exact(question, trial)
        except OwnFileError as error:
            return found | {"kind": REFUSED, "message": str(error)}
        if isinstance(exact, str):
            return found | {"kind": UNSTABLE, "message": exact}
        found["flips"] = exact.flips
        try:
            answers, changed = self._called(question, calls)
        except ContractError as error:
            if error.category == "unsupported":
                raise
            return found | {"kind": RAISES, "message": str(error)}
        found["calls"] = {"calls": calls, "results": len(answers)}
        if changed:
            return found | {"kind": WRITES, "tensor": changed, "message": f"the candidate changes its input {changed}"}
        measured = [self._measured(answer, exact) for answer, _ in answers]
        worst = max(range(len(answers)), key=lambda place: max(each.score for each in measured[place].values()))
        found["measured"] = {name: [each.ratio, each.limit] for name, each in measured[worst].items()}
        out = [name for name, each in measured[worst].items() if each.score > 1.0]
        tolerance = self.file.tolerance(trial.precision)
        if trial.group == USUAL:
            needs, fails = self._test(question, answers[0][0], exact, tolerance)
            found["needs"] = needs
            if tolerance:
                found |= {"test_fails": bool(fails), "test_at_kink": bool(fails) and self._is_at_kink(question, fails, exact)}
        if out:
            found |= self._told(question, answers, measured, worst, exact, out)
        return found

    def right(self, trial: Trial) -> _Exact | None:
        """Return what is right for a trial, and how far rounding moves it; None where nothing can be held to it."""
        question = self._question(trial)
        exact = question if isinstance(question, str) else self._exact(question, trial)
        return None if isinstance(exact, str) else exact

    def smallest(self, result: dict[str, Any], *, on_call: Callable[[], None]) -> dict[str, Any]:
        """Return the result of the smallest sizes that still show the same failure of the same tensor."""
        trial, calls = Trial(**result["trial"]), _SMALLER_CALLS if result["kind"] == RACE else _EVERY_TRIAL
        left = _SHRINKS
        for name in trial.sizes:
            allowed = around(self.file, name)
            for size in [each for each in allowed if each < trial.sizes[name]]:
                if not left:
                    return result
                left -= 1
                smaller = trial._replace(sizes=trial.sizes | {name: size})
                found = self.examine(smaller, calls=calls)
                on_call()
                if found["kind"] == result["kind"] and found.get("tensor") == result.get("tensor"):
                    trial, result = smaller, found
                    break
        return result

    def _question(self, trial: Trial) -> Question | str:
        """Return what is asked, or why there are no inputs of these sizes."""
        try:
            inputs, again = (self._to_numpy(self.file.own.call(INPUTS, trial.seed, **trial.sizes)) for _ in range(2))
        except OwnFileError as error:
            return str(error)
        for (name, one), (_, other) in zip(named_leaves(inputs), named_leaves(again), strict=True):
            if isinstance(one, np.ndarray) and (one.shape != other.shape or one.tobytes() != other.tobytes()):
                raise OwnFileError(
                    f"{self.file.name}: inputs: two calls with seed {trial.seed} gave other numbers, in {name}. "
                    "They must come from the seed alone."
                )
        if not isinstance(inputs, (dict, tuple, list)):
            raise OwnFileError(
                f"{self.file.name}: inputs: gave {type(inputs).__name__}. Allowed: a dict, or a tuple, of arguments."
            )
        floating = tuple(name for name, leaf in named_leaves(inputs) if is_floating(leaf))
        if self.file.differentiated is not None and not {*self.file.differentiated} <= {*floating}:
            raise OwnFileError(
                f"{self.file.name}: DIFFERENTIATED: found {self.file.differentiated}. Allowed: some of {', '.join(floating)}."
            )
        chosen = floating if self.file.differentiated is None else self.file.differentiated
        return Question(arranged(inputs, trial), chosen, trial.precision, trial.layout, trial.seed)

    def _exact(self, question: Question, trial: Trial) -> _Exact | str:
        """Return what is right, or why nothing can be held to it."""
        tensors = self.operator.exact(question)
        chosen, flips = self.operator.choices(), set()
        draws, all_draws = [], []
        for draw in range(self._request.draws):
            one = self.operator.exact(question, draw=draw)
            flipped = {was[0] for was, now in zip(chosen, self.operator.choices(), strict=False) if was != now}
            flips |= flipped
            all_draws.append(one)
            if not flipped:
                draws.append(one)
        for name, tensor in tensors.items():
            for each in all_draws:
                if each[name].shape != tensor.shape or (np.isfinite(tensor) & ~np.isfinite(each[name])).any():
                    return f"{name}: rounding alone makes of finite numbers others, or none"
            # A mask's infinities are to be there. Of other values than are given a plain reference may overflow in float64 too.
            is_asked = trial.values == GIVEN and name.startswith("outputs/")
            stays = np.isfinite(tensor) | (is_asked & np.all([each[name] == tensor for each in all_draws], axis=0))
            if not stays.all():
                tensors[name] = np.where(stays, tensor, np.nan)
        # Where rounding flips a gate in some draws, the others say what rounding does beside that.
        kept = draws if len(draws) >= self._request.draws // 2 else all_draws
        # Not every operator says what it chose: a draw that is far off from the others has crossed a kink.
        off = {name: [_square(each[name], tensor) for each in kept] for name, tensor in tensors.items()}
        far = {
            place
            for squares in off.values()
            for place, square in enumerate(squares)
            if square > _CROSSED * max(float(np.median(squares)), 1e-300)
        }
        kept = [each for place, each in enumerate(kept) if place not in far] if len(far) <= len(kept) // 2 else kept
        return self._held_to(tensors, kept, question.precision, tuple(sorted(flips)))

    def _held_to(self, tensors: Arrays, draws: list[Arrays], precision: str, flips: tuple[str, ...]) -> _Exact:
        """Return what is right with its floors. What is NaN in a tensor holds nothing."""
        unit, floors, limits, scales = UNITS[precision], {}, {}, {}
        for name, tensor in tensors.items():
            where = np.isfinite(tensor)
            differences = [_difference(each[name], tensor) for each in draws]
            squares = np.array([_square(each[name], tensor) for each in draws])
            once = 0.0 if tensor.dtype.kind in "biu" else unit / math.sqrt(3.0)  # each result that rounds does so at least once
            least = once * float(np.linalg.norm(np.where(where, tensor, 0.0)))
            if once and precision == "fp16":
                least += 2.0**-25 * math.sqrt(tensor.size)
            scales[name] = np.sqrt(np.mean(np.square(differences), axis=0)) + once * np.abs(np.where(where, tensor, 0.0))
            floors[name] = math.hypot(math.sqrt(float(squares.mean())), least)
            family = name.split("/")[0]
            limits[name] = self._request.limits[precision][family] * self._reach(squares)
        return _Exact(tensors, draws, scales, floors, limits, flips)

    def _reach(self, squares: np.ndarray) -> float:
        """Return by how much farther chance reaches than in a large tensor: the scatter of draws tells the degrees of freedom."""
        spread, mean = float(squares.var(ddof=1)) if squares.size > 1 else 0.0, float(squares.mean())
        freedom = max(1.0, 2.0 * mean * mean / spread) if spread > 0 else 1.0
        reached = [value for least, value in self._request.reach if least <= freedom]
        return reached[-1]

    def _called(self, question: Question, calls: int) -> tuple[list[tuple[Arrays, int]], str | None]:
        """Call the candidate; return its different results, with how often each came, and an input that it changed."""
        found: dict[bytes, tuple[Arrays, int]] = {}
        for _ in range(calls):
            answer, after = self.operator.candidate(question)
            for (name, before), (_, now) in zip(named_leaves(question.inputs), named_leaves(after), strict=True):
                if isinstance(before, np.ndarray) and not np.array_equal(before, now, equal_nan=before.dtype.kind == "f"):
                    return [], name
            bits = b"".join(name.encode() + answer[name].tobytes() for name in sorted(answer))
            found[bits] = (found[bits][0] if bits in found else answer, found.get(bits, (None, 0))[1] + 1)
        return list(found.values()), None

    def _measured(self, answer: Arrays, exact: _Exact) -> dict[str, _Measured]:
        found = {}
        for name, tensor in exact.tensors.items():
            observed = answer.get(name)
            if observed is None or observed.shape != tensor.shape:
                found[name] = _Measured(math.inf, exact.limits[name])
                continue
            difference = _difference(observed, tensor)
            distance = float(np.linalg.norm(difference))
            floor = exact.floors[name]
            ratio = distance / floor if floor > 0 else (0.0 if distance == 0 else math.inf)
            found[name] = _Measured(ratio if math.isfinite(distance) else math.inf, exact.limits[name])
        return found

    def _told(
        self,
        question: Question,
        answers: Sequence[tuple[Arrays, int]],
        measured: Sequence[dict[str, _Measured]],
        worst: int,
        exact: _Exact,
        out: Sequence[str],
    ) -> dict[str, Any]:
        """Return what is wrong, by the first tensor that is out: a race, a kink, what the reference does too, or a bug."""
        name, answer = out[0], answers[worst][0]
        wrong_calls = sum(count for (_, count), each in zip(answers, measured, strict=True) if each[name].score > 1.0)
        told: dict[str, Any] = {"tensor": name, "elements": _elements(answer.get(name), exact.tensors[name], exact.scales[name])}
        # Results that are as near to each other as rounding makes them, and all wrong, are a bug.
        within = exact.limits[name] * exact.floors[name]
        are_apart = any(_are_apart(each.get(name), answer.get(name), within) for each, _ in answers)
        if wrong_calls < sum(count for _, count in answers) or are_apart:
            return told | {"kind": RACE, "wrong_calls": wrong_calls}
        plain = self.operator.reference(question)
        both = {each: _are_infinite(answer.get(each), plain.get(each), tensor) for each, tensor in exact.tensors.items()}
        if lost := {each: where for each, where in both.items() if where.any()}:
            # What the reference has no numbers for in this precision is set aside, and so is what it is out in as well.
            rest = exact.tensors | {each: np.where(where, np.nan, exact.tensors[each]) for each, where in lost.items()}
            exact = self._held_to(rest, exact.draws, question.precision, exact.flips)
            held, also = self._measured(answer, exact), self._measured(plain, exact)
            out = [each for each in held if held[each].score > 1.0 >= also[each].score]
            if not out:
                return told | {"kind": UNSTABLE, "message": f"{name}: the reference is not finite in {question.precision} either"}
            name = out[0]
            told |= {"tensor": name, "measured": {each: [held[each].ratio, held[each].limit] for each in held}}
            told |= {"elements": _elements(answer.get(name), exact.tensors[name], exact.scales[name])}
        if self._explained(question, answer, exact, out):
            return told | {"kind": KINK}
        return told | {"kind": BUG}

    def _sides(self, question: Question, exact: _Exact) -> tuple[Arrays, Arrays, Arrays]:
        """Return the least and the largest of each element for inputs that are moved by as much as rounding moves them.

        And whether it jumps there: half of a move makes half of the difference of what does not.
        """
        low = {name: tensor.copy() for name, tensor in exact.tensors.items()}
        high = {name: tensor.copy() for name, tensor in exact.tensors.items()}
        jumps = {name: np.zeros(tensor.shape, bool) for name, tensor in exact.tensors.items()}
        random = np.random.default_rng(question.seed)
        unit = _MOVED * UNITS[question.precision]
        for side in range(_SIDES):
            moved = {}
            for name, leaf in named_leaves(question.inputs):
                if is_floating(leaf):
                    size = float(np.sqrt(np.mean(np.square(leaf, dtype=np.float64)))) if leaf.size else 0.0
                    signs = (1.0, -1.0)[side] if side < 2 else random.choice((-1.0, 1.0), size=leaf.shape)
                    moved[name] = signs * unit * np.maximum(np.abs(leaf, dtype=np.float64), size or 1.0)
            whole = self.operator.exact(question, moved=moved)
            half = self.operator.exact(question, moved={name: each / 2.0 for name, each in moved.items()})
            for name, tensor in exact.tensors.items():
                if whole[name].shape == half[name].shape == tensor.shape:
                    low[name], high[name] = np.fmin(low[name], whole[name]), np.fmax(high[name], whole[name])
                    bend = np.abs(_clipped(whole[name]) - 2.0 * _clipped(half[name]) + _clipped(tensor))
                    jumps[name] |= bend > _PARTING * exact.scales[name]
        return low, high, jumps

    def _explained(self, question: Question, answer: Arrays, exact: _Exact, out: Sequence[str]) -> bool:
        """Is what is out between what the reference gives on one side and on the other, where it jumps?"""
        low, high, jumps = self._sides(question, exact)
        for name in out:
            if answer.get(name) is None or answer[name].shape != low[name].shape:
                return False
            has_sides = jumps[name] & ~np.isnan(answer[name]) & ~np.isnan(exact.tensors[name])
            nearest = np.where(has_sides, np.clip(answer[name], low[name], high[name]), exact.tensors[name])
            beyond = float(np.linalg.norm(_difference(answer[name], nearest))) / max(exact.floors[name], 1e-300)
            if not beyond <= exact.limits[name]:
                return False
        return True

    def _test(self, question: Question, answer: Arrays, exact: _Exact, tolerance: Tolerance | None) -> tuple[list[float], Arrays]:
        """Return what pairs of correct operators need of an absolute tolerance, and which elements fail the user's own test."""
        rtol = tolerance.rtol if tolerance else 0.0
        pairs = zip(exact.draws[::2], exact.draws[1::2], strict=False)
        # Tensors have sizes of their own; one tolerance has to do for all.
        needs = [max(float(_need(one[name], other[name], rtol).max(initial=0.0)) for name in one) for one, other in pairs]
        if tolerance is None:
            return needs, {}
        plain, fails = self.operator.reference(question), {}
        for name, tensor in plain.items():
            is_there = name in answer and answer[name].shape == tensor.shape
            failing = ~(_need(answer[name], tensor, rtol) <= tolerance.atol) if is_there else np.ones(tensor.shape, bool)
            if failing.any():
                fails[name] = failing
        return needs, fails

    def _is_at_kink(self, question: Question, fails: Arrays, exact: _Exact) -> bool:
        """Do elements that fail the user's test jump, within what rounding moves the inputs by?"""
        _, _, jumps = self._sides(question, exact)
        return any(fails[name].shape == jumps[name].shape and bool((fails[name] & jumps[name]).any()) for name in fails)


def _difference(observed: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return observed - exact in float64, 0 where both are one infinity, or what is right is NaN: that is held to nothing."""
    observed = np.asarray(observed, np.float64)
    with np.errstate(invalid="ignore"):
        difference = np.where(np.isfinite(exact), observed - exact, np.where(observed == exact, 0.0, np.inf))
    return np.where(np.isnan(exact), 0.0, difference)


def _are_infinite(one: np.ndarray | None, other: np.ndarray | None, exact: np.ndarray) -> np.ndarray:
    """Return of each element whether neither of two results has a number for it, where there is one."""
    if one is None or other is None or not one.shape == other.shape == exact.shape:
        return np.zeros(exact.shape, bool)
    return np.isfinite(exact) & ~np.isfinite(one) & ~np.isfinite(other)


def _clipped(numbers: np.ndarray) -> np.ndarray:
    """Return numbers with which to reckon: a large one for infinity, 0 for none."""
    return np.nan_to_num(np.asarray(numbers, np.float64), nan=0.0, posinf=1e300, neginf=-1e300)


def _are_apart(one: np.ndarray | None, other: np.ndarray | None, within: float) -> bool:
    """Are two results of equal inputs farther from each other than rounding makes them?"""
    if one is None or other is None or one.shape != other.shape:
        return one is not other
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return True
    return float(np.linalg.norm(_difference(one, other))) > within


def _square(observed: np.ndarray, exact: np.ndarray) -> float:
    return float(np.sum(np.square(_difference(observed, exact))))


def _need(one: np.ndarray, other: np.ndarray, rtol: float) -> np.ndarray:
    """Return of each element the absolute tolerance with which one is close to the other; NaN where one is no number."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    with np.errstate(invalid="ignore"):
        need = np.maximum(np.abs(one - other) - rtol * np.abs(other), 0.0)
    return np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, need)


def _elements(observed: np.ndarray | None, exact: np.ndarray, scale: np.ndarray) -> dict[str, Any]:
    """Return which elements are out: how many, of how many, the farthest of them, what it is and what it should be."""
    if observed is None or observed.shape != exact.shape:
        return {"shape": None if observed is None else list(observed.shape), "expected_shape": list(exact.shape)}
    difference = np.abs(_difference(observed, exact))
    difference[np.isnan(difference)] = np.inf
    floor = np.maximum(scale, 1e-3 * float(np.sqrt(np.mean(scale * scale))) if scale.size else 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(difference > 0, difference / floor, 0.0)
    first = np.unravel_index(int(np.argmax(ratio)), exact.shape) if exact.size else ()
    return {
        "out": int((ratio > _PARTING).sum()),
        "of": int(exact.size),
        "index": [int(each) for each in first],
        "got": float(observed[first]),
        "expected": float(exact[first]),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return encode_float(float(value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
