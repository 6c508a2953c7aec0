"""A user's step in PyTorch: what is carried out as a program of the mode, and what an optimizer may do."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from runners.contract.steps.own import OwnFileError, load_own  # noqa: E402
from runners.contract.steps.request import StepRequest  # noqa: E402
from runners.torch.step import Oracle, Program, to_numpy  # noqa: E402

pytestmark = pytest.mark.torch
SOURCE = """
import torch
calls = {"loss": 0, "predict": 0}

def build():
    return torch.nn.Linear(3, 2)

def batch(seed):
    return torch.ones(4, 3)

def loss(model, batch):
    calls["loss"] += 1
    return model(batch).square().mean()

def predict(model, batch):
    calls["predict"] += 1
    return model(batch)
"""


@pytest.fixture
def own_and_request(tmp_path):
    """Return a function that loads a source, and what asks of it in a mode."""

    def made(source: str, mode: str = "eager"):
        path = tmp_path / f"step_{mode}.py"
        path.write_text(source, encoding="utf-8")
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        request = StepRequest(
            framework="torch", task="context", looks=False, file=str(path), file_sha256=sha256, mode=mode, precision="fp32",
            threads=1, cores=None, draws=6, repeats=2, seeds=(), expected=(), keeps=False, given=None, fault=None,
            heartbeat_seconds=5.0,
        )  # fmt: skip
        return load_own(path, sha256), request

    return made


@pytest.mark.parametrize(("mode", "is_called_again"), [("eager", True), ("jit", False)])
def test_what_is_predicted_is_a_program_of_the_mode_too(own_and_request, mode, is_called_again):
    """A trace runs without the file's functions: their counts stand still at a second call, and grow in eager mode."""
    own, request = own_and_request(SOURCE, mode)
    program, calls = Program(own, request, {}), own._module.calls
    batch = to_numpy(own.call("batch", 0))
    first = program.evaluate(batch)
    before = dict(calls)
    again = program.evaluate(batch)
    assert {name: calls[name] > before[name] for name in calls} == {"loss": is_called_again, "predict": is_called_again}
    assert set(first) == {"loss", "outputs/0"}
    assert all(first[name].tobytes() == again[name].tobytes() for name in first)


def test_an_optimizer_that_fails_is_told_by_its_line(own_and_request):
    """What it lacks is the file's to mend."""
    lacking = "class Lacking(torch.optim.SGD):\n    def step(self, closure=None):\n        return self.rate\n"
    source = SOURCE + f"\n{lacking}\ndef optimizer(model):\n    return Lacking(model.parameters(), lr=0.1)\n"
    own, request = own_and_request(source)
    with pytest.raises(OwnFileError, match=r"optimizer: AttributeError: .*rate"):
        Oracle(own, request).train([[to_numpy(own.call("batch", 0))]])


def test_gradients_beside_the_first_parameters_are_those_of_the_loss_there(own_and_request):
    """A mean of squares of w x: moved by a tenth, gradients are what twice the outputs make of the inputs."""
    own, request = own_and_request(SOURCE)
    oracle, batch = Oracle(own, request), to_numpy(own.call("batch", 0))
    exact = oracle.train([[batch]])
    assert all((each == exact[f"gradients/{name}"]).all() for name, each in oracle.gradients_at(batch, {}).items())
    first = oracle.parameters()
    found = oracle.gradients_at(batch, {name: 0.1 * np.ones_like(each, np.float64) for name, each in first.items()})
    outputs = (first["weight"].astype(np.float64) + 0.1) @ np.ones(3) + first["bias"] + 0.1
    assert np.allclose(found["bias"], outputs, rtol=1e-12)
    assert np.allclose(found["weight"], outputs[:, None] * np.ones(3), rtol=1e-12)


CHECKPOINTED = """
import torch
from torch.utils.checkpoint import checkpoint

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.inner, self.last = (torch.nn.Linear(3, 3) for _ in range(3))
        self.gate, self.other = torch.nn.Tanh(), torch.nn.Tanh()

    def forward(self, x):
        of = lambda x: self.other(self.inner(self.gate(x)))
        x = self.first(x)
        return self.last(checkpoint(of, x, use_reentrant=REENTRANT) if IS_CHECKPOINTED else of(x))

def build():
    return Net()

def batch(seed):
    return torch.ones(4, 3)

def loss(model, batch):
    return model(batch).square().mean()
"""


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("is_reentrant", [False, True])
def test_a_look_sees_what_a_checkpoint_computes_again(own_and_request, is_reentrant):
    """The same tensors as without it, and their gradients, though their modules are called in the backward pass too."""
    seen = []
    for is_checkpointed in (False, True):
        own, request = own_and_request(f"REENTRANT, IS_CHECKPOINTED = {is_reentrant}, {is_checkpointed}\n{CHECKPOINTED}")
        batch = to_numpy(own.call("batch", 0))
        seen += [Oracle(own, request).taps(batch), Program(own, request, {}).taps(batch)]
    plain, *others = seen
    assert any(name.startswith("backward/") and name.endswith("inner/input") for name in plain)
    for other in others:
        assert list(other) == list(plain)
        assert all(np.allclose(other[name], each, rtol=1e-4, atol=1e-7) for name, each in plain.items())
