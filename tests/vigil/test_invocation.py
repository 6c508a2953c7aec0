"""One command's runs: planned whole, carried out one by one, judged together, and continued where they stopped."""

from __future__ import annotations

import json

import pytest

import vigil.invocation as module
import vigil.request
import vigil.tracking.uploads
import vigil.verify.golden
import vigil.verify.request
from reports.block import verdict_block
from runners.contract.spec import read_spec
from tests.reports.documents import ORIGIN, a_document, a_failure, a_regression, write_verification
from vigil import run_directories
from vigil.context import make_context
from vigil.data import DataError
from vigil.errors import CannotRun, DirectoryError, UsageError
from vigil.invocation import carry_out, read_invocation
from vigil.recipes.loading import load_recipe
from vigil.record import read_record
from vigil.references.samples import append_rows, row_from_record
from vigil.request import FILE_NAME, Request, plan, preflight
from vigil.run_directories import alone_in, new_directory
from vigil.rung import with_first_rung
from vigil.tracking import TrackingUnavailable
from vigil.watch import Watch


def nothing(*facts) -> None:
    pass


QUIET = Watch(nothing, nothing, nothing, nothing)


def request(*, seeds=(0, 1, 2), profile="smoke", fault=None, verify=False, **context) -> Request:
    """Return a request for resnet_cifar on torch."""
    return Request(
        recipe=load_recipe("resnet_cifar"), recipe_source="resnet_cifar", profile=profile, fault=fault,
        seeds=tuple(seeds), context=make_context(**{"framework": "torch", "mode": "eager", **context}),
        command="vigil reproduce", verify=verify,
    )


@pytest.fixture
def planned(places):
    """Return a function that plans a request and returns its directory."""
    return lambda **changes: plan(request(**changes), places, data_directory=None)


@pytest.fixture
def reference(scripted, planned, tmp_path):
    """Twelve reference samples around 80 %, of seeds from 1000 on."""
    seeds = range(1000, 1012)
    scripted({seed: 80.0 + 0.2 * (seed % 5) for seed in seeds})
    directory = planned(seeds=seeds)
    carry_out(directory, watch=QUIET)
    append_rows(tmp_path / "reference", [row_from_record(read_record(directory / f"seed{seed}")) for seed in seeds])


def test_everything_is_planned_before_anything_runs(planned):
    """Every run has its directory and spec, and the invocation its file, without a verdict."""
    directory = planned(devices=2, shards="40,24")
    assert sorted(path.name for path in directory.iterdir()) == [FILE_NAME, "seed0", "seed1", "seed2"]
    assert [read_spec(directory / f"seed{seed}").seed for seed in range(3)] == [0, 1, 2]
    assert read_spec(directory / "seed1").shards == (40, 24)
    assert read_spec(directory / "seed1").run_id == f"{directory.name}-seed1"
    invocation = read_invocation(directory)
    assert invocation["runs"] == ["seed0", "seed1", "seed2"]
    assert (invocation["verdict"], invocation["tracking"], invocation["fault"]) == (None, None, None)
    assert "-resnet_cifar-smoke-torch-eager-fp32-x2-s40+24-" in directory.name


def test_two_invocations_in_one_second_have_two_names_wherever_they_lie(tmp_path, monkeypatch):
    """MLflow knows them by their names: machines that share a tracker must not replace each other's runs."""
    names = {new_directory(tmp_path / str(machine), "20261122-011700-resnet_cifar").name for machine in range(3)}
    assert len(names) == 3
    digits = iter(["0a1b", "0a1b", "2c3d"])
    monkeypatch.setattr(run_directories.secrets, "token_hex", lambda n_bytes: next(digits))
    assert [new_directory(tmp_path / "one", "name").name for _ in range(2)] == ["name-0a1b", "name-2c3d"]


