"""The table of batch norms: what each public layer is asked, and what its numbers mean. Pure functions on arrays.

No answer is typed in: each is the candidate that the numbers fit, within what rounding does to the candidate. What is typed in is
what the frameworks' own documentation says (`CLAIMS`), which the answers are held to.
"""

from __future__ import annotations

import fnmatch
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import Answer, Scenario

NAME = "batch_norm"
MODES = ("jit", "compile")
SHARDS = ("even", "uneven")  # values on two devices
_GIVEN = 0.9  # the momentum that layers are given: no framework's default but MXNet's, and far from 1 less itself
_CHANNELS = 3
_LARGE = 1e4
# As of the audit's limits (docs/audit.md): the least that a correct call is allowed, in what rounding does to the definition.
_LIMIT = 16.0
_DRAWS = 16
_UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_OF_PRECISION = {"fp16": "float16", "bf16": "bfloat16"}
# Values that both 16-bit types have, whose mean lies half way between two that they have.
_HALF_WAY = {"fp16": 2048.0, "bf16": 256.0}
_STEP = 1e-5  # of central differences in float64: their error is far below float32's rounding

Function = Callable[..., np.ndarray]
# Of a batch: means and variances by which two devices normalise.
Statistics = Callable[[np.ndarray], tuple[list[np.ndarray], list[np.ndarray]]]


def scenarios() -> list[Scenario]:
    """Return what every layer is asked. All numbers are drawn from one seed."""
    generator = np.random.default_rng(0)

    def drawn(count: int, *, mean: float = 3.0) -> np.ndarray:
        return (generator.standard_normal((count, _CHANNELS)) * 2.0 + mean).astype(np.float32)

    def scenario(name: str, steps: Sequence[str], x: np.ndarray, **more: object) -> Scenario:
        cotangent = np.random.default_rng(1).standard_normal(x.shape).astype(np.float32)
        return Scenario(name, tuple(steps), x, cotangent, **{"momentum": _GIVEN} | more)  # type: ignore[arg-type]

    few, signs = drawn(4), np.array([1.0, -1.0, 1.0, -1.0], np.float32)[:, None]
    mask = np.array([True, True, False, True, False, True, True, False])
    masked = np.where(mask[:, None], drawn(8), 50.0 + drawn(8)).astype(np.float32)
    sizes = np.array([1.0, 2.0**-5, 2.0**-9], np.float32)  # of deviations: variances beside any epsilon, and far above it
    found = [
        scenario("defaults", [asked.BACKWARD], few, momentum=None),
        scenario("epsilon", [asked.BACKWARD], signs * sizes, momentum=None),
        scenario("momentum", [asked.BACKWARD], few),
        scenario("scale", [asked.BACKWARD], few, scale=2.0),
        scenario("forward", [asked.UNSTORED, asked.TRAINING, asked.TRAINING, asked.EVALUATION], few),
        scenario("once", [asked.TRAINING, asked.BACKWARD], few),
        scenario("no gradient", [asked.NO_GRADIENT], few),
        scenario("frozen", [asked.FROZEN], few),
        scenario("one value", [asked.BACKWARD], few[:1]),
        scenario("mask", [asked.BACKWARD], masked, mask=mask),
        scenario("large mean", [asked.BACKWARD], drawn(1024, mean=_LARGE)),
        scenario("even", [asked.BACKWARD], np.concatenate([drawn(4), drawn(4, mean=9.0)]), shards=(4, 4)),
        scenario("uneven", [asked.BACKWARD], np.concatenate([drawn(12), drawn(4, mean=9.0)]), shards=(12, 4)),
    ]
    found += [
        scenario(f"mode {mode}", [asked.TRAINING, asked.BACKWARD, asked.EVALUATION, asked.NO_GRADIENT], few, mode=mode)
        for mode in ("eager", *MODES)
    ]
    for precision, least in _HALF_WAY.items():
        near = np.full((4, _CHANNELS), least, np.float32)
        near[1] += 2.0
        found += [
            scenario(
                f"{precision} {'cast' if is_cast else 'mixed'}", [asked.BACKWARD], near, precision=precision, is_cast=is_cast
            )
            for is_cast in (False, True)
        ]
    return [
        *found,
        scenario("fp16 large", [asked.BACKWARD], np.repeat(signs, _CHANNELS, 1) * np.float32(_LARGE), precision="fp16"),
    ]


