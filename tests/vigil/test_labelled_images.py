"""`vigil data import`: arrays, IDX files and folders become one verified set; whatever is wrong is one line with its place."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from PIL import Image

from runners.contract.data import datasets, labelled
from runners.contract.errors import UnusableData
from runners.contract.kinds.table import kind_of
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import DataImportAnswer
from vigil.cli.main import main
from vigil.data.labelled_images import make_labelled, read_split
from vigil.data.official import ensure_data, metric_of
from vigil.errors import DataError, RecipeError
from vigil.paths import project_root
from vigil.recipes.loading import load_recipe

GENERATOR = np.random.default_rng(0)
IMAGES = {"train": GENERATOR.integers(0, 256, (30, 9, 7), np.uint8), "test": GENERATOR.integers(0, 256, (6, 9, 7), np.uint8)}
LABELS = {"train": np.arange(30) % 3, "test": np.arange(6) % 3}


def write_idx(path, array, magic):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    content = magic.to_bytes(4, "big") + sizes + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def idx(tmp_path):
    """Return the paths of the images of two splits, as MNIST has them: one packed, one not."""
    names = {"train": "train-images-idx3-ubyte.gz", "test": "t10k-images-idx3-ubyte"}
    for split, name in names.items():
        write_idx(tmp_path / name, IMAGES[split], 0x00000803)
        write_idx(tmp_path / name.replace("images-idx3", "labels-idx1"), LABELS[split], 0x00000801)
    return {split: tmp_path / name for split, name in names.items()}


@pytest.fixture
def arrays(tmp_path):
    """Return the paths of the same images as arrays: of both splits in one file, as Keras has them."""
    path = tmp_path / "both.npz"
    np.savez(path, x_train=IMAGES["train"], y_train=LABELS["train"], x_test=IMAGES["test"], y_test=LABELS["test"])
    return {"train": path, "test": path}


@pytest.fixture
def folders(tmp_path):
    """Return two folders of the same images, with a folder for each class."""
    for split, images in IMAGES.items():
        for index, image in enumerate(images):
            folder = tmp_path / split / "abc"[LABELS[split][index]]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / f"{index:03}.png")
    return {split: tmp_path / split for split in IMAGES}


def read(paths, **labels):
    """Return the set of two paths."""
    return make_labelled(
        *(read_split(paths[split], split, labels=labels.get(split), progress=lambda *facts: None) for split in ("train", "test"))
    )


def refused(paths, **labels):
    """Return the one line with which two paths are refused."""
    with pytest.raises(DataError) as error:
        read(paths, **labels)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_form_gives_the_same_images(idx, arrays, folders):
    """IDX files and arrays in their order, folders class by class; one channel where an image has no axis for it."""
    of_idx, of_arrays, of_folders = map(read, (idx, arrays, folders))
    np.testing.assert_array_equal(of_idx.train_images[..., 0], IMAGES["train"])
    np.testing.assert_array_equal(of_idx.test_labels, LABELS["test"])
    assert of_idx.checksum == of_arrays.checksum
    assert (of_idx.class_names, of_folders.class_names) == (("0", "1", "2"), ("a", "b", "c"))
    order = np.argsort(LABELS["train"], kind="stable")
    np.testing.assert_array_equal(of_folders.train_images[..., 0], IMAGES["train"][order])
    assert of_folders.train_labels.tolist() == sorted(LABELS["train"].tolist())


def test_colour_and_other_names_are_read(tmp_path):
    """Three channels, and labels of an IDX file that is called otherwise."""
    colour = GENERATOR.integers(0, 256, (6, 8, 8, 3), np.uint8)
    np.savez(tmp_path / "one.npz", images=colour, labels=(np.arange(6) % 2)[:, None])
    found = read({"train": tmp_path / "one.npz", "test": tmp_path / "one.npz"})
    assert (found.train_images.shape, len(found.class_names)) == ((6, 8, 8, 3), 2)
    write_idx(tmp_path / "pictures", IMAGES["train"], 0x00000803)
    write_idx(tmp_path / "answers", LABELS["train"], 0x00000801)
    paths = {"train": tmp_path / "pictures", "test": tmp_path / "pictures"}
    assert len(read(paths, train=tmp_path / "answers", test=tmp_path / "answers").train_labels) == 30
    assert "Name the labels of such a file with --train-labels" in refused(paths)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_test": np.array([0, 1, 2, 3, 0, 1])}, "both.npz: y_test[3]: label 3. Allowed: 0 to 2"),
        ({"y_train": np.where(np.arange(30) == 4, -1, LABELS["train"])}, "both.npz: y_train[4]: label -1. Allowed: 0 and more"),
        ({"y_train": LABELS["train"] * 2}, "both.npz: class 1 of 5 has no training image"),
        ({"y_train": np.zeros(30, int)}, "both.npz: images of one class. Needed are two or more"),
        ({"y_test": np.arange(5)}, "both.npz: 6 images in x_test, but 5 labels in y_test"),
        ({"y_test": np.arange(6) / 2}, "both.npz: y_test: shape (6,) of float64. Allowed: [n] of whole numbers"),
        ({"x_train": IMAGES["train"] / 255}, "both.npz: x_train: type float64. Allowed: uint8"),
        ({"x_test": IMAGES["test"][:, :8]}, "both.npz: images of 8 x 7 x 1, but"),
        ({"x_test": np.zeros((6, 9, 7, 4), np.uint8)}, "both.npz: x_test: shape (6, 9, 7, 4). Allowed: [n, height, width]"),
        ({"x_test": IMAGES["test"][:0], "y_test": LABELS["test"][:0]}, "both.npz: x_test holds no image"),
    ],
)
def test_wrong_arrays_are_refused(arrays, change, message):
    """The file, the array and the first entry that is wrong."""
    with np.load(arrays["train"]) as archive:
        content = {name: archive[name] for name in archive.files}
    np.savez(arrays["train"], **content | change)
    assert message in refused(arrays)


def test_other_files_are_refused(tmp_path, idx, arrays):
    """One that is missing, that is no archive, or that has arrays of other names."""
    assert "none.npz: there is no such file" in refused({**arrays, "test": tmp_path / "none.npz"})
    (tmp_path / "text.npz").write_text("no archive")
    assert "text.npz: is no .npz of arrays, or is damaged" in refused({**arrays, "test": tmp_path / "text.npz"})
    np.savez(tmp_path / "other.npz", pixels=IMAGES["test"])
    assert "other.npz: holds pixels. Needed are images and labels, or x_test and y_test" in refused(
        {**arrays, "test": tmp_path / "other.npz"}
    )
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    assert "t10k-labels-idx1-ubyte: there is no such file" in refused(idx)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-20], "train-images-idx3-ubyte.gz: cannot be unpacked"),
        (lambda content: gzip.compress(gzip.decompress(content)[:-5]), "1,885 bytes for 30 x 9 x 7. It is truncated or altered"),
        (lambda content: gzip.compress(b"\0\0\x08\x01" + gzip.decompress(content)[4:]), "begins with 0x00000801"),
        (lambda content: gzip.compress(b"\0\0"), "begins with 0x00000000"),
    ],
)
def test_damaged_idx_files_are_refused(idx, damage, message):
    """A truncated archive, too few bytes, labels for images, nothing."""
    idx["train"].write_bytes(damage(idx["train"].read_bytes()))
    assert message in refused(idx)


def test_wrong_folders_are_refused(tmp_path, folders):
    """A class without images, in one split alone, images of two sizes or kinds, a file that is no image."""
    (tmp_path / "train" / "d").mkdir()
    assert "d: holds no image" in refused(folders)
    Image.fromarray(IMAGES["train"][0]).save(tmp_path / "train" / "d" / "000.png")
    assert "test: has no class d, which" in refused(folders)
    (tmp_path / "train" / "d" / "000.png").unlink()
    (tmp_path / "train" / "d").rmdir()
    last = tmp_path / "train" / "c" / "999.png"
    Image.fromarray(IMAGES["train"][0][:8]).save(last)
    assert "999.png: 8 x 7 x 1, but" in refused(folders)
    Image.fromarray(np.zeros((9, 7, 4), np.uint8)).save(last)
    assert "999.png: an image of mode RGBA. Allowed: L" in refused(folders)
    last.write_bytes(b"no image")
    assert "999.png: cannot be read as an image" in refused(folders)
    assert "holds no folders" in refused({**folders, "train": tmp_path / "train" / "a"})


def test_the_command_says_how_a_recipe_asks_for_it(tmp_path, idx, monkeypatch, capsys):
    """Counts, classes, shared images, and the lines to copy; a second set of that name is refused, the same one is not."""
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "data"))
    words = ["data", "import", "mine", "--train", str(idx["train"]), "--test", str(idx["test"])]
    assert main(words) == 0
    printed = capsys.readouterr().out
    whole = labelled.read(tmp_path / "data" / "mine.npz")
    assert "train: 30 images, 10 to 10 of a class" in printed
    assert "0 test images with the very pixels of a training image" in printed
    assert "model: {image_shape: [9, 7, 1], n_classes: 3}" in printed
    assert f'data: {{name: mine, checksum: "{whole.checksum}", n_train: 30, n_test: 6}}' in printed
    found = answer_of(capsys, DataImportAnswer, *words)
    assert found.made.data == {"name": "mine", "checksum": whole.checksum, "n_train": 30, "n_test": 6}
    assert (found.made.model, found.classes, found.shared) == ({"image_shape": [9, 7, 1], "n_classes": 3}, whole.class_names, 0)
    assert main([*words[:-1], str(idx["train"])]) == 2
    assert "is there already with checksum" in capsys.readouterr().err
    assert main([*words[:2], "digits", *words[3:]]) == 2
    assert main([*words[:3], "--train", str(tmp_path / "none"), *words[5:]]) == 3


@pytest.fixture
def own_recipe(tmp_path, idx, monkeypatch):
    """Return a function that writes a recipe of resnet_cifar's kind on the imported set, and loads it."""
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path))
    whole = read(idx)
    labelled.write(tmp_path / "mine.npz", whole)
    text = (project_root() / "recipes" / "resnet_cifar.yaml").read_text(encoding="utf-8")
    text = text[: text.index("  quick:")].replace("paper", "smoke").replace("image_shape: [32, 32, 3]", "image_shape: [9, 7, 1]")
    text = text.replace("n_classes: 10", "n_classes: 3")
    text = text.replace("{padding: 4, padding_value: mean, crop: 32, flip_probability: 0.5}", "null")
    data = f'{{name: mine, checksum: "{whole.checksum}", n_train: 30, n_test: 6}}'
    text = text.replace("{name: generated, n_train: 512, n_test: 256}", data)
    text = text.replace("batch_size: 64", "batch_size: 10").replace("evaluation_batch_size: 128", "evaluation_batch_size: 6")

    def load(*changes):
        changed = text
        for old, new in changes:
            assert old in changed
            changed = changed.replace(old, new)
        (tmp_path / "mine.yaml").write_text(changed, encoding="utf-8")
        return load_recipe(str(tmp_path / "mine.yaml"))

    return load


