"""Superseded samples: out of the bands, with a reason, and still there; an entry that cannot be true is no entry."""

from __future__ import annotations

import json
import subprocess

import pytest

import vigil.references.supersede as module
from tests.vigil.json_answer import answer_of
from tests.vigil.reference_rows import CHECKSUM, QUICK, REASON, RECIPE, band, make_entry, make_row, make_rows, write_lines
from vigil.cli.answers import SupersedeAnswer
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.judgement import Metric
from vigil.documents.record import Code
from vigil.documents.reference_row import ReferenceError_
from vigil.errors import UsageError
from vigil.recipes.loading import identity_of
from vigil.references.judge import judge
from vigil.references.samples import append_rows, load_rows, load_samples, select
from vigil.references.supersede import supersede

BAD = 70.0


@pytest.fixture(autouse=True)
def _known_commit(monkeypatch):
    monkeypatch.setattr(module, "describe_code", lambda: Code(commit="abc", dirty=False))


@pytest.fixture
def folder(tmp_path):
    """A folder of references: eight good seeds in two frameworks, and eight of an old torch that are far off."""
    old = make_rows(8, frameworks=["torch"], mean=BAD, framework_version="2.12.0")
    append_rows(tmp_path, make_rows(8) + old)
    return tmp_path


def test_superseded_samples_enter_no_band(folder):
    """The band without them is that of the other rows alone; a value that only they allowed is regressed then."""
    wide = band(load_rows(folder, "resnet_cifar"))
    _, [found] = supersede(folder, RECIPE, profile="quick", reason=REASON, framework="torch", release="2.12.0")
    rows = load_rows(folder, "resnet_cifar")
    assert {row.framework_version for row in rows} == {"0.10.2", "2.13.0+cpu"}
    assert (found.old["jax"].band, found.new["jax"].band) == (wide, band(rows))
    options = {
        "recipe": identity_of(RECIPE, "quick"), "metric": Metric.of(RECIPE.resolve("quick")), "checksum": CHECKSUM,
        "n_test": 4000, "context": make_context(framework="jax"),
    }  # fmt: skip
    assert wide.low < 80.0
    assert judge([(0, 80.0)], rows=rows, **options).name == "regressed"
    every = list(load_samples(folder, "resnet_cifar").rows)
    assert judge([(0, 80.0)], rows=every, **options).name == "reproduced"  # what a loader that forgets the entry would do


def test_no_row_is_touched_and_the_entry_says_what_why_and_when(folder):
    """The files of rows stay byte for byte; the entry has runs, reason, change, day, commit and both bands."""
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    path, [found] = supersede(
        folder, RECIPE, profile="quick", reason=f"  {REASON}\n again ", framework="torch", release="2.12.0", by="#12"
    )
    assert {each: each.read_bytes() for each in before} == before
    assert path == folder / "resnet_cifar" / "superseded.jsonl"
    entry = json.loads(path.read_text())
    assert entry == found.entry.as_json()
    assert (entry["reason"], entry["by"], entry["commit"]) == (f"{REASON} again", "#12", "abc")
    assert entry["run_ids"] == [f"torch-2.12.0-{seed}" for seed in range(1000, 1008)]
    old, new = entry["old_bands"]["jax"], entry["new_bands"]["jax"]
    assert (old["n"], new["n"], new["n_seeds"]) == (24, 16, 8)
    assert old["low"] < new["low"]
    assert set(entry["old_bands"]) == {"torch", "tensorflow", "jax"}


def test_a_release_may_be_named_without_its_local_part(folder):
    """2.13.0 stands for 2.13.0+cpu, and 2.13 for neither."""
    with pytest.raises(UsageError, match=r"There are samples of 2\.12\.0, 2\.13\.0\+cpu"):
        supersede(folder, RECIPE, profile="quick", reason=REASON, framework="torch", release="2.13")
    _, [found] = supersede(folder, RECIPE, profile="quick", reason=REASON, framework="torch", release="2.13.0")
    assert {row.framework_version for row in found.rows} == {"2.13.0+cpu"}


