"""Reference rows on the way in and out: what is refused, what is counted once, what no longer fits the recipe."""

from __future__ import annotations

import copy
import json
import math

import pytest

from tests.vigil.references.sampled import RECIPE, VERIFIED, make_row, row_of
from vigil.digests import append_listed, replace_listed
from vigil.documents.document import DocumentError
from vigil.documents.reference_row import ReferenceError_, ReferenceRow
from vigil.errors import CannotRun
from vigil.references.samples import append_rows, load_rows, select


def test_a_finished_run_becomes_a_row_with_its_provenance(record):
    """Value, seed, context, versions, commit, dirty mark and date all arrive in the row."""
    row = row_of(record)
    assert (row.kind, row.value, row.seed, row.date) == ("measured", 81.5, 3, "2024-06-12")
    assert row.packages == {"numpy": "2.4.0"}
    assert (row.commit, row.dirty, row.framework_version) == ("abc", True, "0.10.2")


def test_a_row_does_not_publish_where_one_machine_keeps_its_files(record):
    """Absolute paths of the environment stay in the record."""
    assert "/home/somebody" not in row_of(record).line()


@pytest.mark.parametrize(
    ("key", "found", "said"),
    [
        ("fault", {"name": "no_decay", "sha256": "00"}, "planted fault"),
        ("status", "failed", "status"),
        ("status", "interrupted", "status"),
    ],
)
def test_a_faulted_or_unfinished_run_is_no_sample(record, key, found, said):
    """A run with a planted fault, failed or interrupted is refused with the reason."""
    record[key] = found
    with pytest.raises(ReferenceError_, match=said):
        row_of(record)


@pytest.mark.parametrize("verdict", ["regressed", "known-finding", "failed:crash", "failed:hang", "unsupported"])
def test_a_run_that_verify_rejects_is_no_sample(record, verdict):
    """A run whose invocation began with a step that is wrong is refused, and so is a row that says it was."""
    record["verify"] = {"verdict": {"name": verdict, "reason": "9 of 589 tensors are out"}, "origin": None}
    with pytest.raises(ReferenceError_, match=f"verify.verdict: found '{verdict}'"):
        row_of(record)
    del record["verify"]
    note = {**VERIFIED.as_json(), "verdict": verdict}
    with pytest.raises(ReferenceError_, match=f"verify.verdict: found '{verdict}'"):
        ReferenceRow.checked({**row_of(record).as_json(), "verify": note}, where="here")


def test_a_row_says_what_verify_said_of_its_context(record, tmp_path):
    """The note arrives in the row and is read back; a row from before there were notes is as good."""
    rows = [row_of(record, verify=VERIFIED), make_row(record, seed=4)]
    append_rows(tmp_path, rows)
    assert [row.verify for row in load_rows(tmp_path, "resnet_cifar")] == [VERIFIED, None]


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ({**VERIFIED.as_json(), "forced": True}, "verify.forced: not a key"),
        ({key: value for key, value in VERIFIED.as_json().items() if key != "golden"}, "verify.golden: missing"),
        ({**VERIFIED.as_json(), "reason": None}, "verify.reason: found None"),
        ({}, "verify.verdict, verify.reason, verify.verify_id, verify.golden: missing"),
    ],
)
def test_a_note_of_a_verification_is_whole(record, note, said):
    """What lacks a key, has one too many or one of another type is refused."""
    with pytest.raises(ReferenceError_, match=said):
        ReferenceRow.checked({**row_of(record).as_json(), "verify": note}, where="here")


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "nan", True, 101.0])
def test_a_value_that_is_no_number_is_no_sample(record, value):
    """Null, NaN, infinity, a string, a boolean and 101 percent are refused."""
    record["metric"]["value"] = value
    with pytest.raises(DocumentError, match="value"):
        row_of(record)


def test_a_record_without_a_needed_key_is_refused_by_name(record):
    """The error names what the record lacks."""
    del record["environment"]["framework_version"]
    with pytest.raises(ReferenceError_, match="run-3: framework_version: missing"):
        row_of(record)


