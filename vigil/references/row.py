"""One raw reference sample: what a row holds, how it is made of a record, and what is refused.

A row has what docs/architecture.md lists under "A reference row", no key more and none less; `verify` alone is missing from rows
that were kept before `vigil reference add` verified first. Whatever cannot be a sample (a run that failed, one with a planted
fault, one of a context that verify rejects, a number that is not finite) is refused here, on the way in and again on the way out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vigil.documents.context import Context
from vigil.errors import CannotRun
from vigil.frameworks import RECORDED

REFERENCE_SCHEMA = 1
# What verify may have said of a context whose runs are samples. `unknown`: there is no golden tape to hold it against.
ACCEPTED = ("reproduced", "unknown")

_NUMBER, _TEXT, _TEXT_OR_NONE = (int, float), (str,), (str, type(None))
_ROW_TYPES: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "kind": _TEXT,
    "recipe": (dict,),
    "metric": _TEXT,
    "unit": _TEXT,
    "value": _NUMBER,
    "seed": (int,),
    "context": (dict,),
    "framework_version": _TEXT,
    "packages": (dict,),
    "python": _TEXT,
    "hardware": (str, dict, type(None)),
    "environment": (dict,),
    "data": (dict,),
    "commit": _TEXT_OR_NONE,
    "dirty": (bool, type(None)),
    "date": _TEXT,
    "run_id": _TEXT,
    "state_sha256": _TEXT_OR_NONE,
}
_OPTIONAL_TYPES = {"verify": (dict,)}
_NESTED_TYPES: dict[str, dict[str, tuple[type, ...]]] = {
    "recipe": {"name": _TEXT, "version": (int,), "hash": _TEXT, "profile": _TEXT},
    "context": {"framework": _TEXT, "text": _TEXT},
    "data": {"name": _TEXT, "checksum": _TEXT},
    "verify": {"verdict": _TEXT, "reason": _TEXT, "verify_id": _TEXT_OR_NONE, "golden": _TEXT_OR_NONE},
}
RECIPE_KEYS = tuple(_NESTED_TYPES["recipe"])

Row = dict[str, Any]


class ReferenceError_(CannotRun):
    """A reference file cannot be read, or a run cannot be a reference sample."""


def row_from_record(record: Mapping[str, Any], *, verify: Mapping[str, Any] | None = None) -> Row:
    """Return the reference row of a finished run; raise ReferenceError_ for a run that cannot be a sample.

    A run of code with uncommitted changes is taken, and its row says so.

    Args:
        verify: what the verification of the run's context said, as it stands in the row; None where there was none.
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
        _refuse_rejected(record, who=who)
        environment = record["environment"]
        row = {
            "schema": REFERENCE_SCHEMA,
            "kind": "measured",
            "recipe": {key: record["recipe"][key] for key in RECIPE_KEYS},
            "metric": record["metric"]["name"],
            "unit": record["metric"]["unit"],
            "value": record["metric"]["value"],
            "seed": record["seed"],
            "context": _fields_of(record["context"]),
            "framework_version": environment["framework_version"],
            "packages": {name: environment[name] for name in RECORDED if name in environment},
            "python": environment["python"],
            "hardware": environment["hardware"],
            "environment": {key: value for key, value in environment.items() if not _is_local_path(value)},
            "data": {key: record["data"][key] for key in _NESTED_TYPES["data"]},
            "commit": record["code"]["commit"],
            "dirty": record["code"]["dirty"],
            "date": record["created"][:10],
            "run_id": record["run_id"],
            "state_sha256": record["state_sha256"],
        }
    except KeyError as missing:
        raise ReferenceError_(f"{who}: {missing.args[0]}: missing from its record; a reference row needs it.") from None
    if verify is not None:
        row["verify"] = dict(verify)
    check_row(row, where=who)
    return row


def read_text(path: Path) -> str:
    """Return the content of a file of rows or entries. Raises ReferenceError_ for one that cannot be read, or is no text."""
    try:
        return decoded(path.read_bytes(), where=str(path))
    except OSError as error:
        raise ReferenceError_(f"{path}: cannot be read ({error.strerror}).") from error


