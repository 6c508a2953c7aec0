"""Canonical names of a model's parameters and statistics, in forward order, with their shapes and how each begins.

Frameworks adapt to these. Kernels are [height, width, in, out] and [in, out].
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Shapes = dict[str, Shape]
# (initial parameters by canonical name, seed) -> the array of step 0.
Beginning = Callable[[Mapping[str, np.ndarray], int], np.ndarray]


@dataclasses.dataclass(frozen=True)
class ParameterRow:
    """A trained array. init: the key of the recipe's `init` that it is drawn by. fans: inputs and outputs of its layer."""

    shape: Shape
    init: str
    fans: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class StatisticRow:
    """What forward passes move. follows: the parameter that it is an average of."""

    shape: Shape
    begin: Beginning
    follows: str | None = None


class ParameterTable:
    """Parameters and statistics of layers, in the order in which the layers are added."""

    def __init__(self) -> None:
        self.parameters: dict[str, ParameterRow] = {}
        self.statistics: dict[str, StatisticRow] = {}

    def drawn_as(self, name: str) -> ParameterRow:
        """Return the parameter that an array is drawn as: itself, or the one that it follows."""
        return self.parameters.get(name) or self.parameters[self.statistics[name].follows or name]

    def convolution(self, name: str, kernel: tuple[int, int], n_in: int, n_out: int, *, init: str = "convolution") -> None:
        self.parameters[f"{name}.kernel"] = ParameterRow((*kernel, n_in, n_out), f"{init}.kernel")

    def biased_convolution(self, name: str, kernel: tuple[int, int], n_in: int, n_out: int, *, init: str = "convolution") -> None:
        self.convolution(name, kernel, n_in, n_out, init=init)
        self.parameters[f"{name}.bias"] = ParameterRow((n_out,), f"{init}.bias")

    def dense(self, name: str, n_in: int, n_out: int, *, init: str) -> None:
        self.kernel(name, n_in, n_out, init=init)
        self.parameters[f"{name}.bias"] = ParameterRow((n_out,), f"{init}.bias", (n_in, n_out))

    def kernel(self, name: str, n_in: int, n_out: int, *, init: str) -> None:
        """Add a dense layer without a bias."""
        self.parameters[f"{name}.kernel"] = ParameterRow((n_in, n_out), f"{init}.kernel", (n_in, n_out))

    def embedding(self, name: str, count: int, width: int) -> None:
        self.parameters[f"{name}.embedding"] = ParameterRow((count, width), "embedding")

    def layer_norm(self, name: str, width: int) -> None:
        self.parameters[f"{name}.scale"] = ParameterRow((width,), "layer_norm.scale")

    def batch_norm(self, name: str, n: int) -> None:
        for leaf in ("scale", "bias"):
            self.parameters[f"{name}.{leaf}"] = ParameterRow((n,), f"batch_norm.{leaf}")
        for leaf, value in (("mean", 0.0), ("variance", 1.0)):
            self.statistics[f"{name}.{leaf}"] = StatisticRow((n,), constant((n,), value))


def constant(shape: Shape, value: float) -> Beginning:
    """Return the beginning of an array that is one value everywhere."""
    return lambda parameters, seed: np.full(shape, value, np.float32)


def copy_of(name: str) -> Beginning:
    """Return the beginning of an array that is a parameter's copy."""
    return lambda parameters, seed: parameters[name].copy()


def bound(rule: Mapping[str, Any], row: ParameterRow) -> float:
    """Return the end of a `uniform` init rule's interval around 0: sqrt(numerator / (fan in + fan out)) of the layer.

    Glorot and Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html, equation 16, where the numerator is 6.
    """
    if row.fans is None:
        raise ValueError("init distribution uniform: allowed for dense layers")
    return math.sqrt(rule["numerator"] / sum(row.fans))
