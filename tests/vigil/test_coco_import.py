"""A user's folder: the way back from an export is exact, and nothing is lost or misread in silence."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coder

from runners.contract.data import instances
from runners.contract.data.scenes import box_of
from tests.contract.test_instances import assert_same_set
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import CocoExportAnswer, CocoImportAnswer
from vigil.cli.main import main
from vigil.data.coco.documents import run_lengths
from vigil.data.coco.resize import fit_image, fit_mask


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def folder(tmp_path):
    """Two images to train on and one to test with, by hand: polygons, both kinds of run lengths, crowds, an empty image."""
    draws = np.random.default_rng(0)
    box = np.zeros((40, 60), np.uint8)
    box[10:30, 20:50] = 1
    runs = [20 * 40 + 10, *[20, 20] * 29, 20, 10 + 10 * 40]
    square = {"category_id": 7, "segmentation": [[4.0, 4.0, 20.0, 4.0, 20.0, 20.0, 4.0, 20.0]], "iscrowd": 0}
    compressed = {"size": [40, 60], "counts": coder.encode(np.asfortranarray(box))["counts"].decode()}
    for split, names in {"train": ("a.png", "empty.png"), "test": ("b.jpg",)}.items():
        (tmp_path / split).mkdir()
        for name in names:
            Image.fromarray(draws.integers(0, 256, (40, 60, 3), dtype=np.uint8)).save(tmp_path / split / name)
    categories = [{"id": 7, "name": "cat"}, {"id": 3, "name": "dog"}]
    size = {"height": 40, "width": 60}
    train = [
        {"image_id": 5} | square,
        {"image_id": 5, "category_id": 3, "segmentation": compressed, "iscrowd": 0},
        {"image_id": 5, "category_id": 3, "segmentation": {"size": [40, 60], "counts": runs}, "iscrowd": 1},
    ]
    test = [{"image_id": 9, "category_id": 3, "segmentation": {"size": [40, 60], "counts": runs}, "iscrowd": 1}]
    test += [{"image_id": 9} | square] * 3
    pair = [{"id": 5, "file_name": "a.png"} | size, {"id": 6, "file_name": "empty.png"} | size]
    documents = {
        "train": {"images": pair, "annotations": train},
        "test": {"images": [{"id": 9, "file_name": "b.jpg"} | size], "annotations": test},
    }
    for split, document in documents.items():
        (tmp_path / f"{split}.json").write_text(json.dumps(document | {"categories": categories}))
    return tmp_path


def run_import(folder, *more: str) -> int:
    arguments = [f"--{split}={folder / split}.json" for split in ("train", "test")]
    arguments += [f"--{split}-images={folder / split}" for split in ("train", "test")]
    return main(["coco", "import", "my_set", *arguments, *more])


def altered(folder, split: str, change) -> None:
    """Let a function change the annotations of a split."""
    path = folder / f"{split}.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_an_export_comes_back_bit_for_bit(tmp_path, data_dir, capsys):
    """Pixels, ids, classes, boxes and masks of 12 and 5 scenes, through PNG and JSON; the line for the recipe loads them."""
    assert main(["coco", "export", str(tmp_path / "shapes"), "--n-train", "12", "--n-test", "5"]) == 0
    back = capsys.readouterr().out.splitlines()[-1]
    assert main(back.removeprefix("back again: vigil ").replace("NAME", "my_shapes").split()) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    name, checksum, n_train, n_test = re.fullmatch(
        r'  data: \{name: (\w+), checksum: "([0-9a-f]{32})", n_train: (\d+), n_test: (\d+)\}', line
    ).groups()
    data = {"name": name, "checksum": checksum, "n_train": int(n_train), "n_test": int(n_test)}
    scenes = instances.load({"name": "scenes", "n_train": 12, "n_test": 5}, None)
    assert_same_set(instances.load(data, str(data_dir)), scenes)


def test_an_export_and_an_import_are_answers(tmp_path, data_dir, capsys):
    """Where each split is, and by what a recipe asks for the set."""
    out = answer_of(capsys, CocoExportAnswer, "coco", "export", str(tmp_path / "shapes"), "--n-train", "3", "--n-test", "2")
    assert (out.splits["train"].images, out.splits["test"].path) == (3, f"{tmp_path}/shapes/test.json")
    words = [word for split, each in out.splits.items() for word in (f"--{split}", each.path)]
    back = answer_of(capsys, CocoImportAnswer, "coco", "import", "my_shapes", *words, "--most", "8")
    assert {split: each.instances for split, each in back.splits.items()} == {
        split: each.instances for split, each in out.splits.items()
    }
    assert instances.load(back.made.data, str(data_dir)).checksum == back.made.data["checksum"]


def test_pycocotools_reads_an_export(tmp_path, data_dir):
    """Another reader finds the masks of the scenes, their areas and their boxes; every file that is named is there."""
    main(["coco", "export", str(tmp_path / "shapes"), "--n-train", "2", "--n-test", "3"])
    document = json.loads((tmp_path / "shapes" / "test.json").read_text())
    scenes = instances.load({"name": "scenes", "n_train": 1, "n_test": 3}, None).test
    masks = np.concatenate([scenes.masks(index)[scenes.classes[index] >= 0] for index in range(3)])
    assert len(document["annotations"]) == len(masks)
    for annotation, mask in zip(document["annotations"], masks, strict=True):
        lengths = annotation["segmentation"]
        assert int(coder.area(lengths)) == annotation["area"] == mask.sum()
        assert coder.toBbox(lengths).tolist() == annotation["bbox"]
        assert coder.iou([lengths], run_lengths(mask[None]), [0]).item() == 1.0
    for image, pixels in zip(document["images"], scenes.images, strict=True):
        with Image.open(tmp_path / "shapes" / image["file_name"]) as file:
            np.testing.assert_array_equal(np.asarray(file), pixels)


def test_a_folder_that_is_not_empty_is_not_written_to(tmp_path, capsys):
    """An export never mixes with what is there."""
    (tmp_path / "own.txt").touch()
    assert main(["coco", "export", str(tmp_path)]) == 2
    assert "is there already. Give a folder that is new or empty" in capsys.readouterr().err


def test_masks_boxes_and_classes_are_those_of_the_annotations(folder, data_dir):
    """Polygons and run lengths lie where they should at the new size; boxes are the masks', and classes go by their ids."""
    assert run_import(folder, "--side", "64", "--most", "3") == 0
    found = instances.read(data_dir / "my_set.npz")
    assert found.class_names == ("dog", "cat")
    assert found.train.image_ids.tolist() == [5]
    assert found.train.classes.tolist() == [[1, 0, -1]]
    expected = np.zeros((40, 60), bool)
    expected[10:30, 20:50] = True
    np.testing.assert_array_equal(found.train.masks(0)[1], fit_mask(expected, 64))
    expected = np.zeros((40, 60), bool)
    expected[4:20, 4:20] = True
    np.testing.assert_array_equal(found.train.masks(0)[0], fit_mask(expected, 64))
    assert found.train.boxes[0, 0].tolist() == box_of(fit_mask(expected, 64)).tolist()
    with Image.open(folder / "train" / "a.png") as image:
        np.testing.assert_array_equal(found.train.images[0], fit_image(np.asarray(image), 64))