def test_a_recipe_trains_on_it(tmp_path, own_recipe):
    """Its batches are of the imported images, in their size and with their classes."""
    training = own_recipe().resolve("smoke")
    directory = ensure_data(training, progress=lambda *facts: None)
    kind = kind_of(training)
    images, classes = kind.make_batches(kind.load(training["data"], str(directory)), training, seed=0).train(0)
    assert (images.shape, set(classes)) == ((10, 9, 7, 1), {0, 1, 2})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("image_shape: [9, 7, 1]", "image_shape: [7, 9, 1]"), "the images are [9, 7, 1] (height, width, channels)"),
        (("n_classes: 3", "n_classes: 4"), "the data have 3 classes, the recipe's model.n_classes is 4. Write 3 there."),
        (("n_train: 30", "n_train: 31"), "mine.npz, train: the recipe asks for 31 images, the file holds 30"),
        (("name: mine,", "name: others,"), "others.npz: cannot be read (No such file or directory)"),
        (('checksum: "', 'checksum: "0'), "checksum"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(own_recipe, change, message):
    """Before anything is trained: another size, class, number of images, name or checksum."""
    with pytest.raises((DataError, RecipeError)) as error:
        ensure_data(own_recipe(change).resolve("smoke"), progress=lambda *facts: None)
    assert message in str(error.value)


def test_chance_is_that_of_the_test_images_where_they_are_here(tmp_path, own_recipe):
    """A third of each class; of one image alone always the same answer is right. Without the file it is one over the classes."""
    assert metric_of(own_recipe().resolve("smoke")).chance == pytest.approx(100 / 3)
    alone = own_recipe(("n_test: 6", "n_test: 1"), ("evaluation_batch_size: 6", "evaluation_batch_size: 1")).resolve("smoke")
    assert metric_of(alone).chance == 100.0
    (tmp_path / "mine.npz").unlink()
    assert metric_of(alone).chance == pytest.approx(100 / 3)


def test_first_images_that_lack_a_class_are_refused(own_recipe):
    """Files lie class by class in folders: the first of them would train one class alone, and all of its test be right."""
    few = own_recipe(("n_train: 30", "n_train: 2"), ("batch_size: 10", "batch_size: 2"))
    with pytest.raises(DataError, match=r"mine\.npz, train: none of the first 2 images is of class 2"):
        ensure_data(few.resolve("smoke"), progress=lambda *facts: None)


def test_sets_that_are_here_keep_their_rules(own_recipe):
    """A recipe of an embedded set has its size and classes; an imported one needs its checksum, an embedded one has none."""
    crops = "augmentation: {padding: 1, padding_value: mean, crop: 9, flip_probability: 0.5}"
    for change, message in (
        (("name: mine, checksum", "name: generated, checksum"), 'found name "generated" with a checksum'),
        (("augmentation: null", crops), "null, or a square"),
        (("image_shape: [9, 7, 1]", "image_shape: [9, 7, 2]"), "1 or 3 channels"),
    ):
        with pytest.raises(RecipeError) as error:
            own_recipe(change)
        assert message in str(error.value)


def test_another_file_is_not_taken_for_it(tmp_path, idx):
    """Damaged bytes, a set of instances, and another checksum are each told."""
    whole = read(idx)
    labelled.write(tmp_path / "mine.npz", whole)
    with pytest.raises(UnusableData, match=f"expected checksum {'0' * 32}, found {whole.checksum}"):
        labelled.read(tmp_path / "mine.npz", expected="0" * 32)
    np.savez(tmp_path / "scenes.npz", schema=1)
    with pytest.raises(UnusableData, match="is no set of labelled images"):
        labelled.read(tmp_path / "scenes.npz")
    (tmp_path / "mine.npz").write_bytes((tmp_path / "mine.npz").read_bytes()[:200])
    with pytest.raises(UnusableData, match="is damaged"):
        datasets.load({"name": "mine", "checksum": whole.checksum, "n_train": 1, "n_test": 1}, str(tmp_path))
