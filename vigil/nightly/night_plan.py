"""What a night looks at first, and how long that takes: cells by value per minute, under a budget, each reached within a week.

A cell takes as long as it took last, else a measured default, corrected by how defaults have fared so far.

Three rounds, each within what is left of the budget:

1. What failed or lay outside its band when it was last looked at. No more than half of the budget while anything else is due:
   cells that hang every night would else keep all others from being looked at.
2. The rota: what has waited longest, until a seventh of the seconds that all cells take is full, but for slack a sixth. A
   threshold ("urgent after six days") cannot do this: where every night brings a release, as with pre-releases, all that were not
   reached become urgent on one day, which is too late for most of them.
3. The rest by value per minute.

Within a round equals go by value per minute. A context's verification comes before its reproduction, and before one in the short
form those of its neighbours, which are in full.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from vigil.documents.context import parse_context
from vigil.documents.night import AUDIT, REPRODUCE, STEP, VERIFY
from vigil.documents.verdict import Verdict
from vigil.frameworks import TABLE
from vigil.nightly.cells import NightCell
from vigil.nightly.ledger import DueCell, Ledger
from vigil.runs.contexts import neighbours

_NIGHTS_OF_A_ROUND = 6
_SHARE_OF_URGENT = 0.5
_TWO_DEVICES = 1.5
# So many results of one recipe say more about it than those of all recipes do.
_ENOUGH = 3


class Estimator:
    """Estimates that learn: from earlier nights, and from each cell that ends."""

    def __init__(self, ledger: Ledger, *, n_seeds: int) -> None:
        self._n_seeds = n_seeds
        self._last: dict[str, float] = {}
        # By recipe and profile, and within them by cell: one that was looked at twice counts once.
        self._ratios: dict[tuple[str, str], dict[str, float]] = {}
        for key, results in ledger.results.items():
            self._learn(key, results[-1].seconds, results[-1].verdict)

    def see(self, cell: NightCell, seconds: float, verdict: Verdict) -> None:
        """Learn how long a cell took tonight, with all its seeds."""
        self._learn(cell.key, seconds / self._seeds(cell), verdict)

    def seconds(self, cell: NightCell) -> float:
        """Return the seconds that a cell will take, with all its seeds."""
        if (last := self._last.get(cell.key)) is not None:
            return last * self._seeds(cell)
        default = _default(cell.kind, cell.context.text)
        return default * self._correction(cell.recipe, cell.profile) * self._seeds(cell)

    def _learn(self, key: str, seconds: float, verdict: Verdict) -> None:
        kind, recipe, profile, context = key.split(" ")
        default = _default(kind, context)
        if verdict.is_failed:
            # What crashed at once takes its time when it is mended; what hung takes as long as it hung.
            self._last[key] = max(seconds, default * self._correction(recipe, profile))
        elif seconds > 0.0:
            self._last[key] = seconds
            if verdict is not Verdict.UNSUPPORTED:
                self._ratios.setdefault((recipe, profile), {})[key] = seconds / default

    def _seeds(self, cell: NightCell) -> int:
        return self._n_seeds if cell.kind == REPRODUCE else 1

    def _correction(self, recipe: str, profile: str) -> float:
        own = list(self._ratios.get((recipe, profile), {}).values())
        if len(own) < _ENOUGH:
            own = [ratio for (_, of), ratios in self._ratios.items() if of == profile for ratio in ratios.values()]
        return statistics.median(own) if own else 1.0


def _default(kind: str, context: str) -> float:
    found = parse_context(context)
    if kind == AUDIT:
        return TABLE[found.framework].audit
    cost = TABLE[found.framework].costs[found.mode]
    if kind == STEP:
        return cost.verify[0]
    if kind == VERIFY:
        whole, short = cost.verify
        return short if len(neighbours(found)) > 1 else whole
    return cost.reproduce * (1.0 if found.devices == 1 else _TWO_DEVICES)


@dataclasses.dataclass(frozen=True)
class NightPlan:
    """The cells that fit, in the order in which they are to be started, and those that do not, the most worth first."""

    chosen: list[DueCell]
    left: list[DueCell]


def make_plan(
    due: Sequence[DueCell],
    *,
    seconds: Callable[[NightCell], float],
    budget: float,
    jobs: int,
    total: float,
    is_begun: bool = False,
) -> NightPlan:
    """Return which cells to look at tonight. The first of a night that is not begun is chosen whatever it takes.

    Args:
        seconds: how long a cell will take.
        budget: seconds by the clock, in which `jobs` cells run side by side.
        total: seconds that all cells take, those that are covered too.
    """
    choice = _Choice(due, seconds=seconds, longest=budget, capacity=budget * jobs)
    urgent = [each for each in due if each.is_urgent]
    rest = [each for each in due if not each.is_urgent]
    choice.take(choice.by_density(urgent), share=_SHARE_OF_URGENT * budget * jobs if rest else budget * jobs)
    # By whole days: a minute's difference between two nights must not outweigh what cells are worth.
    choice.take(sorted(choice.by_density(rest), key=lambda each: _day(each.since)), share=total / _NIGHTS_OF_A_ROUND)
    choice.take(choice.by_density(rest), share=budget * jobs)
    choice.take(choice.by_density(urgent), share=budget * jobs)
    if not choice.chosen and due and not is_begun:
        choice.add(choice.by_density(urgent or rest)[0])
    taken = {each.cell.key for each in choice.chosen}
    return NightPlan(choice.chosen, [each for each in choice.by_density(due) if each.cell.key not in taken])


class _Choice:
    """Takes cells while they fit."""

    def __init__(self, due: Sequence[DueCell], *, seconds: Callable[[NightCell], float], longest: float, capacity: float) -> None:
        self._due = {each.cell.key: each for each in due}
        self._seconds = {each.cell.key: seconds(each.cell) for each in due}
        self._longest, self._capacity = longest, capacity
        self.chosen: list[DueCell] = []
        self._taken: set[str] = set()

    def by_density(self, due: Iterable[DueCell]) -> list[DueCell]:
        """Return cells by value per second; among equals in the order of their names, so that a plan can be made again."""
        return sorted(due, key=lambda each: (-each.cell.value / max(self._seconds[each.cell.key], 1e-3), each.cell.key))

    def take(self, ordered: Iterable[DueCell], *, share: float) -> None:
        """Take each that fits; the first that goes beyond `share` is the last."""
        used = 0.0
        for each in ordered:
            if used >= share:
                return
            used += self._take(each)

    def add(self, each: DueCell) -> None:
        """Take a cell, and before it those that come before it where they are due."""
        for one in self._new(each):
            self._taken.add(one.cell.key)
            self._capacity -= self._seconds[one.cell.key]
            self.chosen.append(one)

    def _take(self, each: DueCell) -> float:
        costs = [self._seconds[one.cell.key] for one in self._new(each)]
        if sum(costs) > self._capacity or sum(costs) > self._longest:
            return 0.0
        self.add(each)
        return sum(costs)

    def _new(self, each: DueCell) -> list[DueCell]:
        """Return what taking a cell takes in all, in order, but for what is taken already."""
        if each.cell.key in self._taken:
            return []
        before = [one for cell in each.cell.before if (due := self._due.get(cell.key)) for one in self._new(due)]
        return list({one.cell.key: one for one in [*before, each]}.values())


def _day(since: datetime) -> int:
    return since.toordinal()
