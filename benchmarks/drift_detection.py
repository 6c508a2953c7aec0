"""How often `vigil drift` is right: planted drifts found, with the right night, and alarms on clean histories.

Nights are simulated as frames of a history and judged by the functions that judge real ones. Run from the project root:
python -m benchmarks.drift_detection --markdown docs/drift-tables.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.calibration.draws import DISTRIBUTIONS, Draw
from benchmarks.e_divisive import e_divisive
from benchmarks.simulated_nights import FIRST_NIGHT, NIGHTS, PLANS, SPREAD, VERIFICATIONS, planted, reference, simulate
from benchmarks.synthetic_history import synthetic_history
from reports.tables import markdown_table
from vigil.drift.findings import detect, judge
from vigil.drift.questions import ExaminedSeries, examine, since, size_of
from vigil.drift.series import collect
from vigil.drift.steps import STAGES, Scan, make_design, step_at

SIZES = (1.0, 2.0, 4.0)
ALPHA = 0.05


def examined(
    generator: np.random.Generator, draw: Draw, samples: pd.DataFrame, *, references: bool = True
) -> list[ExaminedSeries]:
    """Return every cell examined as if it were alone, with a reference of its own."""
    found = [examine(series, reference=reference(generator, draw) if references else None) for series in collect(samples).series]
    for each in found:
        judge([each])
    return found


def share(of: Sequence[bool] | np.ndarray) -> str:
    """Return a share in percent with the half width of its 95 % interval."""
    array = np.asarray(of, dtype=bool)
    if not len(array):
        return "-"
    value = float(array.mean())
    low, high = stats.binomtest(int(array.sum()), len(array)).proportion_ci(0.95, method="wilson")
    return f"{100.0 * value:.1f} ({100.0 * low:.1f} to {100.0 * high:.1f})"


def clean(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return alarms on clean histories of one cell, at 5 % for each question and for the three together."""
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        for plan in PLANS:
            cells = examined(generator, draw, simulate(generator, draw, plan=plan, cells=trials))
            asked = {
                question: [each.p_values[question] <= ALPHA for each in cells if question in each.p_values]
                for question in ("reference", "release", "step")
            }
            rows.append([name, plan.name, *map(share, asked.values()), share([each.p_value <= ALPHA for each in cells])])
    return ["distribution", "nights", "reference", "release", "step", "the cell (nominal: at most 5)"], rows


