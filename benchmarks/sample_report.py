"""A small report from a history that was made up, with one cell for every way to stand.

    python -m benchmarks.sample_report                      # `make sample`: reports/sample/, which git ignores
    python -m benchmarks.sample_report --out DIR --pictures docs/images

Every page of it says that its history is made up. Reference rows and published numbers are the repository's own.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.site.pages import write_site
from reports.site.power_table import powers
from reports.site.sources import RecipeFacts, gather, read_recipes
from vigil.documents.context import parse_context
from vigil.documents.night import (
    DONE,
    LEFT,
    REPRODUCE,
    VERIFY,
    CellKind,
    CellRow,
    Night,
    NightRecipe,
    NightRelease,
    RecipeMetric,
)
from vigil.documents.verdict import Verdict
from vigil.documents.verification import SHORT, WHOLE
from vigil.paths import project_root, reference_directory
from vigil.references.samples import load_rows
from vigil.tracking.history import History

NOTE = (
    "A sample. The history in this report is made up by benchmarks/sample_report.py, to show every way in which a cell can "
    "stand: no framework gave these numbers. Reference rows and published numbers are those of the repository."
)
NIGHTS = 24
LAST = datetime(2026, 11, 20, 2, 30, tzinfo=timezone.utc)
RECIPES = ("resnet_cifar", "moco_lite", "tiny_mask_rcnn")
RELEASES = {
    "torch": ((0, "2.12.1+cpu"), (10, "2.13.0+cpu")),
    "tensorflow": ((0, "2.21.0"),),
    "jax": ((0, "0.10.1"), (6, "0.10.2"), (17, "0.10.3")),
}
CONTEXTS = (
    "torch-jit-fp32-x1", "torch-compile-fp32-x1", "torch-jit-bf16-x2", "tensorflow-jit-fp32-x1", "tensorflow-eager-fp16-x1",
    "jax-jit-fp32-x1", "jax-jit-bf16-x1",
)  # fmt: skip
SEEDS, STEPS = (0, 1), 240


@dataclass(frozen=True)
class Story:
    """What is particular about a cell. since: the first night of it. skip: kinds of looks that never run."""

    verdict: str = "reproduced"
    reason: str | None = None
    since: int = 0
    until: int = NIGHTS
    shift: float = 0.0
    verify: str = "reproduced"
    verify_reason: str | None = None
    hash: str | None = None
    left: bool = False
    kinds: tuple[str, ...] = ("verify", "reproduce")


_BELOW = "the mean of 2 runs is 4.21 points below the reference's mean, allowed is 1.98 points either way"
_ABOVE = "the mean of 2 runs is 3.42 points above the reference's mean, allowed is 1.9 points either way"
_INSIDE = "the mean of 2 runs lies within the band for their mean"
_ORIGIN = "head.kernel, backward, gradient: 41.3x the floor"
STORIES = {
    ("resnet_cifar", "jax-jit-fp32-x1"): Story("regressed", _BELOW, 17, shift=-4.2),
    ("resnet_cifar", "jax-jit-bf16-x1"): Story(
        "regressed",
        f"one training step is wrong, although the metric lies in its band: {_ORIGIN}",
        17,
        verify="regressed",
        verify_reason=f"3 of 412 tensors are out; the first is {_ORIGIN}",
    ),
    ("resnet_cifar", "torch-jit-bf16-x2"): Story(until=15),
    ("resnet_cifar", "tensorflow-eager-fp16-x1"): Story(
        verify="known-finding", verify_reason="batch norm's gradient in float16; on record as a finding", kinds=("verify",)
    ),
    ("moco_lite", "torch-compile-fp32-x1"): Story(
        verify="known-finding", verify_reason="the compiled queue's gradients; on record as a finding", kinds=("verify",)
    ),
    ("moco_lite", "torch-jit-bf16-x2"): Story("better-than-reference", _ABOVE, 21, shift=3.6),
    ("moco_lite", "tensorflow-eager-fp16-x1"): Story(
        "unsupported", "float16 needs loss scaling, which this mode lacks", kinds=("reproduce",)
    ),
    ("moco_lite", "jax-jit-fp32-x1"): Story(
        "failed:died", "the runner was killed by SIGKILL (the kernel does this when memory runs out)", 23
    ),
    ("moco_lite", "jax-jit-bf16-x1"): Story(hash="0123456789ab", until=22),
    ("tiny_mask_rcnn", "torch-jit-fp32-x1"): Story(),
    ("tiny_mask_rcnn", "jax-jit-fp32-x1"): Story(left=True, kinds=()),
    ("tiny_mask_rcnn", "tensorflow-jit-fp32-x1"): Story(
        "unknown", "found 6 usable reference samples of 3 seeds, needed are 8 samples of 5 seeds", kinds=("reproduce",)
    ),
}
_ABSENT = {("tiny_mask_rcnn", context) for context in CONTEXTS} - set(STORIES)


def main() -> None:
    """Write the sample, and pictures of it where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=project_root() / "reports" / "sample")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="write report.png and report-cell.png there; needs Chromium")
    arguments = parser.parse_args()
    index = write_sample(arguments.out.resolve())
    print(f"written: {index}")
    if arguments.pictures:
        from benchmarks.report_pictures import take

        take(index, arguments.pictures)


