"""Operators with planted defects, in each framework: each is caught, and told as what it is; a right one is fine."""

from __future__ import annotations

import hashlib
import importlib
import itertools

import pytest

from runners.contract.operators import frame
from runners.contract.operators.frame import Examiner
from runners.contract.operators.own import load_operator
from runners.contract.operators.request import OperatorRequest
from runners.contract.operators.trials import LAYOUT, SIZE, USUAL, VALUES, Trial
from runners.contract.steps.own import OwnFileError
from vigil.operators.limits import DRAWS, reach

pytest.importorskip("torch")
_NUMBERS = itertools.count()
TORCH = """
import threading
import time

import torch

calls = [0]

def inputs(seed, rows=6, columns=16):
    generator = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(rows, columns, generator=generator), "weight": torch.rand(columns, generator=generator)}

def reference(x, weight):
    return torch.relu(x * weight).sum(-1)

def candidate(x, weight):
    return BODY
"""
JAX = """
import jax.numpy as jnp
import numpy as np

def inputs(seed, rows=6, columns=16):
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, columns), np.float32), random.random(columns, np.float32)

def reference(x, weight):
    return jnp.tanh(x * weight).sum(-1)

def candidate(x, weight):
    return BODY
"""
TENSORFLOW = """
import numpy as np
import tensorflow as tf

def inputs(seed, rows=6, columns=16):
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, columns), np.float32), random.random(columns, np.float32)

def reference(x, weight):
    return tf.reduce_sum(tf.tanh(x * weight), -1)

def candidate(x, weight):
    return BODY
"""


@pytest.fixture
def examiner(tmp_path):
    """Return a function that makes an examiner of a source, whose candidate has this body."""

    def made(source: str, body: str, *, framework: str = "torch", mode: str = "eager", more: str = "") -> Examiner:
        path = tmp_path / f"operator_{framework}_{next(_NUMBERS)}.py"
        path.write_text(source.replace("BODY", body) + more, encoding="utf-8")
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        request = OperatorRequest(
            framework=framework, file=str(path), file_sha256=sha256, mode=mode, threads=1, cores=None, precisions=("fp32",),
            seeds=4, draws=DRAWS, repeats=20,
            limits={name: {"outputs": 3.0, "gradients": 3.0} for name in ("fp32", "bf16", "fp16")},
            reach=reach(), fault=None, heartbeat_seconds=5.0,
        )  # fmt: skip
        brought = importlib.import_module(f"runners.{framework}.operator").FRAMEWORK
        file = load_operator(path, sha256)
        return Examiner(file, brought.operator(file, request), brought.to_numpy, request)

    return made


def trial(group: str = USUAL, seed: int = 0, rows: int = 6, columns: int = 16, **more) -> Trial:
    """Return a trial of these sizes."""
    return Trial(group, seed, {"rows": rows, "columns": columns}, **{"precision": "fp32"} | more)


RIGHT = "torch.relu(x.float() * weight.float()).flip(-1).sum(-1).to(x.dtype)"


@pytest.mark.parametrize(
    "asked",
    [
        trial(),
        trial(SIZE, columns=1),
        trial(SIZE, rows=1, columns=33),
        trial(VALUES, values="large"),
        trial(VALUES, values="small"),
        trial(LAYOUT, layout="transposed"),
        trial(LAYOUT, layout="strided"),
        trial(LAYOUT, layout="offset"),
        trial(LAYOUT, layout="expanded"),
        trial(precision="bf16"),
        trial(precision="fp16"),
    ],
    ids=lambda asked: f"{asked.group}-{asked.values}-{asked.layout}-{asked.precision}",
)
def test_a_right_operator_is_fine(examiner, asked):
    """Sums in the other order are rounding."""
    assert examiner(TORCH, RIGHT).examine(asked, calls=2)["kind"] == frame.FINE


