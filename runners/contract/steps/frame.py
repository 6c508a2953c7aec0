"""The frame of a runner of users' programs: which cases there are, and what an oracle or a context answers of each.

A framework brings a `Program` for contexts and an `Oracle`; both train and evaluate, and give arrays under canonical names. All
else, and so what is asked, is the same in every framework.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from runners.contract.arrays import read_arrays, write_arrays
from runners.contract.errors import ContractError, Unsupported
from runners.contract.files import replace_text
from runners.contract.protocol.events import EventWriter, encode_float
from runners.contract.steps import process
from runners.contract.steps.derivative import derivatives
from runners.contract.steps.measure import Line, lines_of
from runners.contract.steps.overflow import MOST_ZERO, Overflow, moved_by, without_numbers
from runners.contract.steps.own import (
    DISTRIBUTE,
    Batch,
    OwnFile,
    OwnFileError,
    leaves,
    load_own,
    map_leaves,
    row_count,
    same_bits,
    same_form,
    take_rows,
)
from runners.contract.steps.request import FILE_NAME, StepRequest, read_request

Arrays = dict[str, np.ndarray]
# What contexts need to begin is there first, then what they are held to, and then the floors.
CHOSEN, EXPECTED, FLOORS, ANSWERS, STATES, UPDATES = (
    "chosen.json", "expected.npz", "floors.json", "answers.json", "states.npz", "updates.json",
)  # fmt: skip
CHOICES = "choices.json"  # of the oracle, what its operators chose without rounding, beside what is expected
DRAWN = "drawn"  # of an oracle, the folder with draws that two processes share
UPDATED = "updated.npz"  # of a context, what the optimizer should have made of its gradients
# What is kept for another release: what an oracle began with, and all that a context answered.
BEGUN, ANSWERED = "begun.npz", "answered.npz"
REHEARSED = "rehearsed.json"  # what a few steps took
_STATES = ("before/", "after/", "gradients/")
_FINITE = ("loss", "gradients", "stats")  # without a number in each of them there is nothing to hold to
CANDIDATES = 4
_CANDIDATE_DRAWS = 1
_CANDIDATE_SECONDS = 20.0
_LEAST_DRAWS, _LEAST_FINITE = 6, 3
# Of an update's floor where it decides: few draws may happen to lie near to each other, and what is right is then beyond them.
# Parameters of clean programs lie at up to 1.32 floors (reference_results/own_steps). Nearness saves draws, and judges nothing.
_DECIDING_DRAWS = 24
_NEAR_FLOORS, _NEAR_DEVIATIONS = 1.5, 8.0
_REHEARSED_STEPS = 4
# The step is repeated as often as is asked, but for slow ones: float16 takes a second a step of a GPT on a CPU that has no such
# arithmetic.
_LEAST_REPEATS, _REPEAT_SECONDS = 20, 15.0
# Cases, in the order in which they are asked. The first is the first call of its process.
STEP, ROWS, STEPS, EVALUATION, SINGLE, REPEAT = "step", "rows", "steps", "evaluation", "single", "repeat"
PARTS = "parts"  # one step by the mean of the gradients of a batch's two parts, as two devices make it
LOOK = "look"
_FEWER_ROWS = (SINGLE, PARTS)  # a loss may need more rows than these have: of the oracle, they fall away then
_BATCH = "batch_sha256"
_LEFT_OUT = "left_out"  # cases that the oracle does not ask for want of rows, and why
RANDOM = "random"  # what tells apart how two releases draw at random, of a program that does
# Of cases in which the program leaves its type's range: where, which tensors that moves, and which it may make infinite.
OVERFLOW = "overflow"
FAILED = "failed"  # in the directory of an oracle that came to nothing
NOT_ASKED = "the oracle came to nothing; this context was not asked"
OPTION = "--step"


class Answerer(Protocol):
    """What can carry out a user's program: the framework in one context, or its oracle."""

    def train(self, steps: Sequence[Sequence[Batch]]) -> Arrays:
        """Take steps from the first state, each by the mean of its batches' gradients; return all of the last one.

        `loss`, `gradients/...`, `stats/...`; and where there is an optimizer, `before/params/...`, `before/optimizer/...`,
        `after/params/...`, `after/optimizer/...`: a fresh optimizer may have nothing before its first step.
        """

    def evaluate(self, batch: Batch) -> Arrays:
        """Return `loss`, and `outputs/...` where the file predicts, in evaluation mode; a batch of one row, too."""

    def taps(self, batch: Batch) -> Arrays:
        """Return, in the order in which they are computed, the tensors inside one step, and then what `train` returns.

        `forward/<n>/<where>` and `backward/<n>/<where>`: n is a number of its own for each tensor of the forward pass, and what
        says where, a module or an operator, has no more slashes than `/input` or `/output` at its end.
        """


