"""A pytest plugin: the processor seconds of every test and of the processes that it starts, which a busy machine hardly moves.

`python -m pytest -p benchmarks.cost_of_tests ...` appends a line to `test-cost.csv` (or TEST_COST's path) after each test:
its name, the seconds of pytest's own process, and those of its children. `python -m benchmarks.cost_of_tests FILE` sums them
by folder and file; with `--long SECONDS` it prints the tests that took longer, as `tests/long.txt` has them.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import os

import psutil
import pytest


def used() -> tuple[float, float]:
    """Return the processor seconds of this process, and of all that it has started, also of those that still run."""
    times = os.times()
    children = times.children_user + times.children_system
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            children += sum(child.cpu_times()[:4])
    return times.user + times.system, children


def pytest_configure(config: pytest.Config) -> None:
    """Measure where tests run: the process that hands them to pytest-xdist's workers runs none."""
    if "PYTEST_XDIST_WORKER" in os.environ or not config.getoption("numprocesses", None):
        config.pluginmanager.register(_Cost())


class _Cost:
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what was used before a test's fixtures."""
        self.before = used()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write what a test used, with its fixtures."""
        own, children = (after - before for after, before in zip(used(), self.before, strict=True))
        with open(os.environ.get("TEST_COST", "test-cost.csv"), "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([nodeid, f"{own:.2f}", f"{children:.2f}"])


def main() -> None:
    """Print the seconds of each folder and file, the longest first, or which tests took longest."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost_of_tests", description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--long", type=float, metavar="SECONDS")
    given = parser.parse_args()
    with open(given.file, newline="", encoding="utf-8") as file:
        rows = [(nodeid, float(own), float(children)) for nodeid, own, children in csv.reader(file)]
    if given.long is not None:
        print("\n".join(sorted(nodeid for nodeid, own, children in rows if own + children > given.long)))
        return
    sums: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for nodeid, own, children in rows:
        name = nodeid.split("::")[0]
        for key in ("all", name.rpartition("/")[0] + "/", name):
            for place, number in enumerate((1, own, children)):
                sums[key][place] += number
    print(f"{'tests':>5} {'own':>8} {'children':>8}")
    for key, (tests, own, children) in sorted(sums.items(), key=lambda item: -sum(item[1][1:])):
        print(f"{tests:5d} {own:8.1f} {children:8.1f}  {key}")


if __name__ == "__main__":
    main()
