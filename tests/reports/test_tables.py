"""Tables show cells as they are."""

from reports.tables import markdown_table, print_table

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
