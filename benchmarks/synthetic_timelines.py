"""Fill a tracking store with nights that never happened, to look at what MLflow makes of them: docs/images comes from here.

Run from the project root: python benchmarks/synthetic_timelines.py sqlite:////tmp/nights/mlflow.db [PICTURES]
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, uninstalled

from benchmarks.synthetic_history import CONTEXTS, START, synthetic_history
from vigil.documents.context import parse_context
from vigil.documents.identity import Identity
from vigil.documents.verdict import Verdict
from vigil.drift.findings import detect
from vigil.drift.timeline_tags import pooled_drifts, timeline_tags
from vigil.tracking import NightPoint, record_drift, record_night, record_night_summary
from vigil.tracking.history import History
from vigil.tracking.history_rows import SampleRow, rows_of

NIGHTS, CELLS = 30, 54
SETTLE_MILLISECONDS = 3000  # in which the rest of a page is drawn
DRIFTING, FIRST_WRONG, SIZE = range(36, 54, 2), 18, -4.0  # every cell of jax on one device, from the nineteenth night on


def night_points(history: History, night: str) -> list[NightPoint]:
    """Return what a night gave for each cell, one seed each."""
    worst = history.verifications.set_index("invocation_id")["worst_ratio"]
    rows = rows_of(history.samples[history.samples["night"] == night], SampleRow)
    return [
        NightPoint(
            recipe=Identity(name=row.recipe, version=row.recipe_version, hash=row.recipe_hash, profile=row.profile),
            context=parse_context(row.context),
            release=row.release,
            verdict=Verdict(row.verdict),
            metric=str(row.metric),
            unit=str(row.unit),
            direction=str(row.direction),
            seeds=1,
            value=row.value,
            band_low=row.band_low,
            band_high=row.band_high,
            verify_worst_ratio=float(worst[row.invocation_id]),
            reason=row.reason,
        )
        for row in rows
    ]


def fill(uri: str, *, nights: int = NIGHTS, every: int = 1, first_wrong: int = FIRST_WRONG) -> None:
    """Record every night, in order, of every so many cells; then what drifts in them."""
    whole = synthetic_history(nights, CELLS, seed=0, drifts=[(DRIFTING, first_wrong, SIZE)])
    kept = [context.text for place, context in enumerate(CONTEXTS) if place % every == 0]
    history = History(*(frame[frame["context"].isin(kept)] for frame in (whole.samples, whole.verifications)))
    for number, night in enumerate(sorted(set(history.samples["night"])), start=1):
        points, when = night_points(history, night), START + timedelta(days=number)
        record_night(uri, points, night=night, number=number, when=when)
        verdicts = Counter(point.verdict for point in points)
        with tempfile.TemporaryDirectory() as folder:
            lines = [f"# {night}", "", "| verdict | cells |", "|---|--:|", *(f"| {name} | {n} |" for name, n in verdicts.items())]
            Path(folder, "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
            record_night_summary(
                uri,
                Path(folder),
                night=night,
                number=number,
                when=when,
                seconds=1800.0,
                verdict=Verdict.REGRESSED if verdicts[Verdict.REGRESSED] else Verdict.REPRODUCED,
                verdicts=verdicts,
                releases={point.context.framework: str(point.release) for point in points},
            )
        print(f"{night}: {dict(verdicts)}", flush=True)
    report = detect(history.samples, history.verifications, reference_for=lambda cell: None)
    timelines = record_drift(uri, timeline_tags(report), pools=pooled_drifts(report))
    print(f"drift: {len(report.drifts)} findings in {timelines} timelines", flush=True)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def dashboard(uri: str) -> Iterator[list[str]]:
    """Run `vigil dashboard` on a store, and yield the addresses that it prints, in their order. It is ended by force."""
    command = [sys.executable, "-m", "vigil", "dashboard", "--port", str(free_port()), "--report-port", str(free_port())]
    environment = os.environ | {"MLFLOW_TRACKING_URI": uri}
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            addresses = []
            for line in process.stdout or ():
                if line.startswith("  http"):
                    addresses.append(line.strip())
                if "Ctrl-C" in line:
                    break
            yield addresses
        finally:
            process.kill()


def take(uri: str, directory: Path) -> None:
    """Write the pictures of the first two addresses of the dashboard."""
    from benchmarks.browser import browser

    with dashboard(uri) as addresses, browser() as (page, _):
        page.set_viewport_size({"width": 1440, "height": 900})
        drawn = {"mlflow-drift.png": ".ag-row", "mlflow-band.png": ".scatterlayer .trace"}
        for (name, element), address in zip(drawn.items(), addresses, strict=False):
            page.goto("about:blank")
            page.goto(address)
            page.locator(element).first.wait_for()
            page.wait_for_timeout(SETTLE_MILLISECONDS)
            page.screenshot(path=directory / name)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python benchmarks/synthetic_timelines.py TRACKING_URI [PICTURES]")
    fill(sys.argv[1])
    if len(sys.argv) == 3:
        take(sys.argv[1], Path(sys.argv[2]))
