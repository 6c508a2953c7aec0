"""The embedded textures: pinned to the bit, and told from each other by what repeats. Their sizes: test_generated.py."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import datasets, generated, textures

# SHA-256 of 1,000 training and 1,000 test images with their labels. A change of any constant in textures.py moves
# them; it moves every reference too, so it needs a new recipe version.
TRAIN_SHA256 = "d52e3a0e6def1d4c386326060e5eb9ab23331fb0fe3289a53e3edd262161b58f"
TEST_SHA256 = "a9341795de7446d0551e618b92dcb698a3846fae249520c5a75f4c74613a16b4"


@pytest.fixture
def unpinned():
    """Forget images made under planted constants, before and after."""
    caches = (textures.make_images, textures._textures)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_the_images_are_pinned():
    """Pixels and labels of both splits have the checksums written down here."""
    assert generated.checksum(*textures.make_images("train", 1000)) == TRAIN_SHA256
    assert generated.checksum(*textures.make_images("test", 1000)) == TEST_SHA256


@pytest.mark.parametrize("constant", ["NOISE", "GROUND", "SEED"])
def test_a_changed_constant_is_caught(monkeypatch, unpinned, constant):
    """One more of noise, ground or seed moves the checksum."""
    monkeypatch.setattr(textures, constant, getattr(textures, constant) + 1)
    with pytest.raises(AssertionError):
        test_the_images_are_pinned()


def recognised(images: np.ndarray) -> np.ndarray:
    """Return the class of each image by a matched filter: the texture that the mean period correlates best with."""
    period, count = textures.PERIOD, len(images)
    tiles = images.astype(np.float64).reshape(count, 4, period, 4, period, 3).mean(axis=(1, 3))
    tiles -= tiles.mean(axis=(1, 2), keepdims=True)
    spectrum = np.fft.fft2(tiles, axes=(1, 2))
    scores = []
    for texture in textures._textures().astype(np.float64):
        texture = (texture - texture.mean(axis=(0, 1))) / np.linalg.norm(texture)
        ways = (np.conj(np.fft.fft2(way, axes=(0, 1))) for way in (texture, texture[:, ::-1]))
        found = [np.fft.ifft2((spectrum * way).sum(axis=-1)).real.max(axis=(1, 2)) for way in ways]
        scores.append(np.maximum(*found))
    return np.argmax(scores, axis=0)


def test_labels_follow_from_the_pixels():
    """A matched filter for the textures, which knows nothing else, finds the class far above the 10 % of chance."""
    images, labels = textures.make_images("test", 1000)
    assert np.mean(recognised(images[:300]) == labels[:300]) > 0.6


def test_shuffled_labels_are_caught():
    """The same filter is at chance when labels are moved by one image."""
    images, labels = textures.make_images("test", 1000)
    assert np.mean(recognised(images[:300]) == np.roll(labels, 1)[:300]) < 0.2


def test_a_recipe_can_name_them():
    """A data set named textures holds these arrays, and another checksum than the generated one."""
    data = {"name": "textures", "n_train": 512, "n_test": 256}
    dataset = datasets.load(data, None)
    assert np.array_equal(dataset.train_images, textures.make_images("train", 512)[0])
    assert np.array_equal(dataset.test_labels, textures.make_images("test", 256)[1])
    assert datasets.load(data | {"name": "generated"}, None).checksum != dataset.checksum