def test_no_folder_means_no_rows(tmp_path):
    """A recipe that was never measured has an empty reference."""
    assert load_rows(tmp_path, "resnet_cifar") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: json.dumps(row)[:-5], "broken JSON"),
        (lambda row: "[]", "one JSON object a line"),
        (lambda row: json.dumps({k: v for k, v in row.items() if k != "seed"}), "seed: missing"),
        (lambda row: json.dumps({**row, "schema": 9}), "schema: found 9"),
        (lambda row: json.dumps({**row, "value": math.nan}), "value: found nan"),
        (lambda row: json.dumps({**row, "value": "nan"}), "value: found 'nan'"),
        (lambda row: json.dumps({**row, "seed": 1.5}), "seed: found 1.5"),
        (lambda row: json.dumps({**row, "kind": "typed"}), "kind: found 'typed'"),
        (lambda row: json.dumps({**row, "recipe": {"name": "a"}}), "recipe.version, recipe.hash, recipe.profile: missing"),
        (lambda row: json.dumps({**row, "recipe": {**row["recipe"], "name": "gru"}}), "recipe.name: found 'gru'"),
        (lambda row: json.dumps({**row, "value": 12.0}), "with other content"),
    ],
)
def test_a_damaged_line_is_named_by_file_and_line(tmp_path, record, change, said):
    """The second line of the file is damaged in eleven ways; each is an error that names file, line and key."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    append_listed(path, change(make_row(record, seed=0).as_json()) + "\n")
    with pytest.raises(CannotRun) as caught:
        load_rows(tmp_path, "resnet_cifar")
    assert f"{path}:2: " in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_is_no_text_is_named(tmp_path, record):
    """A byte that a broken disk turned is an error with file and place, for rows and for entries, and no crash."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    whole = path.read_bytes()
    replace_listed(path, whole[:40] + b"\xff" + whole[41:])
    with pytest.raises(ReferenceError_, match=f"{path.name}: byte 40 is no UTF-8"):
        load_rows(tmp_path, "resnet_cifar")
    replace_listed(path, whole)
    replace_listed(path.parent / "superseded.jsonl", b"\xff")
    with pytest.raises(ReferenceError_, match=r"superseded\.jsonl: byte 0"):
        load_rows(tmp_path, "resnet_cifar")


def test_selected_rows_are_of_the_recipe_as_it_is(record):
    """Rows of another profile, metric, version or hash are left out."""
    fits = make_row(record, seed=0)
    others = []
    for number, change in enumerate([{"profile": "paper"}, {"version": 2}, {"hash": "bb22"}, {"name": "gru"}]):
        row = make_row(record, seed=number + 1)
        others.append(row.replace(recipe=row.recipe.replace(**change)))
    others.append(make_row(record, seed=9).replace(metric="test_loss"))
    selection = select([*others, fits], recipe=RECIPE, metric="test_accuracy", data="c0de")
    assert (selection.rows, selection.reason) == ((fits,), None)


def test_samples_of_other_data_judge_nothing(record):
    """Rows that trained on other pixels are left out; where there are no others, the reason names both checksums."""
    fits, other = make_row(record, seed=0), make_row(record, seed=1)
    other = other.replace(data=other.data.replace(checksum="beef"))
    assert select([other, fits], recipe=RECIPE, metric="test_accuracy", data="c0de").rows == (fits,)
    selection = select([other], recipe=RECIPE, metric="test_accuracy", data="c0de")
    assert selection.rows == ()
    assert "of other data (checksum beef; here c0de)" in selection.reason
    assert "vigil reference add resnet_cifar --profile quick" in selection.reason


def test_a_run_listed_twice_counts_once(record):
    """The same row in two files is one sample."""
    row = make_row(record, seed=0)
    assert len(select([row, copy.deepcopy(row)], recipe=RECIPE, metric="test_accuracy", data="c0de").rows) == 1


@pytest.mark.parametrize("change", [{"hash": "bb22"}, {"version": 2}])
def test_a_changed_recipe_has_no_reference_and_the_reason_says_why(record, change):
    """Version and hash that were found and wanted stand in the reason, with the command that helps."""
    wanted = RECIPE.replace(**change)
    selection = select([make_row(record, seed=0)], recipe=wanted, metric="test_accuracy", data="c0de")
    assert selection.rows == ()
    assert "version 1 (aa11)" in selection.reason
    assert f"version {wanted.version} ({wanted.hash})" in selection.reason
    assert "vigil reference add resnet_cifar --profile quick" in selection.reason


def test_no_rows_at_all_is_another_reason():
    """An empty reference is not called outdated."""
    selection = select([], recipe=RECIPE, metric="test_accuracy", data="c0de")
    assert "there are no reference samples" in selection.reason
