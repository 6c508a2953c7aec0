"""Sketches tell distances to within a fifth, and are blind to nothing that a checksum of norms would miss."""

import numpy as np
import pytest

from vigil.verify.sketch import BUCKETS, make_sketch, sketch_distance

SHAPES = [(3, 3, 3, 16), (3, 3, 64, 64), (4, 32, 32, 16), (64, 10), (200,)]


@pytest.fixture
def generator():
    return np.random.default_rng(7)


@pytest.mark.parametrize("shape", SHAPES)
def test_distance_is_within_a_fifth(generator, shape):
    """The distance of a tensor to a slightly moved one, told from the sketch, is within 20 % of the true one."""
    tensor = generator.normal(size=shape)
    for size in (1e-10, 1e-6, 1e-2, 1.0):
        moved = tensor + size * generator.normal(size=shape)
        true = np.linalg.norm(moved - tensor)
        assert sketch_distance(make_sketch(tensor), moved) == pytest.approx(true, rel=0.2)


def test_mean_error_is_what_the_docstring_says(generator):
    """Over many pairs the relative deviation is 1 / sqrt(2 * BUCKETS), and the squared distance has no bias."""
    found = []
    for _ in range(400):
        difference = generator.normal(size=2000)
        found.append(np.linalg.norm(make_sketch(difference)) / np.linalg.norm(difference))
    assert np.std(found) == pytest.approx(1 / np.sqrt(2 * BUCKETS), rel=0.15)
    assert np.mean(np.square(found)) == pytest.approx(1.0, abs=0.03)


def test_small_tensors_are_kept_whole(generator):
    """A tensor of up to BUCKETS elements has exact distances."""
    tensor, other = generator.normal(size=(2, 40))
    assert sketch_distance(make_sketch(tensor), other) == pytest.approx(np.linalg.norm(tensor - other), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros_like, np.negative, lambda x: 1.001 * x, lambda x: np.roll(x, 1, axis=0), lambda x: x[::-1],
        lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, np.nan, x),
        lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, x + 0.01 * np.linalg.norm(x), x),
    ],
    ids=["zero", "negated", "scaled", "rolled", "reversed", "nan", "one element"],
)  # fmt: skip
def test_wrong_tensors_have_a_distance(generator, shape, wrong):
    """Zero, negated, scaled, permuted tensors, a NaN and one wrong element each show, at about their true distance."""
    tensor = generator.normal(size=shape)
    true = np.linalg.norm(wrong(tensor) - tensor)
    found = sketch_distance(make_sketch(tensor), wrong(tensor))
    assert np.isinf(found) if np.isnan(true) else found == pytest.approx(true, rel=0.25)


def test_a_transposed_tensor_has_a_distance(generator):
    """A square matrix and its transpose have one norm, and different sketches."""
    tensor = generator.normal(size=(64, 64))
    assert sketch_distance(make_sketch(tensor), tensor.T) > 0.5 * np.linalg.norm(tensor)
