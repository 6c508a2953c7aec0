"""What a report is made from: history, the recipes of the checkout, their reference rows, and a night's document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pandas as pd

from vigil.audit.known import known_calls
from vigil.documents.audit import Audit
from vigil.documents.comparison import Comparison, read_comparisons
from vigil.documents.newest import read_newest
from vigil.documents.night import Night, read_nights
from vigil.documents.operator import OperatorVerification
from vigil.documents.reference_row import ReferenceRow
from vigil.documents.step import StepVerification
from vigil.documents.step_comparison import StepComparison
from vigil.documents.verification import KnownFinding
from vigil.errors import UsageError, VigilError, nearest
from vigil.recipes.loading import load_recipe, recipe_hash, recipe_names
from vigil.references.overview import recipes_with_rows
from vigil.references.samples import load_rows
from vigil.tracking.history import History
from vigil.verify.known_findings import FILE_NAME, load_known

NIGHTS = "nights"
_AUDITS = 3  # of one framework, or one family of it
_OWN = 3  # of one file
# What is told of users' own files, and the word in the names of their directories.
OwnDocument = StepVerification | OperatorVerification | StepComparison
OWN_KINDS: Mapping[type[OwnDocument], str] = {
    StepVerification: "step",
    OperatorVerification: "operator",
    StepComparison: "compare",
}


@dataclass(frozen=True)
class ProfileFacts:
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
    profiles: Mapping[str, ProfileFacts]


@dataclass(frozen=True)
class Sources:
    """Everything that a report is made from.

    night: the document of the night that is shown, where there is one. night_id: the night that is shown, document or not.
    comparisons: of releases, by `vigil compare`, the oldest first.
    now: the time that ages are counted from. note: stands on every page. mlflow: the address of its pages.
    known: the findings on record. audits: the newest first. own: of users' own
    steps and operators, the newest first. known_calls: the evidence of findings of audits, by their names.
    """

    history: History
    recipes: Mapping[str, RecipeFacts]
    rows: Mapping[str, Sequence[ReferenceRow]]
    runs: Path
    now: datetime
    night: Night | None = None
    night_id: str | None = None
    note: str | None = None
    remarks: tuple[str, ...] = field(default_factory=tuple)
    mlflow: str | None = None
    known: Sequence[KnownFinding] = ()
    comparisons: Sequence[Comparison] = ()
    audits: Sequence[Audit] = ()
    own: Sequence[OwnDocument] = ()
    known_calls: Mapping[str, str] = field(default_factory=dict)


def gather(
    history: History,
    *,
    runs: Path,
    references: Path,
    now: datetime,
    night_id: str | None = None,
    note: str | None = None,
    own_references: Path | None = None,
    mlflow: str | None = None,
) -> Sources:
    """Return what a report of a night is made from: the newest night, or the one that is named, as of its end.

    Args:
        own_references: where reference rows of recipes lie that are not in `references`.

    Raises:
        UsageError: there is no such night.
    """
    recipes, remarks = read_recipes()
    documents, unread = read_nights(runs / NIGHTS)
    nights = {document.id: document for document in documents.values()}
    remarks += unread
    samples, verifications = history.samples, history.verifications
    seen = _nights_of(samples, verifications)
    if night_id is None:
        times = seen | {name: document.when for name, document in nights.items()}
        chosen = max(times, key=lambda name: (times[name], name), default=None)
    else:
        chosen = night_id
        if chosen not in seen and chosen not in nights:
            known = sorted({*seen, *nights})
            listed = ", ".join(known[-5:]) if known else "none, there was no night yet"
            raise UsageError(f"--night: found {night_id!r}. Allowed, the newest: {listed}.{nearest(night_id, known)}")
        now = max(when for when in (seen.get(chosen), _end(nights.get(chosen))) if when is not None)
        history = _until(history, now)
    rows = {}
    # A recipe from elsewhere may have reference rows, too.
    folders = {name: folder for folder in (own_references, references) if folder for name in recipes_with_rows(folder)}
    for name in sorted({*recipes, *(set(folders) & set(samples["recipe"]))}):
        try:
            rows[name] = load_rows(folders.get(name, references), name)
        except VigilError as error:
            rows[name] = []
            remarks.append(f"the reference rows of {name} are left out: {error}")
    findings: list[KnownFinding] = []
    try:
        findings = load_known(references / FILE_NAME)
    except VigilError as error:
        remarks.append(f"the findings on record are left out: {error}")
    comparisons, unread = read_comparisons(runs)
    remarks += unread
    audits, unread = read_newest(Audit, runs, "audit", most=_AUDITS)
    remarks += unread
    own: list[OwnDocument] = []
    for kind, verb in OWN_KINDS.items():
        some, unread = read_newest(kind, runs, verb, most=_OWN)
        own += some
        remarks += unread
    evidence: dict[str, str] = {}
    try:
        evidence = {each.name: each.evidence for each in known_calls()}
    except VigilError as error:
        remarks.append(f"the findings of audits on record are left out: {error}")
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
        mlflow=mlflow,
        known=findings,
        comparisons=[each for each in comparisons if night_id is None or each.when <= now],
        audits=[each for each in audits if night_id is None or each.when <= now],
        own=sorted((each for each in own if night_id is None or when_of(each) <= now), key=when_of, reverse=True),
        known_calls=evidence,
    )


def when_of(document: OwnDocument) -> datetime:
    """Return when a document was written."""
    return datetime.fromisoformat(document.created).astimezone(timezone.utc)


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
            profiles[profile] = ProfileFacts(profile, content.description, recipe_hash(resolved), resolved["data"]["n_test"])
        targets = [target.model_dump(mode="json") for target in recipe.targets]
        found[name] = RecipeFacts(name, recipe.version, recipe.metric.model_dump(mode="json"), targets, profiles)
    return found, remarks


def _end(night: Night | None) -> datetime | None:
    """Return when a night ended, or, while it is at work, when it was begun."""
    if night is None:
        return None
    return datetime.fromisoformat(night.finished).astimezone(timezone.utc) if night.finished else night.when


def _nights_of(*frames: pd.DataFrame) -> dict[str, datetime]:
    """Return the nights that history knows, each with the time of its last row."""
    last: dict[str, datetime] = {}
    for frame in frames:
        for name, when in frame.dropna(subset=["night"]).groupby("night")["created"].max().items():
            when = when.to_pydatetime()
            last[str(name)] = max(last.get(str(name), when), when)
    return last


def _until(history: History, when: datetime) -> History:
    """Return the history as it was at a time."""
    samples = history.samples[history.samples["created"] <= when]
    verifications = history.verifications[history.verifications["created"] <= when]
    remark = "this is a night of the past: nothing after it is shown, and ages are counted from its end"
    return replace(history, samples=samples, verifications=verifications, remarks=(*history.remarks, remark))
