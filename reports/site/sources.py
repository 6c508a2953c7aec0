"""What a report is made from: history, the recipes of the checkout, their reference rows, and a night's document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from vigil.errors import UsageError, VigilError, nearest
from vigil.recipes.loading import load_recipe, recipe_hash, recipe_names
from vigil.references.overview import recipes_with_rows
from vigil.references.samples import Row, load_rows

NIGHTS, NIGHT_FILE = "nights", "night.json"


class History(Protocol):
    """The two tables of `vigil.tracking.history.History`, and how far they reach."""

    samples: pd.DataFrame
    verifications: pd.DataFrame
    as_of: datetime | None
    skipped: int
    remarks: Sequence[str]


@dataclass(frozen=True)
class Profile:
    """One profile of a recipe, as the checkout has it now."""

    name: str
    description: str
    hash: str
    n_test: int


@dataclass(frozen=True)
class RecipeFacts:
    """What the report needs of a recipe."""

    name: str
    version: int
    metric: Mapping[str, Any]
    targets: Sequence[Mapping[str, Any]]
    profiles: Mapping[str, Profile]


@dataclass(frozen=True)
class Sources:
    """Everything that a report is made from.

    night: the document of the night that is shown, where there is one. night_id: the night that is shown, document or not.
    now: the time that ages are counted from. note: stands on every page.
    """

    history: History
    recipes: Mapping[str, RecipeFacts]
    rows: Mapping[str, Sequence[Row]]
    runs: Path
    now: datetime
    night: Mapping[str, Any] | None = None
    night_id: str | None = None
    note: str | None = None
    remarks: tuple[str, ...] = field(default_factory=tuple)


def gather(
    history: History, *, runs: Path, references: Path, now: datetime, night_id: str | None = None, note: str | None = None
) -> Sources:
    """Return what a report of a night is made from: the newest night, or the one that is named, as of its end.

    Raises:
        UsageError: there is no such night.
    """
    recipes, remarks = read_recipes()
    nights, unread = read_nights(runs)
    remarks += unread
    samples, verifications = history.samples, history.verifications
    seen = _nights_of(samples, verifications)
    if night_id is None:
        times = seen | {name: begun(document) for name, document in nights.items()}
        chosen = max(times, key=lambda name: (times[name], name), default=None)
    else:
        chosen = night_id
        if chosen not in seen and chosen not in nights:
            known = sorted({*seen, *nights})
            listed = ", ".join(known[-5:]) if known else "none, there was no night yet"
            raise UsageError(f"--night: found {night_id!r}. Allowed, the newest: {listed}.{nearest(night_id, known)}")
        now = max([each for each in (seen.get(chosen), _end(nights.get(chosen))) if each is not None])
        history = _until(history, now)
    rows = {}
    # A recipe from elsewhere may have reference rows, too.
    for name in sorted({*recipes, *(set(recipes_with_rows(references)) & set(samples["recipe"]))}):
        try:
            rows[name] = load_rows(references, name)
        except VigilError as error:
            rows[name] = []
            remarks.append(f"the reference rows of {name} are left out: {error}")
    return Sources(
        history=history,
        recipes=recipes,
        rows=rows,
        runs=runs,
        now=now,
        night=nights.get(chosen) if chosen is not None else None,
        night_id=chosen,
        note=note,
        remarks=(*history.remarks, *remarks),
    )


def read_recipes() -> tuple[dict[str, RecipeFacts], list[str]]:
    """Return the recipes of the checkout by name, and a remark for each that cannot be read."""
    found, remarks = {}, []
    for name in recipe_names():
        try:
            recipe = load_recipe(name)
        except VigilError as error:
            remarks.append(f"recipe {name} is left out: {error}")
            continue
        profiles = {}
        for profile, content in recipe.profiles.items():
            resolved = recipe.resolve(profile)
            profiles[profile] = Profile(profile, content.description, recipe_hash(resolved), resolved["data"]["n_test"])
        targets = [target.model_dump(mode="json") for target in recipe.targets]
        found[name] = RecipeFacts(name, recipe.version, recipe.metric.model_dump(mode="json"), targets, profiles)
    return found, remarks


def read_nights(runs: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the documents of nights by id, and a remark for each that cannot be read."""
    found, remarks = {}, []
    for path in sorted((runs / NIGHTS).glob(f"*/{NIGHT_FILE}")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            for row in document["cells"]:
                row["kind"], row["recipe"], row["profile"], row["status"], context_text(row)
            begun(document)
            found[str(document["id"])] = document
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            remarks.append(f"night {path.parent.name} is left out, its document cannot be read ({type(error).__name__}: {error})")
    return found, remarks


def context_text(row: Mapping[str, Any]) -> str:
    """Return the text of the context of a night's cell."""
    return row["context"] if isinstance(row["context"], str) else row["context"]["text"]


def begun(document: Mapping[str, Any]) -> datetime:
    """Return when a night was begun. Raises KeyError and ValueError for a document that does not say."""
    when = datetime.fromisoformat(document["created"])
    return when.replace(tzinfo=timezone.utc) if when.tzinfo is None else when.astimezone(timezone.utc)


def _end(document: Mapping[str, Any] | None) -> datetime | None:
    if document is None:
        return None
    finished = document.get("finished")
    return begun({"created": finished}) if isinstance(finished, str) else begun(document)


def _nights_of(*frames: pd.DataFrame) -> dict[str, datetime]:
    """Return the nights that history knows, each with the time of its last row."""
    last: dict[str, datetime] = {}
    for frame in frames:
        for name, when in frame.dropna(subset=["night"]).groupby("night")["created"].max().items():
            when = when.to_pydatetime()
            last[str(name)] = max(last.get(str(name), when), when)
    return last


@dataclass(frozen=True)
class _Until:
    samples: pd.DataFrame
    verifications: pd.DataFrame
    as_of: datetime | None
    skipped: int
    remarks: tuple[str, ...]


def _until(history: History, when: datetime) -> History:
    """Return the history as it was at a time."""
    samples = history.samples[history.samples["created"] <= when]
    verifications = history.verifications[history.verifications["created"] <= when]
    remark = "this is a night of the past: nothing after it is shown, and ages are counted from its end"
    return _Until(samples, verifications, history.as_of, history.skipped, (*history.remarks, remark))
