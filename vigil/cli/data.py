"""`vigil data`: a user's labelled images as a data set that a recipe names."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from runners.contract.data.labelled import LabelledSet
from vigil.cli import options
from vigil.data.labelled_images import make_labelled, read_split, shared_images
from vigil.data.official import write_labelled

_SHOWN_CLASSES = 10


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb, and what it can do, to the command line."""
    parser = subparsers.add_parser("data", help="make a data set of your own labelled images")
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=type(parser))
    imported = actions.add_parser("import", help="from arrays (.npz), IDX files as MNIST's, or a folder with one for each class")
    imported.add_argument("name", metavar="NAME", help="what a recipe will call it")
    for split in ("train", "test"):
        imported.add_argument(f"--{split}", type=Path, required=True, metavar="PATH", help=f"images to {split} on")
        imported.add_argument(
            f"--{split}-labels", type=Path, metavar="FILE", help=f"labels of an IDX file of --{split} (default: by its name)"
        )
    imported.set_defaults(run=run_import)


def run_import(arguments: argparse.Namespace) -> int:
    """Make NAME.npz in the data directory, and say what is in it and how a recipe asks for it."""
    name, progress = options.data_set_name(arguments.name), options.import_progress()
    train = read_split(arguments.train, "train", labels=arguments.train_labels, progress=progress)
    test = read_split(arguments.test, "test", labels=arguments.test_labels, progress=progress)
    whole = make_labelled(train, test)
    path = write_labelled(name, whole)
    print("\n".join(_lines(whole, path)))
    return 0


def _lines(whole: LabelledSet, path: Path) -> list[str]:
    names, shape = whole.class_names, whole.train_images.shape[1:]
    lines = []
    for split, labels in (("train", whole.train_labels), ("test", whole.test_labels)):
        counts = np.bincount(labels, minlength=len(names))
        lines.append(f"{split}: {len(labels):,} images, {counts.min():,} to {counts.max():,} of a class")
    shown = ", ".join(names[:_SHOWN_CLASSES]) + (", ..." if len(names) > _SHOWN_CLASSES else "")
    return [
        *lines,
        f"{shared_images(whole):,} test images with the very pixels of a training image",
        f"{len(names)} classes: {shown}",
        f"data set: {path}",
        "a recipe asks for it by",
        f"  model: {{image_shape: {list(shape)}, n_classes: {len(names)}}}",
        f'  data: {{name: {path.stem}, checksum: "{whole.checksum}", n_train: {len(whole.train_labels)}, '
        f"n_test: {len(whole.test_labels)}}}",
    ]