@pytest.mark.parametrize(
    ("body", "asked", "tensor"),
    [
        ("torch.relu(x * weight)[:, : x.shape[1] // 4 * 4].sum(-1)", trial(SIZE, columns=17), "outputs/0"),
        ("torch.relu(x * weight).sum(-1) * 1.00001", trial(), "outputs/0"),
        ("torch.relu(x * weight.detach()).sum(-1)", trial(), "gradients/weight"),
        ("torch.nn.functional.leaky_relu(x * weight, 1e-4).sum(-1)", trial(), "outputs/0"),
        ("torch.relu(x.as_strided(x.shape, (x.shape[1], 1)) * weight).sum(-1)", trial(LAYOUT, layout="transposed"), "outputs/0"),
        ("torch.relu(x * weight).sum(-1, keepdim=True)", trial(), "outputs/0"),
    ],
)
def test_what_is_wrong_is_a_bug_of_a_tensor(examiner, body, asked, tensor):
    """A lost tail, a scale, a lost gradient, another function, a layout that is not looked at, another shape."""
    found = examiner(TORCH, body).examine(asked, calls=2)
    assert (found["kind"], found["tensor"]) == (frame.BUG, tensor)


def test_the_smallest_inputs_still_show_it(examiner):
    """A tail that is lost from 17 columns on: one row, and 17 columns."""
    tried = examiner(TORCH, "torch.relu(x * weight)[:, : max(16, x.shape[1] // 8 * 8)].sum(-1)")
    found = tried.examine(trial(SIZE, columns=63), calls=2)
    assert found["kind"] == frame.BUG
    assert tried.smallest(found, on_call=lambda: None)["trial"]["sizes"] == {"rows": 1, "columns": 17}


def test_the_smallest_inputs_of_a_tile_are_found(examiner):
    """Of several sizes that fail, the least is made smaller still; the sizes around the file's tile are among those to try."""
    body = "torch.relu(x * weight)[:, : 200 if x.shape[1] > 200 else None].sum(-1)"
    tried = examiner(TORCH, body, more="TILES = {'columns': 200}\n")
    found = [tried.examine(trial(SIZE, columns=columns), calls=2) for columns in (401, 256, 300)]
    [least] = frame._least_of_each(found)
    assert least["trial"]["sizes"]["columns"] == 256
    assert tried.smallest(least, on_call=lambda: None)["trial"]["sizes"] == {"rows": 1, "columns": 201}


def test_another_convention_where_the_derivative_jumps_is_a_kink(examiner):
    """At zero, relu's derivative may be 0 or 1: `clamp` says 1. A slope of 2 is between the two nowhere, and a bug."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "(torch.relu(x) + weight).sum(-1)")
    tried = examiner(source, "(x.clamp(min=0) + weight).sum(-1)")
    assert tried.examine(trial(), calls=2)["kind"] == frame.FINE
    found = tried.examine(trial(VALUES, values="zeros"), calls=2)
    assert (found["kind"], found["tensor"]) == (frame.KINK, "gradients/x")
    steeper = examiner(source, "(2 * x.clamp(min=0) - torch.relu(x).detach() + weight).sum(-1)")
    assert steeper.examine(trial(VALUES, values="zeros"), calls=2)["kind"] == frame.BUG


RACE = """

def added(x, weight):
    total = torch.zeros(x.shape[0])
    parts = torch.relu(x * weight).chunk(2, -1)
    def add(part, wait):
        before = total.clone()
        time.sleep(wait)
        total.copy_(before + part.detach().sum(-1))
    calls[0] += 1
    waits = (0.002, 0.0) if calls[0] % 3 == 0 else (0.0, 0.004)
    threads = [threading.Thread(target=add, args=pair) for pair in zip(parts, waits)]
    for place, thread in enumerate(threads):
        thread.start()
        if calls[0] % 3:
            thread.join()
    for thread in threads:
        thread.join()
    result = torch.relu(x * weight).sum(-1)
    return result + (total - result).detach()
"""


def test_a_lost_update_is_a_race(examiner):
    """Two threads add to one sum, and in a third of the calls one of them reads before the other has written."""
    found = examiner(TORCH, "added(x, weight)", more=RACE).examine(trial(), calls=12)
    assert found["kind"] == frame.RACE
    assert 0 < found["wrong_calls"] < 12
    assert found["calls"]["results"] > 1


SELDOM_RIGHT = """

def seldom(x, weight):
    calls[0] += 1
    return torch.relu(x * weight).sum(-1) * (1.0 if calls[0] % 7 == 0 else 1.01)
