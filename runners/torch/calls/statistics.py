"""PyTorch: samplers, initializers, dropout and shuffling, as deviations from their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.errors import Unsupported

_ALLOWED = 6.0


def _clipped(deviations: Any) -> Any:
    """Return 0 for a standardized deviation of up to six, which a correct sampler has, and the deviation beyond.

    What is right is then zero for every generator of random numbers, and no tolerance is needed.
    """
    return torch.where(deviations.abs() <= _ALLOWED, torch.zeros_like(deviations), deviations)


def _deviations(samples: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
    values = samples.detach().double().flatten()
    count = values.numel()
    found = []
    if moments is not None:
        mean, width, excess = moments
        scaled = (values - mean) / width
        found += [scaled.mean() * math.sqrt(count), ((scaled**2).mean() - 1.0) * math.sqrt(count / max(excess, 1.0 / count))]
        found.append((scaled[1:] * scaled[:-1]).mean() * math.sqrt(count - 1))
    for point, share in zip(points, shares, strict=True):
        found.append(((values <= point).double().mean() - share) * math.sqrt(count / (share * (1.0 - share))))
    return _clipped(torch.stack(found)).float()


def _seeded(draw: Callable[[Any, list[Any]], Any]) -> Callable[..., Any]:
    """Return a call that seeds torch's own generator, and leaves it as it was."""

    def call(like: Any, seed: int, law: Any, moments: Any, points: list[float], shares: list[float]) -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _deviations(draw(like, law), moments, points, shares)

    return call


