"""The first rung of a reproduction: one training step, verified before the first seed is trained.

It costs seconds, and a step that is wrong says where, which the metric never does. Training goes on whatever it finds: the
metric's verdict is the invocation's, and one that says `reproduced` or `unknown` is taken back by a wrong step.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from vigil.documents.failure import Failure
from vigil.documents.invocation import FirstRung, Invocation
from vigil.documents.judgement import Judgement
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict, Verification
from vigil.errors import VigilError
from vigil.process.recording import spec_of
from vigil.runs.watch import Watch

DIRECTORY = "verify"


def verify_first(directory: Path, invocation: Invocation, *, watch: Watch, python: Path | None = None) -> FirstRung:
    """Verify an invocation's context in a directory of its own below the invocation's; return the summary that is recorded.

    Whatever an earlier, interrupted attempt left there is removed. What cannot be verified is `unknown`, with the reason.
    """
    # Only here: they load the oracle, and a run without a first rung has no use for it.
    from vigil.verify.golden import load_golden, path_of
    from vigil.verify.limits import load_limits
    from vigil.verify.standards import Standard, verify_context

    recipe, place = invocation.recipe, directory / DIRECTORY
    spec = spec_of(directory / invocation.runs[0])
    data_directory = Path(spec.data_directory) if spec.data_directory else None
    shutil.rmtree(place, ignore_errors=True)
    try:
        path, source = path_of(recipe.name, recipe.profile, source=invocation.source), invocation.source
        tape = load_golden(path, recipe=recipe, data_directory=data_directory, source=source)
        document = verify_context(
            Standard(tape, load_limits(recipe.name, model=tape.training["model"]["name"], source=source)),
            invocation.context,
            place,
            quick=True,
            keep_tensors=watch.keep_tensors,
            command=invocation.command,
            data_directory=data_directory,
            fault=spec.fault,
            cores=list(spec.cores) if spec.cores else None,
            progress_timeout=watch.progress_timeout,
            stop=watch.stop,
            release=invocation.release,
            python=python,
            on_event=watch.on_verify(place),
        )
    except VigilError as error:
        watch.on_unverified(str(error), place)
        return FirstRung.not_climbed(StepVerdict(name=Verdict.UNKNOWN, reason=str(error)))
    except KeyboardInterrupt:
        failure = Failure(category="interrupted", phase=DIRECTORY, step=0, message="stopped by the user", log_tail=())
        return FirstRung(verdict=StepVerdict(name=failure.verdict, reason=failure.message, failure=failure))
    if document.verdict.name is not Verdict.FAILED_INTERRUPTED:
        watch.on_verified(document, place)
    return FirstRung(
        verdict=document.verdict,
        origin=document.origin,
        worst=document.worst,
        seconds=document.seconds,
        tensors=len(document.tensors) or None,
        tensors_out=document.tensors_out if document.tensors else None,
        path=f"{DIRECTORY}/{Verification.FILE_NAME}",
    )


def with_first_rung(judged: Judgement, rung: FirstRung | None) -> Judgement:
    """Return the verdict of the metric, taken back if it is `reproduced` or `unknown` while a step is wrong or crashed."""
    step = rung.verdict if rung else None
    if rung is None or step is None or (name := judged.name.after_step(step.name)) is judged.name:
        return judged
    though = "the metric cannot be judged" if judged.name is Verdict.UNKNOWN else "the metric lies in its band"
    if step.name.is_failed:
        return judged.replace(
            name=name, reason=f"the verification of one training step crashed, although {though}: {step.reason}"
        )
    return judged.replace(name=name, reason=f"one training step is wrong, although {though}: {rung.text}")
