"""Evidence first: how a process ended, what the kernel counted, the type of an exception; words last."""

import signal

import pytest

from vigil.documents.failure import Failure
from vigil.failures.triage import Evidence, is_alike, of_old, told, triage, with_history

TRACEBACK = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "    main()"]


def log_of(line: str) -> list[str]:
    """Return a log that ends in an exception."""
    return ["epoch 0 loss 0.69", *TRACEBACK, line]


@pytest.mark.parametrize(
    ("facts", "category"),
    [
        ({"exit_code": -9}, "killed"),
        ({"exit_code": -9, "oom_kills": 1}, "out_of_memory"),
        ({"exit_code": 137}, "killed"),
        ({"exit_code": 137, "oom_kills": 2}, "out_of_memory"),
        ({"exit_code": -15}, "killed"),
        ({"exit_code": -11}, "native_crash"),
        ({"exit_code": -25}, "disk_full"),
        ({"said": "hang", "message": "no progress"}, "hang"),
        ({"said": "interrupted", "message": "stopped by the user"}, "killed"),
        ({"said": "nan_loss", "exit_code": 3}, "loss_nan"),
        ({"said": "nan_state", "exit_code": 3}, "loss_nan"),
        ({"said": "died", "message": "the runner was killed by SIGKILL (the kernel does this)"}, "killed"),
        ({"exit_code": 1}, "key_not_found"),
        ({"exit_code": 1, "oom_kills": 1}, "key_not_found"),  # another process of the cgroup was killed
        ({"exit_code": 3, "said": "out_of_memory"}, "key_not_found"),
    ],
)
def test_how_it_ended_comes_before_what_was_logged(facts, category):
    """The log holds a KeyError in each."""
    assert triage(Evidence(log_of("KeyError: 'loss'"), **facts)).category == category


@pytest.mark.parametrize(
    ("line", "category"),
    [
        ("KeyError: 'data/No such file or directory'", "key_not_found"),
        ("AssertionError: out of memory bounds", "illegal_argument"),
        ("OSError: [Errno 28] No space left on device: 'a'", "disk_full"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "out_of_memory"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "out_of_memory"),
        ("RuntimeError: something that nobody has seen", "unknown"),
    ],
)
def test_types_come_before_words(line, category):
    """And unknown is an answer."""
    found = triage(Evidence(log_of(line), exit_code=1))
    assert found.category == category
    assert found.line == line


def test_a_disk_without_room_decides_what_else_is_unknown():
    """Where an exception says nothing of it, and only there."""
    odd = log_of("RuntimeError: basic writer failed")
    assert triage(Evidence(odd, exit_code=1, free_bytes=4096)).category == "disk_full"
    assert triage(Evidence(odd, exit_code=1, free_bytes=2**30)).category == "unknown"
    assert triage(Evidence(log_of("KeyError: 'a'"), exit_code=1, free_bytes=0)).category == "key_not_found"


def test_the_first_loss_that_is_not_finite_is_told():
    """It was infinite before it was NaN."""
    log = ["step 3 loss 9e37", "step 4 loss inf", "step 5 loss nan", *TRACEBACK, "RuntimeError: loss is nan at step 5"]
    found = triage(Evidence(log, exit_code=1))
    assert (found.category, found.line) == ("loss_nan", "step 4 loss inf")


def test_no_secret_is_in_the_line():
    """A log's line may hold one."""
    found = triage(Evidence(log_of("ConnectionError: http://me:hunter2@host/ refused"), exit_code=1))
    assert "hunter2" not in found.line
    assert found.category == "network_unreachable"


def test_history_tells_a_kill_that_nobody_explains():
    """By failures of the cell or its siblings; what is evidence stays."""
    killed = told("killed", "evidence", f"it was ended by {signal.SIGKILL.name}")
    memory = told("out_of_memory", "evidence", "the kernel killed 1 of its processes for memory")
    assert (with_history(killed, [memory]).category, with_history(killed, [memory]).basis) == ("out_of_memory", "history")
    assert with_history(killed, [killed]) == killed
    assert with_history(told("key_not_found", "evidence", "KeyError: 1"), [memory]).category == "key_not_found"


def test_history_tells_a_line_that_was_seen_before():
    """The same but for numbers."""
    seen = told("disk_full", "evidence", "RuntimeError: pos 12 at 7")
    assert with_history(told("unknown", "rule", "RuntimeError: pos 99 at 1"), [seen]).category == "disk_full"
    assert with_history(told("unknown", "rule", "RuntimeError: at 1"), [seen]).category == "unknown"
    assert not is_alike(told("unknown", "rule", None), told("unknown", "rule", None))


def test_a_failure_of_an_older_document_is_told_by_what_it_kept():
    """The end of its log, and its words."""
    old = Failure(category="crash", phase="train", step=3, message="KeyError: 1", log_tail=tuple(log_of("KeyError: 1")))
    assert of_old(old).category == "key_not_found"
    assert "triage" not in old.as_json()


def test_what_vigil_says_of_a_users_file_decides():
    """The line that tells what is missing, and what is allowed, is not followed by a word that nobody knows."""
    message = "my_step.py: loss: missing. A step needs build(), batch(seed), loss(model, batch)"
    log = log_of(f"runners.contract.steps.own.OwnFileError: {message}")
    found = triage(Evidence(log, exit_code=3, said="program", message=message))
    assert (found.category, found.basis, found.line) == ("illegal_argument", "evidence", message)
    cause = "The above exception was the direct cause of the following exception:"
    raised = [*log_of("KeyError: 'weight'"), "", cause, "", *log[1:]]
    assert triage(Evidence(raised, exit_code=3, said="program", message=message)).category == "key_not_found"


@pytest.mark.parametrize(
    ("end", "category"),
    [
        ("slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "killed"),
        ("slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO PREEMPTION ***", "killed"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch.", "out_of_memory"),
        ("train.sh: line 3:  42 Segmentation fault      (core dumped)  python train.py", "native_crash"),
        ("tee: run.log: No space left on device", "disk_full"),
        ("step 101 loss 0.4", "key_not_found"),
    ],
)
def test_an_exception_that_was_survived_is_not_what_ended_it(end, category):
    """In a log alone, what comes after the last exception; where an exit code is known, that tells a signal from an exception."""
    log = [*log_of("KeyError: 'No space left on device'"), "cache missing, rebuilding", "step 100 loss 0.4", end]
    assert triage(Evidence(log)).category == category
    assert triage(Evidence(log, exit_code=1)).category == "key_not_found"
