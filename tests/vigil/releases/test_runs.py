"""A release in a run: its interpreter runs the runner, the documents name it, and one that cannot be had is a failed cell."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
from types import SimpleNamespace

import pytest

import vigil.runs.carry_out as module
import vigil.runs.plan
import vigil.verify.ask as ask
from reports.block import verdict_block
from reports.matrix import markdown, outcome, read_cell, rows
from runners.contract.protocol.spec import read_spec
from tests.reports.documents import a_document as a_verification
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.invocation import FirstRung, Invocation
from vigil.errors import EnvironmentFailed
from vigil.paths import cache_directory
from vigil.process.execute import execute
from vigil.process.recording import read_record
from vigil.recipes.loading import load_recipe
from vigil.releases.naming import parse_release
from vigil.releases.resolve import Unavailable
from vigil.releases.store import obtain, prune
from vigil.runs.carry_out import carry_out, carry_out_in_turn, read_invocation
from vigil.runs.first_rung import verify_first
from vigil.runs.plan import Request, plan, preflight
from vigil.runs.sweep import sweep
from vigil.runs.watch import Watch
from vigil.tracking.run_entry import parent_entry
from vigil.verify.ask import Setting

FAILURE = EnvironmentFailed("jax==9.9: no set of packages fits", log_tail=["ERROR: no matching distribution"])
_FINISHED = """
    import torch
    emit("started", "import", pid=os.getpid(), framework="torch")
    emit("environment", environment={"framework_version": torch.__version__, "python": "3.9.1"})
    emit("steps", step=4, losses=[2.5, 2.0, 1.5, 1.25])
    emit("finished", "finish", step=4, metrics={"test_accuracy": 80.0, "test_loss": 0.5}, state_sha256="ab",
         images_per_second=900.0, first_step_seconds=1.0, peak_memory_bytes=1, cpu_seconds=1.0)
"""


def nothing(*facts) -> None:
    pass


QUIET = Watch()


def request(*, release=None, seeds=(0, 1), **context) -> Request:
    """Return a smoke request for resnet_cifar."""
    return Request(
        recipe=load_recipe("resnet_cifar"),
        recipe_source="resnet_cifar",
        profile="smoke",
        seeds=tuple(seeds),
        fault=None,
        context=make_context(**{"framework": "torch", "mode": "eager", **context}),
        command="vigil reproduce",
        release=release,
    )


@pytest.fixture
def planned(places):
    """Return a function that plans a request and returns its directory."""
    return lambda **changes: plan(request(**changes), places, data_directory=None)


def test_a_run_imports_the_release_that_was_named(shelf, fake_runner, planned, monkeypatch, tmp_path):
    """From resolving to the record: the framework and the Python that are recorded are those of the environment."""
    for name, version in (("torch", "1.0"), ("torch", "1.1"), ("numpy", "1.0"), ("setuptools", "1.0")):
        shelf(name, version)
    monkeypatch.setattr(module, "reference_directory", lambda source=None: tmp_path / "reference")
    monkeypatch.setattr(module.tracking, "upload_or_note", nothing)
    fake_runner(_FINISHED)
    resolved = obtain(parse_release("torch==1.0"))
    directory = planned(release=resolved, seeds=[0])
    carry_out(directory, watch=QUIET)
    record = read_record(directory / "seed0")
    assert (record.status, record.environment["framework_version"]) == ("finished", "1.0")
    assert record.environment["python"] == "3.9.1"
    assert read_invocation(directory).release.as_json() == resolved.named.as_json()
    assert not hasattr(read_spec(directory / "seed0"), "release")


def test_a_runner_is_started_with_the_interpreter_that_is_given(fake_runner, run_directory, tmp_path):
    """By the name it was given: the link of an environment is not followed. Without one it is the conductor's own."""
    fake_runner("    print(sys.executable)\n")
    given = tmp_path / "python"
    given.symlink_to(sys.executable)
    for python in (given, None):
        execute(run_directory, "torch", on_event=nothing, python=python)
    assert (run_directory / "log.txt").read_text().split() == [str(given), sys.executable]


def test_what_was_pruned_is_built_again_before_a_run_goes_on(fake, scripted, planned):
    """Resumed after its environment was removed, an invocation has the same pins; the user is told."""
    scripted({0: 80.0, 1: "interrupted"})
    resolved = obtain(parse_release("torch==1.0"))
    directory = planned(release=resolved)
    assert carry_out(directory, watch=QUIET).interruption
    prune(unused_seconds=0.0)
    started, told = scripted({1: 81.0}), []
    invocation = carry_out(directory, watch=dataclasses.replace(QUIET, on_build=told.append)).invocation
    assert started[-1] == ("torch", 1)
    assert invocation.verdict.mean == 80.5
    assert told[0].startswith("building the environment of torch==1.0")
    assert fake.installed == [list(resolved.pins)] * 2


