"""A sweep of cells that share a reference: what is expected by chance, and what Benjamini and Hochberg let stand."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from benchmarks.calibration.draws import N_TRIALS, Rate, Table, gaussian, percent
from benchmarks.calibration.frameworks import draw_trials
from vigil.statistics.pooling import pool

_FALSE_DISCOVERIES = 0.05
_TRIALS = N_TRIALS // 4


def discoveries(generator: np.random.Generator) -> Table:
    """Return false alarms and false discoveries of a matrix of 18 cells, of which some are off by 5 deviations."""
    table = Table(
        "A matrix of 18 cells of one seed each, sharing a reference and the seed (correlation 0.4)",
        [
            "cells that are off",
            "false alarms a matrix (expected)",
            "false discovery rate, % (nominal at most 5)",
            "off cells found, %",
        ],
    )
    trials = draw_trials(generator, gaussian, n_seeds=8, likeness=0.4, framework_spread=0.5)
    rows = trials.rows[:_TRIALS]
    labels = {"seeds": [s for s in range(8) for _ in range(3)], "frameworks": [0, 1, 2] * 8}
    pools = [pool(rows.reshape(_TRIALS, -1), **labels, framework=name) for name in range(3)]
    for n_off in (0, 1, 4):
        shared = np.sqrt(0.4) * generator.standard_normal((_TRIALS, 1))
        new = shared + np.sqrt(0.6) * generator.standard_normal((_TRIALS, 18))
        is_off = np.arange(18) < n_off
        p_values = np.empty((_TRIALS, 18))
        for cell in range(18):
            found = pools[cell % 3]
            error = found.spread * np.sqrt(1.0 + 1.0 / found.n_effective)
            gap = new[:, cell] + trials.effects[:_TRIALS, cell % 3] - 5.0 * is_off[cell] - found.mean
            p_values[:, cell] = 2.0 * special.stdtr(found.degrees_of_freedom, -np.abs(gap) / error)
        stands = stats.false_discovery_control(p_values, axis=1) <= _FALSE_DISCOVERIES
        alarms = float((p_values < 0.01)[:, ~is_off].sum(axis=1).mean())
        false = stands[:, ~is_off].sum(axis=1) / np.maximum(1, stands.sum(axis=1))
        power = percent(float(stands[:, is_off].mean())) if n_off else "-"
        table.rows.append([str(n_off), f"{alarms:.3f} ({0.01 * (18 - n_off):.2f})", percent(float(false.mean())), power])
        table.rates.append(
            Rate("false discovery rate", f"{n_off} of 18 off", _FALSE_DISCOVERIES, float(false.mean()), is_bound=True)
        )
    return table
