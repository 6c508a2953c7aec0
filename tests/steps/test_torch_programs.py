"""What users' programs in PyTorch do: each is right, so none may raise an alarm; and what is planted in one must be seen."""

from __future__ import annotations

import functools
import hashlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from runners.contract.errors import Unsupported  # noqa: E402
from runners.contract.steps.frame import computed  # noqa: E402
from runners.contract.steps.own import OwnFileError, load_own  # noqa: E402
from runners.contract.steps.request import StepRequest  # noqa: E402
from runners.torch.step import Oracle, Program, to_numpy  # noqa: E402

pytestmark = pytest.mark.torch
DRAWS = 8
# In floors. The largest of what is right here is 1.5.
FAR = 6.0
START = """
import dataclasses, torch, torch.nn.functional as F
from torch import nn

def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(16, 6, generator=generator), torch.randn(16, 3, generator=generator)

def build():
    return nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3))

def loss(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])
"""


def begun(tmp_path, source: str, mode: str = "eager", precision: str = "fp32"):
    """Return the program of a file in a context, its oracle, and two batches."""
    path = tmp_path / "program.py"
    path.write_text(START + source, encoding="utf-8")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    request = StepRequest(
        framework="torch", task="context", looks=False, file=str(path), file_sha256=sha256, mode=mode, precision=precision,
        threads=1, cores=None, draws=6, repeats=2, seeds=(), expected=(), keeps=False, given=None, fault=None,
        heartbeat_seconds=5.0,
    )  # fmt: skip
    own = load_own(path, sha256)
    return Program(own, request, {}), Oracle(own, request), [to_numpy(own.call("batch", seed)) for seed in (0, 1)]


def far(ask, oracle, observed: dict[str, np.ndarray]) -> dict[str, float]:
    """Return how far each tensor is from the oracle's answer, in floors."""
    oracle.under(None)
    exact = ask()
    assert set(observed) == set(exact)
    squares = dict.fromkeys(exact, 0.0)
    for draw in range(DRAWS):
        oracle.under(draw)
        for name, tensor in ask().items():
            squares[name] += float(np.sum((tensor - exact[name]) ** 2)) / DRAWS
    found = {}
    for name, tensor in exact.items():
        distance, floor = float(np.linalg.norm(observed[name] - tensor)), squares[name] ** 0.5
        found[name] = distance / floor if floor else (np.inf if distance else 0.0)
    return found


def group(answer: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the tensors of a group, without its name."""
    return {key.removeprefix(f"{name}/"): tensor for key, tensor in answer.items() if key.startswith(f"{name}/")}


def farthest(program, oracle, batches) -> tuple[float, str]:
    """Return how far a program is at most over one step and two, and where."""
    found = {}
    for steps in ([[batches[0]]], [[batches[0]], [batches[1]]]):
        answer = program.train(steps)
        found |= far(lambda steps=steps: computed(oracle.train(steps)), oracle, computed(answer))
        before, gradients = group(answer, "before"), group(answer, "gradients")
        if after := {name: tensor for name, tensor in answer.items() if name.startswith("after/")}:
            found |= far(lambda b=before, g=gradients: oracle.update(b, g), oracle, after)
    name = max(found, key=lambda each: found[each])
    return found[name], name


OF_OPTIMIZERS = {
    "fused": "def optimizer(model):\n    return torch.optim.AdamW(model.parameters(), fused=True)",
    "fused momentum": "def optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=.1, momentum=.9, fused=True)",
    "foreach": "def optimizer(model):\n    return torch.optim.AdamW(model.parameters(), foreach=True)",
    "looks for a number": "def optimizer(model):\n    return torch.optim.Rprop(model.parameters(), lr=.01, etas=(.7, 1.3))",
    "a parameter without gradient": """
def build():
    model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3))
    model.unused = nn.Parameter(torch.ones(4))
    return model

def optimizer(model):
    return torch.optim.AdamW(model.parameters(), weight_decay=0.1)
""",
    "clips within": """
