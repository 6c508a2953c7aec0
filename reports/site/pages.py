"""The pages: written as a whole beside their place, and put there at once."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import jinja2

from reports.failure_text import triage_rows
from reports.night_summary import own_rows, step_commands
from reports.site import badge, charts, feed, glance, words
from reports.site.answer import CauseRow, Teller, answer_of, night_counts, seen_drops, source_of, tiles_of, with_own_steps
from reports.site.appearance import APPEARANCES, FAILED, appearance_of, word_of
from reports.site.audit_pages import write_audits
from reports.site.causes import ATTENTION, Cause, Found, causes_of
from reports.site.cell_drift import drifts_of
from reports.site.cell_results import KINDS, CellResult, Key, results_of
from reports.site.commands import compare_command, reproduce_command, verify_command
from reports.site.comparison_pages import write_comparisons
from reports.site.evidence import Files
from reports.site.losses import LEAST, Curve, Envelope, Losses, envelope
from reports.site.own_pages import write_own
from reports.site.power_table import RUNS, mean_bands, powers
from reports.site.published import comparisons
from reports.site.screen import first_screen
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, cells_of, public
from reports.site.timeline import past_nights, past_releases
from vigil.documents.night import REPRODUCE, VERIFY, Bits, CellKind
from vigil.documents.verdict import Verdict
from vigil.documents.verification import KnownFinding
from vigil.errors import DirectoryError
from vigil.paths import project_root
from vigil.statistics.discoveries import expected_alarms

MARK = '<meta name="generator" content="vigil report">'
_LAST = 14  # rows of the table of what ran last
_SIBLINGS = 10
_WRONG = 300  # of one night's
_PICTURES = 40  # of verifications that are not fine: each is a tenth of a megabyte
_MODE = 0o755


@dataclass(frozen=True)
class WrittenSite:
    """What was written, and where to open it."""

    index: Path
    pages: int
    cells: int


def write_site(sources: Sources, out: Path) -> WrittenSite:
    """Write the report to a directory, in the place of an earlier report.

    Raises:
        DirectoryError: the directory holds something else, or cannot be written.
    """
    _check_replaceable(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise DirectoryError(f"{out.parent}: cannot be written ({error.strerror}). Name another place with --out.") from error
    try:
        pages, cells = _write_pages(sources, partial, place=out)
        partial.chmod(_MODE)
        _put(partial, out)
    except OSError as error:
        raise DirectoryError(f"{out}: cannot be written ({error.strerror}). Name another place with --out.") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return WrittenSite(out / "index.html", pages, cells)


def environment() -> jinja2.Environment:
    """Return the templates' environment: everything is escaped, and a name that is not there is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=words.without_turns,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "plain": words.plain, "number": words.number, "points": words.points, "moment": words.moment, "duration": words.duration,
        "count": words.count, "shortened": words.shortened, "appearance": appearance_of, "word": word_of,
    }  # fmt: skip
    made.globals |= {"page_name": page_name, "night_page": night_page, "KINDS": KINDS, "APPEARANCES": APPEARANCES}
    made.globals |= {"triage_rows": triage_rows}
    return made


def page_name(key: Key) -> str:
    """Return the file name of a cell's page."""
    return f"{words.file_name(*key)}.html"


def night_page(name: str) -> str:
    """Return the file name of a night's page."""
    return f"{words.file_name(name)}.html"


def _write_pages(sources: Sources, out: Path, *, place: Path) -> tuple[int, int]:
    """Write every page to a directory. place: where the directory will be, from which links to files lead."""
    site = _Site(sources, out, place)
    site.write("style.css", "style.css")
    site.write("report.js", "report.js")
    site.write_first_page()
    site.write_history()
    site.write("reproduction.html", "reproduction.html", comparisons=comparisons(sources, site.results))
    site.write("power.html", "power.html", powers=site.powers, run_counts=RUNS)
    site.write_cells()
    write_comparisons(site.write, site.files, cells=site.cells)
    write_audits(site.write, site.files)
    write_own(site.write, site.files)
    return site.pages, len(site.cells)