def test_what_is_superseded_cannot_be_superseded_again(folder):
    """The second command finds nothing that stands, and writes nothing."""
    path, _ = supersede(folder, RECIPE, profile="quick", reason=REASON)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="no standing samples"):
        supersede(folder, RECIPE, profile="quick", reason=REASON)
    assert path.read_bytes() == before


def test_samples_of_an_earlier_recipe_need_no_entry(tmp_path):
    """Rows of another hash judge nothing as it is; the message names both."""
    append_rows(tmp_path, make_rows(recipe=QUICK.replace(hash="0" * 12)))
    with pytest.raises(UsageError, match=f"version 1 .0{{12}}., the recipe is version 1 .{QUICK.hash}"):
        supersede(tmp_path, RECIPE, profile="quick", reason=REASON)
    assert not (tmp_path / "resnet_cifar" / "superseded.jsonl").exists()


@pytest.mark.parametrize("reason", ["", "   ", "stale", "not good any more", "x" * 40, "1234567890 1234567890 12345"])
def test_a_reason_that_says_nothing_is_refused(folder, reason):
    """Empty, one word, one letter again and again, and digits alone are no reason, on the way in and when read."""
    with pytest.raises(UsageError, match="--reason: found"):
        supersede(folder, RECIPE, profile="quick", reason=reason)
    rows = load_rows(folder, "resnet_cifar")
    write_lines(folder / "resnet_cifar" / "superseded.jsonl", [make_entry(rows[:1], reason=reason)])
    with pytest.raises(ReferenceError_, match=r"superseded\.jsonl:1: reason: found"):
        load_rows(folder, "resnet_cifar")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entry: entry["run_ids"].append("torch-2.12.0-999"), "run_ids: 'torch-2.12.0-999': there is no such row"),
        (lambda entry: entry["run_ids"].append(entry["run_ids"][0]), "superseded already"),
        (lambda entry: entry["run_ids"].clear(), "run_ids: found []"),
        (lambda entry: entry.pop("reason"), "reason: missing. A superseding entry needs every key"),
        (lambda entry: entry.pop("commit"), "commit: missing"),
        (lambda entry: entry.update(forced=True), "forced: not a key of a superseding entry"),
        (lambda entry: entry.update(schema=2), "schema: found 2"),
        (lambda entry: entry.update(kind="measured"), "kind: found 'measured'"),
        (lambda entry: entry.update(metric="test_loss"), "its row has metric 'test_accuracy', the entry 'test_loss'"),
        (lambda entry: entry["recipe"].update(profile="paper"), "its row has recipe.profile 'quick', the entry 'paper'"),
        (lambda entry: entry["data"].update(checksum="beef"), "its row has data.checksum"),
        (lambda entry: entry.update(old_bands={"jax": {"low": 1.0}}), "old_bands.jax.n, old_bands.jax.n_seeds, "),
    ],
)
def test_an_entry_that_cannot_be_true_is_named_by_file_and_line(folder, change, said):
    """An unknown run, one that is named twice, a missing key, one too many: no band is made until it is mended."""
    rows = load_rows(folder, "resnet_cifar")
    good = make_entry([row for row in rows if row.framework_version == "2.12.0"])
    path = write_lines(folder / "resnet_cifar" / "superseded.jsonl", [good])
    assert len(load_rows(folder, "resnet_cifar")) == 16
    bad = make_entry(rows[:2])
    change(bad)
    write_lines(path, [good, bad])
    with pytest.raises(ReferenceError_) as caught:
        load_rows(folder, "resnet_cifar")
    assert f"{path}:2: " in str(caught.value)
    assert said in str(caught.value)


