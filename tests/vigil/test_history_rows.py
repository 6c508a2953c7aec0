"""What MLflow holds becomes rows: every column of a run, nothing of one that is broken, and each run once."""

from __future__ import annotations

import math

import pytest

import vigil.tracking.client
from tests.reports.documents import a_regression, a_tensor, write_verification
from tests.vigil.remembered import NOON, assert_once, names
from tests.vigil.tracked import CREATED_MILLISECONDS, a_record, client_of, runs_in
from vigil.tracking import upload
from vigil.tracking.history import load_history
from vigil.tracking.history_rows import MOST_NAMED, SAMPLES, VERIFICATIONS, read_pages


def test_a_run_is_a_row_with_every_column(uri, clock, bring):
    """Recipe, context, release, night, seed, number, band and verdict come back as they were uploaded."""
    bring("first")
    history = load_history()
    assert list(history.samples) == list(SAMPLES)
    (row,) = history.samples.to_dict("records")
    expected = {
        "invocation_id": "first", "run_id": "first-seed1", "night": "night of first", "recipe": "resnet_cifar",
        "recipe_version": 1, "recipe_hash": "ab12", "profile": "quick", "context": "jax-jit-bf16-x2", "framework": "jax",
        "mode": "jit", "precision": "bf16", "device": "cpu", "devices": 2, "determinism": "off", "randomness": "shared",
        "release": "0.10.2", "seed": 1, "metric": "test_accuracy", "unit": "percent", "direction": "higher", "value": 82.5,
        "verdict": "reproduced", "reason": "both seeds lie inside the band", "fault": "none", "state_sha256": "cd34",
        "seconds": 100.0,
    }  # fmt: skip
    assert {key: row[key] for key in expected} == expected
    assert row["created"].timestamp() * 1000 == CREATED_MILLISECONDS
    assert (history.as_of, history.skipped, history.remarks) == (NOON, 0, ())


def test_verifications_of_both_kinds_are_rows(uri, clock, bring, tmp_path):
    """A first rung names its invocation, a verification of its own none; infinity survives MLflow."""
    bring("first")
    worst = a_tensor("early/margin", "loss", ratio="inf", score="inf")
    upload(write_verification(tmp_path / "v", a_regression(worst=worst, night="tonight")))
    history = load_history()
    assert list(history.verifications) == list(VERIFICATIONS)
    rung, alone = history.verifications.to_dict("records")
    expected = {
        "verify_id": "first/verify", "invocation_id": "first", "verdict": "regressed", "reason": "9 of 589 tensors are out",
        "tensors": 589, "tensors_out": 9, "worst_ratio": 5134.4, "worst_score": 135.1, "origin_layer": "stem", "seconds": 9.0,
        "night": "night of first", "release": "0.10.2",
    }  # fmt: skip
    assert {key: rung[key] for key in expected} == expected
    assert (alone["verify_id"], alone["night"], alone["release"]) == ("20261122-verify-one", "tonight", "2.13.0")
    assert alone["created"].isoformat() == "2026-11-22T10:00:21+00:00"
    assert math.isinf(alone["worst_ratio"])
    assert history.verifications["invocation_id"].isna().tolist() == [False, True]


def test_verifications_of_both_forms_are_told_apart(uri, clock, bring, tmp_path):
    """A first rung is in the short form; one of its own says which form it has, and from before it could, it was whole."""
    bring("first")
    whole = a_regression(verify_id="whole")
    short = whole.replace(verify_id="short", cases=tuple(case for case in whole.cases if not case.name.endswith("/full")))
    for document in (whole, short, whole.replace(verify_id="old")):
        upload(write_verification(tmp_path / document.verify_id, document))
    client = client_of(uri)
    [old] = [run for run in runs_in(uri)[0] if run.data.tags.get("vigil.verify_id") == "old"]
    client.delete_tag(old.info.run_id, "form")
    forms = load_history().verifications.set_index("verify_id")["form"].to_dict()
    assert forms == {"first/verify": "short", "whole": "whole", "short": "short", "old": "whole"}


def test_a_failed_run_is_a_row_without_a_number(uri, clock, bring):
    """Its verdict says how it ended and its reason why; the value is NaN, never zero."""
    failure = {"category": "crash", "phase": "train", "step": 3, "message": "it broke", "log_tail": []}
    bring("first", status="failed", failure=failure, metric=a_record(1)["metric"] | {"value": None})
    (row,) = load_history().samples.to_dict("records")
    assert (row["verdict"], row["reason"]) == ("failed:crash", "it broke")
    assert math.isnan(row["value"])