class _NoAnswerError(Exception):
    """A layer gave no numbers: what there is to say in their place."""


class Claim(NamedTuple):
    """What a framework's documentation says: of the layers like a pattern, the answer to a question, and where it says so."""

    layers: str
    question: str
    answer: str
    source: str


_TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html"
_KERAS = "https://keras.io/api/layers/normalization_layers/batch_normalization/"
_FUSED = "https://www.tensorflow.org/api_docs/python/tf/compat/v1/nn/fused_batch_norm"
_RAW = "https://www.tensorflow.org/api_docs/python/tf/raw_ops/FusedBatchNormV3"
_FLAX = "https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/normalization.html"
_GLUON = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/nn/index.html"
_ND = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/ndarray/ndarray.html"


def _claims(layers: str, source: str, **answers: str) -> list[Claim]:
    return [Claim(layers, question, answer, source) for question, answer in answers.items()]


CLAIMS: tuple[Claim, ...] = tuple(
    _claims("torch.*", _TORCH, default_momentum="0.1", momentum="0.9", epsilon="1e-05", normalises="biased", running="unbiased",
            scale="used", gradient="right", large_mean="right")
    + _claims("keras.*", _KERAS, default_momentum="0.99", momentum="0.1", epsilon="0.001", moves="at the forward pass",
              frozen="as in evaluation; 0 moves", mask="left out of both statistics", scale="used", gradient="right",
              large_mean="right")
    + _claims("tensorflow.compat.*", _FUSED, default_momentum="1", momentum="0.9", epsilon="0.001", scale="used",
              gradient="right", large_mean="right")
    + _claims("tensorflow.raw_ops.*", _RAW, default_momentum="1", momentum="0.9", epsilon="0.0001", scale="used",
              gradient="right")
    + _claims("flax.*", _FLAX, default_momentum="0.99", epsilon="1e-05", mask="left out of both statistics", scale="used",
              gradient="right")
    # `data_var` is what normalises, and what is added to the running variance.
    + _claims("mxnet.*", _ND, momentum="0.1", default_momentum="0.9", gradient="right", large_mean="right")
    + _claims("mxnet.gluon.*", _GLUON, epsilon="1e-05", scale="used")
    + _claims("mxnet.nd.*", _ND, epsilon="0.001", scale="ignored")
    + _claims("mxnet.*", _ND, running="biased", normalises="biased")
)  # fmt: skip


class Finding(NamedTuple):
    """An answer that differs from what the documentation says, from that of the eager mode, or from the layer's own numbers."""

    layer: str
    question: str
    answer: str
    expected: str
    source: str


def read(given: Sequence[Scenario], answers: Mapping[str, Answer]) -> dict[str, str]:
    """Return a layer's answer to each question, by the question's key in `QUESTIONS`.

    What it raised, what it has no form of, and numbers that no candidate fits are answers too.

    Args:
        given: what it was asked. answers: what it gave, by the scenario's name.
    """
    reading = _Reading({each.name: each for each in given}, answers)
    told = {}
    for key, question in QUESTIONS.items():
        try:
            told[key] = question.read(reading)
        except _NoAnswerError as error:
            told[key] = str(error)
    return told


