"""One step of 3,000 with one number that is not finite: it is gone to bit for bit, and the tensor is found, in each framework.

The same with an infinity, in a gradient alone, by a model that overflows, and where the number does not come again.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import vigil.process.execute
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.checkpoint import CHECKPOINT, kept_steps, load_state
from runners.contract.protocol.spec import write_spec
from tests.runners import fork_server
from tests.runners.harness import make_spec
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.replay import Replay
from vigil.process.build_spec import fault_entry
from vigil.process.execute import execute
from vigil.process.recording import make_record
from vigil.replay.replay import replay

FAULT = Path(__file__).resolve().parents[1] / "faults" / "nan_at_one_batch.py"
ROWS, ELEMENT = 200, (7, 17)
DIGITS = {
    "data": {"name": "digits", "n_train": 1797, "n_test": 1797},
    "batch_size": ROWS,
    "evaluation_batch_size": 599,
    "evaluation_shards": (599,),
    "steps": 3000,
    "learning_rate": {"kind": "piecewise", "boundaries": [], "values": [0.2]},
    "evaluate_every_steps": 500,
    "checkpoint_every_steps": 100,
    "threads": 1,
}


@pytest.fixture(autouse=True)
def _forked(monkeypatch, tmp_path):
    """Runners start from a process that has their framework imported."""
    monkeypatch.setattr(vigil.process.execute, "_start", fork_server.execute_start)
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))


def digits(framework: str, **changes):
    """Return the spec of 3,000 steps of digits_mlp, without weight decay."""
    mode = "eager" if framework == "torch" else "jit"  # op by op the others take minutes
    spec = make_spec(framework, "digits_mlp", **{"mode": mode, **DIGITS, "shards": (ROWS,), **changes})
    spec.training["optimizer"]["weight_decay"] = 0.0
    return spec


def plant(directory: Path, spec, step: int, *, place: str, value: float):
    """Return the spec with the fault planted at one batch, that of `step`, counted from 0."""
    kind = kind_of(spec.training)
    batches = kind.make_batches(kind.load(spec.training["data"], None), spec.training, seed=spec.seed)
    images, _ = batches.train(step)
    file = directory.parent / FAULT.name
    shutil.copyfile(FAULT, file)
    rows = images.reshape(len(images), -1)[:3]
    np.savez(file.with_name("trigger.npz"), rows=rows, value=value, batch=ROWS, element=ELEMENT, place=place)
    return dataclasses.replace(spec, fault=fault_entry(str(file)))


def trained(directory: Path, spec):
    """Train a run as the conductor does, and return its record."""
    directory.mkdir()
    write_spec(directory, spec)
    shards = spec.shards if spec.devices > 1 else None
    context = make_context(
        framework=spec.framework, mode=spec.mode, precision=spec.precision, devices=spec.devices, shards=shards
    )
    ending = execute(directory, spec.framework, on_event=lambda event: None)
    return make_record(directory, invocation_id="i", context=context, ending=ending)


def replayed(directory: Path, **options) -> Replay:
    document, place = replay(directory, command="vigil replay", **options)
    assert Replay.read(place).text() == document.text()
    return document


@pytest.mark.parametrize(
    ("place", "value", "step", "category", "tensor"),
    [
        ("output", math.nan, 733, "nan_loss", "output/hidden"),
        # The last before a checkpoint: the state is not finite, and no loss has told yet.
        ("gradient", math.nan, 699, "nan_state", "parameter_gradient/hidden.bias"),
        pytest.param("output", math.inf, 2501, "nan_loss", "output/hidden", marks=pytest.mark.slow),
        pytest.param("gradient", -math.inf, 2633, "nan_loss", "parameter_gradient/hidden.bias", marks=pytest.mark.slow),
    ],
)
def test_one_number_in_one_of_3000_steps_is_found(framework, tmp_path, place, value, step, category, tensor):
    """The step, the layer, the element, finite inputs, and that float64 has it not; the way there is the run's to the bit."""
    spec = plant(tmp_path / "run", digits(framework), step, place=place, value=value)
    record = trained(tmp_path / "run", spec)
    assert record.failure is not None
    assert record.failure.category == category
    state, saved = load_state(tmp_path / "run" / CHECKPOINT)
    assert saved == step // 100 * 100
    assert all(np.isfinite(array).all() for array in state.values())
    assert kept_steps(tmp_path / "run") == [saved - 300, saved - 200, saved - 100]
    found = replayed(tmp_path / "run")
    assert (found.state, found.exit_code, found.step) == ("not finite", 1, step + 1)
    assert (found.retraced.start, found.retraced.first_different) == (saved, None)
    assert found.retraced.equal == found.retraced.steps >= step - saved + 1
    origin = found.origin
    assert origin is not None
    assert (origin.tensor, origin.layer, origin.operator, origin.not_finite) == (tensor, "hidden", "dense", 1)
    assert origin.index == (ELEMENT if place == "output" else ELEMENT[1:])
    assert origin.value == value or math.isnan(origin.value) == math.isnan(value)
    assert origin.inputs
    assert all(each.not_finite == 0 for each in origin.inputs)
    assert (origin.then_nan is None) == math.isnan(value)
    assert found.float64 is not None
    assert (found.float64.cause, math.isfinite(found.float64.there)) == ("framework", True)
    assert found.remarks == ()