"""


def test_a_race_that_is_mostly_wrong_with_equal_bits_is_no_bug(examiner):
    """Two calls show a bug; more of them a right answer, and so a race: one that is wrong in six of seven calls."""
    tried = examiner(TORCH, "seldom(x, weight)", more=SELDOM_RIGHT)
    results = [tried.examine(trial(seed=seed), calls=2) for seed in range(3)]
    results.append(tried.examine(trial(SIZE, rows=1), calls=2))
    assert [each["kind"] for each in results[:3]] == [frame.BUG] * 3
    frame.tell_races(results, tried, calls=20, on_call=lambda: None)
    assert [each["kind"] for each in results] == [frame.RACE] * 4
    assert 15 <= results[0]["wrong_calls"] < results[0]["calls"]["calls"] == 20


def test_a_bug_that_is_called_again_stays_one(examiner):
    """What is wrong in each call is a bug, also where the order of its sum, and so its last bits, is another each time."""
    body = "torch.relu(x * weight)[:, torch.randperm(x.shape[1])].sum(-1) * 1.01"
    tried = examiner(TORCH, body)
    results = [tried.examine(trial(seed=seed), calls=2) for seed in range(2)]
    assert tried.examine(trial(), calls=20)["calls"]["results"] > 1
    frame.tell_races(results, tried, calls=20, on_call=lambda: None)
    assert [each["kind"] for each in results] == [frame.BUG] * 2


def test_an_input_that_is_written_to_is_told(examiner):
    """Even where the result is right."""
    found = examiner(TORCH, "torch.relu(x.data.mul_(1.5).div(1.5).mul(weight)).sum(-1)").examine(trial(), calls=1)
    assert (found["kind"], found["tensor"]) == (frame.WRITES, "x")


@pytest.mark.parametrize("layout", ["plain", "transposed", "strided", "offset"])
def test_an_input_with_a_gradient_may_be_written_to(examiner, layout):
    """As that of a layer within a network; it is told in each layout, and no error of autograd's."""
    found = examiner(TORCH, "x.mul_(weight).relu_().sum(-1)").examine(trial(LAYOUT, layout=layout), calls=1)
    assert (found["kind"], found["tensor"]) == (frame.WRITES, "x")


def test_an_overflow_that_the_reference_has_not_is_a_bug(examiner):
    """A softmax without its largest logit; where the reference overflows as well, nothing can be said."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "x.softmax(-1)").replace("x, weight", "x, **rest")
    naive = "torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)"
    assert examiner(source, naive).examine(trial(), calls=1)["kind"] == frame.FINE
    assert examiner(source, naive).examine(trial(VALUES, values="large"), calls=1)["kind"] == frame.BUG
    both = source.replace("x.softmax(-1)", naive)
    assert examiner(both, naive).examine(trial(VALUES, values="large"), calls=1)["kind"] == frame.UNSTABLE


def test_infinities_of_a_mask_are_to_be_there(examiner):
    """A mask that hides one number less is a bug, and so is a wrong number beside infinities; other values may overflow."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "masked(x.detach() * weight.detach(), 0)")
    more = """
def masked(x, first):
    return x.masked_fill(~torch.ones(x.shape, dtype=torch.bool).tril(first), float("-inf"))
"""
    wide, scaled = "masked(x.detach() * weight.detach(), 1)", "1.001 * masked(x.detach() * weight.detach(), 0)"
    for body, expected in ((wide.replace("1", "0"), frame.FINE), (wide, frame.BUG), (scaled, frame.BUG)):
        assert examiner(source, body, more=more).examine(trial(), calls=1)["kind"] == expected
    assert examiner(source, wide, more=more).examine(trial(VALUES, values="halves"), calls=1)["kind"] == frame.FINE


