"""The planted faults inside a layer do exactly what they say, in every framework, and nothing else.

One float64 step of ResNet-8 at its full widths, clean and faulted: what a fault does not touch must be equal to rounding.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from runners.contract.kinds.weights import initial_state
from runners.contract.protocol.checkpoint import CHECKPOINT
from runners.contract.protocol.faults import file_sha256
from tests.runners.harness import BATCH, ROOT, finished, frameworks, make_spec, name_of, outcome, start

RATE, DECAY, SHARE = 0.1, 0.01, 0.1  # learning rate, weight decay, what a batch adds to running statistics
TOLERANCE = 1e-12  # of a norm: float64's rounding, and a billionth of the smallest effect asserted here
SHIFTED, ROUNDED = "stage2.block1.conv1.kernel", "stage3.block1.conv1.kernel"
# Every batch norm, in forward order: the convolution before it, and height and width of the images there.
NORMS = {
    "stem.bn": ("stem.conv", 32),
    "stage1.block1.bn1": ("stage1.block1.conv1", 32),
    "stage1.block1.bn2": ("stage1.block1.conv2", 32),
    "stage2.block1.bn1": ("stage2.block1.conv1", 16),
    "stage2.block1.bn2": ("stage2.block1.conv2", 16),
    "stage3.block1.bn1": ("stage3.block1.conv1", 8),
    "stage3.block1.bn2": ("stage3.block1.conv2", 8),
}


def to_bfloat16(array):
    """Return the float32 array rounded to nearest, ties to even, at eight significant bits."""
    mantissa, exponent = np.frexp(array)
    return np.ldexp(np.rint(mantissa * 256) / 256, exponent).astype(np.float32)


def starting_state(spec, *, moved=False, rounded=True):
    """Return the initial state, but for two kernels that let a fault be undone by hand.

    Args:
        moved: the stride 2 kernel of 16 -> 32 has four taps; move them up and left by one, where padding (0, 2) for
            (1, 1) looks at what they saw before.
        rounded: round the stride 2 kernel of 32 -> 64 to bfloat16.
    """
    state = initial_state(spec.training, seed=spec.seed)
    sides = (0, 1) if moved else (1, 0)
    state[f"params/{SHIFTED}"] = np.pad(state[f"params/{SHIFTED}"][:2, :2], (sides, sides, (0, 0), (0, 0)))
    if rounded:
        state[f"params/{ROUNDED}"] = to_bfloat16(state[f"params/{ROUNDED}"])
    return state


class Step:
    """What one step left behind: its loss, its gradients, and the state after it."""

    def __init__(self, result, state) -> None:
        (self.loss,), self.state = finished(result).losses, result.state
        self.gradients = {
            name.removeprefix("momentum/"): buffer - DECAY * state[name.replace("momentum/", "params/")].astype(np.float64)
            for name, buffer in result.state.items()
            if name.startswith("momentum/")
        }

    def statistic(self, name):
        """Return the mean or variance of the batch that one running statistic has taken in, at the recipe's share."""
        start_value = 1.0 if name.endswith(".variance") else 0.0
        return (self.state[f"stats/{name}"] - (1 - SHARE) * start_value) / SHARE


@pytest.fixture(params=frameworks("torch"))
def framework(request):
    """Each framework; two of them are slow. `python -m benchmarks.faults` plants every fault in all, too."""
    return request.param


@pytest.fixture(scope="module")
def step(once):
    """Return a function that takes one step with a fault, or without one; the same step is taken once."""
    known: dict[str, Step] = {}

    def take(framework, fault=None, *, batch=BATCH, shards=None, **start_changes):
        key = json.dumps([framework, fault, batch, shards, start_changes])
        if key not in known:
            path = ROOT / "tests" / "faults" / f"{fault}.py"
            entry = fault and {"path": str(path), "name": fault, "sha256": file_sha256(path)}
            model = make_spec(framework).training["model"] | {"widths": [16, 32, 64]}
            training = {"batch_size": batch, "evaluation_batch_size": batch, "steps": 1}
            training["data"] = {"name": "generated", "n_train": 60, "n_test": 10}
            shards = shards or (batch,)
            changes = {**training, "model": model, "shards": shards, "evaluation_shards": shards}
            # JAX compiles an operation at a time when it is eager, which takes twice as long as the whole step at once.
            mode = "jit" if framework == "jax" else "eager"
            spec = make_spec(framework, precision="fp64", mode=mode, fault=entry, **changes)
            state = starting_state(spec, **start_changes)

            def make(directory):
                np.savez(directory / CHECKPOINT, step=np.int64(0), **state)
                (directory / "exit_code").write_text(str(start(directory, spec).wait(timeout=300)))

            directory = once(name_of(spec, start_changes), make)
            known[key] = Step(outcome(directory, int((directory / "exit_code").read_text())), state)
        return known[key]

    return take


