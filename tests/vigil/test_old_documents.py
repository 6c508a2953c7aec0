"""Documents that were written before they had types: each still opens, and is written again as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.documents import a_judgement, a_record, an_invocation
from vigil.documents.document import Document, DocumentError
from vigil.documents.invocation import FirstRung, Invocation
from vigil.documents.record import Record

DOCUMENTS = sorted((Path(__file__).parent / "old_documents").glob("*.json"))
# Keys that a document of an older version may lack.
LATER = {
    Record: ("probed", "verify", "resumed"),
    Invocation: ("night", "release", "verify", "sequential"),
}


def kind_of(path: Path) -> type[Document]:
    return Record if path.name.startswith("record-") else Invocation


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_is_written_as_it_was_read(path):
    """Every key and value comes back, numbers that JSON has no form for included."""
    document = kind_of(path).parse(path.read_bytes(), where=path.name)
    assert document.as_json() == json.loads(path.read_text())
    written = json.loads(document.text())
    assert written.pop("sha256")
    assert written == json.loads(path.read_text())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_of_an_older_version_opens_and_gets_no_new_key(path):
    """What a version did not know is null or empty, and stays out of the file: what was uploaded keeps its hash."""
    kind = kind_of(path)
    content = {key: value for key, value in json.loads(path.read_text()).items() if key not in LATER[kind]}
    document = kind.parse(json.dumps(content), where=path.name)
    assert not any(getattr(document, key) for key in LATER[kind])
    assert document.as_json() == content
    assert document.replace(created="2026-11-23T00:00:00+00:00").as_json() == content | {"created": "2026-11-23T00:00:00+00:00"}


def test_a_first_rung_that_is_to_be_made_is_one_null():
    """That is how an invocation says that it is to be verified."""
    invocation = an_invocation(verify=FirstRung.pending())
    assert invocation.as_json()["verify"] == {"verdict": None}
    assert Invocation.parse(invocation.text(), where="x").is_to_be_verified


def test_what_is_altered_is_named():
    """A key that nobody reads, a word that is no verdict and a value of another kind are said, each with its place."""
    content = an_invocation().as_json()
    for change, words in (
        ({"colour": "red"}, "colour"),
        ({"verdict": a_judgement().as_json() | {"name": "reproducd"}}, "verdict.name: found 'reproducd'"),
        ({"seeds": ["seven"]}, "seeds.0: found 'seven'"),
        ({"context": {"framework": "caffe"}}, "Allowed: torch, tensorflow, jax"),
        ({"schema": 2}, "schema: found 2, this Vigil reads 1"),
    ):
        with pytest.raises(DocumentError, match=words):
            Invocation.parse(json.dumps(content | change), where="invocation.json")


def test_a_changed_value_is_told_by_the_digest():
    """A value that could be true, and is not what was written, is refused; a document is read however it is laid out."""
    text = a_record().text()
    assert Record.parse(json.dumps(json.loads(text)), where="record.json").text() == text
    values = json.loads(text)
    values["metric"]["value"] = 12.5
    with pytest.raises(DocumentError, match=r"record\.json: sha256: the content is not .* take the key sha256 out"):
        Record.parse(json.dumps(values), where="record.json")
    del values["sha256"]
    assert Record.parse(json.dumps(values), where="record.json").metric.value == 12.5


def test_a_document_does_not_change_under_its_readers():
    """It is frozen; the next version of it is another object, checked again."""
    record = a_record()
    with pytest.raises(ValueError, match="frozen"):
        record.seed = 8
    with pytest.raises(ValueError, match="status"):
        record.replace(status="perhaps")
    assert (record.replace(seed=8).seed, record.seed) == (8, 7)
