"""What reaches a terminal: nothing foreign steers it, whatever is printed and however."""

from __future__ import annotations

import io
import sys

import pytest

from vigil.cli.main import main
from vigil.terminal import PlainStream, plain, plain_streams, width

STEERING = ("\x1b[2J", "\x1b]0;title\x07", "\r", "\b", "\x9b2J", "\x7f", "\u202e", "\u2066", "\u2028", "\udcff")


@pytest.mark.parametrize("text", STEERING, ids=ascii)
def test_what_steers_a_terminal_is_written_out(text):
    """Escape sequences, carriage returns, marks that turn the direction and halves of pairs become text."""
    shown = plain(f"a{text}b")
    assert shown.isprintable()
    assert shown.startswith("a\\")
    assert shown.endswith("b")


def test_letters_of_any_language_tabs_and_line_breaks_stay():
    """Only what steers is changed."""
    text = "Zürich 東京 ✓ 1\n\tنص"
    assert plain(text) == text


@pytest.mark.parametrize("where", ["name", "content", "option"])
def test_escape_sequences_of_what_is_foreign_do_not_reach_the_terminal(tmp_path, capsys, where):
    """Those of a recipe's name, of what stands in it, and of an option."""
    path = tmp_path / ("recipe\x1b[2J.yaml" if where == "name" else "recipe.yaml")
    path.write_text('name: "a\\e[2Jb"\n', encoding="utf-8")
    assert main(["check", str(path), *(["\x1b[2J"] if where == "option" else [])]) == 2
    captured = capsys.readouterr()
    assert "\\x1b[2J" in captured.err
    assert "\x1b" not in captured.out + captured.err


def test_a_letter_that_the_stream_cannot_write_is_an_escape_and_no_traceback():
    """A terminal without Unicode shows a number for it."""
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print("1 ± 2", file=PlainStream(raw), flush=True)
    assert raw.buffer.getvalue() == b"1 \\xb1 2\n"


def test_streams_are_what_they_were_afterwards():
    """Whoever calls `main` has its own streams back, whatever happened."""
    before = sys.stdout, sys.stderr
    with pytest.raises(ZeroDivisionError), plain_streams():
        _ = 1 / 0
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize(("columns", "expected"), [("80", 80), ("300", 110), ("0", 110), ("1", 40), ("\u00b2", 110), ("", 110)])
def test_text_is_as_wide_as_there_is_room_and_no_wider_than_can_be_read(monkeypatch, columns, expected):
    """`COLUMNS` is foreign, too: nonsense in it counts as nothing."""
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == expected
