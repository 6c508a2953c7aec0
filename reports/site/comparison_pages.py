"""The pages of `vigil compare`: a list of the comparisons in the directory of runs, and a page each.

What a page says is what the terminal said (`reports.comparison_text`), with the answer first and the differences as a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reports import comparison_text as text
from reports.site.appearance import APPEARANCES, FAILED, Appearance
from reports.site.cell_results import Key
from reports.site.charts import difference_chart
from reports.site.evidence import Files
from reports.site.words import count, file_name, plain, shortened
from vigil.documents.comparison import ComparedSide, Comparison, ReleaseVerdict
from vigil.documents.verdict import Verdict

MOST = 200  # pages: the newest
_TAIL = 15
_NOT_MOVED = {
    ReleaseVerdict.IDENTICAL: "{old} and {new} train to the same bits",
    ReleaseVerdict.MOVED: "{new} moves numbers of {old}, not for the worse",
    ReleaseVerdict.NO_DIFFERENCE: "No difference seen between {old} and {new}",
    ReleaseVerdict.NEW_WRONG: "A training step under {new} is wrong",
    ReleaseVerdict.COULD_NOT_RUN: "{old} and {new} could not be compared",
    ReleaseVerdict.TOO_FEW_RUNS: "Too few runs to tell {old} from {new}",
    ReleaseVerdict.CANNOT_TELL: "These runs cannot tell {old} from {new}",
}


def write_comparisons(write: Callable[..., None], files: Files, *, cells: Mapping[Key, Any]) -> None:
    """Write the list of comparisons and the page of each; nothing where there are none.

    Args:
        write: writes a file from its template.
        cells: those that have pages.
    """
    newest = files.sources.comparisons[: -MOST - 1 : -1]
    if not newest:
        return
    names = {document.compare_id: f"comparisons/{file_name(document.compare_id)}.html" for document in newest}
    rows = [(names[document.compare_id], document, appearance_of(document), title_of(document)) for document in newest]
    write("comparisons.html", "comparisons.html", rows=rows, left_out=len(files.sources.comparisons) - len(newest), text=text)
    for name, document, appearance, title in rows:
        key = (document.recipe.name, document.recipe.profile, document.context.text)
        # An id that anybody may have edited leads nowhere but into the directory of runs.
        path = files.sources.runs / Path(document.compare_id).name / document.FILE_NAME
        write(
            name,
            "comparison.html",
            document=document,
            appearance=appearance,
            title=title,
            details=[text.how_far(document), *_seen(document)],
            without_floors=text.without_floors(document),
            fault=text.fault(document),
            sides=text.sides(document),
            packages=text.packages(document),
            seeds=text.seeds(document),
            moved=text.moved(document),
            speeds=text.speeds(document),
            columns=text.COLUMNS,
            chart=_chart(document, appearance),
            difference=text.difference_text(document.difference, unit=document.metric.unit) if document.difference else None,
            tails=[(side.name, side.log_tail[-_TAIL:]) for side in (document.old, document.new) if side.log_tail],
            key=key if key in cells else None,
            file=files.link(path, "../") if path.is_file() else None,
        )


def appearance_of(document: Comparison) -> Appearance:
    """Return how the verdict on two releases looks: a difference by the metric's direction, what said nothing as unknown."""
    name = document.verdict.name
    if name in (ReleaseVerdict.NEW_LOWER, ReleaseVerdict.NEW_HIGHER):
        is_better = (name is ReleaseVerdict.NEW_HIGHER) == (document.metric.direction == "higher")
        return APPEARANCES[Verdict.BETTER if is_better else Verdict.REGRESSED]
    if name is ReleaseVerdict.NEW_WRONG:
        return APPEARANCES[Verdict.REGRESSED]
    if name is ReleaseVerdict.COULD_NOT_RUN:
        return APPEARANCES[FAILED]
    is_unknown = name in (ReleaseVerdict.TOO_FEW_RUNS, ReleaseVerdict.CANNOT_TELL)
    return APPEARANCES[Verdict.UNKNOWN if is_unknown else Verdict.REPRODUCED]


def title_of(document: Comparison) -> str:
    """Return the answer in a sentence, without its full stop."""
    framework = document.context.framework
    old, new = (_short(side, framework) for side in (document.old, document.new))
    said = _NOT_MOVED.get(document.verdict.name)
    if said is None:
        difference, unit = document.difference, document.metric.unit
        size = f" by {text.amount(abs(difference.difference), unit)}" if difference else ""
        word = "lower" if document.verdict.name is ReleaseVerdict.NEW_LOWER else "higher"
        said = f"{plain(document.metric.name)} is {word}{size} under {{new}} than under {{old}}"
    fault = f", with the fault {plain(document.fault)} planted under the second" if document.fault else ""
    return f"{said.format(old=old, new=new)}{fault}"


def _short(side: ComparedSide, framework: str) -> str:
    """Return a release as a sentence names it."""
    version = next((side.versions[name] for name in (framework, f"{framework}-cpu") if name in side.versions), None)
    return shortened(f"{framework} {plain(version)}" if version else plain(side.release.request), 60).replace("{", "(")


def _seen(document: Comparison) -> list[str]:
    difference, unit = document.difference, document.metric.unit
    if difference is None or difference.detectable is None or not math.isfinite(difference.detectable):
        return []
    seen = text.amount(difference.detectable, unit)
    return [f"{count(difference.n_new, 'run')} a side would have shown a difference of {seen} nine times in ten."]


def _chart(document: Comparison, appearance: Appearance) -> Any:
    old, new, difference = document.old.values, document.new.values, document.difference
    moved = {seed: new[seed] - old[seed] for seed in sorted(old.keys() & new.keys())}
    if difference is None or not moved:
        return None
    interval = (difference.low, difference.high) if difference.low is not None and difference.high is not None else None
    unit = "points" if document.metric.unit == "percent" else document.metric.unit
    # The picture is of the metric: a step that is wrong does not make it so.
    is_moved = document.verdict.name in (ReleaseVerdict.NEW_LOWER, ReleaseVerdict.NEW_HIGHER)
    looks = appearance.name if is_moved else Verdict.REPRODUCED.value if interval else Verdict.UNKNOWN.value
    return difference_chart(moved, mean=difference.difference, interval=interval, appearance=looks, unit=unit)
