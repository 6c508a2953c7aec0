"""What would not be held to anything is told in one line, and what a loss changes is held, too."""

from __future__ import annotations

import hashlib
import textwrap
import types

import numpy as np
import pytest

from runners.contract.steps.own import OwnFileError, load_own

JAX = """
import dataclasses
import jax, jax.numpy as jnp, numpy as np
from flax import nnx

@dataclasses.dataclass
class Held:
    x: object

class Net(nnx.Module):
    def __init__(self):
        self.w, self.teacher = nnx.Param(jnp.ones((5, 3))), nnx.Variable(jnp.zeros((5, 3)))

def build():
    return Net()

def batch(seed):
    return np.random.default_rng(seed).normal(size=(8, 5)).astype(np.float32)

def loss(model, batch):
    model.teacher[...] = 0.5 * model.teacher[...] + jax.lax.stop_gradient(model.w[...])
    return ((batch @ model.w[...]) ** 2).mean()

def predict(model, batch):
    return jnp.fft.fft(batch)[:, :3] * model.w[...].sum()
"""
TENSORFLOW = """
import numpy as np, tensorflow as tf

class Net(tf.Module):
    def __init__(self):
        super().__init__("net")
        self.w = tf.Variable(np.ones((5, 3), np.float32), name="w")
        self.unused = tf.Variable(np.ones(2, np.float32), name="unused")

def build():
    return Net()

def batch(seed):
    return np.random.default_rng(seed).normal(size=(8, 5)).astype(np.float32)

def loss(model, batch):
    model.w.assign(model.w / tf.norm(model.w))
    return tf.reduce_mean((batch @ model.w) ** 2)

def predict(model, batch):
    return tf.signal.fft(tf.cast(batch @ model.w, tf.complex64)), 3, None

def optimizer(model):
    return tf.keras.optimizers.SGD(0.1)
"""
_WHERE = [
    ("build", "return {'w': jnp.ones((5, 3)), 'f': jnp.ones(3, jnp.complex64)}", "f is of complex64. Allowed: float32"),
    ("build", "return {'w': jnp.ones((5, 3)), 'f': jax.nn.relu}", "Allowed: a tree of arrays"),
    ("batch", "return Held(np.ones((8, 5)))", "batch: holds a Held"),
    ("batch", "return jax.random.key(0)", "batch: holds a random key"),
    ("predict", "return Held(batch)", "predict: gave a Held"),
    ("loss", "model.w[...] = model.w[...] * 0.5\n    return model.w[...].sum()", "loss: changes w, an nnx.Param"),
]  # fmt: skip
_ARGUMENTS = {"build": "", "batch": "seed", "loss": "model, batch", "predict": "model, batch"}


def _own(tmp_path, text, name):
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    return load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())


def _request(mode="jit"):
    return types.SimpleNamespace(precision="fp32", mode=mode, seeds=(), threads=1, device="cpu", devices=1)


def _with(text, function, body):
    return f"{text}\ndef {function}({_ARGUMENTS[function]}):\n    {body}\n"


def _judge(step, own):
    batch = step.to_numpy(own.call("batch", 0))
    oracle = step.Oracle(own, _request())
    oracle.train([[batch]])
    oracle.evaluate(batch)


@pytest.mark.jax
@pytest.mark.parametrize(("function", "body", "told"), _WHERE)
def test_what_jax_could_not_judge_is_told(tmp_path, function, body, told):
    step = pytest.importorskip("runners.jax.step")
    own = _own(tmp_path, _with(JAX, function, body), f"unjudged_{_WHERE.index((function, body, told))}")
    with pytest.raises(OwnFileError, match=told) as error:
        _judge(step, own)
    assert "\n" not in str(error.value)


