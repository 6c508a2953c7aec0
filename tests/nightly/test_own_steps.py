"""Users' own steps in a night: cells of it like recipes', planned, carried out, gone on with and told."""

import threading
from pathlib import Path

import pytest

from reports import night_summary
from tests.nightly.bench import small_budget
from tests.nightly.nights import RECIPE, FakeReleases, FakeWork, a_document, a_release, day
from tests.reports.test_step_text import context as a_step_context
from tests.reports.test_step_text import document as a_step
from vigil.documents.night import DONE, LEFT, RUNNING, STEP, Night, StepRow
from vigil.documents.step import StepVerification
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.nightly import cell_work, conduct
from vigil.nightly.basis import Bases, own_code
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.cell_work import CellRunner
from vigil.nightly.cells import row_of, step_cells
from vigil.nightly.conduct import NightOrder, NothingNew, begin, resume

KEY = "step my_step.py quick jax-jit-bf16-x1"
CELLS = step_cells("my_step.py", "jax", "quick")
[CELL] = [cell for cell in CELLS if cell.key == KEY]


@pytest.fixture
def file(tmp_path):
    """Return a user's step, beside a module that it imports and one that it does not."""
    path = tmp_path / "own" / "my_step.py"
    path.parent.mkdir()
    path.write_text("import jax\nimport ours\nfrom parts.layers import norm\n", encoding="utf-8")
    (path.parent / "ours.py").write_text("import deeper\n", encoding="utf-8")
    (path.parent / "deeper.py").write_text("SCALE = 1\n", encoding="utf-8")
    (path.parent / "parts").mkdir()
    (path.parent / "parts" / "layers.py").write_text("norm = 1\n", encoding="utf-8")
    (path.parent / "other.py").write_text("a", encoding="utf-8")
    return path


def night_of(bench, work, file, *, when=0, releases=None, recipes=None, **facts):
    """Run a night of a file alone, or beside recipes."""
    order = NightOrder(recipes or {}, "quick", ["jax"], bench.budget, "vigil nightly", jobs=2, files=[file], **facts)
    return begin(
        order, bench.nights, earlier=bench.earlier(), releases=releases or FakeReleases({"jax": "1.0"}),
        make_work=lambda document, pythons: work, tell=bench.told.append, when=day(when),
    )  # fmt: skip


def test_each_context_of_a_step_is_looked_at_once(bench, file):
    """Beside the recipes' cells and apart from them in the document; what is covered is not looked at again."""
    work = FakeWork({KEY: CellOutcome(Verdict.REGRESSED, "2 of 73 tensors")})
    night = night_of(bench, work, file, recipes={"resnet_cifar": RECIPE})
    document = Night.read(night.directory)
    assert {row.key for row in document.steps} == {cell.key for cell in CELLS}
    assert len(document.steps) == 9
    assert document.cells
    assert all(row.kind != STEP for row in document.cells)
    assert sorted(work.started) == sorted(row.key for row in document.rows)
    assert document.files == (str(file),)
    [wrong] = [row for row in document.steps if row.verdict is Verdict.REGRESSED]
    assert (wrong.key, wrong.since, wrong.stands) == (KEY, night.id, True)
    assert document.verdict.exit_code == 1
    second = night_of(bench, FakeWork(), file, recipes={"resnet_cifar": RECIPE})
    assert isinstance(second, NothingNew)
    assert [finding.key for finding in second.standing] == [KEY]


def test_since_when_a_step_is_wrong_is_the_first_night_of_that_verdict(bench, file):
    """Two releases give it one after another, and the third does not."""
    regressed = FakeWork({KEY: CellOutcome(Verdict.REGRESSED, "out")})
    nights = [
        night_of(bench, work, file, when=number, releases=FakeReleases({"jax": f"1.{number}"}))
        for number, work in enumerate((FakeWork(), regressed, regressed, FakeWork()))
    ]
    since = [next(row.since for row in night.document.steps if row.key == KEY) for night in nights]
    assert since == [nights[0].id, nights[1].id, nights[1].id, nights[3].id]


def test_a_budget_leaves_contexts_that_a_longer_one_takes(bench, file, monkeypatch):
    """Resumed with a longer budget, what was left is looked at, and nothing again."""
    small_budget(bench, monkeypatch)
    monkeypatch.setattr(conduct.NightClock, "left", lambda self: max(self.budget - 60.0 * done(bench), 0.0))
    first = night_of(bench, FakeWork(), file)
    before = {row.key for row in first.document.steps if row.status == DONE}
    assert 0 < len(before) < len(CELLS)
    assert {row.status for row in first.document.steps} == {DONE, LEFT}
    work = FakeWork()
    *earlier, night = bench.earlier()
    going_on = resume(
        night, {}, earlier=earlier, releases=FakeReleases({"jax": "1.0"}), make_work=lambda document, pythons: work,
        tell=bench.told.append, budget=240.0,
    )  # fmt: skip
    assert work.started
    assert not before & set(work.started)
    assert {row.key for row in going_on.document.steps if row.is_done} == before | set(work.started)


def done(bench):
    """Return how many steps of the newest night are done or running."""
    nights = bench.earlier()
    return sum(row.status in (DONE, RUNNING) for row in nights[-1].document.steps) if nights else 0


