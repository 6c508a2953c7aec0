"""Where the time of verifications goes: `python -m benchmarks.verification_time [RUNS] [--recipe NAME]`.

Reads what `vigil verify` has left below a runs directory. Prints the median seconds of each part over the contexts of a recipe,
framework and mode, as bars. Clean verifications alone count: one that looks for an origin does other work.

A part is a phase of the runner (import, set_up, build), a case with what it was the first to compile, or `conductor`: what the
runner's process does not do, as starting it, waiting for the oracle, comparing and writing.
"""

from __future__ import annotations

import argparse
import collections
import statistics
from collections.abc import Iterable
from pathlib import Path

from runners.contract.protocol.events import read_events
from vigil.documents.document import DocumentError
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.paths import runs_directory
from vigil.verify.standards import RUNNER

_WIDTH = 48
Parts = dict[str, float]


def parts_of(document: Verification, events: Iterable[dict]) -> Parts:
    """Return part -> seconds of one verification, in the order of the work."""
    parts: Parts = collections.defaultdict(float)
    phase, since, first = "", 0.0, None
    for event in events:
        first = event["time"] if first is None else first
        if event["phase"] != phase:
            if phase not in ("", "verify"):
                parts[phase] += event["time"] - since
            phase, since = event["phase"], event["time"]
        if event["kind"] == "probed":
            parts[event["name"]] += event["seconds"]
        if event["kind"] == "finished":
            parts["conductor"] = document.seconds - (event["time"] - first)
    return dict(parts)


def found_below(runs: Path, recipe: str | None) -> dict[tuple[str, str, str], list[Parts]]:
    """Return (recipe, framework, mode) -> the parts of each clean verification."""
    found = collections.defaultdict(list)
    for place in sorted(runs.glob("*-verify-*")):
        try:
            document = Verification.read(place)
        except (FileNotFoundError, DocumentError):
            continue
        if document.verdict.name is not Verdict.REPRODUCED or document.fault or recipe not in (None, document.recipe.name):
            continue
        parts = parts_of(document, read_events(place / RUNNER))
        if "conductor" in parts:
            found[document.recipe.name, document.context.framework, document.context.mode].append(parts)
    return dict(found)


def bars(name: str, of_contexts: list[Parts]) -> list[str]:
    """Return lines: what it is, and the median seconds of each part."""
    total = statistics.median(sum(parts.values()) for parts in of_contexts)
    names = list(dict.fromkeys(part for parts in of_contexts for part in parts))
    lines = [f"{name}: {total:.1f} s, median of {len(of_contexts)} contexts"]
    for part in names:
        seconds = statistics.median(parts.get(part, 0.0) for parts in of_contexts)
        lines.append(f"  {part:<22} {seconds:7.1f} s {seconds / total:4.0%} {'#' * round(_WIDTH * seconds / total)}".rstrip())
    return lines


def main() -> None:
    """Print the bars of every recipe, framework and mode that was verified."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=Path, default=runs_directory())
    parser.add_argument("--recipe")
    arguments = parser.parse_args()
    found = found_below(arguments.runs, arguments.recipe)
    if not found:
        parser.error(f"{arguments.runs}: holds no clean verification. Make some with `vigil verify --all`.")
    for (recipe, framework, mode), of_contexts in sorted(found.items()):
        print("\n".join(bars(f"{recipe} {framework} {mode}", of_contexts)), end="\n\n")


if __name__ == "__main__":
    main()
