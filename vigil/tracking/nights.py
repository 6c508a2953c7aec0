"""One run in MLflow for every night: what it covered, what it found, and the summary that it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from vigil.errors import CannotRun
from vigil.paths import cache_directory
from vigil.redaction import redact
from vigil.tracking.address import alone_in, check_reachable, failures_named
from vigil.tracking.client import Store
from vigil.tracking.entry import Entry
from vigil.tracking.notes import NIGHTS_NOTE
from vigil.tracking.uploads import attachments

NIGHTS = "nights"
NIGHT_ID, TOKEN = "vigil.night", "vigil.night_token"
SUMMARY = "summary.md"


def record_night_summary(
    uri: str,
    directory: Path,
    *,
    night: str,
    token: str | None = None,
    number: int,
    when: datetime,
    seconds: float,
    verdict: str,
    verdicts: Mapping[str, int],
    releases: Mapping[str, str],
    files: Sequence[str] = (SUMMARY, "summary.json", "junit.xml"),
) -> str:
    """Bring MLflow to hold a night's own run exactly once, and return its id. A summary that has changed replaces it.

    Args:
        directory: where the summary lies; those of `files` that it holds become artifacts, and summary.md the description.
        token: what tells it from another machine's night of the same id.
        number: the step that the night has in every timeline.
        verdict: the worst of its cells.
        verdicts: how many cells had which verdict.
        releases: of each framework, what was tested.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again completes the run.
        CannotRun: there is no summary.md.
    """
    summary = directory / SUMMARY
    if not summary.is_file():
        raise CannotRun(f"{summary}: missing. A night is recorded once its summary is written.")
    text = redact(summary.read_text(encoding="utf-8"))
    start = round(when.timestamp() * 1000)
    end = start + round(1000 * seconds)
    numbers = {"cells": sum(verdicts.values()), "seconds": seconds}
    numbers |= {"cells_" + name.replace(":", "_"): count for name, count in verdicts.items()}
    labels = {"night": night, "number": str(number), "verdict": verdict}
    labels |= {"verdicts": ", ".join(f"{count} {name}" for name, count in sorted(verdicts.items()))}
    labels |= {f"release_{name}": release for name, release in releases.items()}
    entry = Entry(
        name=f"night {night}",
        identity={NIGHT_ID: night} | ({TOKEN: token} if token else {}),
        labels=labels,
        note=text,
        metrics=tuple((name, float(value), end, number) for name, value in numbers.items()),
        status="FINISHED",
        start=start,
        end=end,
        artifact=SUMMARY,
        text=text,
        attachments=attachments(directory, [name for name in files if name != SUMMARY]),
    )
    check_reachable(uri)
    lock = cache_directory() / "locks"
    lock.mkdir(parents=True, exist_ok=True)
    with alone_in(lock), failures_named(uri):
        store = Store(uri)
        run_id, is_complete = store.place(store.experiment_id(NIGHTS, note=NIGHTS_NOTE), entry)
        if not is_complete:
            store.finish(run_id, entry)
    return run_id
