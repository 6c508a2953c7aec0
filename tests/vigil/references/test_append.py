"""Reference rows on the way in: none is lost, written twice or half, whoever appends at once."""

from __future__ import annotations

import contextlib
import copy
import math
import subprocess
import sys
import threading

import pytest

import vigil.digests
import vigil.references.samples
from runners.contract import files
from tests.vigil.references.sampled import RECIPE, make_row, row_of
from vigil.digests import replace_listed
from vigil.documents.reference_row import ReferenceError_, ReferenceRow
from vigil.references.samples import append_rows, load_rows, select


def test_appended_rows_are_read_back(tmp_path, record):
    """What was appended, in two goes and two frameworks, is what is loaded, in files named by the plan."""
    torch = copy.deepcopy(record)
    torch["context"] |= {"framework": "torch", "text": "torch-jit-fp32-x1"}
    torch["run_id"] = "run-t"
    rows = [make_row(record, seed=0), make_row(record, seed=1), row_of(torch)]
    append_rows(tmp_path, rows[:1])
    written = append_rows(tmp_path, rows[1:])
    names = ["quick-jax-2024-06-12.jsonl", "quick-torch-2024-06-12.jsonl"]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in (tmp_path / "resnet_cifar").iterdir()) == ["SHA256SUMS", *names]
    assert load_rows(tmp_path, "resnet_cifar") == rows


def test_appending_keeps_the_lines_that_are_there(tmp_path, record):
    """Old lines stay byte for byte, even where one ends as on Windows and the last one lacks its line end."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    old = b"\r\n" + path.read_bytes().rstrip(b"\n")
    replace_listed(path, old)
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
    assert [row.run_id for row in select(rows, recipe=RECIPE, metric="test_accuracy", data="beef").rows] == ["other"]


def test_one_bad_row_keeps_all_from_being_written(tmp_path, record):
    """Rows are checked before anything is written: the second repeats the first."""
    with pytest.raises(ReferenceError_, match="run other: seed 0 in jax-jit-fp32-x1"):
        append_rows(tmp_path, [make_row(record, seed=0), make_row(record, seed=0, run_id="other")])
    assert list(tmp_path.rglob("*.jsonl")) == []


@pytest.mark.parametrize(
    ("change", "said"), [({"value": math.nan}, "row 2: value: found nan"), ({"fault": {"name": "no_decay"}}, "fault: not a key")]
)
def test_a_row_that_is_no_sample_cannot_be_made(record, change, said):
    """A number that is not finite is none, and a row that carries a fault mark does not pass as a plain one."""
    with pytest.raises(ReferenceError_, match=said):
        ReferenceRow.checked({**make_row(record, seed=0).as_json(), **change}, where="row 2")


def test_a_file_name_cannot_leave_the_folder(tmp_path, record):
    """A profile called ../../x is refused."""
    row = make_row(record, seed=0)
    row = row.replace(recipe=row.recipe.replace(profile="../../x"))
    with pytest.raises(ReferenceError_, match="file name"):
        append_rows(tmp_path / "inner", [row])
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_kill_while_writing_leaves_the_old_file(tmp_path, record, monkeypatch):
    """If the last step does not happen, the file is as it was and nothing is left beside it."""
    (path,) = append_rows(tmp_path, [make_row(record, seed=0)])
    before = path.read_bytes()

    def fail(source, target):
        raise OSError("no space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        append_rows(tmp_path, [make_row(record, seed=1)])
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["SHA256SUMS", path.name]


@pytest.mark.parametrize(("is_locked", "kept"), [(True, 2), (False, 1)])
def test_two_that_append_at_once_lose_no_row(tmp_path, record, monkeypatch, is_locked, kept):
    """Before it writes, each waits for the other to have read: under the lock it has not, and without it one row is lost."""
    both_have_read = threading.Barrier(2)
    one_by_one = threading.Lock()

    def wait_and_replace(path, content):
        with contextlib.suppress(threading.BrokenBarrierError):
            both_have_read.wait(timeout=0.3 if is_locked else 30.0)
        with one_by_one:
            replace_listed(path, content)

    monkeypatch.setattr(vigil.digests, "replace_listed", wait_and_replace)
    if not is_locked:
        monkeypatch.setattr(vigil.references.samples, "lock_references", lambda directory: contextlib.nullcontext())

    def append(seed: int) -> None:
        append_rows(tmp_path, [make_row(record, seed=seed)])

    threads = [threading.Thread(target=append, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_rows(tmp_path, "resnet_cifar")) == kept


def test_processes_that_append_to_one_file_all_keep_their_rows(tmp_path, record):
    """Four processes with five rows each leave twenty, and no lock file that git would show."""
    rows = [make_row(record, seed=seed) for seed in range(20)]
    source = (
        "import sys; from pathlib import Path; from vigil.documents.reference_row import ReferenceRow\n"
        "from vigil.references.samples import append_rows\n"
        "for line in sys.stdin: append_rows(Path(sys.argv[1]), [ReferenceRow.parse(line, where='stdin')])"
    )
    running = []
    for number in range(4):
        process = subprocess.Popen([sys.executable, "-c", source, str(tmp_path)], stdin=subprocess.PIPE, text=True)
        process.stdin.write("".join(row.line() for row in rows[number::4]))
        running.append(process)
    for process in running:  # all at once: each waits for the end of what it is told
        process.stdin.close()
    assert [process.wait() for process in running] == [0] * 4
    assert sorted(row.seed for row in load_rows(tmp_path, "resnet_cifar")) == list(range(20))
    names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert names == ["SHA256SUMS", "quick-jax-2024-06-12.jsonl"]


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