def test_an_entry_repeated_in_the_file_is_an_error(folder):
    """The same line twice is a mistake of somebody who edited by hand."""
    entry = make_entry(load_rows(folder, "resnet_cifar")[:2])
    write_lines(folder / "resnet_cifar" / "superseded.jsonl", [entry, entry])
    with pytest.raises(ReferenceError_, match=r"jsonl:2: run_ids: .* superseded already"):
        load_rows(folder, "resnet_cifar")


def test_a_superseded_run_cannot_come_back_but_its_seed_can_be_measured_again(folder):
    """The run itself is present for good; a new run of that seed, context and release is a sample."""
    supersede(folder, RECIPE, profile="quick", reason=REASON, framework="torch", release="2.12.0")
    old = make_rows(8, frameworks=["torch"], mean=BAD, framework_version="2.12.0")[0]
    with pytest.raises(ReferenceError_, match="already a reference sample"):
        append_rows(folder, [old])
    append_rows(folder, [old.replace(run_id="again")])
    assert [row.run_id for row in load_rows(folder, "resnet_cifar")].count("again") == 1
    with pytest.raises(ReferenceError_, match="another seed"):
        append_rows(folder, [old.replace(run_id="and again")])


def test_the_verdict_without_samples_says_where_to_look(folder):
    """Where every sample is superseded there is no band, and the reason names the command that shows why."""
    supersede(folder, RECIPE, profile="quick", reason=REASON)
    selection = select(load_rows(folder, "resnet_cifar"), recipe=QUICK, metric="test_accuracy", data=CHECKSUM)
    assert selection.rows == ()
    assert "vigil reference show resnet_cifar" in selection.reason


def test_the_entries_are_the_answer(folder, monkeypatch, capsys):
    """What was appended, and how many samples it leaves."""
    monkeypatch.setattr("vigil.cli.reference.reference_directory", lambda source=None: folder)
    words = ["--profile", "quick", "--reason", REASON, "--framework", "torch", "--release", "2.12.0"]
    found = answer_of(capsys, SupersedeAnswer, "reference", "supersede", "resnet_cifar", *words)
    [entry] = found.entries
    assert (found.path, found.remaining) == (f"{folder}/resnet_cifar/superseded.jsonl", (16,))
    assert load_samples(folder, "resnet_cifar").superseded == dict.fromkeys(entry.run_ids, entry)


def test_the_command_shows_both_bands_what_remains_and_how_to_undo(folder, monkeypatch, capsys):
    """Four samples remain: verdicts will be unknown, in capitals; what undoes it leaves samples that can be read."""
    append_rows(folder, [make_row(framework="tensorflow", seed=seed, value=88.0 + seed % 3) for seed in range(1000, 1004)])
    monkeypatch.setattr("vigil.cli.reference.reference_directory", lambda source=None: folder)
    command = ["reference", "supersede", "resnet_cifar", "--profile", "quick", "--reason", REASON, "--framework"]
    assert main([*command, "torch"]) == 0
    out = capsys.readouterr().out
    assert "superseded  8 of torch-jit-fp32-x1, release 2.12.0" in out
    assert "remain      12 samples of 8 seeds" in out
    assert "unknown" not in out
    assert main([*command, "jax"]) == 0
    out = capsys.readouterr().out
    assert "old band    " in out
    assert "new band    none: found 4 usable reference samples of 4 seeds" in out
    assert "remain      4 samples of 4 seeds" in out
    assert "VERDICTS WILL BE unknown until there are 8 samples of 5 seeds again" in out
    [undo] = [line for line in out.splitlines() if line.startswith("to undo before it is committed: ")]
    assert "&& rm superseded.jsonl &&" in undo
    subprocess.run(undo.partition(": ")[2], shell=True, check=True)
    samples = load_samples(folder, "resnet_cifar")
    assert samples.standing == list(samples.rows)
    assert "what a reviewer sees: vigil reference diff --recipe resnet_cifar" in out
