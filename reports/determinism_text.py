"""The block that `vigil determinism` ends with: the answer, run to run, what it costs, and each axis."""

from __future__ import annotations

from reports.step_text import row, wrapped
from vigil.documents.determinism import DIFFERENT, FAILED, ROUNDING, SAME, Axis, Determinism, RunToRun, rule_of_three
from vigil.progress import duration
from vigil.terminal import some_of

_MOST = 5
_WORDS = {SAME: "the same bits", ROUNDING: "differs by rounding", DIFFERENT: "DIFFERENT", FAILED: "failed"}


def determinism_block(document: Determinism, *, directory: str) -> str:
    """Return the block, the answer first. Every number in it stands in determinism.json too."""
    fault = "PLANTED FAULT, " if document.fault else ""
    release = f"{document.context.framework} {document.framework_version or '(its version was not told)'}"
    what = f"{document.recipe.name}, profile {document.recipe.profile}, {document.context.text}, {release}"
    lines = wrapped(f"{_headline(document)}: ", f"{fault}{what}: {answer(document)}", indent=2)
    for each in document.run_to_run:
        lines += row("with switch" if each.is_on else "as it is", run_to_run(each, document))
    lines += row("the switch", document.switch)
    if cost := document.cost:
        interval = f"[{cost.low:.2f}, {cost.high:.2f}]"
        lines += row("what it costs", f"a step takes {cost.ratio:.2f} times as long {interval}, of {cost.pairs} pairs")
    for axis in document.axes:
        lines += row(axis.name, axis_text(axis))
    for other in document.others:
        told = "the same bits" if other.same else f"other bits: the last loss is {other.losses[1]}, here {other.losses[0]}"
        lines += row("elsewhere", f"{other.hardware}: {told}")
    if document.floor is not None and document.twins:
        lines += row(
            "rounding", f"puts the final weights up to {document.floor:.2g} of their norm apart in {document.steps} steps, of "
            f"{document.twins} runs whose first weights were moved by it",
        )  # fmt: skip
    lines += row("took", f"{duration(document.seconds)}, {len(document.runs)} runs of {document.steps} steps")
    lines += row("run", directory)
    return "\n".join(lines)


def _headline(document: Determinism) -> str:
    if document.is_stable is None:
        return "COULD NOT RUN"
    return "PARTS" if document.exit_code else "THE SAME"


def answer(document: Determinism) -> str:
    """Return the answer in a sentence."""
    if document.is_stable is None:
        return "too few runs came to an end to compare"
    off, on = document.run_to_run
    if not document.is_stable:
        cured = f"{on.distinct} of {on.runs - on.failed}" if on.runs > on.failed else "it fails"
        return f"{off.distinct} distinct results of {off.runs - off.failed} runs that differ in nothing; with the switch {cured}"
    wrong = [axis.name for axis in document.axes if axis.answer == DIFFERENT]
    moved = [axis.name for axis in document.axes if axis.answer == ROUNDING]
    text = f"{off.runs - off.failed} runs that differ in nothing have the same bits"
    if wrong:
        text += f"; more than rounding comes of {some_of(wrong, _MOST)}"
    return text + (f"; rounding alone of {some_of(moved, _MOST)}" if moved else "")


def run_to_run(each: RunToRun, document: Determinism) -> str:
    """Return how many runs gave how many results, with a result of each kind."""
    finished = each.runs - each.failed
    if not finished:
        failure = next((run.failure for run in document.runs if run.is_on == each.is_on and run.failure), None)
        return f"none of {each.runs} runs came to an end: {failure.message.splitlines()[0] if failure else 'interrupted'}"
    shown = next(run for run in document.runs if run.is_on == each.is_on and run.state_sha256)
    assert shown.state_sha256 is not None
    text = f"{each.distinct} distinct {'result' if each.distinct == 1 else 'results'} of {finished} runs"
    if each.distinct == 1 and rule_of_three(finished) < 1.0:
        text += f" (one that shows in more than {rule_of_three(finished):.0%} of runs would have been seen)"
    return f"{text}; sum of weights {shown.weights:.9g}, SHA-256 {shown.state_sha256[:12]}, last loss {shown.loss:.9g}"


def axis_text(axis: Axis) -> str:
    """Return what came of an axis."""
    text = f"{axis.what}: {_WORDS.get(axis.answer, axis.answer)}"
    if axis.distance is not None:
        floors = f", {axis.floors:.2g} of what rounding makes" if axis.floors is not None else ""
        text += f" ({axis.distance:.2g} of the norm{floors})"
    return f"{text}; {axis.says}" if axis.says else text
