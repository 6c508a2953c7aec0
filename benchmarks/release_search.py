"""Which release brought a failure: how often the search is wrong, and what it costs, beside bisection.

Draws histories of 40 releases, and searches each by the functions that search real ones. Two releases go side by side; one that
is new costs 30 s, and each run 3 s. Bisection takes a release for right when all its runs are, after both ends are looked at.

Run from the project root: python -m benchmarks.release_search [--histories 1000] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from reports.tables import markdown_table
from vigil.process.environment import describe_machine
from vigil.statistics.release_search import Answer, Probe, Runs, answer, next_probes

N = 40
SIDE_BY_SIDE = 2
ENVIRONMENT, RUN = 30.0, 3.0
SEED = 20261125
CULPRIT, WRONG, RIGHT = "one culprit", "wrong in all", "right in all"
RATES = (1.0, 0.5, 0.2, 0.1, 0.05)
UNUSABLE = (0.0, 0.1, 0.3)
# What a user waits for; of 400 rounds none came near.
MOST_ROUNDS = 400


class Case(NamedTuple):
    """What the histories of a row have in common. rate: of WRONG in a wrong release. unusable: the share of releases."""

    kind: str
    rate: float
    unusable: float


class History(NamedTuple):
    """One history: the first wrong release (N: none), how often a wrong one says WRONG, and what cannot be used."""

    first: int
    rate: float
    unusable: frozenset[int]


class Cost(NamedTuple):
    """What one search came to: one that decided falsely, one that did not decide, and what it took."""

    is_false: bool
    is_withheld: bool
    rounds: int
    environments: int
    runs: int
    minutes: float


def cases() -> list[Case]:
    """Return the rows; where nothing is wrong there is no rate."""
    kinds = [(kind, rate) for kind in (CULPRIT, WRONG) for rate in RATES] + [(RIGHT, 1.0)]
    return [Case(kind, rate, unusable) for kind, rate in kinds for unusable in UNUSABLE]


def draw(generator: np.random.Generator, case: Case) -> History:
    """Return a history of a case. A culprit is any release but the first."""
    first = {CULPRIT: int(generator.integers(1, N)), WRONG: 0, RIGHT: N}[case.kind]
    return History(first, case.rate, frozenset(np.flatnonzero(generator.random(N) < case.unusable).tolist()))


class Bench:
    """Carries out rounds of probes on a history, and counts what they cost."""

    def __init__(self, generator: np.random.Generator, history: History) -> None:
        self.generator, self.history = generator, history
        self.runs: dict[int, Runs] = {}
        self.rounds, self.seconds = 0, 0.0

    def carry_out(self, probes: Sequence[Probe]) -> None:
        """Run a round: it takes as long as the longest of its probes."""
        self.rounds += 1
        self.seconds += max(ENVIRONMENT * (release not in self.runs) + RUN * many for release, many in probes)
        for release, many in probes:
            wrong = int(self.generator.binomial(many, self.history.rate)) if release >= self.history.first else 0
            before = self.runs.get(release, Runs(0, 0))
            self.runs[release] = Runs(before.wrong + wrong, before.right + many - wrong)

    def cost(self, low: int, high: int, *, is_decided: bool) -> Cost:
        """Return what it took to say that the first wrong release is one of low to high."""
        return Cost(
            is_decided and not low <= self.history.first <= high,
            not is_decided,
            self.rounds,
            len(self.runs),
            sum(map(sum, self.runs.values())),
            self.seconds / 60.0,
        )


def search(bench: Bench) -> Cost:
    """Search by the posterior, as `vigil narrow` does."""
    unusable = bench.history.unusable
    while bench.rounds < MOST_ROUNDS and (
        probes := next_probes(
            N, bench.runs, unusable=unusable, side_by_side=SIDE_BY_SIDE, environment_cost=ENVIRONMENT, run_cost=RUN
        )
    ):
        bench.carry_out(probes)
    said: Answer = answer(N, bench.runs, unusable=unusable)
    return bench.cost(said.low, said.high, is_decided=said.is_decided)


def bisect(bench: Bench, *, many: int) -> Cost:
    """Bisect with so many runs a release: it is wrong if one of them is. The ends are looked at first, side by side."""
    usable = [release for release in range(N) if release not in bench.history.unusable]
    bench.carry_out([Probe(release, many) for release in (usable[0], usable[-1])])
    # Places in `usable`: the last that is right, the first that is wrong.
    right, wrong = -1, len(usable)
    if bench.runs[usable[0]].wrong:
        wrong = 0
    elif not bench.runs[usable[-1]].wrong:
        right = len(usable) - 1
    else:
        right, wrong = 0, len(usable) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        bench.carry_out([Probe(usable[middle], many)])
        right, wrong = (right, middle) if bench.runs[usable[middle]].wrong else (middle, wrong)
    low = usable[right] + 1 if right >= 0 else 0
    return bench.cost(low, usable[wrong] if wrong < len(usable) else N, is_decided=True)


def mean_cost(generator: np.random.Generator, case: Case, histories: int, how: Callable[[Bench], Cost]) -> np.ndarray:
    """Return the mean of each entry of `Cost` over so many histories."""
    return np.mean([how(Bench(generator, draw(generator, case))) for _ in range(histories)], axis=0)


def rows(histories: int, *, seed: int = SEED) -> Iterator[list[str]]:
    """Yield a row of text for each case."""
    for number, case in enumerate(cases()):
        # The same histories for each way to search.
        found, once, ten = (
            mean_cost(np.random.default_rng([seed, number]), case, histories, how)
            for how in (search, lambda bench: bisect(bench, many=1), lambda bench: bisect(bench, many=10))
        )
        yield [
            case.kind,
            "-" if case.kind == RIGHT else f"{case.rate:g}",
            f"{100.0 * case.unusable:.0f}",
            *(f"{100.0 * share:.2f}" for share in found[:2]),
            *(f"{mean:.1f}" for mean in found[2:]),
            *(text for other in (once, ten) for text in (f"{100.0 * other[0]:.1f}", f"{other[-1]:.1f}")),
        ]


HEADER = [
    "releases",
    "rate",
    "unusable, %",
    "false, %",
    "withheld, %",
    "rounds",
    "environments",
    "runs",
    "minutes",
    "1 run: false, %",
    "minutes",
    "10 runs: false, %",
    "minutes",
]


def main(given: Sequence[str]) -> int:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.release_search", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--histories", type=int, default=1000, metavar="N", help="of each row (default: 1000)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    arguments = parser.parse_args(given)
    started, table = time.process_time(), []
    for row in rows(arguments.histories):
        table.append(row)
        print(f"[{len(table)}/{len(cases())}] {' | '.join(row)}", file=sys.stderr, flush=True)
    versions = f"Python {sys.version.split()[0]}, numpy {np.__version__}, scipy {scipy.__version__}"
    made = (
        f"{datetime.now(timezone.utc):%Y-%m-%d}; {describe_machine()['hardware']}; {versions}; generator seed {SEED}; "
        f"{arguments.histories:,} histories a row; {time.process_time() - started:.0f} s of one core."
    )
    text = "\n".join([*markdown_table(HEADER, table), "", made]) + "\n"
    print(text, end="")
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