def test_what_leaves_the_range_of_float16_in_the_reference_too_hides_nothing_else(examiner):
    """Sums of squares beyond 65,504, which the reference may reach earlier than a candidate that adds up in float32."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "torch.cat([(90 * x).square().sum(-1), x.sum(-1)])")
    source = source.replace("x, weight", "x, **rest")
    right = "torch.cat([(90 * x.float()).square().sum(-1), x.float().sum(-1)]).to(x.dtype)"
    wrong = right.replace("x.float().sum(-1)]", "1.1 * x.float().sum(-1)]")
    assert examiner(source, right).examine(trial(precision="fp16"), calls=1)["kind"] == frame.UNSTABLE
    found = examiner(source, wrong).examine(trial(precision="fp16"), calls=1)
    assert (found["kind"], found["tensor"]) == (frame.BUG, "outputs/0")
    assert found["elements"]["index"][0] >= 6


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_wrong_index_is_a_bug(examiner, precision):
    """Whole numbers have no rounding that one of many might hide in."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "x.argmax(-1)").replace("x, weight", "x, **rest")
    of_more = trial(rows=256, columns=300, precision=precision)
    assert examiner(source, "x.argmax(-1)").examine(of_more, calls=1)["kind"] == frame.FINE
    off_by_one = "x.argmax(-1) + (torch.arange(x.shape[0]) == 7)"
    found = examiner(source, off_by_one).examine(of_more, calls=1)
    assert (found["kind"], found["tensor"], found["elements"]["index"]) == (frame.BUG, "outputs/0", [7])


def test_what_does_not_jump_is_no_kink(examiner):
    """In bfloat16 moved inputs reach what is two hundredths off; half of the move reaches half as far."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "x * weight")
    found = examiner(source, "1.025 * (x * weight)").examine(trial(precision="bf16"), calls=1)
    assert (found["kind"], found["tensor"]) == (frame.BUG, "outputs/0")


def test_what_raises_and_what_is_refused_are_told_apart(examiner):
    """An error of the candidate is its own; one of inputs means that there is no such size."""
    body = "torch.relu(x * weight).view(-1, 16).sum(-1)"
    found = examiner(TORCH, body).examine(trial(SIZE, columns=17), calls=1)
    assert found["kind"] == frame.RAISES
    assert "candidate: RuntimeError" in found["message"]
    refusing = TORCH.replace("    generator =", "    assert columns % 16 == 0, 'sixteens'\n    generator =")
    found = examiner(refusing, RIGHT).examine(trial(SIZE, columns=17), calls=1)
    assert found["kind"] == frame.REFUSED
    assert "sixteens" in found["message"]


@pytest.mark.parametrize(
    ("framework", "source", "given", "made"),
    [
        ("torch", TORCH, "torch.randn(rows, columns, generator=generator)", "{}.bfloat16()"),
        ("jax", JAX, "random.standard_normal((rows, columns), np.float32)", "jnp.asarray({}, jnp.bfloat16)"),
        ("tensorflow", TENSORFLOW, "random.standard_normal((rows, columns), np.float32)", "tf.cast({}, tf.bfloat16)"),
    ],
)
def test_inputs_in_bfloat16_are_differentiated_too(examiner, framework, source, given, made):
    """NumPy has no such type."""
    pytest.importorskip(framework)
    tried = examiner(source.replace(given, made.format(given)), "reference(x, weight)", framework=framework)
    found = tried.examine(trial(precision="bf16"), calls=1)
    assert found["kind"] == frame.FINE
    assert len(found["measured"]) == 3


@pytest.mark.parametrize(("framework", "source"), [("torch", TORCH), ("jax", JAX), ("tensorflow", TENSORFLOW)])
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_loss_is_an_output_of_one_number(examiner, framework, source, precision):
    """In each precision."""
    pytest.importorskip(framework)
    source = source.replace(".sum(-1)", ".sum()").replace("weight), -1)", "weight))")
    tried = examiner(source, "reference(x, weight)", framework=framework)
    assert tried.examine(trial(precision=precision), calls=1)["kind"] == frame.FINE


@pytest.mark.parametrize("key", ["PRNGKey", "key"])
def test_a_random_key_is_an_argument(examiner, key):
    """Both kinds of JAX's."""
    pytest.importorskip("jax")
    source = JAX.replace("random.random(columns, np.float32)", f"jax.random.{key}(seed)")
    source = source.replace("x * weight", "drawn(x, weight)")
    more = "import jax\ndef drawn(x, key):\n    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0)\n"
    right, wrong = "jnp.tanh(drawn(x, weight)).sum(-1)", "jnp.tanh(drawn(x, jax.random.fold_in(weight, 0))).sum(-1)"
    assert examiner(source, right, framework="jax", more=more).examine(trial(), calls=1)["kind"] == frame.FINE
    assert examiner(source, wrong, framework="jax", more=more).examine(trial(), calls=1)["kind"] == frame.BUG


