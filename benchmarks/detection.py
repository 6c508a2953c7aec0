"""What the quick profile sees: false alarms on clean runs, planted faults, and ablations of the recipe.

    python -m benchmarks.detection clean --jobs 2         # 10 seeds a framework, each judged alone
    python -m benchmarks.detection faults --jobs 2        # each example fault in each framework, 3 seeds judged together
    python -m benchmarks.detection ablations --jobs 2     # each change of the recipe, PyTorch, 3 seeds judged together
    python -m benchmarks.detection faults --recipe moco_lite --framework torch --only keys_not_shuffled

Each prints a Markdown table with hardware, versions, seeds and date; the raw runs stay under runs/.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from datetime import date
from pathlib import Path
from typing import Any

from reports.block import dates
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.documents.invocation import Invocation
from vigil.documents.judgement import Judgement, shown
from vigil.documents.record import Record
from vigil.documents.verdict import Verdict
from vigil.paths import project_root, reference_directory, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.environment import describe_machine, installed_frameworks
from vigil.recipes.loading import Recipe, identity_of, load_recipe
from vigil.references.exact import judge_runs
from vigil.references.samples import load_rows
from vigil.runs.plan import Request, targets_of
from vigil.runs.sweep import sweep

FAULTS = {
    "resnet_cifar": ("weight_decay_ignored", "batch_norm_momentum", "weight_gradient_halved"),
    "moco_lite": ("keys_not_shuffled", "key_momentum_zero", "queue_not_updated", "temperature_twice", "key_gradient_leaks"),
    "tiny_mask_rcnn": (
        "roi_align_half_pixel",
        "nms_at_threshold",
        "box_delta_weights_missing",
        "mask_class_channel",
        "sampling_unbalanced",
        "objectness_of_ignored",
    ),
    "digits_mlp": ("dense_slightly_large", "relu_leaks", "squares_doubled", "plain_for_nesterov"),
    "char_gpt": ("attention_sees_next", "tied_gradient_lost", "positions_shifted", "adamw_decay_ignored", "clipping_ignored"),
}


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs that are judged together: a name, what was planted, and the recipe as it was changed."""

    name: str
    framework: str
    recipe: Recipe
    fault: str | None
    seeds: tuple[int, ...]


def changed(recipe: Recipe, **sections: dict[str, Any]) -> Recipe:
    """Return the recipe with keys of `quick`, `augmentation` or `batch_norm` replaced."""
    content = recipe.model_dump(mode="json", by_alias=True)
    content["profiles"]["quick"] |= sections.get("quick", {})
    for block, name in (("input", "augmentation"), ("model", "batch_norm")):
        if name in sections:
            content[block][name] |= sections[name]
    return type(recipe).model_validate(content, by_alias=True)


def ablations(recipe: Recipe, seeds: tuple[int, ...]) -> list[Group]:
    """Return the recipe with one thing taken away or wrong at a time."""
    rate = recipe.profiles["quick"].learning_rate.model_dump()

    def times(factor: float) -> dict[str, Any]:
        numbers = {"base": factor * rate["base"]} if "base" in rate else {"values": [factor * value for value in rate["values"]]}
        return {"learning_rate": rate | numbers}

    rates = {
        "half the learning rate": changed(recipe, quick=times(0.5)),
        "twice the learning rate": changed(recipe, quick=times(2.0)),
    }
    if recipe.name == "moco_lite":
        variants = {"an encoder that learns nothing (rate 6e-14)": changed(recipe, quick=times(1e-12)), **rates}
    elif recipe.name == "tiny_mask_rcnn":
        variants = {"no augmentation": changed(recipe, augmentation={"flip_probability": 0.0}), **rates}
    elif recipe.name == "digits_mlp":
        variants = {
            "no momentum": changed(recipe, quick={"momentum": 0.0, "nesterov": False}),
            "momentum without a look ahead": changed(recipe, quick={"nesterov": False}),
            **rates,
        }
    elif recipe.name == "char_gpt":
        variants = {"no weight decay": changed(recipe, quick={"weight_decay": 0.0}), **rates}
    else:
        variants = {
            "no augmentation": changed(recipe, augmentation={"padding": 0, "flip_probability": 0.0}),
            "no weight decay": changed(recipe, quick={"weight_decay": 0.0}),
            "batch norm statistics a hundred times too slow": changed(recipe, batch_norm={"momentum": 0.001}),
            **rates,
        }
    return [Group(name, "torch", variant, None, seeds) for name, variant in variants.items()]


