"""How long a report takes: `python -m benchmarks.report_time --nights 100 --cells 500`, without the reading of MLflow.

The history is made up (benchmarks/synthetic_history.py). The newest runs of every cell have a record of 1,200 losses on disk, as
the runs of a quick profile have.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import numpy as np

from benchmarks.browser import browser, find_chromium
from benchmarks.synthetic_history import synthetic_history
from reports.site.pages import write_site
from reports.site.sources import gather
from vigil.paths import reference_directory
from vigil.process.environment import describe_machine
from vigil.tracking.history import History

RECORDS, STEPS, PAGES = 4, 1200, 20


def main() -> None:
    """Print one line of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=100)
    parser.add_argument("--cells", type=int, default=500)
    arguments = parser.parse_args()
    history = synthetic_history(arguments.nights, arguments.cells, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        runs, out = Path(folder) / "runs", Path(folder) / "out"
        _write_records(history, runs)
        wall, cpu = time.perf_counter(), time.process_time()
        now = history.samples["created"].max().to_pydatetime() + timedelta(hours=1)
        sources = gather(history, runs=runs, references=reference_directory(), now=now)
        written = write_site(sources, out)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 10**6
        shown = _slowest_page(sorted((out / "cells").glob("*.html"))) if find_chromium() else "no Chromium"
    print(
        f"| {arguments.nights} nights x {arguments.cells} cells | {len(history.samples) + len(history.verifications):,} rows | "
        f"{written.pages} pages, {size:.1f} MB | {cpu:.1f} s of one core, {wall:.1f} s by the clock | "
        f"{shown} | {describe_machine()['hardware']} |"
    )


def _slowest_page(pages: list[Path]) -> str:
    """Return the median and the longest time until the pages of some cells are loaded, in words."""
    seconds = []
    with browser() as (page, errors):
        for path in [pages[0], *pages[:: max(1, len(pages) // PAGES)]]:  # the first of all warms the browser
            page.goto(path.as_uri(), wait_until="load")
            seconds.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000.0)
    if errors:
        raise SystemExit("\n".join(errors))
    return f"{len(seconds) - 1} cell pages in Chromium: {np.median(seconds[1:]):.2f} s, {max(seconds[1:]):.2f} s at most"


def _write_records(history: History, runs: Path) -> None:
    draws = np.random.default_rng(2)
    newest = history.samples.groupby(["recipe", "profile", "context"]).tail(RECORDS)
    for invocation, run in zip(newest["invocation_id"], newest["run_id"], strict=True):
        place = runs / invocation / run.removeprefix(f"{invocation}-")
        place.mkdir(parents=True)
        losses = (0.5 + 2.0 * np.exp(-np.arange(STEPS) / 200) + draws.normal(0.0, 0.1, STEPS)).tolist()
        (place / "record.json").write_text(json.dumps({"run_id": run, "losses": losses}), encoding="utf-8")


if __name__ == "__main__":
    main()
