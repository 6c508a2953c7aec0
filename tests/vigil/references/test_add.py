"""`vigil reference add`: no sample of a context that verify rejects, and rows that say what verify said."""

from __future__ import annotations

import functools
import importlib.util
from types import SimpleNamespace

import pytest

import vigil.cli.reference_add as module
import vigil.paths
import vigil.runs.gate
import vigil.verify.golden
from tests.reports.documents import a_document, a_failure, a_regression, write_verification
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import AddAnswer
from vigil.cli.main import main
from vigil.digests import replace_listed
from vigil.errors import CannotRun
from vigil.process.build_spec import fault_entry
from vigil.references.samples import load_rows
from vigil.runs.gate import UNVERIFIED

ADD = ["reference", "add", "resnet_cifar", "--profile", "smoke", "--seeds", "2"]
BOTH = [*ADD, "--framework", "torch,jax"]
VALUES = {1000: 11.0, 1001: 12.0}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "reference"


@pytest.fixture
def adding(scripted, monkeypatch, folder):
    """Return the list of runs that were started; training ends at once, and every framework counts as installed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "reference_directory", lambda source=None: folder)
    dataset = SimpleNamespace(checksum="c0ffee")  # as in scripted runs
    monkeypatch.setattr(module, "kind_of", lambda training: SimpleNamespace(load=lambda *facts: dataset))
    monkeypatch.setattr(module, "upload_or_note", lambda directory: None)
    monkeypatch.setattr(module, "draw_picture", lambda directory: (directory / "verify.png").touch())
    return scripted(VALUES)


@pytest.fixture
def verified(adding, monkeypatch, folder):
    """Return a function that makes verifications end as documents by framework say; it returns the contexts asked for.

    There is a golden tape, which nobody reads.
    """
    replace_listed(folder / "resnet_cifar" / "verify" / "golden-smoke.npz", b"")
    monkeypatch.setattr(vigil.runs.gate, "load_standard", lambda recipe, profile, *, data_directory: None)
    asked = []

    def make(**documents):
        def verify_contexts(standard, contexts, runs, *, on_end, **options):
            results = []
            for number, context in enumerate(contexts, start=1):
                asked.append((context.text, context in options["short"]))
                document = documents[context.framework].replace(context=context)
                directory = write_verification(runs / f"verify-{context.text}", document)
                on_end(number, document, directory)
                results.append((document, directory))
            return results

        monkeypatch.setattr(vigil.runs.gate, "verify_contexts", verify_contexts)
        return asked

    return make


def rows_by_framework(folder):
    """Return how many rows each framework has."""
    found: dict[str, int] = {}
    for row in load_rows(folder, "resnet_cifar"):
        found[row.framework] = found.get(row.framework, 0) + 1
    return found


def test_a_verified_context_is_measured_and_its_rows_say_so(adding, verified, folder, capsys):
    """One short verification a context comes before the first seed; every row names it."""
    asked = verified(torch=a_document(), jax=a_document())
    assert main(BOTH) == 0
    assert asked == [("torch-jit-fp32-x1", True), ("jax-jit-fp32-x1", True)]
    assert adding == [("torch", 1000), ("jax", 1000), ("torch", 1001), ("jax", 1001)]
    notes = [row.verify.as_json() for row in load_rows(folder, "resnet_cifar")]
    document = a_document()
    note = {
        "verdict": "reproduced",
        "reason": document.verdict.reason,
        "verify_id": document.verify_id,
        "golden": "ab" * 32,
    }
    assert notes == [note] * 4
    out = capsys.readouterr().out
    assert out.index("verified torch-jit-fp32-x1: 589") < out.index("seed 1000: 11.00 percent")


@pytest.mark.parametrize(
    ("document", "code", "said"),
    [
        (a_regression(), 1, "regressed: stage1.block1.conv2, backward, weight gradient: 5,134x the floor"),
        (a_regression(verdict={"name": "known-finding", "reason": "9 out"}), 1, "known-finding: stage1.block1.conv2"),
        (a_document(verdict={"name": "regressed", "reason": "a statistic has moved"}), 1, "regressed: a statistic has moved"),
        (a_failure("failed:hang"), 3, "failed:hang: the machine is on fire"),
        (a_failure("failed:interrupted"), 3, "failed:interrupted"),
        (a_failure("unsupported"), 3, "unsupported: the machine is on fire"),
    ],
    ids=["regressed", "known", "invariant", "hang", "interrupted", "unsupported"],
)
def test_a_rejected_context_is_not_trained_and_adds_nothing(adding, verified, folder, capsys, document, code, said):
    """What verify said is told, the other context is measured, and the exit code is not 0."""
    verified(torch=document, jax=a_document())
    assert main(BOTH) == code
    assert {framework for framework, _ in adding} == {"jax"}
    assert rows_by_framework(folder) == {"jax": 2}
    out = capsys.readouterr().out
    assert f"REFUSED torch-jit-fp32-x1: {said}" in out
    assert "Nothing of this context is measured or added" in out


def test_what_was_measured_and_refused_is_an_answer(adding, verified, folder, capsys):
    """A script sees which context was refused, why, and which runs became rows."""
    verified(torch=a_regression(), jax=a_document())
    found = answer_of(capsys, AddAnswer, *BOTH)
    assert (found.exit_code, found.there, found.failed) == (1, 0, ())
    assert {each.context.framework: each.is_refused for each in found.contexts} == {"torch": True, "jax": False}
    assert "stage1.block1.conv2" in found.contexts[0].said
    assert list(found.added) == [row.run_id for row in load_rows(folder, "resnet_cifar")]
    again = answer_of(capsys, AddAnswer, *ADD, "--framework", "jax")
    assert (again.there, again.contexts, again.added) == (2, (), ())


def test_the_worst_refusal_is_the_exit_code(adding, verified, folder):
    """A wrong context beside one that crashed is 1, in either order; nothing is there afterwards."""
    verified(torch=a_failure(), jax=a_regression())
    assert main(BOTH) == 1
    assert adding == []
    assert rows_by_framework(folder) == {}


def test_a_recipe_without_a_tape_is_measured_with_a_remark(adding, folder, capsys):
    """Nothing can verify it: said before the first run and in every row, without a path of this machine."""
    assert main([*ADD, "--framework", "torch"]) == 0
    out = capsys.readouterr().out
    assert out.index(f"remark: torch-jit-fp32-x1 is not verified: {UNVERIFIED}") < out.index("seed 1000")
    notes = [row.verify.as_json() for row in load_rows(folder, "resnet_cifar")]
    assert notes == [{"verdict": "unknown", "reason": UNVERIFIED, "verify_id": None, "golden": None}] * 2


@pytest.mark.parametrize("damage", ["broken tape", "oracle differs", "no limits"])
def test_a_tape_that_cannot_be_used_refuses_everything(adding, verified, monkeypatch, folder, capsys, damage):
    """A tape that is there and says nothing is no reason to take samples on trust: exit code 3, nothing is trained."""
    verified(torch=a_document())
    if damage == "broken tape":
        monkeypatch.undo()
        return _with_a_broken_tape(folder, monkeypatch, capsys)

    def fail(*facts, **options):
        raise CannotRun(damage)

    monkeypatch.setattr(vigil.runs.gate, "load_standard" if damage == "no limits" else "verify_contexts", fail)
    assert main([*ADD, "--framework", "torch"]) == 3
    assert adding == []
    assert f"REFUSED torch-jit-fp32-x1: could not be verified: {damage}" in capsys.readouterr().out
    return None


def _with_a_broken_tape(folder, monkeypatch, capsys) -> None:
    """The tape is an empty file, and is read by the code that reads tapes."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "reference_directory", lambda source=None: folder)
    monkeypatch.setattr(vigil.verify.golden, "reference_directory", lambda source=None: folder)
    monkeypatch.setattr(module, "sweep", lambda requests, *facts, **options: [pytest.fail("trained") for _ in requests])
    assert main([*ADD, "--framework", "torch"]) == 3
    assert "could not be verified: " in (out := capsys.readouterr().out)
    assert "not a golden tape" in out


