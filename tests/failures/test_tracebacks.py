"""Which exception of a log decides: the cause of the last chain."""

import subprocess
import sys

import pytest

from vigil.failures.tracebacks import deciding, exceptions

FRAME = '  File "train.py", line 3, in main\n    step()\n'


def logged(source: str, tmp_path) -> list[str]:
    """Return what Python prints of a script that fails."""
    script = tmp_path / "train.py"
    script.write_text(source)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    return (done.stdout + done.stderr).splitlines()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("open('gone')", "FileNotFoundError"),
        ("try:\n    open('gone')\nexcept OSError as e:\n    raise ValueError('x') from e", "FileNotFoundError"),
        ("try:\n    open('gone')\nexcept OSError:\n    raise ValueError('x')", "FileNotFoundError"),
        ("try:\n    {}['a']\nexcept KeyError:\n    open('gone')", "FileNotFoundError"),
        ("try:\n    open('gone')\nexcept OSError as e:\n    e.path", "AttributeError"),
        ("try:\n    open('gone')\nexcept OSError:\n    raise ValueError('x') from None", "ValueError"),
        ("def f(\n    x = 1", "SyntaxError"),
        pytest.param(
            "def f():\n    {}['a']\ntry:\n    f()\nexcept KeyError as e:\n    raise ExceptionGroup('x', [e])",
            "KeyError",
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no groups of exceptions"),
        ),
        ("import logging\ntry:\n    open('gone')\nexcept OSError:\n    logging.exception('go on')\n1 / 0", "ZeroDivisionError"),
        ("class A:\n    def __del__(self):\n        {}['x']\na = A()\ndel a\n1 / 0", "ZeroDivisionError"),
        ("class A:\n    def __del__(self):\n        {}['x']\na = A()\n1 / 0", "ZeroDivisionError"),
        ("import threading\nt = threading.Thread(target=lambda: {}['x'])\nt.start()\nt.join()", "KeyError"),
        ("import threading\nt = threading.Thread(target=lambda: {}['x'])\nt.start()\nt.join()\n1 / 0", "ZeroDivisionError"),
    ],
)
def test_the_cause_decides(source, name, tmp_path):
    """Not its wrapper, not what was logged or ignored before, and a thread's only where nothing else was raised."""
    assert deciding(logged(source, tmp_path))[0].name == name


def test_what_wraps_the_cause_comes_behind_it(tmp_path):
    """Where the cause says no category its wrapper may."""
    source = "try:\n    next(iter([]))\nexcept StopIteration as e:\n    raise ImportError('too old') from e"
    assert [each.name for each in deciding(logged(source, tmp_path))] == ["StopIteration", "ImportError"]


def test_lines_of_a_rank_are_read_without_their_prefix():
    """As torchrun prints them."""
    log = f"Traceback (most recent call last):\n{FRAME}KeyError: 'loss'\n"
    [raised] = exceptions([f"[rank0]: {line}" for line in log.splitlines()])
    assert (raised.name, raised.message, raised.frames[0].function) == ("KeyError", "'loss'", "main")


def test_a_log_that_begins_within_a_traceback_has_its_exception():
    """As the end of a long one does."""
    [raised] = exceptions(["epoch: 3", *FRAME.splitlines(), "KeyError: 'loss'"])
    assert (raised.name, len(raised.frames)) == ("KeyError", 1)


def test_what_frameworks_write_around_a_message_is_taken_off():
    """Where in a graph it arose, what called what, and colours; of compiled code the exception that it raised there."""
    log = f"Traceback (most recent call last):\n{FRAME}"
    graph = "e.InvalidArgumentError: {{function_node __wrapped__AddV2_device_/job:0}} Incompatible shapes: [3] vs. [4]"
    assert exceptions((log + graph).splitlines())[0].message == "Incompatible shapes: [3] vs. [4]"
    called = "ValueError: Exception encountered when calling Dense.call().\n\n\x1b[1mInput 0 is incompatible\x1b[0m\n"
    assert exceptions((log + called).splitlines())[0].line == "ValueError: Input 0 is incompatible"
    inside = 'ValueError: in user code:\n\n    File "train.py", line 4, in step  *\n        f()\n\n    ValueError: bad shape\n'
    assert exceptions((log + inside).splitlines())[0].message == "bad shape"


def test_a_message_may_hold_the_traceback_of_a_callback():
    """It begins on the exception's own line."""
    outer = f"Traceback (most recent call last):\n{FRAME}JaxRuntimeError: INTERNAL: calling callback: "
    log = f"{outer}Traceback (most recent call last):\n{FRAME}KeyError: 'loss'\n"
    assert deciding(log.splitlines())[0].name == "KeyError"


@pytest.mark.parametrize("log", ["", "epoch 0 loss 0.3\nKeyError: not raised", "Traceback (most recent call last):\n" + FRAME])
def test_a_log_without_an_exception_has_none(log):
    """Words like one, and a traceback that is cut off, are none."""
    assert deciding(log.splitlines()) == []
