"""A command asked for its answer as JSON, and that answer held to its type."""

from __future__ import annotations

from typing import TypeVar

from vigil.cli.main import main
from vigil.documents.document import Document

SomeAnswer = TypeVar("SomeAnswer", bound=Document)


def answer_of(capsys, kind: type[SomeAnswer], *words: str) -> SomeAnswer:
    """Run a command with `--json -`; return the one document on standard output, which has the keys of its type and no other."""
    capsys.readouterr()
    code = main([*words, "--json", "-"])
    printed = capsys.readouterr().out
    answer = kind.parse(printed, where="standard output")
    assert answer.text() == printed
    assert getattr(answer, "exit_code", code) == code
    return answer
