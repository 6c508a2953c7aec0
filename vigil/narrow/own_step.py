"""From the run of a user's own step to a script: its file, the batch, and the tensor that is out.

What is right, and how far a correct program may be from it, is what the run's oracle wrote down; of fewer rows it is asked again.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from runners.contract.arrays import read_arrays
from runners.contract.steps import frame
from runners.contract.steps.own import BATCH, BUILD, CAST, LOSS, OPTIMIZER, PREDICT, ROWS
from vigil.documents.narrowing import Shrinking
from vigil.documents.step import StepContext, StepVerification
from vigil.documents.verdict import Verdict
from vigil.errors import UsageError
from vigil.narrow.own_file import (
    OwnNarrowed,
    OwnText,
    Shown,
    first_that_shows,
    judged,
    not_shown,
    rights_of,
    threads_of,
    whole_script,
)
from vigil.narrow.own_layer import narrow_layer
from vigil.narrow.own_tails import EVALUATED, STEPPED, UPDATED, body_of
from vigil.steps.judge import differences_of
from vigil.steps.limits import distance_limit, step_limits
from vigil.steps.processes import REPEATS, Asked, Ended, Started, oracle_name, run
from vigil.verify.distance import Difference

_MOST_TENSORS = 3
_ROWS = (1, 2, 4, 8, 16, 32)
# Cases that a script makes, the likeliest first: what the whole step shows needs least beside it.
_CASES = (frame.STEP, frame.ROWS, frame.EVALUATION, frame.SINGLE, frame.REPEAT)
_UPDATES = ("params", "optimizer")
_SAID = re.compile(r"got (\S+) expected (\S+) in \S+ \[([\d, ]*)\]$")


class _Target(NamedTuple):
    """A tensor that is out. expected: what is right; None where no process wrote it down. tolerance: how far off it may be."""

    case: str
    tensor: str
    expected: np.ndarray | None
    tolerance: float
    reason: str
    rows: int | None = None

    @property
    def kind(self) -> str:
        if self.tensor.split("/")[0] in _UPDATES:
            return UPDATED
        return EVALUATED if self.case in (frame.EVALUATION, frame.SINGLE) else STEPPED


def context_of(document: StepVerification, number: int) -> StepContext:
    """Return the context of a run that is meant: from 1 on, of those that are wrong. Raises UsageError."""
    wrong = [each for each in document.contexts if each.verdict.name is Verdict.REGRESSED]
    if not wrong and document.verdict.name is Verdict.REGRESSED:
        raise UsageError(
            f"{document.step_id}: {document.verdict.reason}. No context differs from float64, so that no script can: "
            "look at the rule of that gradient."
        )
    if not wrong:
        raise UsageError(f"{document.step_id}: found nothing that is wrong. Allowed: a run that found something.")
    if not 1 <= number <= len(wrong):
        raise UsageError(f"--finding: found {number}. Allowed: 1 to {len(wrong)}, the contexts that are wrong.")
    return wrong[number - 1]


def narrow_step(
    started: Started,
    directory: Path,
    verified: Path,
    document: StepVerification,
    context: StepContext,
    own: OwnText,
    *,
    what: str,
    tell: Callable[[str], None] = lambda text: None,
) -> OwnNarrowed:
    """Write the script of a context that is wrong into a directory.

    Args:
        verified: the directory of the run.

    Raises:
        CannotRun: no script shows it.
    """
    alone = narrow_layer(started, directory, verified, context, own, tell=tell)
    if alone is not None:
        return alone
    targets = list(_targets(verified, document, context))
    if not targets:
        cases = sorted({each.case for each in context.out})
        raise not_shown(what, f"what is out needs {' and '.join(cases)}, of which no script is made", document.command)
    shower = _Shower(started, directory, document, context, own)
    tell("running scripts in fresh processes")
    said = ""
    for target in targets[:_MOST_TENSORS]:
        for mode in dict.fromkeys(("eager", context.context.mode)):
            shown = shower.shown(target, mode)
            if isinstance(shown, Shown):
                return _smaller(shower, shown, target, mode, tell)
            said = shown
    raise not_shown(what, said, document.command)


@dataclasses.dataclass
class _Shower:
    """Writes scripts of a step, and runs them. tried: how many."""

    started: Started
    directory: Path
    document: StepVerification
    context: StepContext
    own: OwnText
    tried: int = 0
    skips_float64: bool = False  # where float64 in the script did not show it: of fewer rows it would not either

    def shown(self, target: _Target, mode: str, *, keeps: Path | None = None) -> Shown | str:
        """Return the script of a tensor that is WRONG in a fresh process; or why there is none."""
        place = keeps or self.directory
        place.mkdir(parents=True, exist_ok=True)
        shown = first_that_shows(self._scripts(target, mode), place, self.started, is_same=lambda line: _is_of(target, line))
        if isinstance(shown, Shown):
            self.tried += shown.tried
            self.skips_float64 |= shown.tried > 1
        return shown

    def needs(self, target: _Target, mode: str) -> tuple[str, ...]:
        """Return what a script keeps besides the file."""
        found = ["the whole step"]
        found += [f"mode {mode}"] if mode != "eager" else []
        found += [f"{self.context.threads} threads"] if self.context.threads > 1 else []
        found += [f"repetition: {REPEATS} calls"] if target.case == frame.REPEAT else []
        return tuple(found)

    def _scripts(self, target: _Target, mode: str) -> Iterator[str]:
        precision, framework = self.context.context.precision, self.started.framework
        oracle = next(each for each in self.document.oracles if each.precision == precision)
        body = body_of(
            framework, mode, target.kind, precision=precision, seed=oracle.seed or 0, scale=oracle.loss_scale or 1.0,
            rows=_rows_of(target), takes=_arguments(self.own.text, LOSS),
            has={name for name in (CAST, PREDICT, ROWS) if _arguments(self.own.text, name)}, has_modules="nnx" in self.own.text,
        )  # fmt: skip
        got, wide = (f"{name}()[{target.tensor!r}]" for name in ("in_precision", "in_float64"))
        calls = REPEATS if target.case == frame.REPEAT else 1
        says = [
            f"{self.own.name}: {target.tensor} in {mode} mode and {precision} is not what float64 gives.",
            *(f"It needs {each}." for each in self.needs(target, mode)),
        ]
        expected = np.array(np.nan) if target.expected is None else target.expected
        rights = rights_of(expected, got=got, in_float64=wide, source="the program in float64, operator by operator")
        for right in itertools.islice(rights, int(self.skips_float64), None):
            yield whole_script(
                self.own, says=says, needs=_NEEDED[target.kind], before=self._before(),
                body=body + judged(right, target.tensor, target.tolerance, target.reason, calls=calls),
            )  # fmt: skip

    def _before(self) -> list[str]:
        return threads_of(self.started.framework, self.context.threads)


_NEEDED = {
    STEPPED: (BUILD, BATCH, LOSS, CAST, ROWS),
    EVALUATED: (BUILD, BATCH, LOSS, CAST, ROWS, PREDICT),
    UPDATED: (BUILD, BATCH, LOSS, CAST, ROWS, OPTIMIZER),
}


def _rows_of(target: _Target) -> str | None:
    """Return which rows of the batch a script takes, as a slice; None: all of them."""
    return f":{target.rows}" if target.rows is not None else {frame.ROWS: "::-1", frame.SINGLE: ":1"}.get(target.case)


def _arguments(text: str, name: str) -> tuple[str, ...]:
    """Return the arguments of a function of a file; empty where it has none of this name."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return tuple(each.arg for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
    return ()


