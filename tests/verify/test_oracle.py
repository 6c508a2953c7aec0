"""The oracle's derivatives are the derivatives of its forward pass, and its layers can be set alone."""

import functools

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.steps.measure import line_of
from vigil.recipes.loading import load_recipe
from vigil.verify.floors import make_floors
from vigil.verify.inspection import in_order, rounded
from vigil.verify.oracle import operations, step
from vigil.verify.oracle import rounding as oracle_rounding
from vigil.verify.oracle.outline import Outline, Parameter
from vigil.verify.oracle.rounding import UNITS, Rounding
from vigil.verify.standard_cases import answer


@pytest.fixture
def tiny(training):
    """A narrow ResNet-8 on 16x16 images: (training, state, batch)."""
    training["model"] |= {"widths": [4, 6, 8], "image_shape": [16, 16, 3]}
    state = {name: value.astype(np.float64) for name, value in weights.initial_state(training, seed=1).items()}
    generator = np.random.default_rng(2)
    return training, state, (generator.normal(size=(4, 16, 16, 3)), np.array([3, 1, 4, 1]))


def test_in_an_evaluation_no_image_knows_of_the_others(tiny):
    """A vote on the first images is one on all: in the last, smaller group, too, each has the logits that it has alone."""
    training, state, _ = tiny
    images = np.random.default_rng(5).normal(size=(2 * step._EVALUATED_AT_ONCE + 3, 16, 16, 3))
    alone = [step.forward_passes(training, state, [], image[None])["logits"] for image in images]
    together = step.forward_passes(training, state, [], images)["logits"]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-11, atol=1e-12)


def assert_derivative(function, *arrays, **options):
    """Raise unless `backward` agrees with central differences along a random direction of every argument."""
    generator = np.random.default_rng(8)
    output, backward = function(*arrays, **options)
    cotangent = generator.normal(size=output.shape)
    gradients = backward(cotangent)
    for index, gradient in enumerate(gradients):
        direction = generator.normal(size=arrays[index].shape)
        sides = []
        for sign in (1, -1):
            moved = [array + sign * 1e-6 * direction if place == index else array for place, array in enumerate(arrays)]
            sides.append(np.sum(cotangent * function(*moved, **options)[0]))
        assert np.sum(gradient * direction) == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-6, abs=1e-8), index


X = np.random.default_rng(1).normal(size=(3, 7, 6, 4))


@pytest.mark.parametrize(
    ("function", "others", "options"),
    [
        (operations.convolution, [(3, 3, 4, 5)], {"stride": 1, "padding": ((1, 1), (1, 1))}),
        (operations.convolution, [(3, 3, 4, 5)], {"stride": 2, "padding": ((1, 1), (1, 1))}),
        (operations.convolution, [(3, 2, 4, 5)], {"stride": 2, "padding": ((0, 2), (1, 0))}),
        (operations.convolution, [(1, 2, 4, 5)], {"stride": 1, "padding": ((1, 0), (2, 1))}),
        (operations.relu, [], {}),
        (operations.add, [X.shape], {}),
        (operations.strided_slice, [], {"stride": 2, "channels_before": 1, "channels_after": 2}),
        (operations.mean_pool, [], {}),
    ],
)
def test_derivatives_of_operations(function, others, options):
    """Each gradient is the directional derivative."""
    assert_derivative(function, X, *(np.random.default_rng(9).normal(size=shape) for shape in others), **options)


def test_derivatives_of_dense_and_loss():
    """So are those of the head and of the loss."""
    generator = np.random.default_rng(6)
    assert_derivative(operations.dense, *(generator.normal(size=shape) for shape in [(5, 7), (7, 3), (3,)]))
    logits, labels = generator.normal(size=(5, 6)), np.array([0, 5, 2, 2, 1])
    assert_derivative(operations.softmax_cross_entropy, logits, labels=labels)
    assert_derivative(operations.cross_entropy_of_rows, logits, labels=labels, rounded=lambda x, terms: x)
    assert_derivative(operations.scaled, logits[:, 0], factor=generator.normal(size=5))


def test_a_row_that_is_nearly_certain_is_as_uncertain_as_a_sum_of_one():
    """What float32 makes of a loss of 1e-3 lies within a few of the draws' deviations, which are hundreds of its own rounding."""
    logits, labels = np.array([[9.0, 2.0, 1.0], [8.5, 1.0, 0.5]]), np.array([0, 0])
    exact, _ = operations.cross_entropy_of_rows(logits, labels=labels, rounded=lambda x, terms: x)
    draws = []
    for draw in range(64):
        rounding = Rounding(UNITS["fp32"], draw=draw)
        draws.append(operations.cross_entropy_of_rows(logits, labels=labels, rounded=rounding.master)[0] - exact)
    deviation = np.sqrt(np.mean(np.square(draws), axis=0))
    shifted = logits.astype(np.float32) - np.float32(logits.max(axis=1, keepdims=True))
    observed = np.abs(np.log(np.exp(shifted).sum(axis=1)) - exact)
    assert (observed < 4.0 * deviation).all()
    assert (deviation > 100.0 * 2.0**-24 * exact).all()


