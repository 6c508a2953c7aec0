"""The processes of a user's step: begun anew, or forked from one that has the framework imported."""

from __future__ import annotations

import pytest

from runners.contract.steps import frame
from vigil.process.hosts import hosts
from vigil.steps.processes import run
from vigil.steps.verify import asked_of

STEP = """
import torch

def build():
    return torch.nn.Linear(5, 3)

def batch(seed):
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))

def loss(model, batch):
    return model(batch).square().mean()
"""


@pytest.mark.torch
def test_a_forked_step_is_the_same(tmp_path):
    """Its host has the framework alone; the step is what it is in a process of its own, and is repeated as often as is said."""
    file = tmp_path / "my_step.py"
    file.write_text(STEP, encoding="utf-8")
    with hosts() as opened:
        ended = [
            run(asked_of(file, "torch", hosts=each), tmp_path / name, task="oracle", precision="fp32", seeds=[0])
            for name, each in (("anew", None), ("forked", opened))
        ]
        asked = asked_of(file, "torch", hosts=opened, repeats=3)
        context = run(asked, tmp_path / "context", task="context", precision="fp32", expected=[ended[1].directory])
    assert [each.failure for each in (*ended, context)] == [None] * 3
    assert ended[0].read(frame.FLOORS) == ended[1].read(frame.FLOORS)
    assert context.read(frame.ANSWERS)[frame.REPEAT]["calls"] == 3
    assert context.environment["framework_version"]
