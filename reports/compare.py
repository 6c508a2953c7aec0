"""Two releases side by side, as text and as Markdown."""

from __future__ import annotations

from typing import Any

from reports.tables import markdown_table, print_table
from vigil.documents.verification import times

Document = dict[str, Any]
_SIDES = ("old", "new")


def columns(document: Document) -> tuple[str, ...]:
    return ("", "OLD", "NEW", "NEW - OLD")


def rows(document: Document) -> list[tuple[str, ...]]:
    """Return the table's rows: releases, versions, the first rung, every seed, the mean, and how fast it was."""
    old, new = (document[side] for side in _SIDES)
    found = [("release", old["release"]["request"], new["release"]["request"], "")]
    for name in dict.fromkeys([*old["versions"], *new["versions"]]):
        left, right = old["versions"].get(name, "-"), new["versions"].get(name, "-")
        found.append((name, left, right, "" if left == right else "differs"))
    found.append(("verify", _verify(old), _verify(new), ""))
    found.append(("worst distance to float64", _worst(old), _worst(new), ""))
    for seed in document["seeds"]:
        left, right = (side["values"].get(str(seed)) for side in (old, new))
        bits = _bits(*(side["states"].get(str(seed)) for side in (old, new)))
        change = f"{right - left:+.2f}{bits}" if None not in (left, right) else "-"
        found.append((f"seed {seed}", _number(left), _number(right), change))
    if old["values"] and new["values"]:
        left, right = (sum(side["values"].values()) / len(side["values"]) for side in (old, new))
        found.append((f"mean {document['metric']['name']}", f"{left:.2f}", f"{right:.2f}", f"{right - left:+.2f}"))
    found.append(_ratio("first step", old["first_step_seconds"], new["first_step_seconds"], "s"))
    found.append(_ratio("images/second", old["images_per_second"], new["images_per_second"], ""))
    return found


def lines(document: Document) -> list[str]:
    """Return what stands below the table: the difference with its interval, what would have been found, remarks, the verdict."""
    found = []
    difference, verdict = document["difference"], document["verdict"]
    if difference:
        found.append(_difference(difference, unit=document["metric"]["unit"]))
        if difference["detectable"] is not None:
            amount = _amount(difference["detectable"], document["metric"]["unit"])
            found.append(f"These runs would have found a difference of {amount} nine times in ten.")
    found += [f"Remark: {remark}." for remark in document["remarks"]]
    for side in _SIDES:
        found += [f"    | {line}" for line in document[side]["log_tail"][-6:]]
    return [*found, f"Verdict: {verdict['name']} ({verdict['reason']})"]


def show(document: Document) -> None:
    """Print the table and what stands below it."""
    print_table(_title(document), columns(document), rows(document), notes=lines(document))


def markdown(document: Document) -> str:
    """Return the comparison as Markdown, with hardware and date."""
    machine = (document["new"]["environment"] or document["old"]["environment"]).get("hardware", "nothing ran")
    text = [f"### {_title(document)}", "", *markdown_table(columns(document), rows(document)), ""]
    text += [f"- {line.strip(' |')}" for line in lines(document)]
    return "\n".join([*text, f"- {machine}; {document['created'][:10]}"]) + "\n"


def _title(document: Document) -> str:
    recipe, context = document["recipe"], document["context"]["text"]
    return f"{recipe['name']} v{recipe['version']} ({recipe['hash']}), profile {recipe['profile']}, {context}"


def _difference(difference: Document, *, unit: str) -> str:
    size = f"NEW - OLD: {_amount(difference['difference'], unit, sign='+')}"
    if difference["p_value"] is None:
        return f"{size}; no interval from {difference['n_old']} and {difference['n_new']} runs."
    runs = f"{difference['n_pairs']} seeds under both"
    if difference["correlation"] is not None:
        runs += f", correlation {difference['correlation']:.2f}"
    interval = f"{difference['low']:+.2f} to {difference['high']:+.2f}"
    how = f"{difference['coverage']:.0%} interval {interval}, p = {difference['p_value']:.2g}"
    return f"{size}, {how} ({difference['method']}; {runs})."


def _verify(side: Document) -> str:
    return side["verify"]["verdict"]["name"] if side["verify"] else "-"


def _worst(side: Document) -> str:
    worst = (side["verify"] or {}).get("worst")
    if not worst:
        return "-"
    return f"{times(worst['ratio'])} the floor, {float(worst['score']):.2g} of what is accepted ({worst['tensor']})"


def _bits(old: str | None, new: str | None) -> str:
    return ", same bits" if old is not None and old == new else ""


def _ratio(name: str, old: float | None, new: float | None, unit: str) -> tuple[str, ...]:
    ratio = f"{new / old:.2f} times" if old and new else "-"
    return (name, _number(old, unit), _number(new, unit), ratio)


def _number(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:,.2f} {unit}".strip()


def _amount(value: float, unit: str, *, sign: str = "") -> str:
    return f"{value:{sign}.2f} {'points' if unit == 'percent' else unit}"
