"""A user's step on two devices: what the file says of how they share it is held to float64 like all else."""

from __future__ import annotations

import pytest

from vigil.cli.main import main
from vigil.documents.step import StepVerification

TORCH = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Dropout(0.3), nn.Linear(8, 3))

def batch(seed):
    return torch.randn(6, 5, generator=torch.Generator().manual_seed(seed))

def loss(model, batch):
    return model(batch).square().mean()

def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)

def distribute(model):
    return nn.parallel.DistributedDataParallel(model)
"""
JAX = """
import jax
import jax.numpy as jnp

def build():
    first, second = jax.random.split(jax.random.PRNGKey(0))
    return {"a": jax.random.normal(first, (5, 8)), "b": jax.random.normal(second, (8, 3))}

def batch(seed):
    return jax.random.normal(jax.random.PRNGKey(seed), (6, 5))

def loss(model, batch):
    return jnp.square(jnp.tanh(batch @ model["a"]) @ model["b"]).mean()

def distribute(batch):
    mesh = jax.sharding.Mesh(jax.devices()[:2], ("rows",))
    return jax.device_put(batch, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows")))
"""
UNSHARED = TORCH.replace("nn.parallel.DistributedDataParallel(model)", "model")
TWICE = JAX.replace("jax.device_put(batch,", "jax.device_put(batch.at[3:].set(batch[:3]),")


@pytest.mark.parametrize(
    ("source", "mode", "verdict"),
    [
        pytest.param(TORCH, "eager", "reproduced", marks=pytest.mark.torch),
        pytest.param(UNSHARED, "eager", "regressed", marks=pytest.mark.torch),
        pytest.param(JAX, "jit", "reproduced", marks=pytest.mark.jax),
        pytest.param(JAX, "eager", "reproduced", marks=pytest.mark.jax),
        pytest.param(TWICE, "jit", "regressed", marks=pytest.mark.jax),
    ],
    ids=["ddp", "gradients of one part", "sharded", "sharded, op by op", "one half twice"],
)
def test_a_step_on_two_devices_is_that_of_one(tmp_path, monkeypatch, source, mode, verdict):
    """With what is drawn at random, in each device's part; what is not averaged, or is there twice, is out."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    (tmp_path / "my_step.py").write_text(source, encoding="utf-8")
    main(["verify", str(tmp_path / "my_step.py"), "--mode", mode, "--precision", "fp32", "--devices", "2"])
    [file] = tmp_path.glob("runs/*/step.json")
    [context] = StepVerification.read(file.parent).contexts
    assert (context.context.devices, context.threads, context.verdict.name) == (2, 1, verdict), context.verdict.reason
    assert any(each.tensor.startswith("gradients/") for each in context.out) is (verdict == "regressed")


def test_two_devices_need_a_file_that_says_how(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    file = tmp_path / "my_step.py"
    file.write_text(TORCH.replace("def distribute", "def shared"), encoding="utf-8")
    assert main(["verify", str(file), "--devices", "2"]) == 2
    assert "--devices: found 2. Allowed: 1, and 2 where my_step.py defines distribute." in capsys.readouterr().err
    file.write_text(TORCH, encoding="utf-8")
    assert main(["verify", str(file), "--devices", "3"]) == 2
    assert "Allowed: 1, 2." in capsys.readouterr().err
