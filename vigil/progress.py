"""What a person sees while something is under way: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Column

from runners.contract.protocol.spec import RunSpec
from vigil.documents.judgement import shown
from vigil.documents.record import Record
from vigil.documents.verification import Verification
from vigil.terminal import console, plain

_PLAIN_SECONDS = 10.0
_BAR_WIDTH = 24
_ROOM_FOR_A_BAR = 100  # below, its place is better given to words


def bar_on(drawn: Console, *, details: bool = True) -> Progress:
    """Return a live bar. What it is of, the share done and the time left are whole; what else is said is cut where it must be.

    details: its tasks have the fields `left` and `status`.
    """
    whole = Column(no_wrap=True)
    columns: list[Any] = [TextColumn("{task.description}", markup=False, table_column=whole)]
    columns += [TaskProgressColumn(table_column=whole)]
    columns += [TextColumn("{task.fields[left]}", markup=False, table_column=whole)] if details else []
    columns += [BarColumn(bar_width=_BAR_WIDTH)] if drawn.width >= _ROOM_FOR_A_BAR or not details else []
    rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    columns += [TextColumn("{task.fields[status]}", markup=False, table_column=rest)] if details else []
    return Progress(*columns, console=drawn, disable=not drawn.is_terminal, expand=details)


def duration(seconds: float | None) -> str:
    """Return seconds as `47 s`, `3 min 05 s` or `2 h 10 min`; `-` when unknown."""
    if seconds is None:
        return "-"
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    return (
        f"{seconds // 60} min {seconds % 60:02d} s" if seconds < 3600 else f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
    )


class RunDisplay:
    """Turns the events of one run after another into progress. Use as a context manager."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._is_live = self._console.is_terminal
        self._bar = bar_on(self._console)
        self._task: Any = None

    def __enter__(self) -> RunDisplay:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def start(self, spec: RunSpec, index: int, total: int) -> None:
        """Begin a run, the one at `index` of so many."""
        self._training = spec.training
        self._name = f"seed {spec.seed} ({index + 1}/{total})"
        self._step, self._loss, self._metric, self._rate = 0, None, None, None
        self._mark: tuple[float, int] | None = None
        self._printed = time.monotonic()
        self._phase = "start"
        self._task = self._bar.add_task(self._name, total=spec.training["steps"], left="", status="starting")
        self._say("starting")

    def event(self, event: dict) -> None:
        """Show what one event changes."""
        kind = event["kind"]
        if kind == "steps":
            self._step, self._loss = event["step"], event["losses"][-1]
            if self._mark is None:
                self._mark = (event["time"], event["step"])
            elif event["step"] > self._mark[1]:
                self._rate = (event["step"] - self._mark[1]) / (event["time"] - self._mark[0] or 1e-9)
        elif kind == "resumed":
            self._say(f"resumed from step {event['step']}")
        elif kind == "evaluated":
            # Average precision is computed of the detections when the run has ended.
            self._metric = event["metrics"].get(self._training["metric"]["name"])
        elif kind == "failed":
            self._say(f"{event['category']} in phase {event['phase']}: {event['message']}")
        elif kind == "phase":
            self._phase = event["phase"]
        parts, left = self._status(), self._left()
        status = ", ".join([*parts, *filter(None, [left])])
        self._bar.update(self._task, completed=self._step, left=left, status=plain(", ".join(parts[1:] or parts)))
        is_due = time.monotonic() - self._printed > _PLAIN_SECONDS
        if kind == "evaluated" or (is_due and kind in ("steps", "heartbeat")):
            self._say(status)

    def end(self, record: Record) -> None:
        """Close the line of a run."""
        value = record.metric.value
        outcome = f"{record.metric.name} {shown(value, record.metric.unit)}" if value is not None else record.status
        self._say(f"{outcome} after {duration(record.timing.wall_seconds)}")
        self._bar.update(self._task, left="", status=plain(outcome))
        self._bar.stop_task(self._task)

    def verify(self, directory: Path) -> Callable[[dict], None]:
        """Begin a verification in `directory`; return what is told its events."""
        self._cases = CaseDisplay(self._bar, directory, is_live=self._is_live)
        return self._cases.event

    def verified(self, document: Verification) -> None:
        """Close the line of a verification."""
        self._cases.end(f"{document.verdict.name} after {duration(document.seconds)}")

    def say(self, text: str) -> None:
        """Show what is done before the first run: an environment is built, or waited for."""
        self._console.print(plain(text), soft_wrap=True)

    def data(self, done: int, total: int | None) -> None:
        """Show a download: bytes so far, and in all where that is known."""
        if time.monotonic() - getattr(self, "_data_printed", 0.0) > 2.0 or done == total:
            self._data_printed = time.monotonic()
            share = f" of {total / 2**20:.0f}" if total else ""
            self._console.print(f"downloading data: {done / 2**20:.0f}{share} MiB")

    def _left(self) -> str:
        steps = self._training["steps"]
        return f"{duration((steps - self._step) / self._rate)} left" if self._step and self._rate else ""

    def _status(self) -> list[str]:
        if not self._step:
            return [self._phase]
        steps, batch_size = self._training["steps"], self._training["batch_size"]
        whole, rest = divmod(self._training["data"]["n_train"], batch_size)
        an_epoch = whole + (1 if rest and self._training["input"].get("last_batch") == "keep" else 0)
        parts = [f"step {self._step}/{steps}", f"epoch {self._step / an_epoch:.1f}"]
        parts += [f"loss {self._loss:.3f}" if isinstance(self._loss, float) else f"loss {self._loss}"]
        metric = self._training["metric"]
        parts += [f"{metric['name']} {shown(self._metric, metric['unit'])}"] if self._metric is not None else []
        if self._rate:
            parts += [f"{self._rate * batch_size:.0f} images/s"]
        return parts

    def _say(self, text: str) -> None:
        self._printed = time.monotonic()
        if not self._is_live:
            print(f"{self._name}: {text}", file=sys.stderr, flush=True)