def _drawn(distribution: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a distribution's samples; those that can be differentiated where it has them."""

    def draw(like: Any, law: list[Any]) -> Any:
        made = distribution(*[torch.tensor(each, dtype=like.dtype) for each in law], validate_args=False)
        return made.rsample(like.shape) if made.has_rsample else made.sample(like.shape)

    return _seeded(draw)


def _empty(like: Any) -> Any:
    return torch.empty(like.shape, dtype=like.dtype)


def _weights(initialize: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    def draw(like: Any, law: Any) -> Any:
        return initialize(torch.empty(law["outputs"], law["inputs"], *law["kernel"], dtype=like.dtype), **more)

    return _seeded(draw)


def _cut(like: Any, law: list[float]) -> Any:
    return nn.init.trunc_normal_(_empty(like), *law)


def _integers(like: Any, law: list[int]) -> Any:
    return torch.randint(law[0], law[1], like.shape)


def _row(law: list[float], count: int) -> Any:
    return torch.multinomial(torch.tensor(law), count, replacement=True)


def _two(law: list[float], count: int) -> Any:
    return torch.multinomial(torch.tensor(law).expand(count, -1), 2)


def _dirichlet(like: Any, law: list[Any]) -> Any:
    return torch.distributions.Dirichlet(torch.tensor(law[0])).rsample(like.shape)[..., law[1]].sum(-1)


def _multivariate(of_covariance: bool) -> Callable[..., Any]:
    def draw(like: Any, law: list[Any]) -> Any:
        mean, factor, direction = (torch.tensor(each) for each in law)
        if of_covariance:
            made = torch.distributions.MultivariateNormal(mean, factor @ factor.T)
        else:
            made = torch.distributions.MultivariateNormal(mean, scale_tril=factor)
        return made.rsample(like.shape) @ direction

    return _seeded(draw)


def _low_rank(like: Any, law: list[Any]) -> Any:
    mean, factor, direction = (torch.tensor(each) for each in law)
    diagonal = torch.full((3,), 0.04)
    # The rest of the covariance, when the diagonal is taken off, is a factor too.
    rest = torch.linalg.cholesky((factor @ factor.T).double() - torch.diag(diagonal).double()).float()
    return torch.distributions.LowRankMultivariateNormal(mean, rest, diagonal).rsample(like.shape) @ direction


def _orthogonal_products(like: Any, seed: int, rows: int, columns: int, gain: float) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        weights = nn.init.orthogonal_(torch.empty(rows, columns, dtype=like.dtype), gain)
    return 1.0 + (weights @ weights.T if rows <= columns else weights.T @ weights)


def _parametrized(like: Any, seed: int, rows: int, columns: int, gain: float) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = nn.Linear(columns, rows, bias=False, dtype=like.dtype)
        weights = gain * nn.utils.parametrizations.orthogonal(layer).weight.detach()
    return 1.0 + (weights @ weights.T if rows <= columns else weights.T @ weights)


def _orthogonal(like: Any, law: list[int]) -> Any:
    return nn.init.orthogonal_(torch.empty(law[0], law[0]))


def _diagonals(like: Any, law: list[int]) -> Any:
    return nn.init.orthogonal_(torch.empty(law[0], law[0])).diag()


def _sparse(like: Any, law: list[float]) -> Any:
    weights = nn.init.sparse_(torch.empty(100, 401), 0.3, law[0])
    zeros = (weights == 0).sum(0)
    return weights[weights != 0] if bool((zeros == 30).all()) else weights


def _kept(x: Any, result: Any, rate: float) -> Any:
    """Return deviations of what dropout makes of x [rows, columns]."""
    kept = (result != 0).double()
    centered = (kept - (1 - rate)) / math.sqrt(rate * (1 - rate))
    count = kept.numel()
    exact = x.double() / (1 - rate)
    unit = torch.finfo(x.dtype).eps
    wrong = (((result.double() - exact).abs() > 2 * unit * exact.abs()) & (result != 0)).double().sum()
    return _clipped(
        torch.stack(
            [
                centered.mean() * math.sqrt(count),
                (centered[:, 1:] * centered[:, :-1]).mean() * math.sqrt(kept[:, 1:].numel()),
                (centered[1:] * centered[:-1]).mean() * math.sqrt(kept[1:].numel()),
                wrong * 1e9,
            ]
        )
    ).float()


def _dropped(drop: Callable[[Any, float], Any], x: Any, seed: int, rate: float) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return drop(x, rate)


def _dropout(drop: Callable[[Any, float], Any]) -> Callable[..., Any]:
    def call(x: Any, seed: int, rate: float) -> Any:
        result = _dropped(drop, x, seed, rate)
        rest = result - x * (result / x).detach()
        return _kept(x.detach(), result.detach(), rate), rest

    return call


def _any_rate(drop: Callable[[Any, float], Any]) -> Callable[..., Any]:
    return lambda x, seed, rate: _kept(x, _dropped(drop, x, seed, rate), rate)


def _plain(drop: Callable[[Any, float], Any]) -> Callable[..., Any]:
    return lambda x, seed, rate: _dropped(drop, x, seed, rate)


def _spatial(drops: dict[int, Callable[[Any, float], Any]]) -> Callable[..., Any]:
    def call(like: Any, seed: int, rate: float, dimensions: int) -> Any:
        if dimensions not in drops:
            raise Unsupported(f"dimensions {dimensions}: this one drops channels of others. Allowed: {sorted(drops)}.")
        x = torch.ones(50, 401, *[2] * dimensions)
        result = _dropped(drops[dimensions], x, seed, rate).flatten(2)
        whole = (result == result[..., :1]).all()
        return _kept(x[(..., *[0] * dimensions)], result[..., 0] if whole else result[..., 0] + 1.0, rate)

    return call


def _alpha(drop: Callable[[Any, float], Any]) -> Callable[..., Any]:
    def call(x: Any, seed: int, law: list[float], moments: Any, points: list[float], shares: list[float]) -> Any:
        return _deviations(_dropped(drop, x, seed, law[0]), moments, points, shares)

    return call


def _order(places: Any) -> Any:
    """Return deviations of a permutation from one of which all are as likely."""
    values = places.double()
    count = values.numel()
    wrong = (values.sort().values != torch.arange(count)).double().sum() * 1e9
    width = math.sqrt((count**2 - 1) / 12)
    before, after = (torch.arange(count).double() - (count - 1) / 2) / width, (values - (count - 1) / 2) / width
    found = [wrong, (before * after).mean() * math.sqrt(count - 1), (after[1:] * after[:-1]).mean() * math.sqrt(count - 1)]
    share = 1 / 9
    thirds = torch.stack(
        [
            ((torch.arange(count) * 3 // count == first) & (places * 3 // count == second)).double().mean()
            for first in range(3)
            for second in range(3)
        ]
    )
    # Fewer are free than are counted: with sums given, their variance is 4/9 of 1/9.
    found += list((thirds - share) * math.sqrt(count / (share * 4 / 9)))
    return _clipped(torch.stack(found)).float()


def _permutation(like: Any, seed: int) -> Any:
    return _order(torch.randperm(len(like), generator=torch.Generator().manual_seed(seed)))


def _sampled(like: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return _order(torch.tensor(list(torch.utils.data.RandomSampler(range(len(like)), generator=generator))))


def _split(like: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    parts = torch.utils.data.random_split(range(len(like)), [0.3, 0.2, 0.5], generator)  # type: ignore[arg-type]
    return _order(torch.tensor([place for part in parts for place in part.indices]))


def _subset(like: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return _order(torch.tensor(list(torch.utils.data.SubsetRandomSampler(range(len(like)), generator=generator))))


def _distributed(like: Any, seed: int) -> Any:
    samplers = [
        torch.utils.data.DistributedSampler(range(len(like)), 2, rank, shuffle=True, seed=seed, drop_last=False)  # type: ignore[arg-type,var-annotated]
        for rank in (0, 1)
    ]
    first, second = (list(each) for each in samplers)
    # One that is there twice evens out the shares.
    return _order(torch.tensor((first + second)[: len(like)]))


def _epochs(like: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    loader = torch.utils.data.DataLoader(range(len(like)), batch_size=8, shuffle=True, generator=generator)  # type: ignore[arg-type,var-annotated]
    first, second = (torch.cat(list(loader)) for _ in range(2))
    return torch.cat([_order(first), _order(second[first.argsort()])])


distributions = torch.distributions
CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "normal_samples": {
        "torch.randn": _seeded(lambda like, law: law[0] + law[1] * torch.randn(like.shape, dtype=like.dtype)),
        "torch.normal": _seeded(lambda like, law: torch.normal(torch.full_like(like, law[0]), law[1])),
        "torch.Tensor.normal_": _seeded(lambda like, law: _empty(like).normal_(*law)),
        "torch.nn.init.normal_": _seeded(lambda like, law: nn.init.normal_(_empty(like), *law)),
        "torch.distributions.Normal": _drawn(distributions.Normal),
    },
    "uniform_samples": {
        "torch.rand": _seeded(lambda like, law: law[0] + (law[1] - law[0]) * torch.rand(like.shape, dtype=like.dtype)),
        "torch.Tensor.uniform_": _seeded(lambda like, law: _empty(like).uniform_(*law)),
        "torch.nn.init.uniform_": _seeded(lambda like, law: nn.init.uniform_(_empty(like), *law)),
        "torch.distributions.Uniform": _drawn(distributions.Uniform),
    },
    "uniform_samples_below": {
        "torch.rand": _seeded(lambda like, law: law[0] + (law[1] - law[0]) * torch.rand(like.shape, dtype=like.dtype)),
        "torch.Tensor.uniform_": _seeded(lambda like, law: _empty(like).uniform_(*law)),
        "torch.nn.init.uniform_": _seeded(lambda like, law: nn.init.uniform_(_empty(like), *law)),
        "torch.distributions.Uniform": _drawn(distributions.Uniform),
    },
    "truncated_normal_samples": {"torch.nn.init.trunc_normal_": _seeded(_cut)},
    "exponential_samples": {
        "torch.Tensor.exponential_": _seeded(lambda like, law: _empty(like).exponential_(*law)),
        "torch.distributions.Exponential": _drawn(distributions.Exponential),
    },
    "laplace_samples": {"torch.distributions.Laplace": _drawn(distributions.Laplace)},
    "gumbel_samples": {"torch.distributions.Gumbel": _drawn(distributions.Gumbel)},
    "cauchy_samples": {
        "torch.distributions.Cauchy": _drawn(distributions.Cauchy),
        "torch.Tensor.cauchy_": _seeded(lambda like, law: _empty(like).cauchy_(*law)),
    },
    "half_cauchy_samples": {"torch.distributions.HalfCauchy": _drawn(distributions.HalfCauchy)},
    "half_normal_samples": {"torch.distributions.HalfNormal": _drawn(distributions.HalfNormal)},
    "lognormal_samples": {
        "torch.distributions.LogNormal": _drawn(distributions.LogNormal),
        "torch.Tensor.log_normal_": _seeded(lambda like, law: _empty(like).log_normal_(*law)),
    },
    "t_samples": {"torch.distributions.StudentT": _drawn(distributions.StudentT)},
    "chi2_samples": {"torch.distributions.Chi2": _drawn(distributions.Chi2)},
    "f_samples": {"torch.distributions.FisherSnedecor": _drawn(distributions.FisherSnedecor)},
    "gamma_samples": {"torch.distributions.Gamma": _drawn(distributions.Gamma)},
    "inverse_gamma_samples": {"torch.distributions.InverseGamma": _drawn(distributions.InverseGamma)},
    "beta_samples": {"torch.distributions.Beta": _drawn(distributions.Beta)},
    "kumaraswamy_samples": {"torch.distributions.Kumaraswamy": _drawn(distributions.Kumaraswamy)},
    "pareto_samples": {"torch.distributions.Pareto": _drawn(distributions.Pareto)},
    "weibull_samples": {"torch.distributions.Weibull": _drawn(distributions.Weibull)},
    "von_mises_samples": {"torch.distributions.VonMises": _drawn(distributions.VonMises)},
    "poisson_samples": {
        "torch.distributions.Poisson": _drawn(distributions.Poisson),
        "torch.poisson": _seeded(lambda like, law: torch.poisson(torch.full_like(like, law[0]))),
    },
    "binomial_samples": {
        "torch.distributions.Binomial": _seeded(
            lambda like, law: distributions.Binomial(law[0], torch.tensor(law[1])).sample(like.shape)
        ),
        "torch.binomial": _seeded(lambda like, law: torch.binomial(torch.full_like(like, law[0]), torch.full_like(like, law[1]))),
    },
    "negative_binomial_samples": {"torch.distributions.NegativeBinomial": _drawn(distributions.NegativeBinomial)},
    "geometric_failures": {"torch.distributions.Geometric": _drawn(distributions.Geometric)},
    "geometric_trials": {"torch.Tensor.geometric_": _seeded(lambda like, law: _empty(like).geometric_(*law))},
    "bernoulli_samples": {
        "torch.distributions.Bernoulli": _drawn(distributions.Bernoulli),
        "torch.bernoulli": _seeded(lambda like, law: torch.bernoulli(torch.full_like(like, law[0]))),
        "torch.Tensor.bernoulli_": _seeded(lambda like, law: _empty(like).bernoulli_(law[0])),
    },
    "categorical_samples": {
        "torch.distributions.Categorical": _seeded(
            lambda like, law: distributions.Categorical(torch.tensor(law)).sample(like.shape)
        ),
        "torch.distributions.OneHotCategorical": _seeded(
            lambda like, law: distributions.OneHotCategorical(torch.tensor(law)).sample(like.shape).argmax(-1)
        ),
        "torch.multinomial": _seeded(lambda like, law: _row(law, len(like))),
        "torch.nn.functional.gumbel_softmax": _seeded(
            lambda like, law: F.gumbel_softmax(torch.tensor(law).log().expand(len(like), -1), hard=True).argmax(-1)
        ),
    },
    "first_of_two_different": {"torch.multinomial": _seeded(lambda like, law: _two(law, len(like))[:, 0])},
    "second_of_two_different": {"torch.multinomial": _seeded(lambda like, law: _two(law, len(like))[:, 1])},
    "integer_samples": {
        "torch.randint": _seeded(_integers),
        "torch.randint_like": _seeded(
            lambda like, law: torch.randint_like(torch.zeros(like.shape, dtype=torch.int64), law[0], law[1])
        ),
        "torch.Tensor.random_": _seeded(lambda like, law: torch.zeros(like.shape, dtype=torch.int64).random_(law[0], law[1])),
    },
    "large_integer_samples": {
        "torch.randint": _seeded(_integers),
        "torch.Tensor.random_": _seeded(lambda like, law: torch.zeros(like.shape, dtype=torch.int64).random_(law[0], law[1])),
    },
    "small_integer_samples": {
        "torch.randint": _seeded(lambda like, law: torch.randint(law[0], law[1], like.shape, dtype=torch.int8)),
    },
    "dirichlet_samples": {"torch.distributions.Dirichlet": _seeded(_dirichlet)},
    "multivariate_normal_samples": {
        "torch.distributions.MultivariateNormal": _multivariate(True),
        "torch.distributions.MultivariateNormal (of a factor)": _multivariate(False),
        "torch.distributions.LowRankMultivariateNormal": _seeded(_low_rank),
    },
    "he_normal_weights": {"torch.nn.init.kaiming_normal_": _weights(nn.init.kaiming_normal_, nonlinearity="relu")},
    "he_uniform_weights": {"torch.nn.init.kaiming_uniform_": _weights(nn.init.kaiming_uniform_, nonlinearity="relu")},
    "he_of_outputs_normal_weights": {
        "torch.nn.init.kaiming_normal_": _weights(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu"),
    },
    "he_of_outputs_uniform_weights": {
        "torch.nn.init.kaiming_uniform_": _weights(nn.init.kaiming_uniform_, mode="fan_out", nonlinearity="relu"),
    },
    "lecun_normal_weights": {"torch.nn.init.kaiming_normal_": _weights(nn.init.kaiming_normal_, nonlinearity="linear")},
    "lecun_uniform_weights": {"torch.nn.init.kaiming_uniform_": _weights(nn.init.kaiming_uniform_, nonlinearity="linear")},
    "glorot_normal_weights": {"torch.nn.init.xavier_normal_": _weights(nn.init.xavier_normal_)},
    "glorot_uniform_weights": {"torch.nn.init.xavier_uniform_": _weights(nn.init.xavier_uniform_)},
    "scaled_normal_weights": {"torch.nn.init.xavier_normal_": _weights(nn.init.xavier_normal_, gain=math.sqrt(0.7))},
    "scaled_uniform_weights": {"torch.nn.init.xavier_uniform_": _weights(nn.init.xavier_uniform_, gain=math.sqrt(0.7))},
    "orthogonal_weights": {"torch.nn.init.orthogonal_": _seeded(_orthogonal)},
    "orthogonal_diagonals": {"torch.nn.init.orthogonal_": _seeded(_diagonals)},
    "orthogonal_products": {
        "torch.nn.init.orthogonal_": _orthogonal_products,
        "torch.nn.utils.parametrizations.orthogonal": _parametrized,
    },
    "sparse_weights": {"torch.nn.init.sparse_": _seeded(_sparse)},
    "dropout": {
        "torch.nn.functional.dropout": _dropout(lambda x, rate: F.dropout(x, rate)),
        "torch.nn.Dropout": _dropout(lambda x, rate: nn.Dropout(rate)(x)),
        "torch.nn.functional.dropout (in place)": _dropout(lambda x, rate: F.dropout(x * 1.0, rate, inplace=True)),
    },
    "dropout_of_any_rate": {
        "torch.nn.functional.dropout": _any_rate(lambda x, rate: F.dropout(x, rate)),
        "torch.nn.Dropout": _any_rate(lambda x, rate: nn.Dropout(rate)(x)),
    },
    "dropout_in_evaluation": {
        "torch.nn.functional.dropout": lambda x, rate: F.dropout(x, rate, training=False),
        "torch.nn.Dropout": lambda x, rate: nn.Dropout(rate).eval()(x),
        "torch.nn.Dropout1d": lambda x, rate: nn.Dropout1d(rate).eval()(x),
        "torch.nn.AlphaDropout": lambda x, rate: nn.AlphaDropout(rate).eval()(x),
        "torch.nn.FeatureAlphaDropout": lambda x, rate: nn.FeatureAlphaDropout(rate).eval()(x),
    },
    "dropout_of_nothing": {
        "torch.nn.functional.dropout": _plain(lambda x, rate: F.dropout(x, rate)),
        "torch.nn.Dropout1d": _plain(lambda x, rate: nn.Dropout1d(rate)(x)),
        "torch.nn.AlphaDropout": _plain(lambda x, rate: nn.AlphaDropout(rate)(x)),
        "torch.nn.FeatureAlphaDropout": _plain(lambda x, rate: nn.FeatureAlphaDropout(rate)(x)),
    },
    "dropout_of_all": {
        "torch.nn.functional.dropout": _plain(lambda x, rate: F.dropout(x, rate)),
        "torch.nn.Dropout": _plain(lambda x, rate: nn.Dropout(rate)(x)),
        "torch.nn.Dropout1d": _plain(lambda x, rate: nn.Dropout1d(rate)(x)),
    },
    "spatial_dropout": {
        "torch.nn.functional.dropout1d": _spatial({1: F.dropout1d}),
        "torch.nn.functional.dropout2d": _spatial({2: F.dropout2d}),
        "torch.nn.functional.dropout3d": _spatial({3: F.dropout3d}),
        "torch.nn.Dropout1d": _spatial({1: lambda x, rate: nn.Dropout1d(rate)(x)}),
        "torch.nn.Dropout2d": _spatial({2: lambda x, rate: nn.Dropout2d(rate)(x)}),
        "torch.nn.Dropout3d": _spatial({3: lambda x, rate: nn.Dropout3d(rate)(x)}),
    },
    "alpha_dropout": {
        "torch.nn.functional.alpha_dropout": _alpha(lambda x, rate: F.alpha_dropout(x, rate, training=True)),
        "torch.nn.AlphaDropout": _alpha(lambda x, rate: nn.AlphaDropout(rate)(x)),
        "torch.nn.FeatureAlphaDropout": _alpha(lambda x, rate: nn.FeatureAlphaDropout(rate)(x[:, None, None])),
        "torch.nn.functional.feature_alpha_dropout": _alpha(
            lambda x, rate: F.feature_alpha_dropout(x[:, None, None], rate, training=True)
        ),
    },
    "permutation_of_all": {
        "torch.randperm": _permutation,
        "torch.utils.data.RandomSampler": _sampled,
        "torch.utils.data.random_split": _split,
        "torch.utils.data.SubsetRandomSampler": _subset,
        "torch.utils.data.DistributedSampler": _distributed,
    },
    "epochs_of_loader": {"torch.utils.data.DataLoader": _epochs},
}
