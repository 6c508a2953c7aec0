"""`vigil power`: what so many runs of a recipe can see, and how many an effect needs."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from reports.tables import print_table
from vigil.cli import options
from vigil.documents.judgement import Metric
from vigil.documents.reference_row import ReferenceRow
from vigil.errors import EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.paths import reference_directory
from vigil.recipes.loading import identity_of, load_recipe
from vigil.references.samples import load_rows
from vigil.references.usable import basis_of, judging_today
from vigil.statistics.bands import POWER
from vigil.statistics.finite import BandUndefined
from vigil.statistics.metric import amount
from vigil.statistics.paired import prefers_pairs
from vigil.statistics.power import MOST_SEEDS, Basis, Power, power, seeds_needed

_COLUMNS = {
    "against_reference": "against the reference",
    "between_releases": "two releases, seeds ignored",
    "paired": "two releases, paired by seed",
}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("power", help="what so many runs of a recipe can see")
    options.add_recipe(parser)
    parser.add_argument("--seeds", default="1,2,3,5,8,10", metavar="A,B", help="numbers of runs (default: %(default)s)")
    parser.add_argument("--effect", metavar="X", help="say how many runs find a difference of X, in the metric's unit")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return 0, or 4 where there is no reference to know the noise from."""
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    counts = options.whole_numbers("--seeds", arguments.seeds, least=1, most=MOST_SEEDS)
    effect = None if arguments.effect is None else options.amount("--effect", arguments.effect)
    training, source = recipe.resolve(arguments.profile), recipe.source
    rows, problem = judging_today(
        load_rows(reference_directory(source), recipe.name),
        recipe=identity_of(recipe, arguments.profile),
        metric=training["metric"]["name"],
        source=source,
    )
    if problem is not None:
        print(f"unknown: {problem}")
        return EXIT_UNKNOWN
    try:
        known = basis_of(rows, training)
    except BandUndefined as error:
        print(f"unknown: {error}")
        return EXIT_UNKNOWN
    unit = training["metric"]["unit"]
    learned = Metric.of(training).learned(statistics.fmean(row.value for row in rows)) or 0.0
    print_table(
        f"{recipe.name}, profile {arguments.profile}: the smallest difference of {training['metric']['name']} found "
        f"{POWER:.0%} of the time",
        ("runs", *_COLUMNS.values()),
        [_row(power(known, n), known=known, unit=unit) for n in counts],
        notes=[
            *_notes(rows, known, unit=unit),
            f"a model that has learned nothing is {amount(abs(learned), unit)} from the mean: what sees no less says `ran`",
            *_needed(known, effect, unit=unit),
        ],
    )
    return EXIT_REPRODUCED


def _row(sees: Power, *, known: Basis, unit: str) -> tuple[str, ...]:
    used = "paired" if prefers_pairs(n_new=sees.n, n_old=sees.n, n_pairs=sees.n) else "between_releases"
    cells = []
    for column in _COLUMNS:
        size = getattr(sees, column)
        mark = " *" if column == used and size is not None else ""
        cells.append("not known" if size is None else f"{amount(size, unit)} = {size / known.spread:.1f} s{mark}")
    return (str(sees.n), *cells)


def _notes(rows: Sequence[ReferenceRow], known: Basis, *, unit: str) -> list[str]:
    n_seeds = len({row.seed for row in rows})
    lines = [
        f"s = {amount(known.spread, unit)}: the spread of a run, of {len(rows)} reference runs of {n_seeds} seeds; two-sided, "
        f"1% false alarms{f'; for {known.framework}, whose band is the widest' if known.framework else ''}",
        "*: what `vigil compare` does with so many seeds under both releases",
    ]
    if known.within_seeds is not None:
        lines.append(
            f"paired: as if two releases differed within a seed by as much as the reference's frameworks do, "
            f"{amount(known.within_seeds * 2.0**0.5, unit)} (standard deviation of a difference)"
        )
    return lines


def _needed(known: Basis, effect: float | None, *, unit: str) -> list[str]:
    """Return how many runs find the effect that was asked for, a line a column."""
    if effect is None:
        return []
    lines = []
    for column, name in _COLUMNS.items():
        n = seeds_needed(known, effect, column=column)
        many = f"not with {MOST_SEEDS} runs" if n is None else f"{n} run{'s' * (n > 1)}"
        lines.append(f"a difference of {amount(effect, unit)}, {name}: {many}")
    return lines