def test_what_is_there_is_neither_verified_nor_measured_again(adding, verified, folder, capsys):
    """Only the context that lacks a seed is verified, and only that seed is trained."""
    asked = verified(torch=a_document(), jax=a_document())
    assert main([*ADD, "--framework", "torch"]) == 0
    asked.clear()
    adding.clear()
    assert main([*BOTH, "--seeds", "1"]) == 0
    assert asked == [("jax-jit-fp32-x1", True)]
    assert adding == [("jax", 1000)]
    asked.clear()
    assert main([*BOTH, "--seeds", "1"]) == 0
    assert asked == []
    assert "0 runs to measure, 3 samples" in capsys.readouterr().out


def test_a_run_that_fails_adds_nothing_and_is_told(adding, verified, scripted, folder, capsys):
    """The other seed is kept, and the exit code says that one is missing."""
    verified(torch=a_document())
    scripted({1000: "nan_loss", 1001: 12.0})
    assert main([*ADD, "--framework", "torch"]) == 3
    assert [row.seed for row in load_rows(folder, "resnet_cifar")] == [1001]
    assert "not measured: " in capsys.readouterr().out


def test_a_framework_that_is_not_installed_is_told_before_anything_is_verified(adding, verified, monkeypatch, places):
    """Exit code 3 with the command that installs it; no directory is made."""
    asked = verified(torch=a_document())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "flax" else object())
    assert main(BOTH) == 3
    assert (asked, adding) == ([], [])
    assert not places.exists()


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("fault", "code", "count"), [("tests/faults/weight_gradient_scaled.py", 1, 0), (None, 0, 2)])
def test_a_planted_fault_is_no_reference(scripted, monkeypatch, folder, capsys, fault, code, count):
    """With the committed tape and a real framework: one gradient that is 0.1 % off refuses its context, a clean one is taken."""
    started = scripted(VALUES)
    monkeypatch.setattr(vigil.verify.golden, "reference_directory", vigil.paths.reference_directory)
    monkeypatch.setattr(module, "reference_directory", lambda source=None: folder)
    path = vigil.paths.project_root() / fault if fault else None
    planted = functools.partial(vigil.runs.gate.verify_contexts, fault=fault_entry(str(path)) if path else None)
    monkeypatch.setattr(vigil.runs.gate, "verify_contexts", planted)
    assert main(["reference", "add", "resnet_cifar", "--framework", "torch", "--mode", "eager", "--seeds", "2"]) == code
    assert (len(started), rows_by_framework(folder).get("torch", 0)) == (count, count)
    out = capsys.readouterr().out
    assert ("REFUSED torch-eager-fp32-x1: regressed: " in out) is bool(fault)
