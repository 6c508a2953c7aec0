"""Nights that never were, for simulations of drift: clean histories of cells, and drifts planted into them.

`python -m benchmarks.simulated_nights FILE` shows what `vigil drift` would say of twenty nights with the drifts of a file
(benchmarks/drifts/), or of clean nights without one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from benchmarks.calibration.draws import DISTRIBUTIONS, Draw
from reports.drift_table import show
from vigil.drift.findings import detect, something_drifts
from vigil.drift.questions import ReferenceSamples
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED, UsageError

NIGHTS = 20
FIRST_NIGHT = 12  # counted from 1, as people count
CORRELATION = 0.5
SPREAD = 0.8
MEAN = 88.0
VERIFICATIONS = pd.DataFrame(
    columns=[
        *("verify_id", "invocation_id", "form", "night", "created", "recipe", "recipe_version", "recipe_hash", "profile"),
        *("context", "framework", "mode", "precision", "device", "devices", "determinism", "randomness", "release", "verdict"),
        *("reason", "tensors", "tensors_out", "worst_ratio", "worst_score", "origin_layer", "origin_phase", "origin_quantity"),
        *("fault", "seconds"),
    ]
)


@dataclass(frozen=True)
class Nightly:
    """How nights are simulated: seeds in turn, the nights (from 1) that bring a release, and what a repeated seed gives."""

    name: str
    releases: tuple[int, ...]
    seeds: int
    repeats: str  # "other bits" every night, or "same bits" within a release


PLANS = (
    Nightly("4 releases, 5 seeds in turn, other bits each night", (1, 6, 12, 17), 5, "other bits"),
    Nightly("4 releases, 2 seeds in turn, same bits within a release", (1, 6, 12, 17), 2, "same bits"),
    Nightly("a release each night, 5 seeds in turn", tuple(range(1, NIGHTS + 1)), 5, "other bits"),
    Nightly("releases on other nights than the drift", (1, 5, 9, 15), 5, "other bits"),
)


def simulate(
    generator: np.random.Generator,
    draw: Draw,
    *,
    plan: Nightly,
    cells: int,
    shift: np.ndarray | float = 0.0,
    shared_seeds: bool = False,
    frameworks: Sequence[str] = ("jax",),
    nights: int = NIGHTS,
) -> pd.DataFrame:
    """Return the samples of a history of clean nights, with `shift` [cell, night] in standard deviations added.

    A value is a seed's effect and a run's own, with a correlation of 0.5 within a seed. `shared_seeds`: the effect of a seed
    is the same in all cells of a recipe, as where they train from the same bits.
    """
    night = np.arange(nights)
    seed, release = night % plan.seeds, np.searchsorted(plan.releases, night + 1, side="right")
    effect = draw(generator, (cells, plan.seeds))
    if shared_seeds:
        # Six contexts of a framework make a recipe.
        effect = effect[np.arange(cells) // (6 * len(frameworks))]
    own = draw(generator, (cells, nights))
    shift = np.broadcast_to(shift, (cells, nights))
    bits = np.broadcast_to(night, (cells, nights))
    if plan.repeats == "same bits":
        # The night that first gave these bits: same seed, same release, same shift.
        for late in range(nights):
            same = (seed[:late] == seed[late]) & (release[:late] == release[late]) & (shift[:, :late] == shift[:, [late]])
            if late:
                bits = np.where(
                    (np.arange(nights) == late) & same.any(axis=1)[:, np.newaxis], same.argmax(axis=1)[:, np.newaxis], bits
                )
    own = np.take_along_axis(own, np.array(bits), axis=1)
    z = np.sqrt(CORRELATION) * effect[:, seed] + np.sqrt(1.0 - CORRELATION) * own + shift
    cell, number = np.divmod(np.arange(cells * nights), nights)
    modes, precisions = ("eager", "jit", "compile"), ("fp32", "bf16")
    which = np.array([frameworks[each % len(frameworks)] for each in range(cells)], dtype=object)
    place = np.arange(cells) // len(frameworks)
    mode = np.array([modes[each % 3] for each in place], dtype=object)
    precision = np.array([precisions[each // 3 % 2] for each in place], dtype=object)
    recipe = np.array([f"recipe_{each // 6:04d}" for each in place], dtype=object)
    context = which + "-" + mode + "-" + precision + "-x1"
    constant = {
        "recipe_version": 1, "recipe_hash": "aa11", "profile": "quick", "device": "cpu", "devices": 1, "determinism": "off",
        "randomness": "shared", "metric": "test_accuracy", "unit": "percent", "direction": "higher", "verdict": "reproduced",
        "reason": "", "band_low": np.nan, "band_high": np.nan, "fault": "none", "seconds": 60.0,
    }  # fmt: skip
    return pd.DataFrame(
        {
            "invocation_id": [f"{a}-{b}" for a, b in zip(cell, number, strict=True)],
            "run_id": [f"{a}-{b}" for a, b in zip(cell, number, strict=True)],
            "night": [f"night-{each + 1:03d}" for each in number],
            "created": pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(number, unit="D"),
            "recipe": recipe[cell],
            "context": context[cell],
            "framework": which[cell],
            "mode": mode[cell],
            "precision": precision[cell],
            "release": [f"{each}.0" for each in release[number]],
            "seed": seed[number],
            "value": MEAN + SPREAD * z.ravel(),
            "state_sha256": [f"{a}-{b}" for a, b in zip(cell, np.array(bits).ravel(), strict=True)],
            **constant,
        }
    )


def reference(generator: np.random.Generator, draw: Draw) -> ReferenceSamples:
    """Return 30 samples: ten seeds in three frameworks, with the correlation of the runs that it judges."""
    seeds = np.repeat(np.arange(1000, 1010), 3)
    z = np.sqrt(CORRELATION) * np.repeat(draw(generator, (10,)), 3) + np.sqrt(1.0 - CORRELATION) * draw(generator, (30,))
    values = tuple((MEAN + SPREAD * z).tolist())
    contexts = ("jax-jit-fp32-x1", "torch-jit-fp32-x1", "tensorflow-jit-fp32-x1") * 10
    return ReferenceSamples(values, tuple(seeds.tolist()), contexts, 0.25)


def planted(cells: int, *, size: float, first: int = FIRST_NIGHT, nights: int = NIGHTS) -> np.ndarray:
    """Return a drop of `size` standard deviations from the first night on, [cell, night]."""
    return np.tile(np.where(np.arange(1, nights + 1) >= first, -size, 0.0), (cells, 1))


@dataclass(frozen=True)
class PlantedDrift:
    """From a night on (from 1), cells whose `recipe context` fits a pattern are `size` standard deviations higher (or lower)."""

    cells: str
    first_night: int
    size: float


def read_drifts(path: Path) -> list[PlantedDrift]:
    """Return the drifts of a YAML file: a list of cells, first_night, size. Raises UsageError for anything else."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    keys = {"cells", "first_night", "size"}
    if not isinstance(found, list) or not all(isinstance(each, dict) and set(each) == keys for each in found):
        raise UsageError(f"{path}: allowed is a list of drifts, each with {', '.join(sorted(keys))}.")
    return [PlantedDrift(str(each["cells"]), int(each["first_night"]), float(each["size"])) for each in found]


