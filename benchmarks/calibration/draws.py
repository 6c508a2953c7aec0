"""What the tables are drawn from, and what a table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

COVERAGE = 0.99
N_TRIALS = 40_000

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def gaussian(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return normal draws of mean 0 and standard deviation 1, as the others are."""
    return generator.standard_normal(shape)


def skewed(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Long tail towards low values, as where now and then a run does badly: a negated gamma of shape 4, skewness -1."""
    return (4.0 - generator.gamma(4.0, size=shape)) / 2.0


def heavy_tailed(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t of 4 degrees of freedom, scaled to standard deviation 1."""
    return generator.standard_t(4.0, size=shape) / np.sqrt(2.0)


DISTRIBUTIONS: dict[str, Draw] = {"Gaussian": gaussian, "skewed": skewed, "heavy tailed": heavy_tailed}


@dataclass(frozen=True)
class Rate:
    """A measured rate of errors beside the nominal one; `is_bound`: the nominal one is promised as an upper bound."""

    method: str
    case: str
    nominal: float
    actual: float
    is_bound: bool = False

    @property
    def is_near(self) -> bool:
        """Whether it is within 20 % of nominal; of a bound, not more than 20 % above it."""
        ratio = self.actual / self.nominal
        return ratio <= 1.2 if self.is_bound else 0.8 <= ratio <= 1.2


@dataclass
class Table:
    """Rows of text, and the error rates among them."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    note: str = ""


def percent(share: float) -> str:
    """Return a share in percent, with the digits that the trials support."""
    return f"{100.0 * share:.2f}" if share < 0.1 else f"{100.0 * share:.1f}"


def spread(samples: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Return the standard deviation of each trial [trial, run], not below the floor; the floor for single runs."""
    own = samples.std(axis=1, ddof=1) if samples.shape[1] > 1 else np.zeros(len(samples))
    return np.maximum(own, floor)
