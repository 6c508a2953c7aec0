"""Samplers, initializers, dropout and shuffling: what they draw, held to the law that is documented.

A call draws samples in the framework and gives standardized deviations: of mean, variance, the product of neighbours and the
shares below points, each by its standard error. A correct sampler gives numbers of order one, whatever its generator, and no
floor of rounding is meant for them. Hence each call gives 0 for a deviation of up to six, and the deviation beyond: a correct one
is off by six once in 5e8 numbers. What is right is then zero, to the bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats

from vigil.audit.arguments import drawn, normal
from vigil.audit.entry import operator

SCIPY = "https://docs.scipy.org/doc/scipy/reference/stats.html"
INITIALIZERS = "https://keras.io/api/layers/initializers/"
_SHARES = (0.001, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.999)
_SIZES = ({"n": 20011}, {"n": 200003}, {"n": 20011})
_TAILED = 40.0  # fourth moment over squared variance, beyond which a variance of samples is far from normal
_LIKE = normal("n").fixed()  # its type and length are those of the samples


def _moments(law: Any) -> list[float] | None:
    """Return mean, standard deviation, and the variance of a squared standardized sample; None: there are none to be held to."""
    mean, variance, excess = (float(each) for each in law.stats(moments="mvk"))
    if not (math.isfinite(mean) and math.isfinite(variance) and math.isfinite(excess)) or excess + 3.0 > _TAILED:
        return None
    return [mean, math.sqrt(variance), excess + 2.0]


def _told(law: Any, seed: int, numbers: Any) -> dict[str, Any]:
    """Return what a call is told: the law's numbers, its moments, and points with the shares of samples that are not beyond."""
    if isinstance(law.dist, scipy.stats.rv_discrete):
        points = sorted({float(law.ppf(share)) + 0.5 for share in _SHARES})
        points = [each for each in points if 1e-5 < float(law.cdf(each)) < 1.0 - 1e-5]
    else:
        points = [float(law.ppf(share)) for share in _SHARES]
    shares = [float(law.cdf(each)) for each in points]
    return {"seed": seed, "law": numbers, "moments": _moments(law), "points": points, "shares": shares}


