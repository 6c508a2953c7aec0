"""The embedded data set: pinned to the bit, balanced, and learnable from its parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from runners.contract.data import datasets, generated, textures

# SHA-256 of 1,000 training and 1,000 test images with their labels. A change of any constant in generated.py moves
# them; it moves every reference too, so it needs a new recipe version.
TRAIN_SHA256 = "fb59ff6a4eb145117c867573f7322a124718b2c80e2b64191a6a3a0a4a51c18e"
TEST_SHA256 = "8bf905537c9dc3ccdd62fc9c02b3631fa8ca9704d801da2b62e010c3227de773"


@pytest.fixture
def unpinned():
    """Forget images made under planted constants, before and after."""
    caches = (generated.make_images, generated._parts)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_the_images_are_pinned():
    """Pixels and labels of both splits have the checksums written down here."""
    assert generated.checksum(*generated.make_images("train", 1000)) == TRAIN_SHA256
    assert generated.checksum(*generated.make_images("test", 1000)) == TEST_SHA256


def test_a_changed_constant_is_caught(monkeypatch, unpinned):
    """One grey level more of noise moves the checksum."""
    monkeypatch.setattr(generated, "NOISE", generated.NOISE + 1)
    with pytest.raises(AssertionError):
        test_the_images_are_pinned()


def test_the_checksum_sees_one_pixel_and_one_label():
    """The checksum changes with a single bit of a pixel and with two labels exchanged."""
    images, labels = (array.copy() for array in generated.make_images("train", 1000))
    whole = generated.checksum(images, labels)
    images[500, 3, 4, 1] ^= 1
    assert generated.checksum(images, labels) != whole
    images[500, 3, 4, 1] ^= 1
    other = int(np.flatnonzero(labels != labels[0])[0])
    labels[[0, other]] = labels[[other, 0]]
    assert generated.checksum(images, labels) != whole


@pytest.fixture(params=[generated, textures], ids=["generated", "textures"])
def make_images(request):
    """Make images of each embedded data set."""
    return request.param.make_images


@pytest.mark.parametrize("split", ["train", "test"])
def test_classes_are_balanced(make_images, split):
    """Every class has the same number of images in a thousand, in an order without a pattern."""
    images, labels = make_images(split, 1000)
    assert (images.shape, images.dtype) == ((1000, 32, 32, 3), np.uint8)
    assert (labels.shape, labels.dtype) == ((1000,), np.int64)
    assert np.bincount(labels, minlength=10).tolist() == [100] * 10
    assert len(set(labels[:40].tolist())) > 5


def test_fewer_images_are_the_first_of_more(make_images):
    """The first n images do not depend on how many are made, across a chunk's border too."""
    images, labels = make_images("train", 1010)
    for n in (1, 512, 1000, 1003):
        fewer, fewer_labels = make_images("train", n)
        assert np.array_equal(fewer, images[:n])
        assert np.array_equal(fewer_labels, labels[:n])


def test_no_image_occurs_twice(make_images):
    """Chunks and splits differ: among 1,200 training and 1,000 test images none repeats."""
    both = [*make_images("train", 1200)[0], *make_images("test", 1000)[0]]
    assert len({image.tobytes() for image in both}) == 2200


def test_images_cannot_be_changed(make_images):
    """The cached arrays are read-only: a run cannot alter what the next one sees."""
    images, labels = make_images("train", 1000)
    with pytest.raises(ValueError, match="read-only"):
        images[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 0


@pytest.mark.parametrize(("split", "n"), [("valid", 10), ("train", 0), ("train", 50_001), ("test", 10_001)])
def test_what_is_not_there_is_refused(make_images, split, n):
    """An unknown split or an impossible number of images is an error that names what is allowed."""
    with pytest.raises(ValueError, match="allowed are train"):
        make_images(split, n)


def recognised(images: np.ndarray) -> np.ndarray:
    """Return the class of each image by a matched filter: the two parts that correlate best at any place."""
    flat = images.astype(np.float64)
    flat -= flat.mean(axis=(1, 2), keepdims=True)
    size = generated.SIDE + generated.PART
    spectrum = np.fft.rfft2(flat, (size, size), axes=(1, 2))
    scores = []
    for part in generated._parts()[: generated.N_PARTS].astype(np.float64):
        part = part / np.linalg.norm(part)
        best = [
            np.fft.irfft2((spectrum * np.conj(np.fft.rfft2(way, (size, size), axes=(0, 1)))).sum(axis=-1), (size, size))
            for way in (part, part[:, ::-1])
        ]
        scores.append(np.maximum(*best).max(axis=(1, 2)))
    two = np.sort(np.argsort(scores, axis=0)[-2:], axis=0).T
    return np.array([generated.PAIRS.index(tuple(pair)) for pair in two.tolist()])


def test_labels_follow_from_the_pixels():
    """A matched filter for the parts, which knows nothing else, finds the class far above the 10 % of chance."""
    images, labels = generated.make_images("test", 1000)
    assert np.mean(recognised(images[:300]) == labels[:300]) > 0.3


def test_shuffled_labels_are_caught():
    """The same filter is at chance when labels are moved by one image."""
    images, labels = generated.make_images("test", 1000)
    assert np.mean(recognised(images[:300]) == np.roll(labels, 1)[:300]) < 0.2


def test_a_data_set_has_the_checksum_of_what_is_in_it():
    """Two sizes have two checksums, the same size the same, and the arrays are the generated ones."""
    data = {"name": "generated", "n_train": 512, "n_test": 256}
    dataset = datasets.load(data, None)
    assert [len(array) for array in dataclasses.astuple(dataset)[:4]] == [512, 512, 256, 256]
    assert np.array_equal(dataset.test_images, generated.make_images("test", 256)[0])
    assert datasets.load(data, None).checksum == dataset.checksum
    assert datasets.load(data | {"n_test": 255}, None).checksum != dataset.checksum
    assert datasets.load(data | {"n_train": 511}, None).checksum != dataset.checksum


def test_an_unknown_data_set_is_refused():
    """A name that no loader knows is an error that names the allowed ones."""
    with pytest.raises(ValueError, match="allowed are generated, textures, cifar10"):
        datasets.load({"name": "imagenet", "n_train": 1, "n_test": 1}, None)
