"""How far a correct program may be from the floor: from the differences of clean runs, never typed in.

The floor is rounding of each intermediate once. A real program rounds inside its layers too, in an order of its own, so that a
correct one lies at some multiple of the floor. Which multiples occur is measured on clean runs: of each case the largest, over
contexts, at the golden tape's states and those of other seeds. For each state the upper prediction limit of one more context is
taken, t * s * sqrt(1 + 1/n) above the mean logarithm (the method of the bands, one-sided: Hahn and Meeker 1991,
https://doi.org/10.1002/9780470316771, section 4.7), with s pooled over the states; the largest of these is the limit. Runs at one
state share its floor and its batch, and are no independent samples of other states: that is why the tape's own are measured.
Nor are runs of one context on several processors independent: the largest of them counts.
A limit is never less than what rounding alone reaches in that tensor at the same rate of false alarms. That of a distance is
never more than what no clean run has come near: few contexts that differ much would make one that passes anything.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.digests import digest_of, read_listed
from vigil.documents.provenance import processor_of
from vigil.errors import CannotRun
from vigil.paths import reference_directory
from vigil.statistics.quantiles import student_ppf
from vigil.verify.distance import STATISTICS, Difference

# The chance that one (case, family, statistic) of a correct program lies above its limit.
FALSE_ALARMS = 1e-6
# Of what is only looked at once a tensor is out, to find its origin.
FALSE_ORIGINS = 1e-3
_LEAST_FREEDOM = 3
# No correct program is so many floors off: of 6,300 clean rows in five recipes the largest is 12.5 (a layer alone in float16).
NO_ROUNDING = 20.0

TRAJECTORY = "trajectory"

Key = tuple[str, str, str, str]
State = tuple[int, str]


def size_of(case: str) -> str:
    """Return which probe a case puts, and how it looks inside, if it does; segments are held to the limits of the whole.

    >>> size_of("late/evaluation_full"), size_of("late/full/layersx56"), size_of("early/margin/segments-2")
    ('full', 'full/layers', 'margin/tapped')
    >>> size_of("init/trajectory")
    'trajectory'
    """
    _, probe, *look = case.split("/")
    size = TRAJECTORY if probe == TRAJECTORY else "full" if probe.endswith("full") else "margin"
    if not look:
        return size
    return f"{size}/layers" if look[0].startswith("layers") else f"{size}/tapped"


@dataclasses.dataclass(frozen=True)
class Limit:
    """The largest accepted value of a statistic, and the clean values it was made from.

    certain: the same at the rate of a verdict. Larger for what is looked at inside only, where an origin is sought.
    """

    value: float
    n: int
    largest_seen: float
    certain: float


# A piece of a trajectory is held to what no correct program comes near. It needs no narrower limit: what is always wrong, other
# cases see, and what is wrong at one time is far off. Largest of 41 clean contexts of digits_mlp: 5.5 floors, in float16.
_OF_PIECES = Limit(NO_ROUNDING, 0, 0.0, NO_ROUNDING)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits by (precision, probe size, family, statistic).

    borrowed_from: another recipe whose clean runs they are from. processors: what these ran on. digests: of their files, by name.
    """

    table: Mapping[Key, Limit]
    rows: int
    borrowed_from: str | None = None
    processors: frozenset[str] = frozenset()
    digests: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def require(self, precision: str) -> None:
        """Raise CannotRun when nothing says how far a correct program of this precision may be."""
        if not any(key[0] == precision for key in self.table):
            raise _unmeasured(precision)

    def score(self, difference: Difference, precision: str, *, is_verdict: bool = False) -> float:
        """Return the largest statistic of a difference as a multiple of its limit: above 1, the tensor is out.

        Args:
            is_verdict: at the rate of false alarms of a verdict, for what is looked at inside, too.
        """
        size, name, worst = size_of(difference.case), difference.family, 0.0
        reach = difference.floor.reach(FALSE_ALARMS if is_verdict else _false_alarms(size)) if difference.floor else {}
        for statistic, value in difference.statistics().items():
            limit = _OF_PIECES if size == TRAJECTORY else self.table.get((precision, size, name, statistic))
            if limit is None:
                raise _unmeasured(f"{precision}, {name}")
            worst = max(worst, value / max(limit.certain if is_verdict else limit.value, reach.get(statistic, 0.0)))
        return worst


def computed_on(row: Mapping[str, Any]) -> str:
    """Return the processor, or the GPU, that a clean row was computed on."""
    return str(row["gpu"]) if "gpu" in row else processor_of(row["hardware"])


def summary_row(differences: Iterable[Difference], **facts: Any) -> dict[str, Any]:
    """Return the raw sample of one clean case: the largest value of each (family, statistic)."""
    largest: dict[str, dict[str, float]] = {}
    for difference in differences:
        values = largest.setdefault(difference.family, dict.fromkeys(STATISTICS, 0.0))
        for statistic, value in difference.statistics().items():
            values[statistic] = max(values[statistic], round(value, 4))
    return {**facts, "largest": largest}