# The second is left out where nothing is wrong.
_ASKING, _LOOKING = "1 of 2: every tensor of single steps", "2 of 2: looking for the origin"


class CaseDisplay:
    """Tells which case of how many is done. A verification that looks for an origin starts one runner after another."""

    def __init__(self, bar: Progress, directory: Path, *, is_live: bool) -> None:
        self._bar, self._directory, self._is_live = bar, directory, is_live
        self._task = bar.add_task("verify", total=None, left="", status="starting")
        self._what, self._done, self._total = _ASKING, 0, 0
        self._say("starting")

    def event(self, event: dict) -> None:
        """Show what one event changes."""
        kind = event["kind"]
        status = f"{self._what}, {self._done}/{self._total} cases"
        if kind == "started":
            self._begin()
            status = f"{self._what}: starting {event['framework']}"
        elif kind == "probed":
            self._done = event["index"] + 1
            status = f"{self._what}, {self._done}/{self._total} cases, {event['name']} {event['seconds']:.1f} s"
        elif kind == "phase" and not self._done:
            status = f"{self._what}: {event['phase']}"
        elif kind == "failed":
            self._say(f"{event['category']} in phase {event['phase']}: {event['message']}")
        self._bar.update(self._task, completed=self._done, total=self._total or None, status=plain(status))
        if time.monotonic() - self._printed > _PLAIN_SECONDS and kind in ("probed", "phase", "heartbeat"):
            self._say(status)

    def end(self, outcome: str) -> None:
        """Close the line."""
        self._say(outcome)
        self._bar.update(self._task, status=plain(outcome))
        self._bar.stop_task(self._task)

    def _begin(self) -> None:
        lists = sorted(self._directory.glob("*/cases.json"), key=lambda path: path.stat().st_mtime_ns)
        self._done, self._total = 0, len(json.loads(lists[-1].read_text(encoding="utf-8"))) if lists else 0
        self._what = _ASKING if len(lists) < 2 else f"{_LOOKING} ({lists[-1].parent.name})"

    def _say(self, text: str) -> None:
        self._printed = time.monotonic()
        if not self._is_live:
            print(f"verify: {text}", file=sys.stderr, flush=True)


class StageDisplay:
    """Tells how far each stage of a long computation is, on one line a stage. Use as a context manager."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._bar = bar_on(self._console, details=False)
        self._tasks: dict[str, Any] = {}
        self._printed: dict[str, float] = {}

    def __enter__(self) -> StageDisplay:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Show what is about to begin."""
        self._console.print(text, markup=False, soft_wrap=True)

    def progress(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` parts of a stage are done. Threads may call it."""
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=total)
        self._bar.update(self._tasks[what], completed=done, total=total)
        if time.monotonic() - self._printed.get(what, 0.0) > _PLAIN_SECONDS or done == total:
            self._printed[what] = time.monotonic()
            if not self._console.is_terminal:
                print(f"{what}: {done / total:.0%}", file=sys.stderr, flush=True)