@pytest.mark.jax
def test_both_parts_of_complex_outputs_and_what_a_loss_changes_are_held_in_jax(tmp_path):
    step = pytest.importorskip("runners.jax.step")
    own = _own(tmp_path, JAX, "complex_of_jax")
    batch = step.to_numpy(own.call("batch", 0))
    oracle, program = step.Oracle(own, _request()), step.Program(own, _request(), {})
    exact, observed = oracle.evaluate(batch)["outputs/0"], program.evaluate(batch)["outputs/0"]
    assert exact.shape == observed.shape == (8, 3, 2)
    assert np.allclose(exact, observed, atol=1e-5)
    assert np.abs(exact[..., 1]).max() > 0.1
    assert np.array_equal(program.train([[batch]])["stats/teacher"], np.ones((5, 3)))


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("function", "body", "told"),
    [
        ("predict", "return [object()]", "predict: gave a object"),
        ("predict", "return tf.RaggedTensor.from_row_lengths(batch, [3, 5])", "predict: gave a RaggedTensor"),
        ("batch", "return tf.ragged.constant([[1.0], [2.0, 3.0]])", "batch: holds a RaggedTensor"),
        ("build", "net = Net()\n    net.c = tf.Variable([1j], name='c')\n    return net", "c is trained, and of"),
    ],
)  # fmt: skip
def test_what_tensorflow_could_not_judge_is_told(tmp_path, function, body, told):
    step = pytest.importorskip("runners.tensorflow.step")
    own = _own(tmp_path, _with(TENSORFLOW, function, body), "unjudged_tensorflow")
    with pytest.raises(OwnFileError, match=told) as error:
        _judge(step, own)
    assert "\n" not in str(error.value)


@pytest.mark.tensorflow
def test_a_parameter_that_a_loss_changes_is_held_in_tensorflow(tmp_path):
    """Its update begins with what the loss made of it; one without a gradient stays."""
    step = pytest.importorskip("runners.tensorflow.step")
    own = _own(tmp_path, TENSORFLOW, "changing")
    batch = step.to_numpy(own.call("batch", 0))
    oracle = step.Oracle(own, _request())
    exact = oracle.train([[batch]])
    assert oracle.facts()["changed"] == ["w"]
    program = step.Program(own, _request(), oracle.facts())
    observed = program.train([[batch]])
    assert np.allclose(exact["stats/w"], np.ones((5, 3)) / np.sqrt(15.0), atol=1e-12)
    assert np.allclose(observed["stats/w"], exact["stats/w"], atol=1e-6)
    assert np.array_equal(observed["before/params/w"], observed["stats/w"])
    assert "gradients/unused" not in exact
    before = {name[len("before/") :]: value for name, value in observed.items() if name.startswith("before/")}
    after = oracle.update(before, {"w": observed["gradients/w"]})
    for name, value in after.items():
        assert np.allclose(value, observed[name], atol=1e-6), name
    outputs = oracle.evaluate(batch), program.evaluate(batch)
    assert [each["outputs/0"].shape for each in outputs] == [(8, 3, 2)] * 2
    assert [int(each["outputs/1"]) for each in outputs] == [3, 3]


@pytest.mark.tensorflow
def test_what_a_batch_holds_in_float64_is_not_rounded_in_tensorflow(tmp_path):
    """It is computed in float64 by the program, too, until it is cast: noise begins there."""
    step = pytest.importorskip("runners.tensorflow.step")
    text = _with(TENSORFLOW, "batch", "return np.random.default_rng(seed).normal(size=(8, 5))")
    body = "return tf.reduce_mean(tf.cast(tf.exp(batch) - tf.exp(batch + 1e-9), tf.float32) @ model.w)"
    own = _own(tmp_path, _with(text, "loss", body), "wide_batch")
    batch = step.to_numpy(own.call("batch", 0))
    oracle = step.Oracle(own, _request())
    exact = oracle.train([[batch]])
    oracle.under(0)
    assert np.allclose(oracle.train([[batch]])["loss"], exact["loss"], rtol=1e-5)
    assert np.allclose(step.Program(own, _request(), oracle.facts()).train([[batch]])["loss"], exact["loss"], rtol=1e-5)
