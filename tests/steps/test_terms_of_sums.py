"""What adds up rows is off by as much as its fullest row is: the terms of each come from the indices."""

from __future__ import annotations

import numpy as np
import pytest

UNIT = 2.0**-24
ROWS = np.array([0] * 900 + [1, 1, 1, 1, 2], np.int32)  # of 6; the last three have no terms
TERMS = np.array([900, 4, 1])
DRAWS = 24
EQUAL = np.full((len(ROWS), 8), np.pi, np.float32)  # whole numbers would add up to one that does not round


def _spread(run) -> np.ndarray:
    """Return the spread of each row of a result between draws, relative to its size, in roundings: of [rows, columns]."""
    exact = run(None)
    moved = np.stack([(run(draw) - exact)[:3] / exact[:3] for draw in range(DRAWS)])
    return np.sqrt(np.mean(moved**2, axis=(0, 2))) * np.sqrt(3.0) / UNIT


def _is_right(spread: np.ndarray) -> bool:
    """Is it that of sums, each of whose terms is rounded once more?"""
    return np.allclose(spread, np.hypot(1.0 + np.sqrt(TERMS) / 3.0, 1.0 / np.sqrt(TERMS)), rtol=0.25)


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow")


def _of_jax(jax, function, *arguments):
    from runners.jax.interpreter import Interpreter, flatten

    flat = flatten(jax.make_jaxpr(function)(*arguments))
    return lambda draw: Interpreter(draw=draw).run(flat, arguments)[0]


def _of_tensorflow(tf, function, *arguments):
    from runners.tensorflow.interpreter import Interpreter, Traced

    graph = tf.function(lambda *given: [function(*given)], autograph=False)
    traced = Traced(graph.get_concrete_function(*map(tf.constant, arguments)))
    machine = Interpreter()

    def run(draw):
        machine.restart(draw)
        return machine.run(traced, arguments)[0].numpy()

    return run


@pytest.mark.jax
def test_rows_of_jax_are_off_by_the_terms_of_each(jax):
    """In an embedding's gradient, a segment sum, and a difference; of axes that are not the first, too."""
    jnp = jax.numpy
    assert _is_right(_spread(_of_jax(jax, lambda u: jax.grad(lambda table: (table[ROWS] * u).sum())(jnp.zeros((6, 8))), EQUAL)))
    assert _is_right(_spread(_of_jax(jax, lambda u: jax.ops.segment_sum(u, ROWS, 6), EQUAL)))
    assert _is_right(_spread(_of_jax(jax, lambda u: jnp.zeros((6, 8)).at[ROWS].subtract(u), EQUAL)))
    assert _is_right(_spread(_of_jax(jax, lambda u: jnp.zeros((8, 6)).at[:, ROWS].add(u.T).T, EQUAL)))


@pytest.mark.jax
def test_indices_of_another_round_are_counted_anew(jax):
    """Of one program, whose indices are an argument."""
    from runners.jax.interpreter import Interpreter, flatten

    def program(u, rows):
        return jax.ops.segment_sum(u, rows, 6)

    flat = flatten(jax.make_jaxpr(program)(EQUAL, ROWS))

    def run(rows):
        return lambda draw: Interpreter(draw=draw).run(flat, [EQUAL, rows])[0][[1, 0, 2] if rows is other else [0, 1, 2]]

    other = np.where(ROWS == 0, 1, np.where(ROWS == 1, 0, ROWS))
    assert _is_right(_spread(run(ROWS)))
    assert _is_right(_spread(run(other)))


@pytest.mark.jax
def test_a_product_of_many_is_off_by_the_root_of_their_number(jax):
    """Of all of an axis, or of rows."""
    x = np.ones((400, 4), np.float32)
    by_rows = _of_jax(jax, lambda u: jax.numpy.ones((6, 4)).at[np.arange(400) % 3].multiply(u), x)
    assert np.allclose(_spread(by_rows), np.sqrt(400 / 3), rtol=0.25)
    whole = _of_jax(jax, lambda u: jax.numpy.prod(u, axis=0).reshape(1, 4), x)
    assert np.allclose(_spread(whole), 20.0, rtol=0.35)


