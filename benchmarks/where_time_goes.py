"""Where the time goes: `python -m benchmarks.where_time_goes [verifications] [reproductions] [nights] [--runs DIR]`.

Reads what `vigil verify`, `vigil reproduce` and `vigil nightly` have left below a runs directory. Prints the median seconds of
each part over the contexts of a recipe, framework and mode, as bars; of each night the seconds of all its cells.

Clean verifications and finished reproductions alone count: one that looks for an origin does other work. A part is

- a phase of the runner: import, set_up, data, build, train, evaluate, checkpoint, finish; of a reproduction, over all its seeds;
- of a verification, a case with what it was the first to compile; where two processes divide them, the seconds of both;
- of a reproduction, `verify`: the verification before it;
- of a night, the cells of a kind and framework, and `left over`: environments, and jobs that waited for the last cells;
- `conductor`: what the runner's process does not do, as starting it, waiting for the oracle, comparing, judging and writing.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from runners.contract.protocol.events import read_events
from vigil.documents.document import Document, DocumentError
from vigil.documents.invocation import Invocation
from vigil.documents.night import Night, read_nights
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.paths import runs_directory
from vigil.verify.ask import second_directory
from vigil.verify.standards import RUNNER

_WIDTH = 48
_LEFT_OVER, _CONDUCTOR = "left over", "conductor"
Parts = dict[str, float]
Group = tuple[str, str, str]
AnyDocument = TypeVar("AnyDocument", bound=Document)


def phases_of(events: Sequence[dict]) -> Parts:
    """Return phase -> seconds of one runner, in the order of the work, by cases where it verifies."""
    parts: Parts = collections.defaultdict(float)
    for event, following in itertools.pairwise(events):
        if event["phase"] != "verify":
            parts[event["phase"]] += following["time"] - event["time"]
    for event in events:
        if event["kind"] == "probed":
            parts[event["name"]] += event["seconds"]
    return dict(parts)


def parts_of_verification(document: Verification, events_of_processes: Sequence[Sequence[dict]]) -> Parts:
    """Return part -> seconds of one verification."""
    parts: Parts = collections.defaultdict(float)
    for events in events_of_processes:
        for name, seconds in phases_of(events).items():
            parts[name] += seconds
    longest = max(events[-1]["time"] - events[0]["time"] for events in events_of_processes)
    return {**parts, _CONDUCTOR: document.seconds - longest}


def parts_of_reproduction(document: Invocation, events_of_seeds: Iterable[Sequence[dict]]) -> Parts:
    """Return part -> seconds of one reproduction."""
    parts: Parts = collections.defaultdict(float)
    verified = document.verify.seconds if document.verify else None
    if verified is not None:
        parts["verify"] = verified
    for events in events_of_seeds:
        for name, seconds in phases_of(events).items():
            parts[name] += seconds
    return {**parts, _CONDUCTOR: (document.wall_seconds or 0.0) - sum(parts.values())}


def parts_of_night(document: Night, recipe: str | None = None) -> Parts:
    """Return part -> seconds of one night's jobs; of one recipe the cells alone, since nothing else can be told apart."""
    parts: Parts = collections.defaultdict(float)
    for row in document.cells:
        if row.is_done and recipe in (None, row.recipe):
            parts[f"{row.kind} {row.context.framework}"] += row.seconds or 0.0
    if recipe is not None:
        return dict(sorted(parts.items()))
    return {**dict(sorted(parts.items())), _LEFT_OVER: document.spent_seconds * (document.jobs or 1) - sum(parts.values())}


