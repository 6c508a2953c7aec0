"""One wrong call made smaller while it still shows the same failure, and written down as a script that needs no Vigil.

Sizes go down and parameters to the first that the operator is tried with, many candidates a round, each held to the audit's
limits. Arguments are drawn by the script from a seed where that shows the failure too; else their numbers are written into it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runners.contract.audit.derivatives import way_of
from runners.contract.files import replace_text
from vigil.audit.entry import Entry
from vigil.audit.exact import Exact
from vigil.audit.judge import WRONG, Measured
from vigil.audit.limits import AuditLimits
from vigil.audit.plan import GIVEN, Trial
from vigil.audit.script import script_of
from vigil.audit.sweep import Row
from vigil.documents.audit import AuditFinding
from vigil.narrow.ask import Answered, Asker, focused
from vigil.narrow.outcome import RIGHT, Outcome, fault_argument, is_alike, run_script
from vigil.narrow.outcome import WRONG as SAYS_WRONG
from vigil.narrow.text import wrapped
from vigil.narrow.written import Written
from vigil.steps.processes import Started, forked

SCRIPT = "script.py"
MOST_LINES = 40
_MOST_ROUNDS = 10
_MOST_A_ROUND = 40
_SEEDS = 8  # of which one shows what another's signs hide
_MOST_SCRIPTS = 4
# How many times as large an error may be, beside what it is an error of, and be the same failure at other sizes.
_ALIKE = 100.0
_MODULES = {"torch": ("torch",), "tensorflow": ("tensorflow",), "jax": ("jax",)}


class Failing(NamedTuple):
    """A failure, apart from the sizes that it shows at. kind: of what is wrong: how large an error, or what no distance tells.

    error: beside the size of what is right, away from zero: -0.001 is a number that is a thousandth too near it.
    """

    way: str
    quantity: str
    kind: str
    error: float

    def is_same(self, other: Failing) -> bool:
        """Is another failure this one at other sizes: of one sign, and neither a hundred times the other?"""
        if self[:3] != other[:3]:
            return False
        if self.kind:
            return True
        one, two = self.error, other.error
        return one * two > 0 and max(abs(one), abs(two)) <= _ALIKE * min(abs(one), abs(two))


def failing_of(row: Row, exact: Exact) -> Failing | None:
    """Return the failure of a row; None for one that is no wrong number."""
    if row.kind != WRONG or row.measured is None or row.quantity is None:
        return None
    measured = row.measured
    kind = "shape" if measured.problem.startswith("gave ") else measured.problem
    return Failing(row.way, row.quantity, kind, 0.0 if kind else _error(measured, _size(row.quantity, exact)))


def _error(measured: Measured, size: float) -> float:
    off = measured.got - measured.expected
    return off / (size or 1.0) * (math.copysign(1.0, measured.expected) if measured.expected else 1.0)


def _size(quantity: str, exact: Exact) -> float:
    """Return how large what is right is: the root mean square of an array, or the largest of its derivatives along directions."""
    group, _, name = quantity.partition("/")
    if group == "gradients" and name in exact.directions:
        return max((abs(each.derivative) for each in exact.directions[name]), default=0.0)
    held = exact.outputs[int(name)] if group == "outputs" else exact.gradients[name]
    values = np.asarray(held.values, np.float64)[np.isfinite(held.values)]
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


@dataclasses.dataclass(frozen=True)
class Narrowed:
    """A script, and what it came down to.

    like: the line that it says of the failure. without: what it says without the planted fault; None where none is planted.
    asked, rounds: how many trials, and processes. needs: sizes and parameters without which the failure does not show.
    """

    script: Path
    lines: int
    way: str
    mode: str
    quantity: str
    before: Trial
    trial: Trial
    like: str
    without: str | None
    asked: int
    rounds: int
    needs: tuple[str, ...]
    is_drawn: bool


class _Candidate(NamedTuple):
    trial: Trial
    seed: int

    @property
    def cost(self) -> float:
        """Return how large it is: elements of its arguments, and parameters that are not the first ones."""
        elements = sum(math.prod(each.shape(self.trial.sizes)) for each in self.trial.entry.arguments.values())
        first = self.trial.entry.parameters[0]
        unusual = sum(value != first.get(name, value) for name, value in self.trial.parameters.items())
        plain = (self.trial.layout != "plain") + (self.trial.values != GIVEN)
        return elements + 0.5 * unusual + 2.0 * plain + 0.01 * sum(self.trial.sizes.values())

    @property
    def key(self) -> str:
        return repr((type(self.trial).__name__, sorted(self.trial.sizes.items()), sorted(self.trial.parameters.items(), key=str),
                     self.trial.layout, self.trial.values, self.seed))  # fmt: skip


def narrow_finding(
    started: Started,
    directory: Path,
    *,
    entry: Entry,
    way: str,
    mode: str,
    trial: Trial,
    quantity: str,
    limits: AuditLimits,
    seed: int = 0,
    threads: int = 1,
    devices: int = 1,
    tell: Callable[[str], None] = lambda text: None,
) -> Narrowed | None:
    """Make one wrong call smaller, and write the script of it into a directory; None where alone it does not show.

    Args:
        entry, way, mode, trial, quantity, seed: what was wrong: `outputs/<place>` or `gradients/<argument>` of a public name.
        threads: that the framework has. devices: over which a layout cuts the arguments.
    """
    own = focused(entry, [quantity])
    first = _Candidate(trial._replace(entry=own), seed)
    with forked(started) as hosted:
        asker = Asker(
            started=hosted, directory=directory / "asked", mode=mode, limits=limits, threads=threads, devices=devices, tell=tell
        )  # fmt: skip
        shown = _Search(asker, way, quantity).smallest(first)
    for place, answered in enumerate(shown[:_MOST_SCRIPTS]):
        text = text_of(asker, answered, way, quantity)
        if text is None:
            continue
        path = directory / (SCRIPT if place == 0 else f"script-{place + 1}.py")
        replace_text(path, text)
        told = _verified(path, started, _wrong_row(answered, way, quantity))
        if told is None:
            path.unlink()
            continue
        path = path.replace(directory / SCRIPT)
        like, without = told
        return Narrowed(
            script=path, lines=len(text.splitlines()), way=way, mode=mode, quantity=quantity, before=trial,
            trial=answered.trial, like=like, without=without, asked=asker.asked, rounds=asker.rounds,
            needs=_needs(answered.trial), is_drawn=isinstance(answered.trial, Written),
        )  # fmt: skip
    return None


def narrow_audit(
    started: Started,
    directory: Path,
    finding: AuditFinding,
    entry: Entry,
    *,
    limits: AuditLimits,
    threads: int = 1,
    devices: int = 1,
    tell: Callable[[str], None] = lambda text: None,
) -> Narrowed | None:
    """Make a finding of an audit smaller; None where alone it does not show, or it is no wrong number of one call."""
    if finding.kind != WRONG or finding.way is None or finding.quantity is None or way_of(finding.quantity):
        return None  # a derivative by another way than reverse mode stays as the audit's own script has it
    form = finding.smallest
    trial = Trial(entry, 0, form.sizes, form.parameters, form.precision, form.layout, form.values)
    return narrow_finding(
        started, directory, entry=entry, way=finding.way, mode=finding.mode, trial=trial, quantity=finding.quantity,
        limits=limits, seed=form.seed, threads=threads, devices=devices, tell=tell,
    )  # fmt: skip


class _Search:
    """Asks in rounds for smaller candidates that show the failure of the first one."""

    def __init__(self, asker: Asker, way: str, quantity: str) -> None:
        self._asker, self._way, self._quantity = asker, way, quantity
        self._failing: Failing | None = None
        self._asked: set[str] = set()
        self._shown: list[tuple[float, Answered]] = []

    def smallest(self, first: _Candidate) -> list[Answered]:
        """Return the candidates that show the failure, the smallest first; those that a script draws before others."""
        self._ask([first])
        if not self._shown:
            # What shows it is looked for in what a script draws, too: rounding of the first may hide it.
            return []
        starts = [first]
        if first.trial.values == GIVEN:
            trial = Written(*first.trial)
            starts = [_Candidate(trial, number) for number in range(_SEEDS)]
            is_drawn = bool(self._ask(starts))
            if not is_drawn:
                starts = [first]
        best = min((each for each in starts if self._has(each)), key=lambda each: each.cost, default=first)
        for _ in range(_MOST_ROUNDS):
            found = self._ask(list(self._smaller(best)))
            better = [each for each in found if each.cost < best.cost]
            if not better:
                break
            together = self._together(best, better)
            more = self._ask(together)
            best = min([*better, *more], key=lambda each: each.cost)
        ordered = sorted(self._shown, key=lambda pair: (not isinstance(pair[1].trial, Written), pair[0]))
        return [answered for _, answered in ordered]

    def _has(self, candidate: _Candidate) -> bool:
        return any(_Candidate(each.trial._replace(number=0), each.seed).key == candidate.key for _, each in self._shown)

    def _ask(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Return the candidates that show the failure; the first one asked says what that is."""
        fresh = []
        for each in candidates:
            if each.key not in self._asked:
                self._asked.add(each.key)
                fresh.append(each)
        fresh = sorted(fresh, key=lambda each: each.cost)[:_MOST_A_ROUND]
        if not fresh:
            return []
        found = []
        for answered in self._asker.ask([(each.trial, each.seed) for each in fresh], [self._way]):
            row = _wrong_row(answered, self._way, self._quantity)
            failing = row and failing_of(row, answered.exact)
            if failing is None:
                continue
            if self._failing is None:
                self._failing = failing
            if self._failing.is_same(failing) and not _is_wrong_before(answered, self._way, self._quantity):
                candidate = _Candidate(answered.trial, answered.seed)
                self._shown.append((candidate.cost, answered))
                found.append(candidate)
        return found

    def _smaller(self, best: _Candidate) -> Iterator[_Candidate]:
        """Yield candidates below one: all at once, what the operator is tried with, and one thing at a time."""
        trial = best.trial
        first = trial.entry.parameters[0]
        plain = trial._replace(layout="plain", values=GIVEN)
        for parameters in (first, trial.parameters):
            if set(parameters) != set(trial.parameters):
                continue
            for sizes in (dict.fromkeys(trial.sizes, 1), *trial.entry.sizes):
                if set(sizes) >= set(trial.sizes):
                    small = {name: min(sizes[name], value) for name, value in trial.sizes.items()}
                    yield best._replace(trial=plain._replace(sizes=small, parameters=parameters))
        for changed in self._one_less(trial):
            yield best._replace(trial=changed)

    def _one_less(self, trial: Trial) -> Iterator[Trial]:
        """Yield a trial with less of one size, or of several that are equal, or with one parameter that is the first."""
        by_value: dict[int, list[str]] = {}
        for name, value in trial.sizes.items():
            by_value.setdefault(value, []).append(name)
        for value, names in by_value.items():
            groups = [each for count in range(1, min(len(names), 3) + 1) for each in itertools.combinations(names, count)]
            for group, target in itertools.product(groups, _targets(value)):
                yield trial._replace(sizes={**trial.sizes, **dict.fromkeys(group, target)})
        first = trial.entry.parameters[0]
        for name, parameter in trial.parameters.items():
            if name in first and first[name] != parameter:
                yield trial._replace(parameters={**trial.parameters, name: first[name]})
        if trial.layout != "plain":
            yield trial._replace(layout="plain")
        if trial.values != GIVEN:
            yield trial._replace(values=GIVEN)

    def _together(self, best: _Candidate, better: Sequence[_Candidate]) -> list[_Candidate]:
        """Return what is less in several candidates, less in one: of all of them, and with one of them left out."""
        least: dict[str, tuple[float, dict[str, Any]]] = {}
        for each in sorted(better, key=lambda candidate: candidate.cost):
            changes = _changes(best.trial, each.trial)
            least.setdefault(" ".join(sorted(changes)), (each.cost, changes))
        parts = [changes for _, changes in sorted(least.values(), key=lambda pair: pair[0])]
        sets = [parts] + [parts[:place] + parts[place + 1 :] for place in range(len(parts))]
        sets += [parts[:count] for count in range(2, len(parts))]
        seeds = [best.seed] if not isinstance(best.trial, Written) else range(_SEEDS)
        return [
            _Candidate(_changed(best.trial, chosen), seed)
            for place, chosen in enumerate(sets) if len(chosen) > 1
            for seed in (seeds if place == 0 else [best.seed])
        ]  # fmt: skip


