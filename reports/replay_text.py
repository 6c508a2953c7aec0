"""What a replay ends with, as text: the step, the first tensor that is not finite, its inputs, float64, and what to do next."""

from __future__ import annotations

from reports.step_text import row, wrapped
from vigil.documents.replay import FOUND, Replay, TensorRange
from vigil.progress import duration

_MOST_INPUTS, _FARTHEST = 8, 3


def replay_block(document: Replay, *, directory: str) -> str:
    """Return the block of a replay, the answer first. Every number in it stands in replay.json too."""
    fault = "PLANTED FAULT, " if document.fault else ""
    lines = wrapped(f"{document.state.upper()}, step {document.step}: ", f"{fault}{document.reason}", indent=2)
    lines += row("run", f"{document.recipe}, {document.context}, seed {document.seed}")
    if document.fault:
        lines += row("PLANTED FAULT", document.fault.name)
    lines += row("replayed", _way(document))
    losses = document.losses
    told = {"run": losses.recorded, "replayed": losses.replayed, "from its state alone": losses.alone, "looked at": losses.looked}
    lines += row("loss", ", ".join(f"{name} {value:.9g}" for name, value in told.items() if value is not None))
    if origin := document.origin:
        for place, each in enumerate(origin.inputs[:_MOST_INPUTS]):
            lines += row("" if place else "its inputs", _range(each))
        if origin.then_nan:
            lines += row("then", f"the first NaN is in {origin.then_nan}")
    if document.float64:
        lines += row("float64", document.float64.reason)
    if not document.origin:
        known = [each for each in document.tensors if each.distance is not None]
        farthest = sorted(known, key=lambda each: -(each.distance or 0.0))[:_FARTHEST]
        for place, tensor in enumerate(farthest):
            lines += row("" if place else "from float64", f"{tensor.tensor}: {tensor.distance:.2g} of its norm")
    for remark in document.remarks:
        lines += row("remark", remark)
    lines += row("took", f"{duration(document.retraced.seconds)} to the step, {duration(document.seconds)} with all")
    lines += row("directory", directory)
    if document.state == FOUND and document.float64 and document.float64.cause == "framework":
        lines += [f"{'go on with':<17}vigil narrow {directory}"]
    return "\n".join(lines)


def _way(document: Replay) -> str:
    way = document.retraced
    start = f"the checkpoint of step {way.start}" if way.start else "step 0"
    if way.first_different is None:
        losses = "the loss of the step is" if way.equal == 1 else f"all {way.equal} losses on the way are"
        return f"from {start}: {losses} the run's, bit for bit"
    return (
        f"from {start}, NOT bit for bit: {way.equal} of {way.steps} losses are the run's, that of step {way.first_different} is "
        f"{way.replayed:.9g} and was {way.recorded:.9g}. This context does not come again to the bit"
    )


def _range(each: TensorRange) -> str:
    finite = "finite" if not each.not_finite else f"{each.not_finite} of {each.elements} not finite"
    span = f", {each.low:.3g} to {each.high:.3g}" if each.low is not None and each.high is not None else ""
    return f"{each.tensor}: {finite}{span}"