def plant(samples: pd.DataFrame, drifts: Sequence[PlantedDrift]) -> pd.DataFrame:
    """Return the samples with the drifts. Raises UsageError for a drift that fits no run."""
    value, cell = samples["value"].to_numpy(copy=True), samples["recipe"] + " " + samples["context"]
    for drift in drifts:
        fits = cell.map(lambda name, drift=drift: fnmatch(name, drift.cells)).to_numpy(dtype=bool)
        hit = fits & (samples["night"] >= f"night-{drift.first_night:03d}").to_numpy(dtype=bool)
        if not hit.any():
            raise UsageError(f"cells: {drift.cells!r} from night {drift.first_night} on is none of {len(samples)} runs.")
        value += SPREAD * drift.size * hit
    return samples.assign(value=value)


def main(given: Sequence[str]) -> int:
    """Print the table of a simulated history."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulated_nights", description=__doc__)
    parser.add_argument("drifts", type=Path, nargs="?", metavar="FILE", help="drifts to plant (default: none)")
    parser.add_argument("--cells", type=int, default=36)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(given)
    generator, draw = np.random.default_rng(arguments.seed), DISTRIBUTIONS["Gaussian"]
    frameworks = ("jax", "tensorflow", "torch")
    samples = simulate(
        generator,
        draw,
        plan=PLANS[0],
        cells=arguments.cells,
        nights=arguments.nights,
        shared_seeds=True,
        frameworks=frameworks,
    )
    planted_samples = plant(samples, read_drifts(arguments.drifts) if arguments.drifts else [])
    references = {name: reference(generator, draw) for name in samples["recipe"].unique()}
    report = detect(planted_samples, VERIFICATIONS, reference_for=lambda cell: references[cell["recipe"]])
    show(report, title="drift of simulated nights", remarks=[f"drawn with seed {arguments.seed}"])
    return EXIT_OUTSIDE if something_drifts(report) else EXIT_REPRODUCED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
