"""A context on two devices is held to its companion on one where both are wrong; whatever differs is looked into."""

import dataclasses
import json

import numpy as np
import pytest

from runners.contract.protocol.cases import CASES, answers_path
from tests.documents import a_record
from tests.verify.conftest import RECIPE
from tests.verify.made_answers import in_float32
from vigil.documents.context import make_context
from vigil.documents.verdict import Verdict
from vigil.documents.verification import KnownFinding, Origin, Verification
from vigil.verify import examination
from vigil.verify.ask import Answers, Setting
from vigil.verify.localise import Localisation

# A wrong gradient of the logits reaches every parameter.
KNOWN = KnownFinding(
    name="a_finding", recipe="tiny", framework="torch", releases=("2.13.0",), contexts=("torch-jit-fp32-*",), layers=("head",),
    quantity="data gradient", evidence="docs/findings/x.py",
)  # fmt: skip
ORIGIN = Origin(layer="head", phase="backward", quantity="data gradient", tensor="t", case="late/margin", ratio=9.0, slope=1.0)


def found_wrong(answers):
    """Make the kernel of the head come out of two steps as its finding would have it."""
    for case in ("early/margin", "late/margin"):
        answers[case]["momentum/head.kernel"] = answers[case]["momentum/head.kernel"] * np.float32(1.01)


@pytest.fixture
def verified(tape, limits, monkeypatch, tmp_path):
    """Return a function that verifies answers in the short form, and tells whether an origin was looked for."""

    def verify(*wrong, devices, companion=None, tape=tape, known=(KNOWN,), further=(), **machine):
        answers = in_float32(tape) | {case.name: {} for case in further}
        monkeypatch.setattr(examination, "further_cases", lambda *arguments, **options: list(further))
        for each in wrong:
            each(answers)
        context = make_context(framework="torch", devices=devices)
        setting = Setting(context, tmp_path / f"x{devices}" / "answers", 0, None)
        setting.directory.mkdir(parents=True)
        (setting.directory / CASES).write_text(json.dumps([{"name": name} for name in answers]))
        for index, tensors in enumerate(answers.values()):
            np.savez(answers_path(setting.directory, index), **tensors)
        record = a_record(recipe=RECIPE, context=context, environment={"framework_version": "2.13.0", **machine})
        looked = []
        monkeypatch.setattr(examination, "ask_all", lambda *arguments, **options: Answers(record, answers, {}))
        monkeypatch.setattr(examination, "localise", lambda search: looked.append(search) or Localisation([ORIGIN], [], [], []))
        document = examination.verify(
            setting, tape, limits, command="a test", known=list(known), quick=True, companion=companion
        )
        return document, bool(looked)

    return verify


def test_what_is_wrong_as_its_companion_is_not_looked_into_again(verified, tmp_path):
    """The companion's origin is said to be the context's, by name; of one without a companion it is looked for."""
    document, looked = verified(found_wrong, devices=1)
    assert (document.verdict.name, looked) == (Verdict.KNOWN_FINDING, True)
    document, looked = verified(found_wrong, devices=2, companion=tmp_path / "x1")
    assert (document.verdict.name, looked) == (Verdict.KNOWN_FINDING, False)
    assert document.verdict.reason.endswith("all tensors are as in torch-jit-fp32-x1, whose origin is a_finding")
    assert not document.origins


@pytest.mark.parametrize("tensor", ["momentum/head.kernel", "momentum/stem.conv.kernel", "stats/stem.bn.mean"])
@pytest.mark.parametrize("case", ["init/margin", "late/margin"])
def test_what_is_wrong_in_another_way_is_looked_into(verified, tmp_path, case, tensor):
    """Also where the known finding is, and nothing beyond its reach is out: a second fault of the same parameter."""
    verified(found_wrong, devices=1)

    def another(answers):
        answers[case][tensor] = answers[case][tensor] + np.float32(1e-3) * np.abs(answers[case][tensor]).max()

    _, looked = verified(found_wrong, another, devices=2, companion=tmp_path / "x1")
    assert looked


def test_a_case_without_an_answer_is_looked_into(verified, tmp_path):
    """It is missing, whatever else is as the companion's."""
    verified(found_wrong, devices=1)
    _, looked = verified(found_wrong, lambda answers: answers.pop("init/margin"), devices=2, companion=tmp_path / "x1")
    assert looked