def _sampler(
    name: str, *laws: tuple[Any, Any], precisions: tuple[str, ...] = ("fp32",), source: str = SCIPY, **more: Any
) -> None:
    """Enter a sampler: each law is SciPy's, with the numbers that a call takes."""

    def definition(like: np.ndarray, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> np.ndarray:
        return np.zeros((0 if moments is None else 3) + len(points))

    definition.__name__ = name
    sets = [_told(law, 11 + 1000 * place, numbers) for place, (law, numbers) in enumerate(laws)]
    operator(like=_LIKE, source=source, sizes=more.get("sizes", _SIZES), parameters=sets, precisions=precisions)(definition)


stats = scipy.stats
_LOW = ("fp32", "fp64", "bf16", "fp16")
_sampler("normal_samples", (stats.norm(0, 1), [0.0, 1.0]), (stats.norm(-2, 0.5), [-2.0, 0.5]), precisions=_LOW)
_sampler("uniform_samples", (stats.uniform(0, 1), [0.0, 1.0]), (stats.uniform(-3, 5), [-3.0, 2.0]), precisions=("fp32", "fp64"))


@operator(
    like=_LIKE,
    source=SCIPY,
    sizes=({"n": 20011},),
    precisions=_LOW,
    parameters=[
        {
            "seed": 5,
            "law": [low, high],
            "moments": [(low + high) / 2, (high - low) / math.sqrt(12), 0.8],
            "points": [low + (high - low) * (share - 2.0**-10) for share in (0.125, 0.25, 0.5, 0.75)] + [high - 1e-6],
            "shares": [0.125, 0.25, 0.5, 0.75, 0.99999],
        }
        for low, high in ((-3.0, 2.0), (0.0, 1.0))
    ],
)
def uniform_samples_below(
    like: np.ndarray, seed: int, law: list[float], moments: list[float], points: list[float], shares: list[float]
) -> np.ndarray:
    """Return deviations at points between the numbers of any precision, and of the share below the end: all are."""
    return np.zeros(8)


_sampler(
    "truncated_normal_samples",
    (stats.truncnorm(-2, 2), [0.0, 1.0, -2.0, 2.0]),
    (stats.truncnorm(-2, 2, 1.0, 0.5), [1.0, 0.5, 0.0, 2.0]),
    (stats.truncnorm(-0.5, 3), [0.0, 1.0, -0.5, 3.0]),
    (stats.truncnorm(2, 4), [0.0, 1.0, 2.0, 4.0]),
)
_sampler("exponential_samples", (stats.expon(), [1.0]), (stats.expon(scale=1 / 3.0), [3.0]), precisions=("fp32", "fp64"))
_sampler("laplace_samples", (stats.laplace(), [0.0, 1.0]), (stats.laplace(1, 2), [1.0, 2.0]))
_sampler("gumbel_samples", (stats.gumbel_r(), [0.0, 1.0]), (stats.gumbel_r(1, 2), [1.0, 2.0]))
_sampler("logistic_samples", (stats.logistic(), []))
_sampler("cauchy_samples", (stats.cauchy(), [0.0, 1.0]), (stats.cauchy(1, 2), [1.0, 2.0]))
_sampler("half_cauchy_samples", (stats.halfcauchy(), [1.0]), (stats.halfcauchy(scale=3.0), [3.0]))
_sampler("half_normal_samples", (stats.halfnorm(), [1.0]), (stats.halfnorm(scale=3.0), [3.0]))
_sampler("lognormal_samples", (stats.lognorm(1.0), [0.0, 1.0]), (stats.lognorm(0.5, scale=math.exp(1.0)), [1.0, 0.5]))
_sampler("t_samples", (stats.t(10), [10.0]), (stats.t(2.5), [2.5]), (stats.t(0.7), [0.7]))
_sampler("chi2_samples", (stats.chi2(3), [3.0]), (stats.chi2(0.5), [0.5]))
_sampler("f_samples", (stats.f(5, 12), [5.0, 12.0]), (stats.f(3, 4), [3.0, 4.0]))
_sampler("gamma_samples", *[(stats.gamma(a, scale=1 / b), [a, b]) for a, b in ((2.5, 1.0), (0.3, 2.0), (1.0, 0.5), (40.0, 1.0))])
_sampler("log_gamma_samples", *[(stats.loggamma(a), [a]) for a in (2.5, 0.3, 0.02, 40.0)])
_sampler("inverse_gamma_samples", (stats.invgamma(5.0, scale=2.0), [5.0, 2.0]), (stats.invgamma(1.5), [1.5, 1.0]))
_sampler("beta_samples", *[(stats.beta(a, b), [a, b]) for a, b in ((2.0, 3.0), (0.5, 0.5), (0.3, 4.0), (30.0, 20.0))])
_sampler("kumaraswamy_samples", (stats.beta(1.0, 3.0), [1.0, 3.0]), (stats.beta(2.0, 1.0), [2.0, 1.0]))
_sampler("pareto_samples", (stats.pareto(5.0), [1.0, 5.0]), (stats.pareto(1.5), [1.0, 1.5]))
_sampler("weibull_samples", (stats.weibull_min(1.5, scale=2.0), [2.0, 1.5]), (stats.weibull_min(0.7), [1.0, 0.7]))
_sampler("rayleigh_samples", (stats.rayleigh(scale=2.0), [2.0]))
_sampler("maxwell_samples", (stats.maxwell(), []))
_sampler("triangular_samples", (stats.triang(0.25, -1.0, 4.0), [-1.0, 0.0, 3.0]))
_sampler("wald_samples", (stats.invgauss(2.0, scale=1.0), [2.0]), (stats.invgauss(0.5, scale=1.0), [0.5]))
_sampler("generalized_normal_samples", (stats.gennorm(1.5), [1.5]), (stats.gennorm(3.0), [3.0]))
_sampler(
    "von_mises_samples", (stats.vonmises(2.0), [0.0, 2.0]), (stats.vonmises(0.3), [0.0, 0.3]), (stats.vonmises(30.0), [0.0, 30.0])
)
_sampler("poisson_samples", *[(stats.poisson(rate), [rate]) for rate in (3.0, 0.2, 9.99, 10.0, 27.5, 1000.0)])
_sampler(
    "binomial_samples",
    *[(stats.binom(n, p), [n, p]) for n, p in ((9, 0.3), (1, 0.5), (40, 0.25), (40, 0.9), (1000, 0.02), (1000, 0.6))],
)
_sampler("negative_binomial_samples", (stats.nbinom(3, 0.4), [3.0, 0.6]), (stats.nbinom(20, 0.5), [20.0, 0.5]))
_sampler("geometric_failures", (stats.geom(0.3, -1), [0.3]), (stats.geom(0.02, -1), [0.02]))
_sampler("geometric_trials", (stats.geom(0.3), [0.3]), (stats.geom(0.02), [0.02]))
_sampler("bernoulli_samples", *[(stats.bernoulli(p), [p]) for p in (0.3, 0.5, 0.97)])
_sampler("rademacher_samples", (stats.bernoulli(0.5), []))
_WEIGHTS = ([0.1, 0.4, 0.05, 0.25, 0.2], [0.02] * 50, [0.7, 0.0, 0.3])


def _choice(weights: list[float]) -> Any:
    return stats.rv_discrete(values=(np.arange(len(weights)), np.asarray(weights) / np.sum(weights)))()


_sampler("categorical_samples", *[(_choice(weights), weights) for weights in _WEIGHTS])
_sampler("first_of_two_different", (_choice([0.1, 0.2, 0.3, 0.4]), [0.1, 0.2, 0.3, 0.4]))


def _second(weights: list[float]) -> list[float]:
    """Return the shares of what is drawn second, where nothing is drawn twice."""
    return [
        sum(first * own / (1.0 - first) for place, first in enumerate(weights) if place != at) for at, own in enumerate(weights)
    ]


_sampler("second_of_two_different", (_choice(_second([0.1, 0.2, 0.3, 0.4])), [0.1, 0.2, 0.3, 0.4]))
# Ranges that no power of two divides: where 32 bits are taken modulo one of them, some numbers come up twice as often as others.
_RANGES = ((0, 7), (-5, 100), (0, 3 * 2**29), (-(2**30), 2**30 - 1), (0, 2**31 - 1))
_sampler("integer_samples", *[(stats.randint(low, high), [low, high]) for low, high in _RANGES])
_sampler("large_integer_samples", *[(stats.uniform(0, high), [0, high]) for high in (3 * 2**30, 5 * 2**30, 3 * 2**61, 2**63 - 1)])
_sampler("small_integer_samples", *[(stats.randint(0, high), [0, high]) for high in (100, 127, 96)])
_ALPHAS = [0.5, 1.5, 3.0, 5.0]
_sampler(
    "dirichlet_samples",
    *[
        (stats.beta(sum(_ALPHAS[at] for at in those), 10.0 - sum(_ALPHAS[at] for at in those)), [_ALPHAS, those])
        for those in ([0], [1, 2], [0, 3])
    ],
)
_MEAN, _FACTOR = [1.0, -2.0, 0.5], [[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-1.0, 0.3, 0.7]]


def _along(direction: list[float]) -> tuple[Any, Any]:
    width = float(np.linalg.norm(np.asarray(_FACTOR).T @ direction))
    return stats.norm(float(np.dot(_MEAN, direction)), width), [_MEAN, _FACTOR, direction]


_sampler(
    "multivariate_normal_samples",
    *[_along(each) for each in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 2.0])],
)
_sampler("gaussian_dropout_samples", *[(stats.norm(1.0, math.sqrt(rate / (1 - rate))), [rate]) for rate in (0.2, 0.5)])

