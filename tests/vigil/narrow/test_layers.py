"""From an origin to a script: faults planted in layers are shown by the layer alone, and what cannot be narrowed says why."""

from __future__ import annotations

import dataclasses

import pytest

from tests.test_architecture import ROOT
from tests.vigil.narrow.origins import DETECTOR, DIGITS, GPT, RESNET, Case, context_of, narrowed, tape_of
from vigil.audit.limits import audit_limits
from vigil.narrow.layers import (
    DEVICES,
    NO_OPERATOR,
    ON_CPU,
    OTHERWISE,
    RAISED,
    REPETITION,
    RIGHT_ALONE,
    WHOLE_MODEL,
    NotNarrowed,
    narrow_origin,
    trials_of_origin,
)
from vigil.narrow.smaller import MOST_LINES, Narrowed
from vigil.process.build_spec import fault_entry
from vigil.recipes.loading import load_recipe
from vigil.steps.processes import Started
from vigil.verify.standards import load_standard, verify_context

_WEIGHT, _DATA, _BIAS = ("backward", "weight gradient"), ("backward", "data gradient"), ("backward", "bias gradient")
_OUT = ("forward", "output")
_SDPA = "torch.nn.functional.scaled_dot_product_attention"
_OPTAX_LOSS = "optax.losses.softmax_cross_entropy_with_integer_labels"
QUICK = [
    Case("dense_slightly_large", "torch", RESNET, "head", *_OUT, "torch.nn.Linear"),
    Case("relu_leaks", "torch", RESNET, "stem.relu", *_OUT, "torch.nn.functional.relu"),
]
SLOW = [
    Case("weight_gradient_scaled", "torch", RESNET, "stage3.block1.conv2", *_WEIGHT, "torch.nn.Conv2d", slope=1.001),
    Case("weight_gradient_scaled", "jax", RESNET, "stage3.block1.conv2", *_WEIGHT, "flax.nnx.Conv", slope=1.001),
    Case("weight_gradient_halved", "torch", RESNET, "stem.conv", *_WEIGHT, "torch.nn.Conv2d", slope=0.5),
    Case("data_gradient_scaled", "torch", RESNET, "stage2.block1.conv2", *_DATA, "torch.nn.Conv2d", slope=1.001),
    Case("data_gradient_scaled", "tensorflow", RESNET, "stage2.block1.conv2", *_DATA, "keras.layers.Conv2D", slope=1.001),
    Case("padding_other_side", "torch", RESNET, "stage2.block1.conv1", *_OUT, "torch.nn.Conv2d"),
    Case("padding_other_side", "tensorflow", RESNET, "stage2.block1.conv1", *_OUT, "keras.layers.Conv2D"),
    Case("activation_noise", "torch", RESNET, "stage2.block1.conv1", *_OUT, "torch.nn.Conv2d"),
    Case("batch_norm_epsilon", "torch", RESNET, "stem.bn", *_OUT, "torch.nn.BatchNorm2d"),
    Case("batch_norm_momentum", "jax", RESNET, "stem.bn", "forward", "running mean", "flax.nnx.BatchNorm (running)"),
    Case("running_variance_biased", "torch", RESNET, "stage3.block1.bn1", "forward", "running variance", "torch.nn.BatchNorm2d"),
    Case("reduction_stops_at_256", "torch", RESNET, "stage3.block1.bn1", *_OUT, "torch.nn.BatchNorm2d", case="early/full"),
    Case("bias_gradient_scaled", "torch", RESNET, "head", *_BIAS, "torch.nn.Linear", slope=1.001),
    Case("dense_slightly_large", "tensorflow", RESNET, "head", *_OUT, "keras.layers.Dense"),
    Case("dense_gradient_scaled", "torch", GPT, "block1.up", *_WEIGHT, "torch.nn.Linear", slope=1.001),
    Case("relu_leaks", "tensorflow", RESNET, "stem.relu", *_OUT, "tensorflow.nn.relu"),
    Case("layer_norm_epsilon", "jax", GPT, "block1.norm1", *_OUT, "flax.nnx.LayerNorm"),
    Case("layer_norm_unbiased", "torch", GPT, "norm", *_OUT, "torch.nn.LayerNorm"),
    Case("gelu_by_tanh", "tensorflow", GPT, "block1.gelu", *_OUT, "tensorflow.nn.gelu"),
    Case("gelu_gradient_by_tanh", "torch", GPT, "block1.gelu", *_DATA, "torch.nn.functional.gelu"),
    Case("embedding_rows_once", "torch", GPT, "tokens", "backward", "embedding gradient", "torch.nn.Embedding"),
    Case("positions_shifted", "torch", GPT, "embedding", *_OUT, "torch.nn.Embedding"),
    Case("tied_gradient_lost", "torch", GPT, "tokens", "backward", "embedding gradient", "torch.nn.functional.linear"),
    Case("attention_scores_large", "torch", GPT, "block1.attention", *_OUT, _SDPA),
    Case("attention_value_gradient", "torch", GPT, "block1.attention", *_DATA, _SDPA),
    Case("attention_sees_next", "tensorflow", GPT, "block1.attention", *_OUT, "keras.ops.dot_product_attention"),
    Case("loss_smoothed", "jax", GPT, "loss", "forward", "loss", _OPTAX_LOSS),
    Case("squares_doubled", "torch", DIGITS, "penalty", *_OUT, "torch.Tensor.square"),
    Case("nesterov_for_plain", "torch", RESNET, "optimizer", "update", "momentum", "torch.optim.SGD (foreach)"),
    Case("nesterov_for_plain", "jax", RESNET, "optimizer", "update", "momentum", "optax.sgd"),
    Case("weight_decay_ignored", "jax", RESNET, "head", "update", "weight decay", "optax.sgd"),
    Case("adamw_second_moment_slow", "torch", GPT, "optimizer", "update", "second moment", "torch.optim.AdamW (foreach)"),
    Case("adamw_second_moment_slow", "jax", GPT, "optimizer", "update", "second moment", "optax.adamw"),
    Case("clipping_ignored", "jax", GPT, "optimizer", "update", "clipping", "optax.clip_by_global_norm"),
]  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [
        *[pytest.param(each, marks=getattr(pytest.mark, each.framework)) for each in QUICK],
        *[pytest.param(each, marks=[getattr(pytest.mark, each.framework), pytest.mark.slow]) for each in SLOW],
    ],
    ids=lambda each: f"{each.fault}-{each.framework}",
)
def test_a_fault_in_a_layer_is_shown_by_a_short_script(case, tmp_path) -> None:
    """WRONG with the fault, RIGHT without it, both in processes of their own, and nothing of Vigil in it."""
    found = narrowed(case, tmp_path)
    assert isinstance(found, Narrowed), found
    assert found.way == case.way
    assert found.like.startswith("WRONG")
    assert found.without is not None
    assert found.without.startswith("RIGHT")
    lines = found.script.read_text(encoding="utf-8").splitlines()
    assert found.lines == len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 200
    assert not any("vigil" in line.lower() or "runners" in line for line in lines)
    assert any("definition in" in line for line in lines)
    assert sum(found.trial.sizes.values()) <= sum(found.before.sizes.values())


