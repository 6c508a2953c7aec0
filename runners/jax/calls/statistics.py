"""JAX: samplers, initializers, dropout and shuffling, as deviations from their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp
from flax import nnx

from runners.contract.errors import Unsupported

_ALLOWED = 6.0
random = jax.random
initializers = jax.nn.initializers


def _clipped(deviations: Any) -> Any:
    """Return 0 for a standardized deviation of up to six, which a correct sampler has, and the deviation beyond.

    What is right is then zero for every generator of random numbers, and no tolerance is needed.
    """
    return jnp.where(jnp.abs(deviations) <= _ALLOWED, 0.0, deviations)


def _deviations(samples: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
    values = samples.ravel()
    if values.dtype != jnp.float64:
        values = values.astype(jnp.float32)
    count = values.size
    found = []
    if moments is not None:
        mean, width, excess = moments
        scaled = (values - mean) / width
        found += [scaled.mean() * math.sqrt(count), ((scaled**2).mean() - 1.0) * math.sqrt(count / max(excess, 1.0 / count))]
        found.append((scaled[1:] * scaled[:-1]).mean() * math.sqrt(count - 1))
    for point, share in zip(points, shares, strict=True):
        found.append(((values <= point).mean() - share) * math.sqrt(count / (share * (1.0 - share))))
    return _clipped(jnp.stack(found))


def _keyed(draw: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a call of a sampler that takes a key, `like` and the law's numbers."""

    def call(like: Any, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
        return _deviations(draw(random.key(seed), like, law), moments, points, shares)

    return call


def _located(sampler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a sampler that has neither place nor scale."""
    return _keyed(lambda key, like, law: law[0] + law[1] * sampler(key, like.shape, like.dtype))


def _shaped(sampler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a sampler that takes the law's numbers, then shape and type."""
    return _keyed(lambda key, like, law: sampler(key, *law, like.shape, like.dtype))


def _alone(sampler: Callable[..., Any]) -> Callable[..., Any]:
    return _keyed(lambda key, like, law: sampler(key, shape=like.shape, dtype=like.dtype))


def _weights(initializer: Any) -> Callable[..., Any]:
    return _keyed(lambda key, like, law: initializer(key, (*law["kernel"], law["inputs"], law["outputs"]), like.dtype))


def _scaling(scale: float, fans: str, kind: str) -> dict[str, Callable[..., Any] | None]:
    made = initializers.variance_scaling(scale, fans, kind)
    return {"jax.nn.initializers.variance_scaling": _weights(made)}


def _cut(key: Any, like: Any, law: list[float]) -> Any:
    mean, width, low, high = law
    return mean + width * random.truncated_normal(key, (low - mean) / width, (high - mean) / width, like.shape, like.dtype)


def _cut_weights(key: Any, like: Any, law: list[float]) -> Any:
    mean, width, low, high = law
    return mean + initializers.truncated_normal(width, like.dtype, (low - mean) / width, (high - mean) / width)(key, like.shape)


def _uniform(key: Any, like: Any, law: list[float]) -> Any:
    return random.uniform(key, like.shape, like.dtype, *law)


def _gamma(key: Any, like: Any, law: list[float]) -> Any:
    return random.gamma(key, law[0], like.shape, like.dtype) / law[1]


def _categorical(replace: bool, place: int) -> Callable[..., Any]:
    def draw(key: Any, like: Any, law: list[float]) -> Any:
        if replace:
            return random.categorical(key, jnp.log(jnp.asarray(law)), shape=like.shape)
        logits = jnp.broadcast_to(jnp.log(jnp.asarray(law)), (*like.shape, len(law)))
        return random.categorical(key, logits, shape=(2, *like.shape), replace=False)[place]

    return _keyed(draw)


def _chosen(place: int) -> Callable[..., Any]:
    """Return a call of a choice of two that are not the same."""

    def draw(key: Any, like: Any, law: list[float]) -> Any:
        choose = jax.vmap(lambda key: random.choice(key, len(law), (2,), replace=False, p=jnp.asarray(law)))
        return choose(random.split(key, len(like)))[:, place]

    return _keyed(draw)


def _small(key: Any, like: Any, law: list[int]) -> Any:
    return random.randint(key, like.shape, law[0], law[1], jnp.int8)


def _dirichlet(key: Any, like: Any, law: list[Any]) -> Any:
    return random.dirichlet(key, jnp.asarray(law[0]), like.shape)[..., jnp.asarray(law[1])].sum(-1)


def _multivariate(method: str) -> Callable[..., Any]:
    def draw(key: Any, like: Any, law: list[Any]) -> Any:
        mean, factor, direction = (jnp.asarray(each) for each in law)
        return random.multivariate_normal(key, mean, factor @ factor.T, like.shape, method=method) @ direction

    return _keyed(draw)


def _orthogonal_products(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(like: Any, seed: int, rows: int, columns: int, gain: float) -> Any:
        weights = make(random.key(seed), rows, columns, gain, like.dtype)
        return 1.0 + (weights @ weights.T if rows <= columns else weights.T @ weights)

    return call


def _kept(x: Any, result: Any, rate: float) -> Any:
    """Return deviations of what dropout makes of x [rows, columns]."""
    kept = (result != 0).astype(jnp.float32)
    centered = (kept - (1 - rate)) / math.sqrt(rate * (1 - rate))
    exact = x.astype(jnp.float32) / (1 - rate)
    unit = float(jnp.finfo(x.dtype).eps)
    wrong = ((jnp.abs(result.astype(jnp.float32) - exact) > 2 * unit * jnp.abs(exact)) & (result != 0)).sum()
    return _clipped(jnp.stack([
        centered.mean() * math.sqrt(kept.size),
        (centered[:, 1:] * centered[:, :-1]).mean() * math.sqrt(kept[:, 1:].size),
        (centered[1:] * centered[:-1]).mean() * math.sqrt(kept[1:].size),
        wrong * 1e9,
    ]))  # fmt: skip


def _linen(x: Any, seed: int, rate: float, **more: Any) -> Any:
    return flax.linen.Dropout(rate, deterministic=False, **more).apply({}, x, rngs={"dropout": random.key(seed)})


def _nnx(x: Any, seed: int, rate: float, **more: Any) -> Any:
    return nnx.Dropout(rate, deterministic=False, rngs=nnx.Rngs(dropout=seed), **more)(x)


def _dropout(drop: Callable[[Any, int, float], Any]) -> Callable[..., Any]:
    def call(x: Any, seed: int, rate: float) -> Any:
        result = drop(x, seed, rate)
        return _kept(*jax.lax.stop_gradient((x, result)), rate), result - x * jax.lax.stop_gradient(result / x)

    return call


def _spatial(drop: Callable[..., Any]) -> Callable[..., Any]:
    def call(like: Any, seed: int, rate: float, dimensions: int) -> Any:
        x = jnp.ones((50, *[2] * dimensions, 401))
        result = drop(x, seed, rate, broadcast_dims=tuple(range(1, 1 + dimensions))).reshape(50, -1, 401)
        whole = (result == result[:, :1]).all()
        return _kept(jnp.ones((50, 401)), jnp.where(whole, result[:, 0], result[:, 0] + 1.0), rate)

    return call


def _order(places: Any) -> Any:
    """Return deviations of a permutation from one of which all are as likely."""
    count = places.size
    numbers = jnp.arange(count)
    width = math.sqrt((count**2 - 1) / 12)
    before, after = (numbers - (count - 1) / 2) / width, (places - (count - 1) / 2) / width
    found = [
        (jnp.sort(places) != numbers).sum() * 1e9,
        (before * after).mean() * math.sqrt(count - 1),
        (after[1:] * after[:-1]).mean() * math.sqrt(count - 1),
    ]
    share = 1 / 9
    # Fewer are free than are counted: with sums given, their variance is 4/9 of 1/9.
    scale = math.sqrt(count / (share * 4 / 9))
    for first in range(3):
        for second in range(3):
            found.append((((numbers * 3 // count == first) & (places * 3 // count == second)).mean() - share) * scale)
    return _clipped(jnp.stack(found))


def _choice_of_all(like: Any, seed: int) -> Any:
    return _order(random.choice(random.key(seed), len(like), like.shape, replace=False))


def _shares_of_all(like: Any, seed: int) -> Any:
    equal = jnp.full(like.shape, 1.0 / len(like))
    return _order(random.choice(random.key(seed), len(like), like.shape, replace=False, p=equal))


def _rows(like: Any, seed: int) -> Any:
    """Return deviations of one row among many that are put in an order each of its own."""
    numbers = jnp.tile(jnp.arange(len(like)), (3, 1))
    return _order(random.permutation(random.key(seed), numbers, axis=1, independent=True)[1])


MAKERS: dict[str, Any] = {
    "he": (2.0, "fan_in", {"cut": "he_normal", "uniform": "he_uniform"}, {"cut": "kaiming_normal", "uniform": "kaiming_uniform"}),
    "he_of_outputs": (2.0, "fan_out", {}, {}),
    "glorot": (
        1.0, "fan_avg", {"cut": "glorot_normal", "uniform": "glorot_uniform"},
        {"cut": "xavier_normal", "uniform": "xavier_uniform"},
    ),
    "lecun": (1.0, "fan_in", {"cut": "lecun_normal", "uniform": "lecun_uniform"}, {}),
    "scaled": (0.7, "fan_avg", {}, {}),
}  # fmt: skip


def _initializers() -> dict[str, dict[str, Callable[..., Any] | None]]:
    found = {}
    for name, (scale, fans, own, other) in MAKERS.items():
        for kind, said in (("normal", "normal"), ("cut", "truncated_normal"), ("uniform", "uniform")):
            calls = _scaling(scale, fans, said)
            for names in (own, other):
                if kind in names:
                    calls[f"jax.nn.initializers.{names[kind]}"] = _weights(getattr(initializers, names[kind])())
            found[f"{name}_{kind}_weights"] = calls
    return found


_uniforms: dict[str, Callable[..., Any] | None] = {"jax.random.uniform": _keyed(_uniform)}
CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "normal_samples": {
        "jax.random.normal": _located(random.normal),
        "jax.nn.initializers.normal": _keyed(
            lambda key, like, law: law[0] + initializers.normal(law[1])(key, like.shape, like.dtype)
        ),
    },
    "uniform_samples": _uniforms,
    "uniform_samples_below": _uniforms,
    "truncated_normal_samples": {
        "jax.random.truncated_normal": _keyed(_cut),
        "jax.nn.initializers.truncated_normal": _keyed(_cut_weights),
    },
    "exponential_samples": {
        "jax.random.exponential": _keyed(lambda key, like, law: random.exponential(key, like.shape, like.dtype) / law[0]),
    },
    "laplace_samples": {"jax.random.laplace": _located(random.laplace)},
    "gumbel_samples": {
        "jax.random.gumbel": _located(random.gumbel),
        "jax.random.gumbel (high)": _located(lambda *of: random.gumbel(*of, mode="high")),
    },
    "logistic_samples": {"jax.random.logistic": _alone(random.logistic)},
    "cauchy_samples": {"jax.random.cauchy": _located(random.cauchy)},
    "lognormal_samples": {
        "jax.random.lognormal": _keyed(
            lambda key, like, law: math.exp(law[0]) * random.lognormal(key, law[1], like.shape, like.dtype)
        ),
    },
    "t_samples": {"jax.random.t": _shaped(random.t)},
    "chi2_samples": {"jax.random.chisquare": _shaped(random.chisquare)},
    "f_samples": {"jax.random.f": _shaped(random.f)},
    "gamma_samples": {"jax.random.gamma": _keyed(_gamma)},
    "log_gamma_samples": {"jax.random.loggamma": _shaped(random.loggamma)},
    "beta_samples": {"jax.random.beta": _shaped(random.beta)},
    "pareto_samples": {
        "jax.random.pareto": _keyed(lambda key, like, law: law[0] * random.pareto(key, law[1], like.shape, like.dtype)),
    },
    "weibull_samples": {"jax.random.weibull_min": _shaped(random.weibull_min)},
    "rayleigh_samples": {"jax.random.rayleigh": _shaped(random.rayleigh)},
    "maxwell_samples": {"jax.random.maxwell": _alone(random.maxwell)},
    "triangular_samples": {"jax.random.triangular": _shaped(random.triangular)},
    "wald_samples": {"jax.random.wald": _shaped(random.wald)},
    "generalized_normal_samples": {"jax.random.generalized_normal": _shaped(random.generalized_normal)},
    "poisson_samples": {"jax.random.poisson": _keyed(lambda key, like, law: random.poisson(key, law[0], like.shape))},
    "binomial_samples": {"jax.random.binomial": _shaped(random.binomial)},
    "geometric_trials": {"jax.random.geometric": _keyed(lambda key, like, law: random.geometric(key, law[0], like.shape))},
    "bernoulli_samples": {
        "jax.random.bernoulli": _keyed(lambda key, like, law: random.bernoulli(key, law[0], like.shape)),
        "jax.random.bernoulli (high)": _keyed(lambda key, like, law: random.bernoulli(key, law[0], like.shape, mode="high")),
    },
    "rademacher_samples": {
        "jax.random.rademacher": _keyed(lambda key, like, law: (random.rademacher(key, like.shape, like.dtype) + 1) / 2),
    },
    "categorical_samples": {
        "jax.random.categorical": _categorical(True, 0),
        "jax.random.choice": _keyed(lambda key, like, law: random.choice(key, len(law), like.shape, p=jnp.asarray(law))),
        "jax.random.multinomial": _keyed(
            lambda key, like, law: random.multinomial(key, 1, jnp.tile(jnp.asarray(law), (len(like), 1))).argmax(-1)
        ),
    },
    "first_of_two_different": {"jax.random.categorical": _categorical(False, 0), "jax.random.choice": _chosen(0)},
    "second_of_two_different": {"jax.random.categorical": _categorical(False, 1), "jax.random.choice": _chosen(1)},
    "integer_samples": {"jax.random.randint": _keyed(lambda key, like, law: random.randint(key, like.shape, *law))},
    "small_integer_samples": {"jax.random.randint": _keyed(_small)},
    "dirichlet_samples": {"jax.random.dirichlet": _keyed(_dirichlet)},
    "multivariate_normal_samples": {
        "jax.random.multivariate_normal": _multivariate("cholesky"),
        "jax.random.multivariate_normal (eigh)": _multivariate("eigh"),
        "jax.random.multivariate_normal (svd)": _multivariate("svd"),
    },
    **_initializers(),
    "orthogonal_weights": {
        "jax.nn.initializers.orthogonal": _keyed(lambda key, like, law: initializers.orthogonal()(key, (law[0], law[0]))),
        "jax.random.orthogonal": _keyed(lambda key, like, law: random.orthogonal(key, law[0])),
    },
    "orthogonal_diagonals": {
        "jax.nn.initializers.orthogonal": _keyed(
            lambda key, like, law: jnp.diag(initializers.orthogonal()(key, (law[0], law[0])))
        ),
        "jax.random.orthogonal": _keyed(lambda key, like, law: jnp.diag(random.orthogonal(key, law[0]))),
    },
    "orthogonal_products": {
        "jax.nn.initializers.orthogonal": _orthogonal_products(
            lambda key, rows, columns, gain, kind: initializers.orthogonal(gain)(key, (rows, columns), kind)
        ),
        "jax.nn.initializers.delta_orthogonal": _orthogonal_products(
            lambda key, rows, columns, gain, kind: (
                initializers.delta_orthogonal(gain)(key, (3, rows, columns), kind)[1] if rows <= columns else _wide()
            )
        ),
        "jax.random.orthogonal": _orthogonal_products(
            lambda key, rows, columns, gain, kind: gain * random.orthogonal(key, rows, (), kind, columns)
        ),
    },
    "dropout": {"flax.linen.Dropout": _dropout(_linen), "flax.nnx.Dropout": _dropout(_nnx)},
    "dropout_of_any_rate": {
        "flax.linen.Dropout": lambda x, seed, rate: _kept(x, _linen(x, seed, rate), rate),
        "flax.nnx.Dropout": lambda x, seed, rate: _kept(x, _nnx(x, seed, rate), rate),
    },
    "dropout_in_evaluation": {
        "flax.linen.Dropout": lambda x, rate: flax.linen.Dropout(rate, deterministic=True).apply({}, x),
        "flax.nnx.Dropout": lambda x, rate: nnx.Dropout(rate, deterministic=True)(x),
    },
    "dropout_of_nothing": {"flax.linen.Dropout": _linen, "flax.nnx.Dropout": _nnx},
    "dropout_of_all": {"flax.linen.Dropout": _linen, "flax.nnx.Dropout": _nnx},
    "spatial_dropout": {"flax.linen.Dropout": _spatial(_linen), "flax.nnx.Dropout": _spatial(_nnx)},
    "permutation_of_all": {
        "jax.random.permutation": lambda like, seed: _order(random.permutation(random.key(seed), len(like))),
        "jax.random.permutation (of rows)": _rows,
        "jax.random.choice": _choice_of_all,
        "jax.random.choice (by shares)": _shares_of_all,
    },
}


def _wide() -> Any:
    raise Unsupported("delta_orthogonal: more inputs than outputs are refused. Allowed: rows <= columns.")
