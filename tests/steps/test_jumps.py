"""Where an operator jumps, draws jump as the program may: a jump that none of them makes is no wrong number."""

from __future__ import annotations

import hashlib
import importlib
import math
import types

import numpy as np
import pytest

from runners.contract.steps.own import load_own

# The first number is the next that float32 has to one where the operator jumps, the second is whole by its making, the third is
# half way between two.
BATCH = """
import numpy as np


def batch(seed):
    return np.array([np.nextafter(np.float32({near}), np.float32(np.inf)), 7.0, 0.5], np.float32)
"""
STEPS = {
    "torch": """
import torch


def build():
    return torch.nn.Linear(1, 1, bias=False)


def loss(model, batch):
    return (model.weight * torch.{jump}).sum()
""",
    "jax": """
import jax.numpy as jnp


def build():
    return {{"weight": jnp.ones(())}}


def loss(parameters, batch):
    return (parameters["weight"] * jnp.{jump}).sum()
""",
    "tensorflow": """
import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1, use_bias=False)])


def loss(model, batch):
    return tf.reduce_sum(model.trainable_variables[0] * tf.{jump})
""",
}
JUMPS = {
    "torch": ("floor(batch)", "round(batch)", "ceil(batch)", "trunc(batch)", "Tensor.long(batch)", "Tensor.int(batch)"),
    "jax": ("floor(batch)", "round(batch)", "ceil(batch)", "int32(batch)"),
    "tensorflow": ("floor(batch)", "round(batch)", "math.ceil(batch)", "cast(tf.cast(batch, tf.int32), tf.float32)"),
}
QUANTISED = {
    "torch": "fake_quantize_per_tensor_affine(batch, 1.0, 0, -128, 127)",
    "tensorflow": "quantization.fake_quant_with_min_max_args(batch, -128.0, 127.0)",
}
# Of 16 and 18, between which a type of 8 bits has no number.
QUARTERS = {
    "torch": "Tensor.float(torch.Tensor.to(batch, torch.float8_e4m3fn))",
    "jax": "asarray(batch).astype(jnp.float8_e4m3fn).astype(jnp.float32)",
    "tensorflow": "cast(tf.cast(batch, tf.dtypes.experimental.float8_e4m3fn), tf.float32)",
}


def _jumped(tmp_path, framework: str, jump: str) -> tuple[list[int], int]:
    """Return by how many levels the sum differs from the exact one, in each draw, and how many choices there were."""
    pytest.importorskip(framework)
    file = tmp_path / "my_step.py"
    near = 2.5 if jump in (*QUANTISED.values(), "round(batch)") else 17.0 if jump in QUARTERS.values() else 2.0
    file.write_text(BATCH.format(near=near) + STEPS[framework].format(jump=jump), encoding="utf-8")
    step = importlib.import_module(f"runners.{framework}.step")
    own = load_own(file, hashlib.sha256(file.read_bytes()).hexdigest())
    request = types.SimpleNamespace(precision="fp32", mode="eager", seeds=(), threads=1, device="cpu", devices=1)
    oracle = step.Oracle(own, request)
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    sums, choices = [], []
    for draw in (None, *range(24)):
        oracle.under(draw)
        [gradient] = [each for name, each in oracle.train([[batch]]).items() if name.startswith("gradients/")]
        sums.append(math.floor(float(gradient.sum()) + 0.25))
        choices.append(tuple(oracle.choices()))
    return [each - sums[0] for each in sums[1:]], len(set(choices))


@pytest.mark.parametrize(("framework", "jump"), [(name, jump) for name, jumps in JUMPS.items() for jump in jumps])
def test_draws_jump_where_rounding_may(tmp_path, framework, jump):
    """Of three numbers one may, by one level; what is whole, as an index is, and what is half way stay."""
    jumped, choices = _jumped(tmp_path, framework, jump)
    assert choices == 2
    assert set(jumped) == {0, -1}
    assert 4 <= jumped.count(-1) <= 20


def _of_shadows(function, numbers, draw):
    import torch

    from runners.torch.shadows import shadowed

    with shadowed(draw) as shadows:
        return shadows.array(function(torch, torch.from_numpy(numbers)))