def test_inputs_that_are_not_of_the_seed_alone_are_refused(examiner):
    """Else nothing that is found could be shown again."""
    source = TORCH.replace("generator=generator), \"weight\"", "), \"weight\"")
    with pytest.raises(OwnFileError, match="two calls with seed 0 gave other numbers, in x"):
        examiner(source, RIGHT).examine(trial(), calls=1)


def test_the_users_test_and_what_rounding_needs(examiner):
    """A tolerance of nothing fails; each pair of draws needs something of it."""
    found = examiner(TORCH, RIGHT, more="TOLERANCE = {'atol': 1e-9, 'rtol': 0.0}\n").examine(trial(), calls=1)
    assert found["kind"] == frame.FINE
    assert found["test_fails"]
    assert not found["test_at_kink"]
    assert all(1e-8 < need < 1e-5 for need in found["needs"])


def test_a_test_that_fails_at_a_kink_is_told(examiner):
    """Where the derivative jumps, its element fails by a half; the tolerance of rounding does not grow by that."""
    source = TORCH.replace("torch.relu(x * weight).sum(-1)", "(torch.relu(x) + weight).sum(-1)")
    source = source.replace('{"x": torch.randn(rows, columns, generator=generator)', '{"x": torch.zeros(rows, columns)')
    found = examiner(source, "(x.clamp(min=0) + weight).sum(-1)", more="TOLERANCE = {'atol': 1e-4, 'rtol': 0.0}\n").examine(
        trial(), calls=1
    )
    assert (found["kind"], found["test_fails"], found["test_at_kink"]) == (frame.KINK, True, True)
    assert max(found["needs"]) < 1e-4


INDEX = {
    "torch": "x.flatten()[(torch.floor(9 * weight) + (0 * weight + 1).cumsum(-1)).long()] * weight",
    "jax": "x.ravel()[(jnp.floor(9 * weight) + jnp.cumsum(0 * weight + 1)).astype(int)] * weight",
    "tensorflow": "tf.gather(tf.reshape(x, [-1]), tf.cast(tf.floor(9 * weight) + tf.cumsum(0 * weight + 1), tf.int32)) * weight",
}


@pytest.mark.parametrize("framework", INDEX)
def test_an_index_that_is_computed_is_one_in_each_draw(examiner, framework):
    """Whole numbers do not round: with other elements in each draw, one in a hundred more would be less than a floor."""
    pytest.importorskip(framework)
    source = {"torch": TORCH, "jax": JAX, "tensorflow": TENSORFLOW}[framework]
    body = INDEX[framework]
    lines = [f"    return {body}" if line.startswith("    return") and "sum(" in line else line for line in source.splitlines()]
    source = "\n".join(lines)
    assert examiner(source, body, framework=framework).examine(trial(), calls=1)["kind"] == frame.FINE
    found = examiner(source, f"1.01 * {body}", framework=framework).examine(trial(), calls=1)
    assert (found["kind"], found["tensor"]) == (frame.BUG, "outputs/0")
    assert found["measured"]["outputs/0"][0] > 1e4


@pytest.mark.parametrize(
    ("framework", "source", "right", "wrong"),
    [
        ("jax", JAX, "jnp.tanh(x * weight)[:, ::-1].sum(-1)", "jnp.tanh(x * weight)[:, :-1].sum(-1)"),
        (
            "tensorflow",
            TENSORFLOW,
            "tf.reduce_sum(tf.tanh(x * weight)[:, ::-1], -1)",
            "tf.reduce_sum(tf.tanh(x * weight)[:, :-1], -1)",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_other_frameworks_see_the_same(examiner, framework, source, right, wrong, mode):
    """A sum in the other order is rounding; one without its last term is a bug, and so is a gradient of another seed."""
    pytest.importorskip(framework)
    tried = examiner(source, right, framework=framework, mode=mode)
    for seed in (0, 1):
        assert tried.examine(trial(seed=seed), calls=2)["kind"] == frame.FINE
    assert tried.examine(trial(precision="bf16"), calls=2)["kind"] == frame.FINE
    found = examiner(source, wrong, framework=framework, mode=mode).examine(trial(seed=1), calls=2)
    assert (found["kind"], found["tensor"]) == (frame.BUG, "outputs/0")
