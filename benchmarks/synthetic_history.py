"""A history that never happened: nights of cells with known means, spreads, releases and drifts, for simulations and timings.

Run k of a cell is mean + effect of seed k mod 16 + rest. A recipe's cells share the effect of a seed, as real ones share weights
and batches. The draws do not depend on the drifts: the same `seed` with and without one differs by the drift alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
from scipy import stats

from vigil.documents.context import FRAMEWORKS, MODES, make_context
from vigil.documents.verification import SHORT
from vigil.tracking.history import History
from vigil.tracking.history_rows import SAMPLES, VERIFICATIONS

SEEDS = 16
SEED_SPREAD, REST_SPREAD = 0.5, 0.75  # percent; together 0.90, what resnet_cifar's quick profile has over 30 runs
SPREAD = float(np.hypot(SEED_SPREAD, REST_SPREAD))
REFERENCE_RUNS = 30
COVERAGE = 0.99
NIGHTS_OF_A_RELEASE = (5, 9)  # a new release comes after so many nights, 7 on average
START = datetime(2026, 1, 1, 2, tzinfo=timezone.utc)
CONTEXTS = [
    make_context(framework=framework, mode=mode, precision=precision, devices=devices)
    for framework in FRAMEWORKS
    for mode in MODES
    for precision in ("fp32", "bf16", "fp64")
    for devices in (1, 2)
]

Drift = tuple[int | Iterable[int], int, float]


def synthetic_history(nights: int, cells: int, *, seed: int, drifts: Sequence[Drift] = ()) -> History:
    """Return a history of `nights` x `cells` runs, and as many verifications, all clean but for the drifts.

    Cell i trains recipe i // 54 in context i % 54 of `CONTEXTS`.

    Args:
        drifts: (cell or cells by index, first night by index, size). From that night on, size x SPREAD is added to the cells'
            values: below zero for the worse, since higher is better. Drifts of one cell add up.
    """
    draw = np.random.default_rng(seed)
    n_recipes = -(-cells // len(CONTEXTS))
    recipe, context = np.divmod(np.arange(cells), len(CONTEXTS))
    mean = draw.uniform(60.0, 90.0, n_recipes)[recipe] + draw.normal(0.0, 0.1, cells)
    effect = draw.normal(0.0, SEED_SPREAD, (n_recipes, SEEDS))
    seeds = np.arange(nights) % SEEDS
    values = mean + effect[recipe][:, seeds].T + draw.normal(0.0, REST_SPREAD, (nights, cells))
    center = mean + draw.normal(0.0, SPREAD / np.sqrt(REFERENCE_RUNS), cells)
    ratios = draw.lognormal(1.0, 0.45, (nights, cells))
    seconds = draw.uniform(20.0, 90.0, (nights, cells))
    releases = {framework: _releases(nights, draw) for framework in FRAMEWORKS}
    for chosen, first, size in drifts:
        values[first:, [chosen] if isinstance(chosen, int) else list(chosen)] += size * SPREAD
    half = stats.t.ppf(0.5 + COVERAGE / 2, REFERENCE_RUNS - 1) * SPREAD * np.sqrt(1 + 1 / REFERENCE_RUNS)
    common = _common(nights, cells, recipe=recipe, context=context, releases=releases)
    low, high = np.tile(center - half, nights), np.tile(center + half, nights)
    value = np.round(values.ravel(), 2)
    samples = common | {
        "run_id": [f"{each}-seed" for each in common["invocation_id"]],
        "seed": np.repeat(seeds, cells),
        "metric": ["test_accuracy"] * value.size,
        "unit": ["percent"] * value.size,
        "direction": ["higher"] * value.size,
        "value": value,
        "verdict": np.select([value < low, value > high], ["regressed", "better-than-reference"], "reproduced").tolist(),
        "reason": ["drawn by a generator"] * value.size,
        "band_low": low,
        "band_high": high,
        "state_sha256": [f"{index:064x}" for index in range(value.size)],
        "seconds": seconds.ravel(),
    }
    verifications = common | {
        "verify_id": [f"{each}/verify" for each in common["invocation_id"]],
        "form": [SHORT] * value.size,
        "verdict": ["reproduced"] * value.size,
        "reason": ["589 tensors within their limits"] * value.size,
        "tensors": np.full(value.size, 589.0),
        "tensors_out": np.zeros(value.size),
        "worst_ratio": ratios.ravel(),
        "worst_score": ratios.ravel() / 38.0,
        **{f"origin_{name}": [None] * value.size for name in ("layer", "phase", "quantity")},
        "seconds": seconds.ravel() / 5,
    }
    return History(_frame(samples, SAMPLES), _frame(verifications, VERIFICATIONS), as_of=START)


def _common(nights: int, cells: int, *, recipe: np.ndarray, context: np.ndarray, releases: dict[str, list[str]]) -> dict:
    """Return the columns that runs and verifications share, night by night."""
    fields = [CONTEXTS[index].as_dict() for index in context]
    names = [f"synthetic_{index:02d}" for index in recipe]
    begin = int(START.timestamp() * 1000)
    columns = {"recipe": names, "recipe_hash": [f"{index:012x}" for index in recipe]}
    columns |= {"context": [each["text"] for each in fields]}
    columns |= {"recipe_version": [1] * cells, "profile": ["quick"] * cells, "fault": ["none"] * cells}
    names_of_context = ("framework", "mode", "precision", "device", "devices", "determinism", "randomness")
    columns |= {key: [each[key] for each in fields] for key in names_of_context}
    return {key: column * nights for key, column in columns.items()} | {
        "invocation_id": [f"night{night:03d}-cell{cell:03d}" for night in range(nights) for cell in range(cells)],
        "night": [f"night{night:03d}" for night in range(nights) for _ in range(cells)],
        "created": [begin + 86_400_000 * night + 60_000 * cell for night in range(nights) for cell in range(cells)],
        "release": [releases[each["framework"]][night] for night in range(nights) for each in fields],
    }


def _releases(nights: int, draw: np.random.Generator) -> list[str]:
    """Return the release of each night: 1.0, 1.1, ..."""
    found: list[str] = []
    while len(found) < nights:
        number = len(set(found))
        found += [f"1.{number}"] * int(draw.integers(*NIGHTS_OF_A_RELEASE, endpoint=True))
    return found[:nights]


def _frame(columns: dict, schema: dict):
    return pa.table({name: pa.array(columns[name], type_) for name, type_ in schema.items()}).to_pandas()
