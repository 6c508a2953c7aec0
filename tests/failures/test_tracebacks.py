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


@pytest.mark.parametrize("log", ["", "epoch 0 loss 0.3\nKeyError: not raised", "Traceback (most recent call last):\n" + FRAME])
def test_a_log_without_an_exception_has_none(log):
    """Words like one, and a traceback that is cut off, are none."""
    assert deciding(log.splitlines()) == []
