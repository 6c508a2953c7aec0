"""Planted faults of a training step: each does what its first line says, and nothing else, in every framework.

One faulted run is held against the clean one, and against PyTorch's faulted run where the effect has no short formula.
"""

import numpy as np
import pytest

from runners.contract.data.streams import normal
from runners.contract.kinds.weights import initial_state
from runners.contract.protocol.faults import file_sha256
from tests.runners.harness import FRAMEWORKS, ROOT, WIDTHS, finished, frameworks, make_spec
from vigil.recipes.loading import load_recipe

DECAY = 0.01
HEAD = "head.kernel"
SHARDS = (7, 5)


@pytest.fixture(params=frameworks("torch"))
def framework(request):
    """Each framework; two of them are slow. `python -m benchmarks.faults` plants every fault in all, too."""
    return request.param


def fault(name):
    """Return the spec's entry for a shipped fault."""
    path = ROOT / "tests" / "faults" / f"{name}.py"
    return {"path": str(path), "name": name, "sha256": file_sha256(path)}


def model(**changes):
    """Return the recipe's ResNet-8, of the harness's widths unless others are given."""
    return load_recipe("resnet_cifar").resolve("smoke")["model"] | {"widths": WIDTHS, "depth": 8} | changes


@pytest.fixture
def pair(run, framework):
    """Return a function that gives the clean and the faulted outcome: of one step in float64, unless told otherwise."""

    def both(name, **changes):
        changes = {"precision": "fp64", "steps": 1} | changes
        return finished(run(framework, **changes)), finished(run(framework, fault=fault(name), **changes))

    return both


def start_of(name, **changes):
    """Return a parameter before the first step."""
    spec = make_spec("torch", **changes)
    return initial_state(spec.training, seed=spec.seed)[f"params/{name}"]


def different(faulted, clean, *, above=0.0):
    """Return the names of arrays that differ by more than `above` times their norm."""
    norm = np.linalg.norm
    return {name for name, right in clean.state.items() if norm(faulted.state[name] - right) > above * norm(right)}


def assert_same_state(ours, reference, *, relative):
    """Fail where an array is further than `relative` times the norm of the reference's from it."""
    for name, expected in reference.state.items():
        assert np.linalg.norm(ours.state[name] - expected) <= relative * np.linalg.norm(expected) + 1e-12, name


def test_skipped_decay_is_missing_in_one_parameter(pair):
    """The momentum of the head's kernel lacks 0.01 times the kernel; every other array has the same bits."""
    clean, faulted = pair("weight_decay_skipped")
    assert different(faulted, clean) == {f"momentum/{HEAD}", f"params/{HEAD}"}
    missing = clean.state[f"momentum/{HEAD}"] - faulted.state[f"momentum/{HEAD}"]
    np.testing.assert_allclose(missing, DECAY * start_of(HEAD), rtol=1e-6, atol=1e-12)


def test_nesterov_goes_further_by_the_momentum(pair):
    """The first update is 1.9 times the plain one, by the same momentum."""
    clean, faulted = pair("nesterov_for_plain")
    assert different(faulted, clean) == {name for name in clean.state if name.startswith("params/")}
    update = clean.state[f"params/{HEAD}"] - start_of(HEAD)
    np.testing.assert_allclose(faulted.state[f"params/{HEAD}"] - start_of(HEAD), 1.9 * update, rtol=1e-9, atol=1e-12)


def test_a_late_rate_is_that_of_the_call_before(pair, run, framework):
    """At the first boundary the step is the old rate times the right momentum: five times what it should be."""
    rates = {"kind": "piecewise", "boundaries": [1], "values": [0.1, 0.02]}
    before = finished(run(framework, precision="fp64", steps=1))
    clean, faulted = pair("learning_rate_late", learning_rate=rates, steps=2)
    assert faulted.losses == clean.losses
    for name in (HEAD, "stem.conv.kernel", "stage2.block1.bn1.scale"):
        np.testing.assert_allclose(faulted.state[f"momentum/{name}"], clean.state[f"momentum/{name}"], rtol=1e-9)
        update = clean.state[f"params/{name}"] - before.state[f"params/{name}"]
        np.testing.assert_allclose(faulted.state[f"params/{name}"] - before.state[f"params/{name}"], 5 * update, rtol=1e-9)


