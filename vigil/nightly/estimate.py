"""How long a cell will take: as long as it took last, else a measured default, corrected by how defaults have fared so far."""

from __future__ import annotations

import statistics

from vigil.nightly.cells import REPRODUCE, VERIFY, Cell
from vigil.nightly.ledger import Ledger

# Seconds on one of two cores (AMD EPYC), by framework and mode.
# Verifications: medians of docs/verify-contexts.md (`vigil verify resnet_cifar --all --jobs 2`); one device, two.
_VERIFY = {
    ("torch", "eager"): (5.0, 12.0),
    ("torch", "jit"): (5.0, 12.0),
    ("torch", "compile"): (9.5, 102.5),
    ("tensorflow", "eager"): (10.5, 20.5),
    ("tensorflow", "jit"): (10.0, 19.0),
    ("tensorflow", "compile"): (20.5, 20.5),
    ("jax", "eager"): (28.0, 35.5),
    ("jax", "jit"): (15.0, 17.5),
    ("jax", "compile"): (15.0, 18.0),
}
# Reproductions, one seed: jit is the median over the recipes of `make reference`'s runs; the other modes take as much longer as
# their images per second in docs/benchmarks.md (`make bench`) are fewer, and PyTorch's compiler a minute of its own
# (docs/contexts.md, `make matrix RECIPE=resnet_cifar PROFILE=smoke`).
_REPRODUCE = {
    ("torch", "eager"): 90.0,
    ("torch", "jit"): 90.0,
    ("torch", "compile"): 150.0,
    ("tensorflow", "eager"): 370.0,
    ("tensorflow", "jit"): 85.0,
    ("tensorflow", "compile"): 85.0,
    ("jax", "eager"): 740.0,
    ("jax", "jit"): 135.0,
    ("jax", "compile"): 135.0,
}
_TWO_DEVICES = 1.5
# So many looks at one recipe say more about it than looks at all recipes do.
_ENOUGH = 3


class Estimator:
    """Estimates that learn: from earlier nights, and from each cell that ends."""

    def __init__(self, ledger: Ledger, *, n_seeds: int) -> None:
        self._ledger, self._n_seeds = ledger, n_seeds
        # Cells are known here by what they say, so that a look at one in an earlier night and tonight count once each.
        self._last = {key: looks[-1].seconds for key, looks in ledger.looks.items() if looks[-1].seconds > 0.0}
        self._ratios: dict[str, dict[str, float]] = {}
        for key, seconds in self._last.items():
            kind, recipe, _, context = key.split(" ")
            self._ratios.setdefault(recipe, {})[key] = seconds / _default(kind, context)

    def see(self, cell: Cell, seconds: float) -> None:
        """Learn how long a cell took tonight, with all its seeds."""
        each = seconds / self._seeds(cell)
        if each > 0.0:
            self._last[cell.key] = each
            self._ratios.setdefault(cell.recipe, {})[cell.key] = each / _default(cell.kind, cell.context.text)

    def seconds(self, cell: Cell) -> float:
        """Return the seconds that a cell will take, with all its seeds."""
        if (last := self._last.get(cell.key)) is not None:
            return last * self._seeds(cell)
        return _default(cell.kind, cell.context.text) * self._correction(cell.recipe) * self._seeds(cell)

    def _seeds(self, cell: Cell) -> int:
        return self._n_seeds if cell.kind == REPRODUCE else 1

    def _correction(self, recipe: str) -> float:
        own = list(self._ratios.get(recipe, {}).values())
        known = own if len(own) >= _ENOUGH else [ratio for ratios in self._ratios.values() for ratio in ratios.values()]
        return statistics.median(known) if known else 1.0


def _default(kind: str, context: str) -> float:
    framework, mode, *rest = context.split("-")
    is_one = "x1" in rest
    if kind == VERIFY:
        return _VERIFY[framework, mode][0 if is_one else 1]
    return _REPRODUCE[framework, mode] * (1.0 if is_one else _TWO_DEVICES)
