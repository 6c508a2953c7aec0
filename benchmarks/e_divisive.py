"""E-divisive, the change-point method that the search for a step is measured against."""

from __future__ import annotations

import numpy as np


def e_divisive(values: np.ndarray, generator: np.random.Generator, *, times: int = 199, least: int = 2) -> float:
    """Return the p-value of E-divisive's first change point, alpha = 1, by permutation.

    D. Matteson and N. James, JASA 109 (2014) 334, doi:10.1080/01621459.2013.849605: the largest over places of
    m n / (m + n) * (2 mean|X - Y| - mean|X - X'| - mean|Y - Y'|).
    """
    number = len(values)
    sizes = np.arange(least, number - least + 1)

    def statistic(orders: np.ndarray) -> np.ndarray:
        distances = np.abs(values[orders][:, :, np.newaxis] - values[orders][:, np.newaxis, :])
        sums = np.pad(distances.cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))
        left, total = sums[:, sizes, sizes], sums[:, -1:, -1]
        edge = sums[:, sizes, -1]
        between, right = edge - left, total - 2.0 * edge + left
        m, n = sizes, number - sizes
        energy = 2.0 * between / (m * n) - left / (m * (m - 1.0)) - right / (n * (n - 1.0))
        return (m * n / number * energy).max(axis=1)

    observed = statistic(np.arange(number)[np.newaxis])[0]
    orders = np.argsort(generator.random((times, number)), axis=1)
    return float((1 + (statistic(orders) >= observed - 1e-9).sum()) / (times + 1))