def test_all_runs_finish_and_are_judged_together(scripted, planned):
    """Three seeds run in order; without a reference the verdict is unknown, with every value, and it is on disk."""
    started = scripted({0: 80.0, 1: 81.0, 2: 82.0})
    directory = planned()
    told = []
    watch = Watch(lambda *facts: told.append(facts), nothing, lambda record: told.append(record["seed"]), nothing)
    invocation = carry_out(directory, watch=watch)
    assert started == [("torch", 0), ("torch", 1), ("torch", 2)]
    assert [fact if isinstance(fact, int) else fact[1:] for fact in told] == [(0, 3), 0, (1, 3), 1, (2, 3), 2]
    assert told[0][0]["steps"] == request().recipe.resolve("smoke")["steps"]
    verdict = invocation["verdict"]
    assert (verdict["name"], verdict["mean"]) == ("unknown", 81.0)
    assert [value["value"] for value in verdict["values"]] == [80.0, 81.0, 82.0]
    assert read_invocation(directory) == invocation
    assert invocation["tracking"] == {"uri": "u", "experiment": "e", "run_id": "r"}


@pytest.mark.parametrize(
    ("value", "name"), [(80.4, "reproduced"), (60.0, "regressed"), (95.0, "better-than-reference")]
)
def test_a_value_is_judged_by_the_reference(reference, scripted, planned, value, name):
    """A value inside the band, far below and far above it get their three verdicts."""
    scripted({0: value})
    verdict = carry_out(planned(seeds=[0]), watch=QUIET)["verdict"]
    assert (verdict["name"], verdict["band"]["n"]) == (name, 12)


def test_one_failed_run_of_three_decides_the_verdict(scripted, planned):
    """The other two values are kept but not judged; the remaining seeds still run."""
    started = scripted({0: 80.0, 1: "nan_loss", 2: 82.0})
    verdict = carry_out(planned(), watch=QUIET)["verdict"]
    assert len(started) == 3
    assert (verdict["name"], verdict["reason"], verdict["mean"]) == ("failed:nan_loss", "nan_loss on purpose", None)
    assert [(entry["seed"], entry["verdict"]) for entry in verdict["values"]] == [(0, "not judged"), (2, "not judged")]
    assert verdict["failure"] == {"seed": 1, "category": "nan_loss", "phase": "import", "step": 4, "log_tail": []}


def test_a_refused_context_is_not_asked_again_for_further_seeds(scripted, planned):
    """The first `unsupported` ends the invocation; the runs that never began are struck off."""
    started = scripted({0: "unsupported", 1: 80.0, 2: 80.0})
    invocation = carry_out(planned(), watch=QUIET)
    assert started == [("torch", 0)]
    assert (invocation["verdict"]["name"], invocation["runs"]) == ("unsupported", ["seed0"])


def test_an_interrupted_invocation_has_no_verdict_and_is_continued(scripted, planned):
    """After Ctrl-C in the second of three runs nothing further starts; resuming runs the second and third alone."""
    started = scripted({0: 80.0, 1: "interrupted", 2: 82.0})
    directory = planned()
    stopped = carry_out(directory, watch=QUIET)
    assert stopped["interrupted"]["category"] == "interrupted"
    assert started == [("torch", 0), ("torch", 1)]
    assert read_invocation(directory)["verdict"] is None
    assert read_record(directory / "seed2") is None
    first = (directory / "seed0" / "record.json").read_bytes()
    started = scripted({1: 81.0, 2: 82.0})
    started.clear()
    invocation = carry_out(directory, watch=QUIET)
    assert started == [("torch", 1), ("torch", 2)]
    assert invocation["verdict"]["mean"] == 81.0
    assert "interrupted" not in invocation
    assert (directory / "seed0" / "record.json").read_bytes() == first


def test_a_finished_invocation_trains_nothing_when_resumed(scripted, planned):
    """Resuming what is done judges it again and starts no run."""
    started = scripted({0: 80.0, 1: 81.0, 2: 82.0})
    directory = planned()
    before = carry_out(directory, watch=QUIET)
    started.clear()
    assert carry_out(directory, watch=QUIET) == before
    assert started == []


