"""The Markdown page of a measurement: how it was made, where, when, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from benchmarks.throughput.alternate import BARE, BARE_WITH_INPUT, SETTLING_STEPS, STEP, STEP_WITH_INPUT
from benchmarks.throughput.cell import PROFILE, STARTS, Measurement
from benchmarks.throughput.rounds import Ratio
from vigil.documents.context import FRAMEWORKS
from vigil.process.environment import describe_code, describe_machine
from vigil.process.side_by_side import available_cores

GOAL = 0.97
_OTHERS = {
    STEP: "their own step",
    STEP_WITH_INPUT: "their own step with input",
    BARE: "the bare loop",
    BARE_WITH_INPUT: "the bare loop with input",
}
_METHOD = """\
# Benchmarks

Made by `make bench` (`{command}`).

Each runner trains beside others; a ratio is the runner's speed over theirs, below 1 where Vigil costs something.

- **own step**: the runner's own step on twelve batches that lie ready.
  The ratio charges Vigil with its input pipeline, learning rate schedule, loss reporting and heartbeat.
  What the pipeline takes alone, on one thread, is the column **input**, as a share of the runner's step.
- **own step with input**: the runner's own step, each batch made before it, on the same thread.
  The ratio charges Vigil with all but input.
- **two such steps**: a second loop of these beside the first.
  Both are the same, so that a ratio to another which is no farther from 1 tells nothing.
- **bare**: a script of one page without Vigil (`benchmarks/throughput/bare_*.py`), for `resnet_cifar` and `char_gpt`.
  Model, optimizer, batch size, mode, precision and framework are the same.
  Its batches lie ready in memory as tensors of the framework, never augmented, and it looks at no loss.
  The ratio charges Vigil besides with what its conventions cost where a framework's own differ (padding, running variance).
- **bare with input**: the bare loop makes each batch by Vigil's input pipeline before its step, on the same thread.

**Speed.** In one process, {steps} steps of each take turns, {rounds} rounds.
Not counted are the first {settling} steps after each turn, and a first round, in which all compile.
The ratio is taken in each round; shown are its median and quartiles over the rounds.
All share the runner's process, and with it the runner's thread settings.

**Start.** From starting a process to the end of its first step, compilation included.
Each is a process of its own; they take turns, and the median of {starts} is shown.
What a framework keeps on disk between processes is there from the second on.
The runner also makes its data set and, in JAX's compile mode, compiles its evaluation."""


def render(measurements: Sequence[Measurement], *, pipelines: Mapping[str, float], rounds: int, steps: int, command: str) -> str:
    """Return the page.

    Args:
        pipelines: recipe -> images a second of its input pipeline alone.
    """
    method = _METHOD.format(command=command, rounds=rounds, steps=steps, settling=SETTLING_STEPS, starts=STARTS)
    parts = [
        method,
        _where(measurements),
        _table(measurements, pipelines),
        _summary(measurements),
        _pipeline(measurements, pipelines),
    ]
    return "\n\n".join(parts) + "\n"


def _where(measurements: Sequence[Measurement]) -> str:
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
        f"profile {PROFILE}, one CPU device",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _table(measurements: Sequence[Measurement], pipelines: Mapping[str, float]) -> str:
    lines = [
        "| recipe | framework | mode | precision | images/s | input "
        "| to own step | to own step with input | to bare | to bare with input | two such steps | start | bare start |",
        "|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for entry in measurements:
        context, speed, start = entry.context, entry.throughput, entry.start
        cells = [entry.recipe, context.framework, context.mode, context.precision]
        if speed is None or start is None:
            word = f"unsupported: {entry.unsupported}" if entry.unsupported else "failed"
            cells += [word, "", "", "", "", "", "", "", ""]
        else:
            cells += [f"{speed.images_per_second:.0f}" if speed.images_per_second >= 10 else f"{speed.images_per_second:.1f}"]
            cells += [f"{100.0 * speed.images_per_second / pipelines[entry.recipe]:.1f} %"]
            cells += [*(_shown(speed.ratios.get(name)) for name in _OTHERS), _shown(speed.noise)]
            cells += [f"{start.runner_seconds:.1f} s", "-" if start.bare_seconds is None else f"{start.bare_seconds:.1f} s"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _shown(ratio: Ratio | None) -> str:
    return "-" if ratio is None else f"{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def _summary(measurements: Sequence[Measurement]) -> str:
    measured = [entry.throughput.ratios for entry in measurements if entry.throughput]
    lines = []
    for name, words in _OTHERS.items():
        ratios = [of[name].median for of in measured if name in of]
        if ratios:
            reached = sum(ratio >= GOAL for ratio in ratios)
            lines.append(f"- Beside {words} {reached} of {len(ratios)} reach the goal, a ratio of {GOAL} or better.")
    return "\n".join(lines)


def _pipeline(measurements: Sequence[Measurement], pipelines: Mapping[str, float]) -> str:
    lines = [
        "| input pipeline alone, one thread | images/s | fastest runner | images/s | times as fast |",
        "|---|--:|---|--:|--:|",
    ]
    for recipe, images_per_second in pipelines.items():
        speeds = {
            entry.context.text: entry.throughput.images_per_second
            for entry in measurements
            if entry.throughput and entry.recipe == recipe
        }
        fastest = max(speeds, default=None, key=lambda text: speeds[text])
        cells = [recipe, f"{images_per_second:.0f}"]
        if fastest is None:
            cells += ["none was measured", "", ""]
        else:
            cells += [fastest, f"{speeds[fastest]:.0f}", f"{images_per_second / speeds[fastest]:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
