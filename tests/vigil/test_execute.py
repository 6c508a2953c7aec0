"""A runner that finishes, dies, hangs, disobeys or leaves children: each ends, and its record says how."""

from __future__ import annotations

import os
import signal
import sys
import time

import psutil
import pytest

import vigil.process.execute
from vigil.documents.context import make_context
from vigil.documents.record import Record
from vigil.process.execute import Ending, execute
from vigil.process.recording import make_record

FINISHED = """
    emit("finished", "finish", step=4, metrics={"test_accuracy": 80.0, "test_loss": 0.5}, state_sha256="ab",
         images_per_second=900.0, first_step_seconds=1.0, peak_memory_bytes=1, cpu_seconds=1.0)
"""
STARTED = """
    emit("started", "import", pid=os.getpid(), framework="torch")
    emit("steps", step=2, losses=[2.5, 2.0])
"""


def carried_out(run_directory, **options) -> tuple[Ending, Record, list[dict]]:
    """Execute the fake runner; return its ending, its record and the events that came through."""
    seen: list[dict] = []
    ending = execute(run_directory, "torch", on_event=seen.append, **options)
    record = make_record(run_directory, invocation_id="i", context=make_context(framework="torch", mode="eager"), ending=ending)
    return ending, record, seen


def test_a_log_is_its_owners_alone_and_what_is_kept_of_it_has_no_secret(run_directory, fake_runner):
    """What a framework prints may name a store with its password."""
    fake_runner(
        STARTED,
        """
    print("postgresql://anna:s3cret@host/db", flush=True)
    raise SystemExit("HF_TOKEN=s3cret-s3cret")
    """,
    )
    _, record, _ = carried_out(run_directory)
    log = run_directory / "log.txt"
    assert log.stat().st_mode & 0o077 == 0
    assert "s3cret" in log.read_text()
    assert record.failure.log_tail == ("postgresql://***@host/db", "HF_TOKEN=***")


class StopWhenThere:
    """A stop signal that is set as soon as the runner has made a file."""

    def __init__(self, path) -> None:
        self.is_set = path.exists


def assert_ended(pid: int) -> None:
    """Raise unless the process is gone, or only its exit status is left."""
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return
        except psutil.NoSuchProcess:
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError(f"process {pid} was left running")


def test_a_runner_that_finishes(fake_runner, run_directory):
    """Exit code 0, every event handed on in order, the last one too, and a finished record."""
    fake_runner(STARTED, FINISHED)
    ending, record, seen = carried_out(run_directory)
    assert ending == Ending(0)
    assert [event["kind"] for event in seen] == ["started", "steps", "finished"]
    assert (record.status, record.failure, record.metric.value) == ("finished", None, 80.0)


def test_a_runner_starts_in_the_project_with_its_log_and_no_input(fake_runner, run_directory, tmp_path):
    """Working directory and import path are the project's, output and error go to log.txt, standard input is empty."""
    fake_runner("""
        print(os.getcwd(), os.environ["PYTHONPATH"], repr(sys.stdin.read()))
        print("to standard error", file=sys.stderr)
    """)
    carried_out(run_directory)
    root = tmp_path / "fake_root"
    assert sorted((run_directory / "log.txt").read_text().splitlines()) == [f"{root} {root} ''", "to standard error"]


def test_a_runner_that_exits_without_a_last_event_has_died(fake_runner, run_directory):
    """Exit code 1 after two steps is `died`, with the step, the phase and the end of the log."""
    fake_runner(
        STARTED,
        """
        for line in range(30):
            print("line", line)
        sys.exit(1)
    """,
    )
    ending, record, _ = carried_out(run_directory)
    assert ending.exit_code == 1
    failure = record.failure
    assert (record.status, failure.category, failure.phase, failure.step) == ("failed", "died", "train", 2)
    assert "exit code 1" in failure.message
    assert failure.log_tail == tuple(f"line {number}" for number in range(10, 30))