def decoded(content: bytes, *, where: str) -> str:
    """Return content as text. Raises ReferenceError_ for bytes that are no UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReferenceError_(
            f"{where}: byte {error.start} is no UTF-8: the file is damaged; restore it from version control."
        ) from None


def parse_object(line: str, *, where: str) -> Any:
    """Return what stands in a line of JSON. Raises ReferenceError_ with the place."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ReferenceError_(
            f"{where}: broken JSON at column {error.colno}: {error.msg}. One whole object a line is needed; "
            "restore the file from version control."
        ) from None


def check_row(row: Any, *, where: str) -> None:
    """Raise ReferenceError_ unless `row` is a whole and sound reference row."""
    if isinstance(row, dict) and row.get("schema", REFERENCE_SCHEMA) != REFERENCE_SCHEMA:
        raise ReferenceError_(
            f"{where}: schema: found {row['schema']!r}, this Vigil reads {REFERENCE_SCHEMA}. Use the Vigil that wrote it."
        )
    check_keys(row, _ROW_TYPES, optional=_OPTIONAL_TYPES, where=where, what="reference row")
    for key, nested in _NESTED_TYPES.items():
        for name, types in nested.items() if key in row else ():
            if name not in row[key]:
                raise ReferenceError_(f"{where}: {key}.{name}: missing. A reference row needs it.")
            _check_type(row[key][name], types, where=f"{where}: {key}.{name}")
    if row["kind"] != "measured":
        raise ReferenceError_(f"{where}: kind: found {row['kind']!r}, allowed is 'measured'.")
    if not math.isfinite(row["value"]):
        raise ReferenceError_(f"{where}: value: found {row['value']}, allowed are finite numbers.")
    if row["unit"] == "percent" and not 0.0 <= row["value"] <= 100.0:
        raise ReferenceError_(f"{where}: value: found {row['value']} percent, allowed is 0 to 100.")
    said = row.get("verify", {}).get("verdict", ACCEPTED[0])
    if said not in ACCEPTED:
        raise ReferenceError_(f"{where}: verify.verdict: found {said!r}, allowed is {' or '.join(ACCEPTED)}.")


def check_keys(
    found: Any,
    types: Mapping[str, tuple[type, ...]],
    *,
    where: str,
    what: str,
    optional: Mapping[str, tuple[type, ...]] | None = None,
) -> None:
    """Raise ReferenceError_ unless `found` has every key of `types`, none but these and `optional`, each of its type."""
    if not isinstance(found, dict):
        raise ReferenceError_(f"{where}: found {type(found).__name__}, needed is one JSON object a line.")
    allowed = {**types, **(optional or {})}
    missing, unknown = sorted(set(types) - set(found)), sorted(set(found) - set(allowed))
    if missing:
        raise ReferenceError_(f"{where}: {', '.join(missing)}: missing. A {what} needs every key.")
    if unknown:
        raise ReferenceError_(f"{where}: {', '.join(unknown)}: not a key of a {what}. Take it out.")
    for key in found:
        _check_type(found[key], allowed[key], where=f"{where}: {key}")


def _check_type(value: Any, types: tuple[type, ...], *, where: str) -> None:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in types)
        raise ReferenceError_(f"{where}: found {value!r}, allowed is {names}.")


def _refuse_rejected(record: Mapping[str, Any], *, who: str) -> None:
    """Raise ReferenceError_ for a run whose own invocation began with a training step that was found wrong."""
    said = ((record.get("verify") or {}).get("verdict") or {"name": ACCEPTED[0]})["name"]
    if said not in ACCEPTED:
        raise ReferenceError_(
            f"{who}: verify.verdict: found {said!r}. A run of a context whose training step is wrong is never a reference: "
            "see verify.json beside its invocation."
        )


def _fields_of(context: Context | Mapping[str, Any]) -> dict[str, Any]:
    return context.as_dict() if isinstance(context, Context) else dict(context)


def _is_local_path(value: Any) -> bool:
    # Where one machine keeps its files says nothing about its numbers, and rows are published.
    return isinstance(value, str) and os.path.isabs(value)