def assert_scaled(array, reference, factor, *, name):
    """Raise unless the array is the reference times the factor, to rounding."""
    norm = np.linalg.norm(reference)
    assert norm > 0, name
    assert np.linalg.norm(array - factor * reference) <= TOLERANCE * norm, name


def assert_same_gradients(ours, reference, *, but=()):
    """Raise unless all gradients but those named are equal to the reference's."""
    for name in reference.gradients.keys() - set(but):
        assert_scaled(ours.gradients[name], reference.gradients[name], 1, name=name)


def assert_same_statistics(ours, reference, *, norms=tuple(NORMS), parts=("mean", "variance")):
    """Raise unless the running statistics of these layers are equal to the reference's."""
    for name in (f"stats/{norm}.{part}" for norm in norms for part in parts):
        assert_scaled(ours.state[name], reference.state[name], 1, name=name)


def assert_same_loss(ours, reference):
    """Raise unless the losses are equal."""
    assert ours.loss == pytest.approx(reference.loss, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("fault", "parameter"),
    [("weight_gradient_scaled", "stage3.block1.conv2.kernel"), ("bias_gradient_scaled", "head.bias")],
)
def test_one_parameters_gradient_is_scaled(step, framework, fault, parameter):
    """One gradient is 1.001 times the right one; loss, statistics and all other gradients are unchanged."""
    clean, faulted = step(framework), step(framework, fault)
    assert_scaled(faulted.gradients[parameter], clean.gradients[parameter], 1.001, name=parameter)
    assert_same_gradients(faulted, clean, but={parameter})
    assert_same_statistics(faulted, clean)
    assert_same_loss(faulted, clean)


def test_data_gradient_is_scaled(step, framework):
    """What lies behind the convolution in its branch has 1.001 times the gradient; the convolution's own is right."""
    clean, faulted = step(framework), step(framework, "data_gradient_scaled")
    branch = {f"stage2.block1.{part}" for part in ("bn1.scale", "bn1.bias", "conv1.kernel")}
    for name in branch:
        assert_scaled(faulted.gradients[name], clean.gradients[name], 1.001, name=name)
    before = {name for name in clean.gradients if name.startswith(("stem", "stage1"))}
    assert_same_gradients(faulted, clean, but=branch | before)
    for name in before:  # these see the shortcut's gradient too
        change = np.linalg.norm(faulted.gradients[name] - clean.gradients[name]) / np.linalg.norm(clean.gradients[name])
        assert 1e-6 < change < 1e-2, name
    assert_same_statistics(faulted, clean)
    assert_same_loss(faulted, clean)


def epsilons(step):
    """Return the epsilon that each layer's gradients tell of.

    Scaling a channel before batch norm changes only the part that epsilon has of its variance v, so the product of the
    kernel with its gradient is epsilon / (v + epsilon) times that of scale and its gradient.
    """
    found = []
    for norm, (conv, side) in NORMS.items():
        n = BATCH * side * side
        kernel = step.state[f"params/{conv}.kernel"] + RATE * step.state[f"momentum/{conv}.kernel"]
        share = (kernel * step.gradients[f"{conv}.kernel"]).sum(axis=(0, 1, 2)) / step.gradients[f"{norm}.scale"]
        found.append(np.median(share / (1 - share) * step.statistic(f"{norm}.variance") * (n - 1) / n))
    return found


def test_epsilon_is_twice_the_recipes(step, framework):
    """The gradients of every layer tell of an epsilon of 2e-5, and without the fault of 1e-5."""
    clean, faulted = step(framework), step(framework, "batch_norm_epsilon")
    np.testing.assert_allclose(epsilons(clean), 1e-5, rtol=1e-4)
    np.testing.assert_allclose(epsilons(faulted), 2e-5, rtol=1e-4)
    assert_same_statistics(faulted, clean, norms=["stem.bn"])