class OracleAnswerer(Answerer, Protocol):
    """The program in float64."""

    def under(self, draw: int | None, *, overflows: bool = False) -> None:
        """Answer without rounding (None), or with the rounding of this draw.

        Args:
            overflows: what the program's type cannot hold becomes infinite, or zero, as in the program. Without rounding alone.
        """

    def overflow(self) -> Overflow | None:
        """Return of the last answer without rounding the first number that the program's type cannot hold."""

    def choices(self) -> list[tuple[str, int]]:
        """Return of the last answer, of each operator that chose, its name and a checksum of what it chose."""

    def first_step(self) -> tuple[Arrays, list[tuple[str, int]]]:
        """Return what the first of the last steps computed, to the bit what it computes as the only one, and its choices."""

    def facts(self) -> dict[str, Any]:
        """Return what contexts must know: the loss scale of fp16; and what a reader must, under `remarks` and `RANDOM`."""

    def settle(self, facts: Mapping[str, Any]) -> None:
        """Take what another process of this oracle has settled, by its facts."""

    def update(self, before: Arrays, gradients: Arrays) -> Arrays:
        """Return what the optimizer makes, `after/...` as in `train`, of the state before a step and gradients."""

    def parameters(self) -> Arrays:
        """Return the parameters that are trained, in their first state, by the names that their gradients have."""

    def loss_at(self, batch: Batch, moved: Arrays) -> float:
        """Return the loss in training mode, with some parameters moved by so much."""

    def gradients_at(self, batch: Batch, moved: Arrays) -> Arrays:
        """Return the gradients of this loss, by the names of the parameters."""


class Framework(NamedTuple):
    """What a framework brings. `set_up` comes before its first operation."""

    name: str
    set_up: Callable[[StepRequest], None]
    describe: Callable[[], dict[str, Any]]
    to_numpy: Callable[[Batch], Batch]
    program: Callable[[OwnFile, StepRequest, dict[str, Any]], Answerer]
    oracle: Callable[[OwnFile, StepRequest], OracleAnswerer]
    # Of several devices: whether each has a part of the batch, or all of them one program of the whole; and what it runs in.
    has_parts: bool = False
    among: Callable[[StepRequest, Path], contextlib.AbstractContextManager] = lambda request, directory: contextlib.nullcontext()


class Case(NamedTuple):
    """One question: so many steps, an evaluation of a batch, or a look into a step on it.

    draws: those of its floor; None where that of `step` holds.
    """

    name: str
    steps: Sequence[Sequence[Batch]] = ()
    batch: Batch = None
    draws: int | None = None

    def ask(self, answerer: Answerer) -> Arrays:
        """Return the answer. Statistics of parts are those of the device that had the part."""
        if self.name == PARTS:
            return {name: each for name, each in answerer.train(self.steps).items() if not name.startswith("stats/")}
        if self.steps:
            return answerer.train(self.steps)
        return answerer.taps(self.batch) if self.name == LOOK else answerer.evaluate(self.batch)


