"""One cell of a night, carried out as `vigil verify` and `vigil reproduce` would do it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vigil import tracking
from vigil.audit.definitions import catalog
from vigil.audit.known import known_calls
from vigil.audit.limits import audit_limits
from vigil.audit.sweep import Extent, audit
from vigil.data.official import ensure_data
from vigil.documents.audit import Audit
from vigil.documents.failure import Failure, Triage
from vigil.documents.judgement import RunFailure
from vigil.documents.night import AUDIT, STEP, VERIFY, Night, NightNarrowing
from vigil.documents.step import StepVerification
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.nightly.cell_pool import CellOutcome, Cores
from vigil.nightly.cells import NightCell
from vigil.nightly.narrowing import Wrong, narrow_run
from vigil.process.hosts import Hosts
from vigil.process.recording import read_record
from vigil.recipes.command_line import own_command
from vigil.recipes.loading import Recipe, identity_of
from vigil.releases.resolve import Resolved
from vigil.runs.carry_out import carry_out
from vigil.runs.plan import Request, plan
from vigil.runs.watch import Watch, ignore
from vigil.steps.limits import step_limits
from vigil.steps.processes import Started
from vigil.steps.verify import asked_of, new_own_directory, settings_of, verify_step
from vigil.verify.standards import RUNNER, Standard, load_standard, new_verify_directory, verify_context


class CellRunner:
    """Carries out the cells of one night."""

    def __init__(
        self,
        night: Night,
        pythons: Mapping[str, Path],
        *,
        recipes: Mapping[str, Recipe],
        files: Mapping[str, Path],
        runs: Path,
        draw_verification: Callable[[Path], Any] = ignore,
        draw_run: Callable[[Path], Any] = ignore,
    ) -> None:
        """Carry out cells of these.

        Args:
            recipes: by where each was found.
            files: users' own steps, by their names.
            draw_verification, draw_run: what draws the pictures of a directory, before it is uploaded.
        """
        self._night, self._pythons, self._runs = night, pythons, runs
        self._files = files
        self._recipes = {recipe.name: (source, recipe) for source, recipe in recipes.items()}
        self._draw_verification, self._draw_run = draw_verification, draw_run
        self._standards: dict[str, Standard] = {}
        self._data: dict[str, Path | None] = {}
        self._verified: dict[str, Path] = {}
        self._lock = threading.Lock()
        self._hosts = Hosts()

    def narrow(self, wrong: Wrong, seconds: float) -> NightNarrowing:
        """Narrow what a cell found wrong, and bring it to MLflow anew, with the script.

        What is not done after so many seconds is ended.
        """
        assert wrong.row.directory is not None
        found = narrow_run(wrong, seconds, runs=self._runs)
        if found.directory:
            tracking.upload_or_note(self._runs / wrong.row.directory)
        return found

    def close(self) -> None:
        """End the hosts of the frameworks."""
        self._hosts.close()

    def prepare(self, cell: NightCell, cores: Cores) -> str:
        """Make the directory of a cell, and return its name. Raises VigilError."""
        if cell.kind == STEP:
            return new_own_directory(self._runs, self._files[cell.recipe], "step").name
        if cell.kind == AUDIT:
            return new_own_directory(self._runs, Path(f"{cell.framework}-{cell.recipe}"), "audit").name
        source, recipe = self._recipes[cell.recipe]
        if cell.kind == VERIFY:
            return new_verify_directory(self._runs, identity_of(recipe, cell.profile), cell.context).name
        request = Request(
            recipe=recipe,
            recipe_source=source,
            profile=cell.profile,
            context=cell.context,
            seeds=self._night.seeds,
            fault=None,
            command=self._night.command,
            cores=cores,
            # The verification of this context came before, and is a cell of its own.
            verify=False,
            release=self._resolved(cell),
            night=self._night.id,
        )
        return plan(request, self._runs, data_directory=self._data_directory(cell)).name

    def carry_out(self, cell: NightCell, directory: str, cores: Cores, stop: threading.Event) -> CellOutcome:
        """Run a cell in its directory, or go on with what lies there. Raises VigilError."""
        place = self._runs / directory
        if cell.kind == STEP:
            return self._step(cell, place, stop)
        if cell.kind == AUDIT:
            return self._audit(cell, place, cores, stop)
        return self._verify(cell, place, cores, stop) if cell.kind == VERIFY else self._reproduce(place, stop)

    def _verify(self, cell: NightCell, place: Path, cores: Cores, stop: threading.Event) -> CellOutcome:
        document = Verification.read(place) if (place / Verification.FILE_NAME).is_file() else None
        if document is None or document.verdict.name is Verdict.FAILED_INTERRUPTED:
            # What was answered until a verification was broken off belongs to no document.
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            document = verify_context(
                self._standard(cell),
                cell.context,
                place,
                command=self._night.command,
                data_directory=self._data_directory(cell),
                cores=cores,
                stop=stop,
                quick=cell.is_short,
                release=self._night.releases[cell.framework].named,
                python=self._pythons[cell.framework],
                night=self._night.id,
                hosts=self._hosts,
                companion=self._verified.get(cell.companion.key) if cell.companion else None,
            )
        self._verified[cell.key] = place
        verdict = document.verdict
        if verdict.name is Verdict.FAILED_INTERRUPTED:
            return CellOutcome(None)
        if not document.tracking:
            self._draw_verification(place)
            tracking.upload_or_note(place)
        peak = _peak([place / RUNNER])
        return CellOutcome(verdict.name, verdict.reason, peak_memory_bytes=peak, triage=_triage(verdict.failure))

    def _step(self, cell: NightCell, place: Path, stop: threading.Event) -> CellOutcome:
        document = StepVerification.read(place) if (place / StepVerification.FILE_NAME).is_file() else None
        if document is None or document.verdict.name is Verdict.FAILED_INTERRUPTED:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            asked = asked_of(self._files[cell.recipe], cell.framework, python=self._pythons[cell.framework], stop=stop)
            try:
                document = verify_step(
                    asked,
                    settings_of(cell.framework, [cell.context.mode], [cell.context.precision], None),
                    place,
                    step_limits(),
                    command=own_command(self._night, cell.kind, cell.recipe, cell.context),
                    jobs=1,
                    release=self._night.releases[cell.framework].named,
                    night=self._night.id,
                )
            except Exception:
                if stop.is_set():  # what was not begun any more is missing
                    return CellOutcome(None)
                raise
        verdict = document.verdict
        if verdict.name is Verdict.FAILED_INTERRUPTED:
            return CellOutcome(None)
        if not document.tracking:
            tracking.upload_or_note(place)
        return CellOutcome(verdict.name, verdict.reason, triage=_triage(verdict.failure))

    def _audit(self, cell: NightCell, place: Path, cores: Cores, stop: threading.Event) -> CellOutcome:
        document = Audit.read(place) if (place / Audit.FILE_NAME).is_file() else None
        if document is None:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            entries = [entry for entry in catalog().values() if entry.family == cell.recipe]
            try:
                document = audit(
                    Started(framework=cell.framework, python=self._pythons[cell.framework], stop=stop),
                    Extent(entries=entries, modes=[cell.context.mode], is_quick=True),
                    place,
                    audit_limits(),
                    known_calls(),
                    command=own_command(self._night, cell.kind, cell.recipe, cell.context),
                    release=self._night.releases[cell.framework].named,
                    cores=cores,
                    night=self._night.id,
                )
            except Exception:
                if stop.is_set():
                    return CellOutcome(None)
                raise
            if stop.is_set():
                # What a process that was ended had not answered is missing.
                (place / Audit.FILE_NAME).unlink()
                return CellOutcome(None)
        if not document.tracking:
            tracking.upload_or_note(place)
        return CellOutcome(document.verdict.name, document.verdict.reason, triage=_triage(document.verdict.failure))

    def _reproduce(self, place: Path, stop: threading.Event) -> CellOutcome:
        result = carry_out(place, watch=Watch(stop=stop, on_recorded=self._draw_run))
        verdict = result.invocation.verdict
        if result.interruption or verdict is None:
            return CellOutcome(None)
        peak = _peak([place / name for name in result.invocation.runs])
        triage = _triage(verdict.failure)
        return CellOutcome(verdict.name, verdict.reason, p_value=verdict.p_value, peak_memory_bytes=peak, triage=triage)

    def _resolved(self, cell: NightCell) -> Resolved:
        return Resolved.from_named(self._night.releases[cell.framework].named)

    def _standard(self, cell: NightCell) -> Standard:
        with self._lock:
            if cell.recipe not in self._standards:
                _, recipe = self._recipes[cell.recipe]
                data_directory = self._data_of(cell)
                self._standards[cell.recipe] = load_standard(recipe, cell.profile, data_directory=data_directory)
            return self._standards[cell.recipe]

    def _data_directory(self, cell: NightCell) -> Path | None:
        with self._lock:
            return self._data_of(cell)

    def _data_of(self, cell: NightCell) -> Path | None:
        if cell.recipe not in self._data:
            _, recipe = self._recipes[cell.recipe]
            self._data[cell.recipe] = ensure_data(recipe.resolve(cell.profile), progress=ignore)
        return self._data[cell.recipe]


def _triage(failure: Failure | RunFailure | None) -> Triage | None:
    return failure.triage if failure else None


def _peak(directories: list[Path]) -> int | None:
    """Return the largest peak of the runs that have a record."""
    records = [read_record(directory) for directory in directories]
    return max((record.peak_memory_bytes for record in records if record and record.peak_memory_bytes), default=None)
