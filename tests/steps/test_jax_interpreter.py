"""A program of JAX in float64: the numbers of JAX's own float64, noise as large as rounding, and what is wrong stands out."""

import hashlib
import textwrap
import types

import numpy as np
import pytest

from runners.contract.errors import Unsupported
from runners.contract.steps.measure import line_of
from runners.contract.steps.own import OwnFileError, load_own

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax
optax = pytest.importorskip("optax")

from runners.jax import step  # noqa: E402
from runners.jax.interpreter import Interpreter, evaluate, flatten, is_shown, x64  # noqa: E402

pytestmark = pytest.mark.jax

X = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(8, 8)).astype(np.float32) / 4
KEY = jax.random.PRNGKey(3)


def _scanned(x, w):
    carried, rows = lax.scan(lambda c, row: (jnp.tanh(c @ w + row), c.sum()), jnp.zeros(8, x.dtype), x, reverse=True)
    return carried.sum() + (rows * rows).sum()


def _while(x, w):
    return lax.while_loop(lambda c: c[1] < 4, lambda c: (jnp.sin(c[0] @ w), c[1] + 1), (x, 0))[0].sum()


def _cond(x, w):
    return lax.cond(x[0, 0] > 0, lambda v: jnp.exp(v @ w * 0.25), lambda v: jnp.cos(v @ w), x).sum()


@jax.custom_vjp
def _gate(x):
    return jnp.tanh(x) * 1.5


_gate.defvjp(lambda x: (_gate(x), x), lambda x, g: (g * (1.0 - jnp.tanh(x) ** 2) * 1.5,))


def _custom(x, w):
    return (_gate(x @ w) ** 2).sum()


def _remat(x, w):
    return jax.checkpoint(lambda v: jax.nn.softmax(jax.nn.relu(v @ w) @ w, -1))(x)[:, 2].sum()


def _dropout(x, w):
    # float32 by name: with x64, others would be drawn
    keep = jax.random.uniform(KEY, x.shape, jnp.float32) < 0.75
    rows = lax.scan(lambda c, k: (c, jax.random.uniform(k, (8,), jnp.float32) < 0.5), 0, jax.random.split(KEY, 6))[1]
    return jnp.where(keep & rows, x @ w, 0.0).sum()


def _chosen(x, w):
    values, places = lax.top_k(x @ w, 2)
    table = jnp.zeros_like(x).at[jnp.arange(6)[:, None], places].add(values)
    return (table * jnp.sort(x, -1)).sum() + jnp.cumsum(x, 0).max() + table[:, ::-1][:, 1:4].min()


def _solved(x, w):
    matrix = w.T @ w + 3.0 * jnp.eye(w.shape[1], dtype=w.dtype)
    return jnp.linalg.solve(matrix, (x @ w).T).sum() + jnp.linalg.slogdet(matrix)[1] + jnp.linalg.inv(matrix)[0, 1]


def _one_number(x, w):
    return jnp.vdot(x, x + 1.0) * jnp.dot(w[0], w[1])


PROGRAMS = [_scanned, _while, _cond, _custom, _remat, _dropout, _chosen, _solved, _one_number]


def _of(function, *arguments):
    return flatten(jax.make_jaxpr(function)(*arguments))


def _relative(one, other):
    return np.linalg.norm(np.asarray(one) - np.asarray(other)) / np.linalg.norm(np.asarray(other))


@pytest.mark.parametrize("function", PROGRAMS)
def test_a_program_in_float64_equals_that_of_jax(function):
    """Loss and gradients are those of the same function on float64 arrays, whatever it is made of."""
    differentiated = function if function is _while else jax.value_and_grad(function, argnums=(0, 1))
    found = Interpreter().run(_of(differentiated, X, W), [X, W])
    with x64(True):
        expected = jax.tree_util.tree_leaves(jax.jit(differentiated)(np.float64(X), np.float64(W)))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float64
        assert _relative(one, other) < 1e-12


CONVOLUTIONS = [
    {"window_strides": (1, 1), "padding": "SAME"},
    {"window_strides": (2, 1), "padding": [(2, 1), (0, 3)]},
    {"window_strides": (1, 2), "padding": "VALID", "rhs_dilation": (2, 1)},
    {"window_strides": (1, 1), "padding": [(-1, 2), (1, 1)], "lhs_dilation": (2, 3)},
    {"window_strides": (2, 2), "padding": "SAME", "feature_group_count": 2},
]