def verifications_below(runs: Path, recipe: str | None) -> dict[Group, list[Parts]]:
    """Return (recipe, framework, mode and form) -> the parts of each clean verification."""
    found = collections.defaultdict(list)
    for place in sorted(runs.glob(f"*/{Verification.FILE_NAME}")):
        document = _read(Verification, place.parent)
        if not document or document.verdict.name is not Verdict.REPRODUCED or document.fault:
            continue
        first = place.parent / RUNNER
        processes = [read_events(each) for each in (first, second_directory(first)) if each.is_dir()]
        if not processes or not all(map(_has_finished, processes)):
            continue
        if recipe in (None, document.recipe.name):
            mode = f"{document.context.mode}{', short form' if document.is_short else ''}"
            group = document.recipe.name, document.context.framework, mode
            found[group].append(parts_of_verification(document, processes))
    return dict(found)


def reproductions_below(runs: Path, recipe: str | None) -> dict[Group, list[Parts]]:
    """Return (recipe, framework, mode) -> the parts of each reproduction whose runs have all come to their end."""
    found = collections.defaultdict(list)
    for place in sorted(runs.glob(f"*/{Invocation.FILE_NAME}")):
        document = _read(Invocation, place.parent)
        if document is None or document.fault or document.wall_seconds is None or recipe not in (None, document.recipe.name):
            continue
        events_of_seeds = [read_events(place.parent / run) for run in document.runs]
        if all(map(_has_finished, events_of_seeds)):
            group = document.recipe.name, document.context.framework, document.context.mode
            found[group].append(parts_of_reproduction(document, events_of_seeds))
    return dict(found)


def nights_below(runs: Path, recipe: str | None) -> dict[Group, list[Parts]]:
    """Return the parts of each night that came to its end."""
    documents, _ = read_nights(runs / "nights")
    found = [(night, parts_of_night(night, recipe)) for night in documents.values() if night.finished]
    return {(recipe or "night", night.id, f"{night.jobs} jobs"): [parts] for night, parts in found if parts}


def bars(name: str, of_contexts: Sequence[Parts]) -> list[str]:
    """Return lines: what it is, and the median seconds of each part that takes any."""
    total = statistics.median(sum(parts.values()) for parts in of_contexts)
    names = list(dict.fromkeys(part for parts in of_contexts for part in parts))
    lines = [f"{name}: {total:.1f} s, median of {len(of_contexts)}"]
    for part in names:
        seconds = statistics.median(parts.get(part, 0.0) for parts in of_contexts)
        if round(seconds, 1) == 0.0:
            continue
        lines.append(f"  {part:<22} {seconds:7.1f} s {seconds / total:4.0%} {'#' * round(_WIDTH * seconds / total)}".rstrip())
    return lines


_FOUND_BELOW: dict[str, Callable[[Path, str | None], dict[Group, list[Parts]]]] = {
    "verifications": verifications_below,
    "reproductions": reproductions_below,
    "nights": nights_below,
}


def main() -> None:
    """Print the bars of all that was looked at."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help=f"{', '.join(_FOUND_BELOW)} (default: all three)")
    parser.add_argument("--runs", type=Path, default=runs_directory())
    parser.add_argument("--recipe")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.what if name not in _FOUND_BELOW]:
        parser.error(f"found {unknown[0]!r}. Allowed: {', '.join(_FOUND_BELOW)}.")
    found = {name: _FOUND_BELOW[name](arguments.runs, arguments.recipe) for name in arguments.what or _FOUND_BELOW}
    if not any(found.values()):
        of_recipe = f" of {arguments.recipe}" if arguments.recipe else ""
        parser.error(
            f"{arguments.runs}: holds no {' and no '.join(found)}{of_recipe} that came to a good end. "
            "`vigil verify`, `vigil reproduce` and `vigil nightly` make them; --runs names another folder."
        )
    for name, groups in found.items():
        for group, of_contexts in sorted(groups.items()):
            print("\n".join(bars(f"{name}: {' '.join(group)}", of_contexts)), end="\n\n")


def _read(kind: type[AnyDocument], directory: Path) -> AnyDocument | None:
    try:
        return kind.read(directory)
    except (FileNotFoundError, DocumentError):
        return None


def _has_finished(events: Sequence[dict]) -> bool:
    return bool(events) and events[-1]["kind"] == "finished"


if __name__ == "__main__":
    main()
