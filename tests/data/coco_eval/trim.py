"""Make the three .json.gz files beside this one from the originals: `python trim.py FOLDER`. README.md says what they are."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ORIGINALS = {
    "ground_truth": ("instances_val2014_100.json", "0b82aff564f8c3774595d5457d12dbcf92da59b6482d2bd973520910703762bd"),
    "bbox_results": (
        "instances_val2014_fakebbox100_results.json",
        "b4a7f9c8ab0eac60e3bf9b23052d20c7bf38d8c49c65a254e238989c84e15173",
    ),
    "segm_results": (
        "instances_val2014_fakesegm100_results.json",
        "53e131551ea6f84c6fbd7273c603cc52e6dee4eb8f42d3fcf556053c356fb91b",
    ),
}
KEPT = {
    "images": ("id", "height", "width"),
    "annotations": ("id", "image_id", "category_id", "iscrowd", "area", "bbox", "segmentation"),
    "categories": ("id", "name"),
}


def trimmed(document: Any) -> Any:
    """Return what enters the evaluation; a list of results is returned whole."""
    if isinstance(document, list):
        return document
    return {name: [{key: entry[key] for key in keys} for entry in document[name]] for name, keys in KEPT.items()}


def main(folder: Path) -> None:
    """Check each original, and write its trimmed form here, with the same bytes at any time."""
    for name, (original, sha256) in ORIGINALS.items():
        content = (folder / original).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            sys.exit(f"{folder / original}: expected SHA-256 {sha256}, found {found}")
        small = json.dumps(trimmed(json.loads(content)), separators=(",", ":")).encode()
        Path(__file__).with_name(f"{name}.json.gz").write_bytes(gzip.compress(small, 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
