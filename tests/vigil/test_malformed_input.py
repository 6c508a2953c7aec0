"""Hostile input, drawn at random, as `python -m benchmarks.malformed_input` does with more of it."""

from __future__ import annotations

import pytest

import vigil.cli.check
from benchmarks.malformed_input import Case, cases, try_case


def test_malformed_input_ends_in_a_message_and_an_exit_code(tmp_path):
    """Recipes, command lines and environments: some of each sort."""
    for number, case in enumerate(cases(15, seed="quick")):
        directory = tmp_path / str(number)
        directory.mkdir()
        assert try_case(case, directory).problem is None, (case.arguments, case.environment)


def raises(_: object) -> int:
    """Fail as nobody foresaw."""
    raise KeyError("x")


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (raises, "Traceback"),
        (lambda _: 7, "exit code 7"),
        (lambda _: 2, "without a word"),
    ],
)
def test_what_falls_is_found(tmp_path, monkeypatch, run, problem):
    """A verb with a planted defect: an error that nobody foresaw, a code that means nothing, and silence."""
    monkeypatch.setattr(vigil.cli.check, "run", run)
    assert problem in try_case(Case(["check", "x"]), tmp_path).problem


def test_a_control_character_is_found(tmp_path, monkeypatch):
    """Where the streams are not made plain, an escape sequence of an option arrives."""
    monkeypatch.setattr("vigil.terminal.plain", lambda text: text)
    assert "a control character" in try_case(Case(["check", "\x1b[2J.yaml"]), tmp_path).problem