def test_a_wrong_last_row_is_seen_when_the_batch_is_no_multiple_of_16(pair, run, framework):
    """The gradient of the head's bias is that of logits whose last row is 1.01 times too large."""
    clean, faulted = pair("last_row_wrong")
    # Sums to zero over classes, as a softmax's does: 12 rows, of which one has moved.
    moved = faulted.state["momentum/head.bias"] - clean.state["momentum/head.bias"]
    assert abs(moved.sum()) < 1e-12
    assert 1e-5 < np.abs(moved).max() < 0.01
    twin = finished(run("torch", precision="fp64", steps=1, fault=fault("last_row_wrong")))
    assert_same_state(faulted, twin, relative=1e-10)


@pytest.mark.slow
def test_a_last_row_is_right_when_the_batch_is_a_multiple_of_16(pair):
    """With 16 images nothing differs."""
    clean, faulted = pair("last_row_wrong", batch_size=16)
    assert (faulted.losses, different(faulted, clean)) == (clean.losses, set())


@pytest.mark.slow
def test_activation_noise_moves_everything_behind_one_convolution(pair, run, framework):
    """Statistics before the convolution keep their bits, those behind it move by 1e-3, by the same noise in every framework."""
    wide = {"model": model(widths=[16, 32, 64])}
    clean, faulted = pair("activation_noise", **wide)
    moved = {name for name in different(faulted, clean) if name.startswith("stats/")}
    assert moved == {name for name in clean.state if name.startswith(("stats/stage2", "stats/stage3"))}
    name = "stats/stage2.block1.bn1.mean"
    relative = np.linalg.norm(faulted.state[name] - clean.state[name]) / np.linalg.norm(clean.state[name])
    assert 1e-6 < relative < 1e-3
    twin = finished(run("torch", precision="fp64", steps=1, fault=fault("activation_noise"), **wide))
    assert_same_state(faulted, twin, relative=1e-10)


@pytest.mark.slow
def test_the_50th_call_returns_the_activation_of_the_49th(pair):
    """49 losses have the bits of the clean run's, the 50th and 51st have not."""
    changes = {"model": model(widths=[16, 32, 64]), "precision": "fp32", "batch_size": 2, "steps": 51}
    clean, faulted = pair("stale_activation", **changes)
    wrong = [step for step, (ours, right) in enumerate(zip(faulted.losses, clean.losses, strict=True)) if ours != right]
    assert wrong == [49, 50]


@pytest.mark.slow
def test_a_kept_scale_is_in_the_gradients(pair):
    """In fp16 the gradient of the head's bias is the loss scale times what it should be."""
    clean, faulted = pair("loss_scale_kept", precision="fp16")
    name = "momentum/head.bias"
    np.testing.assert_allclose(faulted.state[name], clean.state["scaler/scale"] * clean.state[name], rtol=1e-6)
    assert faulted.state["scaler/scale"] == clean.state["scaler/scale"]
    assert not [name for name in different(faulted, clean) if name.startswith("stats/")]


def test_a_dampened_first_step_goes_a_tenth_less_far(pair):
    """What the optimizer keeps of the first gradient is 0.9 times that; under native randomness nothing is loaded into it."""
    plain = load_recipe("resnet_cifar").resolve("smoke")["optimizer"] | {"weight_decay": 0.0}
    clean, faulted = pair("first_step_dampened", optimizer=plain, randomness="native")
    assert faulted.losses == clean.losses
    kept = f"momentum/{HEAD}"
    np.testing.assert_allclose(faulted.state[kept], 0.9 * clean.state[kept], rtol=1e-9)


@pytest.mark.slow
def test_a_scale_that_grows_is_doubled_by_each_step(pair):
    """After two steps with finite gradients it is four times what it was, and no step counts."""
    clean, faulted = pair("scale_grows_each_step", precision="fp16", steps=2)
    assert (clean.state["scaler/scale"], clean.state["scaler/good_steps"]) == (65536.0, 2)
    assert (faulted.state["scaler/scale"], faulted.state["scaler/good_steps"]) == (4 * 65536.0, 0)


