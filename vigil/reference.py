"""Reading and appending raw reference samples: one JSON object a line, appended and never edited.

A row is what docs/architecture.md lists under "A reference row", no key more and none less. Whatever cannot be a sample
(a run that failed, one with a planted fault, a number that is not finite, a run that is there already) is refused here,
on the way in and again on the way out.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vigil.errors import CannotRun

REFERENCE_SCHEMA = 1
# Below these a band says more about luck than about the recipe: the t quantile grows fast under 8 samples, and how far
# seeds differ cannot be seen from a few of them, however many contexts each ran in.
MIN_SAMPLES = 8
MIN_SEEDS = 5

_NUMBER, _TEXT, _TEXT_OR_NONE = (int, float), str, (str, type(None))
_ROW_TYPES: dict[str, Any] = {
    "schema": int,
    "kind": _TEXT,
    "recipe": dict,
    "metric": _TEXT,
    "unit": _TEXT,
    "value": _NUMBER,
    "seed": int,
    "context": dict,
    "framework_version": _TEXT,
    "packages": dict,
    "python": _TEXT,
    "hardware": (str, dict, type(None)),
    "environment": dict,
    "data": dict,
    "commit": _TEXT_OR_NONE,
    "dirty": (bool, type(None)),
    "date": _TEXT,
    "run_id": _TEXT,
    "state_sha256": _TEXT_OR_NONE,
}
_NESTED_KEYS = {
    "recipe": ("name", "version", "hash", "profile"),
    "context": ("framework", "text"),
    "data": ("name", "checksum"),
}
_PACKAGES = ("numpy", "torch", "tensorflow", "keras", "jax", "jaxlib", "flax", "optax", "ml_dtypes")

Row = dict[str, Any]


class ReferenceError_(CannotRun):
    """A reference file cannot be read, or a run cannot be a reference sample."""


@dataclass(frozen=True)
class Selection:
    """The rows that may judge a recipe, or why there are none."""

    rows: tuple[Row, ...]
    reason: str | None


def load_rows(directory: Path, recipe_name: str) -> list[Row]:
    """Return every row of the *.jsonl files in `directory`/`recipe_name`; none if the folder is not there."""
    rows: list[Row] = []
    first_seen: dict[str, tuple[str, Row]] = {}
    for path in sorted((Path(directory) / recipe_name).glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            row = _parse(line, where=where)
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
    return f"to make them: make reference RECIPE={recipe['name']} PROFILE={recipe['profile']}"


def row_from_record(record: Mapping[str, Any]) -> Row:
    """Return the reference row of a finished run; raise ReferenceError_ for a run that cannot be a sample.

    A run of code with uncommitted changes is taken, and its row says so.
    """
    who = f"run {record.get('run_id', '(no run_id)')}"
    try:
        if record["fault"] is not None:
            raise ReferenceError_(
                f"{who}: fault: found {record['fault']['name']!r}. A run with a planted fault is never a reference: "
                "run it without --fault."
            )
        if record["status"] != "finished":
            raise ReferenceError_(f"{who}: status: found {record['status']!r}, allowed is 'finished'.")
        environment = record["environment"]
        row = {
            "schema": REFERENCE_SCHEMA,
            "kind": "measured",
            "recipe": {key: record["recipe"][key] for key in _NESTED_KEYS["recipe"]},
            "metric": record["metric"]["name"],
            "unit": record["metric"]["unit"],
            "value": record["metric"]["value"],
            "seed": record["seed"],
            "context": dict(record["context"]),
            "framework_version": environment["framework_version"],
            "packages": {name: environment[name] for name in _PACKAGES if name in environment},
            "python": environment["python"],
            "hardware": environment["hardware"],
            "environment": {key: value for key, value in environment.items() if not _is_local_path(value)},
            "data": {key: record["data"][key] for key in _NESTED_KEYS["data"]},
            "commit": record["code"]["commit"],
            "dirty": record["code"]["dirty"],
            "date": record["created"][:10],
            "run_id": record["run_id"],
            "state_sha256": record["state_sha256"],
        }
    except KeyError as missing:
        raise ReferenceError_(f"{who}: {missing.args[0]}: missing from its record; a reference row needs it.") from None
    _check(row, where=who)
    return row


def append_rows(directory: Path, rows: Sequence[Row]) -> list[Path]:
    """Append rows to `directory`/<recipe>/<profile>-<framework>-<date>.jsonl and return the files written.

    Everything is checked before anything is written, and each file is replaced whole, so that a kill leaves it as it
    was or complete. Two processes that append to the same file at once would lose rows: run one at a time.
    """
    for number, row in enumerate(rows, start=1):
        _check(row, where=f"new row {number}")
    names = sorted({row["recipe"]["name"] for row in rows})
    _refuse_repeats(rows, existing=[row for name in names for row in load_rows(directory, name)])
    by_file: dict[Path, list[Row]] = {}
    for row in rows:
        by_file.setdefault(_file_of(Path(directory), row), []).append(row)
    for path, added in by_file.items():
        _append_whole(path, added)
    return sorted(by_file)


def _parse(line: str, *, where: str) -> Row:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ReferenceError_(
            f"{where}: broken JSON at column {error.colno}: {error.msg}. One whole object a line is needed; "
            "restore the file from version control."
        ) from None
    _check(row, where=where)
    return row


def _check(row: Any, *, where: str) -> None:
    """Raise ReferenceError_ unless `row` is a whole and sound reference row."""
    if not isinstance(row, dict):
        raise ReferenceError_(f"{where}: found {type(row).__name__}, needed is one JSON object a line.")
    if row.get("schema", REFERENCE_SCHEMA) != REFERENCE_SCHEMA:
        raise ReferenceError_(
            f"{where}: schema: found {row['schema']!r}, this Vigil reads {REFERENCE_SCHEMA}. Use the Vigil that wrote it."
        )
    _check_keys(row, _ROW_TYPES, where=where)
    for key, types in _ROW_TYPES.items():
        value, allowed = row[key], types if isinstance(types, tuple) else (types,)
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise ReferenceError_(f"{where}: {key}: found {value!r}, allowed is {names}.")
    for key, nested in _NESTED_KEYS.items():
        for name in nested:
            if name not in row[key]:
                raise ReferenceError_(f"{where}: {key}.{name}: missing. A reference row needs it.")
    if row["kind"] != "measured":
        raise ReferenceError_(f"{where}: kind: found {row['kind']!r}, allowed is 'measured'.")
    if not math.isfinite(row["value"]):
        raise ReferenceError_(f"{where}: value: found {row['value']}, allowed are finite numbers.")
    if row["unit"] == "percent" and not 0.0 <= row["value"] <= 100.0:
        raise ReferenceError_(f"{where}: value: found {row['value']} percent, allowed is 0 to 100.")


def _check_keys(row: Row, allowed: Iterable[str], *, where: str) -> None:
    missing, unknown = sorted(set(allowed) - set(row)), sorted(set(row) - set(allowed))
    if missing:
        raise ReferenceError_(f"{where}: {', '.join(missing)}: missing. A reference row needs every key.")
    if unknown:
        raise ReferenceError_(f"{where}: {', '.join(unknown)}: not a key of a reference row. Take it out.")


def _refuse_repeats(rows: Sequence[Row], *, existing: Sequence[Row]) -> None:
    run_ids = {row["run_id"] for row in existing}
    samples = {_sample(row): row["run_id"] for row in existing}
    for row in rows:
        if row["run_id"] in run_ids:
            raise ReferenceError_(f"run {row['run_id']}: already a reference sample. A run counts once.")
        same = samples.get(_sample(row))
        if same is not None:
            raise ReferenceError_(
                f"run {row['run_id']}: seed {row['seed']} in {row['context']['text']} with framework version "
                f"{row['framework_version']} is already in the reference (run {same}). A repeat is no new sample: take "
                "another seed."
            )
        run_ids.add(row["run_id"])
        samples[_sample(row)] = row["run_id"]


def _sample(row: Row) -> tuple[Any, ...]:
    recipe = tuple(row["recipe"][key] for key in _NESTED_KEYS["recipe"])
    return (*recipe, row["metric"], row["seed"], row["context"]["text"], row["framework_version"])


def _file_of(directory: Path, row: Row) -> Path:
    parts = (row["recipe"]["name"], row["recipe"]["profile"], row["context"]["framework"], row["date"])
    for part in parts:
        if not isinstance(part, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", part):
            raise ReferenceError_(
                f"run {row['run_id']}: found {part!r} in a file name; allowed are letters, digits, '_', '-' and '.'."
            )
    name, profile, framework, date = parts
    return directory / name / f"{profile}-{framework}-{date}.jsonl"


def _append_whole(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    text = before + "".join(json.dumps(row, allow_nan=False, ensure_ascii=False) + "\n" for row in rows)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes it private; the file belongs to the repository
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _is_local_path(value: Any) -> bool:
    # Where one machine keeps its files says nothing about its numbers, and rows are published.
    return isinstance(value, str) and os.path.isabs(value)
