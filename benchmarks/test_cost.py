"""A pytest plugin: the processor time of every test and of the processes that it starts, which a busy machine does not change.

`python -m pytest -p benchmarks.test_cost ...` writes `test-cost.csv` (or TEST_COST's path) and prints a table by folder and file.
"""

from __future__ import annotations

import collections
import csv
import os

import pytest

_ROWS: list[tuple[str, str, float, float]] = []


def _used() -> tuple[float, float]:
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = _used()
    result = yield
    own, children = (after - start for start, after in zip(before, _used(), strict=True))
    with open(os.environ.get("TEST_COST", "test-cost.csv"), "a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow([item.nodeid, round(own, 2), round(children, 2)])
    return result
