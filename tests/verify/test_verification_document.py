"""verify.json as earlier versions wrote it opens, and is written again as it was."""

import json
from pathlib import Path

import pytest

from vigil.documents.document import DocumentError
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification

SAMPLES = sorted((Path(__file__).parent / "documents").glob("*.json"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_document_on_disk_is_read_and_written_as_it_is(path, tmp_path):
    """Nothing is lost, added or put in another order: infinities, a look's `moved`, a failure and the tracker's note too."""
    text = path.read_text(encoding="utf-8")
    document = Verification.parse(text, where=str(path))
    written = json.loads(document.text())
    assert written.pop("sha256")  # these are from before there were digests
    assert json.dumps(written, indent=1) + "\n" == text
    document.write(tmp_path)
    assert Verification.read(tmp_path).text() == document.text()


def test_a_document_from_before_there_were_nights_is_read():
    """Fields that it lacks have their meaning: no night, no named release, nothing tracked."""
    content = json.loads(SAMPLES[0].read_text(encoding="utf-8"))
    for name in ("night", "release", "tracking"):
        content.pop(name, None)
    document = Verification.parse(json.dumps(content), where="verify.json")
    assert (document.night, document.release, document.tracking) == (None, None, None)


def test_numbers_and_verdicts_are_themselves():
    """An infinity is a number again, a verdict knows what it means, and what is out is counted."""
    failed, regressed, _ = (Verification.parse(path.read_bytes(), where=str(path)) for path in SAMPLES)
    assert failed.verdict.name is Verdict.FAILED_DIED
    assert failed.worst.ratio == float("inf")
    assert regressed.verdict.name.is_wrong_step
    assert regressed.tensors_out == len(regressed.tensors)
    assert regressed.context.text == "tensorflow-jit-bf16-x1"


def test_a_key_that_nobody_reads_is_refused():
    """A misspelled key would be a fact that no reader ever sees: it is named, with the file."""
    content = json.loads(SAMPLES[0].read_text(encoding="utf-8")) | {"verdikt": {}}
    with pytest.raises(DocumentError, match=r"here: verdikt"):
        Verification.parse(json.dumps(content), where="here")
