"""The table of batch norms: what is read from numbers, with each planted defect told, and each framework's known answers."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.batch_norm_text import batch_norm_block, batch_norm_markdown
from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import Answer, Form, Public, Shard, Taken
from runners.contract.errors import Unsupported
from vigil.audit.batch_norm import NAME, QUESTIONS, findings, normalised, read, scenarios
from vigil.audit.batch_norm_table import batch_norm_table, batch_norms
from vigil.audit.definitions import catalog
from vigil.cli.main import main
from vigil.documents.batch_norm import BatchNormTable
from vigil.frameworks import FRAMEWORKS, OF_BATCH_NORM
from vigil.process.build_spec import fault_entry
from vigil.process.environment import is_installed
from vigil.releases.naming import parse_release
from vigil.steps.processes import Started

ONE = np.float32(1.0)


class Planted:
    """A batch norm in NumPy and float32, as PyTorch documents it, with one thing otherwise where it is asked for."""

    def __init__(self, form: Form, defect: str) -> None:
        self.form, self.defect = form, defect
        self.mean, self.variance = np.zeros(form.channels, np.float32), np.ones(form.channels, np.float32)
        weight = 0.1 if form.momentum is None else form.momentum
        self.weight = np.float32(1.0 - weight if defect == "momentum reversed" else weight)
        self.epsilon = 1e-3 if defect == "epsilon" else 1e-5
        self.scale = np.float32(1.0 if form.scale is None or defect == "scale ignored" else form.scale)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        kept = np.ones(len(x), bool) if mask is None or self.defect == "mask ignored" else mask
        if self.defect == "one value raises" and len(x) == 1:
            raise ValueError("more than one value is needed")
        x = x.astype(np.float32)
        counted = x[kept]
        kind = np.float16 if self.form.precision != "fp32" and self.defect == "half statistics" else np.float32
        mean = counted.mean(0).astype(kind).astype(np.float32)
        variance = counted.var(0, ddof=1 if self.defect == "normalises by the unbiased" else 0)
        if self.defect == "square of the mean":
            variance = np.maximum(np.square(counted).mean(0) - np.square(counted.mean(0)), 0)
        is_evaluation = step == asked.EVALUATION or (step == asked.FROZEN and self.defect == "frozen is evaluation")
        if is_evaluation:
            mean, variance = self.mean, self.variance
            if self.defect == "evaluation by the batch":
                mean, variance = counted.mean(0), counted.var(0)
        output = normalised(x, mean, variance, self.epsilon, float(self.scale))
        if self.defect == "compiled otherwise" and self.form.mode == "compile":
            output = output * np.float32(1.001)
        if not is_evaluation and self._moves(step):
            for _ in range(2 if self.defect == "moves twice" else 1):
                self._move(counted, kind)
        gradient = self._gradient(x, cotangent) if step in (asked.BACKWARD, asked.FROZEN) else None
        return Taken(output, "float32" if self.form.precision == "fp32" else "float16", gradient)

    def _moves(self, step: str) -> bool:
        if self.defect == "moves at the backward pass":
            return step in (asked.BACKWARD, asked.FROZEN)
        return self.defect != "moves when stored" or step != asked.UNSTORED

    def _move(self, x: np.ndarray, kind: type) -> None:
        with np.errstate(all="ignore"):
            freedom = 0 if self.defect == "running is biased" or len(x) == 1 else 1
            self.mean = ((ONE - self.weight) * self.mean + self.weight * x.mean(0).astype(kind)).astype(np.float32)
            self.variance = (ONE - self.weight) * self.variance + self.weight * x.var(0, ddof=freedom)

    def _gradient(self, x: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        spread = np.sqrt(x.var(0) + np.float32(self.epsilon))
        normal = (x - x.mean(0)) / spread
        through = 0.0 if self.defect == "gradient without the variance" else normal * (cotangent * normal).mean(0)
        return self.scale * (cotangent - cotangent.mean(0) - through) / spread

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mean, self.variance


def shards(defect: str) -> Callable[[Form, list[np.ndarray], list[np.ndarray]], list[Shard]]:
    """Return two devices that share statistics; or each has its own, or their gradient is that of even shards."""

    def shared(form: Form, xs: list[np.ndarray], cotangents: list[np.ndarray]) -> list[Shard]:
        if defect == "own shards":
            return [shard for pair in zip(xs, cotangents, strict=True) for shard in shared_of(form, [pair[0]], [pair[1]])]
        return shared_of(form, xs, cotangents)

    def shared_of(form: Form, xs: list[np.ndarray], cotangents: list[np.ndarray]) -> list[Shard]:
        whole, pulled = np.concatenate(xs), np.concatenate(cotangents)
        layer = Planted(form, "")
        taken = layer.take(asked.BACKWARD, whole, None, pulled)
        if defect == "even gradient" and len(xs) > 1:  # each device's mean counts alike, whatever its share
            spread = np.sqrt(whole.var(0) + np.float32(1e-5))
            normal = (whole - whole.mean(0)) / spread
            both = [np.split(each, [len(xs[0])]) for each in (pulled, pulled * normal)]
            first, second = (sum(part.mean(0) for part in parts) / len(parts) for parts in both)
            taken = taken._replace(gradient=(pulled - first - normal * second) / spread)
        assert taken.gradient is not None
        cuts = np.cumsum([len(x) for x in xs])[:-1]
        parts = zip(np.split(taken.output, cuts), np.split(taken.gradient, cuts), strict=True)
        return [Shard(output, gradient, layer.mean, layer.variance) for output, gradient in parts]

    return shared


def answers(defect: str = "") -> dict[str, str]:
    """Return what is read of a planted layer."""
    public = Public(2, lambda form: Planted(form, defect), shards(defect))
    given = scenarios()
    return read(given, {each.name: asked._asked(public, each) for each in given})


CLEAN = {
    "default_momentum": "0.1", "momentum": "0.9", "epsilon": "1e-05", "normalises": "biased", "running": "unbiased",
    "scale": "used", "gradient": "right", "moves": "at the forward pass", "two_forwards": "2 moves",
    "evaluation": "running ones, moved", "one_backward": "2 moves",
    "no_gradient": "1 move", "frozen": "as in training; 1 move", "one_value": "zeros",
    "one_variance": "adds 0", "mask": "left out of both statistics", "large_mean": "right", "jit": "as eager",
    "compile": "as eager",
    "even": "whole batch normalises; whole batch (unbiased) kept; gradient right",
    "uneven": "whole batch normalises; whole batch (unbiased) kept; gradient right",
    "fp16": "gives float16; mean in float32", "fp16_large": "output right, running variance right",
}  # fmt: skip


def test_a_layer_without_defects_is_read_as_it_is():
    """Every answer is what the layer does, and contradicts no documentation of PyTorch."""
    found = answers()
    assert {key: found[key] for key in CLEAN} == CLEAN
    assert set(found) == set(QUESTIONS)
    assert findings({"torch.nn.Planted": found}) == []


@pytest.mark.parametrize(
    ("defect", "question", "answer"),
    [
        ("momentum reversed", "momentum", "0.1"),
        ("epsilon", "epsilon", "0.001"),
        ("normalises by the unbiased", "normalises", "unbiased"),
        ("running is biased", "running", "biased"),
        ("scale ignored", "scale", "ignored"),
        ("gradient without the variance", "gradient", "wrong"),
        ("moves at the backward pass", "moves", "at the backward pass"),
        ("moves at the backward pass", "two_forwards", "0 moves"),
        ("moves at the backward pass", "evaluation", "running ones, still 0 and 1"),
        ("moves when stored", "moves", "when the caller stores them"),
        ("moves twice", "momentum", "0.99"),
        ("evaluation by the batch", "evaluation", "the batch's"),
        ("frozen is evaluation", "frozen", "as in evaluation; 0 moves"),
        ("one value raises", "one_value", "raises ValueError: more than one value is needed"),
        ("mask ignored", "mask", "ignored"),
        ("half statistics", "fp16", "gives float16; running mean off by 0.0002"),
        ("compiled otherwise", "compile",
         "other than eager: output of training, output of backward, output of evaluation, output of no gradient"),
        ("own shards", "uneven", "own shard normalises; own shard (unbiased) kept; gradient right"),
        ("even gradient", "uneven", "whole batch normalises; whole batch (unbiased) kept; gradient wrong"),
    ],
)  # fmt: skip
def test_a_planted_defect_is_told(defect, question, answer):
    """The answer to the question that it is of changes, and says what the layer does."""
    assert answers(defect)[question] == answer != CLEAN[question]


def test_a_variance_by_squares_is_told_at_a_large_mean():
    """With the variance that was used in the place of the right one; of small numbers it is right."""
    found = answers("square of the mean")
    assert "in place of" in found["large_mean"]
    assert found["normalises"] == "biased"


def test_a_gradient_of_even_shards_is_right_where_they_are():
    """Each device's mean counts alike then."""
    told = answers("even gradient")
    assert told["even"] == CLEAN["even"]
    assert [each.question for each in findings({"own.Planted": told})] == ["uneven"]