def whole_histories(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return how many clean histories of 100 cells have any finding, cells sharing seeds, pools included."""
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        for plan in PLANS[:2]:
            alarms, wrong = [], 0
            for _ in range(trials):
                samples = simulate(
                    generator, draw, plan=plan, cells=100, shared_seeds=True, frameworks=("jax", "tensorflow", "torch")
                )
                references = {name: reference(generator, draw) for name in samples["recipe"].unique()}
                report = detect(samples, VERIFICATIONS, reference_for=lambda cell, known=references: known[cell["recipe"]])
                alarms.append(bool(report.drifts))
                wrong += len(report.drifts)
            rows.append([name, plan.name, share(alarms), f"{wrong / trials:.3f}"])
    return ["distribution", "nights", "histories with a finding (nominal: at most 5)", "findings a history"], rows


def found(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return how often a drop from night 12 on is found, and what is said of it where it is."""
    # Among 100 cells one alone is found below 0.05 %, which needs more permutations than one by itself.
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        for plan in PLANS:
            for size in SIZES:
                samples = simulate(generator, draw, plan=plan, cells=trials, shift=planted(trials, size=size))
                cells = examined(generator, draw, samples)
                hits = [each for each in cells if each.p_value <= ALPHA and size_of(each)[0] < 0.0]
                for times in STAGES[1:]:
                    for each in hits:
                        if each.scan is not None and not each.scan.settled and each.p_value > ALPHA / 100:
                            each.scan.permute(times)
                            each.refresh()
                places = [(since(each), size_of(each)) for each in hits]
                told = [(place, interval) for place, interval in places if place.night is not None]
                rows.append(
                    [
                        name,
                        plan.name,
                        f"{size:.0f}",
                        share([each.p_value <= ALPHA for each in cells]),
                        share([each.p_value <= ALPHA / 100 for each in cells]),
                        share([place.night == FIRST_NIGHT - 1 for place, _ in places]),
                        share([place.night is not None and abs(place.night - FIRST_NIGHT + 1) <= 1 for place, _ in places]),
                        share([place.low <= FIRST_NIGHT - 1 <= place.high for place, _ in told]),
                        share([low <= -size * SPREAD <= high for _, (_, low, high) in told]),
                    ]
                )
    header = ["distribution", "nights", "drop, sd", "found", "found among 100 cells", "right night", "within one night"]
    return [*header, "interval holds the night (90)", "interval holds the size (95)"], rows


def methods(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return how often each method finds a drop that few nights of 20 have, independent values, at 5 %."""
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        for after, size in ((9, 0.0), (2, 3.0), (3, 3.0), (5, 2.0), (9, 1.0), (9, 2.0)):
            values = draw(generator, (trials, NIGHTS)) + planted(trials, size=size, first=NIGHTS - after + 1)
            seeds = np.arange(NIGHTS)
            design = make_design(seeds, np.arange(2, NIGHTS - 1))
            ratio = []
            for row in values:
                scan = Scan(row, design, 0.0)
                scan.permute(199)
                ratio.append(scan.p_value <= ALPHA)
            energy = [e_divisive(row, generator) <= ALPHA for row in values]
            direct = [step_at(row, seeds, NIGHTS - after).p_value <= ALPHA for row in values]
            rows.append([name, str(after), f"{size:.0f}", share(ratio), share(energy), share(direct)])
    header = ["distribution", "nights after", "drop, sd", "likelihood ratio, permuted", "E-divisive, permuted"]
    return [*header, "t-test at the known release"], rows


def lengths(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return what the scan sees in short series whose second half is 3 standard deviations lower."""
    rows = []
    for number in (6, 8, 10, 14, 20):
        values = DISTRIBUTIONS["Gaussian"](generator, (trials, number))
        values += planted(trials, size=3.0, first=number // 2 + 1, nights=number)
        cells = []
        for seeds in (np.arange(number), np.arange(number) % 2, np.arange(number) % 4):
            design, p_values = make_design(seeds, np.arange(2, number - 1)), []
            for row in values:
                scan = Scan(row, design, 0.0)
                scan.permute(999)
                p_values.append(scan.p_value)
            cells += [share(np.array(p_values) <= ALPHA), share(np.array(p_values) <= ALPHA / 25)]
        rows.append([str(number), *cells])
    kinds = ("each seed once", "2 seeds", "4 seeds")
    return ["values", *(f"{kind}, at {level} %" for kind in kinds for level in ("5", "0.2"))], rows


def slow(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return how often a drift that grows a little each night is found, and by which question."""
    rows, plan = [], PLANS[2]
    for a_night in (0.05, 0.1, 0.2):
        ramp = np.tile(-a_night * np.arange(NIGHTS), (trials, 1))
        draw = DISTRIBUTIONS["Gaussian"]
        cells = examined(generator, draw, simulate(generator, draw, plan=plan, cells=trials, shift=ramp))
        asked = [[each.p_values.get(name, 1.0) <= ALPHA for each in cells] for name in ("reference", "release", "step")]
        rows.append([f"{a_night:.2f}", *map(share, asked), share([each.p_value <= ALPHA for each in cells])])
    return ["sd a night", "reference", "release", "step", "the cell"], rows


def together(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return what pooling adds: 36 cells, those of one framework a little lower from night 12 on, cells sharing seeds."""
    rows, plan, draw = [], PLANS[0], DISTRIBUTIONS["Gaussian"]
    frameworks = ("jax", "tensorflow", "torch")
    for kind, size in (("all of jax", 0.5), ("all of jax", 1.0), ("only jax, jit", 2.0), ("every framework", 1.0)):
        pools, some, right = [], [], []
        for _ in range(trials):
            samples = simulate(generator, draw, plan=plan, cells=36, shared_seeds=True, frameworks=frameworks)
            hit = np.array(samples["night"] >= f"night-{FIRST_NIGHT:03d}")
            if kind != "every framework":
                hit &= (samples["framework"] == "jax").to_numpy()
            if kind == "only jax, jit":
                hit &= (samples["mode"] == "jit").to_numpy()
            samples["value"] -= SPREAD * size * hit
            references = {name: reference(generator, draw) for name in samples["recipe"].unique()}
            report = detect(samples, VERIFICATIONS, reference_for=lambda cell, known=references: known[cell["recipe"]])
            wanted = "every framework" if kind == "every framework" else "jax"
            pools.append(any(each.siblings is None and each.cell["framework"] == wanted for each in report.drifts))
            hits = [each for each in report.drifts if each.siblings is not None and each.what == "dropped"]
            some.append(bool(hits))
            words = {"all of jax": "all of jax", "only jax, jit": "only jit", "every framework": "look at the machine"}[kind]
            right += [words in each.siblings.summary for each in hits]
        rows.append([kind, f"{size:.1f}", share(pools), share(some), share(right)])
    return ["who drops", "sd", "the pool is found", "some cell is found", "found cells name their siblings rightly"], rows


def scale(generator: np.random.Generator, trials: int) -> tuple[list[str], list[list[str]]]:
    """Return what is found in 100 nights of 500 cells with 16 seeds in turn, and what that costs."""
    rows = []
    for planted_cells in (0, 1, 18, 500):
        found, others, seconds = 0, 0, []
        for seed in generator.integers(2**31, size=trials).tolist():
            drifts = [(range(planted_cells), 80, -2.0)] if planted_cells else []
            history = synthetic_history(100, 500, seed=seed, drifts=drifts)
            labels = list(dict.fromkeys(zip(history.samples["recipe"], history.samples["context"], strict=True)))[:planted_cells]
            started = time.process_time()
            report = detect(history.samples, history.verifications, reference_for=lambda cell: None)
            seconds.append(time.process_time() - started)
            cells = [(each.cell["recipe"], each.cell["context"]) for each in report.drifts if each.siblings is not None]
            found += len(set(cells) & set(labels))
            others += len(set(cells) - set(labels))
        rows.append([str(planted_cells), f"{found / trials:.1f}", f"{others / trials:.1f}", f"{max(seconds):.1f}"])
    return ["cells that drop by 2 sd from night 81 on", "of them found", "others found", "CPU seconds, the slowest"], rows


TABLES: dict[str, tuple[Callable[..., tuple[list[str], list[list[str]]]], int, str]] = {
    "Alarms on clean cells": (clean, 2000, "Share in % of clean histories of one cell, 20 nights, with its 95 % interval."),
    "Alarms on clean histories": (
        whole_histories,
        60,
        "100 cells that share seeds, and their pools, judged at a false discovery rate of 5 %.",
    ),
    "A drop from night 12 of 20": (
        found,
        400,
        "Found at 5 % as the only cell, and at 0.05 % as the only one of 100 that drifts.\nThe rest is of those found at 5 %.",
    ),
    "Which method for the step": (
        methods,
        400,
        "20 independent values, 199 permutations, at 5 %; a drop of 0 is a false alarm.",
    ),
    "How long a series must be": (
        lengths,
        500,
        "A drop of 3 sd in the second half, found by the scan at a p-value of 5 % and of 0.2 %.",
    ),
    "A slow drift": (slow, 300, "A release each night, each a little lower."),
    "Pools and siblings": (together, 60, "36 cells of three frameworks, judged together."),
    "100 nights of 500 cells": (scale, 5, "Means over histories made by benchmarks/synthetic_history.py, without a reference."),
}


def page(*, seed: int, share_of_trials: float, command: str, say: Callable[[str], None]) -> str:
    """Return every table in Markdown."""
    lines = [
        "# Drift: what is found, and how often it is wrong",
        "",
        f"Made by `{command}`; what it means: [drift.md](drift.md).",
        "",
    ]
    for number, (title, (make, trials, note)) in enumerate(TABLES.items()):
        started = time.perf_counter()
        count = max(min(10, trials), round(trials * share_of_trials))
        header, rows = make(np.random.default_rng([seed, number]), count)
        lines += [f"## {title}", "", f"{note}\n{count} trials a row.", "", *markdown_table(header, rows), ""]
        say(f"{title}: {time.perf_counter() - started:.0f} s")
        for row in rows:
            say("  " + " | ".join(row))
    return "\n".join(lines)


def main(given: Sequence[str]) -> int:
    """Print the tables, and write them to a file if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift_detection", description=__doc__)
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the trials (default: 1)")
    parser.add_argument("--seed", type=int, default=20)
    arguments = parser.parse_args(given)

    def say(line: Any) -> None:
        print(line, file=sys.stderr, flush=True)

    command = " ".join(["python -m benchmarks.drift_detection", *given])
    text = page(seed=arguments.seed, share_of_trials=arguments.scale, command=command, say=say)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