def test_exit_code_0_without_a_last_event_is_no_success(fake_runner, run_directory):
    """A runner that leaves quietly has died too."""
    fake_runner(STARTED)
    ending, record, _ = carried_out(run_directory)
    assert ending.exit_code == 0
    assert (record.status, record.failure.category) == ("failed", "died")
    assert record.metric.value is None


def test_a_runner_that_cannot_start(fake_runner, run_directory):
    """Without any event the category is `could_not_start`, and the log holds the reason."""
    fake_runner("import no_such_module")
    _, record, seen = carried_out(run_directory)
    assert seen == []
    assert (record.failure.category, record.failure.phase) == ("could_not_start", "start")
    assert "no_such_module" in record.failure.log_tail[-1]


def test_a_resumed_runner_that_cannot_start_is_not_taken_for_the_earlier_attempt(fake_runner, run_directory):
    """An interrupted run whose continuation fails at once could not start; it was not interrupted a second time."""
    fake_runner(
        STARTED,
        """
        emit("failed", category="interrupted", message="signal 15", step=2, traceback="")
        sys.exit(3)
    """,
    )
    _, record, _ = carried_out(run_directory)
    assert record.status == "interrupted"
    fake_runner("import no_such_module")
    ending, record, seen = carried_out(run_directory)
    assert (ending.earlier_events, seen) == (3, [])
    assert (record.status, record.failure.category) == ("failed", "could_not_start")


def test_a_runner_killed_by_a_signal(fake_runner, run_directory):
    """SIGKILL is named, with what it usually means."""
    fake_runner(STARTED, "    os.kill(os.getpid(), signal.SIGKILL)\n")
    ending, record, _ = carried_out(run_directory)
    assert ending.exit_code == -signal.SIGKILL
    assert record.failure.category == "died"
    assert "SIGKILL (the kernel does this when memory runs out)" in record.failure.message


def test_what_a_runner_says_of_its_failure_is_taken_over(fake_runner, run_directory):
    """A `failed` event gives category, message, step and phase; the exit code adds nothing."""
    fake_runner(
        STARTED,
        """
        emit("failed", "evaluate", category="out_of_memory", message="MemoryError", step=3, traceback="...")
        sys.exit(3)
    """,
    )
    _, record, _ = carried_out(run_directory)
    failure = {key: getattr(record.failure, key) for key in ("category", "phase", "step", "message")}
    assert failure == {"category": "out_of_memory", "phase": "evaluate", "step": 3, "message": "MemoryError"}


def test_a_silent_runner_hangs(fake_runner, run_directory):
    """Without a heartbeat it is ended, though it ignores SIGTERM; the record says how long it was silent, and where."""
    fake_runner("    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n", STARTED, "    time.sleep(60)\n")
    began = time.monotonic()
    ending, record, _ = carried_out(run_directory, heartbeat_timeout=1.0)
    assert time.monotonic() - began < 20.0
    assert ending.hang == "no sign of life for 1 s in phase train"
    assert (record.status, record.failure.category, record.failure.step) == ("failed", "hang", 2)


def test_a_runner_that_beats_without_progress_hangs(fake_runner, run_directory):
    """Heartbeats whose counter stands still do not count as life for ever."""
    fake_runner(
        STARTED,
        """
        while True:
            emit("heartbeat", progress=5)
            time.sleep(0.05)
    """,
    )
    ending, record, _ = carried_out(run_directory, progress_timeout=1.0)
    assert ending.hang == "no progress for 1 s in phase train"
    assert record.failure.category == "hang"


def test_a_slow_runner_whose_counter_moves_does_not_hang(fake_runner, run_directory):
    """Work that takes longer than the timeout is left alone while it moves."""
    fake_runner(
        STARTED,
        """
        for progress in range(25):
            emit("heartbeat", progress=progress)
            time.sleep(0.08)
    """,
        FINISHED,
    )
    ending, record, _ = carried_out(run_directory, heartbeat_timeout=1.5, progress_timeout=1.5)
    assert ending == Ending(0)
    assert record.status == "finished"