@pytest.mark.parametrize("error", [TrackingUnavailable("cannot reach https://user:word@host/"), CannotRun("refused")])
def test_a_tracker_that_fails_changes_no_verdict(reference, scripted, planned, monkeypatch, error):
    """The error is noted, without a password, beside the verdict that the runs have earned."""
    scripted({0: 80.4})

    def fail(directory):
        raise error

    monkeypatch.setattr(vigil.tracking.uploads, "upload", fail)
    directory = planned(seeds=[0])
    invocation = carry_out(directory, watch=QUIET)
    assert invocation["verdict"]["name"] == "reproduced"
    assert set(invocation["tracking"]) == {"error"}
    assert "word" not in invocation["tracking"]["error"]
    assert read_invocation(directory) == invocation


def test_a_faulted_run_is_marked_everywhere_and_is_no_reference(scripted, planned):
    """Spec, record and invocation name the fault, and its record is refused as a sample."""
    scripted({0: 80.0})
    directory = planned(seeds=[0], fault={"path": "/f/weak.py", "name": "weak", "sha256": "12"})
    assert carry_out(directory, watch=QUIET)["fault"] == "weak"
    assert read_spec(directory / "seed0").fault["sha256"] == "12"
    record = read_record(directory / "seed0")
    assert record["fault"] == {"name": "weak", "sha256": "12"}
    with pytest.raises(Exception, match="planted fault is never a reference"):
        row_from_record(record)


def test_preflight_passes_what_can_run(places, monkeypatch):
    """The embedded set needs no data directory; the runs directory is made and left empty."""
    monkeypatch.setattr(vigil.request, "require_framework", nothing)
    assert preflight(request(), places, on_data=nothing) is None
    assert list(places.iterdir()) == []


def test_preflight_refuses_what_would_fail_late(places, tmp_path, monkeypatch):
    """Shards, disk, a file in the way and missing data are each said before a directory is planned."""
    monkeypatch.setattr(vigil.request, "require_framework", nothing)
    with pytest.raises(UsageError, match="sum to the recipe's batch size, 64"):
        preflight(request(devices=2, shards="1,2"), places, on_data=nothing)
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryError, match="Set VIGIL_RUNS_DIR"):
        preflight(request(), tmp_path / "file" / "runs", on_data=nothing)

    def missing(data, *, progress):
        raise DataError("no data")

    monkeypatch.setattr(vigil.request, "ensure_data", missing)
    with pytest.raises(DataError, match="no data"):
        preflight(request(profile="paper"), places, on_data=nothing)
    monkeypatch.setattr(vigil.run_directories.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 2**20})())
    with pytest.raises(DirectoryError, match="1 MiB free, 300 MiB are needed"):
        preflight(request(), places, on_data=nothing)


def test_a_directory_without_an_invocation_is_refused(tmp_path):
    """A missing file is the user's mistake; a broken one is not, but is said too."""
    with pytest.raises(UsageError, match=r"holds no invocation\.json"):
        read_invocation(tmp_path)
    (tmp_path / FILE_NAME).write_text(json.dumps({"a": 1})[:-1])
    with pytest.raises(CannotRun, match="not JSON"):
        read_invocation(tmp_path)


def test_two_processes_do_not_work_in_one_directory(scripted, planned):
    """While one is at work a second is refused, and nothing of it starts; afterwards the directory is free."""
    started = scripted({0: 80.0})
    directory = planned(seeds=[0])
    with alone_in(directory), pytest.raises(CannotRun, match="another vigil is at work here"):
        carry_out(directory, watch=QUIET)
    assert started == []
    assert carry_out(directory, watch=QUIET)["verdict"]["name"] == "unknown"


