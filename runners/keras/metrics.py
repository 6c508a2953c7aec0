"""Keras: metrics over two batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported

metrics = keras.metrics


def _result(metric: Any, batches: list[tuple[Any, ...]], *, weights: Any = None) -> Any:
    """Return a metric of batches, its state handed from one to the next."""
    state = [each.value for each in metric.variables]
    for place, batch in enumerate(batches):
        more = {} if weights is None else {"sample_weight": weights[place]}
        state = metric.stateless_update_state(state, *batch, **more)
    return metric.stateless_result(state)


def _over(make: Callable[..., Any], y: Any, x: Any, w: Any) -> Any:
    metric = make()
    # Variables of an R2 score are there from the first batch on.
    if hasattr(metric, "_build") and not metric.variables:
        metric._build(y[0].shape, x[0].shape)
    return _result(metric, [(y[0], x[0]), (y[1], x[1])], weights=w)


def _metric(name: str, **more: Any) -> Callable[..., Any]:
    return lambda y, x, w: _over(lambda: getattr(metrics, name)(**more), y, x, w)


def _with(name: str, **names: str) -> Callable[..., Any]:
    """Return a call of a metric whose parameter has a name of the entry's."""

    def call(w: Any, x: Any, y: Any = None, labels: Any = None, **parameters: Any) -> Any:
        options = {own: parameters[theirs] for own, theirs in names.items()}
        return _over(lambda: getattr(metrics, name)(**options), labels if y is None else y, x, w)

    return call


def _again(name: str) -> Callable[..., Any]:
    """Return a call of a metric that has been used, and reset: with updates and results of its own state."""

    def call(y: Any, x: Any, w: Any) -> Any:
        metric = getattr(metrics, name)()
        metric.update_state(y[0] * 0.5, x[1], sample_weight=w[1])
        metric.reset_state()
        for place in range(2):
            metric.update_state(y[place], x[place], sample_weight=w[place])
        return metric.result()

    return call


