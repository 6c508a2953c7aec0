"""Fill a tracking store with nights that never happened, to look at what MLflow makes of them: docs/images comes from here.

Run from the project root: python benchmarks/synthetic_timelines.py sqlite:////tmp/nights/mlflow.db
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, uninstalled

from benchmarks.synthetic_history import START, synthetic_history
from vigil.tracking import NightPoint, record_night, record_night_summary
from vigil.tracking.history import History

NIGHTS, CELLS = 30, 54
DRIFTS = [(range(36, 54, 2), 18, -4.0)]  # every cell of jax on one device, from the nineteenth night on
TAGS = ("recipe", "recipe_version", "recipe_hash", "profile", "context", "framework", "mode", "precision", "device", "devices",
        "determinism", "randomness", "release", "verdict", "metric", "unit", "direction", "value", "band_low", "band_high",
        "reason")  # fmt: skip


def night_points(history: History, night: str) -> list[NightPoint]:
    """Return what a night gave for each cell, one seed each."""
    worst = history.verifications.set_index("invocation_id")["worst_ratio"]
    rows: pd.DataFrame = history.samples[history.samples["night"] == night]
    return [
        NightPoint(**{name: row[name] for name in TAGS}, seeds=1, verify_worst_ratio=float(worst[row["invocation_id"]]))
        for row in rows.to_dict("records")
    ]


def fill(uri: str, *, nights: int = NIGHTS, cells: int = CELLS) -> None:
    """Record every night, in order."""
    history = synthetic_history(nights, cells, seed=0, drifts=DRIFTS)
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
                verdict="regressed" if verdicts["regressed"] else "reproduced",
                verdicts=verdicts,
                releases={point.framework: str(point.release) for point in points},
            )
        print(f"{night}: {dict(verdicts)}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/synthetic_timelines.py TRACKING_URI")
    fill(sys.argv[1])
