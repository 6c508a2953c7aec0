"""What files of TensorFlow may hold: loops and branches by tensors, text, and layers that say what is wrong."""

from __future__ import annotations

import hashlib
import importlib
import types

import numpy as np
import pytest

from runners.contract.steps import frame
from runners.contract.steps.own import OwnFileError, load_own

pytestmark = pytest.mark.tensorflow
pytest.importorskip("tensorflow")
STEP = """
import numpy as np, tensorflow as tf

def build():
    return tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(3)])

def batch(seed):
    return np.random.default_rng(seed).normal(size=(4, 5)).astype(np.float32)

def loss(model, batch):
    return tf.reduce_mean(tf.square(model(batch)))
"""
BY_TENSORS = """
def grown(x):
    if tf.reduce_sum(tf.abs(x)) > 0.0:
        return x * 2.0
    return x

def loss(model, batch):
    x = model(batch)
    for _ in tf.range(3):
        x = grown(tf.sin(x))
    return tf.reduce_mean(tf.square(x))

def predict(model, batch):
    return grown(model(batch))
"""


@pytest.fixture
def answerers(tmp_path):
    """Return a function that gives what answers for a file: its oracle, or a mode, and the file's first batch."""
    step = importlib.import_module("runners.tensorflow.step")

    def of(source: str, mode: str | None = None, precision: str = "fp32"):
        path = tmp_path / "my_step.py"
        path.write_text(source, encoding="utf-8")
        own = load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())
        request = types.SimpleNamespace(precision=precision, mode=mode, seeds=(), threads=1, device="cpu", devices=1)
        batch = frame._Batches(own, step.FRAMEWORK.to_numpy, {})(0)
        return step.Program(own, request, {}) if mode else step.Oracle(own, request), batch

    return of


@pytest.mark.parametrize("mode", ["jit", "compile", None])
@pytest.mark.parametrize("ask", ["train", "evaluate", "taps"])
def test_loops_and_branches_by_tensors_are_those_of_eager_mode(answerers, mode, ask):
    """In a graph they are what AutoGraph makes of them, in the file's own helpers, too."""
    (eager, batch), (graph, _) = answerers(STEP + BY_TENSORS, "eager"), answerers(STEP + BY_TENSORS, mode)
    given = [[batch]] if ask == "train" else batch
    expected, found = getattr(eager, ask)(given), getattr(graph, ask)(given)
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        np.testing.assert_allclose(found[name], tensor, rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_step_in_halves_may_have_loops_by_tensors(answerers):
    """Where the loss scale is settled before a step is interpreted."""
    oracle, batch = answerers(STEP + BY_TENSORS, precision="fp16")
    assert np.isfinite(oracle.train([[batch]])["loss"])


@pytest.mark.parametrize(
    "words", ["tf.constant(WORDS[places])", "WORDS[places]", "WORDS.astype(object)[places]"], ids=["tensor", "words", "objects"]
)
def test_text_is_held_to_the_words_themselves(answerers, words):
    """Objects in memory are others in each call, and in each process: the words are the same."""
    source = f"""
WORDS = np.array(["red", "green", "blue"])

def build():
    given = tf.keras.Input((4,), dtype="string")
    looked_up = tf.keras.layers.StringLookup(vocabulary=list(WORDS))(given)
    return tf.keras.Model(given, tf.keras.layers.Embedding(4, 2)(looked_up))

def batch(seed):
    places = np.random.default_rng(seed).integers(0, 3, (6, 4))
    return {words}
"""
    program, batch = answerers(STEP + source, "jit")
    assert batch.dtype.kind in "SU"
    assert batch[:, :1].tolist() == answerers(STEP + source, "jit")[1][:, :1].tolist()
    oracle, _ = answerers(STEP + source)
    assert oracle.train([[batch]])["loss"] == pytest.approx(program.train([[batch]])["loss"], rel=1e-5)


@pytest.mark.parametrize(
    ("objects", "said"), [("[None, 'word']", r"objects \(NoneType, str\)"), (r"[b'zero\0', b'']", r"objects \(bytes\)")]
)
def test_objects_that_are_no_text_are_refused(answerers, objects, said):
    """By what they are, and words that NumPy would cut."""
    with pytest.raises(OwnFileError, match=f"batch: holds an array of {said}"):
        answerers(STEP + f"\ndef batch(seed):\n    return np.array({objects}, object)\n", "jit")


def test_what_a_layer_says_is_told(answerers):
    """Keras puts a line before it that names the layer's call alone."""
    source = """
class Layer(tf.keras.layers.Layer):
    def call(self, x):
        raise ValueError("boom")

def loss(model, batch):
    return tf.reduce_mean(Layer()(model(batch)))
"""
    program, batch = answerers(STEP + source, "jit")
    with pytest.raises(OwnFileError, match=r"my_step.py:\d+: loss: ValueError: boom$"):
        program.train([[batch]])


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_a_stateful_layer_begins_each_call_anew(answerers, mode):
    """What it carries over is no variable of the model; from one step to the next it is carried."""
    source = """
def build():
    given = tf.keras.Input((3, 5), batch_size=4)
    return tf.keras.Model(given, tf.keras.layers.LSTM(2, stateful=True)(given))

def batch(seed):
    return np.random.default_rng(seed).normal(size=(4, 3, 5)).astype(np.float32)
"""
    (program, batch), (oracle, _) = answerers(STEP + source, mode), answerers(STEP + source)
    first, second, again = (float(program.train([[batch]] * steps)["loss"]) for steps in (1, 2, 1))
    assert first == again
    assert second != pytest.approx(first, rel=1e-3)
    for steps, loss in ((1, first), (2, second)):
        assert oracle.train([[batch]] * steps)["loss"] == pytest.approx(loss, rel=1e-5)


def test_gradients_beside_the_first_parameters_are_those_of_the_loss_there(answerers):
    """A mean of squares of w x + b: moved by a tenth, the gradient of b is a sixth of the sum of the outputs."""
    oracle, batch = answerers(STEP)
    exact, first = oracle.train([[batch]]), oracle.parameters()
    assert all((each == exact[f"gradients/{name}"]).all() for name, each in oracle.gradients_at(batch, {}).items())
    found = oracle.gradients_at(batch, {name: 0.1 * np.ones(each.shape) for name, each in first.items()})
    kernel, bias = (each.astype(np.float64) + 0.1 for each in first.values())
    outputs = batch.astype(np.float64) @ kernel + bias
    of_kernel, of_bias = found.values()
    assert np.allclose(of_kernel, batch.T.astype(np.float64) @ outputs / 6, rtol=1e-12)
    assert np.allclose(of_bias, outputs.sum(0) / 6, rtol=1e-12)