def test_what_has_finished_needs_no_environment_to_be_judged_again(fake, scripted, planned):
    """Its environment was removed and its index is gone: the verdict is made again from the records, not lost."""
    scripted({0: 80.0, 1: 81.0})
    directory = planned(release=obtain(parse_release("torch==1.0")))
    before = carry_out(directory, watch=QUIET)
    prune(unused_seconds=0.0)
    fake.problem = "install"
    assert carry_out(directory, watch=QUIET) == before


def test_an_environment_is_not_pruned_under_a_run(fake, scripted, planned, monkeypatch):
    """Whoever prunes while a seed is trained is told that it is in use."""
    scripted({0: 80.0, 1: 80.0})
    execute, outcomes = module.execute, []

    def look(directory, framework, **options):
        outcomes.extend(prune(unused_seconds=0.0))
        return execute(directory, framework, **options)

    monkeypatch.setattr(module, "execute", look)
    carry_out(planned(release=obtain(parse_release("torch==1.0"))), watch=QUIET)
    assert [outcome.is_in_use for outcome in outcomes] == [True, True]


def test_the_interpreter_reaches_every_runner(fake, scripted, planned, monkeypatch, tmp_path):
    """Both seeds, and the first rung, are started with it."""
    scripted({0: 80.0, 1: 80.0})
    execute, pythons = module.execute, []
    monkeypatch.setattr(
        module, "execute", lambda *facts, python, **options: (pythons.append(python), execute(*facts, **options))[1]
    )
    resolved = obtain(parse_release("torch==1.0"))
    directory = planned(release=resolved)
    carry_out(directory, watch=QUIET)
    assert [str(python).endswith(f"{resolved.key}/bin/python") for python in pythons] == [True, True]

    asked = {}
    tape = SimpleNamespace(training={"model": {"name": "resnet_cifar"}})
    monkeypatch.setattr("vigil.verify.golden.load_golden", lambda *facts, **options: tape)
    monkeypatch.setattr("vigil.verify.limits.load_limits", lambda name, **options: None)

    def verify_context(*facts, **options):
        asked.update(options)
        return a_verification()

    monkeypatch.setattr("vigil.verify.standards.verify_context", verify_context)
    verify_first(directory, read_invocation(directory), watch=QUIET, python=pythons[0])
    assert (asked["python"], asked["release"]) == (pythons[0], resolved.named)