@pytest.mark.parametrize("defect", ["momentum reversed", "running is biased", "compiled otherwise", "scale ignored"])
def test_what_the_documentation_does_not_say_is_a_finding(defect):
    """And what one mode does otherwise; a layer of another framework is held to its own documentation."""
    assert findings({"torch.nn.Planted": answers(defect)})


def test_what_raises_or_is_lacking_contradicts_nothing():
    """It is an answer of its own."""
    given = scenarios()
    raised = {each.name: Answer(asked.RAISES, "ValueError: no", (), {}) for each in given}
    assert set(read(given, raised).values()) == {"raises ValueError: no", "-"}
    lacking = {each.name: Answer(asked.CANNOT, "no mask", (), {}) for each in given}
    assert set(read(given, lacking).values()) == {"-"}
    assert findings({"torch.nn.Planted": read(given, raised), "keras.layers.Planted": read(given, lacking)}) == []


def test_a_layer_that_gives_nan_is_read_to_its_end():
    """No answer fits, and none is made up."""

    class Broken(Planted):
        def take(self, step: str, *arguments: Any) -> Taken:
            taken = super().take(step, *arguments)
            return taken._replace(output=np.full_like(taken.output, np.nan))

    given = scenarios()
    found = read(given, {each.name: asked._asked(Public(2, lambda form: Broken(form, "")), each) for each in given})
    assert found["epsilon"] == found["normalises"] == "no epsilon beside a variance gives these outputs"
    assert found["one_value"] == "NaN"


