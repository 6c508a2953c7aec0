"""Keras: samplers, initializers, dropout and shuffling, as deviations from their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from runners.contract.errors import Unsupported

_ALLOWED = 6.0
random = keras.random
initializers = keras.initializers
layers = keras.layers


def _clipped(deviations: list[Any]) -> Any:
    """Return 0 for a standardized deviation of up to six, which a correct sampler has, and the deviation beyond.

    What is right is then zero for every generator of random numbers, and no tolerance is needed.
    """
    found = ops.stack([ops.cast(each, "float32") for each in deviations])
    return ops.where(ops.abs(found) <= _ALLOWED, ops.zeros_like(found), found)


def _share(truth: Any) -> Any:
    return ops.mean(ops.cast(truth, "float32"))


def _deviations(samples: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
    values = ops.reshape(ops.cast(ops.stop_gradient(samples), "float32"), (-1,))
    count = values.shape[0]
    found = []
    if moments is not None:
        mean, width, excess = moments
        scaled = (values - mean) / width
        found.append(ops.mean(scaled) * math.sqrt(count))
        found.append((ops.mean(scaled**2) - 1.0) * math.sqrt(count / max(excess, 1.0 / count)))
        found.append(ops.mean(scaled[1:] * scaled[:-1]) * math.sqrt(count - 1))
    for point, share in zip(points, shares, strict=True):
        found.append((_share(values <= point) - share) * math.sqrt(count / (share * (1.0 - share))))
    return _clipped(found)


def _kind(like: Any) -> str:
    return keras.backend.standardize_dtype(like.dtype)


def _seeded(draw: Callable[[int, Any, Any], Any]) -> Callable[..., Any]:
    """Return a call of a sampler that takes a seed, `like` and the law's numbers."""

    def call(like: Any, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
        return _deviations(draw(seed, like, law), moments, points, shares)

    return call


def _made(initializer: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of an initializer of weights whose seed is a number."""

    def draw(seed: int, like: Any, law: Any) -> Any:
        return initializer(seed=seed)((*law["kernel"], law["inputs"], law["outputs"]), dtype=_kind(like))

    return _seeded(draw)


def _ends(law: list[float]) -> tuple[float, float]:
    mean, width, low, high = law
    if low != mean - 2 * width or high != mean + 2 * width:
        raise Unsupported("ends: they are two standard deviations from the mean here. Allowed: -2 and 2.")
    return mean, width


def _cut(seed: int, like: Any, law: list[float]) -> Any:
    return random.truncated_normal(like.shape, *_ends(law), _kind(like), seed)


def _cut_weights(seed: int, like: Any, law: list[float]) -> Any:
    return initializers.TruncatedNormal(*_ends(law), seed)(like.shape, _kind(like))


def _categorical(seed: int, like: Any, law: list[float]) -> Any:
    return random.categorical(ops.log(ops.convert_to_tensor([law], "float32")), like.shape[0], seed=seed)


def _binomial(seed: int, like: Any, law: list[float]) -> Any:
    return random.binomial(like.shape, float(law[0]), law[1], seed=seed)


def _orthogonal(seed: int, like: Any, law: list[int]) -> Any:
    return initializers.Orthogonal(seed=seed)((law[0], law[0]))


def _products(like: Any, seed: int, rows: int, columns: int, gain: float) -> Any:
    if _kind(like) == "float64":
        raise Unsupported("float64: decompositions are as wide as the backend lets them. Allowed: float32.")
    weights = initializers.Orthogonal(gain, seed)((rows, columns))
    turned = ops.transpose(weights)
    return 1.0 + (ops.matmul(weights, turned) if rows <= columns else ops.matmul(turned, weights))


def _kept(x: Any, result: Any, rate: float) -> Any:
    """Return deviations of what dropout makes of x [rows, columns]."""
    kept = ops.cast(ops.not_equal(result, 0), "float32")
    centered = (kept - (1 - rate)) / math.sqrt(rate * (1 - rate))
    exact = ops.cast(x, "float32") / (1 - rate)
    unit = {"float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}[_kind(x)]
    wrong = ops.logical_and(ops.abs(ops.cast(result, "float32") - exact) > 2 * unit * ops.abs(exact), ops.not_equal(result, 0))
    rows, columns = x.shape
    return _clipped(
        [
            ops.mean(centered) * math.sqrt(rows * columns),
            ops.mean(centered[:, 1:] * centered[:, :-1]) * math.sqrt(rows * (columns - 1)),
            ops.mean(centered[1:] * centered[:-1]) * math.sqrt((rows - 1) * columns),
            ops.sum(ops.cast(wrong, "float32")) * 1e9,
        ]
    )


def _layer(kind: Any, x: Any, seed: int, rate: float) -> Any:
    """Return what a layer gives in training: its state of random numbers is handed in, and not written to."""
    layer = kind(rate, seed=seed, dtype=_kind(x))
    if not layer.built:
        layer.build(x.shape)
    found, _ = layer.stateless_call([], [each.value for each in layer.non_trainable_variables], x, training=True)
    return found


def _drop(x: Any, seed: int, rate: float) -> Any:
    return random.dropout(x, rate, seed=seed)


def _dropped(x: Any, seed: int, rate: float) -> Any:
    return _layer(layers.Dropout, x, seed, rate)


def _dropout(drop: Callable[[Any, int, float], Any]) -> Callable[..., Any]:
    def call(x: Any, seed: int, rate: float) -> Any:
        result = drop(x, seed, rate)
        stopped = ops.stop_gradient(result / x)
        return _kept(ops.stop_gradient(x), ops.stop_gradient(result), rate), result - x * stopped

    return call


def _spatial(like: Any, seed: int, rate: float, dimensions: int) -> Any:
    kind = {1: layers.SpatialDropout1D, 2: layers.SpatialDropout2D, 3: layers.SpatialDropout3D}[dimensions]
    options = {} if dimensions == 1 else {"data_format": "channels_last"}
    x = ops.ones((50, *[2] * dimensions, 401))
    result = _layer(lambda rate, **more: kind(rate, **options, **more), x, seed, rate)
    return _whole(ops.reshape(result, (50, -1, 401)), rate)


def _whole(flat: Any, rate: float) -> Any:
    whole = ops.all(ops.equal(flat, flat[:, :1]))
    return _kept(ops.ones((50, 401)), ops.where(whole, flat[:, 0], flat[:, 0] + 1.0), rate)


def _noise(like: Any, seed: int, rate: float, dimensions: int) -> Any:
    x = ops.ones((50, *[2] * dimensions, 401))
    result = _layer(lambda rate, **more: layers.Dropout(rate, (50, *[1] * dimensions, 401), **more), x, seed, rate)
    return _whole(ops.reshape(result, (50, -1, 401)), rate)


def _alpha(x: Any, seed: int, law: list[float], moments: Any, points: list[float], shares: list[float]) -> Any:
    return _deviations(_layer(layers.AlphaDropout, x, seed, law[0]), moments, points, shares)


def _gaussian_noise(seed: int, like: Any, law: list[float]) -> Any:
    return law[0] + _layer(layers.GaussianNoise, ops.zeros_like(like), seed, law[1])


def _order(places: Any) -> Any:
    """Return deviations of a permutation from one of which all are as likely."""
    count = places.shape[0]
    places = ops.cast(places, "int32")
    numbers = ops.arange(count, dtype="int32")
    width = math.sqrt((count**2 - 1) / 12)
    before, after = ((ops.cast(each, "float32") - (count - 1) / 2) / width for each in (numbers, places))
    found = [
        ops.sum(ops.cast(ops.not_equal(ops.sort(places), numbers), "float32")) * 1e9,
        ops.mean(before * after) * math.sqrt(count - 1),
        ops.mean(after[1:] * after[:-1]) * math.sqrt(count - 1),
    ]
    share = 1 / 9
    # Fewer are free than are counted: with sums given, their variance is 4/9 of 1/9.
    scale = math.sqrt(count / (share * 4 / 9))
    for first in range(3):
        for second in range(3):
            both = ops.logical_and(numbers * 3 // count == first, places * 3 // count == second)
            found.append((_share(both) - share) * scale)
    return _clipped(found)


def _windows(like: Any, seed: int) -> Any:
    data = keras.utils.timeseries_dataset_from_array(np.arange(like.shape[0]), None, 1, shuffle=True, seed=seed, batch_size=8)
    return _order(ops.convert_to_tensor(np.concatenate([np.asarray(each).ravel() for each in data])))


def _flips(mode: str) -> Callable[..., Any]:
    def call(like: Any, seed: int) -> Any:
        count = like.shape[0]
        image = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)[..., None]
        turned = image[:, ::-1] if mode == "horizontal" else image[::-1]
        layer = layers.RandomFlip(mode, seed=seed, data_format="channels_last")
        result = layer(ops.convert_to_tensor(np.tile(image, (count, 1, 1, 1))), training=True)
        same = ops.all(ops.equal(result, image), axis=(1, 2, 3))
        other = ops.all(ops.equal(result, turned), axis=(1, 2, 3))
        sign = 2.0 * ops.cast(other, "float32") - 1.0
        return _clipped(
            [
                ops.mean(sign) * math.sqrt(count),
                ops.mean(sign[1:] * sign[:-1]) * math.sqrt(count - 1),
                ops.sum(ops.cast(ops.equal(same, other), "float32")) * 1e9,
            ]
        )

    return call


def _scaled(scale: float, mode: str, kind: str) -> dict[str, Callable[..., Any] | None]:
    def make(seed: int) -> Any:
        return initializers.VarianceScaling(scale, mode, kind, seed)

    return {"keras.initializers.VarianceScaling": _made(make)}


_OWN: dict[str, str] = {
    "he_cut": "HeNormal",
    "he_uniform": "HeUniform",
    "glorot_cut": "GlorotNormal",
    "glorot_uniform": "GlorotUniform",
    "lecun_cut": "LecunNormal",
    "lecun_uniform": "LecunUniform",
}


def _initializers() -> dict[str, dict[str, Callable[..., Any] | None]]:
    found = {}
    kinds = (("normal", "untruncated_normal"), ("cut", "truncated_normal"), ("uniform", "uniform"))
    for name, scale, mode in (
        ("he", 2.0, "fan_in"),
        ("he_of_outputs", 2.0, "fan_out"),
        ("glorot", 1.0, "fan_avg"),
        ("lecun", 1.0, "fan_in"),
        ("scaled", 0.7, "fan_avg"),
    ):
        for kind, said in kinds:
            calls = _scaled(scale, mode, said)
            if f"{name}_{kind}" in _OWN:
                own = _OWN[f"{name}_{kind}"]
                calls[f"keras.initializers.{own}"] = _made(getattr(initializers, own))
            found[f"{name}_{kind}_weights"] = calls
    return found


_uniforms: dict[str, Callable[..., Any] | None] = {
    "keras.random.uniform": _seeded(lambda seed, like, law: random.uniform(like.shape, *law, _kind(like), seed)),
    "keras.initializers.RandomUniform": _seeded(
        lambda seed, like, law: initializers.RandomUniform(*law, seed)(like.shape, _kind(like))
    ),
}
CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "normal_samples": {
        "keras.random.normal": _seeded(lambda seed, like, law: random.normal(like.shape, *law, _kind(like), seed)),
        "keras.initializers.RandomNormal": _seeded(
            lambda seed, like, law: initializers.RandomNormal(*law, seed)(like.shape, _kind(like))
        ),
        "keras.layers.GaussianNoise": _seeded(_gaussian_noise),
    },
    "uniform_samples": _uniforms,
    "uniform_samples_below": _uniforms,
    "truncated_normal_samples": {
        "keras.random.truncated_normal": _seeded(_cut),
        "keras.initializers.TruncatedNormal": _seeded(_cut_weights),
    },
    "gamma_samples": {
        "keras.random.gamma": _seeded(lambda seed, like, law: random.gamma(like.shape, law[0], _kind(like), seed) / law[1]),
    },
    "beta_samples": {"keras.random.beta": _seeded(lambda seed, like, law: random.beta(like.shape, *law, _kind(like), seed))},
    "binomial_samples": {"keras.random.binomial": _seeded(_binomial)},
    "categorical_samples": {"keras.random.categorical": _seeded(_categorical)},
    "integer_samples": {"keras.random.randint": _seeded(lambda seed, like, law: random.randint(like.shape, *law, seed=seed))},
    "gaussian_dropout_samples": {
        "keras.layers.GaussianDropout": _seeded(
            lambda seed, like, law: _layer(layers.GaussianDropout, ops.ones_like(like), seed, law[0])
        ),
    },
    **_initializers(),
    "orthogonal_weights": {"keras.initializers.Orthogonal": _seeded(_orthogonal)},
    "orthogonal_diagonals": {"keras.initializers.Orthogonal": _seeded(lambda *of: ops.diagonal(_orthogonal(*of)))},
    "orthogonal_products": {"keras.initializers.Orthogonal": _products},
    "dropout": {"keras.random.dropout": _dropout(_drop), "keras.layers.Dropout": _dropout(_dropped)},
    "dropout_of_any_rate": {
        "keras.random.dropout": lambda x, seed, rate: _kept(x, _drop(x, seed, rate), rate),
        "keras.layers.Dropout": lambda x, seed, rate: _kept(x, _dropped(x, seed, rate), rate),
    },
    "dropout_in_evaluation": {
        f"keras.layers.{kind}": lambda x, rate, kind=kind: getattr(layers, kind)(rate, dtype=_kind(x))(x, training=False)
        for kind in ("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise")
    },
    "dropout_of_nothing": {
        "keras.random.dropout": _drop,
        **{
            f"keras.layers.{kind}": lambda x, seed, rate, kind=kind: _layer(getattr(layers, kind), x, seed, rate)
            for kind in ("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise")
        },
    },
    "dropout_of_all": {"keras.layers.Dropout": _dropped, "keras.random.dropout": _drop},
    "spatial_dropout": {
        "keras.layers.SpatialDropout1D (and 2D, 3D)": _spatial,
        "keras.layers.SpatialDropout2D (and 1D, 3D)": _spatial,
        "keras.layers.SpatialDropout3D (and 1D, 2D)": _spatial,
        "keras.layers.Dropout (noise_shape)": _noise,
    },
    "alpha_dropout": {"keras.layers.AlphaDropout": _alpha},
    "permutation_of_all": {
        "keras.random.shuffle": lambda like, seed: _order(random.shuffle(ops.arange(like.shape[0]), seed=seed)),
        "keras.utils.timeseries_dataset_from_array": _windows,
    },
    "flip_shares": {"keras.layers.RandomFlip": _flips("horizontal"), "keras.layers.RandomFlip (vertical)": _flips("vertical")},
}
