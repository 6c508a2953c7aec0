"""Batches of two views: a pure function of seed and step, shuffled keys that find their queries again."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import streams
from runners.contract.data.batches import Batches
from runners.contract.data.datasets import DataSet
from runners.contract.data.pairs import PairBatches, shuffled
from runners.contract.data.views import make_view
from runners.contract.kinds.table import kind_of
from vigil.recipes.loading import load_recipe


@pytest.fixture
def dataset() -> DataSet:
    """53 training and 31 test images of 8 x 8 pixels."""
    words = streams.raw(0, "test", count=84 * 8 * 8 * 3)
    images = (words >> np.uint64(56)).astype(np.uint8).reshape(84, 8, 8, 3)
    labels = np.arange(84) % 10
    return DataSet(images[:53], labels[:53], images[53:], labels[53:], checksum="")


@pytest.fixture
def settings() -> dict:
    """Batches of 8, evaluation batches of 12."""
    return load_recipe("moco_lite").resolve("smoke") | {"batch_size": 8, "evaluation_batch_size": 12}


def test_every_row_finds_its_own_key(dataset, settings):
    """Row i is the query view of image i; the key view of the same image lies where the row's label says."""
    pairs, place = PairBatches(dataset, settings, seed=3).train(1)
    assert (pairs.shape, pairs.dtype, place.dtype) == ((8, 2, 8, 8, 3), np.float32, np.int32)
    order = streams.permutation(3, "order", 0, count=53)[8:16]
    mean, deviation = (np.array(settings["input"]["normalisation"][key], np.float32) for key in ("mean", "deviation"))
    for view, found in (("query", pairs[:, 0]), ("key", pairs[place, 1])):
        raw = make_view(dataset.train_images[order], settings["input"]["augmentation"], seed=3, step=1, view=view)
        np.testing.assert_allclose(found, (raw / 255 - mean) / deviation, atol=1e-5)


def test_keys_change_places():
    """The shuffle is a permutation of each step's own, and not the identity."""
    images = np.arange(64, dtype=np.float32).reshape(64, 1, 1, 1)
    pairs, place = shuffled(images, images, seed=1, step=0)
    assert sorted(place) == list(range(64))
    assert (place != np.arange(64)).mean() > 0.8
    assert (pairs[place, 1, 0, 0, 0] == np.arange(64)).all()
    assert (place != shuffled(images, images, seed=1, step=1)[1]).any()


def test_a_few_rows_are_a_batch_of_their_own(dataset, settings):
    """Their places are among themselves."""
    batches = PairBatches(dataset, settings, seed=3)
    pairs, place = batches.few(2, 4, count=4)
    np.testing.assert_array_equal(pairs, batches.train(2)[0][4:8])
    assert sorted(place) == [0, 1, 2, 3]


def test_the_bank_is_every_training_image_once(dataset, settings):
    """Plain and in order, in batches of the evaluation's size; what fills the last one up has no weight."""
    parts = list(PairBatches(dataset, settings, seed=3).bank())
    assert {images.shape for images, _, _ in parts} == {(12, 8, 8, 3)}
    labels = np.concatenate([labels[weights > 0] for _, labels, weights in parts])
    np.testing.assert_array_equal(labels, dataset.train_labels)


def test_the_model_says_which_batches_it_trains_on(dataset, settings, training):
    """Pairs for MoCo, images for a classifier."""
    assert type(kind_of(settings).make_batches(dataset, settings, seed=0)) is PairBatches
    assert type(kind_of(training).make_batches(dataset, training, seed=0)) is Batches


def test_what_is_shown_is_what_step_0_trained_on(dataset, settings):
    """Eight images and both views of each: the views are those of the batch, but for rounding to whole grey levels."""
    batches = PairBatches(dataset, settings, seed=3)
    shown, (pairs, place) = batches.shown(), batches.train(0)
    order = streams.permutation(3, "order", 0, count=53)[:8]
    assert np.array_equal(shown["images"], dataset.train_images[order])
    mean, deviation = (np.array(settings["input"]["normalisation"][key], np.float32) for key in ("mean", "deviation"))
    for name, found in (("query_views", pairs[:, 0]), ("key_views", pairs[place, 1])):
        assert shown[name].dtype == np.uint8
        np.testing.assert_allclose(shown[name], (found * deviation + mean) * 255, atol=0.51)