def asked_of(layer: str, phase: str, quantity: str, *, recipe: str = RESNET, case: str = "early/margin", **context: object):
    origin = Case("", "torch", recipe, layer, phase, quantity, "", case=case).origin
    return trials_of_origin(origin, context_of("torch", **context), tape_of(recipe))


def test_a_layer_is_asked_at_its_own_sizes() -> None:
    """A convolution of stride 2: with its padding, and as Keras takes it, padded before."""
    own, around = asked_of("stage2.block1.conv1", *_WEIGHT)
    assert own.trial.sizes == {"n": 4, "c": 16, "g": 16, "o": 32, "h": 32, "w": 32, "kh": 3, "kw": 3}
    assert own.trial.parameters == {"strides": [2, 2], "padding": [[1, 1], [1, 1]], "dilation": [1, 1]}
    assert (around.trial.sizes["h"], around.trial.parameters["padding"]) == (34, [[0, 0], [0, 0]])
    assert own.quantities == ("gradients/weight",)
    assert own.trial.entry.differentiated == ("weight",)


def test_a_full_batch_is_asked_in_full() -> None:
    [each] = asked_of("stage3.block1.bn1", *_OUT, case="early/full")
    assert each.trial.sizes == {"m": tape_of(RESNET).training["batch_size"], "c": 64, "l": 64}
    [loss, _] = asked_of("loss", "forward", "loss", recipe=GPT, case="early/full")
    training = tape_of(GPT).training
    assert loss.trial.sizes == {"m": training["batch_size"] * training["model"]["block"], "n": training["model"]["vocabulary"]}


