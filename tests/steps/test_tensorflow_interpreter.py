"""A graph of TensorFlow in float64 is what the same function gives in float64; rounding moves it by as much as it should."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from runners.contract.errors import Unsupported

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")
interpreter = pytest.importorskip("runners.tensorflow.interpreter")


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _with_gradients(function):
    """Return a function that gives a loss and its gradients of all arguments of numbers."""

    def differentiated(*given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = tf.reduce_sum(tf.sin(function(*given)))
        return [loss, *(tf.convert_to_tensor(each) for each in tape.gradient(loss, given))]

    return differentiated


def _loop(x, w):
    found = tf.TensorArray(x.dtype, size=5)
    state, step = tf.zeros_like(x), tf.constant(0)

    def body(step, state, found):
        state = tf.tanh(tf.matmul(state, w) + x)
        return step + 1, state, found.write(step, state)

    _, _, found = tf.while_loop(lambda step, *_: step < 5, body, (step, state, found))
    return found.stack()


def _branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: x * x)


PROGRAMS = {
    "product": (lambda x, y: tf.matmul(x, y, transpose_b=True), (_numbers(6, 5), _numbers(4, 5))),
    "einsum": (lambda x, y: tf.einsum("...td,hd->...th", x, y), (_numbers(2, 6, 5), _numbers(4, 5))),
    "convolution": (lambda x, w: tf.nn.conv2d(x, w, 2, "SAME"), (_numbers(2, 7, 7, 3), _numbers(3, 3, 3, 4))),
    "depthwise": (lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"), (_numbers(2, 6, 6, 3), _numbers(3, 3, 3, 2))),
    "pooling": (lambda x: tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID"), (_numbers(2, 6, 6, 3),)),
    "loop": (_loop, (_numbers(3, 4), _numbers(4, 4))),
    "branch": (_branch, (_numbers(3, 4),)),
    "rows": (lambda x: tf.gather(x, [0, 2, 2]), (_numbers(4, 3),)),
    "function": (lambda x: tf.function(tf.nn.softmax)(x), (_numbers(4, 3),)),
}


def _run(function, arguments, *, draw=None, machine=None):
    traced = interpreter.Traced(tf.function(function, autograph=False).get_concrete_function(*map(tf.constant, arguments)))
    machine = machine or interpreter.Interpreter()
    machine.restart(draw)
    return [each.numpy() for each in machine.run(traced, arguments)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_of_float32_gives_what_the_function_gives_in_float64(name):
    function, arguments = PROGRAMS[name]
    differentiated = _with_gradients(function)
    expected = tf.function(differentiated, autograph=False)(*(tf.constant(each, tf.float64) for each in arguments))
    found = _run(differentiated, arguments)
    assert len(found) == len(expected)
    for mine, other in zip(found, map(tf.convert_to_tensor, expected), strict=True):
        assert mine.dtype == np.float64
        np.testing.assert_allclose(mine, other.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("strides", "dilations", "padding"),
    [(1, (2, 3), "SAME"), (1, (1, 2), "VALID"), ((2, 1), 1, "SAME"), (2, 1, [[0, 0], [1, 2], [2, 0], [0, 0]])],
)
def test_gradients_of_grouped_and_dilated_convolutions_are_those_of_xla(groups, strides, dilations, padding):
    """TensorFlow's own float64 has kernels for neither on a CPU; XLA has."""
    differentiated = _with_gradients(lambda x, w: tf.nn.conv2d(x, w, strides, padding, dilations=dilations))
    arguments = _numbers(2, 9, 8, 4), _numbers(3, 2, 4 // groups, 6)
    xla = tf.function(differentiated, autograph=False, jit_compile=True)
    expected = xla(*(tf.constant(each, tf.float64) for each in arguments))
    for mine, other in zip(_run(differentiated, arguments), expected, strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=1e-12, atol=1e-13)


_WINDOW, _STEPS = (2, 3, 2), (2, 1, 2)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_means_of_volumes_are_those_of_the_operator(padding):
    """Which has no float64."""
    differentiated = _with_gradients(lambda x: tf.nn.avg_pool3d(x, _WINDOW, _STEPS, padding))
    arguments = (_numbers(2, 5, 6, 7, 3),)
    expected = tf.function(differentiated, autograph=False)(*map(tf.constant, arguments))
    for mine, other in zip(_run(differentiated, arguments), expected, strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_the_first_of_equal_largest_numbers_of_a_volume_has_the_gradient(padding):
    """The operator has no float64, and without oneDNN it gives each of them all of it (docs/audit-findings.md)."""
    differentiated = _with_gradients(lambda x: tf.nn.max_pool3d(x, _WINDOW, _STEPS, padding))
    x = np.round(_numbers(2, 5, 6, 7, 3), 1)
    loss, gradient, ties = 0.0, np.zeros(x.shape), 0
    for corner, window in _windows(x[..., 0].shape[1:], padding):
        for image, channel in itertools.product(range(2), range(3)):
            seen = x[(image, *window, channel)].astype(np.float64)
            place = np.unravel_index(seen.argmax(), seen.shape)
            loss += np.sin(seen[place])
            gradient[(image, *np.add(corner, place), channel)] += np.cos(seen[place])
            ties += np.sum(seen == seen[place]) > 1
    assert ties > 10
    for mine, other in zip(_run(differentiated, (x,)), (loss, gradient), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def _windows(shape, padding):
    """Yield the first place of each window within a volume, and the window as slices."""
    axes = []
    for size, width, step in zip(shape, _WINDOW, _STEPS, strict=True):
        count = -(-size // step) if padding == "SAME" else (size - width) // step + 1
        before = max(0, (count - 1) * step + width - size) // 2
        begins = [step * index - before for index in range(count)]
        axes.append([slice(max(0, begin), min(size, begin + width)) for begin in begins])
    for window in itertools.product(*axes):
        yield [each.start for each in window], window


@pytest.mark.parametrize("is_training", [True, False])
def test_a_fused_batch_norm_is_that_of_its_definition(is_training):
    """It has no float64 kernel: it is written out."""
    x, scale, offset = _numbers(4, 3, 3, 5), _numbers(5), _numbers(1, 5)[0]
    mean, variance = _numbers(2, 5)[0], np.abs(_numbers(3, 5)[0]) + 0.5

    def fused(x, scale, offset):
        given = {} if is_training else {"mean": mean, "variance": variance}
        return tf.compat.v1.nn.fused_batch_norm(x, scale, offset, epsilon=0.01, is_training=is_training, **given)[0]

    def plain(x, scale, offset):
        of_batch = tf.nn.moments(x, [0, 1, 2]) if is_training else (tf.cast(mean, x.dtype), tf.cast(variance, x.dtype))
        return tf.nn.batch_normalization(x, *of_batch, offset, scale, tf.cast(np.float32(0.01), x.dtype))

    expected = _with_gradients(plain)(*(tf.constant(each, tf.float64) for each in (x, scale, offset)))
    for mine, other in zip(_run(_with_gradients(fused), (x, scale, offset)), expected, strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("ends", [{"half_pixel_centers": True}, {"align_corners": True}, {}])
def test_bilinear_resizing_is_that_of_the_operator(ends):
    def resized(x):
        return tf.raw_ops.ResizeBilinear(images=x, size=[7, 5], **ends)

    x = _numbers(2, 4, 6, 3)
    for mine, other in zip(_run(_with_gradients(resized), (x,)), _with_gradients(resized)(tf.constant(x)), strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=2e-5, atol=2e-6)


def _is_of_the_operator(function, *arguments, rtol=2e-5, atol=2e-6):
    """Are its results and gradients those of TensorFlow in float32?"""
    differentiated = _with_gradients(function)
    expected = differentiated(*map(tf.constant, arguments))
    for mine, other in zip(_run(differentiated, arguments), expected, strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("size", [[7, 5], [3, 9], [1, 1]])
@pytest.mark.parametrize("ends", [{"half_pixel_centers": True}, {"align_corners": True}, {}])
def test_bicubic_resizing_is_that_of_the_operator(ends, size):
    """With its table of weights, without which it is off by 1e-3."""
    _is_of_the_operator(lambda x: tf.raw_ops.ResizeBicubic(images=x, size=size, **ends), _numbers(2, 4, 6, 3))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize(
    "kind", ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]
)
def test_an_image_that_is_scaled_and_moved_is_that_of_the_operator(kind, antialias):
    """Also where it leaves the image that it is of."""
    for size, scale, moved in (([3, 11], [0.4, 1.9], [0.3, -1.2]), ([9, 4], [1.0, 0.7], [3.5, 0.0])):

        def resized(x, size=size, scale=scale, moved=moved):
            return tf.raw_ops.ScaleAndTranslate(
                images=x, size=size, scale=scale, translation=moved, kernel_type=kind, antialias=antialias
            )

        _is_of_the_operator(resized, _numbers(2, 6, 7, 3))


@pytest.mark.parametrize("size", [[3, 4], [1, 5]])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_boxes_that_are_cut_out_are_those_of_the_operator(method, size):
    """Over the border and upside down, too: of the image and, where it has one, of the boxes."""
    boxes = np.float32([[0.1, 0.2, 0.83, 0.77], [-0.2, 0.31, 0.9, 1.3], [0.9, 0.13, 0.21, 0.65]])

    def cut(x, *boxes_given):
        return tf.image.crop_and_resize(x, *(boxes_given or (boxes,)), [1, 0, 1], size, method, extrapolation_value=0.5)

    _is_of_the_operator(cut, _numbers(2, 6, 7, 3), *([boxes] if method == "bilinear" else []), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("narrow_range", [True, False])
@pytest.mark.parametrize("num_bits", [3, 8])
def test_quantised_numbers_are_those_of_the_operator(num_bits, narrow_range):
    """Of ends that are given, learned, and learned for each channel; the gradients of ends are of what lies beyond them."""
    given = {"num_bits": num_bits, "narrow_range": narrow_range}
    x = 3.0 * _numbers(6, 7, 5)
    least, most = np.float32([-2.3, -1.0, -3.1, -0.7, 0.0]), np.float32([1.9, 1.4, 0.5, 2.2, 1.6])
    _is_of_the_operator(lambda x: tf.quantization.fake_quant_with_min_max_args(x, -2.3, 1.9, **given), x, atol=1e-4)
    _is_of_the_operator(lambda *of: tf.quantization.fake_quant_with_min_max_vars(*of, **given), x, least[0], most[0], atol=1e-4)
    _is_of_the_operator(
        lambda *of: tf.quantization.fake_quant_with_min_max_vars_per_channel(*of, **given), x, least, most, atol=1e-4
    )


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "WRAP", "NEAREST"])
@pytest.mark.parametrize("interpolation", ["BILINEAR", "NEAREST"])
def test_a_projected_image_is_that_of_the_operator(mode, interpolation):
    """What Keras' layers turn, shift and zoom by; far outside of the image, too."""
    transforms = np.float32([[1.1, 0.3, -7.3, -0.2, 0.9, 2.2, 0.01, 0.0], [0.9, -0.2, 9.1, 0.3, 1.2, -9.3, 0.0, -0.02]])

    def projected(x):
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=x, transforms=transforms, output_shape=[7, 9], fill_value=0.5, interpolation=interpolation, fill_mode=mode
        )

    x = _numbers(2, 6, 5, 3)
    for mine, other in zip(_run(_with_gradients(projected), (x,)), _with_gradients(projected)(tf.constant(x)), strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=2e-5, atol=2e-5)
    assert np.isfinite(_run(lambda x: [projected(x)], (x,), draw=0)[0]).all()


def test_an_optimizer_updates_variables_of_the_interpreters_own():
    first, gradient = _numbers(4, 3), _numbers(3, 4).T.copy()
    variable, second = tf.Variable(first), tf.Variable(np.zeros((4, 3), np.float32))

    def step(gradient):
        second.assign(0.5 * second + gradient * gradient)
        variable.assign_sub(0.25 * gradient / (tf.sqrt(second) + 1.0))
        return [tf.identity(variable)]

    machine = interpreter.Interpreter()
    (found,) = _run(step, (gradient,), machine=machine)
    wide = gradient.astype(np.float64)
    np.testing.assert_allclose(found, first - 0.25 * wide / (np.abs(wide) + 1.0), rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(variable.numpy(), first)
    np.testing.assert_array_equal(machine.of(variable).numpy(), found)
    machine.restart(None)
    np.testing.assert_array_equal(machine.of(variable).numpy(), first)


def test_what_is_drawn_at_random_is_what_the_program_draws():
    x = _numbers(30, 20)

    def dropped(x):
        return [tf.nn.experimental.stateless_dropout(x, 0.4, seed=(3, 4), rng_alg="philox")]

    expected = dropped(tf.constant(x))[0].numpy()
    (found,) = _run(dropped, (x,))
    np.testing.assert_array_equal(found == 0, expected == 0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("kind", "unit"), [("float32", 2.0**-24), ("bfloat16", 2.0**-8), ("float16", 2.0**-11)])
def test_noise_is_as_large_as_rounding_to_the_type_of_a_result(kind, unit):
    x = np.abs(_numbers(64, 64)) + 1.0

    def rooted(x):
        return [tf.cast(tf.sqrt(tf.cast(x, kind)), tf.float32)]

    (exact,), (noisy,), (other,) = (_run(rooted, (x,), draw=draw) for draw in (None, 0, 1))
    relative = noisy / exact - 1.0
    assert np.abs(relative).max() <= 1.6 * unit
    assert 0.4 * unit < relative.std() < 0.9 * unit
    assert abs(relative.mean()) < 0.05 * unit
    assert np.abs(noisy - other).max() > unit


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.math.polygamma(np.float32(2.0), x),
        lambda x: tf.math.zeta(x, np.float32(1.5)),
        lambda x: tf.math.igamma(np.float32(2.5), x),
        lambda x: tf.math.igammac(np.float32(2.5), x),
        tf.math.bessel_i0e,
        tf.math.bessel_i1e,
    ],
    ids=["polygamma", "zeta", "igamma", "igammac", "bessel_i0e", "bessel_i1e"],
)  # fmt: skip
def test_a_function_of_each_number_has_its_arguments_as_they_are(function):
    """Its result is rounded once: a polygamma whose order were moved is not finite."""
    exact, noisy = (_run(lambda x: [function(x)], (np.abs(_numbers(8, 8)) + 1.5,), draw=draw)[0] for draw in (None, 0))
    assert np.abs(noisy / exact - 1.0).max() <= 1.6 * 2.0**-24


def test_a_derivative_of_a_polygamma_has_noise():
    """Its order is one more, of constants alone."""
    function = _with_gradients(tf.math.digamma)
    (_, exact), (_, noisy) = (_run(function, (np.abs(_numbers(8, 8)) + 1.5,), draw=draw) for draw in (None, 0))
    assert 0.0 < np.abs(noisy / exact - 1.0).max() < 1e-5


def test_noise_of_a_product_grows_with_the_root_of_its_terms():
    def spread(n):
        x, y = _numbers(16, n), _numbers(n, 16)
        exact, noisy = (_run(lambda x, y: [tf.matmul(x, y)], (x, y), draw=draw)[0] for draw in (None, 0))
        return np.linalg.norm(noisy - exact) / np.linalg.norm(exact) / 2.0**-24

    assert 1.5 < spread(4096) / spread(256) < 5.0


def test_what_only_moves_numbers_has_no_noise():
    def moved(x):
        return [tf.nn.relu(tf.transpose(tf.concat([x, tf.gather(x, [1, 0])], 0))) * 0.5]

    exact, noisy = (_run(moved, (_numbers(6, 5),), draw=draw)[0] for draw in (None, 0))
    np.testing.assert_array_equal(exact, noisy)


def test_choices_are_named_and_change_where_rounding_changes_them():
    machine = interpreter.Interpreter()
    x = np.float32([1.0, 1.0 + 1e-7, 3.0])

    def chosen(x):
        return [tf.argmax(tf.stack([tf.sqrt(x[0]), tf.sqrt(x[1])])), tf.cast(tf.nn.relu(x) > 2.0, tf.float32)]

    seen = set()
    for draw in (None, *range(8)):
        _run(chosen, (x,), draw=draw, machine=machine)
        seen.add(tuple(machine.choices))
    assert sorted(name for name, _ in next(iter(seen))) == ["ArgMax", "Greater", "Relu"]
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: [tf.raw_ops.LRN(input=x)], "LRN"),
        (lambda x: [tf.numpy_function(np.sin, [x], tf.float32)], "PyFunc"),
        (lambda x: [tf.raw_ops.ResizeArea(images=x, size=[3, 3])], "ResizeArea"),
    ],
)
def test_an_operator_without_float64_is_named(function, name):
    with pytest.raises(Unsupported, match=f"operator {name} "):
        _run(function, (_numbers(2, 4, 4, 3),))
