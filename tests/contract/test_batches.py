"""Batches: a pure function of seed and step, the augmentation of a slow oracle, and a prefetcher that ends."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest

from runners.contract.data import batches as module
from runners.contract.data import streams
from runners.contract.data.batches import Batches, augment, normalisation, prefetch, split
from runners.contract.data.datasets import DataSet

RULE = {"mean": "per_pixel", "deviation": "per_channel"}


@pytest.fixture
def dataset() -> DataSet:
    """53 training and 31 test images of 13 x 17 pixels; the first pixel is the image's own number."""
    words = streams.raw(0, "test", count=84 * 13 * 17 * 3)
    images = (words >> np.uint64(56)).astype(np.uint8).reshape(84, 13, 17, 3)
    images[:, 0, 0, 0] = np.arange(84)
    labels = np.arange(84) % 10
    return DataSet(images[:53], labels[:53], images[53:], labels[53:], checksum="")


@pytest.fixture
def settings(training):
    """Batches of 8, evaluation batches of 12, pad 3 and crop 11."""
    training |= {"batch_size": 8, "evaluation_batch_size": 12}
    training["input"]["augmentation"] = {"padding": 3, "padding_value": "mean", "crop": 11, "flip_probability": 0.5}
    return training


def taken(batches: Batches, first: int, end: int) -> list[bytes]:
    """Return the bits of the batches that training would see."""
    return [images.tobytes() + labels.tobytes() for _, images, labels in batches.train_between(first, end)]


def test_a_batch_is_a_function_of_seed_and_step(dataset, settings):
    """Asked for in any order, and by another object, a step's batch has the same bits; another seed's has others."""
    batches = Batches(dataset, settings, seed=3)
    forward = taken(batches, 0, 14)
    backward = [images.tobytes() + labels.tobytes() for images, labels in map(batches.train, reversed(range(14)))]
    assert backward[::-1] == forward
    assert taken(Batches(dataset, settings, seed=3), 0, 14) == forward
    assert not set(taken(Batches(dataset, settings, seed=4), 0, 14)) & set(forward)
    assert len(set(forward)) == 14


def test_a_step_of_another_epoch_asked_for_meanwhile_alters_no_batch(dataset, settings):
    """The order of one epoch is kept; another thread may replace it between the look at it and its use."""
    batches = Batches(dataset, settings, seed=3)
    expected = batches.train(1)[0]

    class Epoch(int):
        def __ne__(self, kept) -> bool:
            is_other = int(self) != kept
            batches.train(7)  # of the second epoch, as another thread would
            return is_other

    class Step(int):
        def __divmod__(self, steps) -> tuple[Epoch, int]:
            epoch, position = divmod(int(self), steps)
            return Epoch(epoch), position

    np.testing.assert_array_equal(batches.train(Step(1))[0], expected)


@pytest.mark.parametrize("resumed_at", [1, 6, 7, 13])
def test_a_resumed_run_sees_what_it_would_have_seen(dataset, settings, resumed_at):
    """From any step on, at an epoch's border too, the rest is the same bits."""
    assert taken(Batches(dataset, settings, seed=3), resumed_at, 20) == taken(
        Batches(dataset, settings, seed=3), 0, 20)[resumed_at:]


def test_a_generator_that_carries_state_is_caught(dataset, settings, monkeypatch):
    """Flips drawn from a running generator, as most pipelines do, break resuming."""
    running = np.random.Generator(np.random.Philox(0))
    monkeypatch.setattr(module.streams, "uniform", lambda *stream, count: running.random(count))
    with pytest.raises(AssertionError):
        test_a_resumed_run_sees_what_it_would_have_seen(dataset, settings, 6)


def test_every_image_comes_at_most_once_an_epoch(dataset, settings):
    """Six whole batches of 8 show 48 different images of 53, in another order and selection the next epoch."""
    settings["input"]["augmentation"] = None
    batches = Batches(dataset, settings, seed=0)
    mean, scale = normalisation(dataset.train_images, RULE)
    assert batches.steps_per_epoch == 6
    epochs = []
    for epoch in range(2):
        images = np.concatenate([batches.train(epoch * 6 + position)[0] for position in range(6)])
        labels = np.concatenate([batches.train(epoch * 6 + position)[1] for position in range(6)])
        numbers = np.rint(images[:, 0, 0, 0] / scale[0] + mean[0, 0, 0]).astype(int).tolist()
        assert len(set(numbers)) == 48
        assert labels.tolist() == [number % 10 for number in numbers]
        epochs.append(numbers)
    assert epochs[0] != epochs[1]
    assert set(epochs[0]) != set(epochs[1])