def make_limits(rows: Iterable[Mapping[str, Any]]) -> Limits:
    """Return the limits of raw samples; families that a row names as `not_clean`, with the finding, are left out.

    Rows of a GPU are not among the samples, but say that these limits hold there: at one state they are too few for their own.
    """
    values: dict[Key, dict[State, dict[tuple[str, str], float]]] = {}
    count = 0
    processors = set()
    for row in rows:
        count += "gpu" not in row
        if "hardware" in row:
            processors.add(computed_on(row))
        state, asked = (row["seed"], row["case"].split("/")[0]), (row["context"], row["case"])
        for name, statistics in row["largest"].items():
            if name in row.get("not_clean", {}):
                continue
            require_rounding(statistics, row, name, where="benchmarks/false_alarms.py")
            if "gpu" in row:
                continue
            for statistic, value in statistics.items():
                key = row["precision"], size_of(row["case"]), name, statistic
                of_state = values.setdefault(key, {}).setdefault(state, {})
                of_state[asked] = max(value, of_state.get(asked, 0.0))
    samples = {key: [list(each.values()) for each in states.values()] for key, states in values.items()}
    limits = {key: _limit(states, _false_alarms(key[1])) for key, states in samples.items()}
    table = {key: _cut(limit, key[3]) for key, limit in limits.items() if limit}
    return Limits(with_tf32(table), count, processors=frozenset(processors))


def with_tf32(table: Mapping[Key, Limit]) -> dict[Key, Limit]:
    """Return limits with those of TF32, which are float16's: it keeps as many digits, and limits are in floors of its own.

    On a GPU, resnet_cifar in TF32 was at 0.69 of them at most, in six contexts (tests/verify/test_gpu_rows.py).
    """
    return {**table, **{("tf32", *key[1:]): limit for key, limit in table.items() if key[0] == "fp16"}}


def load_limits(recipe_name: str, *, model: str, directory: Path | None = None, source: str | None = None) -> Limits:
    """Return the limits from a recipe's clean runs; where it has none, from those of the recipe that its model is named after.

    Limits are in units of each tensor's own floor, so that those of a kind hold for its other sizes and data.

    Args:
        source: the file of a recipe of a user's own.
    Raises:
        DataError: A file of clean runs was altered, cut off, lost, or put there by hand.
        CannotRun: A row is no rounding.
    """
    own = directory or reference_directory(source), recipe_name
    for folder, name in (own, (directory or reference_directory(), model)):
        if limits := limits_in(folder, name, make_limits):
            return dataclasses.replace(limits, borrowed_from=name if (folder, name) != own else None)
    return Limits({}, 0)


def limits_in(folder: Path, name: str, make: Callable[[Iterable[Mapping[str, Any]]], Limits]) -> Limits | None:
    """Return the limits that are made of the clean rows of a name, with the digests of their files; None without any."""
    files = read_listed(folder / name / "verify", "clean-*.jsonl")
    if not files:
        return None
    digests = {f"{name}/verify/{file}": digest_of(content) for file, content in files.items()}
    try:
        limits = make(json.loads(line) for content in files.values() for line in content.splitlines())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotRun(
            f"{', '.join(digests)}: one of the lines is no clean row ({type(error).__name__}: {error}). "
            "Restore the file from version control."
        ) from error
    return dataclasses.replace(limits, digests=digests)


def require_rounding(statistics: Mapping[str, float], row: Mapping[str, Any], family: str, *, where: str) -> None:
    """Raise CannotRun for values of a clean row that are no rounding: a limit made of them would pass what is wrong.

    Of infinity or NaN it would be NaN, and nothing is above that.

    Args:
        where: findings of such rows are named.
    """
    if statistics["distance"] <= NO_ROUNDING and all(map(math.isfinite, statistics.values())):
        return
    off = ", ".join(f"{statistic} {value:.6g}" for statistic, value in statistics.items())
    of = f"{row['program']}, " if "program" in row else ""
    raise CannotRun(
        f"the clean row of {of}{row['context']}, {row['case']}: {family} is off ({off}), which is no rounding. "
        f"Find out what it is, then measure the context again, or name the finding in {where}: limits made from this row would "
        "pass what is wrong."
    )


def _false_alarms(size: str) -> float:
    return FALSE_ORIGINS if "/" in size else FALSE_ALARMS


def _unmeasured(what: str) -> CannotRun:
    return CannotRun(
        f"no clean runs of {what} in reference_results/: nothing says how far a correct program may be. "
        "Measure some with `python -m benchmarks.false_alarms`."
    )


def _cut(limit: Limit, statistic: str) -> Limit:
    if statistic != "distance":
        return limit
    return dataclasses.replace(limit, value=min(limit.value, NO_ROUNDING), certain=min(limit.certain, NO_ROUNDING))


def _limit(states: Sequence[Sequence[float]], false_alarms: float) -> Limit | None:
    """Return the limit from the values seen at each state; None where too few contexts share one."""
    # Nearer than half of what rounding does, how near says nothing of how far a tensor may be; tensors that do not move are at 0.
    logs = [[math.log(max(value, 0.5)) for value in values] for values in states]
    n = sum(map(len, logs))
    freedom = n - len(logs)
    if freedom < _LEAST_FREEDOM:
        return None
    means = [math.fsum(values) / len(values) for values in logs]
    within = math.fsum((x - mean) ** 2 for values, mean in zip(logs, means, strict=True) for x in values) / freedom
    spread = math.sqrt(within)

    def above(rate: float) -> float:
        width = student_ppf(1.0 - rate, freedom) * spread
        each = (mean + width * math.sqrt(1.0 + 1.0 / len(values)) for values, mean in zip(logs, means, strict=True))
        return math.exp(max(each))

    return Limit(above(false_alarms), n, max(max(values) for values in states), above(FALSE_ALARMS))
