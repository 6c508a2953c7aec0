"""What an evaluation computes from what a model gives back: the same arithmetic for every framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.contract.data.batches import Batches
from runners.contract.data.region_batches import RegionBatches
from runners.contract.kinds.detections import Detections


def evaluate(
    predict: Callable[[np.ndarray], np.ndarray], batches: Batches, training: dict[str, Any]
) -> dict[str, float] | Detections:
    """Return the metrics of a model, by name; its recipe's loss says which they are. Of a detector, return what it found.

    Args:
        predict: images of an evaluation batch -> logits or features [batch, ...], in evaluation mode.
    """
    return _EVALUATIONS[training["loss"]["name"]](predict, batches, training)


def classification_totals(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return [right answers, summed softmax cross-entropy, images], float64, each image with its weight.

    Args:
        logits: [batch, class]; labels: int [batch]; weights: [batch], 0 for an image that only fills up the batch.
    """
    logits = logits.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run has logits that are not finite: its loss says so
        shifted = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]
    right = logits.argmax(axis=1) == labels
    return np.array([(right * weights).sum(), (losses * weights).sum(), weights.sum()], np.float64)


def nearest_neighbour_votes(
    features: np.ndarray, bank: np.ndarray, bank_labels: np.ndarray, *, n_classes: int, k: int, temperature: float
) -> np.ndarray:
    """Return the class that the k nearest of a bank vote for, int64 [batch]; each vote weighs exp(similarity / temperature).

    The classifier of Wu et al. 2018, arXiv 1805.01978, section 3.4. Of equal votes the lowest class wins, of equally near ones
    those that stand first in the bank.

    Args:
        features: [batch, dimension], bank: [n, dimension], all of norm 1; bank_labels: int [n].
        k: at most n.
    """
    similarity = features.astype(np.float64) @ bank.astype(np.float64).T
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    rows = np.arange(len(features))[:, None]
    # The largest is taken out: exp(1 / temperature) may be large, and only ratios count.
    weights = np.exp((similarity[rows, nearest] - similarity.max(axis=1, keepdims=True)) / temperature)
    votes = np.zeros((len(features), n_classes))
    np.add.at(votes, (rows, bank_labels[nearest]), weights)
    return votes.argmax(axis=1)


def _of_classification(predict, batches: Batches, training: dict[str, Any]) -> dict[str, float]:
    del training
    totals = np.zeros(3)
    for images, labels, weights in batches.evaluation():
        totals += classification_totals(predict(images), labels, weights)
    correct, loss, count = totals.tolist()
    return {"test_accuracy": 100.0 * correct / count, "test_loss": loss / count}


def _of_contrast(predict, batches: Batches, training: dict[str, Any]) -> dict[str, float]:
    """Classify test images by the nearest features of the training images, both without augmentation."""
    rule = training["evaluation"]
    bank, bank_labels = _collected(predict, batches.bank())
    features, labels = _collected(predict, batches.evaluation())
    rule = {"n_classes": int(bank_labels.max()) + 1, "k": rule["k"], "temperature": rule["temperature"]}
    right = sum(
        int((nearest_neighbour_votes(some, bank, bank_labels, **rule) == expected).sum())
        for some, expected in zip(
            np.array_split(features, -(-len(features) // 500)), np.array_split(labels, -(-len(labels) // 500)), strict=True
        )
    )
    return {"knn_accuracy": 100.0 * right / len(labels)}


def _of_detection(predict, batches: RegionBatches, training: dict[str, Any]) -> Detections:
    """Find what is in the test images. What it is worth, the conductor says, which has COCO's figures."""
    del training
    rows, _ = _collected(predict, batches.evaluation())
    return batches.detections(rows)


def _collected(predict, batches) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of all images; those of weight 0 only fill a batch up."""
    features, labels = [], []
    for images, some_labels, weights in batches:
        kept = weights > 0
        features.append(predict(images)[kept])
        labels.append(some_labels[kept])
    return np.concatenate(features), np.concatenate(labels)


_EVALUATIONS = {"softmax_cross_entropy": _of_classification, "info_nce": _of_contrast, "mask_rcnn": _of_detection}
