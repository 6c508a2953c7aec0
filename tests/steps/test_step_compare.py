"""`vigil compare my_step.py OLD NEW`: what differs between two environments is found, named, and told from what failed."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import types

import numpy as np
import pytest

from runners.contract.arrays import write_arrays
from runners.contract.errors import ContractError
from runners.contract.steps import frame
from runners.contract.steps.own import OwnFileError, load_own
from tests.steps.compared import CRASHED, ELSEWHERE, GONE, NOBODY_KNOWS, NOT_THERE, RIGHT, WRONG, context, exact, moved
from vigil.cli.main import main
from vigil.documents.failure import Failure
from vigil.documents.step_comparison import SidesVerdict, StepComparison
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.steps.compare import Side, _coarser, _exact_of, _side, judge_sides
from vigil.steps.limits import step_limits
from vigil.steps.processes import Ended

ONE = ["--mode", "eager", "--precision", "fp32", "--threads", "1"]
STEP = """
import os
import torch

PLANTED = os.environ.get("PLANTED") if os.environ.get("SIDE") == "new" else None


def build():
    if PLANTED:
        torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def batch(seed):
    generator = torch.Generator().manual_seed(seed + 100 * bool(PLANTED))
    return torch.randn(6, 4, generator=generator), torch.randint(0, 2, (6,), generator=generator)


def loss(model, batch):
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1 if PLANTED else 0.01)
"""
WRONG_GRADIENT = """
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 1.001


def install():
    torch.nn.Tanh.forward = lambda self, x: torch.tanh(Scaled.apply(x))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with a step, and interpreters `old` and `new` that tell it which of them it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setattr("vigil.steps.processes.REPEATS", 2)
    monkeypatch.setattr("vigil.steps.verify._MOST_LOOKS", 0)
    (tmp_path / "my_step.py").write_text(STEP, encoding="utf-8")
    for side in ("old", "new"):
        (tmp_path / side).write_text(f'#!/bin/sh\nSIDE={side} exec {sys.executable} "$@"\n', encoding="utf-8")
        (tmp_path / side).chmod(0o755)
    return tmp_path


def compare(place, *options: str) -> tuple[int, StepComparison]:
    """Return the exit code of a comparison, and its document."""
    code = main(["compare", "my_step.py", "./old", "./new", *ONE, *options])
    [file] = place.glob("runs/*/compare-step.json")
    return code, StepComparison.read(file.parent)


@pytest.mark.torch
def test_another_optimizer_is_found_though_each_side_is_right_and_begins_otherwise(place, monkeypatch, capsys):
    """Other first numbers, another batch and another decay under NEW: the first step is one from OLD's, its update is not."""
    pytest.importorskip("torch")
    monkeypatch.setenv("PLANTED", "yes")
    code, document = compare(place)
    assert (code, document.verdict.name) == (1, SidesVerdict.PROGRAMS_DIFFER)
    assert [each.name for each in (document.old.verdict, document.new.verdict)] == [Verdict.REPRODUCED] * 2
    [exact], [context] = document.exact, document.contexts
    assert exact.moved == ("0.weight", "0.bias", "2.weight", "2.bias")
    assert len(exact.batches) == 2
    assert exact.unmatched == ()
    assert exact.updated.is_out
    assert exact.farthest.case == context.farthest.case == "steps"
    assert 0 < context.equal < context.tensors
    assert document.new.versions["torch"] == document.old.versions["torch"]
    out = " ".join(capsys.readouterr().out.split())
    assert "the optimizers make other updates: params/" in out
    assert exact.moved_by > 0.5
    assert f"under NEW, by {exact.moved_by:.2g} of their size at most: 0.weight, 0.bias, 2.weight, 2.bias; both sides" in out
    assert f"batch() gives other numbers under NEW, by {exact.batches_by:.2g} of their size at most; both sides had OLD's" in out
    assert [*place.glob("runs/**/answered.npz"), *place.glob("runs/**/begun.npz")] == []