# Initializers: a share of samples is a weight of a dense or of a convolution's layer, with fans that differ.
_LAYERS = ({"inputs": 97, "outputs": 211, "kernel": []}, {"inputs": 12, "outputs": 40, "kernel": [5, 9]})
_ONE = ({"n": 1},)


def _initializer(name: str, scale: float, fans: str, kind: str) -> None:
    """Enter an initializer: normal, cut at two standard deviations, or uniform, with a variance of scale over fans."""
    laws = []
    for layer in _LAYERS:
        field = math.prod(layer["kernel"])  # type: ignore[arg-type]
        fan_in, fan_out = layer["inputs"] * field, layer["outputs"] * field  # type: ignore[operator]
        fan = {"in": fan_in, "out": fan_out, "average": (fan_in + fan_out) / 2}[fans]
        deviation = math.sqrt(scale / fan)
        limit = math.sqrt(3.0) * deviation
        width = deviation / stats.truncnorm(-2, 2).std()
        law = {
            "normal": stats.norm(0, deviation),
            "cut": stats.truncnorm(-2, 2, 0, width),
            "uniform": stats.uniform(-limit, 2 * limit),
        }[kind]
        laws.append((law, layer))
    _sampler(name, *laws, sizes=_ONE, source=INITIALIZERS)


