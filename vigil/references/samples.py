"""The raw samples of a recipe: read, chosen for a verdict, and appended to.

Rows are never edited or removed. Those that an entry supersedes judge nothing, and still count as present.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vigil.references import entry
from vigil.references.entry import Entry, parse_entries, superseded_by
from vigil.references.file import append_lines, locked
from vigil.references.row import RECIPE_KEYS, ReferenceError_, Row, check_row, parse_object, read_text, row_from_record

__all__ = [
    "MIN_SAMPLES",
    "MIN_SEEDS",
    "Reference",
    "ReferenceError_",
    "Row",
    "Selection",
    "append_rows",
    "how_to_make",
    "load_reference",
    "load_rows",
    "parse_rows",
    "row_from_record",
    "sample_of",
    "select",
]

# Below these a band says more about luck than about the recipe: the t quantile grows fast under 8 samples, and how far
# seeds differ cannot be seen from a few of them, however many contexts each ran in.
MIN_SAMPLES = 8
MIN_SEEDS = 5


@dataclass(frozen=True)
class Selection:
    """The rows that may judge a recipe, or why there are none."""

    rows: tuple[Row, ...]
    reason: str | None


@dataclass(frozen=True)
class Reference:
    """All that is kept of one recipe: every row, and by run the entry that supersedes it."""

    rows: tuple[Row, ...]
    superseded: Mapping[str, Entry]

    @property
    def standing(self) -> list[Row]:
        """The rows that may judge."""
        return [row for row in self.rows if row["run_id"] not in self.superseded]


def load_rows(directory: Path, recipe_name: str) -> list[Row]:
    """Return every row in `directory`/`recipe_name` that is not superseded; none if the folder is not there."""
    return load_reference(directory, recipe_name).standing


def load_reference(directory: Path, recipe_name: str) -> Reference:
    """Return what the *.jsonl files in `directory`/`recipe_name` hold. Raises ReferenceError_ with file and line."""
    folder = Path(directory) / recipe_name
    place = folder / entry.FILE_NAME
    # Entries before rows: one that is written meanwhile must not name a row that was not there yet when rows were read.
    entries = parse_entries(read_text(place) if place.exists() else "", where=str(place))
    texts = {path.name: read_text(path) for path in sorted(folder.glob("*.jsonl")) if path != place}
    rows = parse_rows(texts, recipe_name=recipe_name, place=str(folder))
    return Reference(tuple(rows), superseded_by(entries, rows))


def parse_rows(texts: Mapping[str, str], *, recipe_name: str, place: str) -> list[Row]:
    """Return the rows of a recipe's files, given as name -> content. Raises ReferenceError_ with file and line."""
    rows: list[Row] = []
    first_seen: dict[str, tuple[str, Row]] = {}
    for name, text in texts.items():
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            where = f"{place}/{name}:{number}"
            row = parse_object(line, where=where)
            check_row(row, where=where)
            if row["recipe"]["name"] != recipe_name:
                raise ReferenceError_(
                    f"{where}: recipe.name: found {row['recipe']['name']!r}, allowed in this folder is "
                    f"{recipe_name!r}. Move the row to its recipe's folder."
                )
            seen_at, seen = first_seen.setdefault(row["run_id"], (where, row))
            if seen != row:
                raise ReferenceError_(
                    f"{where}: run_id {row['run_id']!r} stands at {seen_at} with other content. Rows are never edited: "
                    "restore both from version control."
                )
            rows.append(row)
    return rows