def test_what_is_left_out_is_counted(folder, data_dir, capsys):
    """A crowd and the smaller of two instances and an image without any in training; in the test split everything stays."""
    assert run_import(folder, "--side", "32", "--most", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:8] == [
        "train: 1 image of 32 x 32, 1 instance",
        "  left out: 0 instances without a pixel at this size",
        "  left out: 1 crowd region",
        "  left out: 1 instance, the smallest, in 1 image with more than 1",
        "  left out: 1 image without an instance",
        "test: 1 image of 32 x 32, 3 instances",
        "  left out: 0 instances without a pixel at this size",
        "  kept, to be passed over in the figures: 1 crowd region",
    ]
    found = instances.read(data_dir / "my_set.npz")
    assert found.train.classes.tolist() == [[0]]  # the larger one
    assert found.test.classes.tolist() == [[0, 1, 1, 1]]  # more rows than in training
    assert found.test.crowd.tolist() == [[True, False, False, False]]
    assert not found.train.crowd.any()


def test_an_instance_that_vanishes_is_counted(folder, data_dir, capsys):
    """A dot that covers less than half of a pixel at the recipe's side has none left, and is said to."""
    dot = {"image_id": 5, "category_id": 3, "iscrowd": 0, "segmentation": [[30.0, 10.0, 31.0, 10.0, 31.0, 11.0, 30.0, 11.0]]}
    altered(folder, "train", lambda document: document["annotations"].append(dot))
    assert run_import(folder, "--side", "32") == 0
    assert "left out: 1 instance without a pixel at this size" in capsys.readouterr().out