@pytest.mark.parametrize("how", CONVOLUTIONS)
def test_a_convolution_in_numpy_equals_that_of_xla(how):
    """Forward, and backward, which is a convolution with dilations and groups of its own."""
    random = np.random.default_rng(2)
    image = random.normal(size=(3, 9, 8, 4)).astype(np.float32)
    kernel = random.normal(size=(3, 2, 4 // how.get("feature_group_count", 1), 6)).astype(np.float32)

    def program(image, kernel):
        return (lax.conv_general_dilated(image, kernel, dimension_numbers=("NHWC", "HWIO", "NHWC"), **how) ** 2).sum()

    differentiated = jax.value_and_grad(program, argnums=(0, 1))
    found = Interpreter().run(_of(differentiated, image, kernel), [image, kernel])
    with x64(True):
        expected = jax.tree_util.tree_leaves(jax.jit(differentiated)(np.float64(image), np.float64(kernel)))
    for one, other in zip(found, expected, strict=True):
        assert _relative(one, other) < 1e-12


@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2.0**-24), ("bfloat16", 2.0**-8), ("float16", 2.0**-11)])
def test_a_result_is_off_by_what_rounding_does_to_its_type(dtype, unit):
    """Uniform in one rounding of the type: at most that, and a third of its square on average."""
    x = np.full(4096, np.pi, np.float32)
    flat = _of(lambda x: x.astype(dtype) * x.astype(dtype), x)
    exact, noisy = (Interpreter(draw=draw).run(flat, [x])[0] for draw in (None, 0))
    relative = (noisy - exact) / exact
    # Both factors narrow, and the product is rounded; float32 to itself does not.
    roundings = 1 if dtype == "float32" else 3
    assert np.abs(relative).max() < 1.01 * roundings * unit
    assert np.sqrt(np.mean(relative**2)) == pytest.approx(unit * np.sqrt(roundings / 3), rel=0.1)


def test_a_sum_is_off_by_more_for_more_terms():
    """sqrt(terms) / 3 units come on top."""
    x = np.full((64, 900), np.pi, np.float32)
    flat = _of(lambda x: x.sum(1), x)
    moved = np.concatenate([Interpreter(draw=draw).run(flat, [x])[0] / x.sum(1, np.float64) - 1 for draw in range(8)])
    assert np.sqrt(np.mean(moved**2)) == pytest.approx(11 * 2.0**-24 / np.sqrt(3), rel=0.15)


def test_what_only_moves_numbers_is_not_noisy():
    """Nor is what is exact, as numbers drawn at random are."""
    flat = _of(lambda x: (jnp.concatenate([x.T[::-1], jnp.maximum(x, 0).T]), jax.random.uniform(KEY, (50,))), X)
    for exact, noisy in zip(Interpreter().run(flat, [X]), Interpreter(draw=0).run(flat, [X]), strict=True):
        assert np.array_equal(exact, noisy)
    assert np.array_equal(Interpreter().run(flat, [X])[1], np.asarray(jax.random.uniform(KEY, (50,))))


def test_a_gate_near_its_border_flips():
    """What an equation chooses is told by its line, and differs between draws where rounding decides."""
    x = np.array([1.0, 1.0 + 2.0**-23, 3.0], np.float32)
    flat = _of(lambda x: jnp.where(x * 3.0 > x + x + x, x, 0.0), x)
    chosen = []
    for draw in range(6):
        interpreter = Interpreter(draw=draw)
        interpreter.run(flat, [x])
        chosen.append(interpreter.choices)
    assert all(name.endswith(":gt") for name, _ in chosen[0])
    assert len({each[0][1] for each in chosen}) > 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int4", "bool"])
def test_what_a_whole_number_cannot_hold_is_the_last_that_it_can(dtype):
    """As XLA converts: NumPy wraps, to -3 or 253 and by what the processor does."""
    numbers = np.array([-3, -0.5, 2.7, 300, 3e9, np.nan, np.inf, -np.inf], np.float32)
    convert = jax.jit(lambda x: x.astype(dtype))
    [found] = Interpreter().run(_of(convert, numbers), [numbers])
    assert found.dtype == dtype
    assert found.tolist() == np.asarray(convert(numbers)).tolist()


