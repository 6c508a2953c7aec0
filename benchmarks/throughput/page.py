"""The Markdown page of a measurement: how it was made, where, when, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from benchmarks.throughput.alternate import SETTLING_STEPS
from benchmarks.throughput.cell import PROFILE, RECIPE, STARTS, Measurement
from vigil.documents.context import FRAMEWORKS
from vigil.process.environment import describe_code, describe_machine
from vigil.process.side_by_side import available_cores

GOAL = 0.97
_METHOD = """\
# Benchmarks

Made by `make bench` (`{command}`).

Each runner trains against a bare loop, a script of one page that knows nothing of Vigil (`benchmarks/throughput/bare_*.py`).
Model, optimizer, batch size, mode, precision and framework are the same.
The bare loop's batches lie ready in memory as tensors of the framework, never augmented, and it looks at no loss.
So the ratio charges Vigil with all of its input pipeline, learning rate schedule, loss reporting and heartbeat.
It also charges what Vigil's conventions cost where a framework's own differ (padding, running variance).

**Speed.** In one process, {steps} steps of the one and {steps} of the other take turns, {rounds} rounds.
Not counted are the first {settling} steps after each turn, and a first round, in which both compile.
The ratio is taken in each round; shown are its median and quartiles over the rounds.
The bare loop shares the runner's process, and with it the runner's thread settings.

**Start.** From starting a process to the end of its first step, compilation included.
Each is a process of its own; they take turns, and the median of {starts} is shown.
What a framework keeps on disk between processes is there from the second on.
The runner also makes its data set and, in JAX's compile mode, compiles its evaluation."""


def render(
    measurements: Sequence[Measurement], *, pipeline: float, batch_size: int, rounds: int, steps: int, command: str
) -> str:
    """Return the page.

    Args:
        pipeline: images a second of the input pipeline alone.
    """
    method = _METHOD.format(command=command, rounds=rounds, steps=steps, settling=SETTLING_STEPS, starts=STARTS)
    parts = [
        method,
        _where(measurements, batch_size),
        _table(measurements),
        _summary(measurements),
        _pipeline(measurements, pipeline),
    ]
    return "\n\n".join(parts) + "\n"


def _where(measurements: Sequence[Measurement], batch_size: int) -> str:
    machine, code = describe_machine(), describe_code()
    versions = {entry.context.framework: entry.framework_version for entry in measurements if entry.framework_version}
    software = ", ".join(f"{name} {versions[name]}" for name in FRAMEWORKS if name in versions)
    commit = f"commit {code.commit[:12]}{' with changes' if code.dirty else ''}" if code.commit else "no commit"
    facts = [
        date.today().isoformat(),
        f"{machine['hardware']}, {len(available_cores())} in use",
        machine["system"],
        f"Python {machine['python']}",
        software,
        commit,
        f"recipe {RECIPE}, profile {PROFILE}, batch {batch_size}, one CPU device",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _table(measurements: Sequence[Measurement]) -> str:
    lines = [
        "| framework | mode | precision | bare images/s | runner images/s | ratio [quartiles] | bare start | runner start |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for entry in measurements:
        context, speed, start = entry.context, entry.throughput, entry.start
        cells = [context.framework, context.mode, context.precision]
        if speed is None or start is None:
            word = f"unsupported: {entry.unsupported}" if entry.unsupported else "failed"
            cells += [word, "", "", "", ""]
        else:
            cells += [
                f"{speed.bare_images_per_second:.0f}",
                f"{speed.runner_images_per_second:.0f}",
                f"{speed.ratio:.3f} [{speed.ratio_low:.3f}, {speed.ratio_high:.3f}]",
                f"{start.bare_seconds:.1f} s",
                f"{start.runner_seconds:.1f} s",
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _summary(measurements: Sequence[Measurement]) -> str:
    ratios = [entry.throughput.ratio for entry in measurements if entry.throughput]
    return f"{sum(ratio >= GOAL for ratio in ratios)} of {len(ratios)} reach the goal, a ratio of {GOAL} or better."


def _pipeline(measurements: Sequence[Measurement], images_per_second: float) -> str:
    lines = ["| input pipeline alone, one thread | fastest runner | times as fast |", "|--:|--:|--:|"]
    fastest = max(
        (entry for entry in measurements if entry.throughput),
        default=None,
        key=lambda entry: entry.throughput.runner_images_per_second,
    )
    if fastest is None:
        lines.append(f"| {images_per_second:.0f} images/s | none was measured | |")
    else:
        speed = fastest.throughput.runner_images_per_second
        cells = [f"{images_per_second:.0f} images/s", f"{speed:.0f} images/s ({fastest.context.text})"]
        lines.append(f"| {' | '.join(cells)} | {images_per_second / speed:.1f} |")
    return "\n".join(lines)
