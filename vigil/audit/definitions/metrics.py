"""Metrics over two batches, whose states add up, with weights of samples.

Each argument has both batches: the first axis. What is right is the metric of them together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, drawn, integers, normal, positive, uniform
from vigil.audit.entry import operator

KERAS = "https://keras.io/api/metrics/"
SCIKIT = "https://scikit-learn.org/stable/modules/model_evaluation.html"
_SIZES = tuple({"m": rows, "n": size} for rows, size in ((4, 3), (1, 2), (33, 7), (1027, 3), (65, 33)))
_FLAT = tuple({"m": rows} for rows in (6, 3, 33, 1027, 4099))
FLOATS = ("fp32",)  # a state is float32
_WEIGHTS = uniform(0.2, 2.0, 2, "m").fixed()


def _mean(values: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.sum(values * w) / np.sum(w)


def _probabilities(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return rows of which each has its numbers apart from each other, and a sum of one."""
    count = shape[-1]
    rows = np.stack([random.permutation(count) for _ in range(math.prod(shape[:-1]))]).reshape(shape) + 1.0
    found = rows + random.uniform(0.0, 0.4, shape)
    return found / found.sum(-1, keepdims=True)


def _apart(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return numbers between 0 and 1 that keep away from thresholds at twentieths, and from each other."""
    return (random.integers(0, 20, shape) + random.uniform(0.2, 0.8, shape)) / 20.0


_CHANCES = drawn(_probabilities, 2, "m", "n", is_differentiated=False)
_SCORES = drawn(_apart, 2, "m", is_differentiated=False)
_PLANES = drawn(_apart, 2, "m", "n", is_differentiated=False)


def _truths(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return zeros and ones as numbers, of which both are there in each batch. Definitions take them as greater than a half."""
    found = random.integers(0, 2, shape).astype(np.float64)
    found[:, 0], found[:, -1] = 0.0, 1.0
    return found


_TRUTHS = drawn(_truths, 2, "m", is_differentiated=False)
_TRUE_PLANES = drawn(
    lambda random, shape, sizes: random.integers(0, 2, shape).astype(np.float64), 2, "m", "n", is_differentiated=False
)
_LABELS = integers(0, "n", 2, "m")


def _average(name: str, function: Any, y: Argument, x: Argument, *parameters: dict[str, Any]) -> None:
    """Enter the weighted mean over rows of a function of the last axis."""
    names = tuple(parameters[0]) if parameters else ()
    if not names:

        def definition(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
            return _mean(function(y, x), w)

    elif names == ("p",):

        def definition(y: np.ndarray, x: np.ndarray, w: np.ndarray, p: Any) -> np.ndarray:
            return _mean(function(y, x, p), w)

    definition.__name__ = name
    operator(y=y, x=x, w=_WEIGHTS, source=KERAS, sizes=_SIZES, parameters=parameters or ({},), precisions=FLOATS)(definition)


_Y, _X = normal(2, "m", "n").fixed(), normal(2, "m", "n").fixed()
_POSITIVE = positive(2, "m", "n").fixed()
_SIGNS = drawn(lambda random, shape, sizes: random.choice((-1.0, 1.0), shape), 2, "m", "n", is_differentiated=False)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.sum(x**2, -1, keepdims=True))


_average("mean_squared_error_metric", lambda y, x: np.mean((y - x) ** 2, -1), _Y, _X)
_average("mean_absolute_error_metric", lambda y, x: np.mean(np.abs(y - x), -1), _Y, _X)
_average("percentage_error_metric", lambda y, x: 100.0 * np.mean(np.abs((y - x) / y), -1), _POSITIVE, _POSITIVE)
_average("logarithmic_error_metric", lambda y, x: np.mean((np.log1p(y) - np.log1p(x)) ** 2, -1), _POSITIVE, _POSITIVE)
_average("logcosh_metric", lambda y, x: np.mean(np.log(np.cosh(x - y)), -1), _Y, _X)
_average("cosine_metric", lambda y, x: np.sum(_unit(y) * _unit(x), -1), _Y, _X)
_average("hinge_metric", lambda y, x: np.mean(np.maximum(0.0, 1.0 - y * x), -1), _SIGNS, _X)
_average("squared_hinge_metric", lambda y, x: np.mean(np.maximum(0.0, 1.0 - y * x) ** 2, -1), _SIGNS, _X)
_average("poisson_metric", lambda y, x: np.mean(x - y * np.log(x + 1e-7), -1), _POSITIVE, _POSITIVE)
_average("divergence_metric", lambda y, x: np.sum(y * np.log(y / x), -1), _CHANCES, _CHANCES)
_average(
    "binary_entropy_metric",
    lambda y, x, p: np.mean(-(y * (1 - p) + p / 2) * np.log(x + 1e-7) - (1 - y * (1 - p) - p / 2) * np.log(1.0 - x + 1e-7), -1),
    _TRUE_PLANES,
    uniform(0.05, 0.95, 2, "m", "n").fixed(),
    {"p": 0.0},
    {"p": 0.2},
)
_average(
    "binary_accuracy_metric", lambda y, x, p: np.mean((y > 0.5) == (x > p), -1), _TRUE_PLANES, _PLANES, {"p": 0.5}, {"p": 0.25}
)


def _one_hot(labels: np.ndarray, count: int) -> np.ndarray:
    return np.eye(count)[labels]


def _labelled(name: str, function: Any, *parameters: dict[str, Any]) -> None:
    """Enter the weighted mean over rows of a function of labels and of chances for each class."""
    if parameters:

        def definition(labels: np.ndarray, x: np.ndarray, w: np.ndarray, p: Any) -> np.ndarray:
            return _mean(function(labels, x, p), w)

    else:

        def definition(labels: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
            return _mean(function(labels, x), w)

    definition.__name__ = name
    operator(
        labels=_LABELS, x=_CHANCES, w=_WEIGHTS, source=KERAS, sizes=_SIZES, parameters=parameters or ({},), precisions=FLOATS
    )(definition)


def _of(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.take_along_axis(x, labels[..., None], -1)[..., 0]


_labelled("accuracy_metric", lambda labels, x: np.argmax(x, -1) == labels)
_labelled("top_metric", lambda labels, x, p: np.sum(x > _of(x, labels)[..., None], -1) < p, {"p": 1}, {"p": 2}, {"p": 3})
_labelled("entropy_metric", lambda labels, x: -np.log(_of(x, labels)))


@operator(labels=_LABELS, x=_CHANCES, w=_WEIGHTS, source=KERAS, sizes=_SIZES, precisions=FLOATS)
def categorical_hinge_metric(labels: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the mean of max(0, 1 + the largest of the others - that of the label)."""
    others = np.where(_one_hot(labels, x.shape[-1]) > 0, 0.0, x).max(-1)
    return _mean(np.maximum(0.0, 1.0 + others - _of(x, labels)), w)


@operator(y=_Y, x=_X, w=_WEIGHTS, source=KERAS, sizes=_SIZES, precisions=FLOATS)
def root_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the root of the mean of squares."""
    return np.sqrt(_mean(np.mean((y - x) ** 2, -1), w))


@operator(x=normal(2, "m").fixed(), w=_WEIGHTS, source=KERAS, sizes=_FLAT, precisions=FLOATS)
def mean_metric(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the weighted mean."""
    return _mean(x, w)


@operator(x=normal(2, "m").fixed(), w=_WEIGHTS, source=KERAS, sizes=_FLAT, precisions=FLOATS)
def sum_metric(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the weighted sum."""
    return np.sum(x * w)


@operator(
    x=normal("m", mean=3.0).fixed(), source="https://doi.org/10.1080/00401706.1962.10490022", sizes=_FLAT, precisions=FLOATS
)
def welford_metric(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, the standard deviation of all of them, and the standard error of the mean."""
    deviation = np.std(x)
    return np.mean(x), deviation, deviation / math.sqrt(len(x))


@operator(
    y=_TRUTHS,
    x=_SCORES,
    w=_WEIGHTS,
    source=KERAS,
    sizes=_FLAT,
    precisions=FLOATS,
    parameters=[
        {"threshold": 0.5},
        {"threshold": 0.25},
        {"threshold": 0.8},
    ],
)
def confusion_counts(y: np.ndarray, x: np.ndarray, w: np.ndarray, threshold: float) -> tuple[np.ndarray, ...]:
    """Return the weights of true positives, false positives, true negatives and false negatives, then precision and recall."""
    found, true = x > threshold, y > 0.5
    each = [np.sum(w * both) for both in (found & true, found & ~true, ~found & ~true, ~found & true)]
    precision = each[0] / (each[0] + each[1]) if each[0] + each[1] > 0 else np.zeros(())
    return (*each, precision, each[0] / (each[0] + each[3]))


def _curve(y: np.ndarray, x: np.ndarray, w: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the weights of true positives, false positives, true negatives and false negatives at thresholds, the last axis."""
    found, true = x.reshape(-1, 1) > thresholds, y.reshape(-1, 1) > 0.5
    weights = w.reshape(-1, 1)
    return tuple(np.sum(weights * both, 0) for both in (found & true, found & ~true, ~found & ~true, ~found & true))


def _evenly(count: int) -> np.ndarray:
    return np.array([-1e-7, *[(place + 1) / (count - 1) for place in range(count - 2)], 1.0 + 1e-7])


@operator(
    y=_TRUTHS,
    x=_SCORES,
    w=_WEIGHTS,
    source="https://keras.io/api/metrics/classification_metrics/#auc-class",
    sizes=_FLAT,
    precisions=FLOATS,
    parameters=[
        {"count": count, "curve": curve, "rule": rule}
        for count in (21, 6)
        for curve, rule in (("ROC", "interpolation"), ("ROC", "minoring"), ("ROC", "majoring"), ("PR", "minoring"))
    ],
)
def area_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray, count: int, curve: str, rule: str) -> np.ndarray:
    """Return the area under a curve that is known at evenly spaced thresholds, by the mean, lesser or greater of two heights."""
    hit, wrong, right, missed = _curve(y, x, w, _evenly(count))
    recall = hit / (hit + missed)
    with np.errstate(invalid="ignore", divide="ignore"):
        height = recall if curve == "ROC" else np.nan_to_num(hit / (hit + wrong))
    along = wrong / (wrong + right) if curve == "ROC" else recall
    pairs = {"interpolation": lambda a, b: (a + b) / 2, "minoring": np.minimum, "majoring": np.maximum}
    return np.sum((along[:-1] - along[1:]) * pairs[rule](height[:-1], height[1:]))


@operator(
    y=_TRUTHS,
    x=_SCORES,
    w=_WEIGHTS,
    source="https://doi.org/10.1145/1143844.1143874",
    sizes=_FLAT,
    precisions=FLOATS,
    parameters=[{"count": 21}, {"count": 6}],
)
def precision_recall_area(y: np.ndarray, x: np.ndarray, w: np.ndarray, count: int) -> np.ndarray:
    """Return the area under precision over recall, true and false positives changing together between thresholds (section 3)."""
    hit, wrong, _, missed = _curve(y, x, w, _evenly(count))
    total = 0.0
    for place in range(count - 1):
        gained = hit[place] - hit[place + 1]
        found, beyond = hit[place] + wrong[place], hit[place + 1] + wrong[place + 1]
        if gained <= 0 or found <= beyond:
            continue
        slope = gained / (found - beyond)
        shift = hit[place + 1] - slope * beyond
        # The integral of (shift + slope p) / p d(true positives), p positives in all.
        step = slope * (gained + (shift * math.log(found / beyond) if beyond > 0 else 0.0))
        total += step / (hit[place + 1] + missed[place + 1])
    return np.asarray(total)


@operator(
    y=_TRUTHS,
    x=_SCORES,
    w=_WEIGHTS,
    source=KERAS,
    sizes=_FLAT,
    precisions=FLOATS,
    parameters=[{"at": at, "count": count} for at in (0.3, 0.6, 0.9) for count in (21, 6)],
    rounded_as=1.0,
)
def best_at_another(y: np.ndarray, x: np.ndarray, w: np.ndarray, at: float, count: int) -> tuple[np.ndarray, ...]:
    """Return the best over thresholds: sensitivity at a specificity and the reverse, precision at a recall and the reverse.

    Thresholds are evenly spaced, and where none does, it is 0.
    """
    hit, wrong, right, missed = _curve(y, x, w, _evenly(count))
    recall, specificity = hit / (hit + missed), right / (right + wrong)
    precision = np.divide(hit, hit + wrong, out=np.zeros_like(hit), where=hit + wrong > 0)

    def best(of: np.ndarray, where: np.ndarray) -> np.ndarray:
        return np.asarray(np.max(np.where(where >= at, of, 0.0)))

    return best(recall, specificity), best(specificity, recall), best(precision, recall), best(recall, precision)


@operator(
    y=_TRUE_PLANES,
    x=_PLANES,
    w=_WEIGHTS,
    source=SCIKIT,
    sizes=_SIZES[:1] + _SIZES[2:],
    precisions=FLOATS,
    parameters=[
        {"beta": beta, "average": average, "threshold": threshold}
        for beta, threshold in ((1.0, 0.5), (2.0, 0.25), (0.5, 0.5))
        for average in (None, "micro", "macro", "weighted")
    ],
)
def f_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray, beta: float, average: str | None, threshold: float) -> np.ndarray:
    """Return (1 + beta^2) precision recall / (beta^2 precision + recall), by class or averaged."""
    count = y.shape[-1]
    y, found, w = y.reshape(-1, count), (x > threshold).reshape(-1, count), w.reshape(-1, 1)
    hit, wrong, missed = (np.sum(w * each, 0) for each in (y * found, (1 - y) * found, y * ~found))
    if average == "micro":
        hit, wrong, missed = hit.sum(), wrong.sum(), missed.sum()
    scores = (1 + beta**2) * hit / np.maximum((1 + beta**2) * hit + beta**2 * missed + wrong, 1e-30)
    if average == "macro":
        return np.mean(scores)
    return np.sum(scores * (hit + missed)) / np.sum(hit + missed) if average == "weighted" else scores


def _confusion(labels: np.ndarray, found: np.ndarray, w: np.ndarray, count: int) -> np.ndarray:
    matrix = np.zeros((count, count))
    np.add.at(matrix, (labels.ravel(), found.ravel()), w.ravel())
    return matrix


_PREDICTED = integers(0, "n", 2, "m")


@operator(
    labels=_LABELS,
    found=_PREDICTED,
    w=_WEIGHTS,
    source="https://www.tensorflow.org/api_docs/python/tf/math/confusion_matrix",
    sizes=_SIZES,
    precisions=FLOATS,
)
def confusion_matrix(labels: np.ndarray, found: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the weights of label [row] and of what was found [column]; there are nine classes more than are met."""
    return _confusion(labels, found, w, 40)


def _overlaps(matrix: np.ndarray) -> np.ndarray:
    union = matrix.sum(0) + matrix.sum(1) - np.diag(matrix)
    return np.divide(np.diag(matrix), union, out=np.full(len(matrix), np.nan), where=union > 0)


@operator(
    labels=_LABELS,
    found=_PREDICTED,
    w=_WEIGHTS,
    source="https://keras.io/api/metrics/segmentation_metrics/",
    sizes=_SIZES,
    precisions=FLOATS,
    parameters=[{"targets": None, "ignored": None}, {"targets": [0, 1], "ignored": None}, {"targets": None, "ignored": 1}],
)
def overlap_metric(
    labels: np.ndarray, found: np.ndarray, w: np.ndarray, targets: list[int] | None, ignored: int | None
) -> np.ndarray:
    """Return the mean over classes that are met of intersection over union, of all or some, without what is labelled ignored."""
    if ignored is not None:
        w = np.where(labels == ignored, 0.0, w)
    each = _overlaps(_confusion(labels, found, w, 40))
    each = each if targets is None else each[targets]
    return np.asarray(np.nanmean(each) if np.isfinite(each).any() else 0.0)


@operator(
    y=_TRUTHS,
    x=_SCORES,
    w=_WEIGHTS,
    source="https://keras.io/api/metrics/segmentation_metrics/",
    sizes=_FLAT,
    precisions=FLOATS,
    parameters=[{"targets": [0, 1], "threshold": 0.5}, {"targets": [1], "threshold": 0.25}],
)
def binary_overlap_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray, targets: list[int], threshold: float) -> np.ndarray:
    """Return the mean of intersection over union of truths and of scores that reach a threshold."""
    return np.asarray(np.nanmean(_overlaps(_confusion((y > 0.5).astype(int), (x >= threshold).astype(int), w, 2))[targets]))


@operator(
    labels=_LABELS,
    x=_CHANCES,
    w=_WEIGHTS,
    source="https://keras.io/api/metrics/segmentation_metrics/",
    sizes=_SIZES,
    precisions=FLOATS,
)
def chance_overlap_metric(labels: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the mean over classes that are met of intersection over union, where the likeliest class is what is found."""
    return np.asarray(np.nanmean(_overlaps(_confusion(labels, np.argmax(x, -1), w, x.shape[-1]))))


@operator(
    y=_Y,
    x=_X,
    w=_WEIGHTS,
    source="https://en.wikipedia.org/wiki/Coefficient_of_determination",
    sizes=_SIZES,
    precisions=FLOATS,
    parameters=[
        {"aggregation": "uniform_average", "regressors": 0},
        {"aggregation": None, "regressors": 0},
        {"aggregation": "variance_weighted_average", "regressors": 0},
        {"aggregation": "uniform_average", "regressors": 1},
    ],
)
def r2_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray, aggregation: str | None, regressors: int) -> np.ndarray:
    """Return the share of variance that is explained, by column or averaged, adjusted for a count of regressors."""
    count = y.shape[-1]
    y, x, w = y.reshape(-1, count), x.reshape(-1, count), w.reshape(-1, 1)
    spread = np.sum(w * (y - np.sum(w * y, 0) / np.sum(w)) ** 2, 0)
    scores = 1.0 - np.sum(w * (y - x) ** 2, 0) / spread
    if aggregation == "variance_weighted_average":
        return np.sum(scores * spread) / np.sum(spread)
    if aggregation is None:
        return scores
    score = np.mean(scores)
    samples = len(y)
    return 1.0 - (1.0 - score) * (samples - 1) / (samples - regressors - 1) if regressors else score


_LONG = tuple({"m": rows, "n": size} for rows, size in ((4, 5), (2, 33), (3, 1027)))


@operator(
    y=_Y, x=_X, w=_WEIGHTS, source="https://en.wikipedia.org/wiki/Pearson_correlation_coefficient", sizes=_LONG, precisions=FLOATS
)
def pearson_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the mean over rows of the correlation along the last axis."""
    y, x = y - y.mean(-1, keepdims=True), x - x.mean(-1, keepdims=True)
    return _mean(np.sum(_unit(y) * _unit(x), -1), w)


@operator(
    y=_Y,
    x=_X,
    w=_WEIGHTS,
    source="https://en.wikipedia.org/wiki/Concordance_correlation_coefficient",
    sizes=_LONG,
    precisions=FLOATS,
)
def concordance_metric(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the mean over rows of 2 cov(y, x) / (var(y) + var(x) + (mean(y) - mean(x))^2)."""
    shared = np.mean((y - y.mean(-1, keepdims=True)) * (x - x.mean(-1, keepdims=True)), -1)
    return _mean(2.0 * shared / (y.var(-1) + x.var(-1) + (y.mean(-1) - x.mean(-1)) ** 2), w)


@operator(
    labels=integers(0, "n", "m"),
    x=drawn(_probabilities, "m", "n", is_differentiated=False),
    sizes=_SIZES,
    precisions=FLOATS,
    source="https://www.tensorflow.org/api_docs/python/tf/math/in_top_k",
    parameters=[{"k": 1}, {"k": 2}],
)
def in_top_k(labels: np.ndarray, x: np.ndarray, k: int) -> np.ndarray:
    """Return whether a label's number is one of the k largest of its row."""
    return np.sum(x > _of(x, labels)[..., None], -1) < k
