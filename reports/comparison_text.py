"""Two releases side by side, as text and as Markdown."""

from __future__ import annotations

from reports.tables import markdown_table, print_table
from vigil.documents.comparison import ComparedSide, Comparison, ReleaseDifference, ReleaseVerdict
from vigil.documents.judgement import shown
from vigil.documents.verification import times
from vigil.errors import EXIT_OUTSIDE
from vigil.frameworks import TABLE
from vigil.statistics.paired import POOLED, fewest_pairs

COLUMNS = ("", "OLD", "NEW", "NEW - OLD")
SAME = "same bits"


def rows(document: Comparison) -> list[tuple[str, ...]]:
    """Return the table's rows: releases, versions, the first rung, every seed, the mean, what moved, and how fast it was."""
    return [*sides(document), *seeds(document), *moved(document), *speeds(document)]


def sides(document: Comparison) -> list[tuple[str, ...]]:
    """Return the rows about what ran: releases, versions of what computes, and one training step against float64."""
    old, new = document.old, document.new
    table: list[tuple[str, ...]] = [("release", old.release.request, new.release.request, "")]
    for name in dict.fromkeys([*old.versions, *new.versions]):
        before, after = old.versions.get(name), new.versions.get(name)
        table.append((name, before or "-", after or "-", "differs" if before and after and before != after else ""))
    table.append(("verify", _verify(old), _verify(new), ""))
    table.append(("worst distance to float64", _worst(old), _worst(new), ""))
    return table


def seeds(document: Comparison) -> list[tuple[str, ...]]:
    """Return the rows about the metric: every seed, and the mean."""
    old, new, unit = document.old, document.new, document.metric.unit
    table: list[tuple[str, ...]] = []
    for seed in document.seeds:
        left, right = old.values.get(seed), new.values.get(seed)
        bits = _bits(old.states.get(seed), new.states.get(seed))
        change = f"{change_of(right - left, unit)}{bits}" if left is not None and right is not None else "-"
        table.append((f"seed {seed}", shown(left, unit), shown(right, unit), change))
    if old.values and new.values:
        means = [sum(side.values.values()) / len(side.values) for side in (old, new)]
        change = change_of(means[1] - means[0], unit)
        table.append((f"mean {document.metric.name}", *(shown(mean, unit) for mean in means), change))
    return table


def speeds(document: Comparison) -> list[tuple[str, ...]]:
    """Return the rows about how fast it was, which nobody judges."""
    old, new = document.old, document.new
    first = _ratio("first step", old.first_step_seconds, new.first_step_seconds, "s")
    return [first, _ratio("images/second", old.images_per_second, new.images_per_second, "")]


def moved(document: Comparison) -> list[tuple[str, ...]]:
    """Return the rows about what moved whatever the metric says: single steps, losses, final states."""
    found: list[tuple[str, ...]] = []
    for step in document.steps:
        ratios = (step.old_ratio, step.new_ratio)
        off = ("-" if ratio is None else f"{times(ratio)} the floor off float64" for ratio in ratios)
        apart = f"{times(step.ratio)} the floor apart ({step.tensor}); {step.equal} of {step.tensors} tensors same bits"
        found.append((f"step {step.case}", *off, apart if step.equal < step.tensors else SAME))
    if losses := document.losses:
        floors = "" if losses.first_step_floors is None else f", {times(losses.first_step_floors)} the floor"
        found.append(("loss of step 1", "", "", f"{losses.first_step:.2g} of its size{floors}" if losses.first_step else SAME))
        where = f"{losses.largest:.2g} of their size at most, step {losses.step}; first differ in step {losses.since}"
        found.append(("losses", "", "", where if losses.since else SAME))
    if states := document.states:
        seeds = "" if states.between_seeds is None else f"{states.between_seeds:.2g} of their size between two seeds"
        floors = "" if states.tensor_floors is None else f", {times(states.tensor_floors)} the floor of one step"
        apart = f"{states.share:.2g} of their size; furthest {states.tensor}, {states.tensor_share:.2g} of its size{floors}"
        found.append(("final parameters", seeds, "", apart if states.equal < states.seeds else SAME))
    return found


