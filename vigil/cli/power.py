"""`vigil power`: what so many runs of a recipe can see, and how many an effect needs."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence

from reports.tables import print_table
from vigil.cli import options
from vigil.cli.answers import NeededRuns, PowerAnswer, SeenDifference
from vigil.data.official import metric_of
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
from vigil.terminal import answer

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
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return 0, or 4 where there is no reference to know the noise from."""
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    counts = options.whole_numbers("--seeds", arguments.seeds, least=1, most=MOST_SEEDS)
    effect = None if arguments.effect is None else options.amount("--effect", arguments.effect)
    training, source, identity = recipe.resolve(arguments.profile), recipe.source, identity_of(recipe, arguments.profile)
    metric, unit = training["metric"]["name"], training["metric"]["unit"]
    rows, problem = judging_today(
        load_rows(reference_directory(source), recipe.name), recipe=identity, metric=metric, source=source
    )
    n_seeds, known = len({row.seed for row in rows}), None
    if problem is None:
        try:
            known = basis_of(rows, training)
        except BandUndefined as error:
            problem = str(error)
    nothing = dict.fromkeys(("spread", "framework", "within_seeds", "learned", "needed"))
    facts = {"recipe": identity, "metric": metric, "unit": unit, "reason": problem, "rows": len(rows), "seeds": n_seeds}
    found = PowerAnswer(exit_code=EXIT_UNKNOWN, sees=(), **facts, **nothing)
    if known is None:
        answer(f"unknown: {problem}")
        options.write_json(arguments, found)
        return EXIT_UNKNOWN
    learned = metric_of(training).learned(statistics.fmean(row.value for row in rows)) or 0.0
    sees = [power(known, n) for n in counts]
    needed = None if effect is None else {name: seeds_needed(known, effect, column=name) for name in _COLUMNS}
    options.write_json(
        arguments,
        found.replace(
            exit_code=EXIT_REPRODUCED,
            spread=known.spread,
            framework=known.framework,
            within_seeds=known.within_seeds,
            learned=learned,
            sees=[SeenDifference(runs=each.n, compare_pairs=_is_paired(each), **_sizes(each)) for each in sees],
            needed=needed and NeededRuns(effect=effect, **needed),
        ),
    )
    print_table(
        f"{recipe.name}, profile {arguments.profile}: the smallest difference of {metric} found {POWER:.0%} of the time",
        ("runs", *_COLUMNS.values()),
        [_row(each, known=known, unit=unit) for each in sees],
        notes=[
            *_notes(rows, known, unit=unit),
            f"a model that has learned nothing is {amount(abs(learned), unit)} from the mean: what sees no less says `ran`",
            *_needed(needed or {}, effect or 0.0, unit=unit),
        ],
    )
    return EXIT_REPRODUCED


def _is_paired(sees: Power) -> bool:
    return prefers_pairs(n_new=sees.n, n_old=sees.n, n_pairs=sees.n)


def _sizes(sees: Power) -> dict[str, float | None]:
    return {column: getattr(sees, column) for column in _COLUMNS}


def _row(sees: Power, *, known: Basis, unit: str) -> tuple[str, ...]:
    used = "paired" if _is_paired(sees) else "between_releases"
    cells = []
    for column, size in _sizes(sees).items():
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


def _needed(needed: Mapping[str, int | None], effect: float, *, unit: str) -> list[str]:
    """Return how many runs find the effect that was asked for, a line a column."""
    lines = []
    for column, n in needed.items():
        many = f"not with {MOST_SEEDS} runs" if n is None else f"{n} run{'s' * (n > 1)}"
        lines.append(f"a difference of {amount(effect, unit)}, {_COLUMNS[column]}: {many}")
    return lines