def _mean_of(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """Return a call of a metric's function, averaged here."""

    def call(w: Any, x: Any, y: Any = None, labels: Any = None, **parameters: Any) -> Any:
        options = {own: parameters[theirs] for own, theirs in names.items()}
        truth = labels if y is None else y
        rows = x.shape[0] * x.shape[1]
        values = function(ops.reshape(truth, (rows, *truth.shape[2:])), ops.reshape(x, (rows, *x.shape[2:])), **options)
        values = ops.cast(values, "float32")
        # That of binary accuracy has a value for each element.
        values = ops.mean(values, -1) if len(values.shape) > 1 else values
        return ops.sum(values * ops.reshape(w, (rows,))) / ops.sum(w)

    return call


def _hot(labels: Any, x: Any) -> Any:
    return ops.one_hot(labels, x.shape[-1], dtype="float32")


def _categorical(name: str, **names: str) -> Callable[..., Any]:
    of = _with(name, **names)
    return lambda labels, x, w, **parameters: of(y=_hot(labels, x), x=x, w=w, **parameters)


def _of_hot(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    of = _mean_of(function, **names)
    return lambda labels, x, w, **parameters: of(y=_hot(labels, x), x=x, w=w, **parameters)


def _wrapped(y: Any, x: Any, w: Any) -> Any:
    return _over(lambda: metrics.MeanMetricWrapper(keras.losses.mean_squared_error), y, x, w)


def _sums(kind: str) -> Callable[..., Any]:
    return lambda x, w: _result(getattr(metrics, kind)(), [(x[0],), (x[1],)], weights=w)


def _counts(y: Any, x: Any, w: Any, threshold: float) -> Any:
    names = ("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives", "Precision", "Recall")
    return tuple(_over(lambda name=name: getattr(metrics, name)(thresholds=threshold), y, x, w) for name in names)  # type: ignore[misc]


def _several(y: Any, x: Any, w: Any, threshold: float) -> Any:
    """Return the counts that a metric of three thresholds has for the second."""
    names = ("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives", "Precision", "Recall")
    thresholds = [threshold / 2, threshold, (1 + threshold) / 2]
    return tuple(_over(lambda name=name: getattr(metrics, name)(thresholds=thresholds), y, x, w)[1] for name in names)  # type: ignore[misc]


def _area(y: Any, x: Any, w: Any, count: int, curve: str, rule: str) -> Any:
    return _over(lambda: metrics.AUC(count, curve, rule), y, x, w)


def _area_of_thresholds(y: Any, x: Any, w: Any, count: int, curve: str, rule: str) -> Any:
    inner = [(place + 1) / (count - 1) for place in range(count - 2)]
    return _over(lambda: metrics.AUC(curve=curve, summation_method=rule, thresholds=inner), y, x, w)


def _area_of_logits(y: Any, x: Any, w: Any, count: int, curve: str, rule: str) -> Any:
    return _over(lambda: metrics.AUC(count, curve, rule, from_logits=True), y, ops.log(x / (1.0 - x)), w)


def _area_of_columns(y: Any, x: Any, w: Any, count: int, curve: str, rule: str) -> Any:
    """Return the area of two equal columns, each of which has a curve of its own."""
    twice = [ops.stack([each, each], -1) for each in (y, x)]
    metric = metrics.AUC(count, curve, rule, multi_label=True, num_labels=2)
    return _result(metric, [(twice[0][place], twice[1][place]) for place in range(2)], weights=w)


def _best(y: Any, x: Any, w: Any, at: float, count: int) -> Any:
    names = ("SensitivityAtSpecificity", "SpecificityAtSensitivity", "PrecisionAtRecall", "RecallAtPrecision")
    return tuple(_over(lambda name=name: getattr(metrics, name)(at, num_thresholds=count), y, x, w) for name in names)  # type: ignore[misc]


def _f(y: Any, x: Any, w: Any, beta: float, average: str | None, threshold: float) -> Any:
    return _over(lambda: metrics.FBetaScore(average, beta, threshold), y, x, w)


def _f1(y: Any, x: Any, w: Any, beta: float, average: str | None, threshold: float) -> Any:
    if beta != 1.0:
        raise Unsupported(f"beta {beta}: an F1 score has none. Allowed: 1.0.")
    return _over(lambda: metrics.F1Score(average, threshold), y, x, w)


# Their states are whole numbers, and weights lose their fractions, unless the type is said.
_WHOLE: dict[str, Any] = {}
_FLOAT: dict[str, Any] = {"dtype": "float32"}


def _overlap(more: dict[str, Any]) -> Callable[..., Any]:
    def call(labels: Any, found: Any, w: Any, targets: list[int] | None, ignored: int | None) -> Any:
        chosen = targets if targets else list(range(40))
        return _over(lambda: metrics.IoU(40, chosen, ignore_class=ignored, **more), labels, found, w)

    return call


def _mean_overlap(more: dict[str, Any]) -> Callable[..., Any]:
    def call(labels: Any, found: Any, w: Any, targets: list[int] | None, ignored: int | None) -> Any:
        if targets is not None:
            raise Unsupported("targets: a mean is over all classes. Allowed: None.")
        return _over(lambda: metrics.MeanIoU(40, ignore_class=ignored, **more), labels, found, w)

    return call


def _hot_overlap(kind: str) -> Callable[..., Any]:
    def call(labels: Any, x: Any, w: Any) -> Any:
        count = x.shape[-1]
        more = {"target_class_ids": list(range(count))} if kind == "OneHotIoU" else {}
        return _over(lambda: getattr(metrics, kind)(num_classes=count, dtype="float32", **more), _hot(labels, x), x, w)

    return call


def _sparse_overlap(labels: Any, x: Any, w: Any) -> Any:
    return _over(lambda: metrics.MeanIoU(x.shape[-1], sparse_y_pred=False, dtype="float32"), labels, x, w)


def _binary_overlap(y: Any, x: Any, w: Any, targets: list[int], threshold: float) -> Any:
    return _over(lambda: metrics.BinaryIoU(targets, threshold, dtype="float32"), y, x, w)


def _r2(y: Any, x: Any, w: Any, aggregation: str | None, regressors: int) -> Any:
    return _over(lambda: metrics.R2Score(aggregation, regressors), y, x, w)


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "mean_squared_error_metric": {
        "keras.metrics.MeanSquaredError": _metric("MeanSquaredError"),
        "keras.metrics.MeanSquaredError (used before)": _again("MeanSquaredError"),
        "keras.metrics.MeanMetricWrapper": _wrapped,
        "keras.metrics.mean_squared_error": _mean_of(metrics.mean_squared_error),
    },
    "mean_absolute_error_metric": {
        "keras.metrics.MeanAbsoluteError": _metric("MeanAbsoluteError"),
        "keras.metrics.mean_absolute_error": _mean_of(metrics.mean_absolute_error),
    },
    "percentage_error_metric": {
        "keras.metrics.MeanAbsolutePercentageError": _metric("MeanAbsolutePercentageError"),
        "keras.metrics.mean_absolute_percentage_error": _mean_of(metrics.mean_absolute_percentage_error),
    },
    "logarithmic_error_metric": {
        "keras.metrics.MeanSquaredLogarithmicError": _metric("MeanSquaredLogarithmicError"),
        "keras.metrics.mean_squared_logarithmic_error": _mean_of(metrics.mean_squared_logarithmic_error),
    },
    "logcosh_metric": {
        "keras.metrics.LogCoshError": _metric("LogCoshError"),
        "keras.metrics.log_cosh": _mean_of(metrics.log_cosh),
    },
    "cosine_metric": {"keras.metrics.CosineSimilarity": _metric("CosineSimilarity")},
    "hinge_metric": {"keras.metrics.Hinge": _metric("Hinge"), "keras.metrics.hinge": _mean_of(metrics.hinge)},
    "squared_hinge_metric": {
        "keras.metrics.SquaredHinge": _metric("SquaredHinge"),
        "keras.metrics.squared_hinge": _mean_of(metrics.squared_hinge),
    },
    "poisson_metric": {"keras.metrics.Poisson": _metric("Poisson"), "keras.metrics.poisson": _mean_of(metrics.poisson)},
    "divergence_metric": {
        "keras.metrics.KLDivergence": _metric("KLDivergence"),
        "keras.metrics.kl_divergence": _mean_of(metrics.kl_divergence),
    },
    "binary_entropy_metric": {
        "keras.metrics.BinaryCrossentropy": _with("BinaryCrossentropy", label_smoothing="p"),
        "keras.metrics.binary_crossentropy": _mean_of(metrics.binary_crossentropy, label_smoothing="p"),
    },
    "binary_accuracy_metric": {
        "keras.metrics.BinaryAccuracy": _with("BinaryAccuracy", threshold="p"),
        "keras.metrics.binary_accuracy": _mean_of(metrics.binary_accuracy, threshold="p"),
    },
    "accuracy_metric": {
        "keras.metrics.SparseCategoricalAccuracy": _with("SparseCategoricalAccuracy"),
        "keras.metrics.CategoricalAccuracy": _categorical("CategoricalAccuracy"),
        "keras.metrics.sparse_categorical_accuracy": _mean_of(metrics.sparse_categorical_accuracy),
        "keras.metrics.categorical_accuracy": _of_hot(metrics.categorical_accuracy),
        "keras.metrics.Accuracy": lambda labels, x, w: _over(
            metrics.Accuracy, ops.expand_dims(labels, -1), ops.expand_dims(ops.argmax(x, -1), -1), w
        ),
    },
    "top_metric": {
        "keras.metrics.SparseTopKCategoricalAccuracy": _with("SparseTopKCategoricalAccuracy", k="p"),
        "keras.metrics.TopKCategoricalAccuracy": _categorical("TopKCategoricalAccuracy", k="p"),
        "keras.metrics.sparse_top_k_categorical_accuracy": _mean_of(metrics.sparse_top_k_categorical_accuracy, k="p"),
        "keras.metrics.top_k_categorical_accuracy": _of_hot(metrics.top_k_categorical_accuracy, k="p"),
    },
    "entropy_metric": {
        "keras.metrics.SparseCategoricalCrossentropy": _with("SparseCategoricalCrossentropy"),
        "keras.metrics.CategoricalCrossentropy": _categorical("CategoricalCrossentropy"),
        "keras.metrics.sparse_categorical_crossentropy": _mean_of(metrics.sparse_categorical_crossentropy),
        "keras.metrics.categorical_crossentropy": _of_hot(metrics.categorical_crossentropy),
    },
    "categorical_hinge_metric": {
        "keras.metrics.CategoricalHinge": _categorical("CategoricalHinge"),
        "keras.metrics.categorical_hinge": _of_hot(metrics.categorical_hinge),
    },
    "root_metric": {"keras.metrics.RootMeanSquaredError": _metric("RootMeanSquaredError")},
    "mean_metric": {"keras.metrics.Mean": _sums("Mean")},
    "sum_metric": {"keras.metrics.Sum": _sums("Sum")},
    "confusion_counts": {
        "keras.metrics.TruePositives (and others)": _counts,
        "keras.metrics.Precision (of thresholds)": _several,
    },
    "area_metric": {
        "keras.metrics.AUC": _area,
        "keras.metrics.AUC (of thresholds)": _area_of_thresholds,
        "keras.metrics.AUC (of logits)": _area_of_logits,
        "keras.metrics.AUC (of labels)": _area_of_columns,
    },
    "precision_recall_area": {
        "keras.metrics.AUC": lambda y, x, w, count: _area(y, x, w, count, "PR", "interpolation"),
    },
    "best_at_another": {"keras.metrics.SensitivityAtSpecificity (and others)": _best},
    "f_metric": {"keras.metrics.FBetaScore": _f, "keras.metrics.F1Score": _f1},
    "overlap_metric": {
        "keras.metrics.IoU": _overlap(_WHOLE),
        "keras.metrics.IoU (float32)": _overlap(_FLOAT),
        "keras.metrics.MeanIoU": _mean_overlap(_WHOLE),
        "keras.metrics.MeanIoU (float32)": _mean_overlap(_FLOAT),
    },
    "binary_overlap_metric": {"keras.metrics.BinaryIoU (float32)": _binary_overlap},
    "chance_overlap_metric": {
        "keras.metrics.OneHotIoU (float32)": _hot_overlap("OneHotIoU"),
        "keras.metrics.OneHotMeanIoU (float32)": _hot_overlap("OneHotMeanIoU"),
        "keras.metrics.MeanIoU (of chances, float32)": _sparse_overlap,
    },
    "r2_metric": {"keras.metrics.R2Score": _r2},
    "pearson_metric": {
        "keras.metrics.PearsonCorrelation": _metric("PearsonCorrelation"),
        "keras.metrics.pearson_correlation": _mean_of(metrics.pearson_correlation),
    },
    "concordance_metric": {
        "keras.metrics.ConcordanceCorrelation": _metric("ConcordanceCorrelation"),
        "keras.metrics.concordance_correlation": _mean_of(metrics.concordance_correlation),
    },
    "in_top_k": {"keras.ops.in_top_k": lambda labels, x, k: ops.in_top_k(labels, x, k)},
    "peak_signal_to_noise": {"keras.ops.psnr": lambda x, y, largest: ops.psnr(x, y, largest)},
}