def test_int64_is_cut_at_its_last_number():
    """It is none of float64, and the next one above wraps."""
    numbers = np.array([1e19, -1e19, np.nan])
    with x64(True):
        convert = jax.jit(lambda x: x.astype("int64"))
        [found], expected = Interpreter().run(_of(convert, numbers), [numbers]), convert(numbers)
    assert found.tolist() == np.asarray(expected).tolist() == [2**63 - 1, -(2**63), 0]


def test_an_operator_that_jax_has_not_in_float64_is_named():
    """A primitive without a kernel ends in one line."""
    from jax.extend.core import Primitive

    strange = Primitive("strange_operator")
    strange.def_abstract_eval(lambda x: x)
    with pytest.raises(Unsupported, match="strange_operator"):
        Interpreter().run(_of(lambda x: strange.bind(x), X), [X])


def test_a_wrong_operator_stands_out():
    """A gradient that is scaled by 1.0001 is far beyond the floor, and a clean one is not."""
    differentiated = jax.grad(lambda w: (jax.nn.gelu(X @ w) ** 2).mean())
    flat = _of(differentiated, W)
    exact = Interpreter().run(flat, [W])[0]
    floor = np.sqrt(np.mean([line_of(Interpreter(draw=draw).run(flat, [W])[0], exact)[0] ** 2 for draw in range(8)]))
    clean = np.asarray(jax.jit(differentiated)(W))
    assert line_of(clean, exact)[0] < 5 * floor
    assert line_of(clean * np.float32(1.0001), exact)[0] > 50 * floor


def test_op_by_op_equals_the_program():
    """The equations, calls written out, are the program."""
    flat = _of(jax.value_and_grad(_remat), X, W)
    assert any(is_shown(each) for each in flat.equations)
    found = evaluate(flat, [X, W])
    for one, other in zip(found, jax.tree_util.tree_leaves(jax.value_and_grad(_remat)(X, W)), strict=True):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)


FILE = """
import jax, jax.numpy as jnp, numpy as np, optax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.first, self.norm = nnx.Linear(5, 8, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.drop, self.last = nnx.Dropout(0.25, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.gelu(self.norm(self.first(x)))))

def build():
    return Net(nnx.Rngs(0))

def batch(seed):
    random = np.random.default_rng(seed)
    return random.normal(size=(12, 5)), random.integers(0, 3, 12)

def loss(model, batch):
    return optax.softmax_cross_entropy_with_integer_labels(model(batch[0]), batch[1]).mean()

def predict(model, batch):
    return model(batch[0])

def optimizer(model):
    return optax.adam(1e-2)
"""


def _own(tmp_path, text, name):
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    return load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())


def _request(precision="fp32", mode="jit"):
    return types.SimpleNamespace(precision=precision, mode=mode, seeds=(), threads=1, device="cpu", devices=1)


def test_a_step_agrees_with_its_oracle(tmp_path):
    """Loss, gradients, statistics, inside and at the end; the update by its own gradients; and gradients are the derivative."""
    own = _own(tmp_path, FILE, "step_of_nnx")
    oracle, program = step.Oracle(own, _request()), step.Program(own, _request(mode="eager"), {})
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    exact, observed = oracle.taps(batch), program.taps(batch)
    assert list(exact) == list(observed)
    assert any(name.startswith("forward/0000/") for name in exact)
    assert any(name.startswith("backward/") for name in exact)
    assert {"stats/norm/mean", "gradients/first/kernel", "after/optimizer/0/mu/first/kernel"} <= set(exact)
    for name in ("loss", "stats/norm/var", "gradients/last/kernel"):
        assert _relative(observed[name], exact[name]) < 1e-5
    for name, value in _update_of(oracle, observed).items():
        assert np.allclose(value, observed[name], rtol=1e-6, atol=1e-9)
    direction = {name: np.ones_like(value) for name, value in oracle.parameters().items()}
    up, down = (oracle.loss_at(batch, {name: sign * each for name, each in direction.items()}) for sign in (1e-5, -1e-5))
    along = sum(float(np.sum(exact[f"gradients/{name}"])) for name in direction)
    assert (up - down) / 2e-5 == pytest.approx(along, rel=1e-6, abs=1e-8)
    assert all(np.array_equal(each, exact[f"gradients/{name}"]) for name, each in oracle.gradients_at(batch, {}).items())
    beside = oracle.gradients_at(batch, {name: 1e-2 * each for name, each in direction.items()})
    assert beside.keys() == direction.keys()
    assert not any(np.array_equal(each, exact[f"gradients/{name}"]) for name, each in beside.items())