def test_every_image_comes_exactly_once_when_batches_fit(dataset, settings):
    """With a batch size that divides the set nothing is left out."""
    settings |= {"batch_size": 53}
    settings["input"]["augmentation"] = None
    _, labels = Batches(dataset, settings, seed=0).train(1)
    assert sorted(labels.tolist()) == sorted(dataset.train_labels.tolist())


def test_a_frameworks_own_order_is_used(dataset, settings):
    """Under native randomness the order is what the runner passes in."""
    settings["input"]["augmentation"] = None
    batches = Batches(dataset, settings, seed=0, order=lambda epoch: np.roll(np.arange(53), epoch))
    assert batches.train(0)[1].tolist() == list(range(8))
    assert batches.train(6)[1].tolist() == [2, *range(7)]  # image 52, then from 0 on


def slow_augment(images: np.ndarray, rule: dict, *, seed: int, step: int) -> np.ndarray:
    """Return what `augment` must: one image after another, with loops and plain indexing."""
    n, height, width, channels = images.shape
    padding, crop = rule["padding"], rule["crop"]
    rows = streams.integers(seed, "augmentation/row", step, count=n, below=height + 2 * padding - crop + 1)
    columns = streams.integers(seed, "augmentation/column", step, count=n, below=width + 2 * padding - crop + 1)
    flips = streams.uniform(seed, "augmentation/flip", step, count=n)
    result = np.empty((n, crop, crop, channels), images.dtype)
    for i in range(n):
        image = images[i, :, ::-1] if flips[i] < rule["flip_probability"] else images[i]
        padded = np.zeros((height + 2 * padding, width + 2 * padding, channels), images.dtype)
        padded[padding : padding + height, padding : padding + width] = image
        for y, x in itertools.product(range(crop), range(crop)):
            result[i, y, x] = padded[rows[i] + y, columns[i] + x]
    return result


@pytest.mark.parametrize(
    ("size", "padding", "crop"), [((13, 17), 3, 11), ((32, 32), 4, 32), ((7, 5), 2, 9), ((5, 11), 0, 5)]
)
def test_augmentation_agrees_with_a_slow_oracle(size, padding, crop):
    """Mirror, pad and crop give the oracle's bits, for odd and oblong images too."""
    images = streams.normal(1, "test", count=23 * size[0] * size[1] * 3).reshape(23, *size, 3).astype(np.float32)
    rule = {"padding": padding, "crop": crop, "flip_probability": 0.5}
    for step in (0, 5):
        assert np.array_equal(augment(images, rule, seed=2, step=step), slow_augment(images, rule, seed=2, step=step))


@pytest.mark.parametrize("name", ["row", "column", "flip"])
def test_augmentation_with_one_choice_missing_is_caught(name, monkeypatch):
    """An augmentation whose rows, columns or flips are all alike differs from the oracle."""
    images = streams.normal(1, "test", count=23 * 13 * 17 * 3).reshape(23, 13, 17, 3).astype(np.float32)
    rule = {"padding": 3, "crop": 11, "flip_probability": 0.5}
    expected = slow_augment(images, rule, seed=2, step=0)

    class Planted:
        @staticmethod
        def integers(seed, stream, index, *, count, below):
            drawn = streams.integers(seed, stream, index, count=count, below=below)
            return drawn * 0 if stream.endswith(name) else drawn

        @staticmethod
        def uniform(seed, stream, index, *, count):
            return streams.uniform(seed, stream, index, count=count) + (name == "flip")

    monkeypatch.setattr(module, "streams", Planted)
    assert not np.array_equal(augment(images, rule, seed=2, step=0), expected)


def test_every_place_and_both_sides_come_out():
    """Over many images every window position occurs, and half of them are mirrored."""
    images = np.zeros((4000, 4, 4, 1), np.float32)
    images[:, 1, 0, 0], images[:, 1, 3, 0] = 1.0, 2.0
    result = augment(images, {"padding": 1, "crop": 4, "flip_probability": 0.5}, seed=0, step=0)
    assert len({image.tobytes() for image in result}) == 18  # 3 rows x 3 columns x 2 sides
    uncut = result[:, :, 0, 0].max(axis=1), result[:, :, 3, 0].max(axis=1)
    mirrored = np.mean(uncut[0][(uncut[0] > 0) & (uncut[1] > 0)] == 2.0)
    assert mirrored == pytest.approx(0.5, abs=0.08)


