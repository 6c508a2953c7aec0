"""`vigil trace my_script.py`: is it bit for bit the same each time it runs, and where does it part."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reports.trace_text import trace_block
from vigil.cli import options
from vigil.cli.own_step import interpreter
from vigil.errors import UsageError
from vigil.paths import expanded, runs_directory
from vigil.progress import StageDisplay
from vigil.steps.verify import new_own_directory
from vigil.terminal import answered
from vigil.trace.processes import Script
from vigil.trace.trace import RUNS, trace

EXIT_CODES = "exit codes: 0 the same, 1 parts, 2 wrong usage, 3 could not run"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "trace",
        help="a training script, run again: is it bit for bit the same, where does it part",
        description="Run a training script several times in fresh processes and hold what it computes to each other, record by "
        "record: what modules and layers give, gradients, parameters. The script need not be changed. Where two runs part, say "
        "which operator it is and what makes it go away. What follows -- goes to the script.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("script", metavar="SCRIPT", help="a Python script that uses PyTorch, TensorFlow, Keras or JAX")
    parser.add_argument(
        "--runs", metavar="N", help=f"how often it is run at most, until two runs part (default: {RUNS}; at least 2)"
    )
    parser.add_argument("--python", metavar="PATH", help="the interpreter that the script is run with (default: Vigil's own)")
    parser.add_argument("--timeout", metavar="SECONDS", help="after how long a run is ended (default: never)")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Trace the script, show where it parts, return 0 the same, 1 parts."""
    file = expanded(arguments.script)
    if not file.is_file():
        raise UsageError(f"{arguments.script}: no such file. Allowed: a Python script.")
    runs = options.whole_number("--runs", arguments.runs or str(RUNS), least=2)
    python = interpreter("--python", arguments.python) if arguments.python else Path(sys.executable)
    seconds = options.seconds("--timeout", arguments.timeout) if arguments.timeout else None
    script = Script(file, tuple(arguments.of_script), python, seconds)
    with StageDisplay() as display:
        directory = new_own_directory(runs_directory(), file, "trace")
        document = trace(script, directory, runs=runs, command=arguments.command, tell=display.say)
    options.write_json(arguments, document)
    answered(trace_block(document, directory=str(directory)))
    return document.exit_code
