"""`vigil data`: a user's labelled images, or a text, as a data set that a recipe names."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from runners.contract.data.labelled import LabelledSet
from runners.contract.data.texts import TextSet
from runners.contract.kinds import language
from vigil.cli import options
from vigil.cli.answers import DataImportAnswer, MadeDataSet
from vigil.data.labelled_images import make_labelled, read_split, shared_images
from vigil.data.official import write_labelled, write_text
from vigil.data.own_text import make_text
from vigil.errors import EXIT_REPRODUCED, UsageError

_SHOWN_CLASSES = 10
_SHOWN_CHARACTERS = 70
# As far back as char_gpt sees.
_BLOCK = 64


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb, and what it can do, to the command line."""
    parser = subparsers.add_parser("data", help="make a data set of your own labelled images, or of a text")
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=type(parser))
    imported = actions.add_parser(
        "import", help="from arrays (.npz), IDX files as MNIST's, a folder with one for each class, or a text (.txt)"
    )
    imported.add_argument("name", metavar="NAME", help="what a recipe will call it")
    for split, further in (("train", ""), ("test", " (default: the last tenth of a text)")):
        imported.add_argument(
            f"--{split}", type=Path, required=not further, metavar="PATH", help=f"images, or a text, to {split} on{further}"
        )
        imported.add_argument(
            f"--{split}-labels", type=Path, metavar="FILE", help=f"labels of an IDX file of --{split} (default: by its name)"
        )
    options.add_json(imported)
    imported.set_defaults(run=run_import)


def run_import(arguments: argparse.Namespace) -> int:
    """Make NAME.npz in the data directory, and say what is in it and how a recipe asks for it."""
    name, progress = options.data_set_name(arguments.name), options.import_progress()
    if arguments.train.suffix.lower() == ".txt":
        return _import_text(name, arguments)
    if arguments.test is None:
        raise UsageError("--test: needed for images. Of a text (.txt) alone, the last tenth is tested on.")
    train = read_split(arguments.train, "train", labels=arguments.train_labels, progress=progress)
    test = read_split(arguments.test, "test", labels=arguments.test_labels, progress=progress)
    whole = make_labelled(train, test)
    path = write_labelled(name, whole)
    model = {"image_shape": list(whole.train_images.shape[1:]), "n_classes": len(whole.class_names)}
    sizes = {"n_train": len(whole.train_labels), "n_test": len(whole.test_labels)}
    made = MadeDataSet(path=str(path), data={"name": path.stem, "checksum": whole.checksum, **sizes}, model=model)
    shared = shared_images(whole)
    print("\n".join(_lines(whole, made, shared=shared)))
    answer = DataImportAnswer(exit_code=EXIT_REPRODUCED, made=made, classes=whole.class_names, shared=shared)
    options.write_json(arguments, answer)
    return EXIT_REPRODUCED


def _import_text(name: str, arguments: argparse.Namespace) -> int:
    for option in ("train_labels", "test_labels"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')}: a text has no labels. Leave it out.")
    whole = make_text(arguments.train, arguments.test)
    path = write_text(name, whole)
    sizes = {"n_train": language.places(len(whole.train), _BLOCK), "n_test": language.stretches(len(whole.test), _BLOCK)}
    data, model = {"name": path.stem, "checksum": whole.checksum, **sizes}, {"vocabulary": len(whole.characters)}
    made = MadeDataSet(path=str(path), data=data, model={**model, "block": _BLOCK})
    print("\n".join(_lines_of_text(whole, made)))
    options.write_json(arguments, DataImportAnswer(exit_code=EXIT_REPRODUCED, made=made, classes=(), shared=None))
    return EXIT_REPRODUCED


def _lines_of_text(whole: TextSet, made: MadeDataSet) -> list[str]:
    shown = "".join(map(chr, whole.characters))
    shown = repr(shown[:_SHOWN_CHARACTERS])[1:-1] + ("..." if len(shown) > _SHOWN_CHARACTERS else "")
    return [
        f"train: {len(whole.train):,} characters",
        f"test: {len(whole.test):,} characters",
        f"{len(whole.characters)} kinds: {shown}",
        f"data set: {made.path}",
        f"a recipe asks for all of it, with a model.block of {_BLOCK}, by",
        f"  model: {{vocabulary: {len(whole.characters)}}}",
        f"  data: {options.in_recipe(made.data)}",
    ]


def _lines(whole: LabelledSet, made: MadeDataSet, *, shared: int) -> list[str]:
    names, lines = whole.class_names, []
    for split, labels in (("train", whole.train_labels), ("test", whole.test_labels)):
        counts = np.bincount(labels, minlength=len(names))
        lines.append(f"{split}: {len(labels):,} images, {counts.min():,} to {counts.max():,} of a class")
    shown = ", ".join(names[:_SHOWN_CLASSES]) + (", ..." if len(names) > _SHOWN_CLASSES else "")
    return [
        *lines,
        f"{shared:,} test images with the very pixels of a training image",
        f"{len(names)} classes: {shown}",
        f"data set: {made.path}",
        "a recipe asks for it by",
        f"  model: {options.in_recipe(made.model)}",
        f"  data: {options.in_recipe(made.data)}",
    ]