class _Site:
    """A report that is being written: what all of its pages need, read once."""

    def __init__(self, sources: Sources, out: Path, place: Path) -> None:
        self.sources, self.out = sources, out
        self.templates, self.pages = environment(), 0
        self.results = results_of(sources.history.samples, sources.history.verifications)
        self.cells = cells_of(sources, self.results)
        self.drifts = drifts_of(sources)
        self.found = causes_of(sources, self.cells, self.drifts)
        self.powers = powers(sources.recipes, sources.rows)
        self.bands = mean_bands(sources.recipes, sources.rows)
        self.files, self.earlier = Files(sources, place), feed.read_earlier(place / feed.FILE_NAME)
        teller = Teller(sources, self.cells, self.found, self.bands)
        self.rows = [teller.row(cause, index) for index, cause in enumerate(self.found.causes)]
        self.previous = _night_before(self.found, sources.night_id)
        self.pictures = 0

    def write(self, name: str, template: str, **facts: Any) -> None:
        """Write one file from its template."""
        root = "../" * name.count("/")
        text = self.templates.get_template(template).render(sources=self.sources, **facts, root=root)
        path = self.out / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.pages += name.endswith(".html")

    def write_first_page(self) -> None:
        """Write what is wrong, by cause, and everything else at a glance."""
        sources, cells = self.sources, self.cells
        releases, failures = glance.releases_of(sources, cells), glance.failures_of(sources, cells)
        own_steps = own_rows(sources.night) if sources.night else ()
        answer = answer_of(sources, cells, self.found, self.powers, tested=self.drifts.looked_at["tested"])
        answer = with_own_steps(answer, own_steps)
        tiles = tiles_of(cells, self.found, releases)
        screen = first_screen(sources, cells, self.found, self.rows, answer=answer, tiles=tiles)
        screen.write(self.out)
        (self.out / feed.FILE_NAME).write_bytes(feed.feed_of(screen, self.earlier))
        (self.out / badge.FILE_NAME).write_text(badge.badge_of(screen), encoding="utf-8")
        own = {
            "steps": own_steps,
            "step_commands": step_commands(sources.night) if sources.night else (),
            "steps_narrowed": self._steps_narrowed(),
        }
        if not cells:
            self.write("index.html", "empty.html", **own)
            return
        shown = glance.map_of(cells)
        self.write(
            "index.html",
            "index.html",
            answer=answer,
            tiles=tiles,
            previous=self.previous,
            night_counts=night_counts(cells),
            seen=seen_drops(cells, self.powers),
            rows=self.rows,
            links={row.anchor: self._row_links(cause, row) for cause, row in zip(self.found.causes, self.rows, strict=True)},
            narrowed={row.anchor: self._narrowed(row) for row in self.rows},
            found=self.found,
            chance=self.found.by_chance,
            expected=expected_alarms(self.found.judged),
            map=shown,
            firsts=set(accumulate((len(names) for _, _, names in shown.columns), initial=0)),
            counts=glance.counts_of(cells),
            drifts=self.drifts,
            failures=failures,
            failed_seconds=math.fsum(ended.seconds or 0.0 for ended in failures),
            lost=sources.night.lost if sources.night else (),
            left=glance.left_of(sources),
            **own,
        )

    def _steps_narrowed(self) -> dict[str, tuple[str, str | None]]:
        """Return what narrowing the night's audits came to, by the key of the cell, with the address of its report."""
        found = {}
        for each in self.sources.night.narrowed if self.sources.night else ():
            report = self.sources.runs / each.directory / "report.md" if each.directory else None
            found[each.key] = (each.reason, self.files.link(report, "") if report and report.is_file() else None)
        return found

    def write_history(self) -> None:
        """Write the pages of nights and releases."""
        nights = past_nights(self.cells, self.found.nights)
        shown = [each for each in APPEARANCES.values() if any(night.counts[each.name] for night in nights)]
        self.write("nights.html", "nights.html", nights=nights, shown=shown)
        releases = past_releases(nights, list(zip(self.found.causes, self.rows, strict=True)))
        tested = glance.releases_of(self.sources, self.cells)
        self.write("releases.html", "releases.html", releases=releases, tested=tested)
        names = [night.name for night in nights]
        for night, earlier, later in zip(nights, [None, *names], [*names[1:], None], strict=False):
            page = f"nights/{night_page(night.name)}"
            of_tonight = self.sources.night if self.sources.night and self.sources.night.id == night.name else None
            lost = of_tonight.lost if of_tonight else ()
            self.write(page, "night.html", night=night, earlier=earlier, later=later, shown=shown, most=_WRONG, lost=lost)

    def write_cells(self) -> None:
        """Write a page for each cell; those of causes first, for they have the pictures."""
        losses = Losses(self.sources.runs)
        reproduced = losses.reproduced(self.results)
        first = [key for cause in self.found.causes for key in cause.keys]
        for key in dict.fromkeys([*first, *self.cells]):
            self.write(f"cells/{page_name(key)}", "cell.html", **self._cell(self.cells[key], losses, reproduced))

    def _cell(
        self, cell: ReportedCell, losses: Losses, reproduced: Mapping[tuple[str, str, str], Sequence[Curve]]
    ) -> dict[str, Any]:
        results = cell.results[-charts.MOST_RESULTS :]
        drawn = losses.newest(cell.results)
        around = _around(drawn, reproduced)
        clean = [result for result in results if result.is_clean]
        drift = self.drifts.of(cell.key)
        nights = {result.night for result in clean if result.kind == REPRODUCE}
        mark = drift.mark if drift.mark and drift.mark.night in nights else None
        bands = self.bands(cell.key[0], cell.key[1], cell.framework)
        newest = {kind: [result for result in clean if result.kind == kind] for kind in KINDS}
        wrong_step = next((each for each in newest[VERIFY][-1:] if each.verdict == Verdict.REGRESSED), None)
        failed = next((each[-1] for each in newest.values() if each and appearance_of(each[-1].verdict).name == FAILED), None)
        judged = [charts.judged(each, bands) for each in newest[REPRODUCE][-1:]]
        return {
            "cell": cell,
            "previous": self.previous,
            "before": {kind: of_kind[-2] if len(of_kind) > 1 else None for kind, of_kind in newest.items()},
            "links": {kind: self._result_links(of_kind[-1], "../") if of_kind else [] for kind, of_kind in newest.items()},
            "commands": self._commands(cell, newest),
            "left_out": len(cell.results) - len(results),
            "history": charts.history_chart(results, bands, mark=mark),
            "is_one": any(each.is_one and len(each.result.runs) > 1 for each in judged),
            "mark": mark,
            "ratios": charts.ratio_chart(results),
            "n_verified": len(newest[VERIFY]),
            "steps_first": wrong_step is not None,
            "bits": self._bits(cell),
            "wrong_step": wrong_step,
            "evidence": self.files.of(wrong_step) if wrong_step else None,
            "file": lambda path: self.files.link(path, "../"),
            "picture": self._picture(cell, newest[VERIFY]),
            "failed": failed,
            "failed_evidence": self.files.of(failed) if failed else None,
            "drift": drift,
            "siblings": self._siblings(cell),
            "losses": charts.loss_chart(drawn, around),
            "curves": [_curve_facts(curve, around) for curve in drawn],
            "around": around,
            "least": LEAST,
            "last": cell.results[: -_LAST - 1 : -1],
        }

    def _commands(self, cell: ReportedCell, newest: Mapping[CellKind, Sequence[CellResult]]) -> list[tuple[str, str]]:
        """Return what shows a cell again: a look, with the release that the last one had, and what each is for."""
        source = source_of(self.sources, cell.key)
        releases = {kind: of_kind[-1].release for kind, of_kind in newest.items() if of_kind}
        release = releases.get(REPRODUCE) or releases.get(VERIFY)
        verified = releases.get(VERIFY) or release
        older = [each.release for of_kind in newest.values() for each in of_kind if public(each.release) != public(release)]
        before = older[-1] if older else None
        found = [
            ("one training step against float64, about a minute", verify_command(cell.key, verified, source=source)),
            ("the metric, with five seeds", reproduce_command(cell.key, release, source=source)),
            ("with the release before, seed by seed", compare_command(cell.key, before, release, source=source)),
            ("the wrong tensor as a script, with its releases and switches", self._narrow_command(newest[VERIFY])),
        ]
        return [(what, text) for what, text in found if text]

    def _bits(self, cell: ReportedCell) -> Bits | None:
        """Return how the bits of the night's verification of a cell are beside those of an earlier night."""
        rows = self.sources.night.cells if self.sources.night else ()
        return next((row.bits for row in rows if row.bits and (row.recipe, row.profile, row.context.text) == cell.key), None)

    def _narrow_command(self, verified: Sequence[CellResult]) -> str | None:
        """Return what narrows a cell's wrong step; None where none is wrong, or its run is not on this machine."""
        if not verified or verified[-1].verdict != Verdict.REGRESSED or (directory := self.files.directory(verified[-1])) is None:
            return None
        root = project_root()
        shown = directory.relative_to(root) if directory.is_relative_to(root) else directory
        return shlex.join(["vigil", "narrow", str(shown), "--switches", "--since"])

    def _siblings(self, cell: ReportedCell) -> list[ReportedCell]:
        """Return the cells of the same recipe that are nearest: the same context in other frameworks, then what is wrong."""
        rest = cell.key[2][len(cell.framework) :]
        others = [each for key, each in self.cells.items() if key[:2] == cell.key[:2] and key != cell.key]

        def rank(each: ReportedCell) -> tuple[bool, bool, bool, str]:
            is_wrong = any(appearance_of(standing.verdict).name in ATTENTION for standing in each.standings.values())
            return each.key[2][len(each.framework) :] != rest, not is_wrong, each.framework != cell.framework, each.key[2]

        return sorted(others, key=rank)[:_SIBLINGS]

    def _picture(self, cell: ReportedCell, verified: Sequence[CellResult]) -> str | None:
        """Return the newest verification's picture, copied beside the page where the step is not fine: a report moves about."""
        picture = self.files.of(verified[-1]).picture if verified else None
        if picture is None or verified[-1].verdict == Verdict.REPRODUCED or self.pictures == _PICTURES:
            return None
        name = f"{page_name(cell.key)[:-5]}.png"
        (self.out / "cells").mkdir(exist_ok=True)
        shutil.copyfile(picture, self.out / "cells" / name)
        self.pictures += 1
        return name

    def _result_links(self, result: CellResult, root: str) -> list[tuple[str, str]]:
        """Return where a result's log, picture and run in MLflow are, of those that are known."""
        evidence = self.files.of(result)
        narrowed = evidence.narrowed
        held = (
            ("log", evidence.log), ("replay", evidence.replay), ("verify.png", evidence.picture),
            ("script", narrowed.script if narrowed else None), ("narrowed", narrowed.report if narrowed else None),
        )  # fmt: skip
        files = [(name, self.files.link(path, root)) for name, path in held if path]
        run = self.files.mlflow(result)
        return [*files, *([("MLflow", run)] if run else [])]

    def _row_links(self, cause: Cause, row: CauseRow) -> list[tuple[str, str]]:
        """Return the links of a cause: the cell, its tensors or its log, its run in MLflow, yesterday, and who may know it."""
        known = [(f"may be: {words.plain(each.name).replace('_', ' ')}", self._evidence(each)) for each in row.known.findings]
        known += [("known?", row.known.search)] if row.known.search else []
        if row.key is None:
            return known
        page = f"cells/{page_name(row.key)}"
        cell = self.cells[row.key]
        newest = cell.newest(row.kind)
        links = [("cell", page)]
        verified = cell.newest(VERIFY)
        links += [("tensors", f"{page}#{'tensors' if verified and verified.verdict == Verdict.REGRESSED else 'verify'}")]
        files = dict(self._result_links(newest, "")) if newest else {}
        has_log = newest is not None and appearance_of(newest.verdict).name == FAILED
        log = files.get("log") or (f"{page}#log" if has_log else None)
        links += [("log", log)] if log else []
        links += [(name, files[name]) for name in ("replay", "script", "narrowed", "MLflow") if name in files]
        links += [("yesterday", f"nights/{night_page(self.previous)}")] if self.previous else []
        return [*links, *known]

    def _narrowed(self, row: CauseRow) -> str:
        """Return what narrowing the cell that shows a cause came to; nothing where it was not narrowed."""
        verified = self.cells[row.key].newest(VERIFY) if row.key is not None else None
        narrowed = self.files.of(verified).narrowed if verified else None
        return narrowed.document.reason if narrowed else ""

    def _evidence(self, finding: KnownFinding) -> str:
        """Return the address of what shows a finding: a link, or a script in the checkout."""
        is_link = finding.evidence.startswith("https://")
        return finding.evidence if is_link else self.files.link(project_root() / finding.evidence, "")


