"""Reference rows on the way in and out: what is refused, what is counted once, what no longer fits the recipe."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import subprocess
import sys
import threading

import pytest

import vigil.references.samples
from vigil.errors import CannotRun
from vigil.references import file
from vigil.references.samples import ReferenceError_, append_rows, load_rows, row_from_record, select

RECIPE = {"name": "resnet_cifar", "version": 1, "hash": "aa11", "profile": "quick"}
VERIFIED = {"verdict": "reproduced", "reason": "589 tensors within their limits", "verify_id": "one", "golden": "ab" * 32}


@pytest.fixture
def record():
    """A finished run of seed 3 in JAX."""
    return {
        "schema": 1,
        "run_id": "run-3",
        "created": "2024-06-12T10:00:00+00:00",
        "recipe": dict(RECIPE),
        "context": {"framework": "jax", "mode": "jit", "text": "jax-jit-fp32-x1"},
        "seed": 3,
        "status": "finished",
        "failure": None,
        "metric": {
            "name": "test_accuracy",
            "unit": "percent",
            "direction": "higher",
            "selection": "last",
            "value": 81.5,
        },
        "state_sha256": "ff00",
        "fault": None,
        "environment": {
            "framework": "jax",
            "framework_version": "0.10.2",
            "framework_path": "/home/somebody/jax/__init__.py",
            "python": "3.12.3",
            "numpy": "2.4.0",
            "hardware": "2 cores",
            "threads": 2,
        },
        "data": {"name": "generated", "checksum": "c0de"},
        "code": {"commit": "abc", "dirty": True},
    }


def make_row(record, *, seed, run_id=None, value=81.5):
    changed = copy.deepcopy(record)
    changed["seed"], changed["run_id"], changed["metric"]["value"] = seed, run_id or f"run-{seed}", value
    return row_from_record(changed)


def test_a_finished_run_becomes_a_row_with_its_provenance(record):
    """Value, seed, context, versions, commit, dirty mark and date all arrive in the row."""
    row = row_from_record(record)
    assert (row["kind"], row["value"], row["seed"], row["date"]) == ("measured", 81.5, 3, "2024-06-12")
    assert row["packages"] == {"numpy": "2.4.0"}
    assert (row["commit"], row["dirty"], row["framework_version"]) == ("abc", True, "0.10.2")


def test_a_row_does_not_publish_where_one_machine_keeps_its_files(record):
    """Absolute paths of the environment stay in the record."""
    assert "/home/somebody" not in json.dumps(row_from_record(record))


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
        row_from_record(record)


@pytest.mark.parametrize("verdict", ["regressed", "known-finding", "failed:crash", "failed:hang", "unsupported"])
def test_a_run_that_verify_rejects_is_no_sample(record, verdict):
    """A run whose invocation began with a step that is wrong is refused, and so is a row that says it was."""
    record["verify"] = {"verdict": {"name": verdict, "reason": "9 of 589 tensors are out"}, "origin": None}
    with pytest.raises(ReferenceError_, match=f"verify.verdict: found '{verdict}'"):
        row_from_record(record)
    del record["verify"]
    with pytest.raises(ReferenceError_, match=f"verify.verdict: found '{verdict}'"):
        row_from_record(record, verify={**VERIFIED, "verdict": verdict})


def test_a_row_says_what_verify_said_of_its_context(record, tmp_path):
    """The note arrives in the row and is read back; a row from before there were notes is as good."""
    rows = [row_from_record(record, verify=VERIFIED), make_row(record, seed=4)]
    append_rows(tmp_path, rows)
    assert [row.get("verify") for row in load_rows(tmp_path, "resnet_cifar")] == [VERIFIED, None]


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ({**VERIFIED, "forced": True}, None),
        ({key: value for key, value in VERIFIED.items() if key != "golden"}, "verify.golden: missing"),
        ({**VERIFIED, "reason": None}, "verify.reason: found None"),
        ({}, "verify.verdict: missing"),
    ],
)
def test_a_note_of_a_verification_is_whole(record, note, said):
    """What lacks a key or has one of another type is refused."""
    if said is None:
        assert row_from_record(record, verify=note)["verify"] == note  # nested objects may say more, as `context` does
        return
    with pytest.raises(ReferenceError_, match=said):
        row_from_record(record, verify=note)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "nan", True, 101.0])
def test_a_value_that_is_no_number_is_no_sample(record, value):
    """Null, NaN, infinity, a string, a boolean and 101 percent are refused."""
    record["metric"]["value"] = value
    with pytest.raises(ReferenceError_, match="value"):
        row_from_record(record)


def test_a_record_without_a_needed_key_is_refused_by_name(record):
    """The error names what the record lacks."""
    del record["environment"]["framework_version"]
    with pytest.raises(ReferenceError_, match="run-3: framework_version: missing"):
        row_from_record(record)


def test_appended_rows_are_read_back(tmp_path, record):
    """What was appended, in two goes and two frameworks, is what is loaded, in files named by the plan."""
    torch = copy.deepcopy(record)
    torch["context"] |= {"framework": "torch", "text": "torch-jit-fp32-x1"}
    torch["run_id"] = "run-t"
    rows = [make_row(record, seed=0), make_row(record, seed=1), row_from_record(torch)]
    append_rows(tmp_path, rows[:1])
    written = append_rows(tmp_path, rows[1:])
    names = ["quick-jax-2024-06-12.jsonl", "quick-torch-2024-06-12.jsonl"]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in (tmp_path / "resnet_cifar").iterdir()) == names
    assert load_rows(tmp_path, "resnet_cifar") == rows


def test_appending_keeps_the_lines_that_are_there(tmp_path, record):
    """Old lines stay byte for byte, even where one ends as on Windows and the last one lacks its line end."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    old = b"\r\n" + path.read_bytes().rstrip(b"\n")
    path.write_bytes(old)
    append_rows(tmp_path, [make_row(record, seed=1)])
    assert path.read_bytes().startswith(old + b"\n")
    assert len(load_rows(tmp_path, "resnet_cifar")) == 2


