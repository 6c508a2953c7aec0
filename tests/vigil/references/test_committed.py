"""The committed reference rows: every one is a whole document, and is written as it was read."""

from __future__ import annotations

import json

import pytest

from vigil.documents.reference_row import ReferenceRow
from vigil.documents.superseding import FILE_NAME, SupersedingEntry
from vigil.paths import reference_directory

FILES = sorted(reference_directory().glob("*/*.jsonl"))


def test_there_are_committed_references():
    """What is tested below is not nothing."""
    assert len(FILES) >= 21


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_line_is_written_as_it_was_read(path):
    """The same keys in the same order with the same values: typed and back, a row says what it said."""
    kind = SupersedingEntry if path.name == FILE_NAME else ReferenceRow
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines
    for number, line in enumerate(lines, start=1):
        document = kind.parse(line, where=f"{path.name}:{number}")
        assert document.line() == json.dumps(json.loads(line), ensure_ascii=False) + "\n"


def test_a_context_whose_text_is_another_is_refused():
    """A row that was edited by hand in one of the two places is named."""
    content = json.loads(FILES[0].read_text(encoding="utf-8").splitlines()[0])
    content["context"]["mode"] = "compile"
    with pytest.raises(Exception, match=r"here: context: found .*: its fields are those of jax-compile"):
        ReferenceRow.checked(content, where="here")