def test_test_images_that_are_trained_on_are_counted(folder, data_dir, capsys):
    """The same pixels in both splits would flatter every figure."""
    altered(folder, "test", lambda document: document["images"][0].update(file_name="a.png"))
    (folder / "test" / "a.png").write_bytes((folder / "train" / "a.png").read_bytes())
    assert run_import(folder) == 0
    assert "1 test image with the very pixels of a training image" in capsys.readouterr().out


def test_a_turned_image_is_read_as_it_is_stored(folder, data_dir, capsys):
    """A camera's turn is not carried out, and that is said."""
    with Image.open(folder / "test" / "b.jpg") as image:
        exif = image.getexif()
        exif[0x0112] = 3
        image.save(folder / "test" / "b.jpg", exif=exif, quality=95)
    with Image.open(folder / "test" / "b.jpg") as image:
        stored = np.asarray(image)
    assert run_import(folder, "--side", "64") == 0
    assert "not carried out: the camera's turn of 1 image" in capsys.readouterr().out
    np.testing.assert_array_equal(instances.read(data_dir / "my_set.npz").test.images[0], fit_image(stored, 64))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1"])
def test_other_kinds_of_8_bit_images_become_red_green_blue(folder, data_dir, mode):
    """Gray, palette, transparent, printed and black-and-white images are read as Pillow's convert has them."""
    with Image.open(folder / "train" / "a.png") as image:
        converted = image.convert(mode)
    converted.save(folder / "train" / "a.tif")
    altered(folder, "train", lambda document: document["images"][0].update(file_name="a.tif"))
    assert run_import(folder, "--side", "64") == 0
    expected = fit_image(np.asarray(converted.convert("RGB")), 64)
    np.testing.assert_array_equal(instances.read(data_dir / "my_set.npz").train.images[0], expected)


def test_sixteen_bits_a_channel_are_refused(folder, data_dir, capsys):
    """Pillow would cut them off at 255 without a word."""
    Image.fromarray(np.full((40, 60), 9000, np.uint16)).save(folder / "train" / "a.png")
    assert run_import(folder) == 3
    assert "a.png: has pixels of kind I;16, allowed are" in capsys.readouterr().err