def _update_of(oracle, observed):
    """Return what the optimizer should make of what a program's last step began with, and of its gradients."""
    before = {name[len("before/") :]: value for name, value in observed.items() if name.startswith("before/")}
    gradients = {name[len("gradients/") :]: value for name, value in observed.items() if name.startswith("gradients/")}
    return oracle.update(before, gradients)


NOISE = """
import jax, jax.numpy as jnp, numpy as np, optax

def build():
    return {{"w": 0.1 * jnp.arange(6.0)}}

def batch(seed):
    return np.random.default_rng(seed).normal(size=(4, 6))

def loss(model, batch):
    return ((batch @ model["w"] - 1.0) ** 2).mean()

def optimizer(model):
    return optax.chain(optax.add_noise(0.01, 0.55, {key}), optax.sgd(1e-2))
"""


@pytest.mark.parametrize("key", ["key=3", "key=jax.random.key(3, impl='rbg')"])
def test_a_key_that_an_optimizer_keeps_goes_on(tmp_path, key):
    """The second update draws with the key that the first one left; a key that is used twice is out."""
    own = _own(tmp_path, NOISE.format(key=key), "step_of_noise")
    oracle, program = step.Oracle(own, _request()), step.Program(own, _request(), {})
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    first, second = program.train([[batch]]), program.train([[batch], [batch]])
    [kept] = [name for name in second if name.startswith("before/") and second[name].dtype == np.uint32]
    right, used_twice = _update_of(oracle, second), _update_of(oracle, second | {kept: first[kept]})
    out = [name for name, value in right.items() if not np.allclose(value, second[name], rtol=1e-6, atol=1e-9)]
    assert not out
    out = [name for name, value in used_twice.items() if not np.allclose(value, second[name], rtol=1e-4, atol=1e-6)]
    assert out == ["after/params/w", kept.replace("before", "after")]


DRAWS = """
import jax, jax.numpy as jnp, numpy as np

def build():
    return {"w": jnp.ones(6)}

def batch(seed):
    return np.random.default_rng(seed).normal(size=(4, 6))

def loss(model, batch, key):
    return ((batch * jax.random.bernoulli(key, 0.5, batch.shape)) @ model["w"]).sum() ** 2
"""


def test_how_a_release_draws_is_told_of_a_program_that_draws(tmp_path):
    """Under another setting of the generator it is something else; of a program that draws nothing there is nothing to tell."""
    found = []
    for is_partitionable in (True, False):
        with jax.threefry_partitionable(is_partitionable):
            oracle = step.Oracle(_own(tmp_path, DRAWS, "step_that_draws"), _request())
            oracle.train([[step.FRAMEWORK.to_numpy(oracle.own.call("batch", 0))]])
            found += [oracle.facts()["random"]]
    assert found[0]
    assert found[0] != found[1]
    text = DRAWS.replace("jax.random.bernoulli(key, 0.5, batch.shape)", "1.0")
    still = step.Oracle(_own(tmp_path, text, "step_still"), _request())
    still.train([[step.FRAMEWORK.to_numpy(still.own.call("batch", 0))]])
    assert still.facts()["random"] is None


def test_what_an_optimizer_keeps_in_a_half_is_held_to_the_rounding_of_that(tmp_path):
    """The second update reads a moment in bfloat16, and multiplies it there; the oracle holds it in float64."""
    text = "\ndef optimizer(model):\n    return optax.adam(1e-2, mu_dtype=jnp.bfloat16)\n"
    own = _own(tmp_path, NOISE.format(key="key=3") + text, "step_of_half_moments")
    oracle, program = step.Oracle(own, _request()), step.Program(own, _request(), {})
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    observed = program.train([[batch], [batch]])
    exact = _update_of(oracle, observed)["after/params/w"]
    oracle.under(0)
    floor = np.linalg.norm(_update_of(oracle, observed)["after/params/w"] - exact)
    assert np.linalg.norm(observed["after/params/w"] - exact) < 5 * floor


