"""Two releases side by side, as text and as Markdown."""

from __future__ import annotations

from reports.tables import markdown_table, print_table
from vigil.documents.comparison import ComparedSide, Comparison, ReleaseDifference
from vigil.documents.judgement import shown
from vigil.documents.verification import times

COLUMNS = ("", "OLD", "NEW", "NEW - OLD")


def rows(document: Comparison) -> list[tuple[str, ...]]:
    """Return the table's rows: releases, versions, the first rung, every seed, the mean, and how fast it was."""
    old, new, unit = document.old, document.new, document.metric.unit
    table: list[tuple[str, ...]] = [("release", old.release.request, new.release.request, "")]
    for name in dict.fromkeys([*old.versions, *new.versions]):
        versions = (old.versions.get(name, "-"), new.versions.get(name, "-"))
        table.append((name, *versions, "" if versions[0] == versions[1] else "differs"))
    table.append(("verify", _verify(old), _verify(new), ""))
    table.append(("worst distance to float64", _worst(old), _worst(new), ""))
    for seed in document.seeds:
        left, right = old.values.get(seed), new.values.get(seed)
        bits = _bits(old.states.get(seed), new.states.get(seed))
        change = f"{shown(right - left, unit, sign='+')}{bits}" if left is not None and right is not None else "-"
        table.append((f"seed {seed}", shown(left, unit), shown(right, unit), change))
    if old.values and new.values:
        means = [sum(side.values.values()) / len(side.values) for side in (old, new)]
        change = shown(means[1] - means[0], unit, sign="+")
        table.append((f"mean {document.metric.name}", *(shown(mean, unit) for mean in means), change))
    if losses := document.losses:
        table.append(("loss of step 1", "", "", f"{losses.first_step:.1e} of its size" if losses.first_step else "same bits"))
        where = f"{losses.largest:.1e} at most, step {losses.step}; first differ in step {losses.since}"
        table.append(("losses", "", "", where if losses.since else "same bits"))
    table.append(_ratio("first step", old.first_step_seconds, new.first_step_seconds, "s"))
    table.append(_ratio("images/second", old.images_per_second, new.images_per_second, ""))
    return table


def lines(document: Comparison) -> list[str]:
    """Return what stands below the table: the difference with its interval, what would have been found, remarks, the verdict."""
    text = []
    difference, unit = document.difference, document.metric.unit
    if difference:
        text.append(_difference(difference, unit=unit))
        if difference.detectable is not None:
            text.append(f"These runs would have found a difference of {_amount(difference.detectable, unit)} nine times in ten.")
    text += [f"Remark: {remark}." for remark in document.remarks]
    for side in (document.old, document.new):
        text += [f"    | {line}" for line in side.log_tail[-6:]]
    return [*text, f"Verdict: {document.verdict.name} ({document.verdict.reason})"]


def show(document: Comparison) -> None:
    """Print the table and what stands below it."""
    print_table(f"{document.verdict.name}: {_title(document)}", COLUMNS, rows(document), notes=lines(document))


def markdown(document: Comparison) -> str:
    """Return the comparison as Markdown, with hardware and date."""
    machine = (document.new.environment or document.old.environment).get("hardware", "nothing ran")
    text = [f"### {_title(document)}", "", *markdown_table(COLUMNS, rows(document)), ""]
    text += [f"- {line.strip(' |')}" for line in lines(document)]
    return "\n".join([*text, f"- {machine}; {document.created[:10]}"]) + "\n"


def _title(document: Comparison) -> str:
    fault = f", PLANTED FAULT {document.fault} under NEW" if document.fault else ""
    return f"{document.recipe}, {document.context}{fault}"


def _difference(difference: ReleaseDifference, *, unit: str) -> str:
    size = f"NEW - OLD: {_amount(difference.difference, unit, sign='+')}"
    if difference.p_value is None:
        return f"{size}; no interval from {difference.n_old} and {difference.n_new} runs."
    runs = f"{difference.n_pairs} seeds under both"
    if difference.correlation is not None:
        runs += f", correlation {difference.correlation:.2f}"
    interval = " to ".join(shown(end, unit, sign="+") for end in (difference.low, difference.high))
    how = f"{difference.coverage:.0%} interval {interval}, p = {difference.p_value:.2g}"
    return f"{size}, {how} ({difference.method}; {runs})."


def _verify(side: ComparedSide) -> str:
    return side.verify.verdict.name if side.verify and side.verify.verdict else "-"


def _worst(side: ComparedSide) -> str:
    worst = side.verify.worst if side.verify else None
    if worst is None:
        return "-"
    return f"{times(worst.ratio)} the floor, {worst.score:.2g} of what is accepted ({worst.tensor})"


def _bits(old: str | None, new: str | None) -> str:
    return ", same bits" if old is not None and old == new else ""


def _ratio(name: str, old: float | None, new: float | None, unit: str) -> tuple[str, ...]:
    ratio = f"{new / old:.2f} times" if old and new else "-"
    return (name, _number(old, unit), _number(new, unit), ratio)


def _number(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:,.2f} {unit}".strip()


def _amount(value: float, unit: str, *, sign: str = "") -> str:
    return f"{shown(value, unit, sign=sign)} {'points' if unit == 'percent' else unit}"
