"""A folder of nights with fakes for releases and frameworks, and ways to break a night off."""

import threading

from tests.nightly.nights import RECIPE, FakeReleases, day
from vigil.documents.night import DONE, RUNNING, Night
from vigil.nightly import conduct
from vigil.nightly.conduct import NightOrder, begin, resume
from vigil.nightly.night_file import read_night_files

N_CELLS = 3 + 2


class Killed(BaseException):
    """What a kill is to a test: nothing of ours catches it and goes on."""


class Bench:
    """A folder of nights, and what runs them."""

    def __init__(self, path, *, budget=1e6):
        self.nights, self.budget, self.told = path / "nights", budget, []
        self.nights.mkdir()

    def order(self, *, frameworks=("jax",), **facts):
        return NightOrder({"resnet_cifar": RECIPE}, "quick", list(frameworks), self.budget, "vigil nightly", jobs=2, **facts)

    def earlier(self):
        return read_night_files(self.nights)[0]

    def begin(self, work, *, releases=None, when=0, **facts):
        return begin(
            self.order(**facts), self.nights, earlier=self.earlier(), releases=releases or FakeReleases({"jax": "1.0"}),
            make_work=lambda document, pythons: work, tell=self.told.append, when=day(when),
        )  # fmt: skip

    def resume(self, work, *, releases=None, **facts):
        *earlier, night = self.earlier()
        return resume(
            night, {"resnet_cifar": RECIPE}, earlier=earlier, releases=releases or FakeReleases({"jax": "1.0"}),
            make_work=lambda document, pythons: work, tell=self.told.append, **facts,
        )  # fmt: skip


class FakeBases:
    def __init__(self, keys):
        self.keys = keys

    def of(self, cell):
        return f"basis of {self.keys[cell.framework]}"


def statuses(night):
    """Return how many cells have which status."""
    rows = [row.status for row in night.document.cells]
    return {status: rows.count(status) for status in set(rows)}


def small_budget(bench, monkeypatch):
    """Let a night of this bench reach only some cells: every cell is said to take a minute, and the budget is two."""
    monkeypatch.setattr(conduct.Estimator, "seconds", lambda self, cell: 60.0)
    monkeypatch.setattr(conduct.NightClock, "left", lambda self: max(self.budget - 60.0 * done(bench), 0.0))
    bench.budget = 120.0


def done(bench):
    """Return how many cells of the newest night are done or running."""
    nights = bench.earlier()
    return sum(row.status in (DONE, RUNNING) for row in nights[-1].document.cells) if nights else 0


def kill_at(monkeypatch, write, *, torn):
    """Let the n-th write of a night be the last: before it replaces the file, with a part of it written, or right after."""
    count, lock, real = 0, threading.Lock(), Night.write

    def dying(self, directory):
        nonlocal count
        with lock:
            count += 1
            if count < write:
                return real(self, directory)
        if count == write and torn == "after":
            real(self, directory)
        elif count == write and torn == "half":
            text = self.text()
            (directory / f"{Night.FILE_NAME}.partial").write_text(text[: len(text) // 2])
        raise Killed

    monkeypatch.setattr(Night, "write", dying)
    return lambda: monkeypatch.setattr(Night, "write", real)
