"""JAX: metrics of flax, over two batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flax import nnx


def _welford(x: Any) -> Any:
    metric = nnx.metrics.Welford()
    half = len(x) // 2
    metric.update(values=x[:half])
    metric.update(values=x[half:])
    found = metric.compute()
    return found.mean, found.standard_deviation, found.standard_error_of_mean


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {"welford_metric": {"flax.nnx.metrics.Welford": _welford}}
