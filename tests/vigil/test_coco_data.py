"""A recipe's block for data with instances, and the conductor's look at the file before anything is trained."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from runners.contract.data import instances
from vigil.data.official import ensure_instances, write_instances
from vigil.errors import DataError, DirectoryError
from vigil.recipes.blocks import InstanceData

SIZES = {"n_train": 3, "n_test": 2}


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture(scope="module")
def whole() -> instances.InstanceSet:
    return instances.load({"name": "scenes"} | SIZES, None)


def test_an_imported_set_is_named_with_its_checksum(data_dir, whole):
    """What the block of a recipe says is what the loader needs; the data directory is found without being told."""
    path = write_instances("my_set", whole)
    assert path == data_dir / "my_set.npz"
    block = InstanceData(name="my_set", checksum=whole.checksum, **SIZES).model_dump(mode="json")
    assert ensure_instances(block) == data_dir
    assert instances.load(block, str(data_dir)).checksum == whole.checksum


def test_the_embedded_set_needs_no_directory(data_dir):
    """It is in the code: nothing is looked for."""
    block = InstanceData(name="scenes", **SIZES).model_dump(mode="json")
    assert ensure_instances(block) is None
    assert instances.load(block, None).class_names[0] == "disc"


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ({"name": "my_set"}, "found name \"my_set\" without a checksum"),
        ({"name": "scenes", "checksum": "0" * 32}, "with a checksum"),
        ({"name": "my_set", "checksum": "0" * 31}, "should match pattern"), ({"name": "My set"}, "should match pattern"),
        ({"name": "my_set", "checksum": "0" * 32, "side": 64}, "Extra inputs"),
        ({"name": "scenes", "n_train": 0}, "greater than or equal to 1"),
    ],
)  # fmt: skip
def test_a_block_that_does_not_say_which_images_is_refused(block, what):
    """A name alone could mean other images on another machine."""
    with pytest.raises(ValidationError, match=what):
        InstanceData(**SIZES | block)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"checksum": "0" * 32}, f"expected checksum {'0' * 32}, found"), ({"n_train": 4}, "asks for 4 images, the file holds 3"),
        ({"name": "other"}, r"other\.npz: cannot be read"),
    ],
)  # fmt: skip
def test_what_is_not_as_the_recipe_says_stops_before_training(data_dir, whole, change, what):
    """The conductor's error, with exit code 3."""
    write_instances("my_set", whole)
    with pytest.raises(DataError, match=what) as caught:
        ensure_instances({"name": "my_set", "checksum": whole.checksum} | SIZES | change)
    assert caught.value.exit_code == 3


def test_a_directory_that_cannot_be_written_is_said(data_dir, whole):
    """A file where the data directory should be: the message says what to do."""
    data_dir.write_text("in the way")
    with pytest.raises(DirectoryError, match=r"my_set\.npz: cannot be written.*VIGIL_DATA_DIR"):
        write_instances("my_set", whole)
