"""A full disk, a rank that hangs, a rank that is killed: what was finished stays, and the rest goes on to the same bits."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

import vigil.process.execute
import vigil.runs.carry_out
from runners.contract.protocol.checkpoint import CHECKPOINT, load_state, state_sha256
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import write_spec
from tests.runners import fork_server
from tests.runners.harness import Outcome, finished, make_spec
from vigil.documents.context import make_context
from vigil.process.execute import execute
from vigil.process.recording import make_record, read_record, require_whole
from vigil.recipes.loading import load_recipe
from vigil.runs.carry_out import carry_out
from vigil.runs.plan import Request, plan
from vigil.runs.watch import Watch

pytestmark = pytest.mark.torch
STEPS, EVERY = 60, 5
LONG = {
    "shards": (7, 5),
    "steps": STEPS,
    "evaluate_every_steps": 20,
    "checkpoint_every_steps": EVERY,
    "determinism": "on",
    "heartbeat_seconds": 0.2,
}


@pytest.fixture(autouse=True)
def _forked(monkeypatch):
    """Runners start from a process that has their framework imported."""
    monkeypatch.setattr(vigil.process.execute, "_start", fork_server.execute_start)


class RankOne:
    """Sends a signal to the second rank, once a checkpoint is there; called with each event."""

    def __init__(self, directory: Path, number: signal.Signals) -> None:
        self.directory, self.number, self.has_sent = directory, number, False

    def __call__(self, event: dict) -> None:
        if event["kind"] == "checkpointed" and not self.has_sent:
            [stacks] = self.directory.glob("stacks-1-*.txt")
            os.kill(int(stacks.stem.rpartition("-")[2]), self.number)
            self.has_sent = True


def attempt(directory: Path, on_event, **options):
    """Run what is left of the run in a directory, as the conductor does; return its record."""
    spec = make_spec("torch", **LONG)
    directory.mkdir(exist_ok=True)
    write_spec(directory, dataclasses.replace(spec, threads=2))
    context = make_context(framework="torch", mode="eager", devices=2, shards=(7, 5))
    ending = execute(directory, "torch", on_event=on_event, **options)
    return make_record(directory, invocation_id="i", context=context, ending=ending)


def assert_goes_on_to_the_same_bits(directory: Path, whole: Outcome) -> None:
    """Raise unless the run is whole up to a checkpoint, and finishes from there as one that was never disturbed."""
    require_whole(directory)
    _, step = load_state(directory / CHECKPOINT)
    assert EVERY <= step < STEPS
    record = attempt(directory, lambda event: None)
    assert (record.status, record.resumed[-1].step) == ("finished", step)
    assert record.state_sha256 == state_sha256(whole.state)
    assert list(record.losses) == whole.losses


def test_a_killed_rank_loses_no_checkpoint(run, tmp_path):
    """The other rank says what it met within seconds; nothing is taken for a hang."""
    whole = finished(run("torch", **LONG, threads=2))
    started = time.monotonic()
    record = attempt(tmp_path / "run", RankOne(tmp_path / "run", signal.SIGKILL), progress_timeout=100.0)
    assert time.monotonic() - started < 90.0
    assert record.failure is not None
    assert record.failure.category in ("crash", "died")
    assert_goes_on_to_the_same_bits(tmp_path / "run", whole)


def test_a_hung_rank_loses_no_checkpoint_and_is_named(run, tmp_path):
    """One that is stopped gives no stack: that is said; no process of the run is left."""
    whole = finished(run("torch", **LONG, threads=2))
    record = attempt(tmp_path / "run", RankOne(tmp_path / "run", signal.SIGSTOP), progress_timeout=6.0)
    failure = record.failure
    assert failure is not None
    assert failure.category == "hang"
    assert "rank 0 waits in" in failure.message
    assert "rank 1 gave no stack: it is stopped" in failure.message
    assert not [each.pid for each in failure.processes if _is_alive(each.pid)]
    assert_goes_on_to_the_same_bits(tmp_path / "run", whole)


def _is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MiB; where nobody may mount one there is none to fill."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("left", [150_000, 8_192, 0])
def test_a_full_disk_loses_no_finished_seed(small_disk, left, monkeypatch):
    """Full in the second of two seeds, at a checkpoint, at an event or from the start: with room again it goes on to the end."""
    monkeypatch.setattr(vigil.runs.carry_out, "track", vigil.runs.carry_out.read_invocation)
    request = Request(
        recipe=load_recipe("digits_mlp"),
        recipe_source="digits_mlp",
        profile="quick",
        fault=None,
        seeds=(0, 1),
        context=make_context(framework="torch", mode="eager"),
        command="vigil reproduce",
        verify=False,
    )
    directory = plan(request, small_disk, data_directory=None)
    filler = small_disk / "filler"

    def fill(record) -> None:
        if record.seed == 0:
            filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - left))

    try:
        said = carry_out(directory, watch=Watch(on_end=fill)).invocation.verdict.reason
    except OSError as error:  # the conductor has no room for its record either
        said = str(error)
    assert "No space left on device" in said
    first = (directory / "seed0" / "record.json").read_bytes()
    assert (read_record(directory / "seed0").status, len(read_record(directory / "seed0").losses)) == ("finished", 135)
    filler.unlink()
    verdict = carry_out(directory, watch=Watch()).invocation.verdict
    assert (directory / "seed0" / "record.json").read_bytes() == first
    assert not verdict.name.is_failed
    assert [value.seed for value in verdict.values] == [0, 1]
    assert len(read_record(directory / "seed1").losses) == 135
    assert read_events(directory / "seed1")
