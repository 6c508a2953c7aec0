"""One training step is verified before the first seed: when, what is kept of it, and what it does to the verdict."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

import vigil.runs.carry_out
import vigil.verify.golden
import vigil.verify.standards
from reports.block import verdict_block
from tests.documents import a_judgement
from tests.reports.documents import ORIGIN, a_document, a_failure, a_regression, write_verification
from tests.vigil.requested import QUIET, nothing
from vigil.cli.main import build_parser
from vigil.documents.context import parse_context
from vigil.documents.invocation import FirstRung
from vigil.documents.verification import Verification
from vigil.errors import CannotRun
from vigil.process.recording import read_record
from vigil.runs.carry_out import carry_out, read_invocation
from vigil.runs.first_rung import with_first_rung
from vigil.runs.watch import Watch

USUAL = ["--framework", "torch", "--mode", "jit", "--precision", "fp32"]


@pytest.fixture
def rung(monkeypatch):
    """Return a function that makes the first rung end as a document says, or raise; it gives the options of each call."""
    calls: list[dict] = []
    tape = SimpleNamespace(training={"model": {"name": "resnet_cifar"}})
    monkeypatch.setattr(vigil.verify.golden, "load_golden", lambda path, **options: tape)

    def make(outcome: Verification | BaseException) -> list[dict]:
        def verify_context(standard, context, directory, **options) -> Verification:
            calls.append({"context": context.text, "directory": directory, **options})
            if isinstance(outcome, BaseException):
                raise outcome
            write_verification(directory, outcome)
            return outcome

        monkeypatch.setattr(vigil.verify.standards, "verify_context", verify_context)
        return calls

    return make


def test_one_step_is_verified_before_the_first_seed_and_recorded_everywhere(scripted, planned, rung):
    """The rung is quick, below the invocation, has the run's fault; its summary is in invocation, records and block."""
    started, order = scripted({0: 80.0, 1: 81.0}), []
    calls = rung(a_document())
    fault = {"path": "/f/weak.py", "name": "weak", "sha256": "12"}
    directory = planned(seeds=[0, 1], fault=fault, verify=True)
    watch = Watch(
        on_start=lambda *facts: order.append("train"),
        on_verify=lambda place: order.append(place) or nothing,
        on_verified=lambda document, place: order.append("verified"),
        keep_tensors=True,
    )
    invocation = carry_out(directory, watch=watch).invocation
    assert order == [directory / "verify", "verified", "train", "train"]
    assert len(calls) == 1
    assert (calls[0]["quick"], calls[0]["fault"], calls[0]["directory"]) == (True, fault, directory / "verify")
    assert calls[0]["keep_tensors"]
    summary = invocation.verify
    assert set(summary.as_json()) == {"verdict", "origin", "worst", "seconds", "tensors", "tensors_out", "path"}
    assert (summary.verdict.name, summary.path) == ("reproduced", "verify/verify.json")
    assert (directory / summary.path).is_file()
    assert [read_record(directory / name).verify for name in ("seed0", "seed1")] == [summary] * 2
    assert len(started) == 2
    assert "verify          reproduced: 589 tensors within their limits, 21 s" in verdict_block(invocation, directory="x")


def test_a_finished_rung_is_not_climbed_again(scripted, planned, rung):
    """An invocation that is resumed after its first seed trains the rest at once."""
    scripted({0: 80.0, 1: "interrupted"})
    calls = rung(a_document())
    directory = planned(seeds=[0, 1], verify=True)
    assert carry_out(directory, watch=QUIET).interruption
    scripted({1: 81.0})
    assert carry_out(directory, watch=QUIET).invocation.verify.verdict.name == "reproduced"
    assert len(calls) == 1


def test_a_rung_of_another_release_says_nothing_of_the_runs(scripted, planned, rung, monkeypatch):
    """Stopped before the first checkpoint, gone on with after the framework was replaced."""
    scripted({0: "interrupted"})
    rung(a_document())
    directory = planned(seeds=[0], verify=True)
    assert carry_out(directory, watch=QUIET).interruption
    event = {"kind": "environment", "environment": {"framework_version": "99"}}
    monkeypatch.setattr(vigil.runs.carry_out, "execute", lambda directory, *others, on_event, **options: on_event(event))
    with pytest.raises(CannotRun, match="found release 99, but what these runs go on from was made with"):
        carry_out(directory, watch=QUIET)


