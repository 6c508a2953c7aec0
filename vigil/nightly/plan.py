"""What a night looks at first: cells by value per minute, under a budget, with every cell reached within a week.

Three rounds, each within what is left of the budget:

1. What failed or lay outside its band when it was last looked at. No more than half of the budget while anything else is due:
   cells that hang every night would else keep all others from being looked at.
2. The rota: what has waited longest, until a seventh of the seconds that all cells take is full, but for slack a sixth. A
   threshold ("urgent after six days") cannot do this: where every night brings a release, as with pre-releases, all that were not
   reached become urgent on one day, which is too late for most of them.
3. The rest by value per minute.

Within a round equals go by value per minute; a context's verification comes before its reproduction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from vigil.nightly.cells import Cell
from vigil.nightly.ledger import Due

_NIGHTS_OF_A_ROUND = 6
_SHARE_OF_URGENT = 0.5


@dataclasses.dataclass(frozen=True)
class Plan:
    """The cells that fit, in the order in which they are to be started, and those that do not, the most worth first."""

    chosen: list[Due]
    left: list[Due]


def make_plan(
    due: Sequence[Due],
    *,
    seconds: Callable[[Cell], float],
    budget: float,
    jobs: int,
    total: float,
    is_begun: bool = False,
) -> Plan:
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
    return Plan(choice.chosen, [each for each in choice.by_density(due) if each.cell.key not in taken])


class _Choice:
    """Takes cells while they fit."""

    def __init__(self, due: Sequence[Due], *, seconds: Callable[[Cell], float], longest: float, capacity: float) -> None:
        self._due = {each.cell.key: each for each in due}
        self._seconds = {each.cell.key: seconds(each.cell) for each in due}
        self._longest, self._capacity = longest, capacity
        self.chosen: list[Due] = []
        self._taken: set[str] = set()

    def by_density(self, due: Iterable[Due]) -> list[Due]:
        """Return cells by value per second; among equals in the order of their names, so that a plan can be made again."""
        return sorted(due, key=lambda each: (-each.cell.value / max(self._seconds[each.cell.key], 1e-3), each.cell.key))

    def take(self, ordered: Iterable[Due], *, share: float) -> None:
        """Take each that fits; the first that goes beyond `share` is the last."""
        used = 0.0
        for each in ordered:
            if used >= share:
                return
            used += self._take(each)

    def add(self, each: Due) -> None:
        """Take a cell, and before it the verification of its context where that is due."""
        for one in (self._first(each), each):
            if one is not None and one.cell.key not in self._taken:
                self._taken.add(one.cell.key)
                self._capacity -= self._seconds[one.cell.key]
                self.chosen.append(one)

    def _take(self, each: Due) -> float:
        if each.cell.key in self._taken:
            return 0.0
        new = [one for one in (self._first(each), each) if one is not None and one.cell.key not in self._taken]
        costs = [self._seconds[one.cell.key] for one in new]
        if sum(costs) > self._capacity or sum(costs) > self._longest:
            return 0.0
        self.add(each)
        return sum(costs)

    def _first(self, each: Due) -> Due | None:
        before = each.cell.verification
        return self._due.get(before.key) if before else None


def _day(since: datetime) -> int:
    return since.toordinal()
