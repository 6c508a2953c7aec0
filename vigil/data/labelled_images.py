"""A user's labelled images in three forms: arrays in an .npz, the IDX files of MNIST, a folder with a folder for each class.

Whatever is wrong is a DataError of one line, with the file and the entry.
"""

from __future__ import annotations

import dataclasses
import gzip
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from runners.contract.data.labelled import LabelledSet, make_set
from runners.contract.errors import DAMAGED_ARCHIVE
from vigil.errors import DataError

IMAGE_FILES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
# How MNIST's files are named; what is unlike it is told by --train-labels and --test-labels.
_IMAGES_IN_NAME, _LABELS_IN_NAME = "images-idx3", "labels-idx1"
_IMAGES_MAGIC, _LABELS_MAGIC = 0x00000803, 0x00000801
_GZIP = b"\x1f\x8b"
Progress = Callable[[str, int, int], None]


@dataclasses.dataclass(frozen=True)
class Split:
    """The images of one split, uint8 [n, height, width, channel], and their labels, int64 [n].

    where: index -> how a message calls the entry. class_names: None where classes have numbers alone.
    """

    path: Path
    images: np.ndarray
    labels: np.ndarray
    where: Callable[[int], str]
    class_names: tuple[str, ...] | None


def read_split(path: Path, split: str, *, labels: Path | None = None, progress: Progress) -> Split:
    """Return one split of a file or folder, whatever its form.

    Args:
        split: train or test, which an .npz of both has arrays of.
        labels: of IDX files, where the labels' name is not that of the images with `labels-idx1`.

    Raises:
        DataError: It is missing, damaged or not what it should be.
    """
    if path.is_dir():
        return _read_folders(path, split, progress=progress)
    if path.suffix == ".npz":
        return _read_arrays(path, split)
    return _read_idx(path, labels)


def make_labelled(train: Split, test: Split) -> LabelledSet:
    """Return the set of two splits. Raises DataError unless both have one size of image, and the same classes, none empty."""
    if train.images.shape[1:] != test.images.shape[1:]:
        raise DataError(
            f"{test.path}: images of {_size(test.images)}, but {train.path} has {_size(train.images)}. Both must have one size."
        )
    for index in np.flatnonzero(train.labels < 0)[:1]:
        raise DataError(f"{train.path}: {train.where(int(index))}: label {train.labels[index]}. Allowed: 0 and more.")
    present = np.unique(train.labels)
    for label in np.flatnonzero(present != np.arange(len(present)))[:1]:
        raise DataError(
            f"{train.path}: class {label} of {present[-1] + 1} has no training image. Number those that have one from 0."
        )
    if len(present) < 2:
        raise DataError(f"{train.path}: images of one class. Needed are two or more.")
    names = _common_names(train, test) or tuple(map(str, present))
    for index in np.flatnonzero((test.labels < 0) | (test.labels >= len(names)))[:1]:
        raise DataError(
            f"{test.path}: {test.where(int(index))}: label {test.labels[index]}. Allowed: 0 to {len(names) - 1}, the classes of "
            f"{train.path}."
        )
    arrays = {"train_images": train.images, "train_labels": train.labels, "test_images": test.images, "test_labels": test.labels}
    return make_set(arrays, names)


def shared_images(whole: LabelledSet) -> int:
    """Return how many test images have the very pixels of a training image."""
    trained = {image.tobytes() for image in whole.train_images}
    return sum(image.tobytes() in trained for image in whole.test_images)


def _common_names(train: Split, test: Split) -> tuple[str, ...] | None:
    if train.class_names is None or test.class_names is None:
        return None
    if train.class_names != test.class_names:
        alone = sorted(set(train.class_names) ^ set(test.class_names))[0]
        owner, other = (train, test) if alone in train.class_names else (test, train)
        raise DataError(f"{other.path}: has no class {alone}, which {owner.path} has. Both must have the same folders.")
    return train.class_names


