"""A verification reaches MLflow once: as a run of its own, or as files of the invocation whose first rung it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reports.documents import ORIGIN, a_document, a_failure, a_regression, write_narrowing, write_verification
from tests.vigil.tracked import (
    an_invocation,
    artifact,
    closed_port,
    interrupt_after,
    parent_of,
    runs_in,
    synchronise,
    write_invocation,
)
from vigil.documents.verification import Verification
from vigil.tracking import TrackingUnavailable, upload, upload_or_note
from vigil.tracking.run_entry import Attachment, Entry, verify_entry

PICTURE = b"\x89PNG a picture"


def entry_of(document: Verification, *attachments: Attachment) -> Entry:
    """Return what a verification, as it stands in its file, becomes in MLflow."""
    return verify_entry(document, text=document.text(), attachments=attachments)


@pytest.fixture
def verification(tmp_path) -> Path:
    """Return the directory of a regression under a planted fault, with its picture."""
    directory = write_verification(tmp_path / "runs" / "verified", a_regression(fault={"name": "scaled", "sha256": "12"}))
    (directory / "verify.png").write_bytes(PICTURE)
    return directory


def test_a_verification_is_a_run_with_verdict_origin_numbers_and_files(uri, verification):
    """Tags name context, version, verdict, origin and fault; metrics the worst tensor; document and picture are artifacts."""
    assert upload(verification).experiment == "resnet_cifar"
    ((run,), children) = runs_in(uri)
    assert children == []
    expected = {
        "context": "torch-compile-fp32-x1", "release": "2.13.0", "verdict": "regressed", "fault": "scaled", "form": "whole",
        "origin_layer": "stage1.block1.conv2", "origin_phase": "backward", "origin_quantity": "weight gradient",
        "vigil.verify_id": "20261122-verify-one",
    }  # fmt: skip
    assert {key: run.data.tags[key] for key in expected} == expected
    metrics = {"worst_ratio": 5134.4, "worst_score": pytest.approx(135.1158), "tensors_out": 9.0, "seconds": 21.3}
    metrics |= {"tensors": 589.0}
    assert run.data.metrics == metrics
    assert (run.info.status, run.info.end_time - run.info.start_time) == ("FINISHED", 21_300)
    assert artifact(run, "verify.json")["origin"] == ORIGIN
    assert (Path(run.info.artifact_uri.removeprefix("file://")) / "verify.png").read_bytes() == PICTURE


def test_a_second_upload_writes_nothing_and_a_change_replaces_the_run(uri, verification):
    """What is held is left alone, also once its outcome is noted; another picture is another upload."""
    upload_or_note(verification)
    noted = json.loads((verification / "verify.json").read_text())["tracking"]
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, calls=0)  # the planted defect: any write at all would raise
        assert upload(verification).as_json() == noted
    (verification / "verify.png").write_bytes(PICTURE + b"2")
    assert upload(verification).run_id != noted["run_id"]
    assert len(runs_in(uri)[0]) == 1


def test_what_narrowing_came_to_goes_along(uri, verification):
    """A verification that was narrowed since is another entry: with script, report and what was found in its description."""
    upload(verification)
    write_narrowing(verification)
    upload(verification)
    ((run,), _) = runs_in(uri)
    assert run.data.tags["narrowed"].endswith("jax 0.9.0 right, wrong since 0.10.1")
    assert "narrowed/1/report.md" in run.data.tags["mlflow.note.content"]
    files = Path(run.info.artifact_uri.removeprefix("file://")) / "narrowed" / "1"
    assert sorted(path.name for path in files.iterdir()) == ["narrow.json", "report.md", "script.py"]


def test_an_upload_that_was_cut_off_is_completed(uri, verification, monkeypatch):
    """After any of its writes the server may die: sync brings it to hold the verification once."""
    for calls in (1, 3, 4, 5):
        with monkeypatch.context() as patch:
            interrupt_after(patch, calls=calls)
            with pytest.raises(TrackingUnavailable, match="the server has died"):
                upload(verification)
    assert synchronise(verification.parent) == 0
    assert [run.info.status for run in runs_in(uri)[0]] == ["FINISHED"]


def test_a_tracker_that_is_down_is_noted_and_sync_makes_up_for_it(uri, verification, monkeypatch, capsys):
    """The note stands in verify.json, sync uploads, and a second sync has nothing to do."""
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"http://anna:s3cret@127.0.0.1:{closed_port()}")
        upload_or_note(verification)
    error = json.loads((verification / "verify.json").read_text())["tracking"]["error"]
    assert "cannot be used" in error
    assert "s3cret" not in error
    assert synchronise(verification.parent) == 0
    assert "verified: uploaded (experiment resnet_cifar" in capsys.readouterr().out
    assert synchronise(verification.parent) == 0
    assert "verified: already in MLflow" in capsys.readouterr().out


def test_sync_passes_over_what_was_broken_off_and_over_votes(uri, tmp_path, capsys):
    """An interrupted verification is skipped by name; a directory of verify tasks without a document is no invocation."""
    runs = tmp_path / "runs"
    write_verification(runs / "a-stopped", a_failure("failed:interrupted"))
    (write_verification(runs / "b-killed", a_document()) / "verify.json").unlink()
    (runs / "c-running" / "seed0").mkdir(parents=True)
    (runs / "c-running" / "seed0" / "spec.json").write_text("half a sp")
    assert synchronise(runs) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines[:2]] == ["[1/2] a-stopped: skipped", "[2/2] c-running: skipped"]
    assert "b-killed" not in "".join(lines)


def test_the_first_rung_is_files_and_tags_of_its_invocation(uri, tmp_path):
    """Document and picture hang on the parent run; there is no run of their own, and sync finds none to make."""
    summary = {"verdict": {"name": "regressed", "reason": "r"}, "origin": ORIGIN, "worst": None, "seconds": 9.0, "path": "p"}
    directory = write_invocation(tmp_path / "runs" / "first", invocation=an_invocation(verify=summary))
    rung = write_verification(directory / "verify", a_regression(command="vigil --at http://anna:s3cret@tracker/"))
    (rung / "verify.png").write_bytes(PICTURE)
    assert synchronise(directory.parent) == 0
    (parent,), children = runs_in(uri)
    assert len(children) == 2
    assert (parent.data.tags["verify"], parent.data.tags["origin_layer"]) == ("regressed", ORIGIN["layer"])
    assert artifact(parent, "verify/verify.json")["origin"] == ORIGIN
    files = Path(parent.info.artifact_uri.removeprefix("file://")) / "verify"
    assert (files / "verify.png").read_bytes() == PICTURE
    assert "s3cret" not in (files / "verify.json").read_text()


def test_hashes_do_not_depend_on_where_files_lie_and_old_uploads_keep_theirs():
    """A directory that was moved is not uploaded again, nor is an invocation from before there were rungs."""
    here, there = (entry_of(a_document(), Attachment("verify.png", "ab", path)) for path in ("/a", "/b"))
    other = entry_of(a_document(), Attachment("verify.png", "cd", "/a"))
    assert here.content_hash() == there.content_hash() != other.content_hash()
    # Of this invocation as it was uploaded before entries had attachments.
    assert parent_of(an_invocation(), []).content_hash().startswith("f44f889f0859")


@pytest.mark.parametrize(("name", "status"), [("failed:crash", "FAILED"), ("unsupported", "FAILED"), ("reproduced", "FINISHED")])
def test_a_context_without_answers_has_no_numbers_of_tensors(name, status):
    """A crash is a failed run that claims nothing of any tensor."""
    entry = entry_of(a_failure(name))
    assert entry.status == status
    assert [key for key, *_ in entry.metrics] == ["seconds"]