def test_scenarios_come_back_from_their_files(tmp_path):
    """Arrays to the bit, steps, shards and masks."""
    asked.write_scenarios(tmp_path, scenarios())
    for wrote, got in zip(scenarios(), asked.read_scenarios(tmp_path), strict=True):
        assert (wrote.name, wrote.steps, wrote.shards, wrote.form) == (got.name, got.steps, got.shards, got.form)
        np.testing.assert_array_equal(wrote.x, got.x)
        assert (wrote.mask is None) == (got.mask is None)


def test_what_a_layer_has_no_form_of_is_no_error():
    """A runner says so with Unsupported; a name that the release lacks is absent."""

    def make(form: Form) -> Any:
        raise Unsupported("no such form")

    one = scenarios()[0]
    assert asked._asked(Public(2, make), one)[:2] == (asked.CANNOT, "no such form")
    assert asked._asked(None, one).status == asked.ABSENT


KERAS = {"default_momentum": "0.99", "momentum": "0.1", "epsilon": "0.001", "normalises": "biased",
         "running": "biased", "moves": "at the forward pass", "frozen": "as in evaluation; 0 moves",
         "mask": "left out of both statistics"}  # fmt: skip
KNOWN: dict[str, Mapping[str, Mapping[str, str]]] = {
    "torch": {
        "torch.nn.BatchNorm2d": {"default_momentum": "0.1", "momentum": "0.9", "normalises": "biased", "running": "unbiased",
                                 "moves": "at the forward pass", "no_gradient": "1 move", "frozen": "as in training; 1 move"},
        "keras.layers.BatchNormalization": KERAS,
    },
    "tensorflow": {
        "tensorflow.compat.v1.nn.fused_batch_norm": {"normalises": "biased", "running": "unbiased",
                                                     "jit": "as eager", "moves": "when the caller stores them"},
        "keras.layers.BatchNormalization": KERAS,
    },
    "jax": {
        "flax.linen.BatchNorm": {"default_momentum": "0.99", "momentum": "0.1", "running": "biased",
                                 "moves": "when the caller stores them", "mask": "left out of both statistics",
                                 "uneven": "plain mean of shards normalises; plain mean of shards kept; gradient right"},
        "flax.nnx.BatchNorm": {"epsilon": "1e-05", "moves": "at the forward pass", "jit": "as eager"},
        "keras.layers.BatchNormalization": KERAS,
    },
    "mxnet": {
        "mxnet.gluon.nn.BatchNorm (4 axes)": {"default_momentum": "0.9", "momentum": "0.1", "running": "biased",
                                              "moves": "at the backward pass", "two_forwards": "0 moves"},
        "mxnet.nd.BatchNorm (4 axes)": {"scale": "ignored", "epsilon": "0.001"},
    },
}  # fmt: skip


