"""`vigil coco`: a user's annotated images in, the generated scenes out, and recorded detections as figures or as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from runners.contract.data.scenes import MAXIMUM
from vigil.cli import options
from vigil.cli.answers import (
    CocoDrawAnswer,
    CocoEvaluateAnswer,
    CocoExportAnswer,
    CocoImportAnswer,
    ExportedSplit,
    MadeDataSet,
    SplitCounts,
)
from vigil.data.coco.export import export_scenes
from vigil.data.coco.figures import FIGURES, evaluate
from vigil.data.coco.prepare import Counts, Prepared, Source, prepare
from vigil.data.coco.recorded_detections import read_recorded
from vigil.data.official import write_instances
from vigil.errors import EXIT_REPRODUCED, DataError, UsageError

_SIDES = {"least": 32, "most": 1024}
_MOST_ROWS = 100


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb, and what it can do, to the command line."""
    parser = subparsers.add_parser("coco", help="import and export annotated images, judge and draw detections, in COCO's format")
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=type(parser))
    _add_import(actions)
    exported = actions.add_parser("export", help="write the generated scenes as a folder in COCO's format")
    exported.add_argument("folder", type=Path, metavar="FOLDER", help="where to; new or empty")
    exported.add_argument("--n-train", default="1000", metavar="N", help="training images (default: 1000)")
    exported.add_argument("--n-test", default="200", metavar="N", help="test images (default: 200)")
    options.add_json(exported)
    exported.set_defaults(run=run_export)
    judged = actions.add_parser("evaluate", help="print the figures of recorded detections")
    _add_detections(judged)
    judged.set_defaults(run=run_evaluate)
    drawn = actions.add_parser("draw", help="draw recorded detections beside the ground truth, as masks.png beside the file")
    _add_detections(drawn)
    drawn.add_argument("--images", default="6", metavar="N", help="how many test images, the first ones (default: 6)")
    drawn.set_defaults(run=run_draw)


def _add_import(actions: argparse._SubParsersAction) -> None:
    parser = actions.add_parser("import", help="make a data set of your own images and annotations")
    parser.add_argument("name", metavar="NAME", help="what a recipe will call it")
    for split in ("train", "test"):
        parser.add_argument(f"--{split}", type=Path, required=True, metavar="FILE.json", help=f"annotations to {split} on")
        parser.add_argument(
            f"--{split}-images", type=Path, metavar="FOLDER", help=f"where the images of --{split} are (default: beside it)"
        )
    parser.add_argument("--side", default="128", metavar="N", help="height and width of every image (default: 128)")
    parser.add_argument("--most", default="20", metavar="N", help="instances in a training image at most (default: 20)")
    options.add_json(parser)
    parser.set_defaults(run=run_import)


def _add_detections(parser: argparse.ArgumentParser) -> None:
    options.add_json(parser)
    parser.add_argument("detections", type=Path, metavar="DETECTIONS.npz", help="as a runner writes it, in its run directory")


def run_import(arguments: argparse.Namespace) -> int:
    """Make NAME.npz in the data directory, and say what was left out and how a recipe asks for it."""
    name = options.data_set_name(arguments.name)
    side = options.whole_number("--side", arguments.side, **_SIDES)
    if side % 8:
        raise UsageError(f"--side: found {side}. Allowed: a multiple of 8.")
    most = options.whole_number("--most", arguments.most, least=1, most=_MOST_ROWS)
    train, test = (
        Source(file, folder or file.parent)
        for file, folder in ((arguments.train, arguments.train_images), (arguments.test, arguments.test_images))
    )
    prepared = prepare(train=train, test=test, side=side, most=most, progress=options.import_progress())
    path = write_instances(name, prepared.whole)
    whole = prepared.whole
    sizes = {"n_train": len(whole.train.images), "n_test": len(whole.test.images)}
    made = MadeDataSet(path=str(path), data={"name": path.stem, "checksum": whole.checksum, **sizes}, model={})
    print("\n".join(_import_lines(prepared, made, most=most)))
    splits = {split: SplitCounts.model_validate(each, from_attributes=True) for split, each in prepared.counts.items()}
    facts = {"made": made, "classes": whole.class_names, "shared": prepared.shared_images, "splits": splits}
    options.write_json(arguments, CocoImportAnswer(exit_code=EXIT_REPRODUCED, **facts))
    return EXIT_REPRODUCED