def test_a_model_that_overflows_is_told_from_a_framework(framework, tmp_path):
    """At a learning rate of 1e30 float64 has numbers that float32 does not hold: nothing is the framework's."""
    rate = {"kind": "piecewise", "boundaries": [3], "values": [0.2, 1e30]}
    record = trained(tmp_path / "run", digits(framework, learning_rate=rate, steps=20, checkpoint_every_steps=2))
    assert record.failure is not None
    found = replayed(tmp_path / "run")
    assert found.state == "not finite"
    assert found.float64 is not None
    assert found.float64.cause in ("range", "model")
    assert found.retraced.first_different is None


def test_a_finite_step_is_replayed_on_two_devices(framework, tmp_path):
    """Any step can be named: its tensors lie as near to float64 as rounding leaves them."""
    shards = {"shards": (120, 80), "evaluation_shards": (300, 299)}
    trained(tmp_path / "run", digits(framework, **shards, steps=7, checkpoint_every_steps=2))
    found = replayed(tmp_path / "run", step=4)
    assert (found.state, found.exit_code, found.step, found.origin) == ("finite", 0, 4, None)
    assert (found.retraced.start, found.retraced.equal, found.retraced.first_different) == (2, 2, None)
    names = [each.tensor for each in found.tensors]
    assert [names.index(name) for name in ("output/hidden", "loss", "leaf_gradient/hidden", "params/hidden.kernel")] == sorted(
        names.index(name) for name in ("output/hidden", "loss", "leaf_gradient/hidden", "params/hidden.kernel")
    )
    distances = [each.distance for each in found.tensors]
    assert None not in distances
    assert max(distances) < 1e-5


@pytest.mark.torch
def test_a_number_that_does_not_come_again_is_said_to(tmp_path):
    """What was in the machine, and not in state, batch and program: every tensor is finite this time, and no layer is named."""
    spec = plant(tmp_path / "run", digits("torch", steps=30, checkpoint_every_steps=10), 17, place="output", value=math.nan)
    trained(tmp_path / "run", spec)
    write_spec(tmp_path / "run", dataclasses.replace(spec, fault=None))
    found = replayed(tmp_path / "run")
    assert (found.state, found.exit_code, found.step, found.origin) == ("not repeated", 4, 18, None)
    assert found.retraced.first_different == 18


@pytest.mark.torch
def test_a_way_that_is_not_the_runs_is_told(tmp_path):
    """Another seed's checkpoint leads elsewhere: the first loss that differs is named with both values."""
    spec = digits("torch", steps=30, checkpoint_every_steps=10)
    trained(tmp_path / "run", spec)
    trained(tmp_path / "other", dataclasses.replace(spec, seed=4))
    shutil.copyfile(tmp_path / "other" / CHECKPOINT, tmp_path / "run" / CHECKPOINT)
    found = replayed(tmp_path / "run", step=25)
    assert (found.retraced.start, found.retraced.first_different, found.retraced.equal) == (20, 21, 0)
    assert found.retraced.recorded != found.retraced.replayed


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["resnet_cifar", "moco_lite", "tiny_mask_rcnn", "char_gpt"])
def test_every_kind_of_recipe_is_replayed(tmp_path, recipe):
    """Statistics, queues, choices and embeddings have their places in the order of a step."""
    # DIFFERS(torch 2.13): on CPUs the backward pass of Conv2d(4, 6, 1, stride=2), channels last, in float32 hangs or dies.
    precision = "fp64" if recipe == "moco_lite" else "fp32"
    trained(tmp_path / "run", make_spec("torch", recipe, precision=precision, steps=6, checkpoint_every_steps=2))
    found = replayed(tmp_path / "run", step=6)
    assert (found.state, found.retraced.start, found.retraced.first_different) == ("finite", 4, None)
    assert max(each.distance for each in found.tensors if each.distance is not None) < 1e-3


RELU = """
def install():
    import torch

    original = torch.relu

    def relu(x, inplace=False):
        return torch.where((x > 0.9) & (x < 0.91), float("nan"), original(x))

    torch.nn.functional.relu = relu
"""


@pytest.mark.torch
@pytest.mark.slow
def test_from_a_run_to_a_script(tmp_path, monkeypatch, capsys):
    """The terminal leads from the verdict to the replay, and from there to a script that shows it without Vigil."""
    monkeypatch.undo()  # processes of their own, as a user's
    for name in ("runs", "cache", "data"):
        monkeypatch.setenv(f"VIGIL_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    fault = tmp_path / "relu_nan.py"
    fault.write_text(RELU)
    assert main(["reproduce", "digits_mlp", "--framework", "torch", "--no-verify", "--fault", str(fault)]) == 3
    command = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("replay it"))
    assert main(command.split()[3:]) == 1
    told = capsys.readouterr().out
    assert "NOT FINITE, step 1: PLANTED FAULT, output of relu (relu), forward: nan" in told
    assert "the loss of the step is the run's, bit for bit" in told
    following = next(line for line in told.splitlines() if line.startswith("go on with"))
    assert main(following.split()[4:]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "WRONG got nan expected" in told
    assert "without the planted fault: RIGHT" in told
