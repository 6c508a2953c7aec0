"""Audits of operators in a night: a cell a family and framework, planned, carried out and told as others are."""

import shutil
import threading

import pytest

from reports import night_summary
from tests.nightly.nights import FakeReleases, FakeWork, a_document, a_release, day
from tests.test_architecture import ROOT
from vigil.documents.audit import Audit
from vigil.documents.night import AUDIT, DONE, Night
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict
from vigil.nightly import cell_work
from vigil.nightly.basis import Bases
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.cell_work import CellRunner
from vigil.nightly.cells import audit_cells
from vigil.nightly.conduct import NightOrder, NothingNew, begin

CELLS = audit_cells(["torch", "jax"])
KEY = "audit pooling quick jax-jit-fp32-x1"
[CELL] = [cell for cell in CELLS if cell.key == KEY]
WRONG = CellOutcome(Verdict.REGRESSED, "2 of 73 public calls")


def night_of(bench, work):
    """Run a night of audits in JAX."""
    order = NightOrder({}, "quick", ["jax"], bench.budget, "vigil nightly", jobs=2, has_audits=True)
    return begin(
        order, bench.nights, earlier=bench.earlier(), releases=FakeReleases({"jax": "1.0"}),
        make_work=lambda document, pythons: work, tell=bench.told.append, when=day(0),
    )  # fmt: skip


def an_audit() -> Audit:
    """Return an audit that found something."""
    nothing = ("findings", "fixed", "gaps", "coverage", "processes")
    return Audit(
        audit_id="a", created="2026-11-25T00:00:00+00:00", command="vigil nightly", framework="jax", framework_version="1.0",
        release=None, fault=None, modes=("jit",), threads=1, seed=0, is_quick=True, operators=1, ways=73, forms=1, kinks=0,
        verdict=StepVerdict(name=WRONG.verdict, reason=WRONG.reason), worst={}, limits=LimitFacts(clean_rows=0), seconds=1.0,
        **dict.fromkeys(nothing, ()),
    )  # fmt: skip


def test_each_family_is_a_cell_as_the_framework_is_used():
    """PyTorch eager, JAX jit; every family of the definitions once."""
    assert {cell.context.text for cell in CELLS} == {"torch-eager-fp32-x1", "jax-jit-fp32-x1"}
    assert len({cell.recipe for cell in CELLS}) == len(CELLS) // 2 >= 20


def test_a_family_that_is_wrong_is_told_and_not_looked_at_again(bench):
    """It decides the exit code of its night; the summary has the command that shows it again, on the release that was tested."""
    night = night_of(bench, FakeWork({KEY: WRONG}))
    document = Night.read(night.directory)
    assert {row.key for row in document.steps} == {cell.key for cell in CELLS if cell.framework == "jax"}
    assert document.verdict.exit_code == 1
    [row] = [row for row in document.steps if row.key == KEY]
    assert (row.kind, row.status, row.since, row.stands) == (AUDIT, DONE, night.id, True)
    commands = night_summary.step_commands(document)
    assert commands == ["vigil audit pooling --framework jax --release jax==1.0 --mode jit --quick"]
    assert f"## {night_summary.STEPS.capitalize()}" in night_summary.markdown(document)
    second = night_of(bench, FakeWork())
    assert isinstance(second, NothingNew)
    assert [finding.key for finding in second.standing] == [KEY]


def test_what_is_wrong_stays_wrong_when_its_night_is_broken_off(bench):
    """No night judged it, and it is covered all the same: the next one says it, and so does the one after."""
    night = night_of(bench, FakeWork({KEY: WRONG}))
    steps = tuple(row.replace(stands=None, since=None) for row in night.document.steps)
    Night.read(night.directory).replace(steps=steps, finished=None, verdict=None).write(night.directory)
    second = night_of(bench, FakeWork())
    assert isinstance(second, NothingNew)
    assert [finding.key for finding in second.standing] == [KEY]


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("vigil/audit/definitions/pooling.py", True),
        ("runners/keras/pooling.py", True),
        ("runners/jax/calls/pooling.py", True),
        ("reference_results/audit/known_findings.yaml", True),
        ("runners/torch/calls/pooling.py", False),
    ],
)
def test_what_an_audit_is_made_of_is_its_basis(tmp_path, name, moves):
    """Definitions, the framework's calls and Keras's, limits and known findings; no other framework's."""
    for folder in ("vigil", "runners", "reference_results/audit"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))

    def basis():
        return Bases({"jax": "e"}, {}, root=tmp_path, reference=tmp_path / "reference_results").of(CELL)

    before = basis()
    with (tmp_path / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert (basis() != before) == moves


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_audit_is_carried_out_on_the_release_of_the_night(tmp_path, monkeypatch, is_stopped):
    """Its verdict is the cell's; what was answered until it was ended has none, and is begun anew when the night goes on."""
    asked, said, stop = [], [], threading.Event()

    def audited(started, extent, directory, *rest, **facts):
        families = {entry.family for entry in extent.entries}
        asked.append((started.python, families, extent.modes, extent.is_quick, facts["cores"]))
        said.append((facts["night"], facts["command"]))
        document = an_audit()
        document.write(directory)
        if is_stopped and len(asked) == 1:
            stop.set()
        return document

    monkeypatch.setattr(cell_work, "audit", audited)
    document = a_document([], releases={"jax": a_release("jax")})
    runner = CellRunner(document, {"jax": tmp_path / "python"}, recipes={}, files={}, runs=tmp_path)
    directory = runner.prepare(CELL, None)
    outcome = runner.carry_out(CELL, directory, [1], stop)
    assert asked == [(tmp_path / "python", {"pooling"}, ["jit"], True, [1])]
    assert outcome == (CellOutcome(None) if is_stopped else WRONG)
    assert runner.carry_out(CELL, directory, None, threading.Event()) == WRONG
    assert len(asked) == (2 if is_stopped else 1)
    command = "vigil audit pooling --framework jax --release jax==1.0 --mode jit --quick"
    assert set(said) == {(document.id, command)}, "the command of this cell alone"
    assert "keeps nothing" in Audit.read(tmp_path / directory).tracking.error, "it is brought to MLflow as soon as it ends"