@pytest.mark.parametrize("name", ["Optimizer", "ModelAndOptimizer"])
def test_what_nnx_optimizer_does_itself_is_held(tmp_path, monkeypatch, name):
    """Its `update` applies what its transformation gives: what applies it the wrong way is out."""
    text = f"\ndef optimizer(model):\n    return nnx.{name}(model, optax.adam(1e-2), wrt=nnx.Param)\n"
    own = _own(tmp_path, FILE + text, "step_of_nnx_optimizer")
    batch, oracle = step.FRAMEWORK.to_numpy(own.call("batch", 0)), step.Oracle(own, _request())
    clean = step.Program(own, _request(), {}).train([[batch], [batch]])
    assert {"after/optimizer/step", "after/optimizer/0/mu/first/kernel"} <= clean.keys()
    assert clean["after/optimizer/step"] == 2
    right = _update_of(oracle, clean)
    out = [name for name, value in right.items() if not np.allclose(value, clean[name], rtol=1e-5, atol=1e-8)]
    assert not out
    apply = optax.apply_updates
    monkeypatch.setattr(optax, "apply_updates", lambda params, updates: apply(params, jax.tree.map(lambda u: -2.0 * u, updates)))
    faulty = step.Program(own, _request(), {}).train([[batch]])
    right = _update_of(oracle, faulty)
    assert _relative(faulty["after/params/first/kernel"], right["after/params/first/kernel"]) > 1e-3


def test_what_holds_a_transformation_is_told_to_be_asked_for_it_alone(tmp_path):
    """As a TrainState, whose own steps are not taken."""
    state = "import types\ndef optimizer(model):\n    return types.SimpleNamespace(tx=optax.sgd(1e-2))\n"
    oracle = step.Oracle(_own(tmp_path, NOISE.format(key="key=3") + state, "step_of_tx"), _request())
    assert oracle.facts()["remarks"] == ["optimizer: of SimpleNamespace its tx alone is asked, and not what it does itself"]


LINEN = """
import jax, jax.numpy as jnp, numpy as np
from flax import linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.BatchNorm(use_running_average=False, momentum=0.9)(nn.Dense(4)(x)))

def build():
    return Net().init(jax.random.key(0), jnp.zeros((1, 5)))

def batch(seed):
    return np.random.default_rng(seed).normal(size=(12, 5))

def loss(model, batch):
    outputs, state = Net().apply(model, batch, mutable=["batch_stats"])
    return (outputs**2).mean(), {of_state}
"""
MEAN = "stats/batch_stats/BatchNorm_0/mean"


def test_collections_of_flax_linen_are_held_and_carried_on(tmp_path):
    """What the loss gives beside its number goes into the next step; a wrong share of it is out; it is not trained."""
    own = _own(tmp_path, LINEN.replace("{of_state}", "state"), "step_of_linen")
    wrong = _own(tmp_path, LINEN.replace("{of_state}", "state").replace("0.9", "0.5"), "step_of_wrong_linen")
    oracle, batch = step.Oracle(own, _request()), step.FRAMEWORK.to_numpy(own.call("batch", 0))
    one, two = oracle.train([[batch]]), oracle.train([[batch], [batch]])
    assert two[MEAN] == pytest.approx(1.9 * one[MEAN])  # the file has no optimizer: both steps have one mean
    observed, faulty = (step.Program(each, _request(), {}).train([[batch]]) for each in (own, wrong))
    assert list(observed) == list(one)
    assert _relative(observed[MEAN], one[MEAN]) < 1e-5 < 1 < _relative(faulty[MEAN], one[MEAN])
    assert not oracle.facts()["remarks"]
    assert all(name.startswith("params/") for name in oracle.parameters())


def test_collections_that_a_loss_keeps_to_itself_are_told(tmp_path):
    """A loss of one number alone leaves them as they were: of what becomes of them nothing is known."""
    oracle = step.Oracle(_own(tmp_path, LINEN.replace(", {of_state}", ""), "step_of_one_number"), _request())
    found = oracle.train([[step.FRAMEWORK.to_numpy(oracle.own.call("batch", 0))]])
    assert not any(name.startswith("stats/") for name in found)
    [remark] = oracle.facts()["remarks"]
    assert remark.startswith("batch_stats: stands beside params: it is not trained, nor looked at after a step.")


@pytest.mark.parametrize("of_state", ["outputs", "{'other': state}", "model", "{'batch_stats': {}}, 3"])
def test_a_state_that_is_not_the_models_is_refused(tmp_path, of_state):
    """Outputs, other collections and what is trained; and three parts are no loss."""
    oracle = step.Oracle(_own(tmp_path, LINEN.replace("{of_state}", of_state), "step_of_another_state"), _request())
    with pytest.raises(OwnFileError, match=r"another state than the model's|loss: gave tuple"):
        oracle.train([[step.FRAMEWORK.to_numpy(oracle.own.call("batch", 0))]])