@pytest.mark.parametrize("stopped", [a_failure("failed:interrupted"), KeyboardInterrupt()], ids=["in runner", "in oracle"])
def test_an_interrupted_rung_ends_the_command_and_is_begun_again(scripted, planned, rung, stopped):
    """Ctrl-C there trains nothing; resuming verifies from the start, though files of the first attempt are in the way."""
    started = scripted({0: 80.0})
    rung(stopped)
    directory = planned(seeds=[0], verify=True)
    assert carry_out(directory, watch=QUIET).interruption
    assert started == []
    (directory / "verify" / "answers").mkdir(parents=True, exist_ok=True)
    rung(a_document())
    assert carry_out(directory, watch=QUIET).invocation.verify.verdict.name == "reproduced"
    assert started == [("torch", 0)]


@pytest.mark.parametrize("is_native", [False, True])
def test_nothing_is_verified_unless_asked_for_and_possible(scripted, planned, rung, is_native):
    """Without `verify`, and under native randomness, which no tape knows, there is no rung and no line of it."""
    scripted({0: 80.0})
    calls = rung(a_document())
    changes = {"verify": True, "randomness": "native"} if is_native else {}
    directory = planned(seeds=[0], **changes)
    invocation = carry_out(directory, watch=QUIET).invocation
    assert (calls, invocation.verify, read_record(directory / "seed0").verify) == ([], None, None)
    assert "verify" not in verdict_block(invocation, directory="x")


def test_what_cannot_be_verified_is_unknown_and_trains_all_the_same(reference, scripted, planned, rung):
    """Without a tape the reason is recorded, and the metric's verdict stands."""
    scripted({0: 80.4})
    rung(CannotRun("no golden tape. Make one with `vigil golden`"))
    invocation = carry_out(planned(seeds=[0], verify=True), watch=QUIET).invocation
    reason = "no golden tape. Make one with `vigil golden`"
    assert invocation.verify.as_json()["verdict"] == {"name": "unknown", "reason": reason}
    assert invocation.verdict.name == "reproduced"
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
    invocation = carry_out(planned(seeds=[0], verify=True), watch=QUIET).invocation
    judged = invocation.verdict
    assert started == [("torch", 0)]
    assert judged.name == name
    assert reason in judged.reason
    assert (judged.mean, judged.band.n) == (80.4, 12)
    assert document.verdict.name.upper() in verdict_block(invocation, directory="x").upper()


@pytest.mark.parametrize(
    ("command", "context", "expected"),
    [
        ("vigil reproduce resnet_cifar --framework torch", "torch-jit-fp32-x1", ["resnet_cifar", *USUAL]),
        ("vigil reproduce ./my/resnet_cifar.yaml --fault 'a b.py'", "torch-jit-fp32-x3-s12+10+10-native",
         ["./my/resnet_cifar.yaml", *USUAL, "--devices", "3", "--shards", "12,10,10", "--fault", "a b.py"]),
        ("vigil nightly", "torch-jit-fp32-x1-math", ["resnet_cifar", *USUAL, "--attention", "math"]),
    ],
)  # fmt: skip
def test_what_is_outside_ends_with_a_command_that_runs(planned, command, context, expected):
    """The command line that looks for the tensor is one that `vigil` takes, for this recipe, context, and planted fault."""
    directory = planned(seeds=[0])
    source = str(Path.cwd() / "my" / "resnet_cifar.yaml") if "yaml" in command else None
    invocation = read_invocation(directory).replace(command=command, context=parse_context(context), source=source)
    outside = a_judgement(name="regressed", reason="below")
    invocation = invocation.replace(
        verdict=outside, wall_seconds=1.0, recipe=invocation.recipe.model_copy(update={"profile": "quick"})
    )
    [line] = [line for line in verdict_block(invocation, directory="x").splitlines() if line.startswith("go on with")]
    words = shlex.split(line.removeprefix("go on with"))
    assert words == ["vigil", "verify", *expected]
    build_parser().parse_args(words[1:])
    assert "docs/regressed.md" in verdict_block(invocation, directory="x")
    assert "go on with" not in verdict_block(invocation.replace(verdict=a_judgement()), directory="x")


@pytest.mark.parametrize("name", ["regressed", "better-than-reference", "failed:nan_loss", "unsupported"])
def test_a_verdict_that_is_not_good_stays_as_it_is(name):
    """The rung takes back `reproduced` and `unknown`; it neither saves nor renames anything else."""
    judged = a_judgement(name=name, reason="of the metric")
    for document in (a_regression(), a_failure(), a_document()):
        assert with_first_rung(judged, FirstRung(verdict=document.verdict, origin=ORIGIN)) == judged
    assert with_first_rung(a_judgement(), None) == a_judgement()


def test_a_wrong_step_is_wrong_without_a_reference():
    """A metric that cannot be judged does not hide a step that was."""
    rung = FirstRung(verdict=a_regression().verdict, origin=ORIGIN)
    verdict = with_first_rung(a_judgement(name="unknown", reason="no reference"), rung)
    assert verdict.name == "regressed"
    assert "although the metric cannot be judged" in verdict.reason
