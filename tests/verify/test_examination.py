"""One context, from what its runner answered to verify.json: what is missing, odd or late is told, and never an error."""

import dataclasses
import json

import numpy as np
import pytest

from tests.documents import a_record
from tests.verify.conftest import RECIPE
from tests.verify.made_answers import FakeFramework, in_float32
from vigil.documents.context import make_context
from vigil.documents.failure import Failure
from vigil.documents.verdict import Verdict
from vigil.documents.verification import KnownFinding, Verification
from vigil.verify import examination, localise
from vigil.verify.ask import Answers, Setting
from vigil.verify.limits import Limits, make_limits


@pytest.fixture
def verified(tape, limits, monkeypatch, tmp_path):
    """Return a function that gives verify.json of answers that `wrong` has had its hands on; every layer alone is right."""

    def verify(wrong, *, failure=None, limits=limits, quick=False, keep_tensors=False, devices=1, known=(), **machine):
        answers = in_float32(tape)
        wrong(answers)
        environment = {"framework_version": "2.13.0", **machine}
        context = make_context(framework="torch", mode="eager")
        record = a_record(recipe=RECIPE, context=context, environment=environment, failure=failure)
        monkeypatch.setattr(examination, "ask_all", lambda *arguments, **options: Answers(record, answers, {}))
        monkeypatch.setattr(localise, "ask", FakeFramework(tape))
        setting = Setting(make_context(framework="torch", devices=devices), tmp_path / "answers", 0, None)
        setting.directory.mkdir()
        (setting.directory / "answers-0.npz").touch()
        options = {"quick": quick, "keep_tensors": keep_tensors}
        document = examination.verify(setting, tape, limits, command="a test", known=list(known), **options)
        assert Verification.read(tmp_path).text() == document.text()
        written = json.loads((tmp_path / "verify.json").read_text())
        assert written == document.as_json() | {"sha256": written["sha256"]}
        return document

    return verify


def out_of(document):
    """Return the tensors that are out, with what is wrong with each."""
    return {(each.case, each.tensor): each.problem for each in document.tensors if each.is_out}


@pytest.mark.parametrize("quick", [False, True])
def test_right_answers_are_reproduced(verified, quick):
    """Nothing planted, nothing found; and the document says which form it has."""
    document = verified(lambda answers: None, quick=quick)
    assert document.verdict.name is Verdict.REPRODUCED
    assert document.is_short == quick


def test_answers_that_are_right_are_removed_unless_they_are_to_be_kept(verified, tmp_path):
    """They say nothing more, except to whoever holds them against another release's."""
    verified(lambda answers: None, quick=True, keep_tensors=True)
    answers = tmp_path / "answers" / "answers-0.npz"
    assert answers.is_file()
    answers.unlink()
    answers.parent.rmdir()
    verified(lambda answers: None, quick=True)
    assert not answers.exists()


@pytest.mark.parametrize(("processor", "is_told"), [("Intel Xeon", True), ("AMD EPYC", False)])
def test_limits_from_another_processor_are_said_to_be(verified, limits, processor, is_told):
    """Clean rows say what they ran on; where that is another kind than this machine's, one line tells it."""
    row = {"context": "c", "precision": "fp32", "case": "late/margin", "seed": 0, "largest": {}}
    row["hardware"] = "AMD EPYC, 2 cores, 24 GiB"
    measured = dataclasses.replace(limits, processors=make_limits([row]).processors)
    document = verified(lambda answers: None, limits=measured, quick=True, hardware=f"{processor}, 4 cores, 16 GiB")
    told = [remark for remark in document.remarks if "limits were measured on AMD EPYC, and this is Intel Xeon" in remark]
    assert bool(told) == is_told


@pytest.mark.parametrize(("quick", "others"), [(False, ["late/evaluation_full"]), (True, [])])
def test_more_devices_than_a_margin_batch_has_images_are_put_to_full_ones(verified, quick, others):
    """No device is left without an image, and a remark says what was not asked."""
    document = verified(lambda answers: None, quick=quick, devices=5)
    assert document.verdict.name is Verdict.REPRODUCED
    assert [case.name for case in document.cases] == ["init/full", "early/full", "late/full", *others]
    assert "full batches were put alone" in document.remarks[0]


@pytest.mark.parametrize("case", ["late/evaluation", "late/full", "early/accumulation", "early/repeat"])
def test_a_case_without_an_answer_is_missing(verified, case):
    """A runner that came to its end and left one out is not reproduced by the others."""
    document = verified(lambda answers: answers.pop(case))
    assert document.verdict.name is Verdict.REGRESSED
    assert {name for name, _ in out_of(document)} == {case}
    assert set(out_of(document).values()) == {"missing"}
    assert document.origin.remark == "missing"


def test_a_case_that_a_dead_runner_never_came_to_is_not_missing(verified):
    """A crash stays a crash: only what was answered before it is told."""
    failure = Failure(category="died", phase="verify", step=0, message="killed by SIGKILL", log_tail=())
    document = verified(lambda answers: answers.pop("late/full"), failure=failure)
    assert document.verdict.name is Verdict.FAILED_DIED
    assert not out_of(document)