class Clipped(torch.optim.AdamW):
    def step(self, closure=None):
        nn.utils.clip_grad_norm_([each for group in self.param_groups for each in group["params"]], 0.01)
        return super().step(closure)

def optimizer(model):
    return Clipped(model.parameters())
""",
    "counts in groups": """
class Counted(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1, "step": 0})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["step"] += 1
            for each in group["params"]:
                self.state[each]["calls"] = self.state[each].get("calls", 0) + 1
                each.add_(each.grad, alpha=-group["lr"] / (group["step"] + self.state[each]["calls"]))

def optimizer(model):
    return Counted(model.parameters())
""",
    "rows of a largest norm": """
def build():
    return nn.Sequential(nn.Embedding(5, 8, max_norm=0.5), nn.Flatten(), nn.Linear(16, 3))

def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, (16, 2), generator=generator), torch.randn(16, 3, generator=generator)

def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)
""",
}
OF_PROGRAMS = {
    "a table that is indexed": """
def build():
    return nn.Embedding(4, 3)

def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, (4096,), generator=generator), torch.randn(4096, 3, generator=generator)

def loss(model, batch):
    return F.mse_loss(model.weight[batch[0]], batch[1])
""",
    "a letter that is nearly all": """
def build():
    return nn.Embedding(64, 3)

def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    letters = torch.randint(64, (4096,), generator=generator)
    letters[torch.rand(4096, generator=generator) < 0.9] = 7
    return letters, torch.randn(4096, 3, generator=generator) + 1.0

def loss(model, batch):
    return F.mse_loss(model(batch[0]), batch[1])
""",
    "complex numbers": """
def loss(model, batch):
    pairs = torch.view_as_complex(model(batch[0])[:, :2].contiguous())
    turned = pairs * torch.polar(torch.ones(16), torch.arange(16.0))
    return torch.view_as_real(turned).square().mean() + turned.abs().mean()
""",
    "a slope at random": """
def build():
    return nn.Sequential(nn.Linear(6, 9), nn.RReLU(), nn.Linear(9, 3))
""",
    "marks of classes": """
def loss(model, batch):
    return F.multilabel_margin_loss(model(batch[0]), torch.tensor([[0, -1, 1]] * 16))
""",
    "the largest and the least": """
def loss(model, batch):
    least, largest = torch.aminmax(model(batch[0]))
    return largest - least + torch.linalg.vector_norm(model(batch[0]), float("inf"))
""",
    "the largest of groups": """
def loss(model, batch):
    groups = torch.arange(16).remainder(5)[:, None].expand(16, 3)
    return F.mse_loss(torch.zeros(5, 3).scatter_reduce(0, groups, model(batch[0]), "amax"), batch[1][:5])
""",
}
OF_HALVES = {
    "a grid of places": """
def build():
    return nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 6))

def loss(model, batch):
    return F.affine_grid(model(batch[0]).float().view(16, 2, 3), [16, 1, 4, 5], align_corners=False).square().mean()
""",
    "a product of three": """
def build():
    return nn.Bilinear(6, 3, 3)

def loss(model, batch):
    return F.mse_loss(model(batch[0], batch[1]), batch[1])
""",
}


@pytest.mark.parametrize("source", [*OF_OPTIMIZERS.values(), *OF_PROGRAMS.values()], ids=[*OF_OPTIMIZERS, *OF_PROGRAMS])
def test_what_is_right_is_within_rounding(tmp_path, source):
    """Gradients and updates of steps that are common, and right."""
    distance, where = farthest(*begun(tmp_path, source))
    assert distance < FAR, where


@pytest.mark.parametrize("source", OF_HALVES.values(), ids=OF_HALVES)
def test_halves_within_an_operator_of_float32_are_rounding(tmp_path, source):
    """Autocast reaches the product of matrices that PyTorch carries these out by, and leaves their results in float32."""
    program, oracle, batches = begun(tmp_path, source, precision="bf16")
    answer = computed(program.train([[batches[0]]]))
    found = far(lambda: computed(oracle.train([[batches[0]]])), oracle, answer)
    assert max(found.values()) < FAR
    wrong = {name: 1.1 * tensor if name.startswith("gradients/") else tensor for name, tensor in answer.items()}
    assert max(far(lambda: computed(oracle.train([[batches[0]]])), oracle, wrong).values()) > 2 * FAR


@pytest.mark.parametrize(
    ("task", "source", "said"),
    [
        ("train", "nn.Embedding(5, 3, sparse=True)", "sparse=True"),
        ("evaluate", "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1)", "enable_nested_tensor"),
    ],
)
def test_tensors_of_other_layouts_are_refused(tmp_path, task, source, said):
    """By what makes them."""
    source = f"""
