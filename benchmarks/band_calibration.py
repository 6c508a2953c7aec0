"""How often a verdict is wrong: measured false-alarm rates and powers of every rule that decides, beside the nominal ones.

Draws references and new runs from known distributions, judges them by the functions that judge real runs, and prints
Markdown tables. Run from the project root: python -m benchmarks.band_calibration [--markdown FILE]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import scipy

from benchmarks.calibration import committed, frameworks, in_turn, one_side, sweeps, two_sides
from benchmarks.calibration.draws import N_TRIALS, Table, percent
from reports.tables import markdown_table
from vigil.process.environment import describe_machine

SEED = 20240612
TABLES = (
    one_side.false_alarms_and_power,
    one_side.detectable,
    one_side.floors,
    one_side.unequal_spreads,
    frameworks.alternatives,
    frameworks.calibration,
    frameworks.scatter,
    committed.bands,
    two_sides.false_alarms,
    two_sides.power,
    two_sides.unequal_numbers,
    in_turn.until_decided,
    in_turn.effect_in_units,
    in_turn.peeking,
    sweeps.discoveries,
)


def summary(tables: Sequence[Table]) -> list[str]:
    """Return, as Markdown, how many of a method's rates are within 20 % of nominal, and every one that is not."""
    rates = [rate for table in tables for rate in table.rates]
    rows = []
    for method in dict.fromkeys(rate.method for rate in rates):
        own = [rate for rate in rates if rate.method == method]
        words = "at most " if all(rate.is_bound for rate in own) else ""
        nominal = f"{words}{percent(own[0].nominal)}"
        extremes = f"{percent(min(rate.actual for rate in own))} to {percent(max(rate.actual for rate in own))}"
        rows.append([method, nominal, extremes, f"{sum(rate.is_near for rate in own)} of {len(own)}"])
    lines = ["## Nominal and actual", ""]
    lines += markdown_table(["method", "nominal, %", "actual, %", "within 20 % of nominal, or below a bound"], rows)
    far = [[rate.method, rate.case, percent(rate.nominal), percent(rate.actual)] for rate in rates if not rate.is_near]
    lines += ["", "### Where it is not within 20 %", ""]
    return [*lines, *(markdown_table(["method", "case", "nominal, %", "actual, %"], far) if far else ["Nowhere."])]


def page(tables: Sequence[Table], *, seconds: float) -> str:
    """Return the page: what was measured with what, the summary, and every table."""
    error = 100.0 * 1.96 * np.sqrt(0.01 * 0.99 / N_TRIALS)
    versions = f"Python {sys.version.split()[0]}, numpy {np.__version__}, scipy {scipy.__version__}"
    made = (
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {describe_machine()['hardware']}; {versions}; generator seed {SEED}; "
        f"{seconds:.0f} s of one core."
    )
    lines = [
        "# Statistics: the tables",
        "",
        "Made by `python -m benchmarks.band_calibration --markdown docs/statistics-tables.md`; [statistics.md](statistics.md) "
        "says what they mean.",
        "",
        f"{N_TRIALS:,} trials a cell, half as many for runs in turn, a quarter for sweeps: a measured 1 % is "
        f"known to +- {error:.2f} points (95 %).",
        "",
        made,
        "",
        *summary(tables),
    ]
    for table in tables:
        lines += ["", f"## {table.title}", "", *markdown_table(table.header, table.rows)]
        lines += ["", table.note] if table.note else []
    return "\n".join(lines) + "\n"


def main(given: Sequence[str]) -> int:
    """Make every table, print the page, and write it where asked to."""
    parser = argparse.ArgumentParser(description="Measure false-alarm rates and powers of the rules that decide.")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page there, too")
    output = parser.parse_args(given).markdown
    started, tables = time.process_time(), []
    for number, make in enumerate(TABLES):
        # A generator each: a table that is changed moves no other.
        tables.append(make(np.random.default_rng([SEED, number])))
        print(
            f"[{number + 1}/{len(TABLES)}] {tables[-1].title} ({time.process_time() - started:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
    text = page(tables, seconds=time.process_time() - started)
    print(text, end="")
    if output:
        output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