@pytest.mark.parametrize(
    ("case", "name", "place"),
    [
        ("late/margin", "params/head.kernel", ("head", "update", "kernel")),
        ("late/margin", "momentum/head.kernel", ("head", "update", "momentum of kernel")),
        ("late/margin", "loss", ("loss", "forward", "loss")),
        ("early/accumulation", "momentum/head.kernel", ("head", "update", "momentum of kernel")),
        ("early/repeat", "0/momentum/head.kernel", ("head", "update", "momentum of kernel")),
        ("early/repeat", "1/momentum/head.kernel", ("head", "update", "momentum of kernel")),
        ("late/evaluation", "logits", ("model", "evaluation", "logits")),
        ("early/alternation", "logits", ("model", "evaluation", "logits")),
    ],
)
@pytest.mark.parametrize("is_there", [False, True], ids=["missing", "transposed"])
def test_a_tensor_that_is_missing_or_has_another_shape_is_the_origin(verified, case, name, place, is_there):
    """Nothing is computed with what is not there, and nothing is broadcast: it is told, with where it belongs."""

    def wrong(answers):
        tensor = answers[case].pop(name)
        if is_there:
            answers[case][name] = tensor.T if tensor.ndim > 1 else np.zeros(3, np.float32)

    document = verified(wrong)
    assert document.verdict.name is Verdict.REGRESSED
    assert (document.origin.layer, document.origin.phase, document.origin.quantity) == place
    assert document.origin.remark.startswith("shape" if is_there else "missing")
    assert document.origin.tensor.endswith(name.removeprefix("0/"))


def test_a_buffer_that_the_model_does_not_have_is_no_error(verified):
    """It has no state that its gradient could be told from, and nobody asked for it."""
    document = verified(lambda answers: answers["late/margin"].update({"momentum/other": np.zeros(3)}))
    assert document.verdict.name is Verdict.REPRODUCED


@pytest.mark.parametrize("call", [0, 1, 49])
def test_a_call_that_is_not_finite_is_out(verified, call):
    """On either batch of those that are repeated, at first or later: a NaN is near to nothing."""

    def wrong(answers):
        repeat = answers["early/repeat"]
        late = {name.replace("1/", "49/", 1): value for name, value in repeat.items() if name.startswith("1/")}
        answers["early/repeat"] = repeat | late
        answers["early/repeat"][f"{call}/loss"] = np.float32(np.nan)

    document = verified(wrong)
    assert document.verdict.name is Verdict.REGRESSED
    told = "loss" if call == 0 else f"{call}/loss"
    assert out_of(document)["early/repeat", told] == "1 of 1 values are not finite"


def test_what_is_out_stays_out_where_nobody_measured_layers(verified, limits):
    """Without clean runs that looked inside, no origin is told; the verdict stands."""
    whole = Limits({key: limit for key, limit in limits.table.items() if "/" not in key[1]}, limits.rows)

    def wrong(answers):
        answers["late/margin"]["momentum/head.kernel"] = 1.01 * answers["late/margin"]["momentum/head.kernel"]

    document = verified(wrong, limits=whole)
    assert document.verdict.name is Verdict.REGRESSED
    assert document.origin is None
    assert "the origin could not be looked for: no clean runs" in document.remarks[0]


def wrong_gradient(*names):
    """Return what makes parameters' gradients of every single step wrong, and with them all that moves by them."""

    def wrong(answers):
        for case in ("init/margin", "early/margin", "early/boundary", "late/margin"):
            for name in names:
                moved = answers[case][f"momentum/{name}"] * np.float32(0.001)
                answers[case][f"momentum/{name}"] += moved
                answers[case][f"params/{name}"] -= np.float32(0.1) * moved

    return wrong


def finding(**changes):
    """Return a known finding: the bias gradient of the head."""
    fields = {
        "name": "a", "recipe": "tiny", "framework": "torch", "releases": ("2.13.0",), "contexts": ("torch-*",),
        "layers": ("head",), "quantity": "bias gradient", "evidence": "docs/findings/x.py",
    }  # fmt: skip
    return KnownFinding(**{**fields, **changes})


@pytest.mark.parametrize(
    ("quantity", "also", "quick", "is_looked_for"),
    [
        ("bias gradient", [], True, False),
        ("bias gradient", [], False, True),
        ("bias gradient", ["stem.bn.bias"], True, True),
        ("* gradient", [], True, True),
        ("output", [], True, True),
    ],
)
def test_the_short_form_looks_for_no_origin_of_what_reaches_its_own_parameter_alone(
    verified, monkeypatch, quantity, also, quick, is_looked_for
):
    """In full, where another parameter is out, or where the finding could reach others, the origin is looked for."""
    looked = []
    nothing = localise.Localisation([], [], [], [])
    monkeypatch.setattr(examination, "localise", lambda search: looked.append(search) or nothing)
    document = verified(wrong_gradient("head.bias", *also), quick=quick, known=[finding(quantity=quantity)])
    assert {each.tensor.partition("/")[2] for each in document.tensors if each.is_out} >= {"head.bias", *also}
    assert bool(looked) is is_looked_for
    # What was looked for, and not found here, is no known finding.
    assert document.verdict.name is (Verdict.REGRESSED if is_looked_for else Verdict.KNOWN_FINDING)
    assert ("parameters of a alone" in document.verdict.reason) is not is_looked_for