@pytest.mark.parametrize(
    ("name", "moves"), [("my_step.py", True), ("deeper.py", True), ("parts/layers.py", True), ("other.py", False)]
)
def test_what_a_step_imports_from_beside_it_is_part_of_its_basis(file, name, moves):
    """A module that it does not import is none."""
    def of():
        return Bases({"jax": "e"}, {}, steps={file.name: file}).of(CELL)

    before = of()
    (file.parent / name).write_text((file.parent / name).read_text() + "\n# changed\n", encoding="utf-8")
    assert (of() != before) == moves
    assert Bases({"jax": "another"}, {}, steps={file.name: file}).of(CELL) != of()


def test_a_file_that_is_no_python_has_a_basis(tmp_path):
    """Its verdict is of its bytes."""
    (tmp_path / "broken.py").write_text("def", encoding="utf-8")
    assert own_code(tmp_path / "broken.py") == [tmp_path / "broken.py"]


@pytest.fixture
def verified(monkeypatch):
    """Replace the verification by one that writes the document it is told; return with what each was asked."""
    asked = []

    def verify_step(asked_of, settings, place, limits, **options):
        asked.append((asked_of, settings, options))
        assert list(Path(place).iterdir()) == [], "a half verification is made anew in an empty directory"
        if asked_of.stop.is_set():
            raise KeyError("oracle-fp32")
        document = a_step(a_step_context("jit"))
        document.write(Path(place))
        return document

    monkeypatch.setattr(cell_work, "verify_step", verify_step)
    return asked


@pytest.fixture
def runner(tmp_path, file):
    document = a_document([], releases={"jax": a_release("jax")}, files=(str(file),))
    return CellRunner(document, {"jax": Path("/env/python")}, recipes={}, files={file.name: file}, runs=tmp_path / "runs")


def test_a_step_is_verified_with_the_release_of_the_night(runner, verified, tmp_path, file):
    """All its numbers of threads in one context; a half one is made anew, and one with a verdict is not run again."""
    directory = runner.prepare(CELL, None)
    (tmp_path / "runs" / directory / "oracle-bf16").mkdir()
    assert runner.carry_out(CELL, directory, None, threading.Event()) == CellOutcome(Verdict.REPRODUCED, "1 of 1 contexts")
    [(asked, settings, options)] = verified
    assert (asked.file, asked.python, options["release"].key) == (file, Path("/env/python"), "jax-1.0")
    told = f"vigil verify {file} --release jax==1.0 --mode jit --precision bf16"
    assert (options["night"], options["command"]) == ("2026-11-01-1", told)
    noted = StepVerification.read(tmp_path / "runs" / directory).tracking
    assert "keeps nothing" in noted.error, "it is brought to MLflow as soon as it ends"
    assert {setting.context.text for setting in settings} == {"jax-jit-bf16-x1"}
    assert runner.carry_out(CELL, directory, None, threading.Event()).verdict is Verdict.REPRODUCED
    assert len(verified) == 1


def test_a_step_that_is_stopped_has_no_verdict(runner, verified, tmp_path):
    """Whether it ends with an error or with a document, it is gone on with."""
    directory, stop = runner.prepare(CELL, None), threading.Event()
    stop.set()
    assert runner.carry_out(CELL, directory, None, stop).verdict is None
    interrupted = a_step(a_step_context("jit")).replace(verdict=StepVerdict(name=Verdict.FAILED_INTERRUPTED, reason="stopped"))
    interrupted.write(tmp_path / "runs" / directory)
    assert runner.carry_out(CELL, directory, None, threading.Event()).verdict is Verdict.REPRODUCED


def test_a_night_tells_of_steps_with_the_command_that_shows_them_again():
    """Verdict, since when, and for what is not fine the command, with the release as it was."""
    rows = [row_of(cell, basis="b", chosen="never looked at") for cell in CELLS[:3]]
    fine, wrong, left = rows
    ended = {"status": DONE, "seconds": 3.0, "since": "2026-11-01-1"}
    fine = fine.replace(verdict=Verdict.REPRODUCED, reason="all 73 tensors", **ended)
    wrong = wrong.replace(verdict=Verdict.REGRESSED, reason="2 of 73 tensors", stands=True, **ended)
    document = a_document([], files=("/ours/my step/my_step.py",), steps=(fine, wrong, left.replace(status=LEFT)),
                          releases={"jax": a_release("jax", version="0.10.2")})  # fmt: skip
    page = night_summary.markdown(document)
    assert "| my_step.py | jax-jit-fp32-x1 | regressed | 2026-11-01-1 | 2 of 73 tensors |" in page
    assert "| my_step.py | jax-compile-fp32-x1 | left | - | never looked at |" in page
    assert night_summary.step_commands(document) == [
        "vigil verify '/ours/my step/my_step.py' --release jax==0.10.2 --mode jit --precision fp32"
    ]
    assert "vigil verify '/ours/my step/my_step.py' --release jax==0.10.2" in page
    assert [row.get("verdict") for row in night_summary.summary(document)["steps"]] == ["reproduced", "regressed", None]
    assert "<failure" in night_summary.junit(document)


def test_a_step_of_a_file_that_the_night_does_not_name_is_refused():
    """Every reader looks its path up."""
    row = row_of(CELL, basis="b", chosen="never looked at")
    assert isinstance(row, StepRow)
    with pytest.raises(ValueError, match=r"files: my_step.py is missing"):
        a_document([], steps=(row,), releases={"jax": a_release("jax")})


def test_the_order_of_a_night_without_files_is_as_it_was(bench):
    """Its document has none of their keys."""
    night = bench.begin(FakeWork())
    assert not {"files", "steps"} & set(night.document.as_json())