@pytest.mark.tensorflow
def test_rows_of_tensorflow_are_off_by_the_terms_of_each(tf):
    """Of segments, and of what leads into a table."""
    places = ROWS[:, None]
    functions = [
        lambda u: tf.math.unsorted_segment_sum(u, ROWS, 6),
        lambda u: tf.math.segment_sum(u, ROWS),
        lambda u: tf.scatter_nd(places, u, (6, 8)),
        lambda u: tf.tensor_scatter_nd_add(tf.zeros((6, 8)), places, u),
        lambda u: tf.sparse.segment_sum(u, tf.range(len(ROWS)), ROWS),
    ]
    for number, function in enumerate(functions):
        assert _is_right(_spread(_of_tensorflow(tf, function, EQUAL))), number


@pytest.mark.tensorflow
def test_a_running_sum_and_a_product_of_tensorflow_have_the_terms_of_their_axis(tf):
    x = np.full((3, 900), 1.1, np.float32)
    assert np.allclose(_spread(_of_tensorflow(tf, lambda x: tf.cumsum(x, 1), x)), 11.0, rtol=0.25)
    assert np.allclose(_spread(_of_tensorflow(tf, lambda x: tf.reduce_prod(x, 1, keepdims=True), x)), 30.0, rtol=0.35)


@pytest.mark.tensorflow
def test_the_power_of_a_derivative_stays_whole(tf):
    """`x ** 2` has `x ** (2 - 1)` in its gradient: were 1 not exact, negative numbers would have no power."""

    def differentiated(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(x**2)
        return tape.gradient(loss, x)

    x = np.float32([[-1.5, 2.0, -3.0]])
    run = _of_tensorflow(tf, differentiated, x)
    assert np.allclose(run(0), 2.0 * x, rtol=1e-6)
    assert not np.array_equal(run(0), run(None))


def _complex(run) -> np.ndarray:
    exact = run(None)
    return np.array([(run(draw) - exact) / exact for draw in range(DRAWS)])


@pytest.mark.jax
@pytest.mark.parametrize("name", ["product", "transform"])
def test_a_complex_number_of_jax_is_moved_in_both_parts(jax, name):
    """Its angle is rounded as its size is."""
    z = (np.pi * (np.arange(1, 65) + 1j * np.arange(64)[::-1])).astype(np.complex64)
    function = {"product": lambda z: z * z, "transform": jax.numpy.fft.fft}[name]
    moved = _complex(_of_jax(jax, function, z))
    for part in (moved.real, moved.imag):
        assert 0.3 * UNIT < part.std() < 30 * UNIT


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["product", "transform"])
def test_a_complex_number_of_tensorflow_is_moved_in_both_parts(tf, name):
    z = (np.pi * (np.arange(1, 65) + 1j * np.arange(64)[::-1])).astype(np.complex64)
    function = {"product": lambda z: z * z, "transform": tf.signal.fft}[name]
    moved = _complex(_of_tensorflow(tf, function, z))
    for part in (moved.real, moved.imag):
        assert 0.3 * UNIT < part.std() < 30 * UNIT


CANCELLING = np.random.default_rng(3).normal(size=(4096, 16))
CANCELLING = (CANCELLING - CANCELLING.mean(0)).astype(np.float32)


def _is_of_serial_sums(run, *, share: float = 1.0) -> bool:
    """Do draws lie as far from a sum that cancels as adding up term by term in float32 does?"""
    exact = run(None)
    spread = np.sqrt(np.mean([(run(draw) - exact) ** 2 for draw in range(DRAWS)]))
    error = np.sqrt(np.mean((np.cumsum(CANCELLING, 0)[-1].astype(np.float64) * share - exact) ** 2))
    return bool(error / 4.0 < spread < 2.0 * error)


@pytest.mark.jax
def test_sums_of_jax_that_cancel_are_off_by_their_terms(jax):
    assert _is_of_serial_sums(_of_jax(jax, lambda x: x.sum(0), CANCELLING))


@pytest.mark.tensorflow
def test_sums_of_tensorflow_that_cancel_are_off_by_their_terms(tf):
    """As a bias' gradient does, whose loss is at its least."""
    assert _is_of_serial_sums(_of_tensorflow(tf, lambda x: tf.reduce_sum(x, 0), CANCELLING))
    assert _is_of_serial_sums(_of_tensorflow(tf, lambda x: tf.reduce_mean(x, 0), CANCELLING), share=1 / len(CANCELLING))
    assert _is_of_serial_sums(_of_tensorflow(tf, lambda x: tf.raw_ops.BiasAddGrad(out_backprop=x), CANCELLING))
