"""A script run again and again until two runs part; then where, which operator, and what makes it go away."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from runners.contract.trace.records import Ask
from vigil.documents.trace import (
    PARTS,
    SAME,
    Bound,
    OperatorTrial,
    Parting,
    PartingOperator,
    ScriptTrial,
    Trace,
    TracedScript,
)
from vigil.errors import CannotRun
from vigil.process.environment import describe_machine
from vigil.trace.compare import (
    INPUTS,
    OUTPUT,
    Amount,
    FirstDifference,
    OperatorDifference,
    amount_of,
    first_difference,
    first_operator,
    kept,
    lines_of,
    operator_at,
)
from vigil.trace.launch import SEEDS, SWITCH, THREAD
from vigil.trace.processes import Run, Script, run_traced

CHANCE = 0.05
RUNS = 5
_LOOKS = 4
_TRIED = 2, 6  # comparisons of runs with a change, at least and at most
HASH_SEED = "hash seed"
_WHOLE = 2**62
_LINES = 6
GOES, STAYS, ELSEWHERE, CANNOT_TELL, FAILED = "goes away", "stays", "another place", "cannot tell", "failed"
# Of what runs on a CPU JAX has no switch: XLA's sums have one order there.
_SWITCHED = ("torch", "tensorflow")
_CHANGES = {
    SEEDS: "with every generator seeded",
    HASH_SEED: "with PYTHONHASHSEED=0",
    THREAD: "on one thread",
    SWITCH: "with deterministic operators",
}
# In this order they are left out again where only several together help: what costs most is done without first.
_LEFT_OUT = (THREAD, SWITCH, HASH_SEED, SEEDS)


@dataclasses.dataclass
class Work:
    """What is known of a script so far. parted: in how many of `runs` unchanged ones, after the first, it parted."""

    script: Script
    directory: Path
    tell: Callable[[str], None]
    first: Run
    runs: int = 1
    parted: int = 0
    numbers: itertools.count = dataclasses.field(default_factory=lambda: itertools.count(2))

    def again(self, what: str, ask: Ask) -> tuple[Run, FirstDifference | None]:
        """Run the script unchanged once more; return where it parts from the first run, too."""
        number = next(self.numbers)
        self.tell(f"run {number}: {what}")
        run = run_traced(self.script, self.directory / f"run-{number}", ask)
        difference = first_difference(self.first.records, run.records)
        self.runs += 1
        self.parted += difference is not None or run.problem is not None
        return run, difference


def trace(script: Script, directory: Path, *, runs: int, command: str, tell: Callable[[str], None]) -> Trace:
    """Trace a script: at most `runs` times until it parts, and then what else is to be known.

    Raises:
        CannotRun: The first run does not come to its end, or nothing was written down.
    """
    began = time.monotonic()
    tell("run 1: what is computed is written down")
    first = run_traced(script, directory / "run-1", Ask())
    if first.problem:
        tail = "".join(f"\n    | {line}" for line in first.log[-_LINES:])
        raise CannotRun(f"{script.path}: {first.problem}, so there is nothing to compare. Its last lines:{tail}")
    done = first.done
    if not done["frameworks"] and not done["records"]:
        raise CannotRun(
            f"{script.path}: found neither torch, tensorflow, keras nor jax, and no record of `vigil.probe`. "
            "Allowed: a script that imports a framework, or calls probe.monitor."
        )
    work = Work(script, directory, tell, first)
    window = None if done["records"] else (-1, _WHOLE)  # no module and no gradient: every operator is looked at
    if window:
        work.first = run_traced(script, directory / "operators-1", Ask(window=window))
        if not lines_of(work.first.operators):
            raise CannotRun(
                f"{script.path}: carries out no operator of {', '.join(done['frameworks'])}, so there is nothing to compare. "
                "Allowed: a script that computes; `vigil verify` takes a file with a step of your own."
            )
    run, difference, operators = first, None, None
    for _ in range(runs - 1):
        run, difference = work.again("is it the same?", Ask(reference=str(first.records), window=window))
        operators = first_operator(work.first.operators, run.operators) if window else None
        if operators and difference is None:
            work.parted += 1
        if difference or operators or run.problem:
            break
    document = Trace(
        trace_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        script=TracedScript(
            path=str(script.path), sha256=hashlib.sha256(script.path.read_bytes()).hexdigest(), arguments=script.arguments,
            runs=work.runs, parted=work.parted, records=done["records"], steps=done["steps"],
        ),
        frameworks=done["frameworks"], state=SAME, reason="", bound=None, parting=None, operator=None, beyond=None, trials=(),
        changes=(), environment=describe_machine(), seconds=0.0,
    )  # fmt: skip
    if difference is None and operators is None and run.problem is None:
        bound = bound_of(work.runs, done["steps"])
        n = done["records"] or lines_of(work.first.operators)
        what = "records" if done["records"] else "operators"
        says = f"{n:,} {what} in {done['steps']:,} steps, bit for bit"
        document = document.replace(reason=says, bound=bound)
    else:
        document = _parted(document, work, run, difference, operators)
    document = document.replace(seconds=round(time.monotonic() - began, 1))
    document.write(directory)
    return document


def bound_of(runs: int, steps: int) -> Bound:
    """Return how rare a difference must be to be missed by these runs with a chance of 5 %.

    The exact form of the rule of three: n comparisons that are all the same leave a share of 1 - 0.05^(1/n), near 3/n for many.
    """
    n = runs - 1
    return Bound(runs=_upper(n), steps=_upper(n * steps) if steps else None)


def _upper(n: int) -> float:
    """Return the upper limit of a share, at 95 %, of which none was seen in n.

    >>> round(_upper(4), 3), round(_upper(1000), 5)
    (0.527, 0.00299)
    """
    return 1.0 - CHANCE ** (1.0 / n)


def _parted(
    document: Trace, work: Work, run: Run, difference: FirstDifference | None, operators: OperatorDifference | None
) -> Trace:
    """Return the document of a script that parts."""
    if difference is None and operators is None:
        tail = f": {run.log[-1]}" if run.log else ""
        return document.replace(state=PARTS, reason=f"run {work.runs} ended otherwise than the first: {run.problem}{tail}")
    row = None
    document = document.replace(state=PARTS)
    if difference is not None:
        pair = _numbers(work, run, difference)
        line = difference.one or difference.other
        assert line is not None
        amount = amount_of(*pair, line.dtype) if pair else None
        row = amount.row if amount else None
        document = document.replace(parting=_parting(difference, amount))
        operators = _operators(work, difference)
    document = document.replace(**_operator(document, operators, difference))
    if document.operator:
        document = document.replace(trials=_trials(work, document, operators, row))
    document = document.replace(**_changed(work, document))
    script = document.script.replace(runs=work.runs, parted=work.parted)
    return document.replace(script=script, reason=_reason(document, work))


def _numbers(work: Work, parted: Run, difference: FirstDifference) -> tuple[np.ndarray, np.ndarray] | None:
    """Return two different tensors of the record, from runs that are the same before it; None where they do not come again."""
    found = {str(difference.other): kept(parted.parted)}
    for _ in range(_LOOKS):
        run, other = work.again("a look at the record", Ask(keep=difference.number))
        if run.problem or (other is not None and other.number < difference.number):
            continue
        is_there = other is not None and other.number == difference.number
        found[str(other.other if other is not None and is_there else difference.one)] = kept(run.parted)
        values = [each[1] for each in found.values() if each is not None and each[0] == difference.number]
        if len(values) >= 2:
            return values[0], values[1]
    return None


def _operators(work: Work, difference: FirstDifference) -> OperatorDifference | None:
    """Return the first operator that differs in runs that are the same up to the step."""
    ask, found = Ask(window=(difference.first - 1, difference.number)), list[Run]()
    for _ in range(_LOOKS):
        run, other = work.again("a look at the operators", ask)
        if run.problem or (other is not None and other.number < difference.first):
            continue
        differences = (first_operator(each.operators, run.operators) for each in found)
        if operator := next(filter(None, differences), None):
            return operator
        found.append(run)
    return None


def _parting(difference: FirstDifference, amount: Amount | None) -> Parting:
    line = difference.one or difference.other
    assert line is not None
    is_same = difference.one is not None and difference.other is not None and difference.one.is_of == difference.other.is_of
    other = difference.other
    here = f"{other.name}, {other.kind}, {other.dtype} {list(other.shape)}" if other else "the end of the run"
    told = None if is_same else here
    if difference.one is None:
        told = "the end of the first run"
    return Parting(
        step=line.step,
        number=difference.number,
        in_step=difference.number - difference.first + 1,
        name=line.name,
        kind=line.kind,
        dtype=line.dtype,
        shape=line.shape,
        elements=amount.elements if amount else None,
        of=int(np.prod(line.shape, dtype=np.int64)),
        largest=amount.largest if amount else None,
        ulps=amount.ulps if amount else None,
        other=told,
    )


def _operator(document: Trace, found: OperatorDifference | None, difference: FirstDifference | None) -> dict[str, object]:
    """Return what the document says of the operator: that, or why there is none."""
    if found is None:
        if difference is not None and set(document.frameworks) & {"torch", "tensorflow", "keras", "jax"}:
            return {"beyond": "while operators were looked at, no two runs parted here, or none of their operators differed"}
        return {"beyond": "no framework computed it"}
    line = found.line
    if found.kind == OUTPUT:
        operator = PartingOperator(name=line.name, where=line.where, number=found.number, is_random="random" in line.marks)
        return {"operator": operator}
    if found.kind == INPUTS:
        return {"beyond": f"it comes from outside of the framework: {line.name} at {line.where} is given other numbers"}
    return {"beyond": f"the program takes another way: {line.name} at {line.where} is the first operator that only one run has"}


def _trials(work: Work, document: Trace, found: OperatorDifference | None, row: int | None) -> tuple[OperatorTrial, ...]:
    """Return what the operator came to alone, and in a cold process each time."""
    assert found is not None
    parting = document.parting
    window = (parting.number - parting.in_step, parting.number) if parting else (-1, _WHOLE)
    trials: tuple[OperatorTrial, ...] = ()
    for _ in range(_LOOKS):
        run, _ = work.again("the operator alone", Ask(window=window, experiment=found.number, row=row))
        if run.experiment is not None and _line_of(run.operators, found) is not None:
            trials = tuple(OperatorTrial(what=what, **each) for what, each in run.experiment.items())
            break
    files = work.directory.glob("run-*/operators.jsonl")
    seen = [line for file in files if (line := _line_of(file, found)) is not None]
    return (*trials, OperatorTrial(what="in a cold process", calls=len(seen), results=len(set(seen)), message=None))


def _line_of(file: Path, found: OperatorDifference) -> str | None:
    """Return what an operator gave in a run; None where it was not given what it is asked about."""
    line = operator_at(file, found.number)
    return str(line.results) if line and (line.name, line.given) == (found.line.name, found.line.given) else None


def _changed(work: Work, document: Trace) -> dict[str, object]:
    """Return what the script came to with each change alone and, where none of them helps, the fewest that do together.

    From all together one after the other is left out, for good where it is not missed: one thread may do what deterministic
    operators do, and then leaving out either says nothing.
    """
    rate = work.parted / max(1, work.runs - 1)
    chosen = [each for each in _CHANGES if each != SWITCH or set(document.frameworks) & set(_SWITCHED)]
    trials = [_with(work, document, [each], rate) for each in chosen]
    if any(each.outcome == GOES for each in trials):
        return {"changes": tuple(trials)}
    trials.append(_with(work, document, chosen, rate))
    if trials[-1].outcome != GOES:
        return {"changes": tuple(trials)}
    for each in _LEFT_OUT:
        fewer = [other for other in chosen if other != each]
        if len(fewer) in (1, len(chosen)):  # each alone has been tried
            continue
        trials.append(_with(work, document, fewer, rate))
        if trials[-1].outcome == GOES:
            chosen = fewer
    return {"changes": tuple(trials), "needed": tuple(_CHANGES[each] for each in chosen)}


def _with(work: Work, document: Trace, changes: Sequence[str], rate: float) -> ScriptTrial:
    says, name = ", ".join(_CHANGES[each] for each in changes), "+".join(changes).replace(" ", "-")
    runs: list[Run] = []
    for number in range(1 + _comparisons(rate)):
        work.tell(f"{says}: run {number + 1}")
        window, hash_seed = None if document.parting else (-1, _WHOLE), "0" if HASH_SEED in changes else None
        own = [each for each in changes if each != HASH_SEED]
        run = run_traced(
            work.script, work.directory / f"{name}-{number + 1}", Ask(window=window), changes=own, hash_seed=hash_seed
        )
        runs.append(run)
        if run.problem:
            told = next((line for line in reversed(run.log) if "Error" in line), run.problem)
            return ScriptTrial(change=says, runs=len(runs), outcome=FAILED, says=told[:200])
        if len(runs) == 1:
            continue
        where = first_difference(runs[0].records, run.records)
        operators = first_operator(runs[0].operators, run.operators) if window else None
        if where or operators:
            parting, line = document.parting, (where.one or where.other) if where else None
            if where is None or line is None or parting is None:
                return ScriptTrial(change=says, runs=len(runs), outcome=STAYS, says="")
            is_same = (line.name, line.kind) == (parting.name, parting.kind)
            outcome = STAYS if is_same or where.number <= parting.number else ELSEWHERE
            return ScriptTrial(change=says, runs=len(runs), outcome=outcome, says=f"step {line.step}: {line.name}, {line.kind}")
    missed = (1.0 - rate) ** (len(runs) - 1)
    if missed > CHANCE:
        told = f"the same in {len(runs)} runs; by chance it would be in {100 * missed:.0f} % of such tries"
        return ScriptTrial(change=says, runs=len(runs), outcome=CANNOT_TELL, says=told)
    return ScriptTrial(change=says, runs=len(runs), outcome=GOES, says=f"the same in {len(runs)} runs")


def _comparisons(rate: float) -> int:
    """Return how many comparisons it takes to see a difference that shows at a rate, at a chance of 5 % to miss it."""
    least, most = _TRIED
    return min(most, max(least, math.ceil(math.log(CHANCE) / math.log1p(-rate)))) if 0.0 < rate < 1.0 else least


def _reason(document: Trace, work: Work) -> str:
    """Return the answer in a line."""
    parting = document.parting
    if parting is None:
        name = document.operator.name if document.operator else document.beyond
        return f"{name}"
    told = f"step {parting.step}: {parting.name}, {parting.kind}"
    if parting.other:
        return f"{told}: in the other run there is {parting.other}"
    if parting.elements is None:
        return f"{told}: {list(parting.shape)} {parting.dtype}; its numbers did not come again"
    by = f", by at most {parting.largest:.3g}" if parting.largest is not None else ""
    ulps = f" ({parting.ulps:,} ulp)" if parting.ulps is not None else ""
    return f"{told}: {parting.elements:,} of {parting.of:,} elements{by}{ulps}"
