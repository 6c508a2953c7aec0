"""Entries that supersede reference samples: the rows stay as they are, and judge nothing from then on.

They stand in `reference_results/<recipe>/superseded.jsonl`, one JSON object a line, appended and never edited. An entry names its
rows by run, says why and since when, and keeps the bands of each framework before and after, as they were on that day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vigil.references.row import RECIPE_KEYS, ReferenceError_, Row, check_keys, parse_object

FILE_NAME = "superseded.jsonl"
ENTRY_SCHEMA = 1
# Of a band, what two days can compare, however the statistics inside change.
BAND_TYPES: dict[str, tuple[type, ...]] = {
    "n": (int,),
    "n_seeds": (int,),
    "mean": (int, float),
    "spread": (int, float),
    "low": (int, float),
    "high": (int, float),
    "coverage": (int, float),
    "method": (str,),
}
_ENTRY_TYPES: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "kind": (str,),
    "recipe": (dict,),
    "metric": (str,),
    "unit": (str,),
    "data": (dict,),
    "run_ids": (list,),
    "reason": (str,),
    "by": (str, type(None)),
    "date": (str,),
    "commit": (str, type(None)),
    "old_bands": (dict,),
    "new_bands": (dict,),
}
# Enough to say what was wrong with the samples; less is a word such as "stale".
_LEAST_CHARACTERS = 20
_LEAST_DIFFERENT = 6

Entry = dict[str, Any]


def sound_reason(text: str) -> str:
    """Return a reason on one line. Raises ValueError for one that is empty or says nothing."""
    reason = " ".join(text.split())
    if len(reason) < _LEAST_CHARACTERS or len({each for each in reason if each.isalpha()}) < _LEAST_DIFFERENT:
        raise ValueError(
            f"found {reason!r}. Allowed: a sentence of {_LEAST_CHARACTERS} characters or more that says what is wrong with these "
            "samples; everybody who meets the reference later reads it."
        )
    return reason


def check_entry(entry: Any, *, where: str) -> None:
    """Raise ReferenceError_ unless `entry` is a whole and sound superseding entry."""
    if isinstance(entry, dict) and entry.get("schema", ENTRY_SCHEMA) != ENTRY_SCHEMA:
        raise ReferenceError_(
            f"{where}: schema: found {entry['schema']!r}, this Vigil reads {ENTRY_SCHEMA}. Use the Vigil that wrote it."
        )
    check_keys(entry, _ENTRY_TYPES, where=where, what="superseding entry")
    if entry["kind"] != "superseded":
        raise ReferenceError_(f"{where}: kind: found {entry['kind']!r}, allowed is 'superseded'.")
    nested = {"recipe": dict.fromkeys(RECIPE_KEYS, (str, int)), "data": {"name": (str,), "checksum": (str,)}}
    for key, types in nested.items():
        check_keys(entry[key], types, where=f"{where}: {key}", what=f"superseding entry's {key}")
    for key in ("old_bands", "new_bands"):
        for framework, band in entry[key].items():
            if band is not None:
                check_keys(band, BAND_TYPES, where=f"{where}: {key}.{framework}", what="superseding entry's band")
    if not entry["run_ids"] or not all(isinstance(each, str) for each in entry["run_ids"]):
        raise ReferenceError_(f"{where}: run_ids: found {entry['run_ids']!r}, allowed are one or more names of runs.")
    try:
        sound_reason(entry["reason"])
    except ValueError as error:
        raise ReferenceError_(f"{where}: reason: {error}") from None


def parse_entries(text: str, *, where: str) -> list[tuple[str, Entry]]:
    """Return (place, entry) of each line of a file. Raises ReferenceError_ with file and line."""
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"{where}:{number}"
            entry = parse_object(line, where=place)
            check_entry(entry, where=place)
            found.append((place, entry))
    return found


def superseded_by(entries: Iterable[tuple[str, Entry]], rows: Sequence[Row]) -> dict[str, Entry]:
    """Return the entry of each run that is superseded.

    Raises ReferenceError_ for a run that there is no row of, one of another recipe, profile or metric than the entry says, and
    one that is superseded twice: a mistyped name would leave a bad sample in the band and look as if it were out.
    """
    by_run, found = {row["run_id"]: row for row in rows}, {}
    for where, entry in entries:
        for run_id in entry["run_ids"]:
            if run_id not in by_run:
                raise ReferenceError_(
                    f"{where}: run_ids: {run_id!r}: there is no such row, so nothing is superseded by its name."
                )
            differing = _difference(entry, by_run[run_id])
            if differing:
                raise ReferenceError_(f"{where}: run_ids: {run_id!r}: its row has {differing}.")
            if run_id in found:
                raise ReferenceError_(f"{where}: run_ids: {run_id!r}: superseded already ({found[run_id]['reason']}).")
            found[run_id] = entry
    return found


def _difference(entry: Mapping[str, Any], row: Row) -> str | None:
    named = {f"recipe.{key}": (entry["recipe"][key], row["recipe"][key]) for key in RECIPE_KEYS}
    named |= {"metric": (entry["metric"], row["metric"]), "data.checksum": (entry["data"]["checksum"], row["data"]["checksum"])}
    return next((f"{key} {there!r}, the entry {said!r}" for key, (said, there) in named.items() if said != there), None)
