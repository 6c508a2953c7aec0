"""What is newly wrong in a night is narrowed while there is time: one cell a cause, once, and no longer than the budget bears."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from reports.night_summary import markdown
from tests.nightly.bench import small_budget, statuses
from tests.nightly.nights import FakeReleases, FakeWork, a_cell, a_document, a_release, a_row
from tests.reports.documents import ORIGIN, a_regression
from vigil.documents.narrowing import place_of
from vigil.documents.night import DONE, LEFT, NO_TIME, VERIFY, Night, NightNarrowing
from vigil.documents.verdict import Verdict
from vigil.nightly import narrowing
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.ledger import Ledger
from vigil.nightly.narrowing import NARROW_LOG, Wrong, narrow_run, newly_wrong

CAUSE = "jax: stage1.block1.conv2, backward, weight gradient"
WRONG_CELL = "verify resnet_cifar quick jax-jit-fp32-x1"


class NarrowingWork(FakeWork):
    """Cells whose verifications say the origin of `origins`; remembers what was narrowed, with how much time."""

    def __init__(self, runs: Path, origins: dict[str, dict], *, state: str = "narrowed") -> None:
        super().__init__({key: CellOutcome(Verdict.REGRESSED, "2 tensors are out") for key in origins})
        self.runs, self.origins, self.state = runs, origins, state
        self.narrowed: list[tuple[Wrong, float]] = []

    def carry_out(self, cell, directory, cores, stop: threading.Event) -> CellOutcome:
        if origin := self.origins.get(cell.key):
            a_regression(origin=origin, origins=[origin]).write(_made(self.runs / directory))
        return super().carry_out(cell, directory, cores, stop)

    def narrow(self, wrong: Wrong, seconds: float) -> NightNarrowing:
        self.narrowed.append((wrong, seconds))
        state = self.state
        return NightNarrowing(key=wrong.row.key, cause=wrong.cause, directory="d", state=state, reason="since 1.1", seconds=2.0)


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture
def work(bench):
    """Return a function that makes work in which these cells are wrong."""
    return lambda *keys, **facts: NarrowingWork(bench.nights.parent, dict.fromkeys(keys, ORIGIN), **facts)


def test_what_is_newly_wrong_is_narrowed_and_stands_in_the_night(bench, work) -> None:
    bench.begin(FakeWork(), releases=FakeReleases({"jax": "1.0"}))
    asked = work(WRONG_CELL)
    night = bench.begin(asked, releases=FakeReleases({"jax": "1.1"}), when=1)
    [(wrong, _)] = asked.narrowed
    assert (wrong.row.key, wrong.cause, wrong.finding) == (WRONG_CELL, CAUSE, 1)
    assert wrong.since == ("--since", "--package", "jax", "--from", "1.0", "--to", "1.1")
    [found] = Night.read(night.directory).narrowed
    assert (found.key, found.cause, found.state, found.reason) == (WRONG_CELL, CAUSE, "narrowed", "since 1.1")
    assert f"{CAUSE}: narrowed: since 1.1" in bench.told
    assert f"| {CAUSE} | narrowed | since 1.1 | d |" in markdown(night.document)


def test_one_cause_in_two_contexts_is_narrowed_once_in_the_context_that_is_worth_most(bench, work) -> None:
    asked = work(WRONG_CELL, "verify resnet_cifar quick jax-eager-fp32-x1")
    bench.begin(asked, releases=FakeReleases({"jax": "1.0"}))
    assert [wrong.row.key for wrong, _ in asked.narrowed] == [WRONG_CELL]
    assert asked.narrowed[0][0].since == ()  # no release that was right is known, so none is searched


@pytest.mark.parametrize(("state", "again"), [("narrowed", False), ("does not show", False), ("failed", False), (NO_TIME, True)])
def test_what_was_narrowed_is_not_narrowed_again_unless_there_was_no_time(bench, work, state, again) -> None:
    bench.begin(work(WRONG_CELL, state=state))
    asked = work(WRONG_CELL)
    bench.begin(asked, is_again=True, when=1)
    assert bool(asked.narrowed) is again


def test_a_night_that_was_broken_off_while_it_narrowed_goes_on_with_that(bench, work) -> None:
    """No cell is left to look at, and what is wrong is narrowed all the same."""
    broken = work(WRONG_CELL)
    broken.narrow = Mock(side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.begin(broken)
    asked = work()
    night = bench.resume(asked)
    assert asked.started == []
    assert [wrong.row.key for wrong, _ in asked.narrowed] == [WRONG_CELL]
    assert [each.state for each in night.document.narrowed] == ["narrowed"]


def test_what_there_was_no_time_for_is_narrowed_by_the_next_night_that_looks_at_anything(bench, work) -> None:
    """Its cell is covered, so the row is the earlier night's; what is wrong tonight comes first, and once narrowed that is it."""
    first = bench.begin(work(WRONG_CELL, state=NO_TIME))
    crashed = "reproduce resnet_cifar quick jax-jit-fp32-x2"
    first.update(crashed, verdict="failed:crash")  # so that it is looked at again
    other = "verify resnet_cifar quick jax-jit-fp32-x2"
    first.update(other, verdict="failed:crash")
    asked = work(other)
    asked.prepared += ["before"] * 9  # so that its directories are others
    asked.origins[other] = ORIGIN | {"quantity": "data gradient"}
    second = bench.begin(asked, when=1)
    assert WRONG_CELL not in second.cells
    assert [wrong.row.key for wrong, _ in asked.narrowed] == [other, WRONG_CELL]
    assert [each.key for each in second.document.narrowed] == [other, WRONG_CELL]
    again = work()
    second.update(crashed, verdict="failed:crash")
    bench.begin(again, when=2)
    assert (again.started, again.narrowed) == ([crashed], [])