def test_the_cases_of_a_verification_are_answered_by_the_release(monkeypatch, tmp_path):
    """Setting.python is what the runner is started with."""
    seen = {}

    def execute(*facts, python, **options):
        seen["python"] = python
        raise InterruptedError

    monkeypatch.setattr(ask, "execute", execute)
    training = load_recipe("resnet_cifar").resolve("smoke")
    recipe = {"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "smoke"}
    tape = SimpleNamespace(header={"recipe": recipe}, training=training, cases=[], probes={})
    setting = Setting(make_context(framework="jax"), tmp_path / "answers", 0, None, python=tmp_path / "python")
    with pytest.raises(InterruptedError):
        ask.ask(setting, tape, [])
    assert seen["python"] == tmp_path / "python"


def test_a_named_release_needs_no_installed_framework(fake, places, monkeypatch):
    """Preflight asks what is installed here only where it is what will run."""

    def require(name):
        raise AssertionError(f"{name} was asked for")

    monkeypatch.setattr(vigil.runs.plan, "require_framework", require)
    preflight(request(release=obtain(parse_release("jax==0.9.2")), framework="jax"), places, on_data=nothing)
    with pytest.raises(AssertionError, match="jax was asked for"):
        preflight(request(framework="jax"), places, on_data=nothing)


def test_a_release_that_cannot_be_had_fails_its_cells_and_no_other(scripted, places, monkeypatch):
    """The sweep goes on; the failed cell has the installer's last lines, no run, and stands in the table."""
    monkeypatch.setattr(vigil.runs.plan, "require_framework", nothing)
    started = scripted({0: 80.0})
    requests = [request(framework="jax", release=Unavailable("jax==9.9", FAILURE), seeds=[0]), request(seeds=[0])]
    results = sweep(requests, places, jobs=1, progress_timeout=60.0, on_end=nothing, on_data=nothing)
    assert started == [("torch", 0)]
    (failed, directory), (good, _) = results
    verdict = failed.verdict
    assert (verdict.name, verdict.failure.log_tail) == ("failed:environment", tuple(FAILURE.log_tail))
    assert failed.runs == ()
    assert failed.release.as_json() == {"request": "jax==9.9", "key": None, "pins": None}
    assert good.verdict.name == "unknown"
    cells = [read_cell(*result) for result in results]
    assert outcome(cells[0]).startswith("failed:environment")
    assert "no set of packages fits" in rows(cells)[0][-1]
    assert "nothing ran" in markdown(cells[:1], missing=[])
    assert read_invocation(directory) == failed


def test_a_failed_cell_can_be_resumed_once_its_release_is_there(fake, scripted, places):
    """The release is resolved anew, and the seeds that were struck off are run."""
    scripted({0: 80.0, 1: 81.0})
    directory = plan(request(release=Unavailable("torch==1.0", FAILURE)), places, data_directory=None)
    module.give_up(directory, FAILURE)
    invocation = carry_out(directory, watch=QUIET).invocation
    assert (invocation.verdict.mean, invocation.runs) == (80.5, ("seed0", "seed1"))
    assert invocation.release.key is not None
    fake.problem = "install"
    prune(unused_seconds=0.0)
    again = plan(request(release=Unavailable("torch==1.1", FAILURE)), places, data_directory=None)
    assert carry_out(again, watch=QUIET).invocation.verdict.name == "failed:environment"


def test_a_failed_cell_that_was_to_be_verified_is_shown_tracked_and_verified_later(fake, scripted, places, monkeypatch):
    """Block and entry of MLflow can tell of it; the first rung is climbed once there is an environment."""
    scripted({0: 80.0})
    asked = dataclasses.replace(request(release=Unavailable("torch==1.0", FAILURE), seeds=[0]), verify=True)
    directory = plan(asked, places, data_directory=None)
    failed = module.give_up(directory, FAILURE)
    assert "verify          FAILED:ENVIRONMENT" in verdict_block(failed, directory=str(directory))
    entry = parent_entry(Invocation.read(directory), [], text="{}")
    assert entry.labels["verify"] == "failed:environment"
    right = FirstRung(verdict={"name": "reproduced", "reason": ""}, origin=None, worst=None, seconds=1.0, path=None)
    monkeypatch.setattr(module, "verify_first", lambda *facts, **options: right)
    assert carry_out(directory, watch=QUIET).invocation.verify == right


def test_an_invocation_from_before_releases_is_still_carried_out(scripted, planned):
    """Without the key it ran what is installed, and does so again."""
    scripted({0: 80.0, 1: 81.0})
    directory = planned()
    old = read_invocation(directory).as_json()
    del old["release"]
    (directory / Invocation.FILE_NAME).write_text(json.dumps(old))
    assert carry_out(directory, watch=QUIET).invocation.verdict.mean == 80.5


def test_invocations_in_turn_run_seed_by_seed(scripted, planned):
    """Broken off after any run, no side is more than one seed ahead; each ends as it would alone."""
    started = scripted({0: 80.0, 1: 81.0})
    directories = [planned(), planned(framework="jax")]
    results = carry_out_in_turn(directories, watch=QUIET)
    assert started == [("torch", 0), ("jax", 0), ("torch", 1), ("jax", 1)]
    assert [result.invocation.verdict.mean for result in results] == [80.5, 80.5]
    one_by_one = [carry_out(directory, watch=QUIET).invocation.verdict for directory in (planned(), planned(framework="jax"))]
    assert [result.invocation.verdict for result in results] == one_by_one


def test_what_stops_one_of_several_stops_all(scripted, planned):
    """Ctrl-C in the second seed of the first: the other has its first seed, is no further, and both can be resumed."""
    started = scripted({0: 80.0, 1: "interrupted"})
    directories = [planned(), planned(framework="jax")]
    results = carry_out_in_turn(directories, watch=QUIET)
    assert started == [("torch", 0), ("jax", 0), ("torch", 1)]
    assert all(result.interruption and result.invocation.verdict is None for result in results)
    scripted({0: 80.0, 1: 81.0})
    assert [carry_out(directory, watch=QUIET).invocation.verdict.mean for directory in directories] == [80.5, 80.5]


@pytest.fixture
def foreign(fake, scripted, places):
    """The directory of an interrupted run under a release, as it came from somebody else: nothing of it is known here."""
    scripted({0: "interrupted"})
    release = obtain(parse_release("jax==0.9.2", indexes=["https://packages.example/simple"]))
    directory = plan(request(release=release, seeds=[0], framework="jax"), places, data_directory=None)
    carry_out(directory, watch=QUIET)
    shutil.rmtree(cache_directory())
    fake.installed.clear()
    return directory


def test_a_release_that_nobody_here_named_is_not_installed(fake, foreign, scripted, capsys):
    """Not on a terminal `resume` says which packages from where, and the way to allow exactly these; it installs nothing."""
    started = scripted({0: 80.0})
    started.clear()
    assert main(["resume", str(foreign)]) == 2
    said = capsys.readouterr().err
    release = read_invocation(foreign).release
    assert f"jax==0.9.2, {len(release.pins)} packages from your own package indexes, https://packages.example/simple: " in said
    assert all(pin in said for pin in release.pins)
    assert (fake.installed, started) == ([], [])
    digest = re.search(r"--install (\w+)", said)[1]
    assert main(["resume", str(foreign), "--install", digest[::-1]]) == 2
    assert fake.installed == []
    assert main(["resume", str(foreign), "--install", digest]) == 4
    assert (len(fake.installed), started) == (1, [("jax", 0)])


@pytest.mark.parametrize("change", [{"pins": ("evil==1.0", "jax==0.9.2")}, {"extra_index": ("https://evil.example/",)}])
def test_a_digest_allows_no_other_packages(fake, foreign, scripted, capsys, change):
    """What was allowed is what was shown: another package, or another index, asks again, also of who made these runs."""
    assert main(["resume", str(foreign)]) == 2
    digest = re.search(r"--install (\w+)", capsys.readouterr().err)[1]
    invocation = read_invocation(foreign)
    own = obtain(parse_release("jax==0.9.2", indexes=["https://packages.example/simple"]))
    assert own.named == invocation.release
    invocation.replace(release=invocation.release.replace(key="0123456789abcdef", **change)).write(foreign)
    fake.installed.clear()
    assert main(["resume", str(foreign), "--install", digest]) == 2
    assert main(["resume", str(foreign)]) == 2
    assert fake.installed == []
    assert "evil" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["named", "built"])