def select(rows: Sequence[Row], *, recipe: Mapping[str, Any], metric: str, data: str) -> Selection:
    """Return the rows with the recipe's name, profile, version and hash, the metric, and the data's checksum; each run once.

    The hash names an embedded set, and does not hold the code that makes its pixels. `reason` is None when there are any, and
    otherwise says what was found, what is needed and how to make it.
    """
    same_profile = [
        row
        for row in rows
        if row["recipe"]["name"] == recipe["name"] and row["recipe"]["profile"] == recipe["profile"] and row["metric"] == metric
    ]
    wanted = (recipe["version"], recipe["hash"])
    found = {(row["recipe"]["version"], row["recipe"]["hash"]) for row in same_profile}
    of_recipe = {row["run_id"]: row for row in same_profile if (row["recipe"]["version"], row["recipe"]["hash"]) == wanted}
    matching = tuple(row for row in of_recipe.values() if row["data"]["checksum"] == data)
    if matching:
        return Selection(matching, None)
    place = f"{recipe['name']}, profile {recipe['profile']}, metric {metric}"
    if not found:
        return Selection((), f"there are no reference samples for {place}; {how_to_make(recipe)}")
    if of_recipe:
        others = ", ".join(sorted({row["data"]["checksum"] for row in of_recipe.values()}))
        return Selection(
            (),
            f"the reference samples for {place} are of other data (checksum {others}; here {data}): the code or the files "
            f"that the images come from have changed; {how_to_make(recipe)}",
        )
    versions = ", ".join(f"version {version} ({digest})" for version, digest in sorted(found, key=str))
    return Selection(
        (),
        f"the reference samples for {place} are of {versions}, the recipe is version {wanted[0]} ({wanted[1]}); "
        f"{how_to_make(recipe)}",
    )


def how_to_make(recipe: Mapping[str, Any]) -> str:
    """Return what to run to get reference samples."""
    return (
        f"to make them: make reference RECIPE={recipe['name']} PROFILE={recipe['profile']}; "
        f"what there is: vigil reference show {recipe['name']}"
    )


def append_rows(directory: Path, rows: Sequence[Row]) -> list[Path]:
    """Append rows to `directory`/<recipe>/<profile>-<framework>-<date>.jsonl and return the files written.

    Everything is checked before anything is written, and each file is replaced whole, so that a kill leaves it as it
    was or complete. Another process that appends at the same time waits.
    """
    for number, row in enumerate(rows, start=1):
        check_row(row, where=f"new row {number}")
    by_file: dict[Path, list[Row]] = {}
    for row in rows:
        by_file.setdefault(_file_of(Path(directory), row), []).append(row)
    with locked(Path(directory)):
        for name in sorted({row["recipe"]["name"] for row in rows}):
            _refuse_repeats([row for row in rows if row["recipe"]["name"] == name], of=load_reference(directory, name))
        for path, added in by_file.items():
            append_lines(path, added)
    return sorted(by_file)


def _refuse_repeats(rows: Sequence[Row], *, of: Reference) -> None:
    run_ids = {row["run_id"] for row in of.rows}
    samples = {sample_of(row): row["run_id"] for row in of.standing}
    for row in rows:
        if row["run_id"] in run_ids:
            raise ReferenceError_(f"run {row['run_id']}: already a reference sample. A run counts once.")
        same = samples.get(sample_of(row))
        if same is not None:
            raise ReferenceError_(
                f"run {row['run_id']}: seed {row['seed']} in {row['context']['text']} with framework version "
                f"{row['framework_version']} is already in the reference (run {same}). A repeat is no new sample: take "
                "another seed."
            )
        run_ids.add(row["run_id"])
        samples[sample_of(row)] = row["run_id"]


def sample_of(row: Row) -> tuple[Any, ...]:
    """Return what two runs have in common that count as one sample. On other data a seed is another sample."""
    recipe = tuple(row["recipe"][key] for key in RECIPE_KEYS)
    return (*recipe, row["metric"], row["data"]["checksum"], row["seed"], row["context"]["text"], row["framework_version"])


def _file_of(directory: Path, row: Row) -> Path:
    parts = (row["recipe"]["name"], row["recipe"]["profile"], row["context"]["framework"], row["date"])
    for part in parts:
        if not isinstance(part, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", part):
            raise ReferenceError_(
                f"run {row['run_id']}: found {part!r} in a file name; allowed are letters, digits, '_', '-' and '.'."
            )
    name, profile, framework, date = parts
    return directory / name / f"{profile}-{framework}-{date}.jsonl"
