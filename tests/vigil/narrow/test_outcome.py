"""What a run of a script is taken for: words and exit code must agree."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from vigil.narrow.outcome import FAILED, NOT_STARTED, OTHERWISE, RIGHT, WRONG, fault_argument, like_of, outcome_of, run_script

SEEN = "WRONG got 1.5 expected 1.0"


@pytest.mark.parametrize(
    ("code", "lines", "kind", "line"),
    [
        (0, ["RIGHT got 1 expected 1"], RIGHT, "RIGHT got 1 expected 1"),
        (1, ["some warning", "WRONG got 2 expected 1", "a line after it"], WRONG, "WRONG got 2 expected 1"),
        (1, ["Traceback (most recent call last):", "ValueError: no"], FAILED, "ValueError: no"),
        (1, ["Traceback (most recent call last):", "AttributeError: tree", "----", "For ..."], FAILED, "AttributeError: tree"),
        (0, ["WRONG got 2 expected 1"], FAILED, "WRONG got 2 expected 1"),
        (1, ["RIGHT got 1 expected 1"], FAILED, "RIGHT got 1 expected 1"),
        (0, ["mean 1.0"], FAILED, "says neither RIGHT nor WRONG"),
        (3, ["CANNOT START jax ImportError numpy"], NOT_STARTED, "jax ImportError numpy"),
        (-11, ["RIGHT"], FAILED, "ended by signal SIGSEGV"),
        (2, [], FAILED, "exit code 2, and nothing said"),
    ],
)  # fmt: skip
def test_an_exit_code_and_a_log_make_an_outcome(code, lines, kind, line) -> None:
    assert outcome_of(code, lines)[:2] == (kind, line)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("WRONG got 1.5001 expected 1.0", WRONG),
        ("WRONG got 1.2 expected 1.0", WRONG),
        ("WRONG got 1.1 expected 1.0", OTHERWISE),
        ("WRONG got 0.5 expected 1.0", OTHERWISE),
        ("WRONG got nan expected 1.0", OTHERWISE),
        ("WRONG in words of its own", WRONG),
    ],
)
def test_another_error_is_another_failure(said, kind) -> None:
    """Of the other sign, another size, or not finite, an error is not the one that is looked for."""
    assert outcome_of(1, [said], like=SEEN).kind == kind


def test_runs_that_are_not_alike_tell_no_failure_from_another() -> None:
    assert like_of([SEEN, "WRONG got 1.4 expected 1.0"]) == SEEN
    assert like_of([SEEN, SEEN, "WRONG got 0.5 expected 1.0"]) is None
    assert like_of([]) is None


@pytest.mark.parametrize(
    ("statement", "flags", "level"),
    [
        ("os.environ['XLA_FLAGS'] = '--own'; os.environ['LEVEL'] = 'own'", "--own --switch", "switch"),
        ("os.environ.update(XLA_FLAGS='--own', LEVEL='own')", "--own --switch", "switch"),
        ("os.environ.pop('XLA_FLAGS'); del os.environ['LEVEL']", "--switch", "switch"),
        ("os.environ['XLA_FLAGS'] += ' --own'", "--switch --own --switch", "switch"),
        ("os.environ['ELSE'] = 'own'", "--switch", "switch"),
    ],
)
def test_a_script_that_sets_a_variable_itself_keeps_the_switch(tmp_path, statement, flags, level) -> None:
    """Its own flags of XLA hold beside the switch; a child has both. Without a switch, all is as the script says."""
    script = tmp_path / "script.py"
    shown = "' '.join(os.environ.get(name, '-') for name in ('XLA_FLAGS', 'LEVEL', 'ELSE')).split()"
    child = f"subprocess.check_output([sys.executable, '-c', {('import os; print(*' + shown + ')')!r}], text=True).strip()"
    script.write_text(f"import os, subprocess, sys\n{statement}\nprint('RIGHT', *{shown}, '|', {child})\n")
    found = run_script(script, sys.executable, variables={"XLA_FLAGS": "--switch", "LEVEL": "switch"})
    said = f"{flags} {level} {'own' if 'ELSE' in statement else '-'}"
    assert found[:2] == (RIGHT, f"RIGHT {said} | {said}")


def test_a_script_is_run_in_a_folder_of_its_own_and_ended_in_time(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os; print('RIGHT', os.listdir('.'), os.environ['A'], B)")
    found = run_script(script, sys.executable, variables={"A": "1"}, prelude="import builtins; builtins.B = 2")
    assert found[:2] == (RIGHT, "RIGHT ['log.txt'] 1 2")
    script.write_text(
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).wait()"
    )
    began = time.monotonic()
    assert run_script(script, sys.executable, seconds=1.0)[:2] == (FAILED, "not done after 1 s")
    assert time.monotonic() - began < 20


def test_bytes_that_are_no_utf_8_end_nothing(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; sys.stdout.buffer.write(b'caf\\xe9\\n'); print('RIGHT')")
    assert run_script(script, sys.executable).kind == RIGHT


def test_a_secret_is_hidden_before_a_line_is_cut(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise ValueError('x' * 360 + ' https://me:' + 'hidden-word' * 4 + '@host/simple')")
    assert "hidden-word" not in run_script(script, sys.executable).line


def test_where_an_environment_lies_is_not_told(tmp_path) -> None:
    """An ImportError names the file that it comes from, which goes into reports."""
    script = tmp_path / "script.py"
    script.write_text("import sys; raise ImportError(f'cannot import name x ({sys.prefix}/lib)')")
    assert run_script(script, Path(sys.executable)).line == "ImportError: cannot import name x (.../lib)"


def test_what_does_not_start_is_no_failure_of_the_script(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('WRONG'); raise SystemExit(1)")
    found = run_script(script, sys.executable, modules=["json", "no_such_module"])
    assert (found.kind, found.line.split()[0]) == (NOT_STARTED, "no_such_module")
    assert run_script(script, tmp_path / "no-python").kind == NOT_STARTED


def test_a_planted_fault_is_planted_before_the_script_runs(tmp_path) -> None:
    from runners.contract.protocol.faults import file_sha256

    fault = tmp_path / "wrong_sum.py"
    fault.write_text("def install():\n    import math\n    math.fsum = lambda x: 7.0\n")
    script = tmp_path / "script.py"
    script.write_text("import math\nx = math.fsum([1.0])\nprint('RIGHT' if x == 1 else 'WRONG', x)\nraise SystemExit(x != 1)\n")
    told = fault_argument({"path": str(fault), "sha256": file_sha256(fault)}, "torch")
    assert run_script(script, sys.executable).kind == RIGHT
    assert run_script(script, sys.executable, fault=told)[:2] == (WRONG, "WRONG 7.0")