@pytest.mark.parametrize(
    ("arguments", "more", "reason"),
    [
        (("model", "evaluation", "logits"), {"case": "late/evaluation"}, WHOLE_MODEL),
        (("box.pool", "forward", "output"), {"recipe": DETECTOR}, NO_OPERATOR),
        (("stage2.block1.sum", "forward", "output"), {}, NO_OPERATOR),
        (("stem.conv", "forward", "output"), {"case": "early/repeat"}, REPETITION),
        (("hidden", "forward", "output"), {"recipe": DIGITS, "case": "init/trajectory"}, REPETITION),
        (("stem.conv", "forward", "output"), {"device": "gpu"}, ON_CPU),
        (("stem.conv", "forward", "output"), {"precision": "tf32"}, f"{NO_OPERATOR} in tf32"),
        (("optimizer", "update", "first step"), {"precision": "bf16"}, f"{NO_OPERATOR} in bf16"),
    ],
)
def test_what_no_operator_is_says_why(arguments, more, reason) -> None:
    assert asked_of(*arguments, **more) == NotNarrowed(reason)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "more", "reason"),
    [
        pytest.param(
            Case("running_variance_biased", "jax", RESNET, "stem.bn", "forward", "running variance", ""), {}, RIGHT_ALONE,
            marks=pytest.mark.jax,
        ),
        pytest.param(
            Case("sync_batch_norm_even_shards", "torch", RESNET, "stem.bn", *_DATA, ""), {"devices": 2}, DEVICES.format(count=2),
            marks=pytest.mark.torch,
        ),
        pytest.param(
            Case("weight_gradient_scaled", "tensorflow", RESNET, "stage3.block1.conv2", *_WEIGHT, "", slope=1.001), {}, OTHERWISE,
            marks=pytest.mark.tensorflow,
        ),
        pytest.param(
            Case("clipping_ignored", "torch", GPT, "optimizer", "update", "clipping", ""), {}, RAISED, marks=pytest.mark.torch
        ),
    ],
    ids=lambda each: each.fault if isinstance(each, Case) else None,
)  # fmt: skip
def test_a_layer_that_does_not_show_it_alone_says_so(case, more, reason, tmp_path) -> None:
    """In a runner's own layer, over devices, wrong in another way, and where the public call takes no such arguments."""
    found = narrowed(case, tmp_path, **more)
    assert isinstance(found, NotNarrowed)
    assert found.reason.startswith(reason)
    assert found.asked > 0


@pytest.mark.slow
@pytest.mark.torch
def test_a_verification_leads_to_a_script(tmp_path) -> None:
    """From the alarm on: a digits model with a planted fault is verified, and its origin narrowed."""
    fault = fault_entry(str(ROOT / "tests" / "faults" / "dense_slightly_large.py"))
    standard = load_standard(load_recipe(DIGITS), "quick", data_directory=None)
    context = context_of("torch")
    document = verify_context(standard, context, tmp_path / "verified", command="vigil verify", data_directory=None, fault=fault)
    assert document.origin is not None
    assert (document.origin.layer, document.origin.quantity) == ("hidden", "output")
    started = Started(framework="torch", fault=fault)
    found = narrow_origin(started, tmp_path / "narrowed", document.origin, context, standard.tape, limits=audit_limits())
    assert isinstance(found, Narrowed)
    assert found.way == "torch.nn.Linear"
    clean = dataclasses.replace(started, fault=None)
    again = narrow_origin(clean, tmp_path / "clean", document.origin, context, standard.tape, limits=audit_limits())
    assert isinstance(again, NotNarrowed)
    assert again.reason == RIGHT_ALONE
