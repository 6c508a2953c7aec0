"""How far a correct program of a user's may be from its floors: from clean runs of programs of many shapes, never typed in.

A recipe's limits are of states that are known. A user's program is a new one: what counts is how much programs differ. So of each
program the largest value over its states, cases and contexts is taken, and the limit is the upper prediction limit of one more
program, t * s * sqrt(1 + 1/n) above the mean logarithm (Hahn and Meeker 1991,
https://doi.org/10.1002/9780470316771, section 4.7).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy

from vigil.digests import digest_of, read_listed
from vigil.documents.provenance import processor_of
from vigil.errors import CannotRun
from vigil.paths import reference_directory
from vigil.verify.limits import NO_ROUNDING, Key, Limit, Limits, size_of

NAME = "own_steps"  # of the folder with clean rows, as if all users' programs were one recipe
# The chance that a tensor family of a correct program lies above its limit in one statistic; smaller for a verdict than for what
# is looked at inside, once something is out.
FALSE_ALARMS, FALSE_ORIGINS = 1e-5, 1e-3
_LEAST_PROGRAMS = 3
_LEAST = 0.5  # nearer than half of what rounding does, how near says nothing of how far a program may be


def step_limits() -> Limits:
    """Return the limits of users' programs.

    Raises:
        DataError: A file of clean rows was altered, cut off, lost, or put there by hand.
        CannotRun: A row is no rounding, or none.
    """
    files = read_listed(reference_directory() / NAME / "verify", "clean-*.jsonl")
    digests = {f"{NAME}/verify/{file}": digest_of(content) for file, content in files.items()}
    try:
        rows = [json.loads(line) for content in files.values() for line in content.splitlines()]
        limits = limits_of(rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotRun(
            f"{', '.join(digests)}: one of the lines is no clean row ({type(error).__name__}: {error}). "
            "Restore the file from version control."
        ) from error
    return dataclasses.replace(limits, digests=digests)


def limits_of(rows: Iterable[Mapping[str, Any]]) -> Limits:
    """Return the limits of clean rows; families that a row names as `not_clean`, with the finding, are left out."""
    values: dict[Key, dict[str, float]] = {}
    count, processors = 0, set()
    for row in rows:
        count += 1
        processors.add(processor_of(row["hardware"]))
        for family, statistics in row["largest"].items():
            if family in row.get("not_clean", {}):
                continue
            if not statistics["distance"] <= NO_ROUNDING or not all(map(math.isfinite, statistics.values())):
                off = ", ".join(f"{statistic} {value:.6g}" for statistic, value in statistics.items())
                raise CannotRun(
                    f"the clean row of {row['program']}, {row['context']}, {row['case']}: {family} is off ({off}), which is no "
                    "rounding. Find out what it is, or name the finding in benchmarks/own_steps: limits made from this row would "
                    "pass what is wrong."
                )
            for statistic, value in statistics.items():
                of_programs = values.setdefault((row["precision"], size_of(row["case"]), family, statistic), {})
                of_programs[row["program"]] = max(value, of_programs.get(row["program"], 0.0))
    table = {key: limit for key, found in values.items() if (limit := _limit(key, list(found.values())))}
    # What is inside was looked at in float32 alone; a limit is in floors of the precision's own.
    for precision in {key[0] for key in table}:
        table |= {(precision, *key[1:]): limit for key, limit in table.items() if key[0] == "fp32" and "/" in key[1]}
    return Limits(table, count, processors=frozenset(processors))


def _limit(key: Key, values: list[float]) -> Limit | None:
    """Return the limit from the largest value of each program; None where too few have such a family."""
    if len(values) < _LEAST_PROGRAMS:
        return None
    logs, n = np.log(np.maximum(values, _LEAST)), len(values)

    def above(rate: float) -> float:
        width = float(scipy.stats.t.ppf(1.0 - rate, n - 1)) * float(logs.std(ddof=1))
        limit = max(*values, math.exp(float(logs.mean()) + width * math.sqrt(1.0 + 1.0 / n)))
        return min(limit, NO_ROUNDING) if key[3] == "distance" else limit

    is_inside = "/" in key[1]
    return Limit(above(FALSE_ORIGINS if is_inside else FALSE_ALARMS), n, max(values), above(FALSE_ALARMS))