def write_sample(out: Path) -> Path:
    """Write the sample report and return its first page."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        history = made_up(runs)
        now = LAST + timedelta(hours=5)
        sources = gather(history, runs=runs, references=reference_directory(), now=now, note=NOTE)
        return write_site(sources, out).index


def made_up(runs: Path) -> History:
    """Return the history, and leave the records of some runs and the document of the last night in `runs`."""
    recipes, _ = read_recipes()
    rows = {name: load_rows(reference_directory(), name) for name in RECIPES}
    powers_of = powers({name: recipes[name] for name in RECIPES}, rows)
    bands = {
        power.recipe: (power.low, power.high)
        for power in powers_of
        if power.profile == "quick" and power.low is not None and power.high is not None
    }
    draws = np.random.default_rng(5)
    samples, verifications, verified, reproduced = [], [], [], []
    for recipe in RECIPES:
        for context in CONTEXTS:
            if (recipe, context) in _ABSENT:
                continue
            story = STORIES.get((recipe, context), Story())
            for night in range(min(NIGHTS, story.until)):
                cell = _cell(recipes[recipe], context, night, story)
                is_last = night == NIGHTS - 1
                row: dict[str, Any] | None = None
                if "verify" in story.kinds:
                    row = _verification(cell, story, night, draws)
                    verifications.append(row)
                    ended = {"verdict": row["verdict"], "reason": row["reason"], "seconds": row["seconds"]}
                    verified += [_cell_row(VERIFY, recipe, context, **ended)] if is_last else []
                if "reproduce" in story.kinds:
                    metric = cell | {"metric": recipes[recipe].metric["name"]}
                    of_seeds, verdict, reason = _runs(metric, story, night, draws, runs, band=bands[recipe])
                    samples += of_seeds
                    if row is not None and row["verdict"] == Verdict.REGRESSED:  # it is what made the runs regressed
                        verifications.append(_first_rung(row, of_seeds[0]))
                    ended = {"verdict": verdict, "reason": reason, "seconds": of_seeds[-1]["seconds"]}
                    reproduced += [_cell_row(REPRODUCE, recipe, context, **ended)] if is_last else []
    _write_night(runs, recipes, [*verified, *reproduced, *_left()])
    return History(pd.DataFrame(samples), pd.DataFrame(verifications), as_of=LAST + timedelta(hours=4))


def _cell(recipe: RecipeFacts, text: str, night: int, story: Story) -> dict[str, Any]:
    context = parse_context(text)
    release = [version for first, version in RELEASES[context.framework] if first <= night][-1]
    when = LAST - timedelta(days=NIGHTS - 1 - night)
    return {
        "night": f"{when:%Y-%m-%d}-1", "created": pd.Timestamp(when), "recipe": recipe.name, "recipe_version": recipe.version,
        "recipe_hash": story.hash or recipe.profiles["quick"].hash, "profile": "quick", "context": text,
        "framework": context.framework, "mode": context.mode, "precision": context.precision, "device": context.device,
        "devices": context.devices, "determinism": context.determinism, "randomness": context.randomness, "release": release,
        "fault": "none",
    }  # fmt: skip


def _verification(cell: dict[str, Any], story: Story, night: int, draws: np.random.Generator) -> dict[str, Any]:
    is_off = story.verify != "reproduced" and night >= story.since
    score = float(draws.lognormal(3.7, 0.1)) if is_off else float(draws.lognormal(-0.9, 0.15))
    origin = ("head.kernel", "backward", "gradient") if is_off else (None, None, None)
    return cell | {
        "verify_id": f"{cell['created']:%Y%m%d-%H%M%S}-verify-{cell['recipe']}-quick-{cell['context']}", "invocation_id": None,
        "form": WHOLE, "verdict": story.verify if is_off else "reproduced",
        "reason": story.verify_reason if is_off else "412 tensors within their limits", "tensors": 412.0,
        "tensors_out": 3.0 if is_off else 0.0, "worst_ratio": 4.0 * score, "worst_score": score, "origin_layer": origin[0],
        "origin_phase": origin[1], "origin_quantity": origin[2], "seconds": float(draws.uniform(20, 40)),
    }  # fmt: skip


def _first_rung(row: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Return the short verification before a run, which found what the whole one of that night did."""
    invocation = run["invocation_id"]
    return row | {"verify_id": f"{invocation}/verify", "invocation_id": invocation, "form": SHORT, "created": run["created"]}


