"""Arithmetic of evaluations, the same for every framework: what follows from what a model gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np


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


def commonest(labels: np.ndarray) -> float:
    """Return the share, in percent, of the class that most of these labels are of: what always that answer gets right."""
    return 100.0 * float(np.bincount(labels).max()) / len(labels)


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


def predictions(
    predict: Callable[[np.ndarray], np.ndarray], batches: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a model gives back for all images, [image, ...], and their labels; those of weight 0 only fill a batch up.

    Args:
        batches: images, labels and weights.
    """
    results, labels = [], []
    for images, some_labels, weights in batches:
        kept = weights > 0
        results.append(predict(images)[kept])
        labels.append(some_labels[kept])
    return np.concatenate(results), np.concatenate(labels)