def test_children_that_outlive_a_runner_are_ended(fake_runner, run_directory):
    """A child left behind by a runner that has finished is ended with it."""
    fake_runner(
        STARTED,
        """
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open(os.path.join(directory, "child"), "w").write(str(child.pid))
        child.returncode = 0
    """,
        FINISHED,
    )
    carried_out(run_directory)
    assert_ended(int((run_directory / "child").read_text()))


def test_a_child_that_is_left_running_is_caught(fake_runner, run_directory, monkeypatch):
    """Without the ending of the group the same child would live on."""
    monkeypatch.setattr(vigil.process.execute, "_end_group", lambda process: process.wait())
    with pytest.raises(AssertionError, match="was left running"):
        test_children_that_outlive_a_runner_are_ended(fake_runner, run_directory)


def test_stopped_by_the_user_a_runner_may_say_its_last_word(fake_runner, run_directory):
    """It writes its own event, after the step or checkpoint that it is in; the record says interrupted, with its step."""
    fake_runner(
        STARTED,
        """
        def end(number, frame):
            time.sleep(2)
            emit("failed", category="interrupted", message="KeyboardInterrupt", step=3, traceback="")
            sys.exit(3)
        signal.signal(signal.SIGTERM, end)
        open(os.path.join(directory, "ready"), "w").close()
        time.sleep(60)
    """,
    )
    ending, record, _ = carried_out(run_directory, stop=StopWhenThere(run_directory / "ready"))
    assert (ending.exit_code, ending.is_interrupted) == (3, True)
    failure = record.failure
    assert (record.status, failure.category, failure.step) == ("interrupted", "interrupted", 3)


def test_stopped_by_the_user_a_runner_that_ignores_it_is_killed(fake_runner, run_directory):
    """After the grace period it is ended all the same; what it said on its way out does not hide the reason."""
    fake_runner(
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n",
        STARTED,
        """
        emit("failed", category="crash", message="a peer is gone", step=2, traceback="")
        open(os.path.join(directory, "ready"), "w").close()
        time.sleep(60)
    """,
    )
    ending, record, _ = carried_out(run_directory, stop=StopWhenThere(run_directory / "ready"), grace=0.5)
    assert (ending.exit_code, ending.is_interrupted) == (None, True)
    assert (record.status, record.failure.message) == ("interrupted", "stopped by the user")


def test_ctrl_c_interrupts_the_run(fake_runner, run_directory):
    """KeyboardInterrupt in the conductor ends the runner and comes back as an ending, not as an exception."""
    fake_runner(STARTED, "    time.sleep(60)\n")

    def press(event: dict) -> None:
        if event["kind"] == "steps":
            raise KeyboardInterrupt

    ending = execute(run_directory, "torch", on_event=press)
    assert ending == Ending(-signal.SIGTERM, is_interrupted=True)


def test_an_error_in_the_display_leaves_no_runner_behind(fake_runner, run_directory):
    """Whatever goes wrong above, the process is ended."""
    fake_runner(STARTED, "    time.sleep(60)\n")
    pids = []

    def fail(event: dict) -> None:
        pids.append(event.get("pid"))
        raise RuntimeError("the terminal is gone")

    with pytest.raises(RuntimeError, match="the terminal is gone"):
        execute(run_directory, "torch", on_event=fail)
    assert_ended(pids[0])


def test_a_second_attempt_sees_its_own_events_only(fake_runner, run_directory):
    """What an earlier attempt has written is not handed on again."""
    (run_directory / "events.jsonl").write_text('{"kind": "started", "time": 1.0, "phase": "import", "pid": 1}\n')
    fake_runner(STARTED, FINISHED)
    ending, _, seen = carried_out(run_directory)
    assert [event["kind"] for event in seen] == ["started", "steps", "finished"]
    assert seen[0]["pid"] != 1
    assert ending == Ending(0, earlier_events=1)


def test_the_interpreter_is_this_one(fake_runner, run_directory):
    """A runner runs in the environment that the conductor runs in."""
    fake_runner("    print(sys.executable)\n")
    carried_out(run_directory)
    assert (run_directory / "log.txt").read_text().strip() == sys.executable