def _night_before(found: Found, night: str | None) -> str | None:
    """Return the night before the one that is shown."""
    place = found.nights.number.get(night or "")
    return found.nights.names[place - 1] if place else None


def _around(drawn: Sequence[Curve], reproduced: Mapping[tuple[str, str, str], Sequence[Curve]]) -> Envelope | None:
    if not drawn:
        return None
    row = drawn[0].row
    return envelope(reproduced.get((row.recipe, row.profile, row.recipe_hash), ()), drawn=drawn)


def _curve_facts(curve: Curve, around: Envelope | None) -> dict[str, Any]:
    finite = [value for value in curve.means if math.isfinite(value)]
    return {
        "row": curve.row,
        "steps": curve.steps,
        "width": curve.width,
        "first": float(curve.means[0]),
        "last": float(curve.means[-1]),
        "least": min(finite) if finite else None,
        "broken_at": curve.broken_at,
        "outside": around.outside(curve) if around else None,
        "bins": len(curve.means),
    }


def _check_replaceable(out: Path) -> None:
    """Raise unless there is nothing at a place but an earlier report."""
    index = out / "index.html"
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not index.is_file() or MARK not in index.read_text(encoding="utf-8", errors="replace")[:2000]:
        raise DirectoryError(
            f"{out}: holds something that is no report of Vigil, and a report takes the place of what is there. "
            "Name an empty or a new directory with --out."
        )


def _put(partial: Path, out: Path) -> None:
    """Put a directory in the place of another, which is there until then."""
    if not out.exists():
        os.rename(partial, out)
        return
    before = Path(tempfile.mkdtemp(prefix=f".{out.name}-before-", dir=out.parent))
    os.rename(out, before / out.name)
    os.rename(partial, out)
    shutil.rmtree(before, ignore_errors=True)
