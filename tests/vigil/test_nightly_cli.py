"""`vigil nightly` as it is typed: what it accepts, what it prints, and its exit codes."""

import json

import pytest

import vigil.cli.nightly as nightly
from tests.nightly.nights import FakeReleases, FakeWork
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import NightlyAnswer
from vigil.cli.main import main
from vigil.documents.night import Night
from vigil.nightly import conduct
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.night_file import alone
from vigil.paths import project_root

KEY = "verify resnet_cifar quick jax-jit-fp32-x1"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Make nights run on fakes, and few cells; return the folder of runs. `work`, `releases`: the fakes."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path))
    monkeypatch.setattr(nightly, "bring_all", lambda nights, runs, **options: [])
    monkeypatch.setattr(nightly, "bring_drift", lambda: [])
    real = conduct.night_cells

    def some(recipe, profile, *, frameworks, is_verified=True):
        return [cell for cell in real(recipe, profile, frameworks=frameworks) if cell.context.text.endswith("-jit-fp32-x1")]

    monkeypatch.setattr(conduct, "night_cells", some)
    use(monkeypatch, FakeWork())
    return tmp_path


def use(monkeypatch, work, **versions):
    """Let the next night carry out its cells by this, on these releases."""
    releases = FakeReleases({"torch": "2.0", "tensorflow": "2.1", "jax": "1.0"} | versions)
    releases.frameworks = []
    monkeypatch.setattr(nightly, "NewestReleases", lambda **options: releases)
    monkeypatch.setattr(nightly, "CellRunner", lambda *arguments, **options: work)


def test_a_night_prints_what_it_covered_and_what_it_left(runs, capsys):
    """A line a cell, the releases, a table, where the summary lies; exit code 0."""
    assert main(["nightly", "resnet_cifar"]) == 0
    told = capsys.readouterr().out
    assert "[6/6] " in told
    assert "verify resnet_cifar jax-jit-fp32-x1: reproduced (0 s)" in told
    assert "6 reproduced." in told
    for name in ("summary.md", "summary.json", "junit.xml"):
        [path] = runs.glob(f"nights/*/{name}")
        assert str(path) in told


def test_a_step_of_ones_own_is_a_nights_work(runs, tmp_path, monkeypatch, capsys):
    """Alone it asks for its own framework's release; a row with verdict and since when, and the command of what is wrong."""
    (tmp_path / "my_step.py").write_text("import jax\n", encoding="utf-8")
    use(monkeypatch, FakeWork({"step my_step.py quick jax-eager-fp16-x1": CellOutcome("regressed", "3 of 73 tensors")}))
    assert main(["nightly", str(tmp_path / "my_step.py"), "--json", str(tmp_path / "night.json")]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "torch: " not in told
    assert "step my_step.py jax-eager-fp16-x1: regressed" in told
    assert f"vigil verify {tmp_path / 'my_step.py'} --release jax==1.0 --mode eager --precision fp16" in told
    night = json.loads((tmp_path / "night.json").read_text(encoding="utf-8"))["night"]
    assert night["recipes"] == {}
    assert {row["since"] for row in night["steps"]} == {night["id"]}
    assert main(["nightly", "--resume"]) == 1


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (["my step.py"], [], "RECIPE: found 'my step.py'. A night's cells go by the names of their files: without spaces."),
        (["a/my_step.py", "b/my_step.py"], [], "RECIPE: found two named my_step.py"),
        (["my_step.py"], ["--framework", "torch"], "--framework: found torch, and my_step.py is of jax"),
        (["nothing.py"], [], "imports no framework"),
    ],
)
def test_a_step_that_cannot_be_a_nights_is_refused(runs, tmp_path, capsys, names, options, said):
    """Before anything runs; exit code 2."""
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name == "nothing.py" else "import jax\n", encoding="utf-8")
    assert main(["nightly", *(str(tmp_path / name) for name in names), *options]) == 2
    assert said in capsys.readouterr().err


def test_run_twice_the_second_says_that_nothing_is_new(runs, capsys):
    """With the releases that it looked up, and exit code 0."""
    main(["nightly", "resnet_cifar"])
    capsys.readouterr()
    assert main(["nightly", "resnet_cifar"]) == 0
    told = capsys.readouterr().out
    assert "Nothing is new since night" in told
    assert "jax 1.0, as before" in told
    assert len(list(runs.glob("nights/*/night.json"))) == 1


def test_a_night_and_that_nothing_is_new_are_answers(runs, monkeypatch, capsys):
    """The document of the night, then what is still wrong; the exit code is in both."""
    use(monkeypatch, FakeWork({KEY: CellOutcome("regressed", "for this reason")}))
    found = answer_of(capsys, NightlyAnswer, "nightly", "resnet_cifar")
    [path] = runs.glob("nights/*/night.json")
    assert (found.exit_code, found.nothing_new) == (1, None)
    assert found.night == Night.read(path.parent)
    again = answer_of(capsys, NightlyAnswer, "nightly", "resnet_cifar")
    assert (again.exit_code, again.night) == (1, None)
    assert [each.key for each in again.nothing_new.standing] == [KEY]
    assert again.nothing_new.releases["jax"].version == "1.0"


