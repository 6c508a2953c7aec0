"""What an evaluation adds up: right answers, cross-entropy and images, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.contract.metrics import classification_totals

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


def test_large_logits_do_not_overflow():
    """A logit of 1e4 gives a loss of 1e4, where exp alone is infinite."""
    assert classification_totals(np.array([[1e4, 0.0]]), np.array([1]), np.ones(1)).tolist() == [0.0, 1e4, 1.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_logit_that_is_not_finite_shows_in_the_loss(bad):
    """The summed loss is then not a number, and nothing is raised."""
    assert math.isnan(classification_totals(np.array([[bad, 0.0]]), np.array([0]), np.ones(1))[1])