def test_what_rounds_otherwise_is_as_wrong(verified, tmp_path, tape):
    """By as much as a right tensor may: two devices add up in another order."""
    verified(found_wrong, devices=1)

    def rounds(answers):
        floor = tape.floors["fp32"]["late/margin"]["momentum/stem.conv.kernel"].distance
        tensor = answers["late/margin"]["momentum/stem.conv.kernel"]
        answers["late/margin"]["momentum/stem.conv.kernel"] = tensor + np.float32(2.0 * floor / np.sqrt(tensor.size))

    document, looked = verified(found_wrong, rounds, devices=2, companion=tmp_path / "x1")
    assert (document.verdict.name, looked) == (Verdict.KNOWN_FINDING, False)


@pytest.mark.parametrize(("times", "floors", "is_alike"), [(1.0, 30.0, False), (10.0, 30.0, True), (1e4, 1e4, False)])
def test_gradients_that_are_larger_round_more(verified, tmp_path, tape, times, floors, is_alike):
    """By as much as they are larger, within reason, in what the optimizer keeps of them too, mostly of steps before."""
    expected = tape.expected(next(case for case in tape.cases if case.name == "late/margin"))
    name = "stem.conv.kernel"
    gradient = expected[f"parameter_gradient/{name}"]
    floor = tape.floors["fp32"]["late/margin"][f"momentum/{name}"].distance

    def larger(answers):
        kept = answers["late/margin"][f"momentum/{name}"].astype(np.float64)
        answers["late/margin"][f"momentum/{name}"] = (kept + (times - 1.0) * gradient).astype(np.float32)

    def rounds(answers):
        kept = answers["late/margin"][f"momentum/{name}"]
        answers["late/margin"][f"momentum/{name}"] = kept + np.float32(floors * floor / np.sqrt(kept.size))

    verified(found_wrong, larger, devices=1)
    _, looked = verified(found_wrong, larger, rounds, devices=2, companion=tmp_path / "x1")
    assert looked is not is_alike


@pytest.mark.parametrize(
    "changed",
    ["gone", "another machine", "another tape", "another finding", "no origin", "regressed", "answers gone", "a case less"],
)
def test_a_companion_that_says_nothing_of_the_context_is_none(verified, tmp_path, tape, changed):
    """One that was not looked into, or was held to something else, or computed elsewhere, or lost what it answered."""
    document, _ = verified(found_wrong, devices=1)
    folder, options = tmp_path / "x1", {}
    if changed == "gone":
        (folder / Verification.FILE_NAME).unlink()
    elif changed == "another machine":
        options["cpu_flags"] = "avx"
    elif changed == "another tape":
        options["tape"] = dataclasses.replace(tape, sha256="0" * 64)
    elif changed == "another finding":
        options["known"] = (KNOWN, KNOWN.replace(name="another"))
    elif changed == "no origin":
        document.replace(origins=(), origin=None).write(folder)
    elif changed == "regressed":
        document.replace(verdict=document.verdict.replace(name=Verdict.REGRESSED)).write(folder)
    elif changed == "answers gone":
        answers_path(folder / "answers", 0).unlink()
    elif changed == "a case less":
        lines = json.loads((folder / "answers" / CASES).read_text())
        (folder / "answers" / CASES).write_text(json.dumps([each for each in lines if each["name"] != "late/margin"]))
    _, looked = verified(found_wrong, devices=2, companion=folder, **options)
    assert looked


def test_what_is_right_or_in_full_has_no_use_for_a_companion(verified, tmp_path):
    """A context that its list says is wrong, and that is not, is told so as ever."""
    verified(found_wrong, devices=1)
    document, looked = verified(devices=2, companion=tmp_path / "x1")
    assert not looked
    assert "does not show" in document.verdict.reason


def test_cases_of_the_loss_scaler_are_left_to_its_invariants(verified, tape, tmp_path):
    """No tape is about them."""
    growth = dataclasses.replace(tape.cases[1], name="early/growth", good_steps=1999)
    verified(found_wrong, devices=1, further=[growth])
    document, looked = verified(found_wrong, devices=2, companion=tmp_path / "x1", further=[growth])
    assert (document.verdict.name, looked) == (Verdict.KNOWN_FINDING, False)