def _targets(value: int) -> list[int]:
    """Return smaller sizes to try, the least first."""
    return sorted({each for each in (1, 2, 3, value // 2, value - 1) if 0 < each < value})


def _changes(before: Trial, after: Trial) -> dict[str, Any]:
    """Return what differs: `size name`, `parameter name`, layout and values."""
    found: dict[str, Any] = {f"sizes/{name}": value for name, value in after.sizes.items() if before.sizes[name] != value}
    found |= {f"parameters/{name}": value for name, value in after.parameters.items() if before.parameters[name] != value}
    return found | {name: getattr(after, name) for name in ("layout", "values") if getattr(before, name) != getattr(after, name)}


def _changed(trial: Trial, parts: Sequence[Mapping[str, Any]]) -> Trial:
    sizes, parameters, rest = dict(trial.sizes), dict(trial.parameters), {}
    for changes in parts:
        for name, value in changes.items():
            group, _, own = name.partition("/")
            if own and group == "sizes":
                sizes[own] = min(sizes[own], value)
            elif own:
                parameters[own] = value
            else:
                rest[group] = value
    return trial._replace(sizes=sizes, parameters=parameters, **rest)


def _wrong_row(answered: Answered, way: str, quantity: str) -> Row | None:
    return next((row for row in answered.rows if row.way == way and row.quantity == quantity and row.kind == WRONG), None)


def _is_wrong_before(answered: Answered, way: str, quantity: str) -> bool:
    """Is what a gradient is taken of wrong already? Then it is another failure."""
    is_gradient = quantity.startswith("gradients/")
    return is_gradient and any(
        row.way == way and row.kind == WRONG and (row.quantity or "").startswith("outputs/") for row in answered.rows
    )


def _needs(trial: Trial) -> tuple[str, ...]:
    """Return the sizes above 1 and the parameters that are not the first."""
    first = trial.entry.parameters[0]
    said = [f"{name}={value}" for name, value in trial.sizes.items() if value > 1]
    said += [f"{name}={value}" for name, value in trial.parameters.items() if name in first and first[name] != value]
    return (*said, *(each for each in (trial.layout, trial.values) if each not in ("plain", GIVEN)))


def text_of(asker: Asker, answered: Answered, way: str, quantity: str) -> str | None:
    """Return the script of an answer that is wrong; None where it cannot be written down, or is too long."""
    row = _wrong_row(answered, way, quantity)
    assert row is not None
    assert row.measured is not None
    framework, trial = asker.started.framework, answered.trial
    argument = quantity.partition("/")[2] if quantity.startswith("gradients/") else None
    text = script_of(
        framework=framework, framework_version=asker.version, family=trial.entry.family, way=way, mode=asker.mode,
        question=answered.question, exact=answered.exact, quantity=quantity, measured=row.measured,
        drawn=trial.drawn(answered.seed, argument) if isinstance(trial, Written) else None, devices=asker.devices,
    )  # fmt: skip
    if text is None:
        return None
    lines = wrapped(text.splitlines())
    told = f"# Right is what the definition gives in NumPy and float64: {trial.entry.source}"
    lines.insert(1, told[:200])
    return "\n".join(lines) + "\n" if len(lines) <= MOST_LINES else None


def _verified(path: Path, started: Started, row: Row | None) -> tuple[str, str | None] | None:
    """Return what a script says in a fresh process, with the fault and without; None unless that is WRONG, and RIGHT."""
    assert row is not None
    assert row.measured is not None
    python, modules = started.python or Path(sys.executable), _MODULES[started.framework]
    fault = fault_argument(started.fault, started.framework)
    wrong = run_script(path, python, modules=modules, fault=fault)
    if wrong.kind != SAYS_WRONG or not is_alike(f"WRONG got {row.measured.got} expected {row.measured.expected}", wrong.line):
        return None
    if not fault:
        return wrong.line, None
    right: Outcome = run_script(path, python, modules=modules)
    return (wrong.line, right.line) if right.kind == RIGHT else None
