"""Rows of a reference, made from a finished run."""

from __future__ import annotations

import copy

from vigil.references.samples import row_from_record

RECIPE = {"name": "resnet_cifar", "version": 1, "hash": "aa11", "profile": "quick"}
VERIFIED = {"verdict": "reproduced", "reason": "589 tensors within their limits", "verify_id": "one", "golden": "ab" * 32}


def make_row(record, *, seed, run_id=None, value=81.5):
    changed = copy.deepcopy(record)
    changed["seed"], changed["run_id"], changed["metric"]["value"] = seed, run_id or f"run-{seed}", value
    return row_from_record(changed)