def test_a_run_cannot_be_appended_twice(tmp_path, record):
    """The same run id is refused, in the files and within one call."""
    append_rows(tmp_path, [make_row(record, seed=0)])
    with pytest.raises(ReferenceError_, match="already a reference sample"):
        append_rows(tmp_path, [make_row(record, seed=0)])
    with pytest.raises(ReferenceError_, match="already a reference sample"):
        append_rows(tmp_path, [make_row(record, seed=5), make_row(record, seed=5)])


def test_a_repeat_of_a_seed_is_no_new_sample(tmp_path, record):
    """Another run of the same seed, context, framework version and recipe is refused; a new version is taken."""
    append_rows(tmp_path, [make_row(record, seed=0)])
    with pytest.raises(ReferenceError_, match="another seed"):
        append_rows(tmp_path, [make_row(record, seed=0, run_id="other")])
    record["environment"]["framework_version"] = "0.11.0"
    append_rows(tmp_path, [make_row(record, seed=0, run_id="other")])
    assert len(load_rows(tmp_path, "resnet_cifar")) == 2


def test_a_seed_on_other_data_is_another_sample(tmp_path, record):
    """Where the data's code has changed the same seeds are measured again, beside rows that judge nothing any more."""
    append_rows(tmp_path, [make_row(record, seed=0)])
    record["data"]["checksum"] = "beef"
    append_rows(tmp_path, [make_row(record, seed=0, run_id="other")])
    rows = load_rows(tmp_path, "resnet_cifar")
    assert [row["run_id"] for row in select(rows, recipe=RECIPE, metric="test_accuracy", data="beef").rows] == ["other"]


def test_one_bad_row_keeps_all_from_being_written(tmp_path, record):
    """Rows are checked before anything is written."""
    bad = {**make_row(record, seed=1), "value": math.nan}
    with pytest.raises(ReferenceError_, match="new row 2: value"):
        append_rows(tmp_path, [make_row(record, seed=0), bad])
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_faulted_row_is_refused_when_appended(tmp_path, record):
    """A row that carries a fault mark does not pass as a plain one."""
    with pytest.raises(ReferenceError_, match="fault: not a key"):
        append_rows(tmp_path, [{**make_row(record, seed=0), "fault": {"name": "no_decay"}}])


