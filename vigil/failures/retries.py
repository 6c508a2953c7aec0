"""Whether another try is worth it: the chance that it helps, by what came of earlier ones, against what it costs.

The chance that another try of a category's failures helps has a Beta distribution: the prior stands with the category, and each
try that was made adds to it (Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.4). A try is worth it where what it is
expected to win is more than what it is expected to lose, and the chance is one in ten at least.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from scipy import special

from vigil.documents.failure import Retry
from vigil.failures.categories import CATEGORIES

LEAST_CHANCE = 0.1
MOST_TRIES = 2
_BELOW = 0.95


@dataclasses.dataclass(frozen=True)
class Tries:
    """Tries again of failures, by category: how many there were, and how many of them helped."""

    tried: Counter[str] = dataclasses.field(default_factory=Counter)
    helped: Counter[str] = dataclasses.field(default_factory=Counter)

    @classmethod
    def counted(cls, outcomes: Iterable[tuple[str, bool]]) -> Tries:
        """Count tries: the category of what failed before, and whether the try helped."""
        found = cls()
        for category, is_helped in outcomes:
            found.tried[category] += 1
            found.helped[category] += is_helped
        return found

    def of(self, category: str) -> Retry:
        """Return the posterior of a category. Raises KeyError for one that there is not."""
        a, b = CATEGORIES[category].prior
        helped, tried = self.helped[category], self.tried[category]
        a, b = a + helped, b + tried - helped
        return Retry(
            helped=helped,
            tried=tried,
            chance=round(a / (a + b), 4),
            below=round(float(special.betaincinv(a, b, _BELOW)), 4),
        )


def is_worth_it(chance: float, *, wins_seconds: float, loses_seconds: float, tries: int) -> bool:
    """Is another try worth it? tries: how many there were, the first included; there are no more than MOST_TRIES.

    Args:
        wins_seconds: what a result is worth, in the time that is planned for it. loses_seconds: what one more failure takes.
    """
    if tries >= MOST_TRIES or chance < LEAST_CHANCE:
        return False
    return chance * wins_seconds > (1.0 - chance) * loses_seconds