def run_export(arguments: argparse.Namespace) -> int:
    """Write the folder, and say how it comes back."""
    counts = {
        split: options.whole_number(f"--n-{split}", getattr(arguments, f"n_{split}"), least=1, most=MAXIMUM[split])
        for split in ("train", "test")
    }
    found = export_scenes(arguments.folder, n_train=counts["train"], n_test=counts["test"])
    splits = {
        split: ExportedSplit(path=f"{arguments.folder / split}.json", images=count, instances=found[split])
        for split, count in counts.items()
    }
    for each in splits.values():
        print(f"{each.path}: {each.images} images, {each.instances} instances")
    print(
        f"back again: vigil coco import NAME --train {arguments.folder}/train.json --test {arguments.folder}/test.json --most 8"
    )
    options.write_json(arguments, CocoExportAnswer(exit_code=EXIT_REPRODUCED, splits=splits))
    return EXIT_REPRODUCED


def run_evaluate(arguments: argparse.Namespace) -> int:
    """Print the twelve figures of boxes and of masks."""
    recorded = read_recorded(arguments.detections)
    try:
        figures = evaluate(recorded.truth, recorded.detections, class_names=recorded.class_names)
    except ValueError as error:
        raise DataError(f"{arguments.detections}: {error}.") from error
    found = int((recorded.detections.classes >= 0).sum())
    print(f"{arguments.detections}: {found} detections in {len(recorded.truth.images)} test images of {recorded.name}")
    print(f"{'':10}  {'box':>6}  {'mask':>6}")
    for name in FIGURES:
        values = (figures[f"{kind}_{name}"] for kind in ("box", "mask"))
        print(f"{name:10}  " + "  ".join(f"{'-':>6}" if value is None else f"{value:6.4f}" for value in values))
    if None in figures.values():
        print("-: there is nothing of that size to find")
    answer = CocoEvaluateAnswer(
        exit_code=EXIT_REPRODUCED,
        path=str(arguments.detections),
        data=recorded.name,
        images=len(recorded.truth.images),
        detections=found,
        figures=figures,
    )
    options.write_json(arguments, answer)
    return EXIT_REPRODUCED


def run_draw(arguments: argparse.Namespace) -> int:
    """Draw masks.png beside the detections."""
    from reports.masks import FILE_NAME, draw_recorded

    recorded = read_recorded(arguments.detections)
    count = options.whole_number("--images", arguments.images, least=1, most=len(recorded.truth.images))
    path = draw_recorded(recorded, path=arguments.detections.with_name(FILE_NAME), count=count)
    print(path)
    options.write_json(arguments, CocoDrawAnswer(exit_code=EXIT_REPRODUCED, path=str(path), images=count))
    return EXIT_REPRODUCED


def _import_lines(prepared: Prepared, made: MadeDataSet, *, most: int) -> list[str]:
    whole, lines = prepared.whole, []
    for split, counts in prepared.counts.items():
        side = whole.train.side
        lines.append(f"{split}: {_many(counts.images, 'image')} of {side} x {side}, {_many(counts.instances, 'instance')}")
        lines += [f"  {line}" for line in _left_out(split, counts, most=most)]
    lines.append(f"{_many(prepared.shared_images, 'test image')} with the very pixels of a training image")
    lines.append(f"{_many(len(whole.class_names), 'class', 'classes')}: {', '.join(whole.class_names)}")
    lines.append(f"data set: {made.path}")
    lines.append("a recipe asks for it by")
    lines.append(f"  data: {options.in_recipe(made.data)}")
    return lines


def _left_out(split: str, counts: Counts, *, most: int) -> list[str]:
    lines = [f"left out: {_many(counts.vanished, 'instance')} without a pixel at this size"]
    if split == "train":
        crowded = _many(counts.images_beyond_the_most, "image")
        lines += [
            f"left out: {_many(counts.crowds_left_out, 'crowd region')}",
            f"left out: {_many(counts.beyond_the_most, 'instance')}, the smallest, in {crowded} with more than {most}",
            f"left out: {_many(counts.images_left_out, 'image')} without an instance",
        ]
    else:
        lines.append(f"kept, to be passed over in the figures: {_many(counts.crowds, 'crowd region')}")
    if counts.turned:
        lines.append(
            f"not carried out: the camera's turn of {_many(counts.turned, 'image')}, as annotations are in stored pixels"
        )
    return lines


def _many(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or f'{one}s'}"
