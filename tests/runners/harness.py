"""Runs real runners on a tiny recipe, each in its own process."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from runners.contract.kinds import detections
from runners.contract.kinds.detections import Detections
from runners.contract.protocol.checkpoint import FINAL, load_state
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import RunSpec, write_spec
from tests.runners import fork_server
from tests.runners.fork_server import share_of_cores
from vigil.recipes.loading import load_recipe

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("torch", "tensorflow", "jax")
BATCH = 12


def frameworks(*quick: str) -> list:
    """Return every framework as a fixture's parameter; those that are not named are slow."""
    return [
        pytest.param(name, marks=[getattr(pytest.mark, name), *([] if name in quick else [pytest.mark.slow])])
        for name in FRAMEWORKS
    ]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one run left behind."""

    exit_code: int
    events: list[dict]
    state: dict[str, np.ndarray] | None
    log: str
    detections: Detections | None

    @property
    def losses(self) -> list[float]:
        return [loss for event in self.events if event["kind"] == "steps" for loss in event["losses"]]

    @property
    def failure(self) -> dict | None:
        return next((event for event in self.events if event["kind"] == "failed"), None)

    @property
    def metrics(self) -> dict[str, float]:
        return next(event["metrics"] for event in self.events if event["kind"] == "finished")


# Two parts of batch norm on one of two devices, one on the other, fit twelve rows. Two stages have every layer that three have.
WIDTHS = [4, 10]
_NARROW = {
    "resnet_cifar": {"widths": WIDTHS, "depth": 8},
    "moco_lite": {"widths": [4, 6], "blocks": [1, 1], "dimension": 8, "queue": 30},
    # Proposals that hardly overlap are few: some places for regions stay empty.
    "tiny_mask_rcnn": {
        "widths": [4, 4, 6, 8],
        "blocks": [1, 1, 1],
        "channels": 6,
        "hidden": 10,
        "proposals": {"considered": 60, "least_side": 1.0, "overlap": 0.1, "count": 32},
    },
    "digits_mlp": {},
    "char_gpt": {"block": 8, "width": 12, "layers": 2, "heads": 2, "hidden": 16},
}
_DATA = {
    "resnet_cifar": {"name": "generated", "n_train": 60, "n_test": 30},
    "tiny_mask_rcnn": {"name": "scenes", "checksum": None, "n_train": 24, "n_test": 10},
    "char_gpt": {"name": "tiny_shakespeare", "n_train": 60, "n_test": 30},
}


def make_spec(framework: str, recipe: str = "resnet_cifar", **changes) -> RunSpec:
    """Return the spec of five steps of a narrow model; a change named like a field of the recipe goes there."""
    training = load_recipe(recipe).resolve("smoke")
    training["model"] |= _NARROW[recipe]
    training |= {
        "data": _DATA.get(recipe, _DATA["resnet_cifar"]),
        "batch_size": BATCH,
        "evaluation_batch_size": 10,
        "steps": 5,
        "learning_rate": {"kind": "piecewise", "boundaries": [2, 4], "values": [0.1, 0.02, 0.004]},
        "evaluate_every_steps": 5,
        "checkpoint_every_steps": 2,
    }
    training["optimizer"] |= {"weight_decay": 0.01}
    if "across_devices" in changes:
        training["model"]["batch_norm"] = {
            **training["model"]["batch_norm"],
            "across_devices": changes.pop("across_devices"),
        }
    if "rows" in changes:
        training["model"]["batch_norm"] |= {"rows": changes.pop("rows")}
    for key in [key for key in changes if key in training]:
        training[key] = changes.pop(key)
    shards = tuple(changes.pop("shards", (training["batch_size"],)))
    even = [10 // len(shards) + (index < 10 % len(shards)) for index in range(len(shards))]
    fields = {
        "schema": 1,
        "run_id": "test",
        "recipe": {"name": "tiny", "version": 1, "hash": "0" * 12, "profile": "test"},
        "framework": framework,
        "mode": "eager",
        "precision": "fp32",
        "device": "cpu",
        "devices": len(shards),
        "shards": shards,
        "evaluation_shards": tuple(even),
        "determinism": "off",
        "randomness": "shared",
        "seed": 3,
        "threads": len(share_of_cores()),
        "cores": share_of_cores(),
        "training": training,
        "data_directory": None,
        "fault": None,
        "heartbeat_seconds": 2.0,
    }
    return RunSpec(**{**fields, **changes})


def start(directory: Path, spec: RunSpec, *, compiles_anew: bool = False) -> fork_server.Forked:
    """Start the runner in `directory`. `compiles_anew`: it reads nothing that was compiled before, as JAX would."""
    write_spec(directory, spec)
    module = "tests.runners.compile_anew" if compiles_anew and spec.framework == "jax" else f"runners.{spec.framework}"
    return fork_server.start(spec.framework, module, str(directory), log=directory / "log.txt")


def name_of(spec: RunSpec, *rest: object) -> str:
    """Return a name for what a spec, and whatever else is asked, gives on any core: the folder of `once`."""
    text = json.dumps([dataclasses.asdict(dataclasses.replace(spec, cores=None)), *rest], sort_keys=True)
    return f"{spec.framework}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def outcome(directory: Path, exit_code: int) -> Outcome:
    """Read what a run left in `directory`."""
    final, found = directory / FINAL, directory / detections.FILE_NAME
    return Outcome(
        exit_code,
        read_events(directory),
        load_state(final)[0] if final.exists() else None,
        (directory / "log.txt").read_text(errors="replace"),
        detections.read(found) if found.exists() else None,
    )


def finished(result: Outcome) -> Outcome:
    """Return the outcome of a run that must have finished."""
    assert result.exit_code == 0, result.log[-3000:]
    return result