@pytest.mark.parametrize("shards", [None, pytest.param((7, 5), marks=pytest.mark.slow)])
def test_running_variance_is_the_biased_one(step, framework, shards):
    """Every layer's running variance takes in (n - 1) / n of what it should; nothing else is different."""
    clean, faulted = step(framework, shards=shards), step(framework, "running_variance_biased", shards=shards)
    for norm, (_, side) in NORMS.items():
        n = BATCH * side * side
        name = f"{norm}.variance"
        assert_scaled(faulted.statistic(name), clean.statistic(name), (n - 1) / n, name=name)
    assert_same_statistics(faulted, clean, parts=["mean"])
    assert_same_gradients(faulted, clean)


@pytest.mark.parametrize("shards", [None, pytest.param((7, 5), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("fault", "stays", "comes"), [("batch_norm_momentum_inverted", 0.1, 0.9), ("running_statistics_twice", 0.81, 0.19)]
)
def test_running_statistics_move_too_far(step, framework, fault, stays, comes, shards):
    """Of every running statistic too little stays and too much of the batch comes in; gradients are unchanged."""
    clean, faulted = step(framework, shards=shards), step(framework, fault, shards=shards)
    for norm in NORMS:
        for part, start_value in (("mean", 0.0), ("variance", 1.0)):
            name = f"{norm}.{part}"
            moved = faulted.state[f"stats/{name}"] - stays * start_value
            assert_scaled(moved, clean.statistic(name), comes, name=name)
    assert_same_gradients(faulted, clean)
    assert_same_loss(faulted, clean)


def test_one_kernel_is_rounded(step, framework):
    """The step of a precise kernel is the clean one of the rounded kernel."""
    clean, faulted = step(framework), step(framework, "parameter_cast_bf16", rounded=False)
    assert_same_loss(faulted, clean)
    assert_same_statistics(faulted, clean)
    assert_same_gradients(faulted, clean)


def test_an_unrounded_kernel_is_told_apart(step):
    """Without the fault the precise kernel takes another step: the comparison above can fail."""
    assert 1e-8 < abs(step("torch", rounded=False).loss / step("torch").loss - 1) < 1e-2


def test_padding_is_on_the_other_side(step, framework):
    """Padded (0, 2), a kernel's taps see what those one row and one column further see when it is padded (1, 1)."""
    clean, faulted = step(framework), step(framework, "padding_other_side", moved=True)
    assert_same_loss(faulted, clean)
    assert_scaled(faulted.gradients[SHIFTED][:2, :2], clean.gradients[SHIFTED][1:, 1:], 1, name=SHIFTED)
    assert_same_gradients(faulted, clean, but={SHIFTED})
    assert_same_statistics(faulted, clean, norms=["stem.bn", "stage1.block1.bn1", "stage1.block1.bn2"])


def test_reduction_stops_after_256_terms(step, framework):
    """Twelve images have other statistics than the right ones in the layers of 64 channels, and only there."""
    clean, faulted = step(framework), step(framework, "reduction_stops_at_256")
    assert_same_statistics(faulted, clean, norms=[norm for norm in NORMS if not norm.startswith("stage3")])
    for norm in ("stage3.block1.bn1", "stage3.block1.bn2"):
        for part in ("mean", "variance"):
            ours, reference = faulted.statistic(f"{norm}.{part}"), clean.statistic(f"{norm}.{part}")
            assert np.linalg.norm(ours - reference) > 1e-3 * np.linalg.norm(reference), (norm, part)
    assert faulted.loss != clean.loss


@pytest.mark.slow
def test_four_images_do_not_show_the_reduction(step, framework):
    """Of four images all 256 terms are counted: the step is right."""
    clean, faulted = step(framework, batch=4), step(framework, "reduction_stops_at_256", batch=4)
    assert_same_loss(faulted, clean)
    assert_same_statistics(faulted, clean)
    assert_same_gradients(faulted, clean)


@pytest.mark.parametrize("fault", ["data_gradient_scaled", "parameter_cast_bf16", "padding_other_side", "reduction_stops_at_256"])
def test_a_fault_is_the_same_in_all_frameworks(step, framework, fault):
    """The state after a faulted step agrees with PyTorch's to rounding, so the first 256 terms are the same ones."""
    changes = {"parameter_cast_bf16": {"rounded": False}, "padding_other_side": {"moved": True}}.get(fault, {})
    ours, reference = step(framework, fault, **changes), step("torch", fault, **changes)
    for name, expected in reference.state.items():
        assert np.linalg.norm(ours.state[name] - expected) <= 1e-9 * np.linalg.norm(expected), name