def _read_arrays(path: Path, split: str) -> Split:
    """Read `images` and `labels`, or `x_train` and `y_train` (as Keras's mnist.npz has them) and those of the test."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            pairs = ("images", "labels"), (f"x_{split}", f"y_{split}")
            names = next((pair for pair in pairs if set(pair) <= {*archive.files}), None)
            if names is None:
                raise DataError(
                    f"{path}: holds {', '.join(archive.files) or 'no arrays'}. Needed are images and labels, or x_{split} and "
                    f"y_{split}."
                )
            images, labels = (archive[name] for name in names)
    except FileNotFoundError as error:
        raise _missing(path) from error
    except DAMAGED_ARCHIVE as error:
        raise DataError(f"{path}: is no .npz of arrays, or is damaged ({error}).") from error
    return _split(path, images, labels, names)


def _split(path: Path, images: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> Split:
    x, y = names
    if images.dtype != np.uint8:
        raise DataError(f"{path}: {x}: type {images.dtype}. Allowed: uint8, pixels from 0 to 255.")
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[-1] not in (1, 3):
        raise DataError(f"{path}: {x}: shape {images.shape}. Allowed: [n, height, width], or [n, height, width, 1 or 3].")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(f"{path}: {y}: shape {labels.shape} of {labels.dtype}. Allowed: [n] of whole numbers.")
    if len(labels) != len(images):
        raise DataError(f"{path}: {len(images)} images in {x}, but {len(labels)} labels in {y}. There must be one for each.")
    if not len(images):
        raise DataError(f"{path}: {x} holds no image.")
    return Split(path, images, labels.astype(np.int64), lambda index: f"{y}[{index}]", None)


def _read_idx(path: Path, labels_path: Path | None) -> Split:
    """Read the IDX files of MNIST and Fashion-MNIST, http://yann.lecun.com/exdb/mnist: big-endian sizes, then bytes."""
    if labels_path is None:
        if _IMAGES_IN_NAME not in path.name:
            raise DataError(
                f"{path}: neither a folder, nor an .npz, nor a text (.txt), nor an IDX file named ...{_IMAGES_IN_NAME}.... Name "
                "the labels of such a file with --train-labels or --test-labels."
            )
        labels_path = path.with_name(path.name.replace(_IMAGES_IN_NAME, _LABELS_IN_NAME))
    images = _idx(path, _IMAGES_MAGIC, dimensions=3)
    labels = _idx(labels_path, _LABELS_MAGIC, dimensions=1)
    if len(labels) != len(images):
        raise DataError(f"{labels_path}: {len(labels)} labels, but {path} has {len(images)} images. There must be one for each.")
    if not len(images):
        raise DataError(f"{path}: holds no image.")
    return Split(labels_path, images[..., None], labels.astype(np.int64), lambda index: f"label {index}", None)


def _idx(path: Path, magic: int, *, dimensions: int) -> np.ndarray:
    try:
        content = path.read_bytes()
        if content[:2] == _GZIP:
            content = gzip.decompress(content)
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be unpacked ({error}). It is truncated or altered: fetch it again.") from error
    header = 4 + 4 * dimensions
    found = int.from_bytes(content[:4], "big")
    if len(content) < header or found != magic:
        raise DataError(f"{path}: begins with 0x{found:08x}. An IDX file of {dimensions} dimensions begins with 0x{magic:08x}.")
    shape = [int.from_bytes(content[place : place + 4], "big") for place in range(4, header, 4)]
    if len(content) - header != np.prod(shape, dtype=object):
        raise DataError(f"{path}: {len(content) - header:,} bytes for {' x '.join(map(str, shape))}. It is truncated or altered.")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def _read_folders(path: Path, split: str, *, progress: Progress) -> Split:
    """Read an image a file from a folder for each class; classes are numbered in the order of their names."""
    folders = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
    if not folders:
        raise DataError(f"{path}: holds no folders. Needed is one for each class, with its images.")
    files: list[Path] = []
    labels: list[int] = []
    for label, folder in enumerate(folders):
        inside = sorted(each for each in folder.iterdir() if each.suffix.lower() in IMAGE_FILES)
        if not inside:
            raise DataError(f"{folder}: holds no image ({', '.join(IMAGE_FILES)}). Add some, or remove the folder.")
        files += inside
        labels += [label] * len(inside)
    images: list[np.ndarray] = []
    for done, file in enumerate(files, start=1):
        image = _image(file)
        if images and image.shape != images[0].shape:
            raise DataError(
                f"{file}: {_size(image[None])}, but {files[0]} has {_size(images[0][None])}. All images must have one size, and "
                "be gray or in colour alike."
            )
        images.append(image)
        progress(split, done, len(files))
    names = tuple(folder.name for folder in folders)
    return Split(path, np.stack(images), np.array(labels, np.int64), lambda index: str(files[index]), names)


def _image(file: Path) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file) as image:
            if image.mode not in ("L", "RGB"):
                raise DataError(f"{file}: an image of mode {image.mode}. Allowed: L, 8-bit gray, and RGB, 8 bits a channel.")
            pixels = np.asarray(image)
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise DataError(f"{file}: cannot be read as an image ({error}).") from error
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _size(images: np.ndarray) -> str:
    return " x ".join(map(str, images.shape[1:]))


def _missing(path: Path) -> DataError:
    return DataError(f"{path}: there is no such file or folder.")
