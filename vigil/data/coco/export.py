"""The scenes as a folder in COCO's format, for other tools: train.json, test.json, and PNG images in train/ and test/."""

from __future__ import annotations

import json
from pathlib import Path

from runners.contract.data import instances
from vigil.data.coco.documents import ground_truth
from vigil.errors import DirectoryError, UsageError


def export_scenes(folder: Path, *, n_train: int, n_test: int) -> dict[str, int]:
    """Write the first scenes of both splits; return the number of instances in each.

    `vigil coco import` of the folder gives the same pixels, masks, boxes and classes back, bit for bit.

    Raises:
        UsageError: The folder exists and is not empty.
        DirectoryError: It cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is there already. Give a folder that is new or empty.")
    whole = instances.load({"name": instances.EMBEDDED, "n_train": n_train, "n_test": n_test}, None)
    try:
        return {name: _write_split(folder, name, getattr(whole, name), whole.class_names) for name in ("train", "test")}
    except OSError as error:
        raise DirectoryError(f"{folder}: cannot be written ({error.strerror or error}). Make room or give access.") from error


def _write_split(folder: Path, name: str, split: instances.Instances, class_names: tuple[str, ...]) -> int:
    from PIL import Image

    (folder / name).mkdir(parents=True)
    document = ground_truth(split, class_names)
    for image, pixels in zip(document["images"], split.images, strict=True):
        image["file_name"] = f"{name}/{image['id']:06d}.png"
        Image.fromarray(pixels).save(folder / image["file_name"])
    for annotation in document["annotations"]:
        annotation["segmentation"]["counts"] = annotation["segmentation"]["counts"].decode("ascii")
    document["info"] = {"description": f"Vigil's generated scenes, {name}"}
    (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return len(document["annotations"])
