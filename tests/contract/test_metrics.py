"""What an evaluation computes: right answers, cross-entropy and images; the vote of the nearest neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.contract.kinds.contrast import evaluate
from runners.contract.kinds.metrics import classification_totals, commonest, nearest_neighbour_votes

LOGITS = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 5.0]], np.float32)
LABELS = np.array([0, 0, 1], np.int32)


def test_totals_are_the_textbook_ones():
    """One of three is right (a tie goes to the first class); the loss is log-sum-exp minus the label's logit."""
    expected = [math.log(1 + math.exp(-2)), math.log(1 + math.e), math.log(2)]
    assert classification_totals(LOGITS, LABELS, np.ones(3)).tolist() == pytest.approx([1.0, sum(expected), 3.0], rel=1e-15)


def test_an_image_of_weight_zero_does_not_count():
    """What only fills a batch up adds nothing; counting it would be seen."""
    two = classification_totals(LOGITS, LABELS, np.array([1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(two, classification_totals(LOGITS[:2], LABELS[:2], np.ones(2)))
    assert two[2] != classification_totals(LOGITS, LABELS, np.ones(3))[2]


def test_always_the_commonest_class_is_right_so_often():
    """Whatever its number, and where a class has no image."""
    assert commonest(np.array([2, 0, 2, 2])) == 75.0


def test_large_logits_do_not_overflow():
    """A logit of 1e4 gives a loss of 1e4, where exp alone is infinite."""
    assert classification_totals(np.array([[1e4, 0.0]]), np.array([1]), np.ones(1)).tolist() == [0.0, 1e4, 1.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_logit_that_is_not_finite_shows_in_the_loss(bad):
    """The summed loss is then not a number, and nothing is raised."""
    assert math.isnan(classification_totals(np.array([[bad, 0.0]]), np.array([0]), np.ones(1))[1])


def test_the_nearest_vote_by_similarity():
    """One very near neighbour outweighs two that are farther; with k of 1 only the nearest counts; heat evens the votes out."""
    bank = np.array([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [-1.0, 0.0]])
    labels, query = np.array([2, 1, 1, 0]), np.array([[1.0, 0.0]])
    assert nearest_neighbour_votes(query, bank, labels, n_classes=3, k=3, temperature=0.1) == [2]
    assert nearest_neighbour_votes(query, bank, labels, n_classes=3, k=3, temperature=1.0) == [1]
    assert nearest_neighbour_votes(query, bank, labels, n_classes=3, k=1, temperature=1.0) == [2]


def test_far_neighbours_have_no_vote():
    """Beyond the k nearest nobody votes, however many they are."""
    bank = np.concatenate([np.array([[1.0, 0.0]]), np.tile([[0.0, 1.0]], (50, 1))])
    labels = np.array([1] + [0] * 50)
    assert nearest_neighbour_votes(bank[:1], bank, labels, n_classes=2, k=1, temperature=10.0) == [1]
    assert nearest_neighbour_votes(bank[:1], bank, labels, n_classes=2, k=51, temperature=10.0) == [0]


def test_contrast_is_judged_by_the_bank_of_training_images():
    """Every test image counts once, those that fill a batch up not at all; a bank of wrong labels shows."""

    class Fake:
        def __init__(self, labels):
            self.labels = labels

        def _batches(self, labels):
            features = np.eye(4, dtype=np.float32)[np.arange(6) % 4]
            yield features, np.pad(labels, (0, 1)), np.array([1, 1, 1, 1, 1, 0], np.float32)

        def bank(self):
            return self._batches(self.labels)

        def evaluation(self):
            return self._batches(np.array([0, 1, 2, 3, 0]))

    training = {"evaluation": {"k": 1, "temperature": 0.1}}
    right, wrong = Fake(np.array([0, 1, 2, 3, 0])), Fake(np.array([0, 1, 3, 2, 0]))
    assert evaluate(lambda images: images, right, training) == {"knn_accuracy": 100.0}
    assert evaluate(lambda images: images, wrong, training) == {"knn_accuracy": 60.0}
