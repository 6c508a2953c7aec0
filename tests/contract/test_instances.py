"""Data sets of instances: the embedded one, a user's file, and every way in which a file is not what a recipe asks for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from runners.contract.data import instances, scenes
from runners.contract.errors import UnusableData

SCENES = {"name": "scenes", "n_train": 12, "n_test": 5}


@pytest.fixture(scope="module")
def embedded() -> instances.InstanceSet:
    return instances.load(SCENES, None)


@pytest.fixture
def stored(tmp_path, embedded):
    """The embedded set as a user's file, and the data block that asks for all of it."""
    instances.write(tmp_path / "my_set.npz", embedded)
    return tmp_path, {"name": "my_set", "checksum": embedded.checksum, "n_train": 12, "n_test": 5}


def assert_same_set(found: instances.InstanceSet, expected: instances.InstanceSet) -> None:
    """Raise unless every array is the same, bit for bit and type for type."""
    assert (found.class_names, found.checksum) == (expected.class_names, expected.checksum)
    for split in ("train", "test"):
        for field in dataclasses.fields(instances.Instances):
            one, other = (getattr(getattr(each, split), field.name) for each in (found, expected))
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), (split, field.name)


def test_the_embedded_set_is_that_of_the_scenes(embedded):
    """Pixels, classes, boxes and masks are the scenes'; images are counted from 1, and no instance is a crowd."""
    made = scenes.make_scenes("test", 5)
    np.testing.assert_array_equal(embedded.test.images, made.images)
    np.testing.assert_array_equal(embedded.test.classes, made.classes)
    np.testing.assert_array_equal(embedded.test.boxes, made.boxes)
    np.testing.assert_array_equal(embedded.test.masks(3), made.masks(3))
    assert embedded.test.image_ids.tolist() == [1, 2, 3, 4, 5]
    assert not embedded.train.crowd.any()
    assert (embedded.class_names, embedded.train.side) == (scenes.CLASSES, 128)
    assert [len(embedded.train.images), len(embedded.test.images)] == [12, 5]


def test_types_are_those_that_are_written_down(embedded):
    """uint8 pixels, int32 classes, float32 boxes, int64 ids, bool crowds, packed masks."""
    types = {field.name: getattr(embedded.train, field.name).dtype for field in dataclasses.fields(instances.Instances)}
    assert {name: str(dtype) for name, dtype in types.items()} == {
        "images": "uint8", "image_ids": "int64", "classes": "int32", "boxes": "float32", "crowd": "bool", "packed_masks": "uint8",
    }  # fmt: skip
    assert embedded.train.packed_masks.shape == (12, 8, 128 * 128 // 8)


def test_the_checksum_sees_every_array_and_the_class_names(embedded):
    """One bit of one array, a row's place or a class's name gives another checksum."""
    seen = {instances.checksum(embedded.test, embedded.class_names), instances.checksum(embedded.test, ("other",) * 6)}
    for field in dataclasses.fields(instances.Instances):
        array = getattr(embedded.test, field.name).copy()
        array.reshape(-1)[0] = array.reshape(-1)[0] == 0
        seen.add(instances.checksum(dataclasses.replace(embedded.test, **{field.name: array}), embedded.class_names))
    assert len(seen) == 2 + len(dataclasses.fields(instances.Instances))
    assert instances.load(SCENES | {"n_test": 4}, None).checksum != embedded.checksum


def test_a_file_gives_back_what_was_written(stored, embedded):
    """Bit for bit, and whole: nothing is left beside it."""
    directory, data = stored
    assert_same_set(instances.load(data, str(directory)), embedded)
    assert [path.name for path in directory.iterdir()] == ["my_set.npz"]


def test_the_first_images_of_a_file_are_taken(stored):
    """Fewer images are the first ones, with a checksum of their own: that of the same number of scenes."""
    directory, data = stored
    fewer = instances.load(data | {"n_train": 3, "n_test": 2}, str(directory))
    assert_same_set(fewer, instances.load(SCENES | {"n_train": 3, "n_test": 2}, None))


def test_another_checksum_is_refused_with_both(stored, embedded):
    """The message says what the recipe expects, what was found, and what to do."""
    directory, data = stored
    with pytest.raises(UnusableData, match=f"expected checksum 00ff, found {embedded.checksum}.*import that set again"):
        instances.load(data | {"checksum": "00ff"}, str(directory))


def test_a_changed_pixel_is_refused(stored, embedded):
    """A file that is whole but holds one other pixel is not the set that the recipe means."""
    directory, data = stored
    images = embedded.train.images.copy()
    images[7, 3, 4, 1] ^= 1
    altered = dataclasses.replace(embedded, train=dataclasses.replace(embedded.train, images=images))
    instances.write(directory / "my_set.npz", altered)
    with pytest.raises(UnusableData, match="expected checksum"):
        instances.load(data, str(directory))


@pytest.mark.parametrize("keep", [0, 100, 5000, -1])
def test_a_truncated_file_is_damaged(stored, keep):
    """Wherever a file ends too early, the error says so and names it."""
    directory, data = stored
    path = directory / "my_set.npz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UnusableData, match=r"my_set\.npz: is not a data set, or is damaged"):
        instances.load(data, str(directory))


def test_a_missing_file_is_said_with_those_that_are_there(stored):
    """A misspelt name is answered with the names that exist, and how to make one."""
    directory, data = stored
    with pytest.raises(
        UnusableData, match=r"my_sett\.npz: cannot be read.*vigil coco import my_sett.*VIGIL_DATA_DIR.*scenes, my_set\."
    ):
        instances.load(data | {"name": "my_sett"}, str(directory))


@pytest.mark.parametrize("split", ["train", "test"])
def test_more_images_than_there_are_is_refused(stored, split):
    """A recipe cannot train on fewer images than it says."""
    directory, data = stored
    with pytest.raises(UnusableData, match=f"{split}: the recipe asks for 13 images, the file holds"):
        instances.load(data | {f"n_{split}": 13}, str(directory))


def test_a_file_of_another_schema_is_refused(stored, monkeypatch):
    """A file that an earlier version wrote is not guessed at."""
    directory, data = stored
    monkeypatch.setattr(instances, "SCHEMA", 2)
    with pytest.raises(UnusableData, match="schema 1, this version reads 2"):
        instances.load(data, str(directory))
