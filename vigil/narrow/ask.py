"""Many trials of an audit put to a framework at once: one process, and each answer judged by the audit's limits."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from runners.contract.audit.frame import Question, write_questions
from runners.contract.audit.request import OPTION
from runners.contract.audit.request import WIDE as FLOAT64
from vigil.audit.entry import Entry
from vigil.audit.exact import Exact, exact_of
from vigil.audit.limits import AuditLimits
from vigil.audit.plan import Trial
from vigil.audit.sweep import Row, answers_of, read_answers, remove_arrays, request_of, rows_of
from vigil.documents.failure import Failure
from vigil.narrow.written import Written
from vigil.process.side_by_side import available_cores
from vigil.steps.processes import Started, carried_out


class Answered(NamedTuple):
    """What a trial came to: a row for each public call and each thing that is wrong with it."""

    trial: Trial
    seed: int
    question: Question
    exact: Exact
    rows: list[Row]


@dataclasses.dataclass(kw_only=True)
class Asker:
    """Asks a framework, one process a round. asked: how many trials so far. failure: of the last process, if it failed."""

    started: Started
    directory: Path
    mode: str
    limits: AuditLimits
    threads: int = 1
    devices: int = 1
    tell: Callable[[str], None] = lambda text: None
    asked: int = 0
    rounds: int = 0
    version: str | None = None
    failure: Failure | None = None

    def ask(self, trials: Sequence[tuple[Trial, int]], ways: Sequence[str]) -> list[Answered]:
        """Return what trials with their seeds came to. Trials of no arguments that the definition takes are left out.

        Args:
            ways: patterns of public names, or names.
        """
        numbered: list[tuple[Trial, int, Question]] = []
        for trial, seed in trials:
            own = trial._replace(number=len(numbered))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    numbered.append((own, seed, own.question(seed)))
            except Exception:  # sizes that do not go together: whatever the definition raises
                continue
        if not numbered:
            return []
        directory = self.directory / f"ask-{self.rounds + 1}"
        directory.mkdir(parents=True)
        families: dict[str, list[Question]] = {}
        for trial, _, question in numbered:
            families.setdefault(trial.entry.family, []).append(question)
        for family, questions in families.items():
            write_questions(directory, family, questions)
        request = request_of(
            self.started, mode=self.mode, cores=available_cores(), threads=self.threads,
            families=list(families), ways=list(ways), is_wide=numbered[0][0].precision == FLOAT64, devices=self.devices,
        )  # fmt: skip
        self.rounds, self.asked = self.rounds + 1, self.asked + len(numbered)
        self.tell(f"asking {self.started.framework} {len(numbered)} times")
        with ThreadPoolExecutor(max_workers=1) as pool:
            ended = pool.submit(carried_out, self.started, directory, request, option=OPTION)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of what is no number, as a variance of one: it is held to nothing
                    exact = [exact_for(*each) for each in numbered]
                self.failure = ended.result().failure
            except BaseException:  # Ctrl-C: the pool waits for what runs, and a runner sees none
                self.started.stop.set()
                raise
        self.version = str(ended.result().environment.get("framework_version", "")) or self.version
        told: dict[str, list[Any]] = {}
        for family in families:
            if answers_of(directory, family).exists():
                told |= read_answers(directory, family)
        remove_arrays(directory)
        return [
            Answered(trial, seed, question, right, [
                row for answer, arrays in told.get(question.id, [])
                for row in rows_of(trial, question, right, answer, arrays, self.mode, self.limits)[0]
            ])
            for (trial, seed, question), right in zip(numbered, exact, strict=True)
        ]  # fmt: skip


def exact_for(trial: Trial, seed: int, question: Question) -> Exact:
    """Return what is right for a trial."""
    vectors = trial.vectors(seed) if isinstance(trial, Written) else None
    return exact_of(trial, question, seed, vectors=vectors)


def focused(entry: Entry, quantities: Sequence[str]) -> Entry:
    """Return an entry that differentiates by what gradients are looked at of, and by nothing else."""
    wanted = {each.partition("/")[2] for each in quantities if each.startswith("gradients/")}
    arguments = {name: each if name in wanted else each.fixed() for name, each in entry.arguments.items()}
    return dataclasses.replace(entry, arguments=arguments)