def cases_of(
    own: OwnFile, batch_of: Callable[[int], Batch], seed: int, draws: int, *, has_parts: bool = False
) -> tuple[list[Case], list[str]]:
    """Return the cases of a file's program, and remarks on those that it cannot have.

    Args:
        has_parts: devices have parts of a batch, where the file says how they share a step.
    """
    batch, other = batch_of(seed), batch_of(seed + 1)
    few = max(_LEAST_DRAWS, draws // 2)
    cases, remarks = [Case(STEP, [[batch]], draws=draws)], []
    rows = row_count(batch)
    if rows is not None and rows > 1:
        cases.append(Case(ROWS, [[take_rows(own, batch, range(rows)[::-1])]]))
    else:
        remarks.append(
            "rows: not tried in another order, nor alone: the arrays of a batch do not share a first axis. "
            "A `take_rows(batch, indices)` in the file says how rows are taken"
        )
    cases += [Case(STEPS, [[batch], [batch, other]], draws=few), Case(EVALUATION, batch=batch, draws=draws)]
    if rows is not None and rows > 1:
        cases.append(Case(SINGLE, batch=take_rows(own, batch, [0]), draws=draws))
        if has_parts and own.has(DISTRIBUTE):
            halves = [range(rows)[: rows // 2], range(rows)[rows // 2 :]]
            cases.append(Case(PARTS, [[take_rows(own, batch, half) for half in halves]], draws=few))
    return cases, remarks


def _cases(
    own: OwnFile,
    batches: Callable[[int], Batch],
    request: StepRequest,
    seed: int,
    left_out: Mapping[str, str],
    *,
    has_parts: bool,
) -> tuple[list[Case], list[str]]:
    if request.rows is not None:
        batch = batches(seed)
        count = row_count(batch)
        if count is None or not request.rows < count:
            raise OwnFileError(f"{own.path.name}: batch: found {count or 'no'} rows. Allowed: more than {request.rows}.")
        return [Case(STEP, [[take_rows(own, batch, range(request.rows))]], draws=request.draws)], []
    if request.looks:
        return [Case(LOOK, batch=batches(seed), draws=request.draws)], []
    cases, remarks = cases_of(own, batches, seed, request.draws, has_parts=has_parts)
    if request.devices > 1:
        asked = (PARTS,) if has_parts else (STEP, STEPS, EVALUATION)
        cases = [case for case in cases if case.name in asked]
        if not cases:
            raise OwnFileError(f"{own.path.name}: batch: one row, or arrays without a first axis in common: nothing to share.")
    left = [case for case in cases if case.name not in left_out]
    if not left:
        raise OwnFileError(left_out[cases[0].name])
    return left, remarks


def main(name: str, load: Callable[[], Framework], arguments: list[str]) -> int:
    """Do what the request in a directory asks; return the exit code. A failure of any kind becomes a `failed` event.

    Args:
        load: imports the framework.
    """
    return process.main(name, load, arguments, file=FILE_NAME, read=read_request, option=OPTION, answer=_answer)


def _answer(framework: Framework, request: StepRequest, directory: Path, events: EventWriter) -> None:
    own = load_own(Path(request.file), request.file_sha256)
    events.enter("data")
    given = read_arrays(Path(request.given) / BEGUN) if request.given else {}
    own.given = _of_case(given, "state")
    batches = _Batches(own, framework.to_numpy, _of_case(given, "batch"))
    events.enter("build")
    if request.task in ("rehearsal", "sizes"):
        _rehearse(own, batches, framework.program(own, request, {}), request, directory, events)
    elif request.task == "updates":
        _updates(framework.oracle(own, request), request, events)
    elif request.task == "draws":
        oracle, place = framework.oracle(own, request), Path(request.expected[0])
        _share_draws(own, batches, oracle, request, place, events, has_parts=framework.has_parts)
    elif request.task == "oracle":
        oracle = framework.oracle(own, request)
        for seed in request.seeds or (None,):
            place = directory / str(seed) if len(request.seeds) > 1 else directory
            place.mkdir(exist_ok=True)
            _oracle(own, batches, oracle, request, seed, place, events, has_parts=framework.has_parts)
    else:
        facts = _chosen(Path(request.expected[0]), events)
        own.has_run = True
        with framework.among(request, directory):
            program = framework.program(own, request, facts)
            for expected in map(Path, request.expected):
                place = directory / expected.name if len(request.expected) > 1 else directory
                place.mkdir(exist_ok=True)
                _context(own, batches, program, request, expected, place, events, has_parts=framework.has_parts)


def _rehearse(
    own: OwnFile, batches: _Batches, program: Answerer, request: StepRequest, directory: Path, events: EventWriter
) -> None:
    """Take a few steps, the first of which compiles, and evaluate; on some rows of a batch, or all. Write what they took.

    Asked for sizes alone, take none, and write what the compiled programs say.
    """
    batch = batches(0)
    rows = row_count(batch)
    if request.rows is not None:
        batch = take_rows(own, batch, range(request.rows))
    _write_json(directory / REHEARSED, {"rows": rows})  # which must be known, too, of a process that is killed
    if request.task == "sizes":
        tell = getattr(program, "program_bytes", None)  # which a framework has whose compiler knows it
        _write_json(directory / REHEARSED, {"rows": rows, "program_bytes": tell(batch) if tell else None})
        return
    events.enter("train")
    seconds = []
    for steps in (1, _REHEARSED_STEPS):
        started = time.monotonic()
        answer = program.train([[batch]] * steps)
        seconds.append((time.monotonic() - started) / steps)
        events.advance()
    loss = float(answer["loss"])
    if not math.isfinite(loss):
        raise OwnFileError(f"{own.path.name}: loss: {loss} after {_REHEARSED_STEPS} steps on one batch.")
    events.enter("evaluate")
    program.evaluate(batch)
    _write_json(directory / REHEARSED, {"rows": rows, "first_seconds": seconds[0], "step_seconds": seconds[1], "loss": loss})


class _Batches:
    """The file's batches, as NumPy arrays: the same for a seed, whenever it is asked.

    given: arrays that take the place of the file's, by seed and place in the batch. moved: seeds whose own are others, and by how
    large a share of their size.
    """

    def __init__(self, own: OwnFile, to_numpy: Callable[[Batch], Batch], given: Arrays) -> None:
        self._own, self._to_numpy, self._given = own, to_numpy, given
        self.moved: dict[int, float] = {}

    def __call__(self, seed: int) -> Batch:
        made = self._made(seed)
        names = [name for name in self._given if name.startswith(f"{seed}/")]
        if not names:
            return made
        own, given = list(_arrays(made)), [self._given[name] for name in sorted(names)]
        if len(own) != len(given) or not all(map(same_form, own, given)):
            raise OwnFileError(
                f"{self._own.path.name}: batch: under the other release seed {seed} gives {_forms(given)}, and here "
                f"{_forms(own)}. Make it of the same shapes and types under both, as with NumPy."
            )
        if not all(map(same_bits, own, given)):
            self.moved[seed] = max(map(_share_apart, given, own))
        rest = iter(given)
        return map_leaves(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, made)

    def _made(self, seed: int) -> Batch:
        first, again = (self._to_numpy(self._own.call("batch", seed)) for _ in range(2))
        for one, other in zip(_arrays(first), _arrays(again), strict=True):
            if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
                raise OwnFileError(
                    f"{self._own.path.name}: batch: two calls with seed {seed} gave other numbers. "
                    "It must make its batch from the seed alone."
                )
        if not any(True for _ in _arrays(first)):
            raise OwnFileError(f"{self._own.path.name}: batch: holds no array. Allowed: arrays, in tuples, lists and dicts.")
        return first

    def digest(self, seed: int) -> str:
        """Return the SHA-256 of a batch."""
        return hashlib.sha256(b"".join(each.tobytes() for each in _arrays(self(seed)))).hexdigest()

    def kept(self, seeds: Sequence[int]) -> Arrays:
        """Return the arrays of some batches, by seed and place."""
        return {f"{seed}/{place:06d}": array for seed in seeds for place, array in enumerate(_arrays(self(seed)))}


def _forms(arrays: Sequence[np.ndarray]) -> str:
    return ", ".join(f"{each.dtype}{list(each.shape)}" for each in arrays)


def _arrays(batch: Batch) -> Iterator[np.ndarray]:
    return (leaf for leaf in leaves(batch) if isinstance(leaf, np.ndarray))


def _oracle(
    own: OwnFile,
    batches: _Batches,
    oracle: OracleAnswerer,
    request: StepRequest,
    seed: int | None,
    directory: Path,
    events: EventWriter,
    *,
    has_parts: bool,
) -> None:
    """Choose a batch, unless a seed is given; write what is expected of each case, and how far rounding moves it."""
    known: dict[str, _Exact] = {}
    tried = 1
    if seed is None:
        seed, tried, known[STEP] = _widest_margin(batches, oracle, events)
    cases, remarks = _cases(own, batches, request, seed, {}, has_parts=has_parts)
    digest = batches.digest(seed)
    of_fewer, left_out = _of_fewer_rows(own, oracle, [case for case in cases if case.name in _FEWER_ROWS], events)
    known |= of_fewer
    cases, _ = _cases(own, batches, request, seed, left_out, has_parts=has_parts)

    def choose() -> None:
        _write_json(directory / CHOSEN, {**oracle.facts(), "seed": seed, _BATCH: digest, _LEFT_OUT: left_out})

    is_settled = request.precision != "fp16"  # where the loss scale is settled by the steps
    if is_settled:
        choose()
    expected: Arrays = {}
    choices: dict[str, list[tuple[str, int]]] = {}
    overflowed: dict[str, Overflow | None] = {}
    events.enter("verify")
    names = {case.name for case in cases}
    for case in cases:
        if case.name in of_fewer or (is_settled and request.rows is None and case.name in known):
            exact, choices[case.name], overflowed[case.name] = known[case.name]
        else:
            exact, choices[case.name], overflowed[case.name] = _exactly(oracle, case)
        _check_finite(own, case.name, exact)
        expected |= {f"{case.name}/{name}": tensor for name, tensor in exact.items()}
        if case.name == STEPS:
            _check_repeatable(own, _of_case(expected, STEP), oracle.first_step()[0])
        elif case.name == STEP and STEPS not in names:
            _check_repeatable(own, exact, computed(case.ask(oracle)))
        events.advance()
    if not is_settled:
        choose()
    overflow = {} if request.looks else _moved_by_overflow(oracle, cases, expected, overflowed, request.precision)
    _write_json(directory / CHOICES, choices)
    write_arrays(directory / EXPECTED, expected)
    derivative: dict[str, dict[str, float]] = {}
    if not (request.looks or request.rows or own.stops_gradient):
        oracle.under(None)
        derivative = derivatives(oracle, batches(seed), _of_case(expected, STEP), precision=request.precision)
    draws = _Draws(oracle, cases, expected, choices, events, directory / DRAWN if request.shares_draws else None)
    draws.take_share()
    floors: dict[str, dict[str, Any]] = {}
    flips: dict[str, dict[str, int]] = {}
    for case in cases:
        started = time.monotonic()
        if case.draws is None:
            floors[case.name] = floors[STEP]
        else:
            exact = _of_case(expected, case.name)
            found = [draws.of(case, number) for number in range(case.draws)]
            flips[case.name] = dict(collections.Counter(name for _, flipped in found for name in flipped))
            floors[case.name], not_finite = _floors_of(exact, [lines for lines, _ in found])
            if not_finite and request.looks:
                raise ContractError(f"{not_finite[0]}: with rounding it is not finite, and nothing inside can be held to it")
            if not_finite:
                text = f"rounding alone makes {not_finite[0]} infinite"
                for name in (STEP, ROWS) if case.name == STEP else (case.name,):
                    told = overflow.setdefault(name, {"text": text, "tensors": [], "infinite": []})
                    told["tensors"] = sorted({*told["tensors"], *(each for each in not_finite if each not in floors[case.name])})
                    told["infinite"] = sorted({*told["infinite"], *not_finite})
        _probed(events, len(floors), len(cases), case.name, started)
    of_framework = oracle.facts()
    facts = {
        **of_framework, "seed": seed, "candidates": tried, "flips": flips, "derivative": derivative,
        "remarks": [*remarks, *left_out.values(), *of_framework.get("remarks", [])], _BATCH: digest, OVERFLOW: overflow,
        "begun": _begun_otherwise(own, batches) if request.given else None,
    }  # fmt: skip
    if request.keeps:
        kept = batches.kept((seed, seed + 1))
        begun = {f"state/{name}": array for name, array in own.made.items()}
        write_arrays(directory / BEGUN, begun | {f"batch/{name}": array for name, array in kept.items()})
    _write_json(directory / FLOORS, {"facts": facts, "floors": floors})


def _of_fewer_rows(
    own: OwnFile, oracle: OracleAnswerer, cases: Sequence[Case], events: EventWriter
) -> tuple[dict[str, _Exact], dict[str, str]]:
    """Return the exact answers of cases of fewer rows, and why some have none: those are not asked of contexts either.

    What fails with all rows, too, fails in the other cases, and is told of these.
    """
    known, left_out = {}, {}
    for case in cases:
        try:
            found = _exactly(oracle, case)
            reason = _not_finite(own, case.name, found[0])
        except (OwnFileError, Unsupported) as error:
            reason = str(error)
        if reason is None:
            known[case.name] = found
        else:
            left_out[case.name] = f"{case.name}: not asked: the program needs more rows: {reason}"
        events.advance()
    return known, left_out


# What a step computes without rounding, what its operators choose, and what leaves the range of its type.
_Exact = tuple[Arrays, list[tuple[str, int]], "Overflow | None"]
# How far a draw moves each tensor of a case, and the operators that chose otherwise.
_Drawn = tuple[dict[str, Line | str], list[str]]


class _Draws:
    """Draws of the floors of an oracle's cases. One of two steps is a draw of a single step, too: of its first.

    Where another process makes some of them, each is made once, by whoever holds its lock, which ends with its process: what a
    killed one has left is made by the other. So floors are the same whoever makes them.
    """

    def __init__(
        self,
        oracle: OracleAnswerer,
        cases: Sequence[Case],
        expected: Arrays,
        choices: Mapping[str, Sequence[Sequence[Any]]],
        events: EventWriter,
        folder: Path | None,
    ) -> None:
        self._oracle, self._expected, self._choices, self._events = oracle, expected, choices, events
        self._cases = {case.name: case for case in cases}
        self._made: dict[tuple[str, int], dict[str, _Drawn]] = {}
        self._folder = folder
        if folder is not None:
            folder.mkdir(exist_ok=True)

    def take_share(self, *, is_first: bool = True) -> None:
        """Make the draws that no other process makes or has made: the first process from the front, another from the back."""
        if self._folder is not None:
            every = [self._source(name, number) for name, case in self._cases.items() for number in range(case.draws or 0)]
            for name, number in every if is_first else every[::-1]:
                self._share(name, number, waits=False)

    def of(self, case: Case, number: int) -> _Drawn:
        """Return a draw of a case."""
        source = self._source(case.name, number)
        if source not in self._made:
            self._made[source] = self._make(*source) if self._folder is None else self._share(*source, waits=True)
        return self._made[source][case.name]

    def _source(self, name: str, number: int) -> tuple[str, int]:
        """Return which case's draw has one of a case."""
        several = self._cases.get(STEPS)
        return (STEPS, number) if name == STEP and several and number < (several.draws or 0) else (name, number)

    def _share(self, name: str, number: int, *, waits: bool) -> dict[str, _Drawn]:
        """Return a draw; without waiting for another process that makes it, nothing."""
        assert self._folder is not None
        file = self._folder / f"{name}-{number}.json"
        if not file.exists():
            with file.with_suffix(".lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
                except BlockingIOError:
                    return {}
                if not file.exists():
                    _write_json(file, self._make(name, number))
        if not waits:
            return {}
        drawn = json.loads(file.read_text(encoding="utf-8"))
        return {case: (lines, flipped) for case, (lines, flipped) in drawn.items()}

    def _make(self, name: str, number: int) -> dict[str, _Drawn]:
        self._oracle.under(number)
        answer = computed(self._cases[name].ask(self._oracle))
        drawn = {name: self._drawn(name, answer, self._oracle.choices())}
        if name == STEPS and STEP in self._cases:
            drawn[STEP] = self._drawn(STEP, *self._oracle.first_step())
        self._events.advance()
        return drawn

    def _drawn(self, name: str, answer: Arrays, choices: Sequence[tuple[str, int]]) -> _Drawn:
        expected = _of_case(self._expected, name)
        found = lines_of(_held(answer, expected), expected)
        chosen = zip(self._choices[name], choices, strict=False)
        flipped = sorted({one[0] for one, other in chosen if tuple(one) != tuple(other)})
        return found, flipped


def _exactly(oracle: OracleAnswerer, case: Case) -> _Exact:
    """Return a case's answer without rounding."""
    oracle.under(None)
    return computed(case.ask(oracle)), oracle.choices(), oracle.overflow()


def _moved_by_overflow(
    oracle: OracleAnswerer, cases: Sequence[Case], expected: Arrays, overflowed: Mapping[str, Overflow | None], precision: str
) -> dict[str, dict[str, Any]]:
    """Return of each case in which what leaves its type moves tensors: what leaves it first, and the names of those tensors.

    What float16 holds as zero leaves no note, for most of it moves by rounding alone: what counts is what is not finite of it.
    """
    found = {}
    for case in cases:
        overflow = overflowed[case.name]
        if overflow is None and precision != "fp16":
            continue
        oracle.under(None, overflows=True)
        answer, exact = computed(case.ask(oracle)), _of_case(expected, case.name)
        if overflow is not None and (moved := moved_by(answer, exact)):
            found[case.name] = {"text": overflow.text, "tensors": moved, "infinite": []}
        elif overflow is None and (moved := without_numbers(answer, exact)):
            text = f"float16 holds as 0 what is below {MOST_ZERO['float16']:.1g}, and {moved[0]} is not finite then"
            found[case.name] = {"text": text, "tensors": [], "infinite": moved}
    return found


def _share_draws(
    own: OwnFile,
    batches: _Batches,
    oracle: OracleAnswerer,
    request: StepRequest,
    place: Path,
    events: EventWriter,
    *,
    has_parts: bool,
) -> None:
    """Make some of the draws of the oracle in a place, which makes the others."""
    chosen = _chosen(place, events)
    oracle.settle(chosen)
    cases, _ = _cases(own, batches, request, chosen["seed"], chosen[_LEFT_OUT], has_parts=has_parts)
    expected = _expected(place, events)
    choices = json.loads((place / CHOICES).read_text(encoding="utf-8"))
    events.enter("verify")
    _Draws(oracle, cases, expected, choices, events, place / DRAWN).take_share(is_first=False)


def _begun_otherwise(own: OwnFile, batches: _Batches) -> dict[str, Any]:
    """Return in what the file begins otherwise than what is given: seeds of batches, and names of the model's numbers.

    moved: they are others here, and those given took their place. unmatched: one of the two has none of this form.
    moved_by, batches_by: by how large a share of their size they are others, at most.
    """
    names = [*own.made, *(name for name in own.given if name not in own.made)]
    both = [name for name in names if name in own.made and name in own.given and same_form(own.made[name], own.given[name])]
    moved = [name for name in both if not same_bits(own.made[name], own.given[name])]
    return {
        "batches": sorted(batches.moved),
        "batches_by": max(batches.moved.values(), default=0.0),
        "moved": moved,
        "moved_by": max((_share_apart(own.given[name], own.made[name]) for name in moved), default=0.0),
        "unmatched": [name for name in names if name not in both],
    }


def _share_apart(given: np.ndarray, made: np.ndarray) -> float:
    """Return how far an array is from the one in its place, as a share of that one's size; infinity where that is no number."""
    try:
        one, other = (np.asarray(each, np.float64) for each in (given, made))
    except (TypeError, ValueError):  # text, or random keys
        return math.inf
    distance, size = float(np.linalg.norm(other - one)), float(np.linalg.norm(one))
    return distance / size if size > 0 and math.isfinite(distance) else math.inf if distance else 0.0


def _widest_margin(batches: _Batches, oracle: OracleAnswerer, events: EventWriter) -> tuple[int, int, _Exact]:
    """Return the seed of the batch that rounding moves least, of some, how many were tried, and what a step on it computes.

    Where a gate flips, all below it moves by a thousand times as much as rounding: the batch with the widest margin is the
    one whose gradients move least. A program without gates has no margin, and the first batch does.
    """
    found: list[tuple[float, int, _Exact]] = []
    started = time.monotonic()
    for seed in range(CANDIDATES):
        if seed and (time.monotonic() - started) * (seed + 1) / seed > _CANDIDATE_SECONDS:
            break
        batch = batches(seed)
        exact, choices, overflow = _exactly(oracle, Case(STEP, [[batch]]))
        if not choices:
            return seed, seed + 1, (exact, choices, overflow)
        moved = 0.0
        for draw in range(_CANDIDATE_DRAWS):
            oracle.under(1000 + draw)
            rounded = oracle.train([[batch]])
            for name, tensor in exact.items():
                norm = float(np.linalg.norm(tensor))
                if name.startswith("gradients/") and norm > 0:
                    apart = float(np.linalg.norm(rounded[name] - tensor)) / norm
                    moved = max(moved, apart if math.isfinite(apart) else math.inf)
            events.advance()
        found.append((moved, seed, (exact, choices, overflow)))
    _, best, of_best = min(found, key=lambda each: each[:2])
    return best, len(found), of_best


def _context(
    own: OwnFile,
    batches: _Batches,
    program: Answerer,
    request: StepRequest,
    place: Path,
    directory: Path,
    events: EventWriter,
    *,
    has_parts: bool,
) -> None:
    """Answer every case, and say how far each tensor is from what the oracle expects at its place."""
    facts = _chosen(place, events)
    seed = facts["seed"]
    if facts.get(_BATCH) not in (None, batches.digest(seed)):
        raise OwnFileError(
            f"{own.path.name}: batch: seed {seed} gives other numbers in another process. Make it from the seed alone."
        )
    cases, _ = _cases(own, batches, request, seed, facts[_LEFT_OUT], has_parts=has_parts)
    events.enter("verify")
    asked: dict[str, Arrays] = {}
    total = len(cases) + (not request.looks)
    for index, case in enumerate(cases, start=1):
        started = time.monotonic()
        answer = case.ask(program)
        # A first step, one after another, and one by two devices have their updates held to what they should be.
        asked[case.name] = answer if request.keeps or case.name in (STEP, STEPS, PARTS) else computed(answer)
        events.advance()
        _probed(events, index, total, case.name, started)
    expected = _expected(place, events)
    first = asked[cases[0].name]
    answers: dict[str, Any] = {
        name: {"lines": lines_of(computed(answer), _of_case(expected, name))} for name, answer in asked.items()
    }
    if not request.looks:
        started = time.monotonic()
        answers[REPEAT], farthest = _repeated(cases[0], program, first, _of_case(expected, cases[0].name), request, events)
        _probed(events, total, total, REPEAT, started)
    updated = {name: answer for name, answer in asked.items() if name in (STEP, STEPS, PARTS)}
    if not request.looks and farthest:
        updated[REPEAT] = farthest
    states = {name: tensor for name, tensor in _by_case(updated).items() if name.partition("/")[2].startswith(_STATES)}
    write_arrays(directory / STATES, states)
    if request.keeps:
        write_arrays(directory / ANSWERED, _by_case(asked))
    _write_json(directory / ANSWERS, answers)


def follow(own: OwnFile, framework: Framework, request: StepRequest) -> None:
    """Make on another device the calls that the process which is asked makes: the case of parts, and its repetitions."""
    given = read_arrays(Path(request.given) / BEGUN) if request.given else {}
    own.given = _of_case(given, "state")
    batches = _Batches(own, framework.to_numpy, _of_case(given, "batch"))
    program = None
    for place in map(Path, request.expected):
        facts = json.loads((place / CHOSEN).read_text(encoding="utf-8"))
        program = program or framework.program(own, request, facts)
        [case], _ = _cases(own, batches, request, facts["seed"], facts[_LEFT_OUT], has_parts=framework.has_parts)
        for _ in range(1 + request.repeats):
            case.ask(program)


def _probed(events: EventWriter, done: int, total: int, name: str, started: float) -> None:
    """Say that so many cases of all are done. `index` counts from 0, as in every verify task."""
    events.emit("probed", index=done - 1, total=total, name=name, seconds=round(time.monotonic() - started, 3))


def _updates(oracle: OracleAnswerer, request: StepRequest, events: EventWriter) -> None:
    """Hold the updates of contexts to what the optimizer makes, in float64, of the gradients that each context computed.

    Gradients near zero make an update of Adam's first steps jump from one sign to the other: of other gradients, nothing could be
    said of updates.
    """
    events.enter("verify")
    for place in map(Path, request.expected):
        states = read_arrays(place / STATES)
        found: dict[str, Any] = {}
        right: Arrays = {}
        for case in sorted({name.split("/")[0] for name in states}):
            of_case = _of_case(states, case)
            before, gradients, after = (_of_case(of_case, group) for group in ("before", "gradients", "after"))
            if not after:
                continue
            oracle.under(None)
            try:
                exact = oracle.update(before, gradients)
            except KeyError as error:  # where another release made the update
                raise ContractError(f"the other release's step leaves no {error.args[0]}") from error
            right |= {f"{case}/{name}": tensor for name, tensor in exact.items()}
            observed = lines_of({f"after/{name}": value for name, value in after.items()}, exact)
            lines: dict[str, list[Line]] = {name: [] for name in exact}
            for draw in range(_DECIDING_DRAWS):
                if draw == _LEAST_DRAWS and all(_is_near(observed[name], lines[name]) for name in exact):
                    break
                oracle.under(draw)
                for name, line in lines_of(_held(oracle.update(before, gradients), exact), exact).items():
                    lines[name].append(_finite(line, f"the update of {case}, {name}"))
                events.advance()
            found[case] = {
                "lines": observed,
                "floors": {
                    name: {"norm": float(np.linalg.norm(exact[name])), "size": int(exact[name].size), "draws": lines[name]}
                    for name in exact
                },
            }
        write_arrays(place / UPDATED, right)
        _write_json(place / UPDATES, found)


def _is_near(observed: Line | str, draws: Sequence[Line]) -> bool:
    """Is a tensor so near to what is right that more draws of rounding would not decide about it?"""
    if isinstance(observed, str):
        return False
    found = np.array(draws, np.float64)
    if observed[0] > _NEAR_FLOORS * float(np.sqrt(np.mean(np.square(found[:, 0])))):
        return False
    off, deviation = np.abs(observed[1:] - found[:, 1:].mean(axis=0)), found[:, 1:].std(axis=0, ddof=1)
    return not (off > _NEAR_DEVIATIONS * deviation).any()


def computed(answer: Arrays) -> Arrays:
    """Return what a step computes. How it leaves the state is held to its own gradients, see `_updates`."""
    return {name: tensor for name, tensor in answer.items() if not name.startswith(("before/", "after/"))}


def _repeated(
    case: Case, program: Answerer, first: Arrays, expected: Arrays, request: StepRequest, events: EventWriter
) -> tuple[dict[str, Any], Arrays]:
    """Return how far repeated calls are at most, how many there were, and how many different results, the first's among them.

    And of those with other bits the one that leaves the state farthest from the first's: its update is held to what it should be.
    """
    worst: dict[str, Line | str] = {}
    farthest: Arrays = {}
    most = 0.0
    seen = {_bits(first)}
    calls, started = 0, time.monotonic()
    # What several devices call together they call equally often.
    least = _LEAST_REPEATS if request.devices == 1 else request.repeats
    while calls < request.repeats and (calls < least or time.monotonic() - started < _REPEAT_SECONDS):
        answer = case.ask(program)
        calls += 1
        events.advance()
        if (bits := _bits(answer)) in seen:
            continue
        seen.add(bits)
        if (apart := _apart(answer, first)) > most:
            most, farthest = apart, answer
        for name, line in lines_of(computed(answer), expected).items():
            known = worst.get(name)
            if known is None or isinstance(line, str) or (not isinstance(known, str) and line[0] > known[0]):
                worst[name] = line
    return {"lines": worst, "calls": calls, "results": len(seen)}, farthest


def _apart(answer: Arrays, first: Arrays) -> float:
    """Return how far two steps leave the state from each other, as a share of it; infinity where one leaves no number."""
    most = 0.0
    for name, tensor in first.items():
        if name.startswith("after/"):
            distance = float(np.linalg.norm(np.asarray(answer[name], np.float64) - np.asarray(tensor, np.float64)))
            norm = float(np.linalg.norm(tensor))
            most = max(most, distance / norm if norm else distance) if math.isfinite(distance) else math.inf
    return most


def _bits(arrays: Arrays) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.digest()


def _by_case(asked: Mapping[str, Arrays]) -> Arrays:
    return {f"{case}/{name}": tensor for case, answer in asked.items() for name, tensor in answer.items()}


def _of_case(arrays: Arrays, case: str) -> Arrays:
    return {name[len(case) + 1 :]: tensor for name, tensor in arrays.items() if name.startswith(f"{case}/")}


def _check_repeatable(own: OwnFile, one: Arrays, other: Arrays) -> None:
    if _bits(one) != _bits(other):
        raise OwnFileError(
            f"{own.path.name}: two steps from the same state and seed gave other numbers in float64. The program must keep "
            "its state in the model, and draw at random with the framework's own generator."
        )


def _check_finite(own: OwnFile, case: str, exact: Arrays) -> None:
    """Raise OwnFileError where float64 itself comes to no number."""
    if (reason := _not_finite(own, case, exact)) is not None:
        raise OwnFileError(f"{reason}, and nothing can be held to them. Give a batch on which all are.")


def _not_finite(own: OwnFile, case: str, exact: Arrays) -> str | None:
    """Say what is no number in float64; None where all is. Outputs, and what is inside, may be infinite, as masks are."""
    for name, tensor in exact.items():
        if name.split("/")[0] in _FINITE and not np.isfinite(tensor).all():
            values = np.ravel(tensor)
            found = values[~np.isfinite(values)]
            return (
                f"{own.path.name}: {name}: {float(found[0])} in float64, in case {case}: {len(found)} of {len(values)} values "
                "are not finite"
            )
    return None


def _held(answer: Arrays, expected: Arrays) -> Arrays:
    """Return a draw with its numbers where numbers are expected: where infinity is, rounding may make one of it."""
    held = dict(answer)
    for name, right in expected.items():
        if name.split("/")[0] not in _FINITE and name in held and np.shape(held[name]) == np.shape(right):
            held[name] = np.where(np.isfinite(right), held[name], right)
    return held


def _floors_of(exact: Arrays, draws: Sequence[Mapping[str, Line | str]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the floor of each tensor, from its draws that are finite, and the tensors of which some are not.

    One with hardly any that is finite has no floor, and nothing is held to it.
    """
    floors, not_finite = {}, []
    for name, tensor in exact.items():
        finite = [lines[name] for lines in draws if _is_finite(lines[name])]
        if len(finite) < len(draws):
            not_finite.append(name)
        if len(finite) >= min(_LEAST_FINITE, len(draws)):
            floors[name] = {"norm": float(np.linalg.norm(tensor)), "size": int(tensor.size), "draws": finite}
    return floors, not_finite


def _finite(line: Line | str, what: str) -> Line:
    """Return the line of a draw. Raises ContractError for one that is none: a floor of it would pass, or refuse, anything."""
    if not _is_finite(line):
        raise ContractError(f"{what}: with rounding it is not finite ({line}), and nothing can be held to it")
    assert not isinstance(line, str)
    return line


def _is_finite(line: Line | str) -> bool:
    return not isinstance(line, str) and bool(np.isfinite(float(line[0])))


def _chosen(directory: Path, events: EventWriter) -> dict[str, Any]:
    """Return what the oracle tells the processes that start beside it, once it is there."""
    _await(directory, CHOSEN, events)
    return json.loads((directory / CHOSEN).read_text(encoding="utf-8"))


def _expected(directory: Path, events: EventWriter) -> Arrays:
    """Return what is right by the oracle, once it is there."""
    _await(directory, EXPECTED, events)
    return read_arrays(directory / EXPECTED)


def _await(directory: Path, name: str, events: EventWriter) -> None:
    while not (directory / name).exists():
        if (directory / FAILED).exists():
            raise ContractError(NOT_ASKED)
        events.advance()
        time.sleep(0.1)


def _write_json(path: Path, content: Any) -> None:
    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return encode_float(value)
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    replace_text(path, json.dumps(plain(content)))
