"""Digits as scikit-learn had them in 2016: the images, the weights and orders of RandomState, batches of whole epochs."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import digits
from runners.contract.errors import UnusableData
from runners.contract.kinds.perceptron import DIGITS_MLP
from runners.contract.kinds.weights import initial_state
from vigil.recipes.loading import load_recipe


@pytest.fixture(scope="module")
def training() -> dict:
    return load_recipe("digits_mlp").resolve("quick")


@pytest.fixture(scope="module")
def batches(training):
    return DIGITS_MLP.make_batches(DIGITS_MLP.load(training["data"], None), training, seed=0)


def test_the_images_are_those_of_optdigits():
    """Numbers that the set's description states: 1,797 images of 16 grey values, and how many there are of each digit."""
    images, labels = digits.load()
    assert (images.shape, images.dtype, int(images.max())) == ((1797, 8, 8, 1), np.uint8, 16)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_another_file_is_refused(tmp_path, monkeypatch):
    """One changed byte, or no file, is an error that names it."""
    content = bytearray(digits._PATH.read_bytes())
    content[5000] ^= 1
    (tmp_path / "digits.npz").write_bytes(content)
    for path, message in ((tmp_path / "digits.npz", "its SHA-256 is"), (tmp_path / "none.npz", "cannot be read")):
        monkeypatch.setattr(digits, "_PATH", path)
        digits.load.cache_clear()
        with pytest.raises(UnusableData, match=message):
            digits.load()
    monkeypatch.undo()
    digits.load.cache_clear()


def test_weights_and_orders_are_one_stream(training, batches):
    """Kernel and bias of each layer, then a shuffle an epoch of what the last one left, all from RandomState(0)."""
    stream, state = np.random.RandomState(0), initial_state(training, seed=0)
    for layer, fans in (("hidden", (64, 100)), ("output", (100, 10))):
        end = np.sqrt(6.0 / sum(fans))
        for part, shape in (("kernel", fans), ("bias", fans[1:])):
            drawn = stream.uniform(-end, end, shape)
            np.testing.assert_array_equal(state[f"params/{layer}.{part}"], drawn.astype(np.float32))
    _, labels = digits.load()
    order = np.arange(1797)
    for epoch in range(3):
        shuffled = np.arange(1797)
        stream.shuffle(shuffled)
        order = order[shuffled]
        seen = np.concatenate([batches.train(step)[1]["classes"] for step in range(9 * epoch, 9 * epoch + 9)])
        np.testing.assert_array_equal(seen[:1797], labels[order])


def test_pixels_lie_between_the_least_and_the_most(batches):
    """Each pixel is scaled by its own range; one that is always blank is 0."""
    images, _ = digits.load()
    rows = np.concatenate([batches.train(step)[0][: batches.rows(step)] for step in range(9)])
    most = images.max(axis=0)
    np.testing.assert_array_equal(rows.max(axis=0), (most > images.min(axis=0)).astype(np.float32))
    assert rows.min() == 0.0
    np.testing.assert_array_equal(rows[:, most == 0], 0.0)


def test_a_last_batch_counts_for_its_rows(batches):
    """Of 200 rows the last of an epoch has 197 in use: each weighs more, the others nothing; the penalty is over those in use."""
    for step, rows in ((0, 200), (8, 197), (17, 197), (18, 200)):
        images, labels = batches.train(step)
        assert batches.rows(step) == rows
        np.testing.assert_allclose(labels["weights"], np.where(np.arange(200) < rows, 200 / rows, 0.0), rtol=1e-7)
        np.testing.assert_allclose(labels["penalty"], 1e-4 / rows, rtol=1e-7)
        assert not images[rows:].any()
    assert batches.steps_per_epoch == 9


def test_every_image_is_evaluated_once(batches):
    """Three batches of 599, of the images that are trained on."""
    parts = list(batches.evaluation())
    assert [len(labels) for _, labels, _ in parts] == [599] * 3
    assert all((weights == 1.0).all() for _, _, weights in parts)
    np.testing.assert_array_equal(np.concatenate([labels for _, labels, _ in parts]), digits.load()[1])