def _runs(
    cell: dict[str, Any], story: Story, night: int, draws: np.random.Generator, runs: Path, *, band: tuple[float, float]
) -> tuple[list[dict[str, Any]], str, str | None]:
    """Return the runs of one invocation, and the verdict on all of them with its reason."""
    is_told = night >= story.since and story.verdict != "reproduced"
    verdict = story.verdict if is_told else "reproduced"
    low, high = band
    has_value = not verdict.startswith("failed:") and verdict != "unsupported"
    invocation = f"{cell['created'] + timedelta(minutes=40):%Y%m%d-%H%M%S}-{cell['recipe']}-quick-{cell['context']}"
    reason = story.reason if is_told else _INSIDE
    rows = []
    for seed in SEEDS if has_value else SEEDS[:1]:
        value = (low + high) / 2 + (story.shift if is_told else 0.0) + float(draws.normal(0.0, (high - low) / 6.5))
        has_band = has_value and verdict != "unknown"
        alone = verdict if not has_band else _alone(value, low, high)
        row = {
            "invocation_id": invocation, "run_id": f"{invocation}-seed{seed}", "seed": seed, "unit": "percent",
            "direction": "higher", "created": cell["created"] + timedelta(minutes=40 + 3 * seed),
            "value": round(value, 2) if has_value else math.nan, "verdict": alone, "reason": reason if alone == verdict else None,
            "band_low": low if has_band else math.nan,
            "band_high": high if has_band else math.nan, "state_sha256": None, "seconds": float(draws.uniform(40, 110)),
        }  # fmt: skip
        rows.append(cell | row)
        if has_value and night >= NIGHTS - 3:
            _write_record(runs, rows[-1], draws, offset=0.35 if story.shift < 0 and is_told else 0.0)
    return rows, verdict, reason


def _alone(value: float, low: float, high: float) -> str:
    return "reproduced" if low <= value <= high else "regressed" if value < low else "better-than-reference"


def _write_record(runs: Path, row: dict[str, Any], draws: np.random.Generator, *, offset: float) -> None:
    """Leave what the report reads of a record: the loss of every step."""
    steps = np.arange(STEPS)
    losses = 0.45 + offset * steps / STEPS + 1.9 * np.exp(-steps / 60) + draws.normal(0.0, 0.07, STEPS)
    place = runs / row["invocation_id"] / f"seed{row['seed']}"
    place.mkdir(parents=True)
    record = {"run_id": row["run_id"], "losses": [round(float(loss), 4) for loss in losses]}
    (place / "record.json").write_text(json.dumps(record), encoding="utf-8")


def _write_night(runs: Path, recipes: Mapping[str, RecipeFacts], cells: Sequence[CellRow]) -> None:
    """Leave the document of the last night, with what it left."""
    name = f"{LAST:%Y-%m-%d}-1"
    releases = {
        name: NightRelease(request="newest", version=versions[-1][1], key="", pins=()) for name, versions in RELEASES.items()
    }
    night = Night(
        id=name,
        number=NIGHTS,
        created=LAST.isoformat(),
        command="vigil nightly",
        profile="quick",
        budget_seconds=5400.0,
        jobs=None,
        seeds=SEEDS,
        recipes={name: _night_recipe(recipes[name]) for name in RECIPES},
        releases=releases,
        covered=0,
        standing=(),
        cells=tuple(cells),
        spent_seconds=0.0,
        finished=None,
        verdict=None,
        tracking=None,
    )
    place = runs / "nights" / name
    place.mkdir(parents=True)
    night.write(place)


def _night_recipe(recipe: RecipeFacts) -> NightRecipe:
    metric = RecipeMetric(name=recipe.metric["name"], unit=recipe.metric["unit"], direction=recipe.metric["direction"])
    return NightRecipe(source=recipe.name, version=recipe.version, hash=recipe.profiles["quick"].hash, metric=metric)


def _cell_row(kind: CellKind, recipe: str, context: str, **ended: Any) -> CellRow:
    """Return a cell of the last night."""
    facts = {"key": f"{kind} {recipe} {context}", "basis": "", "chosen": "", "status": DONE} | ended
    return CellRow(kind=kind, recipe=recipe, profile="quick", context=parse_context(context), **facts)


def _left() -> list[CellRow]:
    """Return the cells that the last night did not come to."""
    facts = {"status": LEFT, "reason": "no time left in the budget"}
    left = [place for place, story in STORIES.items() if story.left]
    return [_cell_row(kind, recipe, context, **facts) for recipe, context in left for kind in (VERIFY, REPRODUCE)]


if __name__ == "__main__":
    main()
