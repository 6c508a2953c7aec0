"""The frame of every runner: whatever happens in training, exactly one last event says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from runners.contract.errors import ContractError, FaultError, NanLoss, Unsupported, UnusableData
from runners.contract.protocol import launch
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import write_spec


class XlaRuntimeError(RuntimeError):
    """Stands in for a framework's own error class."""


FAILURES = [
    (NanLoss("the loss of step 3 is nan"), "nan_loss", "the loss of step 3 is nan"),
    (UnusableData("file: expected MD5 a, found b"), "data", "file: expected MD5 a, found b"),
    (FaultError("no such fault file"), "fault", "no such fault file"),
    (Unsupported("no fp16 on this CPU"), "unsupported", "no fp16 on this CPU"),
    (ContractError("the checkpoint cannot be read"), "crash", "the checkpoint cannot be read"),
    (MemoryError(), "out_of_memory", "MemoryError"),
    (AssertionError("out of memory bounds"), "crash", "AssertionError: out of memory bounds"),
    (XlaRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 17 bytes.\nmore"), "out_of_memory",
     "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17 bytes."),
    (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"), "out_of_memory",
     "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"),
    (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out_of_memory",
     "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"),
    (type("ResourceExhaustedError", (Exception,), {})("OOM when allocating"), "out_of_memory",
     "ResourceExhaustedError: OOM when allocating"),
    (KeyboardInterrupt("signal 15"), "interrupted", "KeyboardInterrupt: signal 15"),
    (ValueError("shapes differ\nsecond line"), "crash", "ValueError: shapes differ"),
    (ModuleNotFoundError("No module named 'torch'"), "crash", "ModuleNotFoundError: No module named 'torch'"),
    (AssertionError(), "crash", "AssertionError"),
    (SystemExit(0), "crash", "SystemExit: 0"),
]


@pytest.fixture(autouse=True)
def _own_signal_handler():
    """Give the process its SIGTERM handler back."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def run_directory(tmp_path, make_spec):
    write_spec(tmp_path, make_spec())
    return tmp_path


def last_events(directory) -> list[dict]:
    return [event for event in read_events(directory) if event["kind"] in ("finished", "failed")]


@pytest.mark.parametrize(("error", "category", "message"), FAILURES, ids=lambda value: type(value).__name__)
def test_every_failure_has_its_category(run_directory, error, category, message, capsys):
    """A failure in training becomes one `failed` event with category, message, phase, step and traceback."""

    def train(session) -> None:
        session.enter("train")
        session.stepped(1.0)
        raise error

    assert launch.main("torch", train, [str(run_directory)]) == launch.EXIT_FAILED
    (last,) = last_events(run_directory)
    assert (last["kind"], last["category"], last["message"]) == ("failed", category, message)
    assert (last["phase"], last["step"]) == ("train", 1)
    assert "test_launch.py" in last["traceback"]
    assert "Traceback" in capsys.readouterr().err
    assert read_events(run_directory)[-1] == last


def test_success_is_exit_code_0_and_one_last_event(run_directory):
    """The first event is `started`, in phase import; the last is what training has written."""

    def train(session) -> None:
        session.enter("finish")
        session._events.emit("finished", step=4)

    assert launch.main("torch", train, [str(run_directory)]) == 0
    events = read_events(run_directory)
    assert (events[0]["kind"], events[0]["phase"], events[0]["pid"]) == ("started", "import", os.getpid())
    assert [event["kind"] for event in last_events(run_directory)] == ["finished"]


def test_sigterm_ends_in_an_interrupted_event(run_directory):
    """Asked to end, a runner writes that it was interrupted."""

    def train(session) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(5.0)

    assert launch.main("torch", train, [str(run_directory)]) == launch.EXIT_FAILED
    assert last_events(run_directory)[0]["category"] == "interrupted"


def test_a_spec_of_another_framework_is_refused(run_directory, capsys):
    """A runner started on another's spec says so, exits with 2, and writes no event."""
    assert launch.main("jax", lambda session: pytest.fail("must not train"), [str(run_directory)]) == 2
    assert "framework 'torch'; this is the runner of jax" in capsys.readouterr().err
    assert read_events(run_directory) == []


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "FileNotFoundError"), ("{", "JSONDecodeError"), ("{}", "KeyError"), ("[]", "TypeError"),
        ('{"shards": [1], "evaluation_shards": [1], "cores": null, "colour": 1}', "TypeError"),
    ],
)
def test_a_spec_that_cannot_be_read_is_one_line(tmp_path, content, found, capsys):
    """Missing, broken and incomplete specs are exit code 2 and a message without a traceback."""
    if content is not None:
        (tmp_path / "spec.json").write_text(content)
    assert launch.main("torch", lambda session: pytest.fail("must not train"), [str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert f"{tmp_path}/spec.json: {found}" in message
    assert "Traceback" not in message


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--help"]])
def test_wrong_arguments_are_answered_with_the_usage(arguments, capsys):
    """Anything but one directory is exit code 2 and a line of usage."""
    assert launch.main("torch", lambda session: None, arguments) == 2
    assert "usage: python -m runners.torch RUN_DIR" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU binding")
def test_a_runner_binds_itself_to_its_cores(tmp_path, make_spec):
    """The spec's cores hold from before training on."""
    allowed = os.sched_getaffinity(0)
    write_spec(tmp_path, make_spec(cores=(min(allowed),)))
    seen = []
    try:
        launch.main("torch", lambda session: seen.append(os.sched_getaffinity(0)), [str(tmp_path)])
    finally:
        os.sched_setaffinity(0, allowed)
    assert seen == [{min(allowed)}]


def test_a_runner_ends_with_its_conductor(run_directory):
    """A runner whose conductor is gone, even by kill -9, ends by itself; else a resumed run would be run twice."""
    code = (
        "import sys, time; from runners.contract.protocol import launch;"
        "sys.exit(launch.main('torch', lambda session: time.sleep(60), sys.argv[1:]))"
    )
    gone = {launch.CONDUCTOR_VARIABLE: "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(run_directory)], env={**os.environ, **gone}, timeout=30, check=False
    )
    assert done.returncode == launch.EXIT_FAILED
    assert last_events(run_directory) == []


def test_a_runner_leaves_what_it_imported_as_it_is():
    """What was printed is there, the exit code too, and nothing is taken down: a framework may hang at that."""
    code = (
        "import atexit, sys; from runners.contract.protocol import launch;"
        "atexit.register(print, 'taken down'); sys.stdout.write('printed'); launch.leave(3)"
    )
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **path}, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (3, "printed")