@pytest.mark.torch
def test_a_fault_under_new_alone_is_caught(place, capsys):
    """A gradient that is too large by 0.1 %: NEW is wrong, OLD is right; `--json` writes the document."""
    pytest.importorskip("torch")
    (place / "fault.py").write_text(WRONG_GRADIENT, encoding="utf-8")
    code, document = compare(place, "--fault", "fault.py", "--json", "found.json")
    assert (code, document.verdict.name) == (1, SidesVerdict.NEW_WRONG)
    [context] = document.contexts
    assert (context.old.name, context.new.name) == (Verdict.REPRODUCED, Verdict.REGRESSED)
    assert context.farthest.ratio > 100
    assert context.equal < context.tensors
    assert document.exact[0].is_same
    assert document.exact[0].updated
    out = " ".join(capsys.readouterr().out.split())
    assert "its noise floor apart; against float64 NEW is wrong and OLD is right" in out
    assert "fault, under NEW on purpose: caught" in out
    assert json.loads((place / "found.json").read_text(encoding="utf-8"))["compare_id"] == document.compare_id


def test_sides_whose_processes_fail_are_neither_a_difference_nor_a_pass(place, monkeypatch, capsys):
    """Exit code 3, which side it was, and why."""
    died = Failure(category="died", phase="verify", step=0, message="killed by signal 9", log_tail=("the end",))

    def dying(asked, directory, **_):
        directory.mkdir(parents=True)
        return Ended(directory, died, {}, 1.0)

    monkeypatch.setattr("vigil.steps.verify.run", dying)
    code, document = compare(place)
    assert (code, document.verdict.name) == (3, SidesVerdict.COULD_NOT_RUN)
    assert document.exact == ()
    out = " ".join(capsys.readouterr().out.split())
    assert "Could not run: my_step.py: OLD, torch-eager-fp32-x1: failed:died: killed by signal 9" in out
    assert "| the end" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["./old", "./old"], "OLD and NEW: ./old and ./old are one environment. Allowed: two"),
        (["torch", "torch"], "OLD and NEW: torch and torch are one environment. Allowed: two"),
        (["./old", "./gone"], "NEW: ./gone: no such file. Allowed: the interpreter of an environment"),
        (["./my_step.py", "./new"], "OLD: ./my_step.py: cannot be executed. Allowed: the interpreter"),
        (["./old", "jax==0.9.2"], "NEW: found jax==0.9.2, and my_step.py is of torch"),
        (["./old", "python"], "release: found 'python'. Allowed: NAME==VERSION"),
        (["./old", "./new", "--framework", "jax"], "--framework: found jax, and my_step.py is of torch"),
        (["./old", "./new", "--seeds", "3"], "--seeds: not allowed with a file of your own"),
        (["./old", "./new", "--devices", "2"], "--devices: found 2. Allowed: 1, and 2 where my_step.py defines distribute."),
        (["./old", "./new", "--hold", "numpy==2.4.6"], "--hold, --extra-index: found with interpreters alone"),
        (["./old", "./new", "--threads", "0"], "--threads: found '0'"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(place, capsys, arguments, said):
    """Exit code 2, before anything runs."""
    assert main(["compare", "my_step.py", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(place.glob("runs/*"))


def test_threads_are_of_a_file_of_ones_own(place, capsys):
    """A recipe has none."""
    assert main(["compare", "resnet_cifar", "jax==0.9.1", "jax==0.9.2", "--threads", "1"]) == 2
    assert "--threads: allowed for a file of your own alone" in capsys.readouterr().err


def test_a_batch_of_another_form_cannot_be_given(tmp_path):
    """One of the right form takes the place of the file's, and is remembered."""
    path = tmp_path / "step_of_batches.py"
    source = "import numpy as np\ndef build(): ...\ndef loss(model, batch): ...\n"
    source += "def batch(seed):\n    return {'x': np.zeros(2), 'n': 3}\n"
    path.write_text(source, encoding="utf-8")
    own = load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())
    same = frame._Batches(own, lambda batch: batch, {"0/000000": np.zeros(2)})
    assert same(0)["n"] == 3
    assert same.moved == {}
    other = frame._Batches(own, lambda batch: batch, {"0/000000": np.ones(2)})
    assert other(0)["x"].tolist() == [1.0, 1.0]
    assert other(1)["x"].tolist() == [0.0, 0.0]
    assert other.moved == {0: 1.0}
    with pytest.raises(OwnFileError, match=r"seed 0 gives float32\[2\], and here float64\[2\]"):
        frame._Batches(own, lambda batch: batch, {"0/000000": np.ones(2, np.float32)})(0)


def test_numbers_of_one_side_alone_are_named(tmp_path):
    """What has another form, or no counterpart, is not taken over."""
    path = tmp_path / "step_of_numbers.py"
    path.write_text("def build(): ...\ndef loss(model, batch): ...\ndef batch(seed): ...\n", encoding="utf-8")
    own = load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())
    own.given = {"w": np.ones(3), "b": np.zeros(2), "gone": np.zeros(1), "same": np.zeros(4)}
    assert own.first("w", np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
    assert own.first("b", np.zeros(5)).shape == (5,)
    made = np.zeros(4)
    assert own.first("same", made) is made
    found = frame._begun_otherwise(own, frame._Batches(own, lambda batch: batch, {}))
    assert found == {"batches": [], "batches_by": 0.0, "moved": ["w"], "moved_by": 1.0, "unmatched": ["b", "gone"]}


def test_an_update_of_a_state_with_other_names_is_refused_by_name(tmp_path):
    """NEW's optimizer cannot be asked of what OLD keeps under another name."""
    state = {"step/before/params/w": np.ones(2), "step/gradients/w": np.ones(2), "step/after/params/w": np.zeros(2)}
    write_arrays(tmp_path / frame.STATES, state)

    class OfOtherNames:
        def under(self, draw):
            pass

        def update(self, before, gradients):
            return before["params/kernel"]

    request = types.SimpleNamespace(expected=[str(tmp_path)])
    with pytest.raises(ContractError, match="the other release's step leaves no params/kernel"):
        frame._updates(OfOtherNames(), request, types.SimpleNamespace(enter=lambda phase: None))


def test_how_far_other_numbers_are_is_a_share_of_their_size():
    """As rounding, or as another draw; of text nobody can say."""
    assert frame._share_apart(np.array([3.0, 4.0]), np.array([3.0, 4.5])) == pytest.approx(0.1)
    assert frame._share_apart(np.zeros(2), np.zeros(2)) == 0.0
    assert frame._share_apart(np.array(["a"]), np.array(["b"])) == frame._share_apart(np.zeros(1), np.ones(1)) == math.inf


@pytest.mark.parametrize(("off", "is_same"), [(1e-15, True), (1e-9, False)])
def test_programs_are_the_same_to_rounding_in_float64(tmp_path, off, is_same):
    """What is 1e-9 off is near, in floors of float32, and is no rounding of float64."""
    for side, loss in (("old", 1.0), ("new", 1.0 + off)):
        oracle = tmp_path / side / "oracle-fp32"
        oracle.mkdir(parents=True)
        write_arrays(oracle / frame.EXPECTED, {"step/loss": np.array(loss)})
        floor = {"norm": 1.0, "size": 1, "draws": [[1e-7 * scale, 1e-7, 0.0] for scale in (0.9, 1.0, 1.1)]}
        content = {"floors": {"step": {"loss": floor}}, "facts": {"seed": 0, "begun": None}}
        (oracle / frame.FLOORS).write_text(json.dumps(content), encoding="utf-8")
    exact = _exact_of("fp32", tmp_path / "old", tmp_path / "new", "it has no such slot", step_limits())
    assert exact.is_same == is_same
    assert exact.remark == "NEW's optimizer was not asked about OLD's gradients: it has no such slot"


def test_numbers_that_are_off_are_told_before_what_one_side_alone_has(tmp_path):
    """A counter that has another name under NEW does not hide that the loss is another one."""
    for side, loss, name in (("old", 1.0, "count"), ("new", 1.001, "counter"), ("like", 1.0, "counter")):
        oracle = tmp_path / side / "oracle-fp32"
        oracle.mkdir(parents=True)
        write_arrays(oracle / frame.EXPECTED, {"step/loss": np.array(loss), f"step/stats/{name}": np.array(3)})
        draws = [[1e-7 * scale, 1e-7, 0.0] for scale in (0.9, 1.0, 1.1)]
        floors = {each: {"norm": 1.0, "size": 1, "draws": draws} for each in ("loss", f"stats/{name}")}
        facts = {"seed": 0, "begun": None, "random": [len(side)]}
        (oracle / frame.FLOORS).write_text(json.dumps({"floors": {"step": floors}, "facts": facts}), encoding="utf-8")
    differs = _exact_of("fp32", tmp_path / "old", tmp_path / "new", None, step_limits())
    assert (differs.farthest.tensor, differs.farthest.problem, differs.draws_otherwise) == ("loss", None, False)
    renamed = _exact_of("fp32", tmp_path / "old", tmp_path / "like", None, step_limits())
    assert renamed.farthest.tensor in ("stats/count", "stats/counter")
    assert renamed.farthest.problem
    assert renamed.draws_otherwise


@pytest.mark.parametrize(
    ("off", "update_off", "found"),
    [(1e-7, 1e-9, None), (1e-4, 1e-9, "outputs/0"), (1e-7, 1e-5, "optimizer/mu")],
)
def test_what_new_alone_rounds_more_is_found(tmp_path, off, update_off, found):
    """By the floors of its own program NEW is right. What its optimizer keeps of noise is held in proportion to its size."""
    draws = [[1e-7 * scale, 1e-8 * scale, 0.0] for scale in (0.8, -0.9, 1.0, -1.1, 1.2, -1.0)]
    floors = {"step": {"outputs/0": {"norm": 1.0, "size": 9, "draws": [[abs(each), *line] for each, *line in draws]}}}
    for side, size in (("old", 1.0), ("new", 100.0)):
        (tmp_path / side).mkdir()
        own = [[size * abs(each), *line] for each, *line in draws]
        slot = {"norm": size, "size": 9, "draws": own}
        line = [size * update_off, 0.0, 0.0]
        update = {"lines": {"after/optimizer/mu": line}, "floors": {"after/optimizer/mu": slot}}
        (tmp_path / side / frame.UPDATES).write_text(json.dumps({"step": update}), encoding="utf-8")
    answers = {"step": {"lines": {"outputs/0": [off, 0.0, 0.0]}}}
    (tmp_path / "new" / frame.ANSWERS).write_text(json.dumps(answers), encoding="utf-8")
    coarser = _coarser(tmp_path / "old", tmp_path / "new", floors, step_limits(), "fp32")
    assert (coarser and coarser.tensor) == found


def test_a_side_says_the_versions_of_what_may_have_moved(tmp_path):
    """Of the libraries that a file imports beside its framework, too, where the environment has them."""
    environment = {"framework_version": "0.10.2", "jaxlib_version": "0.10.2", "optax_version": "0.2.8", "numpy": "2.4.6"}
    verified = types.SimpleNamespace(
        contexts=[types.SimpleNamespace(environment=environment)], framework="jax", framework_version="0.10.2",
        verdict=StepVerdict(name=RIGHT, reason="all"),
    )  # fmt: skip
    asked = types.SimpleNamespace(python=tmp_path / "python")
    versions = _side(Side("NEW", asked, None), verified, tmp_path).versions
    assert versions == {"jax": "0.10.2", "jaxlib": "0.10.2", "optax": "0.2.8", "numpy": "2.4.6"}


class Whole:
    """A verification, as far as its verdict."""

    def __init__(self, name: Verdict) -> None:
        self.verdict = StepVerdict(name=name, reason=f"all {name}")


@pytest.mark.parametrize(
    ("contexts", "programs", "name", "reason", "code"),
    [
        ([context(RIGHT, RIGHT)], exact(), SidesVerdict.IDENTICAL, "the same bits in 1 context, 3 tensors", 0),
        ([context(RIGHT, RIGHT, equal=1)], exact(), SidesVerdict.ROUNDED, "gradients/w in case step, 2x its noise floor", 0),
        ([context(WRONG, WRONG), context(RIGHT, WRONG, equal=0, mode="eager")], exact(), SidesVerdict.NEW_WRONG,
         "torch-eager-fp32-x1 and 1 more: at most gradients/w in case step, 2x its noise floor apart; against float64 NEW is "
         "wrong and OLD is right; the origin is head, backward", 1),
        ([context(WRONG, RIGHT, equal=0)], exact(), SidesVerdict.OLD_WRONG, "NEW is right and OLD is wrong; the origin is", 1),
        ([context(RIGHT, RIGHT, equal=0)], exact(is_same=False, farthest=ELSEWHERE), SidesVerdict.PROGRAMS_DIFFER,
         "from the same numbers and batch, loss in case step, 80x its noise floor apart", 1),
        ([context(RIGHT, RIGHT)], exact(is_same=False, farthest=moved(ratio=0.2)), SidesVerdict.PROGRAMS_DIFFER,
         "0.2x its noise floor apart, less than rounding moves it: a constant may be rounded otherwise", 1),
        ([context(RIGHT, RIGHT, equal=0)], exact(is_same=False, updated=ELSEWHERE), SidesVerdict.PROGRAMS_DIFFER,
         "of the same gradients the optimizers make other updates: loss", 1),
        ([context(RIGHT, RIGHT, results=(1, 4))], exact(), SidesVerdict.ROUNDED,
         "the same bits in all 3 tensors; NEW by itself gave 4 different results in 60 calls; both are right", 0),
        ([context(RIGHT, WRONG, results=(1, 4))], exact(), SidesVerdict.NEW_WRONG,
         "tensors; NEW by itself gave 4 different results in 60 calls; against float64 NEW is wrong and OLD is right", 1),
        ([context(RIGHT, RIGHT, equal=1, coarser=ELSEWHERE)], exact(moved=("a",)), SidesVerdict.NEW_COARSER,
         "torch-jit-fp32-x1: NEW's loss in case step is 80x OLD's noise floor off float64, which its own program explains", 1),
        ([context(RIGHT, RIGHT, coarser=ELSEWHERE)], exact(unmatched=("a",)), SidesVerdict.PROGRAMS_DIFFER, "begins with a", 1),
        ([context(RIGHT, RIGHT)], exact(unmatched=("a", "b", "c")), SidesVerdict.PROGRAMS_DIFFER, "with a, b and 1 more", 1),
        ([context(RIGHT, RIGHT)], exact(is_same=False, unmatched=("a",), farthest=GONE), SidesVerdict.PROGRAMS_DIFFER,
         "begins with a; all else agrees to float64's rounding", 1),
        ([context(RIGHT, RIGHT)], exact(is_same=False, unmatched=("a",), farthest=ELSEWHERE), SidesVerdict.PROGRAMS_DIFFER,
         "begins with a; from its own of these, and else the same numbers, loss in case step, 80x its noise floor apart", 1),
        ([context(RIGHT, RIGHT)], exact(is_same=False, unmatched=("a",), farthest=GONE, updated=ELSEWHERE),
         SidesVerdict.PROGRAMS_DIFFER, "begins with a; of the same gradients the optimizers make other updates: loss", 1),
        ([context(RIGHT, RIGHT)], exact(is_same=False, farthest=ELSEWHERE, draws_otherwise=True), SidesVerdict.PROGRAMS_DIFFER,
         "80x its noise floor apart; NEW draws other random numbers of the same key, which may be all", 1),
        ([context(RIGHT, RIGHT)], exact(draws_otherwise=True), SidesVerdict.IDENTICAL, "the same bits", 0),
        ([context(RIGHT, RIGHT)], exact(moved=("a",), moved_by=1.4), SidesVerdict.BEGINS_OTHERWISE,
         "(a), by 1.4 of their size at most; from OLD's the step computes the same", 1),
        ([context(RIGHT, CRASHED)], exact(moved=("a",), batches=(2,)), SidesVerdict.COULD_NOT_RUN, "NEW, torch-jit-fp32-x1", 3),
        ([context(RIGHT, RIGHT)], exact(batches=(2, 3), batches_by=3e-8), SidesVerdict.OTHER_BATCH,
         "batch() gives other numbers under NEW, by 3e-08 of their size at most; from OLD's the step computes the same", 1),
        ([context(RIGHT, CRASHED)], exact(), SidesVerdict.COULD_NOT_RUN, "NEW, torch-jit-fp32-x1: failed:crash: why failed", 3),
        ([context(NOT_THERE, RIGHT)], exact(), SidesVerdict.COULD_NOT_RUN, "OLD, torch-jit-fp32-x1: unsupported", 3),
        ([context(NOT_THERE, NOT_THERE)], exact(), SidesVerdict.COULD_NOT_RUN, "no context that was asked for", 3),
        ([context(NOT_THERE, NOT_THERE), context(RIGHT, RIGHT)], exact(), SidesVerdict.IDENTICAL, "in 1 context", 0),
        ([context(RIGHT, NOBODY_KNOWS)], exact(), SidesVerdict.CANNOT_TELL, "NEW, torch-jit-fp32-x1: unknown", 4),
        ([context(RIGHT, CRASHED), context(RIGHT, WRONG)], exact(), SidesVerdict.NEW_WRONG, "NEW is wrong", 1),
    ],
)  # fmt: skip
def test_each_pair_of_sides_has_one_verdict(contexts, programs, name, reason, code):
    """A wrong step of NEW decides before all else, another program before what failed, and that before other first numbers."""
    found = judge_sides(Whole(RIGHT), Whole(RIGHT), [programs], contexts)
    assert (found.name, found.exit_code) == (name, code)
    assert reason in found.reason


def test_gradients_that_are_no_derivative_are_wrong_whatever_the_contexts_say():
    """The verdict on NEW's file as a whole stands for it."""
    found = judge_sides(Whole(RIGHT), Whole(WRONG), [exact()], [context(RIGHT, RIGHT)])
    assert (found.name, found.reason) == (SidesVerdict.NEW_WRONG, "NEW: all regressed")
