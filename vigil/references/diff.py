"""What a change does to the references: rows and entries of a revision beside those of the working tree, and the bands of both.

Appending is all that may happen to a row. One that was edited or removed is a problem, and so is a sample that stands twice;
everything else is shown, for a reviewer to judge.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.documents.context import parse_context
from vigil.documents.judgement import Metric
from vigil.documents.verdict import Verdict
from vigil.recipes.loading import Recipe, identity_of
from vigil.references.entry import FILE_NAME, Entry, parse_entries, superseded_by
from vigil.references.judge import judge
from vigil.references.overview import (
    bands_of,
    by_context,
    group_of,
    have_band,
    identity,
    moments,
    no_bands,
    why_not_used,
)
from vigil.references.revision import (
    FOLDER,
    Revision,
    Texts,
    other_changes,
    recipe_at,
    recipe_now,
    texts_at,
    texts_now,
    unknown_commits,
)
from vigil.references.row import ReferenceError_, Row
from vigil.references.samples import parse_rows, sample_of

# What stands in a message for a key that one side does not have.
_ABSENT = "(no such key)"


@dataclasses.dataclass(frozen=True)
class Side:
    """One recipe's references on one side: rows by run, entries with their places, and the recipe as that side has it."""

    rows: Mapping[str, Row]
    entries: Sequence[tuple[str, Entry]]
    recipe: Recipe | None

    @property
    def standing(self) -> dict[str, Row]:
        """Rows by run that no entry supersedes."""
        out = {run_id for _, entry in self.entries for run_id in entry["run_ids"]}
        return {run_id: row for run_id, row in self.rows.items() if run_id not in out}


def compare(root: Path, base: Revision) -> dict[str, Any]:
    """Return what the working tree below `root` does to the references of a revision, as plain values.

    Raises:
        ReferenceError_: A file of either side cannot be read, with file and line.
    """
    before, now = texts_at(root, base.commit), texts_now(root)
    problems: list[str] = []
    places: list[dict[str, Any]] = []
    for name in sorted({*before, *now}):
        old = _side(name, before, recipe_at(root, base.commit, name), place=f"{base.commit[:12]}:{FOLDER}/{name}")
        new = _side(name, now, recipe_now(root, name), place=f"{FOLDER}/{name}")
        problems += _problems(old, new)
        strangers = unknown_commits(root, (row["commit"] for row in _added(old, new)))
        profiles = sorted({row["recipe"]["profile"] for side in (old, new) for row in side.rows.values()})
        places += [found for profile in profiles if (found := _place(name, profile, old, new, strangers=strangers))]
    return {
        "base": dataclasses.asdict(base),
        "problems": problems,
        "places": places,
        "others": other_changes(root, base.commit),
    }


def moved(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, list[tuple[float, float]]]:
    """Return which values were inside the old band and are outside the new one, and the other way round."""
    if not old or not new:
        return {"now_outside": [], "now_inside": []}
    a, b = (old["low"], old["high"]), (new["low"], new["high"])
    return {"now_outside": _without(a, b), "now_inside": _without(b, a)}