def findings(answers: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Return what differs from the documentation and between modes, and gradients over devices that are not of what was computed.

    What a layer has no form of, or raises, contradicts nothing: it is told in the table.
    """
    found = []
    for layer, told in answers.items():
        for claim in CLAIMS:
            answer = told[claim.question]
            if fnmatch.fnmatchcase(layer, claim.layers) and answer != claim.answer and not _is_silent(answer):
                found.append(Finding(layer, claim.question, answer, claim.answer, claim.source))
        for mode in MODES:
            if told[mode].startswith(_OTHER):
                found.append(Finding(layer, mode, told[mode], _SAME, "its own eager mode"))
        for shards in SHARDS:
            if told[shards].endswith(_WRONG_GRADIENT):
                right = told[shards].removesuffix(_WRONG_GRADIENT) + _RIGHT_GRADIENT
                found.append(Finding(layer, shards, told[shards], right, "its own forward pass"))
    return found


_RIGHT_GRADIENT, _WRONG_GRADIENT = "gradient right", "gradient wrong"
_SAME, _OTHER, _RAISED, _LACKS = "as eager", "other than eager: ", "raises ", "-"


def _is_silent(answer: str) -> bool:
    return answer.startswith(_RAISED) or answer == _LACKS


def normalised(x: np.ndarray, mean: np.ndarray, variance: np.ndarray, epsilon: float, scale: float = 1.0) -> np.ndarray:
    """Return x [value, channel] less the mean, over the root of the variance and epsilon, times the scale."""
    return (x - mean) / np.sqrt(variance + x.dtype.type(epsilon)) * x.dtype.type(scale)


def _ratio(got: np.ndarray, function: Function, *arguments: np.ndarray, unit: float = _UNITS["float32"]) -> float:
    """Return how far numbers are from what a function gives, at most, in what rounding does to that.

    The rounding is measured: the root mean square of what the function gives otherwise when each argument, and what it gives,
    moves up or down by a unit, with what it gives when it computes in float32.
    """
    generator = np.random.default_rng(0)
    wide = [np.asarray(each, np.float64) for each in arguments]
    right = function(*wide)
    narrow = function(*(np.asarray(each, np.float32) for each in arguments)) - right
    moved = [
        function(*(each * (1 + unit * generator.choice([-1, 1], each.shape)) for each in wide)) - right for _ in range(_DRAWS)
    ]
    floor = np.sqrt(np.mean(np.square(moved), 0)) + np.abs(narrow) + unit * np.abs(right) + np.finfo(np.float32).tiny
    with np.errstate(invalid="ignore"):
        ratio = np.max(np.abs(np.asarray(got, np.float64) - right) / floor)
    return math.inf if math.isnan(ratio) else float(ratio)


def _pulled(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """Return the gradient of sum(cotangent * function(x)) at x, by central differences."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = _STEP
        gradient[place] = np.sum(cotangent * (function(x + moved) - function(x - moved))) / (2 * _STEP)
    return gradient


class _Reading:
    """The numbers of one layer, and what several questions need of them."""

    def __init__(self, given: Mapping[str, Scenario], answers: Mapping[str, Answer]) -> None:
        self.given, self.answers = given, answers

    def of(self, scenario: str, key: str) -> np.ndarray:
        """Return an array of a scenario, by its name there. Raises _NoAnswerError with what the layer said in its place."""
        answer = self.answers[scenario]
        if key in answer.arrays:
            return answer.arrays[key].astype(np.float64)
        raise _NoAnswerError(_LACKS if answer.status in (asked.CANNOT, asked.ABSENT) else f"{_RAISED}{answer.message}")

    def kind(self, scenario: str) -> str:
        """Return the type of what the first step gave."""
        self.of(scenario, "0/output")
        return self.answers[scenario].kinds[0]

    def x(self, scenario: str) -> np.ndarray:
        return self.given[scenario].x.astype(np.float64)

    def weight(self, scenario: str = "momentum") -> float:
        """Return which weight the batch's mean has in the running one, after one step from 0."""
        return float(np.median(self.of(scenario, "0/mean") / self.x(scenario).mean(0)))

    @functools.cached_property
    def fit(self) -> tuple[float, float]:
        """Return by how much the biased variance of 4 values counts, and epsilon: (x / output)^2 = factor * variance + epsilon.

        Raises _NoAnswerError where no two numbers fit.
        """
        x, output = self.x("epsilon"), self.of("epsilon", "0/output")
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.mean(np.square(x / output), 0)
        variances = np.mean(np.square(x), 0)
        factor = (squares[0] - squares[2]) / (variances[0] - variances[2])
        epsilon = squares[2] - factor * variances[2]
        ratio = math.inf
        if np.isfinite(epsilon) and epsilon > 0:
            ratio = _ratio(output, lambda x: normalised(x, x.mean(0), np.asarray(factor, x.dtype) * x.var(0), epsilon), x)
        if not ratio <= _LIMIT:
            raise _NoAnswerError("no epsilon beside a variance gives these outputs")
        return float(factor), float(epsilon)

    @property
    def freedom(self) -> int:
        """Return 1 where the unbiased variance normalises, 0 where the biased one does. Raises _NoAnswerError for neither."""
        factor = self.fit[0]
        for freedom, expected in enumerate((1.0, 4.0 / 3.0)):
            # The factor is the quotient of squares of outputs: each has rounded four times.
            if abs(factor / expected - 1) <= _LIMIT * 4 * _UNITS["float32"]:
                return freedom
        raise _NoAnswerError(f"{factor:.4g} times the biased one")

    def moves(self, scenario: str, place: int) -> float:
        """Return how many moves the running mean is away from 0 after a step: mean * (1 - (1 - weight)^moves)."""
        share = np.median(self.of(scenario, f"{place}/mean") / self.x(scenario).mean(0))
        weight = self.weight()
        if not 0 < weight < 1:
            raise _NoAnswerError(f"weight {weight:.4g}")
        count = math.log1p(-share) / math.log1p(-weight) if share < 1 else math.inf
        nearest = round(count) if math.isfinite(count) else 0
        is_whole = abs(share - (1 - (1 - weight) ** nearest)) <= _LIMIT * _UNITS["float32"]
        return nearest if is_whole else count

    def added(self, scenario: str, *, place: int = 0) -> np.ndarray:
        """Return the variance that one move has added to the running 1, [channel]."""
        weight = self.weight()
        return (self.of(scenario, f"{place}/variance") - (1 - weight)) / weight

    def is_added(self, scenario: str, variance: Function, *arguments: np.ndarray) -> bool:
        """Is that what a running variance of 1 comes to when this variance is added?"""
        weight = self.weight()
        got = self.of(scenario, "0/variance")

        def moved(*arguments: np.ndarray) -> np.ndarray:
            found = variance(*arguments)
            kind = found.dtype.type
            return kind(1 - weight) + kind(weight) * found

        return _ratio(got, moved, *arguments) <= _LIMIT

    def output_of(self, x: np.ndarray) -> np.ndarray:
        """Return what the layer's own variance and epsilon make of x in training."""
        return normalised(x, x.mean(0), x.var(0, ddof=self.freedom), self.fit[1])


def _plain(value: float) -> str:
    """Return a number with the digits that float32 measured of it.

    >>> _plain(0.10000003), _plain(9.9999e-06), _plain(0.98999999)
    ('0.1', '1e-05', '0.99')
    """
    return f"{value:.3g}"


def _momentum(reading: _Reading) -> str:
    return _plain(reading.weight())


def _default_momentum(reading: _Reading) -> str:
    """Return the default, in the layer's own direction: the batch's weight, or 1 less it."""
    is_of_batch = abs(reading.weight() - _GIVEN) < abs(reading.weight() - (1 - _GIVEN))
    weight = reading.weight("defaults")
    return _plain(weight if is_of_batch else 1 - weight)


def _epsilon(reading: _Reading) -> str:
    return _plain(reading.fit[1])


def _normalises(reading: _Reading) -> str:
    return ("biased", "unbiased")[reading.freedom]


def _running(reading: _Reading) -> str:
    for freedom, name in enumerate(("biased", "unbiased")):
        if reading.is_added("momentum", lambda x, freedom=freedom: x.var(0, ddof=freedom), reading.x("momentum")):
            return name
    return f"{np.median(reading.added('momentum') / reading.x('momentum').var(0)):.4g} times the biased one"


def _scale(reading: _Reading) -> str:
    x, output = reading.x("scale"), reading.of("scale", "0/output")
    for scale, text in ((2.0, "used"), (1.0, "ignored")):
        if _ratio(output, lambda x, scale=scale: scale * reading.output_of(x), x) <= _LIMIT:
            return text
    return "neither used nor ignored"


def _gradient(reading: _Reading) -> str:
    scenario = reading.given["momentum"]
    got = reading.of("momentum", "0/gradient")
    return "right" if _is_gradient(got, reading.output_of, scenario.x, scenario.cotangent) else "wrong"


def _is_gradient(got: np.ndarray, function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, cotangent: np.ndarray) -> bool:
    """Is it the gradient of sum(cotangent * function(x))? What float32 rounds is held to its largest element's rounding."""
    generator = np.random.default_rng(0)

    def rounded(array: np.ndarray) -> np.ndarray:
        return array * (1 + _UNITS["float32"] * generator.choice([-1, 1], array.shape))

    arrays = x.astype(np.float64), cotangent.astype(np.float64)
    right = _pulled(function, *arrays)
    moved = [_pulled(function, *map(rounded, arrays)) - right for _ in range(_DRAWS)]
    floor = np.sqrt(np.mean(np.square(moved))) + _UNITS["float32"] * np.max(np.abs(right)) + 1e-9
    return bool(np.max(np.abs(got - right)) <= _LIMIT * floor)


def _moves(reading: _Reading) -> str:
    unstored, stored = reading.moves("forward", 0), reading.moves("forward", 1)
    if unstored:
        return "at the forward pass"
    if stored:
        return "when the caller stores them"
    return "at the backward pass"


def _counted(count: float) -> str:
    return f"{count:.4g} move{'' if count == 1 else 's'}"


def _two_forwards(reading: _Reading) -> str:
    """Return how often two training forwards move, after one that nobody stored."""
    return _counted(reading.moves("forward", 2) - reading.moves("forward", 0))


def _one_backward(reading: _Reading) -> str:
    return _counted(reading.moves("once", 1))


def _evaluation(reading: _Reading) -> str:
    x, output = reading.x("forward"), reading.of("forward", "3/output")
    mean, variance = reading.of("forward", "2/mean"), reading.of("forward", "2/variance")
    epsilon = reading.fit[1]
    has_moved = bool(np.any(mean != 0))
    if _ratio(output, lambda x, mean, variance: normalised(x, mean, variance, epsilon), x, mean, variance) <= _LIMIT:
        return "running ones, moved" if has_moved else "running ones, still 0 and 1"
    return "the batch's" if _ratio(output, reading.output_of, x) <= _LIMIT else "neither running ones nor the batch's"


def _no_gradient(reading: _Reading) -> str:
    return _counted(reading.moves("no gradient", 0))


def _frozen(reading: _Reading) -> str:
    x, output = reading.x("frozen"), reading.of("frozen", "0/output")
    epsilon = reading.fit[1]
    zero, one = np.zeros(_CHANNELS), np.ones(_CHANNELS)
    used = "otherwise"
    if _ratio(output, reading.output_of, x) <= _LIMIT:
        used = "as in training"
    elif _ratio(output, lambda x, mean, variance: normalised(x, mean, variance, epsilon), x, zero, one) <= _LIMIT:
        used = "as in evaluation"
    return f"{used}; {_counted(reading.moves('frozen', 0))}"


def _one_value(reading: _Reading) -> str:
    output = reading.of("one value", "0/output")
    if np.all(output == 0):
        return "zeros"
    return "NaN" if np.all(np.isnan(output)) else f"up to {np.max(np.abs(output)):.3g}"


def _one_variance(reading: _Reading) -> str:
    if "0/output" not in reading.answers["one value"].arrays:  # what it raised is the answer of the line above
        return _LACKS
    variance = reading.of("one value", "0/variance")
    if np.all(variance == 1):
        return "stays"
    if not np.all(np.isfinite(variance)):
        return "NaN" if np.any(np.isnan(variance)) else "infinite"
    return (
        "adds 0"
        if reading.is_added("one value", lambda x: np.zeros_like(x[0]), reading.x("one value"))
        else "adds another number"
    )


def _mask(reading: _Reading) -> str:
    scenario = reading.given["mask"]
    assert scenario.mask is not None
    kept, x = scenario.mask, reading.x("mask")
    output = reading.of("mask", "0/output")
    epsilon, freedom, weight = reading.fit[1], reading.freedom, reading.weight()

    def by(chosen: np.ndarray) -> Function:
        return lambda x: normalised(x, x[chosen].mean(0), x[chosen].var(0, ddof=freedom), epsilon)[kept]

    def running(chosen: np.ndarray) -> bool:
        mean = reading.of("mask", "0/mean")
        is_mean = _ratio(mean, lambda x: x.dtype.type(weight) * x[chosen].mean(0), x) <= _LIMIT
        return is_mean and any(reading.is_added("mask", lambda x, k=k: x[chosen].var(0, ddof=k), x) for k in (0, 1))

    everything = np.ones_like(kept)
    used = [
        name for name, chosen in (("left out", kept), ("counted", everything)) if _ratio(output[kept], by(chosen), x) <= _LIMIT
    ]
    moved = [name for name, chosen in (("left out", kept), ("counted", everything)) if running(chosen)]
    if used == moved == ["left out"]:
        return "left out of both statistics"
    if used == moved == ["counted"]:
        return "ignored"
    return f"{(used or ['otherwise'])[0]} where it normalises, {(moved or ['otherwise'])[0]} in running ones"


def _narrow(name: str, reading: _Reading) -> str:
    """Return the type of the output, and how precise the batch's mean is in the running one."""
    x, mean = reading.x(name), reading.of(name, "0/mean")
    kind, weight = reading.kind(name), reading.weight()
    if not np.all(np.isfinite(mean)):
        return f"gives {kind}; running mean {mean[0]:.3g}"
    is_wide = _ratio(mean, lambda x: x.dtype.type(weight) * x.mean(0), x) <= _LIMIT
    off = np.max(np.abs(mean / (weight * x.mean(0)) - 1))
    return f"gives {kind}; mean in float32" if is_wide else f"gives {kind}; running mean off by {off:.1g}"


def _large_half(reading: _Reading) -> str:
    x, output = reading.x("fp16 large"), reading.of("fp16 large", "0/output")
    unit = _UNITS[reading.kind("fp16 large")]
    is_right = _ratio(output, reading.output_of, x, unit=unit) <= _LIMIT
    variance = reading.of("fp16 large", "0/variance")
    held = any(reading.is_added("fp16 large", lambda x, k=k: x.var(0, ddof=k), x) for k in (0, 1))
    told = "right" if held else f"{variance[0]:.3g}"
    return f"output {'right' if is_right else 'wrong'}, running variance {told}"


def _large_mean(reading: _Reading) -> str:
    """Return whether the variance that normalised is right, or which it was in the channel that is farthest off."""
    x, output = reading.x("large mean"), reading.of("large mean", "0/output")
    if not np.all(np.isfinite(output)):
        return "output is not finite"
    if _ratio(output, reading.output_of, x) <= _LIMIT:
        return "right"
    away = x - x.mean(0)
    spread = np.sum(np.square(away), 0) / np.sum(away * (output - output.mean(0)), 0)
    used, right = np.square(spread) - reading.fit[1], x.var(0)
    worst = int(np.argmax(np.abs(used / right - 1)))
    return f"{max(used[worst], 0.0):.3g} in place of {right[worst]:.3g}"


def _mode(mode: str, reading: _Reading) -> str:
    """Return whether a mode gives what eager does, within what rounding does to a normalised output; else what is otherwise."""
    names = ("output", "gradient", "mean", "variance")
    other = []
    for place, step in enumerate(reading.given["mode eager"].steps):
        for name in names:
            key = f"{place}/{name}"
            if name == "gradient" and step != asked.BACKWARD:
                continue
            eager, got = reading.of("mode eager", key), reading.of(f"mode {mode}", key)
            size = max(np.max(np.abs(eager)), np.max(np.abs(reading.of("mode eager", "0/output"))))
            if not np.max(np.abs(eager - got)) <= _LIMIT * size * _rounding(reading):
                other.append(f"{name} of {step}")
    return f"{_OTHER}{', '.join(other)}" if other else _SAME


def _rounding(reading: _Reading) -> float:
    """Return what rounding does to a normalised output of the modes' batch, as a share of it."""
    x = reading.x("mode eager")
    right = reading.output_of(x)
    narrow = reading.output_of(x.astype(np.float32))
    return float(np.max(np.abs(narrow - right)) / np.max(np.abs(right))) + _UNITS["float32"]


def _shards(name: str, reading: _Reading) -> str:
    """Return whose statistics two devices normalise by, whose are kept, and whether the gradient is that of what they compute."""
    scenario = reading.given[name]
    cut, x = scenario.shards[0], reading.x(name)
    epsilon, weight = reading.fit[1], reading.weight()
    got = {key: [reading.of(name, f"{place}/{key}") for place in (0, 1)] for key in ("output", "gradient", "mean", "variance")}
    wholes: dict[str, Statistics] = {
        f"{text} ({kind})" if freedom else text: functools.partial(function, cut=cut, freedom=freedom)
        for text, function in (("own shard", _own), ("whole batch", _whole), ("plain mean of shards", _mean_of_shards))
        for freedom, kind in ((0, ""), (1, "unbiased"))
    }

    def output(statistics: Statistics) -> Function:
        def made(x: np.ndarray) -> np.ndarray:
            (first, second), (of_first, of_second) = statistics(x)
            return np.concatenate(
                [normalised(x[:cut], first, of_first, epsilon), normalised(x[cut:], second, of_second, epsilon)]
            )

        return made

    def kept(statistics: Statistics, place: int) -> bool:
        def moved(x: np.ndarray) -> np.ndarray:
            means, variances = statistics(x)
            kind = x.dtype.type
            return np.concatenate([kind(weight) * means[place], kind(1 - weight) + kind(weight) * variances[place]])

        return _ratio(np.concatenate([got["mean"][place], got["variance"][place]]), moved, x) <= _LIMIT

    whole = np.concatenate(got["output"])
    used = next((text for text, statistics in wholes.items() if _ratio(whole, output(statistics), x) <= _LIMIT), None)
    held = [next((text for text, statistics in wholes.items() if kept(statistics, place)), None) for place in (0, 1)]
    averaged = _is_average(got, wholes["own shard"], wholes["own shard (unbiased)"], x, weight)
    told = held[0] if held[0] == held[1] and held[0] else "mean of the devices'" if averaged else "others"
    if used is None:
        return f"others normalise; {told} kept"
    is_right = _is_gradient(np.concatenate(got["gradient"]), output(wholes[used]), scenario.x, scenario.cotangent)
    return f"{used} normalises; {told} kept; {_RIGHT_GRADIENT if is_right else _WRONG_GRADIENT}"


def _own(x: np.ndarray, cut: int, freedom: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    parts = (x[:cut], x[cut:])
    return [part.mean(0) for part in parts], [part.var(0, ddof=freedom) for part in parts]


def _whole(x: np.ndarray, cut: int, freedom: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [x.mean(0)] * 2, [x.var(0, ddof=freedom)] * 2


def _mean_of_shards(x: np.ndarray, cut: int, freedom: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return what comes of the plain means of both shards' means and mean squares: the whole batch's where they are even."""
    mean = (x[:cut].mean(0) + x[cut:].mean(0)) / 2
    square = (np.square(x[:cut]).mean(0) + np.square(x[cut:]).mean(0)) / 2
    return [mean] * 2, [(square - np.square(mean)) * len(x) / (len(x) - freedom)] * 2


def _is_average(
    got: Mapping[str, Sequence[np.ndarray]], biased: Statistics, unbiased: Statistics, x: np.ndarray, weight: float
) -> bool:
    """Do both devices keep the plain mean of what each would keep by itself?"""

    def moved(x: np.ndarray, statistics: Statistics) -> np.ndarray:
        means, variances = statistics(x)
        kind = x.dtype.type
        return np.concatenate([kind(weight) * sum(means) / 2, kind(1 - weight) + kind(weight) * sum(variances) / 2])

    return any(
        all(
            _ratio(np.concatenate([got["mean"][place], got["variance"][place]]), lambda x, s=s: moved(x, s), x) <= _LIMIT
            for place in (0, 1)
        )
        for s in (biased, unbiased)
    )


class Question(NamedTuple):
    """One line of the table. text: as it stands there."""

    text: str
    read: Callable[[_Reading], str]


QUESTIONS: dict[str, Question] = {
    "default_momentum": Question("default momentum", _default_momentum),
    "momentum": Question("weight of the batch at momentum 0.9", _momentum),
    "epsilon": Question("default epsilon", _epsilon),
    "normalises": Question("variance that normalises", _normalises),
    "running": Question("variance in the running one", _running),
    "scale": Question("a scale of 2 is", _scale),
    "gradient": Question("gradient of the input", _gradient),
    "moves": Question("statistics move", _moves),
    "two_forwards": Question("two training forwards, no backward", _two_forwards),
    "evaluation": Question("evaluation after them uses", _evaluation),
    "one_backward": Question("two forwards, one backward", _one_backward),
    "no_gradient": Question("training forward without gradients", _no_gradient),
    "frozen": Question("frozen, called in training", _frozen),
    "one_value": Question("one value a channel gives", _one_value),
    "one_variance": Question("running variance after it", _one_variance),
    "mask": Question("values that a mask leaves out are", _mask),
    "fp16": Question("fp16 beside float32", functools.partial(_narrow, "fp16 mixed")),
    "bf16": Question("bf16 beside float32", functools.partial(_narrow, "bf16 mixed")),
    "fp16_cast": Question("layer cast to fp16", functools.partial(_narrow, "fp16 cast")),
    "bf16_cast": Question("layer cast to bf16", functools.partial(_narrow, "bf16 cast")),
    "fp16_large": Question("values of 10,000 in fp16", _large_half),
    "large_mean": Question("variance at a mean of 10,000", _large_mean),
    "jit": Question("mode jit", functools.partial(_mode, "jit")),
    "compile": Question("mode compile", functools.partial(_mode, "compile")),
    "even": Question("two devices, 4 and 4 values", functools.partial(_shards, "even")),
    "uneven": Question("two devices, 12 and 4 values", functools.partial(_shards, "uneven")),
}
