"""How long a cell will take: as long as it took last, else a measured default, corrected by how defaults have fared so far."""

from __future__ import annotations

import statistics

from vigil.nightly.cells import REPRODUCE, VERIFY, Cell
from vigil.nightly.ledger import Ledger
from vigil.references.judgement import FAILED, UNSUPPORTED

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
        self._n_seeds = n_seeds
        self._last: dict[str, float] = {}
        # By recipe and profile, and within them by cell: one that was looked at twice counts once.
        self._ratios: dict[tuple[str, str], dict[str, float]] = {}
        for key, looks in ledger.looks.items():
            self._learn(key, looks[-1].seconds, looks[-1].verdict)

    def see(self, cell: Cell, seconds: float, verdict: str) -> None:
        """Learn how long a cell took tonight, with all its seeds."""
        self._learn(cell.key, seconds / self._seeds(cell), verdict)

    def seconds(self, cell: Cell) -> float:
        """Return the seconds that a cell will take, with all its seeds."""
        if (last := self._last.get(cell.key)) is not None:
            return last * self._seeds(cell)
        default = _default(cell.kind, cell.context.text)
        return default * self._correction(cell.recipe, cell.profile) * self._seeds(cell)

    def _learn(self, key: str, seconds: float, verdict: str) -> None:
        kind, recipe, profile, context = key.split(" ")
        default = _default(kind, context)
        if verdict.startswith(FAILED):
            # What crashed at once takes its time when it is mended; what hung takes as long as it hung.
            self._last[key] = max(seconds, default * self._correction(recipe, profile))
        elif seconds > 0.0:
            self._last[key] = seconds
            if verdict != UNSUPPORTED:
                self._ratios.setdefault((recipe, profile), {})[key] = seconds / default

    def _seeds(self, cell: Cell) -> int:
        return self._n_seeds if cell.kind == REPRODUCE else 1

    def _correction(self, recipe: str, profile: str) -> float:
        own = list(self._ratios.get((recipe, profile), {}).values())
        if len(own) < _ENOUGH:
            own = [ratio for (_, of), ratios in self._ratios.items() if of == profile for ratio in ratios.values()]
        return statistics.median(own) if own else 1.0


def _default(kind: str, context: str) -> float:
    framework, mode, *rest = context.split("-")
    is_one = "x1" in rest
    if kind == VERIFY:
        return _VERIFY[framework, mode][0 if is_one else 1]
    return _REPRODUCE[framework, mode] * (1.0 if is_one else _TWO_DEVICES)
