"""Fixtures that tests of more than one room share."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Callable
from typing import Any

import pytest

from runners.contract.protocol.spec import SCHEMA, RunSpec
from vigil.recipes.loading import load_recipe

# The shipped recipe's numerics at a size of the tests' own, so that tuning a profile moves no test.
_TINY = load_recipe("resnet_cifar").resolve("smoke") | {
    "data": {"name": "generated", "n_train": 512, "n_test": 256}, "batch_size": 64, "evaluation_batch_size": 128,
    "steps": 4, "evaluate_every_steps": 2, "checkpoint_every_steps": 2,
    "learning_rate": {"kind": "piecewise", "boundaries": [2], "values": [0.05, 0.005]},
}


@pytest.fixture(autouse=True)
def _no_flush_to_disk(monkeypatch):
    """A test's files need not survive a power cut, and on a busy disk each flush takes seconds."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def training() -> dict[str, Any]:
    """The resolved content of a small resnet_cifar run, a copy that a test may change."""
    return copy.deepcopy(_TINY)


@pytest.fixture
def make_spec(training) -> Callable[..., RunSpec]:
    """Return a function that makes the spec of a small run; its arguments replace fields."""
    spec = RunSpec(
        schema=SCHEMA, run_id="run-seed0",
        recipe={"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "smoke"},
        framework="torch", mode="eager", precision="fp32", device="cpu", devices=1, shards=(training["batch_size"],),
        evaluation_shards=(training["evaluation_batch_size"],), determinism="off", randomness="shared", seed=0,
        threads=1, cores=None, training=training, data_directory=None, fault=None, heartbeat_seconds=60.0,
    )
    return lambda **changes: dataclasses.replace(spec, **changes)