def test_halves_are_cast_before_the_loss(tmp_path):
    """Gradients and statistics come back in float32, and the loss scale of float16 is one that the oracle has chosen."""
    own = _own(tmp_path, FILE, "step_in_halves")
    oracle = step.Oracle(own, _request("fp16"))
    assert 1.0 < oracle.facts()["loss_scale"] <= 2.0**16
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    exact, observed = (each.train([[batch]]) for each in (oracle, step.Program(own, _request("fp16"), oracle.facts())))
    assert 1e-6 < _relative(observed["gradients/first/kernel"], exact["gradients/first/kernel"]) < 0.05
    assert observed["gradients/first/kernel"].dtype == np.float32


def test_a_model_without_parameters_is_told(tmp_path):
    """So is a loss that is not one number."""
    with pytest.raises(OwnFileError, match="no parameter"):
        step.Oracle(_own(tmp_path, FILE + "\ndef build():\n    return {'n': 3}\n", "step_without"), _request())
    own = _own(tmp_path, FILE + "\ndef loss(model, batch):\n    return model(batch[0])\n", "step_of_many")
    with pytest.raises(OwnFileError, match=r"shape \[12, 3\]"):
        step.Oracle(own, _request()).train([[step.FRAMEWORK.to_numpy(own.call("batch", 0))]])


def test_statistics_are_given_and_random_keys_are_not(tmp_path):
    """What a model begins with besides its parameters; keys are made of what NumPy has no type for."""
    own = _own(tmp_path, FILE, "step_of_statistics")
    step.Program(own, _request(), {})
    own.given = {"norm/mean": np.full_like(own.made["norm/mean"], 7.0)}
    model = step.Program(own, _request(), {}).model
    rest = dict(zip(model.rest_names, model.rest, strict=True))
    assert np.asarray(rest["norm/mean"]).tolist() == own.given["norm/mean"].tolist()
    assert set(own.made) == {*model.names, *(name for name, leaf in rest.items() if not step._is_key(leaf))}


def test_products_in_tf32_round_what_they_multiply():
    """By a part in 2**11, where float32 rounds by one in 2**24; what is no product does not."""
    exact = np.float64(X) @ np.float64(W)

    def moved(is_tf32, function):
        flat = flatten(jax.make_jaxpr(function)(X, W))
        [found] = Interpreter(draw=3, is_tf32=is_tf32).run(flat, [X, W])
        return found

    for is_tf32, size in ((False, 2.0**-24), (True, 2.0**-11)):
        off = np.linalg.norm(moved(is_tf32, lambda x, w: x @ w) - exact) / np.linalg.norm(exact)
        assert 0.3 * size < off < 6 * size
    squares = moved(True, lambda x, w: x * x)
    assert np.abs(squares / np.float64(X) ** 2 - 1).max() < 2.0**-22


class _Tree:
    """What JAX 0.11 says of a scan's arguments: those that are the same each round, that are carried, and the rows."""

    def __init__(self, fixed, carried, rows):
        self.counts = fixed, carried, rows

    def update(self, leaves):
        self.leaves = list(leaves)
        return self

    def unpack(self):
        ends = np.cumsum(self.counts)
        return [self.leaves[end - count : end] for end, count in zip(ends, self.counts, strict=True)]


def test_a_scan_of_jax_0_11_is_read_as_one_of_before():
    """Where its parameters hold trees instead of numbers, its results are the same."""
    flat = flatten(jax.make_jaxpr(_scanned)(X, W))
    [scan] = [each for each in flat.equations if each.name == "scan"]
    [expected] = Interpreter().run(flat, [X, W])
    if "num_consts" in scan.parameters:
        fixed, carried = scan.parameters["num_consts"], scan.parameters["num_carry"]
        scan.parameters = {name: each for name, each in scan.parameters.items() if name not in ("num_consts", "num_carry")}
        scan.parameters["ft_in"] = _Tree(fixed, carried, len(scan.inputs) - fixed - carried)
    [found] = Interpreter().run(flat, [X, W])
    assert found.tobytes() == expected.tobytes()