def test_a_file_name_cannot_leave_the_folder(tmp_path, record):
    """A profile called ../../x is refused."""
    row = make_row(record, seed=0)
    row["recipe"]["profile"] = "../../x"
    with pytest.raises(ReferenceError_, match="file name"):
        append_rows(tmp_path / "inner", [row])
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_kill_while_writing_leaves_the_old_file(tmp_path, record, monkeypatch):
    """If the last step does not happen, the file is as it was and nothing is left beside it."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    before = path.read_bytes()

    def fail(source, target):
        raise OSError("no space left on device")

    monkeypatch.setattr(file.os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        append_rows(tmp_path, [make_row(record, seed=1)])
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("is_locked", "kept"), [(True, 2), (False, 1)])
def test_two_that_append_at_once_lose_no_row(tmp_path, record, monkeypatch, is_locked, kept):
    """Before it writes, each waits for the other to have read: under the lock it has not, and without it one row is lost."""
    both_have_read = threading.Barrier(2)
    replace = file.os.replace

    def wait_and_replace(source, target):
        with contextlib.suppress(threading.BrokenBarrierError):
            both_have_read.wait(timeout=0.3 if is_locked else 30.0)
        replace(source, target)

    monkeypatch.setattr(file.os, "replace", wait_and_replace)
    if not is_locked:
        monkeypatch.setattr(vigil.references.samples, "locked", lambda directory: contextlib.nullcontext())
    threads = [threading.Thread(target=append_rows, args=(tmp_path, [make_row(record, seed=seed)])) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_rows(tmp_path, "resnet_cifar")) == kept


def test_processes_that_append_to_one_file_all_keep_their_rows(tmp_path, record):
    """Four processes with five rows each leave twenty, and no lock file that git would show."""
    rows = [make_row(record, seed=seed) for seed in range(20)]
    source = (
        "import json, sys; from pathlib import Path; from vigil.references.samples import append_rows\n"
        "for row in json.load(sys.stdin): append_rows(Path(sys.argv[1]), [row])"
    )
    running = []
    for number in range(4):
        process = subprocess.Popen([sys.executable, "-c", source, str(tmp_path)], stdin=subprocess.PIPE, text=True)
        process.stdin.write(json.dumps(rows[number::4]))
        running.append(process)
    for process in running:  # all at once: each waits for the end of what it is told
        process.stdin.close()
    assert [process.wait() for process in running] == [0] * 4
    assert sorted(row["seed"] for row in load_rows(tmp_path, "resnet_cifar")) == list(range(20))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["quick-jax-2024-06-12.jsonl"]


def test_the_same_sample_appended_twice_at_once_is_refused_once(tmp_path, record):
    """What is there is read under the lock: of two processes that bring one run, one is told that it is there."""
    refused = []

    def append() -> None:
        try:
            append_rows(tmp_path, [make_row(record, seed=0)])
        except ReferenceError_ as error:
            refused.append(str(error))

    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert len(load_rows(tmp_path, "resnet_cifar")) == 1


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
        (lambda row: json.dumps({**row, "recipe": {"name": "resnet_cifar"}}), "recipe.version: missing"),
        (lambda row: json.dumps({**row, "recipe": {**row["recipe"], "name": "gru"}}), "recipe.name: found 'gru'"),
        (lambda row: json.dumps({**row, "value": 12.0}), "with other content"),
    ],
)
def test_a_damaged_line_is_named_by_file_and_line(tmp_path, record, change, said):
    """The second line of the file is damaged in eleven ways; each is an error that names file, line and key."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    with path.open("a", encoding="utf-8") as file:
        file.write(change(make_row(record, seed=0)) + "\n")
    with pytest.raises(CannotRun) as caught:
        load_rows(tmp_path, "resnet_cifar")
    assert f"{path}:2: " in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_is_no_text_is_named(tmp_path, record):
    """A byte that a broken disk turned is an error with file and place, for rows and for entries, and no crash."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    whole = path.read_bytes()
    path.write_bytes(whole[:40] + b"\xff" + whole[41:])
    with pytest.raises(ReferenceError_, match=f"{path.name}: byte 40 is no UTF-8"):
        load_rows(tmp_path, "resnet_cifar")
    path.write_bytes(whole)
    (path.parent / "superseded.jsonl").write_bytes(b"\xff")
    with pytest.raises(ReferenceError_, match=r"superseded\.jsonl: byte 0"):
        load_rows(tmp_path, "resnet_cifar")


def test_selected_rows_are_of_the_recipe_as_it_is(record):
    """Rows of another profile, metric, version or hash are left out."""
    fits = make_row(record, seed=0)
    others = []
    for number, change in enumerate([{"profile": "paper"}, {"version": 2}, {"hash": "bb22"}, {"name": "gru"}]):
        row = make_row(record, seed=number + 1)
        row["recipe"] |= change
        others.append(row)
    others.append({**make_row(record, seed=9), "metric": "test_loss"})
    selection = select([*others, fits], recipe=RECIPE, metric="test_accuracy", data="c0de")
    assert (selection.rows, selection.reason) == ((fits,), None)


def test_samples_of_other_data_judge_nothing(record):
    """Rows that trained on other pixels are left out; where there are no others, the reason names both checksums."""
    fits, other = make_row(record, seed=0), make_row(record, seed=1)
    other["data"] = {**other["data"], "checksum": "beef"}
    assert select([other, fits], recipe=RECIPE, metric="test_accuracy", data="c0de").rows == (fits,)
    selection = select([other], recipe=RECIPE, metric="test_accuracy", data="c0de")
    assert selection.rows == ()
    assert "of other data (checksum beef; here c0de)" in selection.reason
    assert "make reference RECIPE=resnet_cifar PROFILE=quick" in selection.reason


def test_a_run_listed_twice_counts_once(record):
    """The same row in two files is one sample."""
    row = make_row(record, seed=0)
    assert len(select([row, copy.deepcopy(row)], recipe=RECIPE, metric="test_accuracy", data="c0de").rows) == 1


@pytest.mark.parametrize("change", [{"hash": "bb22"}, {"version": 2}])
def test_a_changed_recipe_has_no_reference_and_the_reason_says_why(record, change):
    """Version and hash that were found and wanted stand in the reason, with the command that helps."""
    wanted = {**RECIPE, **change}
    selection = select([make_row(record, seed=0)], recipe=wanted, metric="test_accuracy", data="c0de")
    assert selection.rows == ()
    assert "version 1 (aa11)" in selection.reason
    assert f"version {wanted['version']} ({wanted['hash']})" in selection.reason
    assert "make reference RECIPE=resnet_cifar PROFILE=quick" in selection.reason


def test_no_rows_at_all_is_another_reason():
    """An empty reference is not called outdated."""
    selection = select([], recipe=RECIPE, metric="test_accuracy", data="c0de")
    assert "there are no reference samples" in selection.reason
