"""How far a correct operator may be from its floors: from clean runs of operators that were written twice, never typed in.

Of each operator the largest distance over all its trials is taken, and the limit is the upper prediction limit of one more
operator, as for steps (`vigil.steps.limits`). A tensor of a few numbers reaches farther by chance than a large one: by how much
says the F distribution, of the squared distance of one more call over the mean of those of the draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import scipy

from vigil.documents.provenance import processor_of
from vigil.errors import CannotRun
from vigil.paths import reference_directory
from vigil.steps.limits import table_of
from vigil.verify.limits import Key, Limits, limits_in, require_rounding

NAME = "own_operators"  # of the folder with clean rows
# How much operators differ is pooled over precisions: few of the clean ones compute in a low one, as users' may.
ALL, SIZE, STATISTIC = "all", "operator", "distance"
FAMILIES = ("outputs", "gradients")
DRAWS = 8
_RATE = 1e-6  # of one tensor; a verification asks for a thousand
_FREEDOMS = [2.0**power for power in range(13)]


def reach() -> tuple[tuple[float, float], ...]:
    """Return by how much the limit of a tensor of so many degrees of freedom is wider than that of a large one.

    >>> table = dict(reach())
    >>> table[4096.0], round(table[1.0], 1) > 10
    (1.0, True)
    """
    reached = [math.sqrt(float(scipy.stats.f.isf(_RATE, freedom, freedom * DRAWS))) for freedom in _FREEDOMS]
    return tuple((freedom, each / reached[-1]) for freedom, each in zip(_FREEDOMS, reached, strict=True))


def operator_limits() -> Limits:
    """Return the limits of users' operators.

    Raises:
        DataError: A file of clean rows was altered, cut off, lost, or put there by hand.
        CannotRun: A row is no rounding, or none.
    """
    limits = limits_in(reference_directory(), NAME, limits_of)
    if limits is None:
        raise CannotRun(
            f"no clean runs in reference_results/{NAME}/: nothing says how far a correct operator may be. "
            "Measure some with `python -m benchmarks.own_operators measure`."
        )
    return limits


def limits_of(rows: Iterable[Mapping[str, Any]]) -> Limits:
    """Return the limits of clean rows."""
    values: dict[Key, dict[str, float]] = {}
    count, processors = 0, set()
    for row in rows:
        count += 1
        processors.add(processor_of(row["hardware"]))
        for family, value in row["largest"].items():
            require_rounding({STATISTIC: value}, row, family, where="benchmarks/own_operators")
            of_programs = values.setdefault((ALL, SIZE, f"{row['precision']} {family}", STATISTIC), {})
            of_programs[row["program"]] = max(value, of_programs.get(row["program"], 0.0))
    return Limits(table_of({key: list(each.values()) for key, each in values.items()}), count, processors=frozenset(processors))


def limit_of(limits: Limits, precision: str, family: str) -> float:
    """Return how many floors a large tensor may be off. Raises CannotRun where no clean row says so."""
    limit = limits.table.get((ALL, SIZE, f"{precision} {family}", STATISTIC))
    if limit is None:
        raise CannotRun(
            f"no clean runs of operators' {family} in {precision}: nothing says how far a correct one may be. "
            "Measure some with `python -m benchmarks.own_operators measure`."
        )
    return limit.value


def plain_limits(limits: Limits, precisions: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return them as a runner takes them: by precision and family. Raises CannotRun for a precision without clean rows."""
    return {precision: {family: limit_of(limits, precision, family) for family in FAMILIES} for precision in precisions}