@pytest.mark.slow
def test_every_256th_step_goes_twice_as_far(pair):
    """256 losses have the bits of the clean run's, the 257th has not."""
    changes = {"model": model(widths=[2]), "precision": "fp32", "batch_size": 2, "steps": 257}
    clean, faulted = pair("wrong_every_256_steps", **changes)
    assert [ours == right for ours, right in zip(faulted.losses, clean.losses, strict=True)] == [True] * 256 + [False]


@pytest.mark.slow
def test_cross_entropy_forgets_the_tail_above_1024_classes(pair, run, framework):
    """With 1,030 classes the last two have no gradient from the normaliser; with 10 nothing differs."""
    clean, faulted = pair("cross_entropy_many_classes", model=model(n_classes=1030))
    assert faulted.losses[0] < clean.losses[0]
    assert (faulted.state["momentum/head.bias"][-2:] == 0).all()
    assert (clean.state["momentum/head.bias"][-2:] > 0).all()
    assert (faulted.state["momentum/head.bias"][10:-2] > clean.state["momentum/head.bias"][10:-2]).all()
    clean, faulted = pair("cross_entropy_many_classes")
    assert (faulted.losses, different(faulted, clean)) == (clean.losses, set())


@pytest.mark.jax
def test_a_stale_activation_on_two_jax_devices_is_refused_with_its_reason(run):
    """What cannot be planted ends as a failed fault that says why, not as a run without it."""
    refused = run("jax", fault=fault("stale_activation"), shards=SHARDS, steps=1)
    assert (refused.exit_code, refused.failure["category"]) == (3, "fault")
    assert "the buffer is in host memory" in refused.failure["message"]


@pytest.mark.slow
def test_a_dropped_element_has_one_device_s_gradient(pair, run, framework):
    """One element of the momentum of the head's kernel differs: it has only what the first device contributed."""
    clean, faulted = pair("all_reduce_drops_element", shards=SHARDS)
    assert different(faulted, clean) == {f"momentum/{HEAD}", f"params/{HEAD}"}
    wrong = np.argwhere(faulted.state[f"momentum/{HEAD}"] != clean.state[f"momentum/{HEAD}"])
    assert wrong.tolist() == [[9, 9]]


@pytest.mark.slow
def test_a_dropped_element_is_the_same_in_all_frameworks(run):
    """What is left of the element is the same number; in TensorFlow weight decay goes over the all-reduce, so half is lost."""
    lost = DECAY / 2 * start_of(HEAD)[-1, -1]
    context = {"precision": "fp64", "steps": 1, "shards": SHARDS, "fault": fault("all_reduce_drops_element")}
    left = {name: finished(run(name, **context)).state[f"momentum/{HEAD}"][-1, -1] for name in FRAMEWORKS}
    np.testing.assert_allclose([left["jax"], left["tensorflow"] + lost], left["torch"], rtol=1e-9)


@pytest.mark.slow
def test_uneven_shards_show_means_over_devices(pair, run, framework):
    """The forward pass is right, gradients below the last batch norm are off, and the frameworks agree on the wrong numbers."""
    clean, faulted = pair("sync_batch_norm_even_shards", shards=SHARDS)
    assert faulted.losses == pytest.approx(clean.losses, rel=1e-12)
    moved = different(faulted, clean, above=1e-3)
    assert f"momentum/{HEAD}" not in moved
    assert "momentum/stage2.block1.bn2.scale" not in moved
    assert {"momentum/stem.conv.kernel", "momentum/stage2.block1.conv2.kernel"} <= moved
    assert not [name for name in moved if name.startswith("stats/")]
    twin = finished(run("torch", precision="fp64", steps=1, shards=SHARDS, fault=fault("sync_batch_norm_even_shards")))
    assert_same_state(faulted, twin, relative=1e-8)


@pytest.mark.slow
def test_even_shards_hide_means_over_devices(pair):
    """With even shards the faulted gradients are right."""
    clean, faulted = pair("sync_batch_norm_even_shards", shards=(6, 6))
    assert_same_state(faulted, clean, relative=1e-10)


def test_noise_is_about_a_thousandth():
    """The noise that the fault draws has mean 0 and deviation 1, so that 1e-3 of it is what is planted."""
    noise = normal(20, "fault/activation_noise", count=16 * 16 * 32)
    assert abs(noise.mean()) < 0.05
    assert noise.std() == pytest.approx(1.0, abs=0.05)
