"""Which reference samples a cell is held to: the newest of its recipe hash and profile, with the floor under their spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.documents.identity import Identity
from vigil.documents.reference_row import ReferenceRow
from vigil.drift.questions import ReferenceSamples
from vigil.errors import VigilError
from vigil.recipes.loading import load_recipe, recipe_hash
from vigil.references.overview import recipes_with_rows
from vigil.references.samples import load_rows
from vigil.references.usable import judging_today
from vigil.statistics.metric import spread_floor


def rows_in(directory: Path, own: Path | None = None) -> Callable[[str], Sequence[ReferenceRow]]:
    """Return a function from a recipe's name to its reference rows in a directory; none for a name without a folder there.

    What is not there is looked up in a user's own directory.

    A name comes from the history, which anybody may have edited: it is looked up among the folders and never made into a path.
    """
    known = {name: folder for folder in (own, directory) if folder for name in recipes_with_rows(folder)}
    return lambda name: load_rows(known[name], name) if name in known else ()


class References:
    """The reference samples of each recipe hash and profile, chosen once.

    The history does not hold the checksum of a run's data. Of reference rows on several data the newest are taken, which are
    those that new runs are judged by.
    """

    def __init__(self, rows_of: Callable[[str], Sequence[ReferenceRow]]) -> None:
        """Take a function from a recipe's name to those of its rows that are not superseded."""
        self._rows_of = rows_of
        self._found: dict[tuple[Any, ...], ReferenceSamples | None] = {}

    def __call__(self, cell: Mapping[str, Any]) -> ReferenceSamples | None:
        key = (cell["recipe"], cell["recipe_version"], cell["recipe_hash"], cell["profile"], cell["metric"], cell["unit"])
        if key not in self._found:
            self._found[key] = _reference(cell, self._rows_of(cell["recipe"]))
        return self._found[key]


def _reference(cell: Mapping[str, Any], rows: Sequence[ReferenceRow]) -> ReferenceSamples | None:
    name, profile, digest = cell["recipe"], cell["profile"], cell["recipe_hash"]
    identity = Identity(name=name, version=int(cell["recipe_version"]), hash=digest, profile=profile)
    rows = [row for row in rows if row.recipe == identity and row.unit == cell["unit"]]
    chosen, problem = judging_today(rows, recipe=identity, metric=cell["metric"])
    if problem is not None:
        return None
    values = tuple(row.value for row in chosen)
    floor = _floor(values, cell)
    if floor == 0.0 and len(set(values)) == 1:
        return None
    return ReferenceSamples(values, tuple(row.seed for row in chosen), tuple(row.context.text for row in chosen), floor)


def _floor(values: tuple[float, ...], cell: Mapping[str, Any]) -> float:
    """Return the floor under the spread of a share of right answers; 0 for another metric, or a recipe that is no longer here."""
    if cell["unit"] != "percent":
        return 0.0
    try:
        training = load_recipe(cell["recipe"]).resolve(cell["profile"])
    except VigilError:
        return 0.0
    if recipe_hash(training) != cell["recipe_hash"]:
        return 0.0
    return spread_floor(values, unit=training["metric"]["unit"], n_test=training["data"]["n_test"])