def test_batch_norm_differentiates_its_own_statistics():
    """The gradient goes through mean and variance, which are taken of x."""

    def whole(x, scale, bias):
        over = (0, 1, 2)
        return operations.batch_norm(x, scale, bias, x.mean(axis=over), x.var(axis=over), epsilon=1e-5)

    assert_derivative(whole, X, np.array([1.0, 2.0, 0.5, 1.5]), np.arange(4.0))


def test_a_step_differentiates_the_loss(tiny):
    """The gradient of every parameter of the whole model is that of the loss."""
    training, state, batch = tiny
    answer = step.train_step(training, state, [batch], 0.1)
    generator = np.random.default_rng(5)
    for name in ("stem.conv.kernel", "stage2.block1.conv1.kernel", "stage3.block1.bn1.scale", "head.bias"):
        direction = generator.normal(size=state[f"params/{name}"].shape)
        losses = []
        for sign in (1, -1):
            moved = {**state, f"params/{name}": state[f"params/{name}"] + sign * 1e-6 * direction}
            losses.append(step.train_step(training, moved, [batch], 0.1)["loss"])
        found = np.sum(answer[f"parameter_gradient/{name}"] * direction)
        assert found == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-4, abs=1e-8), name


def test_layers_alone_on_the_steps_own_tensors_are_the_step(tiny):
    """Cut everywhere and given its own taps and gradients, the model has the gradients of the whole."""
    training, state, batch = tiny
    whole = step.segments(training, state, batch, leaves={}, cotangents={})
    leaves = {name.removeprefix("output/"): value for name, value in whole.items() if name.startswith("output/")}
    cotangents = {name: whole[f"leaf_gradient/{name}"] for name in leaves}
    alone = step.segments(training, state, batch, leaves=leaves, cotangents=cotangents)
    for name, value in whole.items():
        np.testing.assert_allclose(alone[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


def test_what_one_layer_does_wrong_reaches_no_other(tiny):
    """With a wrong tensor at one tap, only the layers that read it answer otherwise."""
    training, state, batch = tiny
    whole = step.segments(training, state, batch, leaves={}, cotangents={})
    leaves = {name.removeprefix("output/"): value for name, value in whole.items() if name.startswith("output/")}
    cotangents = {name: whole[f"leaf_gradient/{name}"] for name in leaves}
    wrong = {**leaves, "stage1.block1.relu1": 2 * leaves["stage1.block1.relu1"]}
    alone = step.segments(training, state, batch, leaves=wrong, cotangents=cotangents)
    moved = {name for name, value in whole.items() if not np.allclose(alone[name], value, rtol=1e-6)}
    assert moved == {"output/stage1.block1.conv2", "parameter_gradient/stage1.block1.conv2.kernel"}


def test_readers_are_the_layers_that_follow(tiny):
    """The graph knows who reads a tap: two layers where a block begins, the loss at the end."""
    training, state, batch = tiny
    readers = step.outline(training, state, batch).readers
    assert readers["stem.relu"] == ("stage1.block1.shortcut", "stage1.block1.conv1")
    assert readers["stage1.block1.bn2"] == ("stage1.block1.sum",)
    assert readers["logits"] == ("loss",)


def test_places_name_layer_phase_and_quantity(tiny):
    """A tensor's name says where it is made; the gradient at a tap is made by the layer that reads it."""
    training, state, batch = tiny
    outline = step.outline(training, state, batch)
    expected = {
        "output/logits": ("head", "forward", "output"),
        "stats/stem.bn.variance": ("stem.bn", "forward", "running variance"),
        "leaf_gradient/stem.relu": ("stage1.block1.conv1", "backward", "data gradient"),
        "leaf_gradient/logits": ("loss", "backward", "data gradient"),
        "parameter_gradient/head.bias": ("head", "backward", "bias gradient"),
        "params/stem.bn.scale": ("stem.bn", "update", "scale"),
        "loss": ("loss", "forward", "loss"),
    }
    for tensor, place in expected.items():
        found = outline.place(tensor)
        assert (found.layer, found.phase, found.quantity) == place


def test_order_is_forward_then_backward(tiny):
    """What is made first stands first: forward from the stem, backward from the loss."""
    from vigil.verify.distance import Difference

    training, state, batch = tiny
    outline = step.outline(training, state, batch)
    names = [
        "output/stem.conv", "output/stem.bn", "stats/stem.bn.mean", "output/logits", "loss", "leaf_gradient/logits",
        "parameter_gradient/head.bias", "parameter_gradient/stage1.block1.conv2.kernel", "parameter_gradient/stem.conv.kernel",
    ]  # fmt: skip
    differences = [Difference("case", name, 1.0, 1.0, 0.0, 0.0, 0.0) for name in reversed(names)]
    assert [each.tensor for each in in_order(differences, outline)] == names


def test_a_gradient_that_three_layers_make_comes_after_all_of_them():
    """Backward it is whole once the first of them is done: what is wrong in a later one came before."""
    from vigil.verify.distance import Difference

    heads = ("first", "second", "third")
    readers = {"fpn": heads} | dict.fromkeys(heads, ("loss",))
    parameters = {each.name: each for each in (Parameter(layer, "kernel") for layer in readers)}
    users = {name: (parameter.layer,) for name, parameter in parameters.items()}
    outline = Outline(tuple(readers), readers, {}, {}, (), {}, parameters, users, {})
    kernels = [f"parameter_gradient/{layer}.kernel" for layer in ("third", "second", "fpn")]
    names = [*kernels[:2], "leaf_gradient/fpn", kernels[2]]
    differences = [Difference("case", name, 1.0, 1.0, 0.0, 0.0, 0.0) for name in reversed(names)]
    assert [each.tensor for each in in_order(differences, outline)] == names


def test_casts_round_to_nearest_even():
    """bfloat16 keeps 8 bits of the significand; a tie goes to the even neighbour, as float16's does in numpy."""
    values = np.array([1.0, 1.00390625, 1.01171875, 1.005, -3.14159265, 65504.0])
    assert rounded(values, "bfloat16").tolist() == [1.0, 1.0, 1.015625, 1.0078125, -3.140625, 65536.0]
    assert rounded(np.array([1.00048828125]), "float16").tolist() == [1.0]
    assert rounded(np.array([1 / 3]), "float32").tolist() == [float(np.float32(1 / 3))]


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_of_few_images_at_a_time_is_that_of_all(monkeypatch, stride):
    """Whatever the cache holds, output and gradients are the same."""
    generator = np.random.default_rng(3)
    kernel, found = generator.normal(size=(3, 3, 4, 5)), []
    for numbers in (2**18, 1):
        monkeypatch.setattr(operations, "_IN_CACHE", numbers)
        value, backward = operations.convolution(X, kernel, stride=stride, padding=((1, 1), (1, 1)))
        found.append((value, *backward(np.cos(value))))
    for whole, few in zip(*found, strict=True):
        np.testing.assert_allclose(few, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_floors_of_coarse_rounding_are_those_of_float64(tape, monkeypatch, precision):
    """Computed in float32 the same draws give every floor to a hundredth, and slopes to a twentieth of their deviation."""
    case = next(case for case in tape.cases if case.name == "late/margin")

    def floors():
        draw = functools.partial(answer, case, tape.training, tape.probes, tape.batches)
        return make_floors(tape.expected(case), lambda rounding: draw(rounding=rounding), precision=precision, draws=4)

    found = floors()
    monkeypatch.setattr(oracle_rounding, "_COARSE", np.inf)
    assert Rounding(UNITS[precision]).activation(np.ones(1)).dtype == np.float64
    for name, floor in floors().items():
        assert found[name].distance == pytest.approx(floor.distance, rel=0.01), name
        assert found[name].slope == pytest.approx(floor.slope, rel=0.05, abs=0.05 * floor.slope[1], nan_ok=True), name


def test_a_coarse_rounding_is_computed_in_float32_but_for_what_is_in_the_parameters_type():
    """What is handed on and what is cast is float32 where units are coarse; statistics, losses and updates never are."""
    kept = {}
    for precision, units in UNITS.items():
        rounding = Rounding(units)
        kept[precision] = [each(np.ones(3)).dtype.name for each in (rounding.activation, rounding.cast, rounding.master)]
    assert kept["fp32"] == kept["fp64"] == ["float64"] * 3
    assert kept["bf16"] == kept["fp16"] == kept["tf32"] == ["float32", "float32", "float64"]


def test_draws_round_the_number_that_averages_weights():
    """Float32 has no 0.99: a right average is off by one share in all of its elements, as draws are, each by one of its own."""
    training = load_recipe("moco_lite").resolve("quick")
    state = {name: value.astype(np.float64) for name, value in weights.initial_state(training, seed=1).items()}
    batch = np.random.default_rng(2).normal(size=(16, 2, 32, 32, 3)), np.zeros(16, np.int64)
    name = "stats/key.stage3.block1.conv1.kernel"
    exact, *drawn = (
        step.train_step(training, state, [batch], 0.1, rounding=rounding)[name]
        for rounding in (None, *(Rounding(UNITS["bf16"], draw=draw) for draw in range(6)))
    )
    slopes = np.array([line_of(each, exact)[1] for each in drawn]) / 2.0**-24
    assert 0.2 < np.sqrt(np.mean(slopes**2)) < 1.5
    of_key, of_query = (float(np.float32(share)) for share in (0.99, 0.01))
    in_float32 = of_key * state[name] + of_query * state[name.replace("stats/key.", "params/")]
    assert abs(line_of(in_float32, exact)[1]) / 2.0**-24 < 3.0 * np.sqrt(np.mean(slopes**2))
