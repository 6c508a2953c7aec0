"""What lies beside a result on this machine and in MLflow: its log, its tensors, its picture, its run. Read where it is there.

Ids come from MLflow, where anybody may have edited them: a name that leads out of the runs directory is not followed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reports.site.appearance import FAILED, appearance_of
from reports.site.cell_results import CellResult
from reports.site.sources import Sources
from reports.verification_picture import FILE_NAME as PICTURE
from vigil.documents.document import DocumentError
from vigil.documents.failure import Triage
from vigil.documents.narrowing import Narrowing, place_of
from vigil.documents.night import VERIFY
from vigil.documents.replay import Replay
from vigil.redaction import redact

LOG_LINES, TENSORS = 15, 30
_LOG = "log.txt"
_MOST_READ = 8192


@dataclass(frozen=True)
class OutTensor:
    """A tensor that is out of its limits: how far, in noise floors and in what is accepted."""

    case: str
    name: str
    ratio: float | None
    slope: float | None
    score: float | None
    problem: str


@dataclass(frozen=True)
class Narrowed:
    """What a narrowing came to: since which release, hidden by which switches; files that say more."""

    document: Narrowing
    script: Path
    report: Path

    @property
    def hidden_by(self) -> Sequence[str]:
        """Return the switches that hide it."""
        return [each.name for each in self.document.switches or () if each.outcome == "right"]


@dataclass(frozen=True)
class Evidence:
    """Files of one result. log, picture: None where they are not on this machine. tail: the last lines of a failure's log.
    triage: of a failure, where it has one.

    narrowed: what narrowing it came to, and where that lies; None where it was not narrowed.
    replay: what replaying its step found, where it ended with a number that is not finite and was replayed.
    """

    log: Path | None
    picture: Path | None
    tail: Sequence[str]
    tensors: Sequence[OutTensor]
    n_out: int
    narrowed: Narrowed | None = None
    replay: Path | None = None
    triage: Triage | None = None


class Files:
    """The runs directory and MLflow, as a report to `out` links to them."""

    def __init__(self, sources: Sources, out: Path) -> None:
        self.sources, self.out = sources, out

    def of(self, result: CellResult) -> Evidence:
        """Return what this machine holds of a result."""
        directory = self.directory(result)
        if directory is None:
            return Evidence(None, None, (), (), 0)
        log = directory / _LOG if result.kind != VERIFY else directory / "answers" / _LOG
        is_failed = appearance_of(result.verdict).name == FAILED
        tensors = _out_tensors(directory) if result.kind == VERIFY and result.measured and result.measured.tensors_out else []
        picture, replay = directory / PICTURE, directory / "replay" / Replay.FILE_NAME
        return Evidence(
            log=log if log.is_file() else None,
            picture=picture if result.kind == VERIFY and picture.is_file() else None,
            tail=_tail(log) if is_failed else (),
            tensors=tensors[:TENSORS],
            n_out=len(tensors),
            narrowed=_narrowed(directory) if tensors else None,
            replay=replay if replay.is_file() else None,
            triage=_triage(directory) if is_failed else None,
        )

    def link(self, path: Path, root: str) -> str:
        """Return the address of a file outside of the report, from a page: root leads from it to the report."""
        return root + quote(os.path.relpath(path, self.out).replace(os.sep, "/"), safe="/.")

    def mlflow(self, result: CellResult) -> str | None:
        """Return the page of a result's run in MLflow, where it is known."""
        identity = f"{result.identity}/{result.runs[0].run_id}" if result.runs else result.identity
        run = self.sources.history.mlflow_runs.get(identity)
        if run is None or self.sources.mlflow is None or not run.isalnum():
            return None
        return f"{self.sources.mlflow}/#/runs/{run}"

    def directory(self, result: CellResult) -> Path | None:
        """Return where the verb left a result; of several runs that which did not end well, else the first."""
        parts = result.identity.split("/")
        if result.runs:
            run = next((run for run in result.runs if appearance_of(run.verdict).name == FAILED), result.runs[0])
            parts.append(run.run_id.removeprefix(f"{result.identity}-"))
        if any(part in ("", ".", "..") or "\\" in part or "\0" in part or "/" in part for part in parts):
            return None
        directory = self.sources.runs.joinpath(*parts)
        try:
            return directory if directory.is_dir() else None
        except OSError:  # a name may be longer than any file's
            return None


def _narrowed(run: Path) -> Narrowed | None:
    """Return what narrowing a run came to, where a script shows it."""
    place = place_of(run)
    try:
        document = Narrowing.read(place)
    except (OSError, DocumentError):
        return None
    script, report = place / "script.py", place / "report.md"
    return Narrowed(document, script, report) if script.is_file() and report.is_file() else None


def _triage(directory: Path) -> Triage | None:
    """Return what sort of failure a run or a verification ended with, where its document says it."""
    for name in ("verify.json", "record.json"):
        try:
            content = json.loads((directory / name).read_text(encoding="utf-8"))
            failure = (content["verdict"] if name == "verify.json" else content)["failure"]
            return Triage.model_validate(failure["triage"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _tail(log: Path) -> list[str]:
    """Return the last lines of a log, without what looks like a secret."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _MOST_READ))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [redact(line) for line in text.splitlines()[-LOG_LINES:]]


def _out_tensors(directory: Path) -> list[OutTensor]:
    """Return the tensors of a verification that are out, the worst first; none where its document is torn."""
    try:  # to check a whole document of every cell takes minutes
        rows: list[dict[str, Any]] = json.loads((directory / "verify.json").read_text(encoding="utf-8"))["tensors"]
        found = [
            OutTensor(
                str(row["case"]),
                str(row["tensor"]),
                _number(row, "ratio"),
                _number(row, "slope"),
                score,
                str(row.get("problem") or ""),
            )
            for row in rows
            if (score := _number(row, "score")) is None or score > 1 or row.get("problem")
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return sorted(found, key=lambda each: -(math.inf if each.score is None else each.score))


def _number(row: dict[str, Any], name: str) -> float | None:
    """Return a number of a document, which writes what is not finite as text."""
    value = row[name]
    return float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None