def _targets(verified: Path, document: StepVerification, context: StepContext) -> Iterator[_Target]:
    """Yield tensors that are out, those first whose script needs least: the origin's own, then the farthest."""
    precision = context.context.precision
    oracle, place = _ended(verified / oracle_name(precision)), _ended(verified / context.directory)
    floors, expected = oracle.read(frame.FLOORS)["floors"], read_arrays(oracle.directory / frame.EXPECTED)
    if (place.directory / frame.UPDATED).exists():
        made = read_arrays(place.directory / frame.UPDATED)
        expected |= {name.replace("/after/", "/", 1): tensor for name, tensor in made.items()}
    differences = _of(place, floors)
    limits = step_limits()
    out = [each for each in context.out if each.case in _CASES and (each.case, each.tensor) in differences]
    first = context.origin.tensor if context.origin else None
    for each in sorted(out, key=lambda one: (_CASES.index(one.case), one.tensor != first)):
        difference = differences[each.case, each.tensor]
        case = frame.STEP if each.case == frame.REPEAT else each.case
        if difference.is_absent:
            continue
        tolerance = distance_limit(difference, limits, precision)
        yield _Target(each.case, each.tensor, expected.get(f"{case}/{each.tensor}"), tolerance, _reason(difference, tolerance))


def _reason(difference: Difference, tolerance: float) -> str:
    floor = difference.floor.distance if difference.floor else 0.0
    times = tolerance / floor if floor else 0.0
    return f"{times:.3g} times what rounding moves it by, {floor:.3g}, as measured of right programs"