def test_normalisation_agrees_with_float64(dataset):
    """Mean and scale are those of a float64 computation, rounded once."""
    mean, scale = normalisation(dataset.train_images, RULE)
    wide = dataset.train_images.astype(np.float64)
    assert (mean.dtype, scale.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(mean, wide.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(scale, 1.0 / wide.std(axis=(0, 1, 2)), rtol=1e-7)


def test_normalisation_does_not_overflow():
    """White images, whose sum of squares exceeds 32 bits, come out exact."""
    images = np.full((70_000, 2, 2, 1), 255, np.uint8)
    images[::2] = 253
    mean, scale = normalisation(images, RULE)
    assert (mean == 254.0).all()
    assert scale == 1.0


def test_a_channel_without_spread_is_zero():
    """As of a colour that no image has: divided by its deviation, it would be no number."""
    images = np.zeros((4, 2, 2, 3), np.uint8)
    images[::2, ..., 1], images[..., 2] = 9, 255
    mean, scale = normalisation(images, RULE)
    assert ((images - mean) * scale)[..., [0, 2]].tolist() == np.zeros((4, 2, 2, 2)).tolist()
    assert np.isfinite(scale).all()


def test_another_normalisation_is_refused(dataset):
    """A rule that is not known is an error that names the allowed one."""
    with pytest.raises(ValueError, match="allowed is a per_pixel mean"):
        normalisation(dataset.train_images, {"mean": "per_channel", "deviation": "per_channel"})


def test_training_images_are_normalised_by_the_training_set(dataset, settings):
    """Without augmentation the training set has mean 0 at every pixel, and test images use the same numbers."""
    settings |= {"batch_size": 53}
    settings["input"]["augmentation"] = None
    batches = Batches(dataset, settings, seed=0)
    images, _ = batches.train(0)
    assert (images.dtype, images.shape) == (np.float32, (53, 13, 17, 3))
    np.testing.assert_allclose(images.mean(axis=0), 0.0, atol=1e-6)
    mean, scale = normalisation(dataset.train_images, RULE)
    first = next(batches.evaluation())[0]
    np.testing.assert_array_equal(first, (dataset.test_images[:12].astype(np.float32) - mean) * scale)


def test_evaluation_counts_every_test_image_once(dataset, settings):
    """31 images in batches of 12: equal shapes, and weights that leave out the 5 that fill up."""
    parts = list(Batches(dataset, settings, seed=0).evaluation())
    assert [images.shape for images, _, _ in parts] == [(12, 13, 17, 3)] * 3
    assert [weights.sum() for _, _, weights in parts] == [12.0, 12.0, 7.0]
    labels, weights = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    assert (labels.dtype, weights.dtype) == (np.int32, np.float32)
    assert labels[weights > 0].tolist() == dataset.test_labels.tolist()


def test_split_is_in_order_and_uneven():
    """Shards have the sizes asked for and, joined, are the batch."""
    array = np.arange(20).reshape(10, 2)
    parts = split(array, (5, 2, 3))
    assert [len(part) for part in parts] == [5, 2, 3]
    assert np.array_equal(np.concatenate(parts), array)


def prefetching_threads() -> list[threading.Thread]:
    """Return the prefetchers that are alive."""
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


def test_prefetch_keeps_order():
    """Items come in order, all of them, whoever is slower."""
    assert list(prefetch(iter(range(50)), ahead=3)) == list(range(50))
    slow = prefetch(iter(range(5)), ahead=1)
    assert [(time.sleep(0.01), item)[1] for item in slow] == [0, 1, 2, 3, 4]
    assert not prefetching_threads()


def test_prefetch_runs_ahead_and_no_further():
    """The worker prepares `ahead` items before the second is asked for, and then waits."""
    begun = []

    def items():
        for number in range(100):
            begun.append(number)
            yield number

    stream = prefetch(items(), ahead=3)
    assert next(stream) == 0
    deadline = time.monotonic() + 5.0
    while len(begun) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(begun) in (4, 5)  # one taken, two ready (three, if it was taken at once), one in hand
    stream.close()


def test_prefetch_fills_up_in_a_row():
    """Taking a few begins nothing; when a quarter is left, all that are missing are made."""
    begun = []
    stream = prefetch((begun.append(number) or number for number in range(100)), ahead=8)

    def settled():
        time.sleep(0.05)
        return len(begun)

    assert next(stream) == 0
    first = settled()
    taken = first - 4  # three are ready then, and one is in hand
    assert ([next(stream) for _ in range(taken - 1)], settled()) == ([*range(1, taken)], first)
    assert (next(stream), settled()) == (taken, taken + 1 + 8 + 1)
    stream.close()


def test_prefetch_raises_the_workers_error_in_its_place():
    """What was made before the error is delivered, then the error itself is raised here."""

    def items():
        yield 1
        raise OSError("the disk is gone")

    stream = prefetch(items(), ahead=3)
    assert next(stream) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(stream)
    assert not prefetching_threads()


def test_prefetch_ends_its_thread_when_the_consumer_stops():
    """A consumer that leaves early, by close or by an error of its own, leaves no thread behind."""
    stream = prefetch(itertools.count(), ahead=2)
    next(stream)
    assert prefetching_threads()
    stream.close()
    assert not prefetching_threads()
