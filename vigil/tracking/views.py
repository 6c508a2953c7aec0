"""Saved views of MLflow's pages: columns, order and chart, as the tags of an experiment in which MLflow keeps them.

Their form is in no manual of MLflow's: they are written, never read, and tests/vigil/test_dashboard_pages.py opens one with the
MLflow that is installed. Where a release takes them no longer, it says so on the page, and shows the runs without them.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TAG = "mlflow.sharedViewState."
KEY = "vigil"  # of the one view that each experiment has
PART, WHOLE = "vigil.part", "none"  # of a look: which part of it a run is of
# The page puts a column of an attribute, which cannot be left out, first; of the date its icon is enough: the status.
_RUN_NAME, _DATE, _DURATION = "attributes.`Run Name`", "runDateAndNestInfo", "duration"
_NAME_WIDTH, _STATUS_WIDTH = 265, 52
_HEIGHT = 520
_WRITTEN = 1_764_000_000_000  # any time: another one each time would be another view


@dataclass(frozen=True)
class View:
    """What a page shows: tags as columns with their widths in pixels, what it is sorted by, and one chart over the steps.

    search: what stands in its search box. MLflow nests runs only where they are sorted by their time.
    """

    name: str
    columns: Mapping[str, int]
    order_by: str
    search: str = ""
    chart: str | None = None
    chart_title: str = ""

    def tags(self) -> dict[str, str]:
        """Return the experiment's tag."""
        packed = base64.b64encode(zlib.compress(json.dumps(self._state()).encode(), 9)).decode()
        saved = {"name": self.name, "createdAt": _WRITTEN, "updatedAt": _WRITTEN, "state": f"deflate;{packed}"}
        return {TAG + KEY: json.dumps(saved)}

    def _state(self) -> dict[str, Any]:
        columns = [_tag(name) for name in self.columns]
        widths = {_tag(name): width for name, width in self.columns.items()}
        found = {
            "searchFilter": self.search,
            "orderByKey": self.order_by,
            "orderByAsc": False,
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "datasetsFilter": [],
            "modelVersionFilter": "All Runs",
            "selectedColumns": columns,
            "columnOrder": [_RUN_NAME, _DATE, *columns, _DURATION],
            "columnWidths": {_RUN_NAME: _NAME_WIDTH, _DATE: _STATUS_WIDTH, **widths},
            "runsHiddenMode": "FIRST_10_RUNS",
            "groupBy": None,
        }
        return found | (_charts(self.chart, self.chart_title) if self.chart else {})


TIMELINES_VIEW = View(
    name="What drifts or is wrong, the worst first",
    columns={
        "drift_size": 185, "drift_release": 95, "drift_since": 125, "verdict": 110, "value": 110, "band": 110, "release": 90,
        "night": 110, "drift_q": 80, "reason": 400,
    },
    order_by="tags.`vigil.order`",
    chart="band_position",
    chart_title="-1 to 1 is within the band",
)  # fmt: skip
RUNS_VIEW = View(
    name="Verdict, number and band, the newest first",
    columns={
        "verdict": 110, "value": 110, "band": 110, "release": 90, "night": 110, "fault": 90, "origin_layer": 150, "reason": 400,
    },
    order_by="attributes.start_time",
)  # fmt: skip
LOOKS_VIEW = View(
    name="What is wrong, the worst first",
    columns={
        "verdict": 100, "release": 80, "wrong_first": 430, "since": 125, "night": 110, "mode": 80, "precision": 80, "reason": 400,
    },
    order_by="tags.`vigil.order`",
    search=f"tags.`{PART}` = '{WHOLE}'",
)  # fmt: skip
NIGHTS_VIEW = View(
    name="Counts and releases, the newest night first",
    columns={"verdict": 90, "verdicts": 330, "release_torch": 110, "release_tensorflow": 130, "release_jax": 110},
    order_by="attributes.start_time",
)


def _tag(name: str) -> str:
    return f"tags.`{name}`"


def _charts(metric: str, title: str) -> dict[str, Sequence[Mapping[str, Any]] | bool]:
    """Return one wide chart of a metric, above those that MLflow makes of itself, which are folded."""
    section, own = f"{KEY}-chart", {"isReordered": True, "deleted": False}
    chart = {
        "uuid": f"{KEY}-{metric}", "type": "LINE", "metricSectionId": section, "runsCountToCompare": 10, "deleted": False,
        "isGenerated": False, "metricKey": metric, "selectedMetricKeys": [metric], "lineSmoothness": 0, "range": {},
        "scaleType": "linear", "xAxisScaleType": "linear", "xAxisKey": "step", "selectedXAxisMetricKey": "", "yAxisKey": "metric",
        "yAxisExpressions": [], "ignoreOutliers": False, "useGlobalXaxisKey": True, "useGlobalLineSmoothing": True,
    }  # fmt: skip
    sections = [
        {"uuid": section, "name": title, "display": True, "isGenerated": False, "columns": 1, "cardHeight": _HEIGHT} | own,
        {"uuid": f"{KEY}-others", "name": "Model metrics", "display": False, "isGenerated": True} | own,
    ]
    return {"compareRunCharts": [chart], "compareRunSections": sections, "isAccordionReordered": True}
