"""What an evaluation adds up, from the logits of a batch: the same float64 arithmetic for every framework."""

from __future__ import annotations

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
