"""TensorFlow: samplers, initializers, dropout and shuffling, as deviations from their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

_ALLOWED = 6.0
random = tf.random


def _clipped(deviations: Any) -> Any:
    """Return 0 for a standardized deviation of up to six, which a correct sampler has, and the deviation beyond.

    What is right is then zero for every generator of random numbers, and no tolerance is needed.
    """
    found = tf.stack([tf.cast(each, tf.float32) for each in deviations])
    return tf.where(tf.abs(found) <= _ALLOWED, 0.0, found)


def _share(truth: Any) -> Any:
    return tf.reduce_mean(tf.cast(truth, tf.float64))


def _deviations(samples: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
    values = tf.reshape(tf.cast(samples, tf.float64), [-1])
    count = values.shape[0]
    found = []
    if moments is not None:
        mean, width, excess = moments
        scaled = (values - mean) / width
        found.append(tf.reduce_mean(scaled) * math.sqrt(count))
        found.append((tf.reduce_mean(scaled**2) - 1.0) * math.sqrt(count / max(excess, 1.0 / count)))
        found.append(tf.reduce_mean(scaled[1:] * scaled[:-1]) * math.sqrt(count - 1))
    for point, share in zip(points, shares, strict=True):
        found.append((_share(values <= point) - share) * math.sqrt(count / (share * (1.0 - share))))
    return _clipped(found)


def _seeded(draw: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a call of a sampler that takes a stateless seed, `like` and the law's numbers."""

    def call(like: Any, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
        return _deviations(draw([seed, 7], like, law), moments, points, shares)

    return call


def _generated(draw: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a call of a method of a generator, which is a variable: no function can be traced that makes one."""

    def call(like: Any, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
        if not tf.executing_eagerly():
            raise Unsupported("jit: a generator is a variable, which is made once and before. Allowed: eager.")
        return _deviations(draw(random.Generator.from_seed(seed, alg="philox"), like, law), moments, points, shares)

    return call


def _reset(draw: Callable[[int, Any, Any], Any]) -> Callable[..., Any]:
    """Return a call of a sampler with a seed of its operation and of all."""

    def call(like: Any, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
        random.set_seed(seed)
        return _deviations(draw(seed + 1, like, law), moments, points, shares)

    return call


def _cut(law: list[float]) -> tuple[float, float]:
    mean, width, low, high = law
    if low != mean - 2 * width or high != mean + 2 * width:
        raise Unsupported("ends: they are two standard deviations from the mean here. Allowed: -2 and 2.")
    return mean, width


def _parameterized(seed: Any, like: Any, law: list[float]) -> Any:
    mean, width, low, high = law
    return random.stateless_parameterized_truncated_normal(like.shape, seed, mean, width, low, high)


def _two_dimensional(seed: Any, like: Any, law: list[float]) -> Any:
    return random.stateless_categorical(tf.math.log([law]), len(like), seed)


def _poisson(seed: Any, like: Any, law: list[float]) -> Any:
    return random.stateless_poisson(like.shape, seed, tf.constant(law[0]), tf.float32)


def _binomial(seed: Any, like: Any, law: list[float]) -> Any:
    return random.stateless_binomial(like.shape, seed, tf.constant(float(law[0])), tf.constant(law[1]))


def _gamma(seed: Any, like: Any, law: list[float]) -> Any:
    return random.stateless_gamma(like.shape, seed, law[0], law[1], like.dtype)


def _uniform_integers(seed: Any, like: Any, law: list[int]) -> Any:
    return random.stateless_uniform(like.shape, seed, law[0], law[1], tf.int32)


def _long_integers(seed: Any, like: Any, law: list[int]) -> Any:
    return random.stateless_uniform(like.shape, seed, tf.constant(law[0], tf.int64), tf.constant(law[1], tf.int64), tf.int64)


def _kept(x: Any, result: Any, rate: float) -> Any:
    """Return deviations of what dropout makes of x [rows, columns]."""
    kept = tf.cast(result != 0, tf.float32)
    centered = (kept - (1 - rate)) / math.sqrt(rate * (1 - rate))
    exact = tf.cast(x, tf.float32) / (1 - rate)
    unit = {tf.float32: 2.0**-23, tf.bfloat16: 2.0**-7, tf.float16: 2.0**-10}[x.dtype]
    wrong = (tf.abs(tf.cast(result, tf.float32) - exact) > 2 * unit * tf.abs(exact)) & (result != 0)
    rows, columns = x.shape
    return _clipped(
        [
            tf.reduce_mean(centered) * math.sqrt(rows * columns),
            tf.reduce_mean(centered[:, 1:] * centered[:, :-1]) * math.sqrt(rows * (columns - 1)),
            tf.reduce_mean(centered[1:] * centered[:-1]) * math.sqrt((rows - 1) * columns),
            tf.reduce_sum(tf.cast(wrong, tf.float32)) * 1e9,
        ]
    )


def _stateless(x: Any, seed: int, rate: float) -> Any:
    return tf.nn.experimental.stateless_dropout(x, rate, [seed, 7])


def _general(x: Any, seed: int, rate: float) -> Any:
    return tf.nn.experimental.general_dropout(
        x, rate, lambda shape, dtype: random.stateless_uniform(shape, [seed, 3], dtype=dtype)
    )


def _stateful(x: Any, seed: int, rate: float) -> Any:
    random.set_seed(seed)
    return tf.nn.dropout(x, rate, seed=seed + 1)


def _dropout(drop: Callable[[Any, int, float], Any]) -> Callable[..., Any]:
    def call(x: Any, seed: int, rate: float) -> Any:
        result = drop(x, seed, rate)
        return _kept(tf.stop_gradient(x), tf.stop_gradient(result), rate), result - x * tf.stop_gradient(result / x)

    return call


def _any_rate(drop: Callable[[Any, int, float], Any]) -> Callable[..., Any]:
    return lambda x, seed, rate: _kept(x, drop(x, seed, rate), rate)


def _spatial(like: Any, seed: int, rate: float, dimensions: int) -> Any:
    x = tf.ones([50, *[2] * dimensions, 401])
    result = tf.nn.experimental.stateless_dropout(x, rate, [seed, 7], noise_shape=[50, *[1] * dimensions, 401])
    flat = tf.reshape(result, [50, -1, 401])
    whole = tf.reduce_all(flat == flat[:, :1])
    return _kept(tf.ones([50, 401]), tf.where(whole, flat[:, 0], flat[:, 0] + 1.0), rate)


def _order(places: Any) -> Any:
    """Return deviations of a permutation from one of which all are as likely."""
    count = places.shape[0]
    places = tf.cast(places, tf.int64)
    numbers = tf.range(count, dtype=tf.int64)
    width = math.sqrt((count**2 - 1) / 12)
    before, after = ((tf.cast(each, tf.float64) - (count - 1) / 2) / width for each in (numbers, places))
    found = [
        tf.reduce_sum(tf.cast(tf.sort(places) != numbers, tf.float64)) * 1e9,
        tf.reduce_mean(before * after) * math.sqrt(count - 1),
        tf.reduce_mean(after[1:] * after[:-1]) * math.sqrt(count - 1),
    ]
    share = 1 / 9
    # Fewer are free than are counted: with sums given, their variance is 4/9 of 1/9.
    scale = math.sqrt(count / (share * 4 / 9))
    for first in range(3):
        for second in range(3):
            found.append((_share((numbers * 3 // count == first) & (places * 3 // count == second)) - share) * scale)
    return _clipped(found)


def _shuffled(like: Any, seed: int) -> Any:
    random.set_seed(seed)
    return _order(random.shuffle(tf.range(len(like)), seed + 1))


def _listed(data: Any, count: int) -> Any:
    """Return all that a data set gives, in order."""
    return tf.ensure_shape(data.batch(count).get_single_element(), [count])


def _data_shuffled(like: Any, seed: int) -> Any:
    return _order(_listed(tf.data.Dataset.range(len(like)).shuffle(len(like), seed), len(like)))


def _interleaved(like: Any, seed: int) -> Any:
    """Return deviations of shards that are shuffled, interleaved and shuffled again."""
    count = len(like)
    data = (
        tf.data.Dataset.range(7)
        .shuffle(7, seed)
        .interleave(lambda place: tf.data.Dataset.range(place, count, 7), cycle_length=3, block_length=2)
    )
    return _order(_listed(data.shuffle(count, seed + 1), count))


def _epochs(data: Callable[[int, int], Any]) -> Callable[..., Any]:
    def call(like: Any, seed: int) -> Any:
        count = len(like)
        both = _listed(data(count, seed), 2 * count)
        first, second = both[:count], both[count:]
        return tf.concat([_order(first), _order(tf.gather(second, tf.argsort(first)))], 0)

    return call


def _repeated(count: int, seed: int) -> Any:
    return (
        tf.data.Dataset.range(count).shuffle(count, seed, reshuffle_each_iteration=True).repeat(2).batch(8).prefetch(2).unbatch()
    )


def _batched(count: int, seed: int) -> Any:
    return tf.data.Dataset.range(count).shuffle(count, seed).batch(8).unbatch().repeat(2)


def _flips(flip: Callable[[Any, Any], Any], axis: int) -> Callable[..., Any]:
    def call(like: Any, seed: int) -> Any:
        x = tf.constant([[1.0, 2.0, 3.0]] * 3) if axis == 2 else tf.constant([[1.0] * 3, [2.0] * 3, [3.0] * 3])
        seeds = random.stateless_uniform([len(like), 2], [seed, 1], None, None, tf.int32)
        result = tf.map_fn(lambda each: flip(x[..., None], each), seeds, tf.float32)
        kept = tf.reduce_all(result == x[..., None], axis=[1, 2, 3])
        turned = tf.reduce_all(result == tf.reverse(x, [axis - 1])[..., None], axis=[1, 2, 3])
        return _flipped(kept, turned, len(like))

    return call


def _flipped(kept: Any, turned: Any, count: int) -> Any:
    sign = 2.0 * tf.cast(turned, tf.float32) - 1.0
    return _clipped(
        [
            tf.reduce_mean(sign) * math.sqrt(count),
            tf.reduce_mean(sign[1:] * sign[:-1]) * math.sqrt(count - 1),
            tf.reduce_sum(tf.cast(kept == turned, tf.float32)) * 1e9,
        ]
    )


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "normal_samples": {
        "tensorflow.random.stateless_normal": _seeded(
            lambda seed, like, law: random.stateless_normal(like.shape, seed, *law, like.dtype)
        ),
        "tensorflow.random.normal": _reset(lambda seed, like, law: random.normal(like.shape, *law, like.dtype, seed)),
        "tensorflow.random.Generator.normal": _generated(lambda of, like, law: of.normal(like.shape, *law, like.dtype)),
    },
    "uniform_samples": {
        "tensorflow.random.stateless_uniform": _seeded(
            lambda seed, like, law: random.stateless_uniform(like.shape, seed, *law, like.dtype)
        ),
        "tensorflow.random.uniform": _reset(lambda seed, like, law: random.uniform(like.shape, *law, like.dtype, seed)),
        "tensorflow.random.Generator.uniform": _generated(lambda of, like, law: of.uniform(like.shape, *law, like.dtype)),
    },
    "uniform_samples_below": {
        "tensorflow.random.stateless_uniform": _seeded(
            lambda seed, like, law: random.stateless_uniform(like.shape, seed, *law, like.dtype)
        ),
        "tensorflow.random.uniform": _reset(lambda seed, like, law: random.uniform(like.shape, *law, like.dtype, seed)),
    },
    "truncated_normal_samples": {
        "tensorflow.random.stateless_truncated_normal": _seeded(
            lambda seed, like, law: random.stateless_truncated_normal(like.shape, seed, *_cut(law), like.dtype)
        ),
        "tensorflow.random.truncated_normal": _reset(
            lambda seed, like, law: random.truncated_normal(like.shape, *_cut(law), like.dtype, seed)
        ),
        "tensorflow.random.stateless_parameterized_truncated_normal": _seeded(_parameterized),
        "tensorflow.random.Generator.truncated_normal": _generated(
            lambda of, like, law: of.truncated_normal(like.shape, *_cut(law), like.dtype)
        ),
    },
    "gamma_samples": {
        "tensorflow.random.stateless_gamma": _seeded(_gamma),
        "tensorflow.random.gamma": _reset(lambda seed, like, law: random.gamma(like.shape, law[0], law[1], like.dtype, seed)),
    },
    "poisson_samples": {
        "tensorflow.random.stateless_poisson": _seeded(_poisson),
        "tensorflow.random.poisson": _reset(lambda seed, like, law: random.poisson(like.shape, law[0], like.dtype, seed)),
    },
    "binomial_samples": {
        "tensorflow.random.stateless_binomial": _seeded(_binomial),
        "tensorflow.random.Generator.binomial": _generated(lambda of, like, law: of.binomial(like.shape, float(law[0]), law[1])),
    },
    "categorical_samples": {
        "tensorflow.random.stateless_categorical": _seeded(_two_dimensional),
        "tensorflow.random.categorical": _reset(
            lambda seed, like, law: random.categorical(tf.math.log([law]), len(like), seed=seed)
        ),
    },
    "integer_samples": {
        "tensorflow.random.stateless_uniform": _seeded(_uniform_integers),
        "tensorflow.random.uniform": _reset(lambda seed, like, law: random.uniform(like.shape, law[0], law[1], tf.int32, seed)),
    },
    "large_integer_samples": {"tensorflow.random.stateless_uniform": _seeded(_long_integers)},
    "dropout": {
        "tensorflow.nn.experimental.stateless_dropout": _dropout(_stateless),
        "tensorflow.nn.experimental.general_dropout": _dropout(_general),
        "tensorflow.nn.dropout": _dropout(_stateful),
    },
    "dropout_of_any_rate": {
        "tensorflow.nn.experimental.stateless_dropout": _any_rate(_stateless),
        "tensorflow.nn.dropout": _any_rate(_stateful),
    },
    "dropout_of_nothing": {
        "tensorflow.nn.experimental.stateless_dropout": _stateless,
        "tensorflow.nn.dropout": _stateful,
    },
    "spatial_dropout": {"tensorflow.nn.experimental.stateless_dropout": _spatial},
    "permutation_of_all": {
        "tensorflow.random.shuffle": _shuffled,
        "tensorflow.random.experimental.stateless_shuffle": lambda like, seed: _order(
            random.experimental.stateless_shuffle(tf.range(len(like)), [seed, 7])
        ),
        "tensorflow.data.Dataset.shuffle": _data_shuffled,
        "tensorflow.data.Dataset.interleave": _interleaved,
    },
    "epochs_of_loader": {
        "tensorflow.data.Dataset.repeat": _epochs(_repeated),
        "tensorflow.data.Dataset.repeat (of batches)": _epochs(_batched),
    },
    "flip_shares": {
        "tensorflow.image.stateless_random_flip_left_right": _flips(tf.image.stateless_random_flip_left_right, 2),
        "tensorflow.image.stateless_random_flip_up_down": _flips(tf.image.stateless_random_flip_up_down, 1),
    },
}