def _of_jax(function, numbers, draw):
    import jax.numpy as jnp

    from runners.jax.interpreter import Interpreter, flatten, jax

    return Interpreter(draw=draw).run(flatten(jax.make_jaxpr(lambda x: function(jnp, x))(numbers)), [numbers])[0]


def _of_tensorflow(function, numbers, draw):
    import tensorflow as tf

    from runners.tensorflow.interpreter import Interpreter, Traced

    traced = Traced(tf.function(lambda x: [function(tf, x)], autograph=False).get_concrete_function(tf.constant(numbers)))
    machine = Interpreter()
    machine.restart(draw)
    return machine.run(traced, [numbers])[0].numpy()


@pytest.mark.parametrize(("framework", "run"), [("torch", _of_shadows), ("jax", _of_jax), ("tensorflow", _of_tensorflow)])
def test_infinity_moves_nothing_beside_it(framework, run):
    """As masks have it: neither what jumps nor a sum that is infinite is a NaN for it, in no draw."""
    pytest.importorskip(framework)
    numbers = np.array([[2.25, -np.inf, 3.75], [1.3, 2.6, -1.1]], np.float32)
    for draw in range(4):
        assert run(lambda of, x: of.floor(x), numbers, draw).tolist() == [[2.0, -np.inf, 3.0], [1.0, 2.0, -2.0]]
        sums = run(lambda of, x: of.reduce_sum(x, 1) if framework == "tensorflow" else of.sum(x, 1), numbers, draw)
        assert sums[0] == -np.inf
        assert abs(sums[1] - 2.8) < 1e-5


@pytest.mark.parametrize("framework", QUANTISED)
def test_levels_jump_as_well(tmp_path, framework):
    """Also of a number half way between two, whose level is chosen by how it is scaled."""
    jumped, choices = _jumped(tmp_path, framework, QUANTISED[framework])
    assert choices > 1
    assert {-1, 0} < set(jumped)


@pytest.mark.parametrize("framework", QUARTERS)
def test_types_of_8_bits_are_what_the_program_rounds_to(tmp_path, framework):
    """In no draw is a number there that the type has not; what it has stays, as 7 and 0.5 do."""
    jumped, choices = _jumped(tmp_path, framework, QUARTERS[framework])
    assert choices == 2
    assert set(jumped) == {0, -2}


@pytest.mark.torch
def test_a_number_that_scales_by_its_name_rounds_as_well():
    """`addcmul_(..., value=0.001)`, by which Adam adds squares: float32 has no 0.001, and all elements are off by one share."""
    import torch

    from runners.torch.shadows import shadowed

    gradient = torch.linspace(1.0, 2.0, 4096)
    slopes = []
    for draw in (None, *range(12)):
        with shadowed(draw) as shadows:
            found = torch.zeros(4096).addcmul_(gradient, gradient, value=0.001)
            slopes.append(float(shadows.array(found).sum()))
    apart = np.array(slopes[1:]) / slopes[0] - 1.0
    assert 0.2 < np.sqrt(np.mean(apart**2)) / 2.0**-24 < 1.5


@pytest.mark.torch
def test_lists_are_rounded_as_they_are():
    """As optimizers call operators with `foreach`: they take no part in what is moved."""
    import torch

    from runners.torch.shadows import shadowed

    with shadowed(0) as shadows:
        [found] = torch._foreach_floor([torch.tensor([2.5, 7.0])])
        assert shadows.array(found).tolist() == [2.0, 7.0]


@pytest.mark.torch
def test_a_product_of_8_bits_has_a_shadow():
    import torch

    from runners.torch.shadows import shadowed

    one, other = (torch.linspace(-3.0, 5.0, 16 * 32).reshape(16, 32).to(torch.float8_e4m3fn) for _ in range(2))
    scales = torch.tensor(0.3), torch.tensor(0.7)
    expected = (one.double() * scales[0].double()) @ (other.double().t() * scales[1].double())
    for draw in (None, 0):
        with shadowed(draw) as shadows:
            found = torch._scaled_mm(one, other.t(), *scales, out_dtype=torch.bfloat16)
            apart = np.abs(shadows.array(found) / expected.numpy() - 1.0).max()
        assert apart < 1e-14 if draw is None else 1e-4 < apart < 2.0**-7