for _name, _scale, _fans in (
    ("he", 2.0, "in"),
    ("he_of_outputs", 2.0, "out"),
    ("glorot", 1.0, "average"),
    ("lecun", 1.0, "in"),
    ("scaled", 0.7, "average"),
):
    for _kind in ("normal", "cut", "uniform"):
        _initializer(f"{_name}_{_kind}_weights", _scale, _fans, _kind)

# Sides of a square matrix: elements of an orthogonal one are nearly normal, its diagonal as well where signs are right.
_sampler("orthogonal_weights", (stats.norm(0, 1 / math.sqrt(151)), [151]), sizes=_ONE)
_sampler("orthogonal_diagonals", (stats.norm(0, 1 / math.sqrt(401)), [401]), sizes=_ONE)
_sampler("sparse_weights", (stats.norm(0, 0.5), [0.5]), sizes=_ONE)


@operator(
    like=normal(1).fixed(),
    sizes=({},),
    precisions=("fp32", "fp64"),
    source="https://doi.org/10.48550/arXiv.1312.6120",
    parameters=[
        {"seed": 3, "rows": 5, "columns": 5, "gain": 1.0},
        {"seed": 4, "rows": 7, "columns": 3, "gain": 2.0},
        {"seed": 5, "rows": 33, "columns": 65, "gain": 0.5},
    ],
)
def orthogonal_products(like: np.ndarray, seed: int, rows: int, columns: int, gain: float) -> np.ndarray:
    """Return 1 and the products of an orthogonal matrix's shorter side with itself: 0 and 1 times the squared gain.

    The 1 is there because what should be 0 is what rounding leaves.
    """
    return 1.0 + gain**2 * np.eye(min(rows, columns))


