"""`vigil verify my_op.py`: an operator of the user's own, against a plain one in float64."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from reports.operator_text import operator_block
from vigil.cli import options, own_step
from vigil.documents.context import MODES, make_context
from vigil.documents.operator import OperatorVerification
from vigil.errors import UsageError
from vigil.operators.limits import operator_limits
from vigil.operators.verify import SEEDS, verify_operator
from vigil.paths import runs_directory
from vigil.process.side_by_side import available_cores
from vigil.progress import StageDisplay
from vigil.steps.verify import PRECISIONS, framework_of, new_own_directory
from vigil.terminal import answered
from vigil.tracking import import_ahead, upload_or_note


def run(arguments: argparse.Namespace, file: Path) -> int:
    """Verify the operator, show what was found, return 0 reproduced, 1 wrong, 3 could not run, 4 unknown."""
    framework = framework_of(file)
    own_step.refuse_others(arguments, file, framework, not_allowed=("determinism", "jobs", "devices"))
    mode = arguments.mode or ("jit" if framework == "jax" else "eager")  # as the framework is used
    if mode not in MODES:
        raise UsageError(f"--mode: found {mode!r}. Allowed: one of {', '.join(MODES)}.")
    precisions = (
        list(PRECISIONS) if arguments.precision is None else options.names("--precision", arguments.precision, PRECISIONS)
    )
    device = own_step.device_from(arguments)
    several = [1, 2][: len(available_cores())] if device == "cpu" else [1]
    threads = several if arguments.threads is None else options.whole_numbers("--threads", arguments.threads, least=1, most=1024)
    seeds = SEEDS if arguments.seeds is None else options.whole_number("--seeds", arguments.seeds, least=1)
    limits = operator_limits()
    import_ahead()
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        python, recorded = own_step.environment_of(arguments, framework, stack, display)
        asked = own_step.asked_from(arguments, file, framework, python, display)
        directory = new_own_directory(runs_directory(), file, "operator")
        verify_operator(
            asked,
            make_context(framework=framework, mode=mode, precision=precisions[0], device=device),
            directory,
            limits,
            precisions=precisions,
            threads=threads,
            seeds=seeds,
            command=arguments.command,
            release=recorded,
            tell=display.say,
        )
    upload_or_note(directory)
    document = OperatorVerification.read(directory)  # with where in MLflow it is
    options.write_json(arguments, document)
    answered(operator_block(document, directory=str(directory)))
    return document.exit_code