def planted(recipe: Recipe, frameworks: list[str], seeds: tuple[int, ...]) -> list[Group]:
    """Return each example fault in each framework."""
    folder = project_root() / "tests" / "faults"
    cells = [(name, framework) for name in FAULTS[recipe.name] for framework in frameworks]
    return [Group(name, framework, recipe, str(folder / f"{name}.py"), seeds) for name, framework in cells]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("clean", "faults", "ablations"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--framework", help="comma-separated; default: every installed one")
    parser.add_argument("--recipe", choices=tuple(FAULTS), default="resnet_cifar")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", help="comma-separated: these faults, ablations or runs, by the names that the table has")
    arguments = parser.parse_args(argv)
    frameworks = arguments.framework.split(",") if arguments.framework else installed_frameworks()
    recipe = load_recipe(arguments.recipe)
    first = arguments.first_seed
    if arguments.what == "clean":
        groups = [Group(f"seed {seed}", name, recipe, None, (seed,)) for seed in range(first, first + 10) for name in frameworks]
    else:
        seeds = tuple(range(first, first + 3))
        groups = planted(recipe, frameworks, seeds) if arguments.what == "faults" else ablations(recipe, seeds)
    if arguments.only:
        names, known = arguments.only.split(","), dict.fromkeys(group.name for group in groups)
        for name in names:
            if name not in known:
                parser.error(f"--only: found {name!r}. Allowed: {', '.join(known)}.")
        groups = [group for group in groups if group.name in names]
    measured = measure(groups, jobs=arguments.jobs)
    report(arguments.what, groups, [judged(group, measured[index], recipe) for index, group in enumerate(groups)], measured)


def measure(groups: list[Group], *, jobs: int) -> list[list[Record]]:
    """Run every group's seeds, side by side, and return the records of each group. Raises RuntimeError when a run fails."""
    jobs_to_do = [(index, seed) for index, group in enumerate(groups) for seed in group.seeds]
    requests = [
        Request(
            groups[index].recipe,
            groups[index].recipe.name,
            "quick",
            make_context(framework=groups[index].framework),
            (seed,),
            fault_entry(groups[index].fault),
            f"python -m benchmarks.detection, {groups[index].name}",
        )
        for index, seed in jobs_to_do
    ]

    def line(done: int, invocation: Invocation, directory: Path) -> None:
        value = Record.read(directory / invocation.runs[0]).metric.value
        print(f"[{done}/{len(requests)}] {invocation.command[31:]} {invocation.context}: {value}", flush=True)

    results = sweep(requests, runs_directory(), jobs=jobs, progress_timeout=900.0, on_end=line, on_data=lambda done, total: None)
    records: list[list[Record]] = [[] for _ in groups]
    for (index, _), (invocation, directory) in zip(jobs_to_do, results, strict=True):
        record = Record.read(directory / invocation.runs[0])
        if record.failure:
            raise RuntimeError(f"{directory}: {record.failure.message}. A failed run is no measurement.")
        records[index].append(record)
    return records


def judged(group: Group, records: list[Record], recipe: Recipe) -> Judgement:
    """Return the verdict of a group against the reference of the recipe as it is shipped."""
    return judge_runs(
        [(record.seed, record.metric.value) for record in records],
        metrics={record.seed: record.curve[-1].metrics for record in records},
        targets=targets_of(recipe),
        rows=load_rows(reference_directory(), recipe.name),
        recipe=identity_of(recipe, "quick"),
        metric=records[0].metric,
        checksum=records[0].data.checksum,
        n_test=records[0].data.n_test,
        context=records[0].context,
    )


def report(what: str, groups: list[Group], verdicts: list[Judgement], records: list[list[Record]]) -> None:
    """Print the table and what it stands on."""
    bands = {group.framework: verdict.band for group, verdict in zip(groups, verdicts, strict=True) if verdict.band}
    first, metric, unit = "run" if what == "clean" else what[:-1], verdicts[0].metric, verdicts[0].unit
    print(f"\n| {first} | framework | {metric} | away from the reference | verdict |")
    print("|---|---|---|---|---|")
    for group, verdict in zip(groups, verdicts, strict=True):
        values = ", ".join(shown(entry.value, unit) for entry in verdict.values)
        band, away = verdict.band, "-"  # of the framework's own rows; none for a seed that is held to printed digits
        if band:
            distance = verdict.mean - band.mean
            away = f"{shown(distance, unit, sign='+')} = {distance / band.spread:+.1f} s"
        print(f"| {group.name} | {group.framework} | {values} | {away} | {verdict.name} |")
    outside = sum(verdict.name is not Verdict.REPRODUCED for verdict in verdicts)
    every = [record for group in records for record in group]
    versions = {record.context.framework: record.environment["framework_version"] for record in every}
    print(f"\n{outside} of {len(verdicts)} outside.")
    for name, band in bands.items():
        print(
            f"Reference of {name}: s = {shown(band.spread, unit)}, {band.n} runs of {band.n_seeds} seeds, {dates(band.dates)}; "
            f"one run may lie in {shown(band.low, unit)} to {shown(band.high, unit)}."
        )
    seeds = sorted({record.seed for record in every})
    mean = math.fsum(record.timing.wall_seconds for record in every) / len(every)
    print(
        f"Seeds {seeds[0]} to {seeds[-1]}, mode jit, fp32, one CPU device; "
        f"{', '.join(f'{name} {versions[name]}' for name in FRAMEWORKS if name in versions)}; "
        f"{describe_machine()['hardware']}; {date.today().isoformat()}; {mean:.0f} s a run."
    )


if __name__ == "__main__":
    main()
