"""The verdict of a night: which numbers outside their bands are more than chance among so many.

A band lets one right run in a hundred fall outside. Over a night's reproductions the share of false alarms among those that are
called wrong is held to 5 % by Benjamini and Hochberg's procedure (doi:10.1111/j.2517-6161.1995.tb02031.x) on the verdicts' p
values. Cells of one seed share weights and batches, so their p values depend on each other positively, under which the procedure
still holds (Benjamini and Yekutieli, doi:10.1214/aos/1013699998).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scipy import stats

from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.nightly.cells import REPRODUCE
from vigil.nightly.document import DONE, LEFT, cell_of
from vigil.nightly.ledger import OUTSIDE, Ledger
from vigil.references.judgement import FAILED, REPRODUCED, UNKNOWN

FALSE_ALARMS = 0.01
FALSE_DISCOVERIES = 0.05
# A wrong number is worse than one that is missing, and both are worse than one that nothing is known of.
WORST_FIRST = (EXIT_OUTSIDE, EXIT_COULD_NOT_RUN, EXIT_UNKNOWN, EXIT_REPRODUCED)


def judge_night(document: dict[str, Any], ledger: Ledger) -> dict[str, Any]:
    """Decide which cells outside their bands stand, write that into their rows, and return the night's verdict.

    A number stands without regard to the others where it has no p value, and where the last look, same release, was outside
    on the same side: twice running is no chance. A verification's limits are not drawn from a distribution: it always stands.
    """
    judged = [row for row in document["cells"] if _is_judged(row)]
    with_p = [row for row in judged if row["p_value"] is not None]
    adjusted = stats.false_discovery_control([row["p_value"] for row in with_p], method="bh") if with_p else []
    beyond = {row["key"]: bool(value <= FALSE_DISCOVERIES) for row, value in zip(with_p, adjusted, strict=True)}
    for row in document["cells"]:
        if row["status"] == DONE and row["verdict"] in OUTSIDE:
            release = document["releases"][row["context"]["framework"]].get("version")
            again = ledger.was_outside(cell_of(row), verdict=row["verdict"], release=release)
            row["stands"] = row["kind"] != REPRODUCE or beyond.get(row["key"], True) or again
    codes = [code_of(row) for row in document["cells"]] + [standing_code(each["verdict"]) for each in document["standing"]]
    counts: dict[str, int] = {}
    for row in document["cells"]:
        name = row["verdict"] if row["status"] == DONE else LEFT
        counts[name] = counts.get(name, 0) + 1
    return {
        "exit_code": worst(codes),
        "counts": counts,
        "judged": len(judged),
        "false_alarms_expected": round(FALSE_ALARMS * len(judged), 2),
        "by_chance": [row["key"] for row in document["cells"] if row["stands"] is False],
    }


def worst(codes: Iterable[int]) -> int:
    """Return the worst of exit codes, 0 for none."""
    found = {EXIT_REPRODUCED, *codes}
    return next(code for code in WORST_FIRST if code in found)


def standing_code(verdict: str) -> int:
    """Return the exit code of what an earlier night has found and nothing has changed since."""
    return EXIT_UNKNOWN if verdict == UNKNOWN else EXIT_OUTSIDE


def code_of(row: dict[str, Any]) -> int:
    """Return the exit code of one cell of a night; what is left, unsupported or a known finding is no failure."""
    name = row["verdict"]
    if row["status"] != DONE or name is None:
        return EXIT_REPRODUCED
    if name in OUTSIDE:
        return EXIT_OUTSIDE if row["stands"] else EXIT_REPRODUCED
    if name.startswith(FAILED):
        return EXIT_COULD_NOT_RUN
    return EXIT_UNKNOWN if name == UNKNOWN else EXIT_REPRODUCED


def _is_judged(row: dict[str, Any]) -> bool:
    return row["status"] == DONE and row["kind"] == REPRODUCE and row["verdict"] in (REPRODUCED, *OUTSIDE)