def _ended(directory: Path) -> Ended:
    if not (directory / frame.FLOORS).exists() and not (directory / frame.ANSWERS).exists():
        raise UsageError(f"{directory}: nothing in it. Allowed: the whole directory of a run; verify the file again.")
    return Ended(directory, None, {}, 0.0)


def _of(place: Ended, floors: dict) -> dict[tuple[str, str], Difference]:
    updates = place.read(frame.UPDATES) if (place.directory / frame.UPDATES).exists() else {}
    return {(each.case.split("/")[0], each.tensor): each for each in differences_of(place.read(frame.ANSWERS), floors, updates)}


def _is_of(target: _Target, line: str) -> bool:
    """Is what a script says of the tensor as the oracle has it? What draws other numbers in float64 is another program."""
    found = _SAID.search(line)
    if found is None or target.expected is None:
        return True
    index = tuple(int(each) for each in found[3].split(",") if each.strip())
    if len(index) != target.expected.ndim:
        return not index  # a sum of all elements
    return abs(float(found[2]) - float(target.expected[index])) <= target.tolerance


def _smaller(shower: _Shower, shown: Shown, target: _Target, mode: str, tell: Callable[[str], None]) -> OwnNarrowed:
    """Return the script of the fewest rows that show the same tensor wrong."""
    found, rows = shown, target.rows
    if target.case == frame.STEP and target.kind == STEPPED:
        for count in _ROWS:
            tell(f"asking {count} of the rows")
            smaller = _of_rows(shower, target, count)
            if smaller is None:
                break
            again = shower.shown(smaller, mode, keeps=shower.directory / f"rows-{count}")
            if isinstance(again, Shown) and _sign(again.like) == _sign(shown.like):
                found, rows = again._replace(path=again.path.replace(shown.path)), count
                break
    said = "all rows" if rows is None else f"{rows} row{'s' if rows > 1 else ''}"
    before, after = f"{target.tensor} of all rows", f"{target.tensor} of {said}"
    shrinking = Shrinking(asked=shower.tried, before=before, after=after, needs=shower.needs(target, mode))
    return OwnNarrowed(found.path, shrinking, found.like, found.without)


def _sign(line: str) -> bool | None:
    """Is what a script says above what it should be?"""
    found = _SAID.search(line)
    return None if found is None else float(found[1]) > float(found[2])


def _of_rows(shower: _Shower, target: _Target, count: int) -> _Target | None:
    """Return what is right of the first rows alone; None where there are no more than these, or nothing can be said of them."""
    document, precision = shower.document, shower.context.context.precision
    seed = next(each.seed for each in document.oracles if each.precision == precision)
    asked = Asked(
        framework=shower.started.framework, python=shower.started.python, file=shower.own.path, sha256=document.file.sha256,
        progress=shower.started.progress,
    )  # fmt: skip
    place = shower.directory / f"oracle-rows-{count}"
    ended = run(asked, place, task="oracle", precision=precision, seeds=[seed or 0], rows=count)
    if ended.failure:
        return None
    floors = ended.read(frame.FLOORS)["floors"]
    lines: dict[str, Sequence[float]] = dict.fromkeys(floors[frame.STEP], (0.0, 0.0, 0.0))
    [difference] = [
        each for each in differences_of({frame.STEP: {"lines": lines}}, floors, {}) if each.tensor == target.tensor
    ]  # fmt: skip
    tolerance = distance_limit(difference, step_limits(), precision)
    expected = read_arrays(place / frame.EXPECTED)[f"{frame.STEP}/{target.tensor}"]
    return target._replace(expected=expected, tolerance=tolerance, reason=_reason(difference, tolerance), rows=count)