@pytest.fixture
def rung(monkeypatch):
    """Return a function that makes the first rung end as a document says, or raise; it gives the options of each call."""
    calls: list[dict] = []
    monkeypatch.setattr(vigil.verify.golden, "load_golden", lambda path, **options: "tape")

    def make(outcome: dict | BaseException) -> list[dict]:
        def verify_context(standard, context, directory, **options) -> dict:
            calls.append({"context": context.text, "directory": directory, **options})
            if isinstance(outcome, BaseException):
                raise outcome
            write_verification(directory, outcome)
            return outcome

        monkeypatch.setattr(vigil.verify.request, "verify_context", verify_context)
        return calls

    return make


def test_one_step_is_verified_before_the_first_seed_and_recorded_everywhere(scripted, planned, rung):
    """The rung is quick, below the invocation, has the run's fault; its summary is in invocation, records and block."""
    started, order = scripted({0: 80.0, 1: 81.0}), []
    calls = rung(a_document())
    fault = {"path": "/f/weak.py", "name": "weak", "sha256": "12"}
    directory = planned(seeds=[0, 1], fault=fault, verify=True)
    watch = Watch(
        lambda *facts: order.append("train"), nothing, nothing, nothing,
        on_verify=lambda place: order.append(place) or nothing, on_verified=lambda document, place: order.append("verified"),
    )
    invocation = carry_out(directory, watch=watch)
    assert order == [directory / "verify", "verified", "train", "train"]
    assert len(calls) == 1
    assert (calls[0]["quick"], calls[0]["fault"], calls[0]["directory"]) == (True, fault, directory / "verify")
    summary = invocation["verify"]
    assert set(summary) == {"verdict", "origin", "worst", "seconds", "tensors", "tensors_out", "path"}
    assert (summary["verdict"]["name"], summary["path"]) == ("reproduced", "verify/verify.json")
    assert (directory / summary["path"]).is_file()
    assert [read_record(directory / name)["verify"] for name in ("seed0", "seed1")] == [summary] * 2
    assert len(started) == 2
    assert "verify          reproduced: 589 tensors within their limits, 21 s" in verdict_block(invocation, directory="x")


def test_a_finished_rung_is_not_climbed_again(scripted, planned, rung):
    """An invocation that is resumed after its first seed trains the rest at once."""
    scripted({0: 80.0, 1: "interrupted"})
    calls = rung(a_document())
    directory = planned(seeds=[0, 1], verify=True)
    assert "interrupted" in carry_out(directory, watch=QUIET)
    scripted({1: 81.0})
    assert carry_out(directory, watch=QUIET)["verify"]["verdict"]["name"] == "reproduced"
    assert len(calls) == 1


@pytest.mark.parametrize("stopped", [a_failure("failed:interrupted"), KeyboardInterrupt()], ids=["in runner", "in oracle"])
def test_an_interrupted_rung_ends_the_command_and_is_begun_again(scripted, planned, rung, stopped):
    """Ctrl-C there trains nothing; resuming verifies from the start, though files of the first attempt are in the way."""
    started = scripted({0: 80.0})
    rung(stopped)
    directory = planned(seeds=[0], verify=True)
    assert carry_out(directory, watch=QUIET)["interrupted"]["category"] == "interrupted"
    assert started == []
    (directory / "verify" / "answers").mkdir(parents=True, exist_ok=True)
    rung(a_document())
    assert carry_out(directory, watch=QUIET)["verify"]["verdict"]["name"] == "reproduced"
    assert started == [("torch", 0)]


@pytest.mark.parametrize("is_native", [False, True])
def test_nothing_is_verified_unless_asked_for_and_possible(scripted, planned, rung, is_native):
    """Without `verify`, and under native randomness, which no tape knows, there is no rung and no line of it."""
    scripted({0: 80.0})
    calls = rung(a_document())
    changes = {"verify": True, "randomness": "native"} if is_native else {}
    directory = planned(seeds=[0], **changes)
    invocation = carry_out(directory, watch=QUIET)
    assert (calls, invocation["verify"], read_record(directory / "seed0")["verify"]) == ([], None, None)
    assert "verify" not in verdict_block(invocation, directory="x")


