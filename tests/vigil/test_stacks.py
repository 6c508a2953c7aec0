"""What is read from the stacks of a hung runner: the thread that works, the sum that it waits in, and who has not come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from runners.contract.protocol import stacks
from runners.contract.protocol.stacks import CONDUCTOR_VARIABLE, stacks_path
from vigil.documents.failure import Failure, HungProcess
from vigil.paths import project_root
from vigil.process.stacks import _told_of, collective_of, hung_processes, main_frames, remove_stacks, told

TORCH = "/site-packages/torch"
RUNNER = [
    '  File "/v/runners/torch/train.py", line 52 in train',
    '  File "/v/runners/contract/protocol/launch.py", line 108 in _reported',
    '  File "<frozen runpy>", line 88 in _run_code',
]
PEER = ['  File "/v/runners/torch/train.py", line 52 in train', '  File "/v/runners/torch/peer.py", line 16 in <module>']
WATCH = [
    "Thread 0x00007fec843ff6c0 (most recent call first):",
    '  File "/v/runners/contract/protocol/launch.py", line 158 in watch',
    '  File "/lib/threading.py", line 982 in run',
    "",
]


def of(frames, *, head="Current thread 0x00007f (most recent call first):", before=WATCH, after=()):
    return main_frames([*before, head, *frames, *after])


@pytest.mark.parametrize("head", ["Current thread 0x7f (most recent call first):", "Thread 0x7 [Main] (most recent call first):"])
def test_the_thread_that_works_is_looked_at(head):
    """Not the one that beats, and not the one that happened to take the signal; Python 3.14 tells names of threads too."""
    sleeping = '  File "/v/fault.py", line 10 in sleep_for_ever'
    other = ["", "Thread 0x8 (most recent call first):", '  File "x.py", line 1 in other']
    frames = of([sleeping, *RUNNER], head=head, after=other)
    assert frames[0].text == "sleep_for_ever (fault.py:10)"
    assert of([sleeping, *PEER])[0].text == "sleep_for_ever (fault.py:10)"


def test_without_the_runners_frames_it_is_the_current_thread():
    """A process that hangs in its import has none of them."""
    assert of(['  File "/lib/import.py", line 3 in load'])[0].function == "load"
    assert main_frames([]) == []


@pytest.mark.parametrize(
    ("frames", "collective"),
    [
        ([f'  File "{TORCH}/distributed/distributed_c10d.py", line 2806 in all_reduce'], "all_reduce"),
        (
            [
                f'  File "{TORCH}/distributed/distributed_c10d.py", line 3600 in all_gather',
                f'  File "{TORCH}/distributed/c10d_logger.py", line 81 in wrapper',
                f'  File "{TORCH}/distributed/distributed_c10d.py", line 2900 in all_gather_object',
            ],
            "all_gather_object",
        ),
        (
            [f'  File "{TORCH}/autograd/graph.py", line 979 in _engine_run_backward'],
            "the backward pass, or its sum of gradients over devices",
        ),
        (
            [
                '  File "/v/fault.py", line 10 in hook',
                f'  File "{TORCH}/autograd/graph.py", line 979 in _engine_run_backward',
            ],
            None,
        ),
        (['  File "/v/fault.py", line 10 in all_reduce'], None),
    ],
)
def test_a_sum_over_devices_is_told_by_its_frame(frames, collective):
    """The call that was made is named, and not what it calls; code inside a backward pass has not come to its sum."""
    assert collective_of(of([*frames, *RUNNER])) == collective


def process(rank, **facts) -> HungProcess:
    usual = {"collective": None, "where": "f (a.py:1)", "cpu_seconds": 0.0, "watched_seconds": 2.0, "stacks": ()}
    return HungProcess(rank=rank, pid=1, **{**usual, **facts})


@pytest.mark.parametrize(
    ("processes", "clauses"),
    [
        ([process(0)], ["it is in f (a.py:1), idle"]),
        ([process(0, collective="all_reduce")], ["it is in f (a.py:1), idle"]),
        (
            [process(0, cpu_seconds=1.9)],
            ["it is in f (a.py:1), it computes, 1.9 s of processor time in 2 s: slow, or a loop that does not end"],
        ),
        (
            [process(0, collective="all_reduce"), process(1)],
            ["rank 0 waits in all_reduce", "rank 1 has not come: it is in f (a.py:1), idle"],
        ),
        (
            [process(0, collective="all_reduce"), process(1, collective="barrier")],
            ["rank 0 waits in all_reduce", "rank 1 waits in barrier"],
        ),
        (
            [process(0, collective="barrier"), process(1, where=None), process(2, where=None, cpu_seconds=None)],
            [
                "rank 0 waits in barrier",
                "rank 1 gave no stack: it is stopped, or in a call of the kernel",
                "rank 2 is gone",
            ],
        ),
        ([], []),
    ],
)
def test_a_clause_for_each_process(processes, clauses):
    """Who waits in what, who has not come, and who computes."""
    assert told(processes) == clauses


@pytest.fixture
def blocked(tmp_path):
    """Return a process, ready for the signal, that holds Python's lock in C for minutes. It leads a group of its own."""
    text = (
        "import sys; from pathlib import Path; from runners.contract.protocol import stacks\n"
        "stacks.be_ready(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "def held():\n    sum(range(10**12))\n"
        "held()\n"
    )
    environment = {**os.environ, CONDUCTOR_VARIABLE: str(os.getpid()), "PYTHONPATH": str(project_root())}
    command = [sys.executable, "-c", text, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def test_a_process_answers_although_it_is_blocked(blocked, tmp_path):
    """One that holds Python's lock is asked in C. A process of another group has only the number of one that is gone."""
    stacks_path(tmp_path, rank=2, pid=os.getpid()).touch()  # the signal would end this test
    asked, other = hung_processes(tmp_path, group=blocked.pid)
    assert any("in held" in line for line in asked.stacks)
    assert asked.cpu_seconds > 0.2
    assert (other.rank, other.where, other.cpu_seconds, other.stacks) == (2, None, None, ())
    remove_stacks(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_stopped_process_gives_no_stack(blocked, tmp_path):
    """It used no processor time either, and the conductor does not wait for it for long."""
    os.kill(blocked.pid, signal.SIGSTOP)
    [found] = hung_processes(tmp_path, group=blocked.pid)
    assert (found.where, found.stacks, found.cpu_seconds) == (None, (), 0.0)


def test_many_lines_are_cut(tmp_path, monkeypatch):
    """A process of a thousand threads does not fill the record."""
    lines = "".join(f'Thread {number} (most recent call first):\n  File "a.py", line 1 in f\n' for number in range(1000))
    pid = 2**22 + 1
    stacks_path(tmp_path, rank=0, pid=pid).write_text(lines)
    [found] = hung_processes(tmp_path, group=pid)
    assert len(found.stacks) == 121
    assert found.stacks[-1] == "... and 1880 more lines"


def test_without_a_conductor_no_file_is_made(tmp_path, monkeypatch):
    """Who starts a runner by hand finds no more in its directory than before."""
    monkeypatch.delenv(CONDUCTOR_VARIABLE, raising=False)
    stacks.be_ready(tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_old_failure_has_no_processes():
    """Records from before there were stacks read as they were written."""
    old = {"category": "hang", "phase": "train", "step": 2, "message": "m", "log_tail": []}
    assert Failure.model_validate(old).as_json() == old


def test_a_secret_in_a_stack_is_hidden_before_its_line_is_cut():
    line = "x" * 170 + " https://me:" + "hidden-word" * 9 + "@host/simple"
    found = _told_of(0, 1, line, cpu_seconds=None, watched_seconds=1.0)
    assert "hidden" not in found.stacks[0]