def test_another_tensor_is_another_cause(bench, work) -> None:
    bench.begin(work(WRONG_CELL))
    asked = work(WRONG_CELL)
    asked.origins[WRONG_CELL] = ORIGIN | {"quantity": "data gradient"}
    bench.begin(asked, is_again=True, when=1)
    assert [wrong.cause for wrong, _ in asked.narrowed] == [CAUSE.replace("weight", "data")]


def test_a_verification_without_an_origin_is_not_narrowed(bench) -> None:
    asked = NarrowingWork(bench.nights.parent, {WRONG_CELL: None})
    asked.outcomes[WRONG_CELL] = CellOutcome(Verdict.REGRESSED, "an invariant does not hold")
    night = bench.begin(asked)
    assert (asked.narrowed, night.document.narrowed) == ([], ())


def test_time_is_kept_for_what_is_wrong(bench, work, monkeypatch) -> None:
    """Three cells of 60 s fit into 180 s; with the first two wrong 18 s are kept, and no third one is begun."""
    small_budget(bench, monkeypatch)
    bench.budget = 180.0
    assert statuses(bench.begin(FakeWork())) == {DONE: 3, LEFT: 2}
    asked = work(*(row.key for row in bench.earlier()[-1].document.cells if row.kind == VERIFY))
    night = bench.begin(asked, is_again=True, when=1)
    assert statuses(night) == {DONE: 2, LEFT: 3}
    assert [seconds for _, seconds in asked.narrowed] == [60.0]


def test_what_there_is_no_time_for_is_told_with_its_command(bench, work, monkeypatch) -> None:
    monkeypatch.setattr(narrowing, "LEAST_SECONDS", 1e9)
    night = bench.begin(work(WRONG_CELL))
    [found] = night.document.narrowed
    directory = night.cells[WRONG_CELL].directory
    assert (found.state, found.directory) == (NO_TIME, None)
    assert found.reason.endswith(f"by hand: vigil narrow {directory}")


@pytest.mark.parametrize(
    ("good", "now", "since"),
    [
        (["jax==1.0", "numpy==2.1"], ["jax==1.1", "numpy==2.2"], "--since --package jax --from 1.0 --to 1.1"),
        (["jax==1.1", "flax==0.9"], ["jax==1.1", "flax==0.10"], "--since --package flax --from 0.9 --to 0.10 --hold jax==1.1"),
        (["jax==1.1"], ["jax==1.0"], ""),
        (["jax==1.1"], ["jax==1.1"], ""),
        (["jax @ file:///jax.whl"], ["jax==1.1"], ""),
    ],
)  # fmt: skip
def test_the_package_that_moved_is_searched_between_right_and_wrong(tmp_path, good, now, since) -> None:
    cell = a_cell(VERIFY)
    a_regression(origin=ORIGIN).write(_made(tmp_path / "wrong"))
    before = a_document([a_row(cell)], releases={"jax": a_release("jax", pins=good)})
    row = a_row(cell, verdict="regressed", directory="wrong")
    night = a_document([row], number=2, releases={"jax": a_release("jax", pins=now)})
    [found] = newly_wrong(night, Ledger([before]), tmp_path)
    assert " ".join(found.since) == since


def _wrong(runs: Path, name: str, since: tuple[str, ...] = ()) -> Wrong:
    row = a_row(a_cell(VERIFY), verdict="regressed", directory=name)
    _made(runs / name)
    return Wrong(row, CAUSE, 1, since)


def test_a_narrowing_that_cannot_be_is_told_by_its_last_line(tmp_path) -> None:
    """The command as it is, on a directory without a document; once with the search of releases, and once without."""
    found = narrow_run(_wrong(tmp_path, "empty", ("--since",)), 100.0, runs=tmp_path)
    assert (found.state, found.directory) == (narrowing.FAILED, None)
    assert "holds none of" in (tmp_path / "empty" / NARROW_LOG).read_text()
    assert found.reason.rstrip()


def test_a_narrowing_that_takes_too_long_is_ended_and_what_was_found_stands(tmp_path, monkeypatch) -> None:
    """A process that writes what it has, ignores being asked, and never ends."""
    command = tmp_path / "python"
    monkeypatch.setattr(narrowing, "_GRACE_SECONDS", 0.5)
    deaf = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(600)\n"
    command.write_text(f"#!{sys.executable}\n{deaf}")
    command.chmod(0o700)
    monkeypatch.setattr(narrowing.sys, "executable", str(command))
    began = time.monotonic()
    found = narrow_run(_wrong(tmp_path, "slow"), 2.0, runs=tmp_path)
    assert time.monotonic() - began < 30
    assert (found.state, found.directory) == (NO_TIME, None)
    assert not place_of(tmp_path / "slow").exists()