@pytest.mark.parametrize(("verdict", "code"), [("regressed", 1), ("failed:crash", 3), ("unknown", 4), ("known-finding", 0)])
def test_the_exit_code_is_that_of_the_worst(runs, monkeypatch, capsys, verdict, code):
    """And its cell is named with its reason; what stands keeps its code when nothing is new."""
    use(monkeypatch, FakeWork({KEY: CellOutcome(verdict, "for this reason")}))
    assert main(["nightly", "resnet_cifar"]) == code
    assert "for this reason" in capsys.readouterr().out
    if verdict != "failed:crash":
        assert main(["nightly", "resnet_cifar"]) == code


def test_a_framework_that_cannot_be_had_is_told(runs, monkeypatch, capsys):
    """With the installer's last line; the others are looked at."""
    use(monkeypatch, FakeWork(), torch=None)
    assert main(["nightly", "resnet_cifar"]) == 3
    told = capsys.readouterr().out
    assert "torch: cannot be had: torch: no set of packages fits" in told
    assert "4 reproduced" in told
    assert "2 cells of torch" in told


def test_a_second_nightly_is_refused(runs, capsys):
    """Exit code 3, and whose process the other is."""
    with alone(runs / "nights"):
        assert main(["nightly"]) == 3
    assert "another nightly is at work here, process" in capsys.readouterr().err


def test_what_is_finished_is_not_gone_on_with(runs, capsys):
    """`--resume` says so, writes the summary where it is missing, and ends as the night ended."""
    main(["nightly", "resnet_cifar"])
    [summary] = runs.glob("nights/*/summary.md")
    summary.unlink()
    assert main(["nightly", "--resume"]) == 0
    assert summary.is_file()
    assert "nothing to go on with" in capsys.readouterr().out


def test_a_night_that_was_broken_off_goes_on(runs, monkeypatch, capsys):
    """Only the cell that has no verdict is run."""
    main(["nightly", "resnet_cifar"])
    [path] = runs.glob("nights/*/night.json")
    document = json.loads(path.read_text())
    del document["sha256"]
    next(row for row in document["cells"] if row["key"] == KEY).update(status="running", verdict=None, directory="run-1")
    path.write_text(json.dumps(document | {"finished": None, "verdict": None}))
    work = FakeWork()
    use(monkeypatch, work)
    assert main(["nightly", "--resume"]) == 0
    assert (work.started, work.prepared) == ([KEY], [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "30"], "--budget: found '30'"),
        (["--budget", "0m"], "--budget: found '0m'"),
        (["--seeds", "17"], "--seeds: found '17'"),
        (["--jobs", "0"], "--jobs: found '0'"),
        (["--framework", "jaxx"], "Did you mean jax?"),
        (["--profile", "quik"], "Did you mean quick?"),
        (["--resume"], "there is no night"),
        (["--resume", "--pre"], "--pre: not allowed with --resume"),
        (["resnet_cifar", "--resume"], "RECIPE: not allowed with --resume"),
        (["resnet_cifar", "recipes/resnet_cifar.yaml"], "found two named resnet_cifar"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(runs, capsys, monkeypatch, arguments, message):
    """Exit code 2, with what is allowed."""
    monkeypatch.chdir(project_root())
    assert main(["nightly", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(runs.glob("nights/*/")) == []


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("30m", 1800.0), ("2h", 7200.0), ("1.5h", 5400.0)])
def test_a_budget_is_a_number_and_a_unit(text, seconds):
    """Seconds, minutes or hours."""
    assert nightly.time_seconds("--budget", text) == seconds


def test_two_releases_of_one_framework_cannot_be_held(tmp_path, monkeypatch, capsys):
    """Nor one that --framework leaves out."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path))
    assert main(["nightly", "--hold", "jax==0.9.2", "--hold", "jax==0.10.2"]) == 2
    assert main(["nightly", "--hold", "jax==0.9.2", "--framework", "torch"]) == 2
    told = capsys.readouterr().err
    assert "found two of jax" in told
    assert "which --framework torch leaves out" in told


def test_the_page_quotes_the_workflow():
    """docs/nightly.md shows docs/workflows/nightly.yml as it is."""
    workflow = (project_root() / "docs" / "workflows" / "nightly.yml").read_text("utf-8")
    assert f"```yaml\n{workflow}```" in (project_root() / "docs" / "nightly.md").read_text("utf-8")


def test_sync_brings_the_nights(runs, monkeypatch, capsys):
    """After the runs; what could not be brought is exit code 3."""
    main(["nightly", "resnet_cifar"])
    assert main(["sync"]) == 0
    assert "every finished night is in MLflow" in capsys.readouterr().out
    monkeypatch.setattr(nightly, "bring_all", lambda nights, runs, **options: [f"night {nights[0].id} is not in MLflow: down"])
    assert main(["sync"]) == 3
