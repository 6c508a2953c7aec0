"""Tables show cells as they are, in the room that there is."""

import pytest

from reports.tables import Block, markdown_table, print_blocks, print_table

HOSTILE = "Read error [/third_party/pair.cc:537] [127.0.0.1]:8625 :smile: | a\nb"


def test_a_message_that_looks_like_markup_is_printed(capsys):
    """An error of a library holds brackets, slashes and colons: none of it is markup, and the table is whole."""
    print_table("a [title]", ("context", "reason"), [("torch [x2]", HOSTILE)], notes=["one note"])
    printed = capsys.readouterr().out
    for text in ("a [title]", "torch [x2]", "[/third_party/pair.cc:537]", "[127.0.0.1]:8625", ":smile:", "one note"):
        assert text in printed


def test_a_message_cannot_break_a_row_of_markdown():
    """Bars and line breaks are replaced."""
    *_, row = markdown_table(("context", "reason"), [("torch", HOSTILE)])
    assert row.count("|") == 3
    assert "\n" not in row


WORDS = ("context", "verdict", "reason", "directory")
LONG = ("tensorflow-compile-bf16-x2", "regressed", "a reason of many words " * 6, "runs/20261122-053858-resnet_cifar-quick-jax")


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_table_that_would_break_words_is_text(capsys, monkeypatch, columns):
    """Every word is whole, every line fits, and no name of a column is lost."""
    monkeypatch.setenv("COLUMNS", columns)
    print_table("what is not fine", WORDS, [LONG, ("jax", "reproduced", "", "-")], notes=["a note of many words " * 9])
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= int(columns)
    for word in (*LONG[:2], "runs/20261122-053858-resnet_cifar-quick-jax", "directory", "jax: reproduced"):
        assert word in printed
    assert "\u2503" not in printed


def test_a_table_that_fits_is_a_table(capsys, monkeypatch):
    """Short cells are easier to read below each other."""
    monkeypatch.setenv("COLUMNS", "80")
    print_table("cells", WORDS[:2], [("jax", "reproduced")], notes=())
    assert "\u2503 context" in capsys.readouterr().out


def test_names_of_blocks_stand_in_one_column_and_empty_lines_are_left_out(capsys, monkeypatch):
    """A text of two lines goes on below itself."""
    monkeypatch.setenv("COLUMNS", "80")
    print_blocks([Block("cell: dropped", (("size", "-3"), ("how sure", "q\np"), ("others", "")))])
    assert capsys.readouterr().out.splitlines() == ["cell: dropped", "    size      -3", "    how sure  q", "              p"]
