"""What of a band is the seed, and what is rounding: runs of some seeds, each with twins whose weights begin moved by rounding.

    python -m benchmarks.determinism_range run resnet_cifar --framework torch    # keeps docs/determinism-range.json
    python -m benchmarks.determinism_range page     # prints the table, and draws docs/images/determinism-range.png

A twin is what any change makes of a run that moves bits and nothing else: other kernels, threads or devices.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from reports.tables import markdown_table
from runners.contract.kinds.weights import initial_state
from vigil.data.official import ensure_data
from vigil.determinism.judge import twin_of
from vigil.determinism.trial import Bench, run_trial
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.errors import CannotRun
from vigil.paths import project_root, runs_directory
from vigil.process.environment import describe_machine
from vigil.process.side_by_side import available_cores
from vigil.recipes.loading import identity_of, load_recipe
from vigil.steps.verify import new_own_directory

SAMPLES = project_root() / "docs" / "determinism-range.json"
PICTURE = project_root() / "docs" / "images" / "determinism-range.png"
_POWER, _ERROR = 0.9, 0.01
_COUNTS = (1, 3, 5, 10)


class Parts(NamedTuple):
    """Standard deviations of a metric: of the seed, of rounding, of both; rounding's share of the variance, with its interval."""

    seed: float
    rounding: float
    both: float
    share: float
    low: float
    high: float


def parts_of(values: np.ndarray) -> Parts:
    """Take a metric apart into seed and rounding, by a one-way analysis of variance with random effects.

    The interval of the share is exact for normal values (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6).

    Args:
        values: [seed, twin], the metric of each run.
    """
    seeds, twins = values.shape
    within = float(values.var(axis=1, ddof=1).mean())
    between = twins * float(values.mean(axis=1).var(ddof=1))
    seed = max(0.0, (between - within) / twins)
    f = between / within
    degrees = seeds - 1, seeds * (twins - 1)
    # The share of the seed is (F' - 1) / (F' - 1 + twins), for F' = F over a quantile of F.
    seed_shares = [f / stats.f.ppf(quantile, *degrees) - 1.0 for quantile in (0.975, 0.025)]
    low, high = (1.0 - max(0.0, each) / (max(0.0, each) + twins) for each in reversed(seed_shares))
    both = seed + within
    return Parts(seed**0.5, within**0.5, both**0.5, within / both, low, high)


def seen(deviation: float, seeds: int) -> float:
    """Return the change of a mean that is seen nine times in ten, of which a paired difference has this deviation.

    At a false alarm in a hundred, two-sided, with the deviation known: the band's is known from many runs.
    """
    return float((stats.norm.ppf(1.0 - _ERROR / 2) + stats.norm.ppf(_POWER)) * deviation / seeds**0.5)


def measure(name: str, framework: str, *, seeds: int, twins: int) -> dict[str, Any]:
    """Train each seed as it is and with twins, in turns. Raises CannotRun where a run does not come to its end."""
    recipe = load_recipe(name)
    training, context = recipe.resolve("quick"), make_context(framework=framework, mode="jit", precision="fp32")
    directory = new_own_directory(runs_directory(), Path(f"{name}-{context.text}"), "determinism-range")
    data = ensure_data(training, progress=lambda done, total: None)
    values, environment = np.zeros((seeds, twins + 1)), {}
    for seed in range(seeds):
        bench = Bench(identity_of(recipe, "quick"), training, context, directory, data, seed=seed)
        state = initial_state(training, seed=seed)
        for draw in range(twins + 1):
            moved = (twin_of(state, context.precision, draw=draw), 0) if draw else None
            # On one core: two threads of PyTorch wait for each other where other work goes on beside them.
            trial = run_trial(bench, f"seed {seed} twin {draw}", checkpoint=moved, cores=available_cores()[:1])
            if trial.state is None:
                raise CannotRun(f"{trial.directory}: {trial.failure.message if trial.failure else 'no final state'}")
            values[seed, draw] = trial.record.metric.value
            environment = trial.record.environment
            print(f"seed {seed}, twin {draw}: {values[seed, draw]:.2f}", flush=True)
    return {
        "recipe": bench.recipe.model_dump(mode="json"),
        "context": context.text,
        "release": str(environment.get("framework_version")),
        "hardware": str(describe_machine().get("hardware")),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "values": values.tolist(),
    }


def page(samples: dict[str, Any]) -> str:
    """Return what was measured as Markdown."""
    parts = parts_of(np.array(samples["values"]))
    seeds, runs = np.array(samples["values"]).shape
    first = [
        ("another seed", f"{parts.seed:.2f}"),
        ("rounding alone", f"{parts.rounding:.2f}"),
        ("both", f"{parts.both:.2f}"),
    ]
    root = 2.0**0.5
    second = [
        (str(count), f"{seen(root * parts.both, count):.2f}", f"{seen(root * parts.rounding, count):.2f}", "any that moves a bit")
        for count in _COUNTS
    ]
    share = f"{100 * parts.share:.0f} % [{100 * parts.low:.0f}, {100 * parts.high:.0f}]"
    name = f"{samples['recipe']['name']}, profile {samples['recipe']['profile']}, {samples['context']}"
    lines = [
        *markdown_table(("what is another", "standard deviation, points"), first), "",
        f"Rounding's share of the variance is {share}.", "",
        *markdown_table(("seeds", "other seeds than before", "the same seeds", "the same seeds, and bits that repeat"), second),
        "",
        f"Of {name}, {samples['release']}: {seeds} seeds with {runs} runs each; {samples['hardware']}, {samples['date']}; "
        "by `python -m benchmarks.determinism_range`.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def draw(samples: dict[str, Any], path: Path) -> None:
    """Draw the runs of each seed, and beside them all together."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    values = np.array(samples["values"])
    figure, (axes, side) = pyplot.subplots(1, 2, sharey=True, figsize=(8, 3.6), width_ratios=(4, 1), layout="constrained")
    for seed, row in enumerate(values):
        axes.plot([seed, seed], [row.min(), row.max()], color="#9aa4b2", linewidth=1, zorder=1)
        axes.scatter([seed] * len(row), row, s=26, color="#2f6fde", zorder=2)
    axes.set(xlabel="seed; its points are twins, moved by rounding alone", ylabel="test accuracy, %", xticks=range(len(values)))
    side.hist(values.ravel(), bins=10, orientation="horizontal", color="#2f6fde")
    side.set(xlabel="runs")
    for each in (axes, side):
        each.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or print the page and draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.determinism_range", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run", help="train seeds and twins")
    running.add_argument("recipe")
    running.add_argument("--framework", choices=FRAMEWORKS, required=True)
    running.add_argument("--seeds", type=int, default=8)
    running.add_argument("--twins", type=int, default=2)
    actions.add_parser("page", help="print the table, draw the picture")
    given = parser.parse_args(arguments)
    if given.action == "run":
        samples = measure(given.recipe, given.framework, seeds=given.seeds, twins=given.twins)
        SAMPLES.write_text(json.dumps(samples, indent=1) + "\n", encoding="utf-8")
        return 0
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))
    draw(samples, PICTURE)
    print(page(samples), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