def test_what_cannot_be_verified_is_unknown_and_trains_all_the_same(reference, scripted, planned, rung):
    """Without a tape the reason is recorded, and the metric's verdict stands."""
    scripted({0: 80.4})
    rung(CannotRun("no golden tape. Make one with `vigil golden`"))
    invocation = carry_out(planned(seeds=[0], verify=True), watch=QUIET)
    assert invocation["verify"]["verdict"] == {"name": "unknown", "reason": "no golden tape. Make one with `vigil golden`"}
    assert invocation["verdict"]["name"] == "reproduced"
    assert "UNKNOWN: no golden tape." in verdict_block(invocation, directory="x")


@pytest.mark.parametrize(
    ("document", "name", "reason"),
    [
        (a_regression(), "regressed", "metric lies in its band: stage1.block1.conv2, backward, weight gradient: 5,134x"),
        (a_regression(verdict={"name": "known-finding", "reason": ""}), "regressed", "one training step is wrong"),
        (a_document(verdict={"name": "regressed", "reason": "did not move"}), "regressed", "lies in its band: did not move"),
        (a_failure("failed:died"), "failed:died", "the verification of one training step crashed"),
        (a_failure("unsupported"), "reproduced", ""),
        (a_document(), "reproduced", ""),
    ],
    ids=["regressed", "known", "broken", "died", "unsupported", "reproduced"],
)
def test_a_wrong_step_takes_back_a_good_metric(reference, scripted, planned, rung, document, name, reason):
    """Inside the band is not enough when one step is wrong or crashed; training has gone on, and its numbers are kept."""
    started = scripted({0: 80.4})
    started.clear()
    rung(document)
    invocation = carry_out(planned(seeds=[0], verify=True), watch=QUIET)
    judged = invocation["verdict"]
    assert started == [("torch", 0)]
    assert judged["name"] == name
    assert reason in judged["reason"]
    assert (judged["mean"], judged["band"]["n"]) == (80.4, 12)
    assert document["verdict"]["name"].upper() in verdict_block(invocation, directory="x").upper()


@pytest.mark.parametrize("name", ["regressed", "better-than-reference", "failed:nan_loss", "unsupported"])
def test_a_verdict_that_is_not_good_stays_as_it_is(name):
    """The rung takes back `reproduced` and `unknown`; it neither saves nor renames anything else."""
    judged = {"name": name, "reason": "of the metric"}
    for document in (a_regression(), a_failure(), a_document()):
        assert with_first_rung(judged, {"verdict": document["verdict"], "origin": ORIGIN}) == judged
    assert with_first_rung(judged | {"name": "reproduced"}, None)["name"] == "reproduced"


def test_a_wrong_step_is_wrong_without_a_reference():
    """A metric that cannot be judged does not hide a step that was."""
    summary = {"verdict": a_regression()["verdict"], "origin": ORIGIN}
    found = with_first_rung({"name": "unknown", "reason": "no reference"}, summary)
    assert found["name"] == "regressed"
    assert "although the metric cannot be judged" in found["reason"]


def test_a_new_verdict_is_not_said_to_be_in_mlflow(scripted, planned, monkeypatch):
    """Killed between the verdict of a resumed invocation and its upload: `vigil sync` must see that the upload is missing."""
    scripted({0: 80.0, 1: "crash"})
    directory = planned(seeds=[0, 1])
    assert carry_out(directory, watch=QUIET)["tracking"]["run_id"] == "r"
    scripted({1: 81.0})

    def killed(place) -> None:
        raise SystemExit

    monkeypatch.setattr(module.tracking, "upload_or_note", killed)
    with pytest.raises(SystemExit):
        carry_out(directory, watch=QUIET)
    found = read_invocation(directory)
    assert (found["verdict"]["mean"], found["tracking"]) == (80.5, None)