def test_an_incomplete_upload_is_left_out_until_it_is_complete(uri, clock, bring):
    """A run that lacks the mark of a whole upload is no evidence yet."""
    bring("first")
    client = client_of(uri)
    (run,) = client.search_runs(["1"], filter_string="tags.seed = '1'")
    mark = run.data.tags["vigil.uploaded"]
    client.delete_tag(run.info.run_id, "vigil.uploaded")
    assert names(load_history()) == []
    client.set_tag(run.info.run_id, "vigil.uploaded", mark)
    assert names(load_history()) == ["first"]


@pytest.mark.parametrize(
    ("tag", "value", "why"),
    [
        ("seed", "1; drop", "tag seed: found '1; drop', allowed is a whole number"),
        ("devices", "-2", "tag devices"),
        ("recipe", "", "tag recipe: missing or empty"),
        ("metric", "other", "metric final_other: found None"),
        ("vigil.uploaded_at", "2026-11-20 yesterday", "tag vigil.uploaded_at"),
    ],
)
def test_a_run_with_a_broken_value_is_left_out_and_named(uri, clock, bring, tag, value, why):
    """It spoils no other run, is counted once however often it is read, and is back when it is mended."""
    bring("first")
    bring("second")
    client = client_of(uri)
    (run,) = client.search_runs(["1"], filter_string="tags.seed = '1' and tags.`vigil.invocation_id` = 'second'")
    client.set_tag(run.info.run_id, tag, value)
    for _ in range(2):
        history = load_history()
        assert (names(history), history.skipped) == (["first"], 1)
        assert why in history.remarks[0]
        assert run.info.run_id in history.remarks[0]
    client.set_tag(run.info.run_id, tag, run.data.tags[tag])
    history = load_history()
    assert (names(history), history.skipped, history.remarks) == (["first", "second"], 0, ())


def test_uploads_from_before_there_were_nights_are_read(uri, clock, bring):
    """Without time of upload, release, metric and night, what is known stands in the row; sync --all replaces it, once."""
    directory = bring("first")
    client = client_of(uri)
    for run in client.search_runs(["1"]):
        for tag in ("vigil.uploaded_at", "release", "metric", "unit", "direction", "night"):
            if tag in run.data.tags:
                client.delete_tag(run.info.run_id, tag)
        client.set_tag(run.info.run_id, "framework_version", "0.9.9")
        client.set_tag(run.info.run_id, "vigil.uploaded", "of another version")
    history = load_history()
    (row,) = history.samples.to_dict("records")
    assert (row["release"], row["metric"], row["value"]) == ("0.9.9", "test_accuracy", 82.5)
    assert history.samples[["night", "unit"]].isna().all(axis=None)
    upload(directory)
    history = load_history()
    assert_once(history)
    assert history.samples["release"].tolist() == ["0.10.2"]


@pytest.mark.parametrize("count", [1, MOST_NAMED, 2 * MOST_NAMED])
def test_known_runs_fit_into_a_query(uri, clock, bring, count):
    """However many runs of a day are known, MLflow reads the query that leaves them out, and tells all others."""
    bring("first")
    store = vigil.tracking.client.Store(uri)
    known = [f"{index:032x}" for index in range(count)]
    pages = read_pages(store, {"2026-11-20": known})
    assert [row["invocation_id"] for page in pages for row in page.samples] == ["first"]
    runs = [run.run_id for page in store.runs(["1"]) for run in page]
    assert not any(page.identities for page in read_pages(store, {"2026-11-20": runs}))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_tell_every_run_once(uri, clock, bring, monkeypatch, size):
    """Runs of one millisecond, which are more than a page, and a run that is deleted while pages are read, lose no other."""
    for name in ("a", "b", "c"):
        bring(name)
    monkeypatch.setattr(vigil.tracking.client, "RUNS_PER_PAGE", size)
    store = vigil.tracking.client.Store(uri)
    runs = [run.run_id for page in store.runs(["1"]) for run in page]
    assert len(runs) == len(set(runs)) == 6
    assert names(load_history()) == ["a", "b", "c"]