def how_far(document: Comparison) -> str:
    """Return in one sentence how far the two are apart where the metric may not show it; nothing where nobody could say."""
    told = []
    if document.steps:
        worst = max(document.steps, key=lambda step: step.ratio)
        apart = f"are up to {times(worst.ratio)} the noise floor apart ({worst.tensor} in {worst.case})"
        told.append(f"single steps from the same states {apart if worst.ratio else 'have the same bits'}")
    if losses := document.losses:
        share = f"differ from step {losses.since} on, by {losses.largest:.2g} of their size at most"
        told.append(f"losses {share if losses.since else 'are the same'}")
    if states := document.states:
        told.append(f"final parameters {f'by {states.share:.2g}' if states.share else 'have the same bits'}")
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def without_floors(document: Comparison) -> str:
    """Return why what moved is told in shares alone, where that is so; a reason that is remarked upon is not told twice."""
    why = document.why_no_floors
    if why is None or document.losses is None:
        return ""
    is_remarked = any(why in remark for remark in document.remarks)
    return f"Nothing is told in noise floors: {'see the remark on the training step' if is_remarked else why}."


def fault(document: Comparison) -> str:
    """Return whether this comparison caught the fault that was planted under NEW; nothing where none was."""
    if document.fault is None or document.verdict.name is ReleaseVerdict.COULD_NOT_RUN:
        return ""
    planted = f"The fault {document.fault}, planted under NEW on purpose, was"
    if document.verdict.name is ReleaseVerdict.NEW_WRONG and document.old.is_wrong:
        return f"{planted} not told from what is wrong without it: the training step under OLD is wrong as well."
    if document.verdict.exit_code == EXIT_OUTSIDE:
        return f"{planted} caught."
    return f"{planted} not caught: it has no part in this recipe and context, or these runs cannot see it."


def packages(document: Comparison) -> list[str]:
    """Return what is said of packages besides the one that is compared: held, or moved with it, and how to hold those."""
    text = [f"Held under both: {', '.join(document.hold)}."] if document.hold else []
    if besides := document.besides:
        shown = ", ".join(f"{name} {old} to {new}" for name, (old, new) in besides.items())
        row = TABLE[document.context.framework]
        keep = " ".join(f"--hold {name}=={besides[name][0]}" for name in besides if name in row.holdable)
        text.append(f"Besides {row.name} moved: {shown}.{f' To keep what OLD has: {keep}' if keep else ''}")
    return text


def lines(document: Comparison) -> list[str]:
    """Return what stands below the table: the difference with its interval, what would have been found, remarks, the verdict."""
    text = []
    difference, unit = document.difference, document.metric.unit
    if difference:
        text.append(difference_text(difference, unit=unit))
        if difference.detectable is not None:
            text.append(f"These runs would have found a difference of {amount(difference.detectable, unit)} nine times in ten.")
    text += [line for line in (how_far(document), without_floors(document), fault(document)) if line]
    text += packages(document)
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
    planted = f", PLANTED FAULT {document.fault} under NEW" if document.fault else ""
    return f"{document.recipe}, {document.context}{planted}"


def difference_text(difference: ReleaseDifference, *, unit: str) -> str:
    """Return the difference of the metric with its interval, and the test that it is by."""
    size = f"NEW - OLD: {amount(difference.difference, unit, sign='+')}"
    if difference.p_value is None:
        return f"{size}; no interval from {difference.n_old} and {difference.n_new} runs."
    runs = f"{difference.n_pairs} seeds under both"
    if difference.method == POOLED:
        runs += f", paired from {fewest_pairs(coverage=difference.coverage)} on"
    if difference.correlation is not None:
        runs += f", correlation {difference.correlation:.2f}"
    interval = " to ".join("-" if end is None else change_of(end, unit) for end in (difference.low, difference.high))
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


def change_of(value: float, unit: str, *, sign: str = "+") -> str:
    """Return a difference of the metric; one that so many digits do not show keeps two of its own.

    >>> change_of(-0.5, "percent"), change_of(0.0, "percent"), change_of(-1.25e-9, "nats")
    ('-0.50', '+0.00', '-1.2e-09')
    """
    text = shown(value, unit, sign=sign)
    return f"{value:{sign}.1e}" if value and not float(text) else text


def amount(value: float, unit: str, *, sign: str = "") -> str:
    """Return a difference of the metric with its unit."""
    return f"{change_of(value, unit, sign=sign)} {'points' if unit == 'percent' else unit}"