def first(entries, **changes):
    return lambda document: document[entries][0].update(changes)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda document: document.pop("categories"), "has no list 'categories'"),
        (first("images", id="5"), "images[0]: id is '5', allowed is a whole number from 0"),
        (first("images", height=0), "images[0]: height is 0, allowed is a whole number from 1"),
        (first("images", file_name="../a.png"), "images[0]: file_name is '../a.png', allowed is a path within the folder"),
        (first("images", file_name="c.png"), "c.png: cannot be read as an image (No such file or directory)"),
        (first("images", height=60, width=40), "its mask has size [40, 60], its image [60, 40]"),
        (first("images", id=6), "images[1]: id 6 is there twice"),
        (first("categories", name="dog"), "categories[1]: name 'dog' is there twice"),
        (first("annotations", image_id=77), "annotations[0]: image_id 77 is not among the images"),
        (first("annotations", category_id=1), "annotations[0]: category_id 1 is not among the categories"),
        (first("annotations", iscrowd=2), "annotations[0]: iscrowd is 2, allowed are 0 and 1"),
        (first("annotations", segmentation=[]), "annotations[0]: segmentation is [], allowed is polygons or run lengths"),
        (first("annotations", segmentation=[[4.0, 4.0, 16.0, 16.0]]), "polygon [4.0, 4.0, 16.0, 16.0]: allowed are"),
        (first("annotations", segmentation=[[4.0, 4.0, 16.0, 16.0, 3.0, float("nan")]]), "annotations[0]: polygon"),
        (first("annotations", segmentation=[[4.0, 4.0, 16.0, 16.0, 3.0, 10**400]]), "annotations[0]: polygon"),
        (first("images", id=2**63), "images[0]: id is 9223372036854775808, allowed is a whole number from 0"),
        (first("annotations", segmentation={"size": [40, 60], "counts": [2399]}), "add up to 2399, the mask has 40 x 60"),
        (first("annotations", segmentation={"size": [40, 60], "counts": "Z"}), "run lengths end within a number"),
        (lambda document: document["annotations"].clear(), "no image is left for train"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(folder, data_dir, capsys, change, what):
    """Exit code 3, the file, the entry, what was found and what is allowed; and nothing is written."""
    altered(folder, "train", change)
    assert run_import(folder) == 3
    assert what in capsys.readouterr().err
    assert not data_dir.exists()


def test_categories_must_be_those_of_both_splits(folder, data_dir, capsys):
    """A class that means one thing in training and another in the test is refused."""
    altered(folder, "test", first("categories", name="lion"))
    assert run_import(folder) == 3
    assert "in one of them only: [(7, 'cat'), (7, 'lion')]" in capsys.readouterr().err


def test_an_image_of_another_size_than_its_annotations_is_refused(folder, data_dir, capsys):
    """Annotations of a larger version of an image would lie beside what they mean."""
    with Image.open(folder / "test" / "b.jpg") as image:
        smaller = image.resize((30, 20))
    smaller.save(folder / "test" / "b.jpg")
    assert run_import(folder) == 3
    assert "b.jpg: is 20 x 30 pixels (height x width), its annotations say 40 x 60" in capsys.readouterr().err


@pytest.mark.parametrize(("content", "what"), [(None, "No such file"), (b"{", "is no JSON"), (b"\xff\xfe\x00", "is no JSON")])
def test_a_file_that_is_no_json_is_said(folder, data_dir, capsys, content, what):
    """Missing, broken off, and of another kind."""
    (folder / "train.json").unlink()
    if content:
        (folder / "train.json").write_bytes(content)
    assert run_import(folder) == 3
    assert f"{folder}/train.json: " in (said := capsys.readouterr().err)
    assert what in said


def test_a_name_that_is_taken_is_not_overwritten(folder, data_dir, capsys):
    """The same set again is no matter; another one under its name is refused with both checksums."""
    assert run_import(folder) == run_import(folder) == 0
    before = (data_dir / "my_set.npz").read_bytes()
    assert run_import(folder, "--side", "64") == 2
    assert re.search(r"my_set\.npz: is there already with checksum [0-9a-f]{32}, this import has", capsys.readouterr().err)
    assert (data_dir / "my_set.npz").read_bytes() == before


@pytest.mark.parametrize("name", ["scenes", "cifar10", "My_set", "my-set", "../up", "9lives"])
def test_a_name_that_means_something_else_is_refused(folder, data_dir, capsys, name):
    """Names of embedded and official sets, and what is no name."""
    assert main(["coco", "import", name, "--train", str(folder / "train.json"), "--test", str(folder / "test.json")]) == 2
    assert f"NAME: found {name!r}. Allowed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (["--side", "60"], "--side: found 60. Allowed: a multiple of 8"), (["--side", "8"], "--side: found '8'"),
        (["--most", "0"], "--most: found '0'"), (["--mots", "3"], "--mots: no such option of `vigil coco import`"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused(folder, data_dir, capsys, more, what):
    """Exit code 2, with what is allowed."""
    assert run_import(folder, *more) == 2
    assert what in capsys.readouterr().err