def _half_or_one(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    return random.choice((-1.0, -0.5, 0.5, 1.0), shape)


# Powers of two, and rates that make the factor one: an element over its argument is then the factor to the bit.
_POWERS = drawn(_half_or_one, "m", "n")
_DROPS = ({"m": 50, "n": 401}, {"m": 3, "n": 66667})


@operator(
    x=_POWERS,
    source="https://jmlr.org/papers/v15/srivastava14a.html",
    sizes=_DROPS,
    precisions=("fp32", "bf16", "fp16"),
    parameters=[
        {"seed": 1, "rate": 0.5},
        {"seed": 2, "rate": 0.75},
    ],
)
def dropout(x: np.ndarray, seed: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return deviations: of the share that is kept, of neighbours, of rows, and kept values that are not x over 1 - rate.

    The second is the result less x times the factor that it has: 0, without a derivative unless another mask is used there.
    """
    return np.zeros(4), np.zeros(x.shape) * x


@operator(
    x=_POWERS.fixed(),
    source="https://jmlr.org/papers/v15/srivastava14a.html",
    sizes=_DROPS,
    precisions=("fp32", "bf16", "fp16"),
    parameters=[{"seed": seed, "rate": rate} for seed, rate in enumerate((0.1, 0.3, 0.9, 0.01))],
)
def dropout_of_any_rate(x: np.ndarray, seed: int, rate: float) -> np.ndarray:
    """Return deviations: of the share that is kept, of neighbours, of rows, and kept values that are not x over 1 - rate."""
    return np.zeros(4)


@operator(
    x=normal("m", "n"),
    source="https://jmlr.org/papers/v15/srivastava14a.html",
    sizes=({"m": 3, "n": 7}, {"m": 2, "n": 1027}),
    parameters=[{"rate": 0.5}],
)
def dropout_in_evaluation(x: np.ndarray, rate: float) -> np.ndarray:
    """Return x."""
    return x


@operator(
    x=normal("m", "n"),
    source="https://jmlr.org/papers/v15/srivastava14a.html",
    sizes=({"m": 3, "n": 7}, {"m": 2, "n": 1027}),
    parameters=[{"seed": 0, "rate": 0.0}],
)
def dropout_of_nothing(x: np.ndarray, seed: int, rate: float) -> np.ndarray:
    """Return x, in training, at rate 0."""
    return x


@operator(
    x=normal("m", "n"),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html",
    parameters=[{"seed": 0, "rate": 1.0}],
    sizes=({"m": 3, "n": 7}, {"m": 2, "n": 1027}),
)
def dropout_of_all(x: np.ndarray, seed: int, rate: float) -> np.ndarray:
    """Return zeros, in training, at rate 1: no 0 over 0."""
    return np.zeros(x.shape) * x


@operator(
    like=normal(1).fixed(),
    source="https://doi.org/10.1109/CVPR.2015.7298664",
    sizes=({},),
    precisions=("fp32",),
    parameters=[
        {"seed": seed, "rate": rate, "dimensions": dimensions}
        for seed, (rate, dimensions) in enumerate(((0.5, 1), (0.25, 2), (0.5, 3), (0.1, 2)))
    ],
)
def spatial_dropout(like: np.ndarray, seed: int, rate: float, dimensions: int) -> np.ndarray:
    """Return deviations: of the share of channels kept, of neighbours, of rows, and channels not kept or dropped whole."""
    return np.zeros(4)


class _AlphaDropped:
    """What alpha dropout makes of standard normal numbers: a mixture of a x + b and a point."""

    def __init__(self, rate: float) -> None:
        low = -1.0507009873554805 * 1.6732632423543772
        keep = 1.0 - rate
        self.a = (keep + low**2 * keep * rate) ** -0.5
        self.b, self.point, self.keep = -self.a * low * rate, self.a * low - self.a * low * rate, keep

    def told(self, seed: int, rate: float) -> dict[str, Any]:
        fourth = self.keep * (3 * self.a**4 + 6 * self.a**2 * self.b**2 + self.b**4) + (1 - self.keep) * self.point**4
        points = [self.point - 0.01, self.point + 0.01, self.b - self.a, self.b, self.b + self.a, self.b + 2 * self.a]
        shares = [
            self.keep * float(stats.norm.cdf((each - self.b) / self.a)) + (1 - self.keep) * (each >= self.point)
            for each in points
        ]
        return {"seed": seed, "law": [rate], "moments": [0.0, 1.0, fourth - 1.0], "points": points, "shares": shares}


@operator(
    x=normal("n").fixed(),
    source="https://doi.org/10.48550/arXiv.1706.02515",
    sizes=({"n": 40009}, {"n": 200003}),
    precisions=("fp32",),
    parameters=[_AlphaDropped(rate).told(seed, rate) for seed, rate in enumerate((0.1, 0.5, 0.3))],
)
def alpha_dropout(
    x: np.ndarray, seed: int, law: list[float], moments: list[float], points: list[float], shares: list[float]
) -> np.ndarray:
    """Return deviations of what it makes of normal numbers: mean 0 and variance 1 stay."""
    return np.zeros(3 + len(points))


# Shuffling: everything is there once, and places before and after have nothing to do with each other.
@operator(
    like=_LIKE,
    source="https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.permutation.html",
    sizes=({"n": 2003}, {"n": 20011}),
    precisions=("fp32",),
    parameters=[{"seed": seed} for seed in (1, 2)],
)
def permutation_of_all(like: np.ndarray, seed: int) -> np.ndarray:
    """Return deviations: numbers that are not there once, place and number, neighbours, and numbers by ninths of the square."""
    return np.zeros(12)


@operator(
    like=normal("n").fixed(),
    source="https://www.tensorflow.org/api_docs/python/tf/data/Dataset",
    sizes=({"n": 103}, {"n": 1027}),
    precisions=("fp32",),
    parameters=[{"seed": seed} for seed in (1, 2)],
)
def epochs_of_loader(like: np.ndarray, seed: int) -> np.ndarray:
    """Return deviations of two epochs in batches of eight: all is seen once, and in the second in another order."""
    return np.zeros(24)


@operator(
    like=_LIKE,
    sizes=({"n": 4001},),
    precisions=("fp32",),
    parameters=[{"seed": seed} for seed in (1, 2)],
    source="https://keras.io/api/layers/preprocessing_layers/image_augmentation/random_flip/",
)
def flip_shares(like: np.ndarray, seed: int) -> np.ndarray:
    """Return deviations of the share of flipped images, of neighbours, and images that are neither as they were nor flipped."""
    return np.zeros(3)
