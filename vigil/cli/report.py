"""`vigil report`: all that was measured as one static site, which opens from disk."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path

from vigil.cli import options
from vigil.cli.answers import ReportAnswer
from vigil.errors import EXIT_REPRODUCED
from vigil.paths import chosen_reference_directory, expanded, reference_directory, report_directory, runs_directory
from vigil.redaction import redact

LOCAL = "http://127.0.0.1:5000"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("report", help="write the results as one static site that opens from disk")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to (default: reports/html in the checkout)")
    parser.add_argument("--night", metavar="ID", help="the night to show, as of its end (default: the newest)")
    options.add_json(parser, what="what was written,")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the site and say where it is; what it shows is no failure of this command."""
    # pandas takes a second to import, and no other verb waits for them.
    from reports.site.pages import write_site
    from reports.site.sources import gather
    from vigil.tracking import tracking_uri
    from vigil.tracking.history import load_history

    sources = gather(
        load_history(),
        runs=runs_directory(),
        references=reference_directory(),
        own_references=chosen_reference_directory(),
        now=datetime.now(timezone.utc),
        night_id=arguments.night,
        mlflow=_mlflow_pages(tracking_uri()),
    )
    out = arguments.out if arguments.out is not None else report_directory()
    written = write_site(sources, expanded(out).resolve())
    for remark in sources.remarks:
        print(f"note: {remark}")
    print(f"{written.pages} pages, {written.cells} cells: open {written.index}")
    facts = {"index": str(written.index), "pages": written.pages, "cells": written.cells, "remarks": sources.remarks}
    options.write_json(arguments, ReportAnswer(exit_code=EXIT_REPRODUCED, **facts))
    return EXIT_REPRODUCED


def _mlflow_pages(uri: str) -> str:
    """Return where MLflow's pages are: of a server its own, of a local store those that `vigil dashboard` shows."""
    return redact(uri).rstrip("/") if uri.startswith(("http://", "https://")) else LOCAL
