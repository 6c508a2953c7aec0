"""What scripts carry out of a user's step: in every mode and precision, what float64 gives but for rounding."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from runners.contract.steps.own import CAST, PREDICT, ROWS
from vigil.narrow.own_tails import EVALUATED, STEPPED, UPDATED, body_of

TORCH = '''
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(4, 6, generator=generator), "y": torch.arange(4) % 3, "name": "a batch"}


def loss(model, batch):
    return nn.functional.cross_entropy(model(batch["x"]), batch["y"])


def predict(model, batch):
    return model(batch["x"])


def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
'''
JAX = '''
import jax
import jax.numpy as jnp
import optax


def build():
    return {"first": jax.random.normal(jax.random.key(0), (6, 8)), "layers": [jnp.ones((8, 3)), 4]}


def batch(seed):
    return {"x": jax.random.normal(jax.random.key(seed), (4, 6)), "y": jnp.arange(4) % 3}


def loss(model, batch, key):
    noise = jax.random.normal(key, (8,), jnp.float32)
    hidden = jnp.tanh(batch["x"] @ model["first"] / model["layers"][1]) * noise
    return optax.softmax_cross_entropy_with_integer_labels(hidden @ model["layers"][0], batch["y"]).mean()


def predict(model, batch):
    return batch["x"] @ model["first"], batch["y"]


def optimizer(model):
    return optax.sgd(0.1, momentum=0.9)
'''
# As a model of flax.linen has them: what is beside `params` is not trained, and the loss gives what becomes of it.
COLLECTIONS = (
    JAX.replace('model["', 'model["params"]["')
    .replace('return {"first"', 'return {"mean": jnp.zeros(6), "params": {"first"')
    .replace("4]}", "4]}}")
    .replace(".mean()\n", '.mean(), {"mean": batch["x"].mean(0)}\n')
)
MODULE = '''
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.first, self.norm = nnx.Linear(6, 8, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        return self.head(jnp.tanh(self.norm(self.first(x))))


def build():
    return Model()


def batch(seed):
    return {"x": jax.random.normal(jax.random.key(seed), (4, 6)), "y": jnp.arange(4) % 3}


def loss(model, batch):
    return optax.softmax_cross_entropy_with_integer_labels(model(batch["x"]), batch["y"]).mean()


def predict(model, batch):
    return model(batch["x"])


def optimizer(model):
    return optax.sgd(0.1, momentum=0.9)
'''
TENSORFLOW = '''
import tensorflow as tf

keras = tf.keras


def build():
    layers = [keras.layers.Dense(8), keras.layers.BatchNormalization(), keras.layers.Dense(3)]
    return keras.Sequential([keras.Input((6,)), *layers])


def batch(seed):
    return {"x": tf.random.stateless_normal((4, 6), [seed, 1]), "y": tf.range(4) % 3}


def loss(model, batch, training=True):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch["y"], model(batch["x"], training=training)))


def predict(model, batch):
    return model(batch["x"], training=False)


def optimizer(model):
    return keras.optimizers.SGD(0.1, momentum=0.9)
'''
# How far a number may be off, beside numbers of about 1.
ALLOWED = {"fp32": 2e-5, "bf16": 0.1, "fp16": 0.02}


@pytest.fixture
def keras_as_it_was():
    """Float64 is set for all of Keras."""
    yield
    import tensorflow as tf

    tf.keras.backend.set_floatx("float32")
    tf.keras.mixed_precision.set_global_policy("float32")


def found_by(framework: str, source: str, mode: str, kind: str, precision: str, **more) -> tuple[dict, dict]:
    """Return what a script computes in a precision and in float64."""
    takes = [name for name in ("key", "training") if f"batch, {name}" in source]
    has = [name for name in (PREDICT, ROWS, CAST) if f"def {name}(" in source]
    given = {"seed": 0, "scale": 8.0 if precision == "fp16" else 1.0, "rows": None} | more
    body = body_of(framework, mode, kind, precision=precision, takes=takes, has=has, has_modules="nnx" in source, **given)
    names: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source + body, names)
        return names["in_precision"](), names["in_float64"]()


def assert_near(found: dict, wide: dict, allowed: float) -> None:
    """Assert that both are of the same tensors, and equal but for rounding."""
    assert found.keys() == wide.keys()
    for name, tensor in wide.items():
        np.testing.assert_allclose(found[name], tensor, rtol=allowed, atol=allowed, err_msg=name)


EXPECTED = {
    "torch": ("loss", "gradients/0.weight", "stats/1.running_mean", "outputs/0", "params/3.bias",
              "optimizer/0.weight/momentum_buffer"),
    "jax": ("loss", "gradients/first", "gradients/layers/0", "outputs/0", "outputs/1", "params/first", "optimizer/0/trace/first"),
    "collections": ("loss", "gradients/params/first", "outputs/0", "params/params/first", "optimizer/0/trace/params/first"),
    "module": ("loss", "gradients/first/kernel", "stats/norm/mean", "outputs/0", "params/head/bias",
               "optimizer/0/trace/head/bias"),
    "tensorflow": ("loss", "gradients/sequential/dense/kernel", "stats/sequential/batch_normalization/moving_mean", "outputs/0",
                   "params/sequential/dense/kernel", "optimizer/sgd/learning_rate"),
}  # fmt: skip


def assert_names(case: str, found: dict, kind: str) -> None:
    """Assert that the tensors have the names that a run has for them."""
    groups = {STEPPED: ("loss", "gradients", "stats"), EVALUATED: ("loss", "outputs"), UPDATED: ("params", "optimizer")}[kind]
    assert {name for name in EXPECTED[case] if name.split("/")[0] in groups} <= found.keys()


SETTINGS = [(mode, "fp32") for mode in ("eager", "jit", "compile")] + [("eager", "bf16"), ("eager", "fp16")]
CASES = [
    pytest.param(kind, *setting, marks=[] if setting == SETTINGS[0] else [pytest.mark.slow])
    for kind, setting in itertools.product((STEPPED, EVALUATED, UPDATED), SETTINGS)
]


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "mode", "precision"), CASES)
def test_torch(kind, mode, precision) -> None:
    found, wide = found_by("torch", TORCH, mode, kind, precision)
    assert_near(found, wide, ALLOWED[precision])
    assert_names("torch", found, kind)


@pytest.mark.jax
@pytest.mark.parametrize(("kind", "mode", "precision"), CASES)
@pytest.mark.parametrize("case", ["jax", "module", "collections"])
def test_jax(case, kind, mode, precision) -> None:
    source = {"jax": JAX, "module": MODULE, "collections": COLLECTIONS}[case]
    found, wide = found_by("jax", source, mode, kind, precision)
    # The gradients of a batch norm of four rows round by more than bfloat16 has digits for.
    if (case, kind, precision) != ("module", STEPPED, "bf16"):
        assert_near(found, wide, ALLOWED[precision])
    assert_names(case, found, kind)
    assert not any(name.endswith("/mean") for name in found) or case == "module"


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mode", "precision"), CASES)
def test_tensorflow(keras_as_it_was, kind, mode, precision) -> None:
    found, wide = found_by("tensorflow", TENSORFLOW, mode, kind, precision)
    assert_near(found, wide, ALLOWED[precision])
    assert_names("tensorflow", found, kind)


@pytest.mark.torch
@pytest.mark.parametrize(("rows", "own"), [(":1", False), ("::-1", False), (":1", True)])
def test_rows_are_taken_as_the_file_takes_them(rows, own) -> None:
    """By its first axis, or by its own function."""
    taking = '\n\ndef take_rows(batch, indices):\n    return {**batch, "x": batch["x"][indices], "y": batch["y"][indices]}\n'
    source = TORCH.replace("nn.BatchNorm1d(8)", "nn.ReLU()") + (taking if own else "")
    found, wide = found_by("torch", source, "eager", EVALUATED, "fp32", rows=rows)
    assert_near(found, wide, ALLOWED["fp32"])
    whole, _ = found_by("torch", TORCH.replace("nn.BatchNorm1d(8)", "nn.ReLU()"), "eager", EVALUATED, "fp32")
    step = {":1": slice(1), "::-1": slice(None, None, -1)}[rows]
    np.testing.assert_allclose(found["outputs/0"], whole["outputs/0"][step], rtol=1e-5, atol=1e-6)