def build():
    return {source}

def loss(model, batch):
    if isinstance(model, nn.Embedding):
        return F.mse_loss(model(torch.arange(16) % 5), batch[1])
    rows = batch[0][:, :4].reshape(4, 4, 4)
    return model(rows, src_key_padding_mask=torch.arange(4) >= torch.tensor([[4], [2], [3], [4]])).square().mean()
"""
    _, oracle, batches = begun(tmp_path, source)
    ask = functools.partial(oracle.train, [[batches[0]]]) if task == "train" else functools.partial(oracle.evaluate, batches[0])
    with pytest.raises(Exception, match=said):
        ask()


def test_an_optimizer_that_asks_for_a_closure_is_refused(tmp_path):
    """Which calls the loss as often as it likes: nothing says which of its states is held to what."""
    source = """
def build():
    return nn.Linear(8, 3)

def loss(model, batch):
    return model(batch[0][:, :8]).square().mean()

def optimizer(model):
    return torch.optim.LBFGS(model.parameters())
"""
    program, _, batches = begun(tmp_path, source)
    with pytest.raises(OwnFileError, match=r"LBFGS asks for the loss several times"):
        program.train([[batches[0]]])


def test_an_operator_that_calls_functions_is_refused(tmp_path):
    """By its name, and not by PyTorch's words about modes."""
    source = """
def build():
    return nn.Linear(8, 3)

def loss(model, batch):
    rows = batch[0][:, :8]
    return torch.cond(rows.sum() > 0, lambda x: model(x).sin().sum(), lambda x: model(x).cos().sum(), (rows,))
"""
    _, oracle, batches = begun(tmp_path, source)
    with pytest.raises(Unsupported, match=r"torch\.cond: it calls functions"):
        oracle.train([[batches[0]]])


def test_an_encoder_without_nested_tensors_evaluates(tmp_path):
    """In its fast path, which is one operator."""
    source = """
def build():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1, enable_nested_tensor=False)

def loss(model, batch):
    rows = batch[0][:, :4].reshape(4, 4, 4)
    return model(rows, src_key_padding_mask=torch.arange(4) >= torch.tensor([[4], [2], [3], [4]])).square().mean()
"""
    program, oracle, batches = begun(tmp_path, source)
    found = far(lambda: oracle.evaluate(batches[0]), oracle, program.evaluate(batches[0]))
    assert max(found.values()) < FAR


def test_an_update_that_is_wrong_is_seen_in_a_fused_optimizer(tmp_path):
    """Its floor is no wider than one of single operators: a rate that is off by a thousandth is told."""
    program, oracle, batches = begun(tmp_path, OF_OPTIMIZERS["fused momentum"])
    answer = program.train([[batches[0]]])
    before, gradients, after = (group(answer, name) for name in ("before", "gradients", "after"))
    wrong = {f"after/{name}": tensor for name, tensor in after.items()}
    wrong["after/params/0.weight"] = before["params/0.weight"] - 0.1001 * gradients["0.weight"]
    assert far(lambda: oracle.update(before, gradients), oracle, wrong)["after/params/0.weight"] > 50.0


