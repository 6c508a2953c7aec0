"""How far runs of days have come: their curves beside what was published.

    vigil reproduce resnet_cifar --profile paper --framework torch --mode compile    # hours or days; `vigil resume` goes on
    python -m benchmarks.long_runs runs/...-resnet_cifar-paper-...                   # at any time, finished or not

Keeps every evaluation as a raw sample in docs/long-runs/, one file a run, and draws those of all runs, docs/images/long-runs.png.
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runners.contract.protocol.events import read_events
from vigil.documents.invocation import Invocation
from vigil.paths import project_root
from vigil.process.environment import describe_machine

FOLDER = project_root() / "docs" / "long-runs"
PICTURE = project_root() / "docs" / "images" / "long-runs.png"


def samples_of(directory: Path, *, hardware: str) -> dict[str, Any]:
    """Return what a run's first seed has come to. Raises OSError or ValueError for what is no run."""
    invocation = Invocation.read(directory)
    run = directory / invocation.runs[0]
    events = read_events(run)
    spec = json.loads((run / "spec.json").read_text(encoding="utf-8"))
    metric, steps = spec["training"]["metric"]["name"], spec["training"]["steps"]
    environment = next(event["environment"] for event in events if event["kind"] == "environment")
    # A run that was resumed may have evaluated a step twice.
    curve = {event["step"]: event for event in events if event["kind"] == "evaluated"}
    last = max(event["time"] for event in events)
    return {
        "recipe": invocation.recipe.model_dump(mode="json"),
        "context": str(invocation.context),
        "seed": spec["seed"],
        "release": environment["framework_version"],
        "python": environment["python"],
        "hardware": hardware,
        "date": datetime.fromtimestamp(last, timezone.utc).date().isoformat(),
        "steps": steps,
        "metric": metric,
        "published": invocation.targets[0].value if invocation.targets else None,
        "curve": [[step, round(event["epoch"], 3), event["metrics"][metric]] for step, event in sorted(curve.items())],
    }


def line_of(samples: dict[str, Any]) -> str:
    """Return how far a run is, as a row of a table."""
    step, epoch, value = samples["curve"][-1]
    whole = epoch * samples["steps"] / step
    state = "finished" if step == samples["steps"] else f"epoch {epoch:.0f} of {whole:.0f}"
    name = f"{samples['recipe']['name']}, {samples['recipe']['profile']}"
    published = samples["published"] if samples["published"] is not None else "none"
    return f"| {name} | {samples['context']} {samples['release']} | {state} | {value:.2f} | {published} | {samples['date']} |"


def draw(runs: list[dict[str, Any]]) -> None:
    """Draw each run's metric by epoch, and each published value as a line across."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, samples in enumerate(runs):
        _, epochs, values = zip(*samples["curve"], strict=True)
        colour, label = f"C{number}", f"{samples['recipe']['name']}, {samples['context']}, seed {samples['seed']}"
        axes.plot(epochs, values, colour, marker=".", label=label)
        if samples["published"] is not None:
            axes.axhline(samples["published"], color=colour, linestyle="--", label=f"published: {samples['published']}")
        step, epoch, _ = samples["curve"][-1]
        axes.set_xlim(0, max(axes.get_xlim()[1], epoch * samples["steps"] / step))
    axes.set(xlabel="epoch", ylabel=", ".join(dict.fromkeys(samples["metric"] for samples in runs)))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run directories to take up; none: those that are kept")
    arguments = parser.parse_args(argv)
    for directory in arguments.runs:
        samples = samples_of(directory, hardware=describe_machine()["hardware"])
        name = f"{samples['recipe']['name']}-{samples['recipe']['profile']}-{samples['context']}-seed{samples['seed']}.json"
        (FOLDER / name).write_text(json.dumps(samples) + "\n", encoding="utf-8")
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    draw(kept)
    print("| recipe, profile | context | state | value | published | date |\n|---|---|---|--:|--:|---|")
    print("\n".join(map(line_of, kept)))


if __name__ == "__main__":
    main()