@pytest.mark.parametrize("framework", KNOWN)
def test_a_framework_is_asked_and_tells_what_is_known_of_it(framework, tmp_path):
    """Its layers answer in a process of their own, and the table is written and shown."""
    if not is_installed(framework):
        pytest.skip(f"{framework} is not installed: `vigil audit batch_norm --release {framework}` asks it (docs/batch-norm.md)")
    found = batch_norms(Started(framework=framework), tmp_path / "process")
    assert found.failure is None, found.failure
    for layer, known in KNOWN[framework].items():
        assert {key: found.answers[layer][key] for key in known} == known, layer
    document = batch_norm_table([found], tmp_path, command="vigil audit batch_norm")
    assert BatchNormTable.read(tmp_path) == document
    block = batch_norm_block(document, directory="runs/x")
    assert max(map(len, block.splitlines())) <= 110
    assert all(layer in block and layer in batch_norm_markdown(document) for layer in KNOWN[framework])


@pytest.mark.tensorflow
def test_a_gradient_of_uneven_shards_that_is_wrong_is_told_of_a_framework(tmp_path):
    """Planted in Keras's own layer on two devices: numbers are right, and so is the gradient of even shards."""
    fault = fault_entry(str(Path(__file__).parent / "faults" / "sync_batch_norm_even_gradient.py"))
    found = batch_norms(Started(framework="tensorflow", fault=fault), tmp_path / "process")
    layer = "keras.layers.BatchNormalization (synchronized)"
    assert found.answers[layer]["even"] == "whole batch normalises; whole batch kept; gradient right"
    of_shards = [(each.layer, each.answer) for each in found.findings if each.question in ("even", "uneven")]
    assert of_shards == [(layer, "whole batch normalises; whole batch kept; gradient wrong")]


def test_the_name_of_the_table_is_no_operators():
    """`vigil audit batch_norm` has one meaning."""
    assert NAME not in {*catalog(), *(entry.family for entry in catalog().values())}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([NAME, "softmax"], "alone"),
        ([NAME, "--quick"], "--quick"),
        ([NAME, "--fault", "fault.py"], "--fault"),
        ([NAME, "--framework", "theano"], "Allowed: torch, tensorflow, jax, mxnet"),
        ([NAME, "--release", "mxnet==1.9.1", "--python", "python"], "one of the two"),
        ([NAME, "--python", "python"], "--framework"),
        (["softmax", "--framework", "torch", "--markdown", "table.md"], "--markdown"),
    ],
)
def test_what_the_table_cannot_be_asked_is_refused(arguments, said):
    """With what is allowed."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        assert main(["audit", *arguments]) == 2
    assert said in told.getvalue()


def test_mxnet_has_the_numpy_that_it_works_with():
    """Its environments pin it; other frameworks' do not, and no context can name it."""
    assert "numpy==1.23.5" in parse_release("mxnet==1.9.1").requirements()
    assert "numpy" in parse_release("torch").requirements()
    assert set(OF_BATCH_NORM) - set(FRAMEWORKS) == {"mxnet"}
