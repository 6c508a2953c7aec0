"""What is known of the releases between two ends, which of them to look at next, and where the script changes what it says.

A history may change more than once: right, wrong, wrong otherwise, right. So both ends are looked at first, and releases between
them. Each two neighbours among those looked at that say different things are a bracket, in which one change is searched for
(`vigil/statistics/release_search.py`); a look that says something else makes two brackets of one. What changes and changes back
between two looks that say the same is not seen.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from collections.abc import Mapping

from vigil.narrow.outcome import OTHERWISE, RIGHT, WRONG, Outcome
from vigil.statistics.release_search import Answer, Probe, Runs, answer, next_probes

# So many runs tell a failure that always shows from a race, nearly: the release that shows it is run so often.
FIRST_RUNS = 4
_MOST_FIRST_RUNS = 128
_MISSED = 1e-3
_BETWEEN = 2  # releases looked at between the ends, before anything is searched for


@dataclasses.dataclass(frozen=True)
class Change:
    """One change of what the script says. places: first..last, of which one is the first release that says `after`.

    probability: that it is one of them. runs_to_know: how many more would decide, where it is not decided.
    """

    before: str
    after: str
    last_before: int
    first: int
    last: int
    probability: float
    is_decided: bool
    runs_to_know: int | None


class History:
    """Outcomes by release, the oldest first.

    Args:
        count: how many releases there are.
        side_by_side: how many are looked at at once.
        share: how often the script is wrong where the failure was seen.
        seen: that release, if it is one of them: what was mended since, or is wrong in few releases, is met by no other look.
    """

    def __init__(
        self, count: int, *, side_by_side: int, share: float = 1.0, seen: int | None = None, samples: int = _BETWEEN
    ) -> None:
        self.count, self.side_by_side = count, side_by_side
        self._seen = count - 1 if seen is None else seen
        self._first_runs = max(runs_to_miss(share), FIRST_RUNS)
        self.outcomes: dict[int, list[Outcome]] = {}
        inner = [round((count - 1) * (place + 1) / (samples + 1)) for place in range(samples)]
        self._first = list(dict.fromkeys([self._seen, count - 1, 0, *inner]))

    @property
    def varies(self) -> bool:
        """Is one release wrong in more than one way? Then the numbers tell no failure from another, and any WRONG is it."""
        return any({WRONG, OTHERWISE} <= {each.kind for each in found} for found in self.outcomes.values())

    def judged(self, place: int) -> list[Outcome]:
        """Return the outcomes of a release."""
        found = self.outcomes.get(place, [])
        return [each._replace(kind=WRONG) if each.kind == OTHERWISE else each for each in found] if self.varies else found

    def says(self, place: int) -> str | None:
        """Return what a release says: what it has said besides RIGHT, if anything; None where it has said nothing that counts."""
        found = [each.kind for each in self.judged(place) if each.is_evidence]
        other = collections.Counter(kind for kind in found if kind != RIGHT)
        return other.most_common(1)[0][0] if other else (RIGHT if found else None)

    @property
    def unusable(self) -> set[int]:
        """Return the releases that gave no evidence, and will give none."""
        return {place for place, found in self.outcomes.items() if any(not each.is_evidence for each in found)}

    @property
    def looked(self) -> list[int]:
        """Return the releases that say something, in order."""
        return [place for place in sorted(self.outcomes) if self.says(place) and place not in self.unusable]

    def next(self) -> list[Probe]:
        """Return what to look at now, at most as many releases as are looked at at once; none where all is said."""
        waiting = [
            Probe(place, self._first_runs if place == self._seen else 1) for place in self._first if place not in self.outcomes
        ]
        if not waiting:
            waiting = self._towards_an_end()
        for low, high in self._brackets():
            waiting += self._within(low, high)
        found: dict[int, Probe] = {}
        for probe in waiting:
            found.setdefault(probe.release, probe)
        return list(found.values())[: self.side_by_side]

    def _towards_an_end(self) -> list[Probe]:
        """Return a release between an end that gives no evidence and the first that says something, unless that is right.

        Which releases still start is a matter of age: half of those between are left out by each look.
        """
        looked, unusable = self.looked, self.unusable
        if not looked:
            left = [place for place in range(self.count) if place not in self.outcomes]
            return [Probe(left[len(left) // 2], 1)] if left else []
        first = looked[0]
        last_unusable = max((place for place in unusable if place < first), default=-1)
        if self.says(first) == RIGHT or first - last_unusable <= 1:
            return []
        return [Probe((first + last_unusable) // 2, 1)]

    def _brackets(self) -> list[tuple[int, int]]:
        """Return the first and the last release of each two spans: how often one says its word is learnt in all of it."""
        told = spans(self)
        return [(low, high) for (_, low, _), (_, _, high) in itertools.pairwise(told)]

    def _within(self, low: int, high: int) -> list[Probe]:
        runs, turned = self._runs(low, high)
        unusable = {_turn(place - low, high - low, turned) for place in self.unusable if low <= place <= high}
        found = next_probes(high - low + 1, runs, unusable=unusable, side_by_side=self.side_by_side)
        return [Probe(low + _turn(probe.release, high - low, turned), probe.runs) for probe in found]

    def _runs(self, low: int, high: int) -> tuple[Mapping[int, Runs], bool]:
        """Return how often the releases of a bracket said what tells one end from the other, and whether the order is turned.

        RIGHT alone is no proof: where one end is right, the search is for the other end's word. A release that is wrong in a way
        of its own would make a bracket of its own.
        """
        turned = self.says(high) == RIGHT
        told = self.says(low) if turned else self.says(high)
        runs = {}
        for place in range(low, high + 1):
            if place in self.unusable or place not in self.outcomes:
                continue
            said = [each.kind == told for each in self.judged(place)]
            runs[_turn(place - low, high - low, turned)] = Runs(sum(said), len(said) - sum(said))
        return runs, turned

    def changes(self) -> list[Change]:
        """Return where the script changes what it says, the oldest change first."""
        found = []
        for low, high in self._brackets():
            runs, turned = self._runs(low, high)
            size = high - low
            unusable = {_turn(place - low, size, turned) for place in self.unusable if low <= place <= high}
            said: Answer = answer(size + 1, runs, unusable=unusable)
            if said.low == 0 or said.high > size:
                continue  # what one end has said so far may be luck: there may be no change at all
            first, last = (said.low, said.high) if not turned else (size + 1 - said.high, size + 1 - said.low)
            found.append(
                Change(
                    before=self.says(low) or "",
                    after=self.says(high) or "",
                    last_before=max((place for place in self.looked if place < low + first), default=low),
                    first=low + first,
                    last=low + last,
                    probability=said.probability,
                    is_decided=said.is_decided,
                    runs_to_know=said.runs_to_know,
                )
            )
        return found


def runs_to_miss(share: float) -> int:
    """Return in how many runs a failure that shows in such a share of them is missed one time in a thousand; at most 128.

    >>> runs_to_miss(1.0), runs_to_miss(0.5), runs_to_miss(0.05)
    (1, 10, 128)
    """
    return min(math.ceil(math.log(_MISSED) / math.log1p(-share)), _MOST_FIRST_RUNS) if share < 1.0 else 1


def _turn(place: int, last: int, turned: bool) -> int:
    return last - place if turned else place


def spans(history: History) -> list[tuple[str, int, int]]:
    """Return what releases say, the oldest first: (what, first, last) of neighbours among those looked at that say the same."""
    found: list[tuple[str, int, int]] = []
    for place in history.looked:
        said = history.says(place) or ""
        if found and found[-1][0] == said:
            found[-1] = (said, found[-1][1], place)
        else:
            found.append((said, place, place))
    return found