def test_a_product_in_float64_keeps_its_floor(tmp_path):
    """What is then changed in place is changed once in a draw, too: else nothing would be beyond the floor."""
    source = """
def loss(model, batch):
    hidden = model[0](batch[0]).double() @ model[2].weight.double().T
    hidden *= 0.5
    hidden += 1.0
    return (hidden.float() - batch[1]).square().mean()
"""
    program, oracle, batches = begun(tmp_path, source)
    answer = computed(program.train([[batches[0]]]))
    wrong = {name: 1.001 * tensor if name.startswith("gradients/") else tensor for name, tensor in answer.items()}
    found = far(lambda: computed(oracle.train([[batches[0]]])), oracle, wrong)
    assert min(found["gradients/0.weight"], found["gradients/2.weight"]) > 50.0


def test_a_number_in_a_batch_is_no_part_of_a_trace(tmp_path):
    """Batches that are alike but for a number of Python's have programs of their own."""
    source = """
def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(16, 6, generator=generator), torch.randn(16, 3, generator=generator), 1.0 + seed

def loss(model, batch):
    return batch[2] * F.mse_loss(model(batch[0]), batch[1])

def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)
"""
    distance, where = farthest(*begun(tmp_path, source, mode="jit"))
    assert distance < FAR, where


def test_a_teacher_that_the_loss_moves_is_looked_at(tmp_path):
    """Its weights take no gradient and are no buffers; a share that is off is told."""
    source = """
def build():
    torch.manual_seed(0)
    model = nn.ModuleDict({"student": nn.Linear(6, 3), "teacher": nn.Linear(6, 3)})
    model.teacher.requires_grad_(False)
    return model

SHARE = 0.9

def loss(model, batch):
    with torch.no_grad():
        for one, other in zip(model.teacher.parameters(), model.student.parameters()):
            one.mul_(SHARE).add_(other, alpha=1 - SHARE)
    return F.mse_loss(model.student(batch[0]), model.teacher(batch[0]))
"""
    program, oracle, batches = begun(tmp_path, source)
    answer = computed(program.train([[batches[0]]]))
    found = far(lambda: computed(oracle.train([[batches[0]]])), oracle, answer)
    assert max(found.values()) < FAR
    program.own._module.SHARE = 0.901
    wrong = computed(program.train([[batches[0]]]))
    program.own._module.SHARE = 0.9
    assert far(lambda: computed(oracle.train([[batches[0]]])), oracle, wrong)["stats/teacher.weight"] > 50.0


@pytest.mark.parametrize(
    ("gives", "said"),
    [("Given(model(batch[0]))", "gave Given"), ("[Given(1), model(batch[0])]", "gave Given"), ("'nothing'", "gave no tensor")],
)
def test_a_prediction_that_nobody_could_compare_is_refused(tmp_path, gives, said):
    """It would have been left out in silence."""
    source = f"""
@dataclasses.dataclass
class Given:
    logits: object

def predict(model, batch):
    return {gives}
"""
    program, _, batches = begun(tmp_path, source)
    with pytest.raises(OwnFileError, match=rf"predict: {said}"):
        program.evaluate(batches[0])


def test_bits_that_are_seen_as_other_numbers_are_refused(tmp_path):
    """Of a float32 whose bits are read as an integer there is no float64."""
    source = """
def loss(model, batch):
    hidden = model(batch[0])
    return hidden.mean() + 0 * hidden.detach().view(torch.int16).float().mean()
"""
    _, oracle, batches = begun(tmp_path, source)
    with pytest.raises(Exception, match="same bits as other numbers"):
        oracle.train([[batches[0]]])


def test_what_an_optimizer_is_made_with_is_the_files_own(tmp_path):
    """A side with another rate or decay makes other updates of the same gradients: only what has changed since is taken over."""
    source = "RATE = 0.1\n\ndef optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=RATE)\n"
    program, oracle, batches = begun(tmp_path, source)
    answer = program.train([[batches[0]], [batches[1]]])
    before, gradients = group(answer, "before"), group(answer, "gradients")
    after = {name: tensor for name, tensor in answer.items() if name.startswith("after/")}
    oracle.own._module.RATE = 0.2
    assert far(lambda: oracle.update(before, gradients), oracle, after)["after/params/0.weight"] > 50.0
