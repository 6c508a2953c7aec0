"""How much the report's rows depend on the numbers that join cells to causes: `python -m benchmarks.cause_settings`.

Histories are made up (benchmarks/synthetic_history.py): 24 nights of 108 cells, in which one release breaks a precision of one
framework, another a recipe of another framework, and a third a single cell. Each number is moved over a range, the others stay.
A planted cause is told right where one row has nine in ten of its cells.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.synthetic_history import CONTEXTS, synthetic_history
from reports.site import answer, causes
from reports.site.cell_drift import drifts_of
from reports.site.cell_results import results_of
from reports.site.sources import Sources
from reports.site.standing import cells_of
from reports.tables import markdown_table
from vigil.tracking.history import History

NIGHTS, CELLS = 24, 108
SIZES = (-3.0, -4.0, -5.0)  # standard deviations of a run
SHARES = (1.0, 0.8)  # of the cells of a description that are broken
RANGES = {"_MOST_OF": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), "_LATE": (0, 1, 2, 3, 4, 6)}
ODD = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
BROKEN = (2, 4, 8, 12)  # cells of a framework's 36 that one night puts 3 standard deviations lower


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=12, help="of each size and share (default: 12)")
    histories = parser.parse_args().histories
    for name, values in RANGES.items():
        rows = []
        for share in SHARES:
            for size in SIZES:
                found = [told(share=share, size=size, seed=seed, name=name, values=values) for seed in range(histories)]
                means = np.mean(found, axis=0)
                rows.append([f"{share:.0%}", f"{-size:g}", *(f"{right:.0%}, {rows:.1f}" for right, rows in means)])
        print(f"\n{name}: planted causes told right, rows beside the three\n")
        print("\n".join(markdown_table(["broken", "sd", *map(str, values)], rows)))
    print("\n_ODD: nights of a framework told as wrong by their numbers alone\n")
    print("\n".join(markdown_table(["broken cells of 36", *(f"{value:g}" for value in ODD)], nights_told(histories))))


def told(*, share: float, size: float, seed: int, name: str, values: Sequence[float]) -> list[tuple[float, float]]:
    """Return, for each value of a number, the share of planted causes that are told right, and how many rows are beside them."""
    planted = _planted(share, np.random.default_rng(1000 + seed))
    nights = (15, 20, 18)
    drifts = [(group, night, size) for group, night in zip(planted, nights, strict=True)]
    history = synthetic_history(NIGHTS, CELLS, seed=seed, drifts=drifts)
    sources, cells = _read(history)
    drifting = drifts_of(sources)
    columns = (history.samples[name] for name in ("recipe", "profile", "context"))
    keys = list(dict.fromkeys(zip(*columns, strict=True)))
    scores = []
    for value in values:
        with mock.patch.object(causes, name, value):
            rows = [set(cause.keys) for cause in causes.causes_of(sources, cells, drifting).causes]
        groups = [{keys[cell] for cell in group} for group in planted]
        right = [any(len(row & group) >= 0.9 * len(group) and row <= group for row in rows) for group in groups]
        scores.append((float(np.mean(right)), len(rows) - len(groups)))
    return scores


def nights_told(histories: int) -> list[list[str]]:
    """Return how many nights the strip of a framework shows as wrong: of clean ones, and of those with so many broken cells."""
    clean: list[tuple[int, int]] = []
    broken: dict[int, list[tuple[int, int]]] = {count: [] for count in BROKEN}
    framework = [index for index in range(CELLS) if CONTEXTS[index % len(CONTEXTS)].framework == "torch"]
    for seed in range(histories):
        clean += _outside(synthetic_history(NIGHTS, CELLS, seed=seed), framework)
        for count, nights in broken.items():
            chosen = np.random.default_rng(seed).choice(framework, size=count, replace=False).tolist()
            nights += _outside(synthetic_history(NIGHTS, CELLS, seed=seed, drifts=[(chosen, 0, -3.0)]), framework)
    rows = []
    for count, nights in ((0, clean), *broken.items()):
        shares = [np.mean([answer.is_odd(outside, judged, least=value) for outside, judged in nights]) for value in ODD]
        rows.append([str(count), *(f"{share:.1%}" for share in shares)])
    return rows


def _outside(history: History, cells: Sequence[int]) -> list[tuple[int, int]]:
    """Return, night by night, how many numbers of some cells lie outside their bands, and of how many."""
    verdicts = history.samples["verdict"].to_numpy().reshape(NIGHTS, CELLS)[:, list(cells)]
    return [(int((night != "reproduced").sum()), len(night)) for night in verdicts]


def _planted(share: float, draw: np.random.Generator) -> list[list[int]]:
    """Return the cells of three causes, each with a share of the cells that answer to its description."""
    kinds = [CONTEXTS[index % len(CONTEXTS)] for index in range(CELLS)]
    precision = [index for index, kind in enumerate(kinds) if kind.framework == "torch" and kind.precision == "bf16"]
    recipe = [index for index, kind in enumerate(kinds) if kind.framework == "tensorflow" and index // len(CONTEXTS) == 1]
    groups = [draw.choice(group, size=round(share * len(group)), replace=False).tolist() for group in (precision, recipe)]
    return [*groups, [next(index for index, kind in enumerate(kinds) if kind.framework == "jax" and index > len(CONTEXTS))]]


def _read(history: History) -> tuple[Sources, dict[causes.Key, causes.ReportedCell]]:
    now = history.samples["created"].max().to_pydatetime() + timedelta(hours=1)
    sources = Sources(history, {}, {}, Path("no-runs"), now, night_id=f"night{NIGHTS - 1:03d}")
    return sources, cells_of(sources, results_of(history.samples, history.verifications))


if __name__ == "__main__":
    main()