def _without(left: tuple[float, float], right: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the parts of one interval that another does not hold."""
    parts = [(left[0], min(left[1], right[0])), (max(left[0], right[1]), left[1])]
    return [left] if right[1] < left[0] or right[0] > left[1] else [(low, high) for low, high in parts if low < high]


def _side(name: str, texts: Texts, recipe: Recipe | None, *, place: str) -> Side:
    files = dict(texts.get(name, {}))
    entries = parse_entries(files.pop(FILE_NAME, ""), where=f"{place}/{FILE_NAME}")
    return Side({row["run_id"]: row for row in parse_rows(files, recipe_name=name, place=place)}, entries, recipe)


def _added(old: Side, new: Side) -> list[Row]:
    return [row for run_id, row in new.rows.items() if run_id not in old.rows]


def _problems(old: Side, new: Side) -> list[str]:
    """Return everything that is no appending."""
    found = []
    for run_id, row in old.rows.items():
        if run_id not in new.rows:
            found.append(f"REMOVED: {_name(row)}, value {row['value']}. Restore it; to take it out of the bands: supersede it")
        elif _canonical(new.rows[run_id]) != _canonical(row):
            found.append(f"EDITED: {_name(row)}: {', '.join(_changes(row, new.rows[run_id]))}. Restore it")
    kept = Counter(_canonical(entry) for _, entry in new.entries)
    for where, entry in old.entries:
        kept[_canonical(entry)] -= 1
        if kept[_canonical(entry)] < 0:
            found.append(
                f"ENTRY EDITED OR REMOVED: {where}, {len(entry['run_ids'])} rows superseded: {entry['reason']}. Restore it"
            )
    try:
        superseded_by(new.entries, list(new.rows.values()))
    except ReferenceError_ as error:
        found.append(f"ENTRY THAT CANNOT BE: {error}")
    added = {row["run_id"] for row in _added(old, new)}
    first: dict[tuple[Any, ...], Row] = {}
    for row in sorted(new.standing.values(), key=lambda each: each["run_id"] in added):
        same = first.setdefault(sample_of(row), row)
        if same is not row and row["run_id"] in added:
            found.append(f"REPEATED: {_name(row)} is the same sample as run {same['run_id']}. A repeat is no new sample")
    return found


def _name(row: Row) -> str:
    recipe = row["recipe"]
    return f"{recipe['name']} {recipe['profile']}, {row['context']['text']} seed {row['seed']} (run {row['run_id']})"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _changes(old: Any, new: Any, *, at: str = "") -> list[str]:
    """Return each key whose value differs, with both."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = {key: (old.get(key, _ABSENT), new.get(key, _ABSENT)) for key in {**old, **new}}
        return [
            text
            for key, (before, now) in pairs.items()
            if _canonical(before) != _canonical(now)
            for text in _changes(before, now, at=f"{at}.{key}" if at else key)
        ]
    return [f"{at} {_canonical(old)} is now {_canonical(new)}"]


def _place(name: str, profile: str, old: Side, new: Side, *, strangers: set[str | None]) -> dict[str, Any] | None:
    """Return what changed in one profile of a recipe; None where nothing did."""
    sides = {"old": _summary(old, profile), "new": _summary(new, profile)}
    added = [row for row in _added(old, new) if row["recipe"]["profile"] == profile]
    known = {_canonical(entry) for _, entry in old.entries}
    fresh = [entry for _, entry in new.entries if _canonical(entry) not in known and entry["recipe"]["profile"] == profile]
    if not added and not fresh and sides["old"] == sides["new"]:
        return None
    return {
        "recipe": name,
        "profile": profile,
        **sides,
        "moved": {framework: _moved(sides, framework) for framework in sides["old"]["bands"]},
        "added": _describe_added(added, old, sides["old"], profile),
        "superseded": [
            {
                **{key: entry[key] for key in ("reason", "by", "date")},
                "rows": len(entry["run_ids"]),
                "contexts": by_context([new.rows[run_id] for run_id in entry["run_ids"] if run_id in new.rows]),
            }
            for entry in fresh
        ],
        "dirty": [row["run_id"] for row in added if row["dirty"] is not False],
        "unknown_commits": [row["run_id"] for row in added if row["commit"] in strangers],
        "unverified": [row["run_id"] for row in added if row.get("verify", {}).get("verdict") != "reproduced"],
    }


def _moved(sides: Mapping[str, Any], framework: str) -> dict[str, list[tuple[float, float]]]:
    return moved(*(sides[side]["bands"][framework]["band"] for side in ("old", "new")))


def _summary(side: Side, profile: str) -> dict[str, Any]:
    """Return what judges a profile on one side: the rows of the recipe as that side has it, of the data of the newest of them."""
    standing = [row for row in side.standing.values() if row["recipe"]["profile"] == profile]
    nothing = {"version": None, "hash": None, "unit": None, "rows": 0, "seeds": 0, "mean": None, "spread": None, "checksum": None}
    if side.recipe is None or profile not in side.recipe.profiles:
        why = "recipes/ has no such recipe" if side.recipe is None else f"the recipe has no profile {profile}"
        reason = f"{why}: no band" if standing else "no samples"
        return {**nothing, "rows": len(standing), "bands": no_bands(reason)}
    current = [row for row in standing if why_not_used(row, side.recipe) is None]
    newest = max(current, key=lambda row: row["date"])["data"]["checksum"] if current else None
    used = [row for row in current if row["data"]["checksum"] == newest]
    facts = identity(side.recipe, profile)
    return {
        **{key: facts[key] for key in ("version", "hash")},
        "unit": side.recipe.resolve(profile)["metric"]["unit"],
        "rows": len(used),
        "seeds": len({row["seed"] for row in used}),
        **moments(used),
        "checksum": newest,
        "bands": bands_of(standing, recipe=side.recipe, profile=profile, checksum=newest or ""),
    }


def _describe_added(added: Sequence[Row], old: Side, summary: Mapping[str, Any], profile: str) -> list[dict[str, Any]]:
    """Return the added rows by what they are samples of, context and release, each lot judged as runs by the old band."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in added:
        groups.setdefault((*group_of(row), row["context"]["text"], row["framework_version"]), []).append(row)
    return [
        {**lot, "recipe": rows[0]["recipe"], "by_the_old_band": _judged(rows, old, summary, profile)}
        for _, rows in sorted(groups.items(), key=lambda item: str(item[0]))
        for lot in by_context(rows)
    ]


def _judged(rows: Sequence[Row], old: Side, summary: Mapping[str, Any], profile: str) -> str | None:
    """Return the verdict that these runs get from the old band; None where it is of another recipe, metric or data."""
    first = rows[0]
    is_other = why_not_used(first, old.recipe) or first["data"]["checksum"] != summary["checksum"]
    if is_other or not have_band(summary["bands"]):
        return None
    training = old.recipe.resolve(profile)
    verdict = judge(
        list({row["seed"]: row["value"] for row in rows}.items()),
        rows=list(old.standing.values()),
        recipe=identity_of(old.recipe, profile),
        metric=Metric.of(training),
        checksum=summary["checksum"],
        n_test=training["data"]["n_test"],
        context=parse_context(first["context"]["text"]),
    )
    return verdict.name if verdict.name is Verdict.REPRODUCED else f"{verdict.name}: {verdict.reason}"