def test_a_release_that_a_command_of_ones_own_named_is_not_asked_about(foreign, scripted, how):
    """Whoever made the runs goes on with them, after `vigil env prune` too; an environment that is there needs no installing."""
    scripted({0: 80.0})
    obtain(parse_release("jax==0.9.2", indexes=["https://packages.example/simple"]))
    if how == "named":
        prune(unused_seconds=0.0)
    else:
        shutil.rmtree(cache_directory() / "releases")
    assert main(["resume", str(foreign)]) == 4


def test_on_a_terminal_it_is_asked(fake, foreign, scripted, monkeypatch, capsys):
    """Nothing but yes is yes."""
    scripted({0: 80.0})
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    answers = ["\n", "y\n"]
    monkeypatch.setattr(sys.stdin, "readline", lambda: answers.pop(0))
    assert main(["resume", str(foreign)]) == 2
    assert fake.installed == []
    assert main(["resume", str(foreign)]) == 4
    assert len(fake.installed) == 1
    assert "Install them? [y/N]" in capsys.readouterr().err


def test_what_is_to_be_resolved_is_asked_about_too(fake, foreign, scripted, capsys):
    """A release without packages yet is resolved, and installed, by its name."""
    scripted({0: 80.0})
    invocation = read_invocation(foreign)
    invocation.replace(release={"request": "jax==0.9.1", "key": None, "pins": None}).write(foreign)
    assert main(["resume", str(foreign)]) == 2
    assert "jax==0.9.1, with what it needs, from your own package indexes" in capsys.readouterr().err
    assert fake.installed == []


@pytest.mark.parametrize(
    "change",
    [
        {"key": "../../../home/somebody"},
        {"pins": ["jax==0.9.2\n--index-url https://evil.example"]},
        {"pins": ["jax @ https://evil.example/jax-0.9.2-py3-none-any.whl"]},
        {"extra_index": ["https://packages.example\n--no-index"]},
        {"pins": None},
    ],
)
def test_a_release_that_is_more_than_packages_is_refused(foreign, capsys, change):
    """A key that is a path would be made, run and removed; a second line in a pin would be an option of the installer."""
    content = json.loads((foreign / Invocation.FILE_NAME).read_text()) | {"sha256": None}
    content["release"] |= change
    (foreign / Invocation.FILE_NAME).write_text(json.dumps(content))
    assert main(["resume", str(foreign)]) == 3
    assert f"{Invocation.FILE_NAME}: release" in capsys.readouterr().err


def test_an_option_that_allows_nothing_is_wrong_usage(scripted, planned, capsys):
    """Runs of what is installed here install nothing."""
    directory = planned()
    assert main(["resume", str(directory), "--install", "0" * 16]) == 2
    assert "--install: these runs name no release" in capsys.readouterr().err
