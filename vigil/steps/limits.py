"""How far a correct program of a user's may be from its floors: from clean runs of programs of many shapes, never typed in.

A recipe's limits are of states that are known. A user's program is a new one: what counts is how much programs differ. So of each
program the largest value over its states, cases and contexts is taken, and the limit is the upper prediction limit of one more
program, t * s * sqrt(1 + 1/n) above the mean, with s pooled over families (Hahn and Meeker 1991,
https://doi.org/10.1002/9780470316771, section 4.7): of logarithms of distances, and of scores of slopes and intercepts.
How many deviations a slope is off says little where the deviation is from six draws: the score is that of a normal distribution
which chance exceeds as often as Student's t of so many draws exceeds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from runners.contract.steps import frame
from vigil.errors import CannotRun
from vigil.paths import reference_directory
from vigil.statistics.quantiles import normal_isf, student_ppf, student_sf
from vigil.verify.distance import Difference
from vigil.verify.limits import NO_ROUNDING, Key, Limit, Limits, computed_on, limits_in, require_rounding, size_of, with_tf32

NAME = "own_steps"  # of the folder with clean rows, as if all users' programs were one recipe
# The chance that a family of tensors of a correct program lies above its limit in one statistic; larger for what is looked at
# inside, once something is out.
FALSE_ALARMS, FALSE_ORIGINS = 1e-5, 1e-3
_LEAST_PROGRAMS = 3
_LEAST = 0.5  # nearer than half of what rounding does, how near says nothing of how far a program may be
DRAWS, FEW_DRAWS = 12, 6
_MOST = 37.0  # of a normal distribution; beyond, a chance is no float


def draws_of(case: str, family: str) -> int:
    """Return of how many draws the floor of a tensor is made: `step/step`, `gradients` of 12."""
    return FEW_DRAWS if case.split("/")[0] in (frame.STEPS, frame.PARTS) or family in ("params", "optimizer") else DRAWS


def normal_score(deviations: float, draws: int) -> float:
    """Return the score that chance exceeds as often as so many deviations, which were estimated from draws.

    >>> round(normal_score(9.0, 12), 2), round(normal_score(9.0, 6), 2), normal_score(float("inf"), 12)
    (4.74, 3.63, inf)
    """
    if math.isinf(deviations):
        return math.inf
    return min(normal_isf(student_sf(deviations, draws - 1)), _MOST)


def step_limits() -> Limits:
    """Return the limits of users' programs.

    Raises:
        DataError: A file of clean rows was altered, cut off, lost, or put there by hand.
        CannotRun: A row is no rounding, or none.
    """
    return limits_in(reference_directory(), NAME, limits_of) or Limits({}, 0)


def scores_of(row: Mapping[str, Any], family: str) -> dict[str, float]:
    """Return the statistics of a family in a clean row: the distance, and scores of slope and intercept."""
    statistics, draws = row["largest"][family], draws_of(row["case"], family)
    scores = {name: normal_score(statistics[name], draws) for name in ("slope", "intercept")}
    return {"distance": statistics["distance"], **scores}


def limits_of(rows: Iterable[Mapping[str, Any]]) -> Limits:
    """Return the limits of clean rows; families that a row names as `not_clean`, with the finding, are left out.

    Rows of a GPU are not among the samples, as in `verify.limits`.
    """
    values: dict[Key, dict[str, float]] = {}
    count, processors = 0, set()
    for row in rows:
        count += "gpu" not in row
        processors.add(computed_on(row))
        for family in row["largest"]:
            if family in row.get("not_clean", {}):
                continue
            statistics = scores_of(row, family)
            require_rounding(statistics, row, family, where="benchmarks/own_steps/measure.py")
            if "gpu" in row:
                continue
            for statistic, value in statistics.items():
                of_programs = values.setdefault((row["precision"], size_of(row["case"]), family, statistic), {})
                of_programs[row["program"]] = max(value, of_programs.get(row["program"], 0.0))
    table = table_of({key: list(found.values()) for key, found in values.items()})
    # What is inside was looked at in float32 alone; a limit is in floors of the precision's own.
    for precision in {key[0] for key in table}:
        table |= {(precision, *key[1:]): limit for key, limit in table.items() if key[0] == "fp32" and "/" in key[1]}
    return Limits(with_tf32(table), count, processors=frozenset(processors))


def table_of(values: Mapping[Key, list[float]]) -> dict[Key, Limit]:
    """Return the limits from the largest value of each program, by what it is of."""
    table: dict[Key, Limit] = {}
    for group in {(precision, size, statistic) for precision, size, _, statistic in values}:
        of_group = {key: _scaled(key, each) for key, each in values.items() if (key[0], key[1], key[3]) == group}
        freedom = sum(len(each) - 1 for each in of_group.values())
        if freedom < _LEAST_PROGRAMS - 1:
            continue
        within = sum(float(((each - each.mean()) ** 2).sum()) for each in of_group.values())
        spread = math.sqrt(within / freedom)
        table |= {key: _limit(key, each, spread=spread, freedom=freedom) for key, each in of_group.items()}
    return table


def _scaled(key: Key, values: list[float]) -> np.ndarray:
    return np.log(np.maximum(values, _LEAST)) if key[3] == "distance" else np.array(values)


def _limit(key: Key, values: np.ndarray, *, spread: float, freedom: int) -> Limit:
    """Return the limit from the largest value of each program; that of a distance is never one that no rounding comes near."""

    def above(rate: float) -> float:
        width = student_ppf(1.0 - rate, freedom) * spread
        limit = max(float(values.max()), float(values.mean()) + width * math.sqrt(1.0 + 1.0 / len(values)))
        return min(math.exp(limit), NO_ROUNDING) if key[3] == "distance" else limit

    is_inside = "/" in key[1]
    largest = float(np.exp(values.max()) if key[3] == "distance" else values.max())
    return Limit(above(FALSE_ORIGINS if is_inside else FALSE_ALARMS), len(values), largest, above(FALSE_ALARMS))


def require(limits: Limits, precision: str) -> None:
    """Raise CannotRun when nothing says how far a correct program of this precision may be."""
    if not any(key[0] == precision for key in limits.table):
        raise _unmeasured(precision)


def _unmeasured(what: str) -> CannotRun:
    return CannotRun(
        f"no clean runs of {what} in reference_results/{NAME}/: nothing says how far a correct program may be. "
        "Measure some with `python -m benchmarks.own_steps measure`."
    )


def distance_limit(difference: Difference, limits: Limits, precision: str) -> float:
    """Return how far from what is expected a tensor may be, in the tensor's own numbers.

    Raises CannotRun where no clean program has had such a tensor.
    """
    size, floor = size_of(difference.case), difference.floor
    limit = limits.table.get((precision, size, difference.family, "distance"))
    if limit is None or floor is None:
        raise _unmeasured(f"{precision}, {difference.family}")
    return floor.distance * max(limit.value, floor.reach(FALSE_ORIGINS if "/" in size else FALSE_ALARMS)["distance"])


def score_of(difference: Difference, limits: Limits, precision: str) -> float:
    """Return the largest statistic of a difference as a multiple of its limit: above 1, the tensor is out.

    A limit is never less than what rounding alone reaches in that tensor at the same rate of false alarms.

    Raises CannotRun where no clean program has had such a tensor.
    """
    if difference.problem or difference.floor is None:
        return math.inf
    size, floor = size_of(difference.case), difference.floor
    rate = FALSE_ORIGINS if "/" in size else FALSE_ALARMS
    values = {
        "distance": difference.ratio,
        "slope": normal_score(difference.slope_z, floor.draws),
        "intercept": normal_score(difference.intercept_z, floor.draws),
    }
    reach = {"distance": floor.reach(rate)["distance"], "slope": normal_isf(rate / 2)}
    reach["intercept"] = reach["slope"]
    worst = 0.0
    for statistic, value in values.items():
        limit = limits.table.get((precision, size, difference.family, statistic))
        if limit is None:
            raise _unmeasured(f"{precision}, {difference.family}")
        worst = max(worst, value / max(limit.value, reach[statistic]))
    return worst
