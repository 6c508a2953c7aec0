"""`vigil drift [RECIPE]`: what is drifting, since which night and release, and how sure that is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vigil.cli import options
from vigil.cli.answers import DriftAnswer
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN, CannotRun, UsageError, nearest
from vigil.paths import chosen_reference_directory, reference_directory, runs_directory
from vigil.tracking import EXPERIMENTS, TrackingUnavailable, held_looks, record_drift, tracking_uri

if TYPE_CHECKING:
    from vigil.drift.findings import DriftReport


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "drift",
        help="what is drifting over nights and releases, since when, how sure",
        epilog="exit codes: 0 nothing drifts, 1 something does, 2 wrong usage, 3 no history, "
        "4 nothing found, but not everything gives values",
    )
    parser.add_argument("recipe", metavar="RECIPE", nargs="?", help="the name of a recipe in the history (default: every one)")
    parser.add_argument("--profile", help="only this profile (default: every profile)")
    parser.add_argument("--all-runs", action="store_true", help="runs of no night too, each as of the night of its day")
    parser.add_argument("--include-faults", action="store_true", help="runs with a planted fault too, to see whether it is found")
    options.add_json(parser, what="everything that was found")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table, and return 1 if anything drifts."""
    # pandas and the tracker take a second to import, which no other verb should wait for.
    from reports.drift_table import show
    from vigil.drift.findings import detect, something_drifts
    from vigil.drift.reference_samples import References, rows_in
    from vigil.tracking.history import load_history

    history = load_history()
    samples, verifications = history.samples, history.verifications
    for column in ("recipe", "profile"):
        name = getattr(arguments, column)
        if name is not None:
            _check_known(samples, column, name)
            samples, verifications = samples[samples[column] == name], verifications[verifications[column] == name]
    report = detect(
        samples,
        verifications,
        reference_for=References(rows_in(reference_directory(), chosen_reference_directory())),
        include_faults=arguments.include_faults,
        all_runs=arguments.all_runs,
    )
    beside = _beside()
    if not report.looked_at["cells"]:
        raise CannotRun(" ".join([_no_history(report.looked_at), *(f"{each[0].upper()}{each[1:]}." for each in beside)]))
    as_of = [] if history.as_of is None else [f"history as of {history.as_of}"]
    skipped = [f"{history.skipped} runs left out: a value in the tracker is not what it should be"] if history.skipped else []
    title = " ".join(["drift", *filter(None, (arguments.recipe, arguments.profile))])
    show(report, title=title, remarks=[*as_of, *skipped, *history.remarks, *beside])
    code = EXIT_UNKNOWN if report.gaps or not report.looked_at["tested"] else EXIT_REPRODUCED
    code = EXIT_OUTSIDE if something_drifts(report) else code
    kept_at, remarks = None if history.as_of is None else str(history.as_of), (*skipped, *history.remarks, *beside)
    options.write_json(arguments, DriftAnswer(exit_code=code, as_of=kept_at, remarks=remarks, **report.as_json()))
    if not (arguments.recipe or arguments.profile or arguments.all_runs or arguments.include_faults):
        print("".join(f"{remark}\n" for remark in _tell_timelines(report)), end="")
    return code


def _beside() -> list[str]:
    """Return that users' own files and audits are no part of drift, where there are any: here, or in MLflow."""
    try:
        held = held_looks(tracking_uri())
    except TrackingUnavailable:  # what is cached is shown then
        held = set()
    runs = runs_directory()
    if not held and not any(any(runs.glob(f"*/{kind.document.FILE_NAME}")) for kind in EXPERIMENTS.values()):
        return []
    return ["steps and operators of your own, and audits, are no part of drift: `vigil dashboard` and `vigil report` show them"]


def bring_drift() -> list[str]:
    """Look for drift in the whole history, and let MLflow show what was found; return a remark where that could not be."""
    from vigil.drift.findings import detect
    from vigil.drift.reference_samples import References, rows_in
    from vigil.tracking.history import load_history

    try:
        history = load_history()
        references = References(rows_in(reference_directory(), chosen_reference_directory()))
        found = detect(history.samples, history.verifications, reference_for=references)
    except CannotRun as error:
        return [f"drift was not looked for: {error}"]
    return _tell_timelines(found)


def _tell_timelines(report: DriftReport) -> list[str]:
    """Write what was found over the whole history into MLflow, where `vigil dashboard` shows it; return a remark if it cannot."""
    from vigil.drift.timeline_tags import pooled_drifts, timeline_tags

    try:
        record_drift(tracking_uri(), timeline_tags(report), pools=pooled_drifts(report))
    except CannotRun as error:
        return [f"drift is not in MLflow: {error}"]
    return []


def _check_known(samples: Any, column: str, name: str) -> None:
    known = sorted(samples[column].unique())
    if known and name not in known:
        raise UsageError(f"{column}: found {name!r}. Allowed: {', '.join(known)}, which the history has.{nearest(name, known)}")


def _no_history(seen: Mapping[str, Any]) -> str:
    left = []
    if seen["runs_outside_nights"]:
        left.append(f"{seen['runs_outside_nights']} runs are of no night: take them with --all-runs")
    if seen["runs_with_fault"]:
        left.append(f"{seen['runs_with_fault']} runs have a planted fault: take them with --include-faults")
    if seen["without_any_value"]:
        left.append(f"{seen['without_any_value']} cells never gave a value")
    hint = "; ".join(left) or "run `vigil nightly`, or upload with `vigil sync` what the tracker has not seen"
    return f"no history: no night has a run with a value; {hint}."
