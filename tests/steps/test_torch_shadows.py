"""Shadows of a PyTorch program: what it computes in float64, and how far rounding moves it."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F, nn = torch.nn.functional, torch.nn

from runners.contract.errors import Unsupported  # noqa: E402
from runners.torch.shadows import UNITS, Shadows  # noqa: E402

pytestmark = pytest.mark.torch


class Mixed(nn.Module):
    """Convolution, batch norm, pooling, attention, an embedding, views, in-place operations and a buffer that moves."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.words, self.head = nn.Embedding(11, 8), nn.Linear(8, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, images, words):
        x = F.max_pool2d(F.relu(self.norm(self.conv(images)), inplace=True), 2)
        tokens = torch.cat([x.flatten(2).transpose(1, 2), self.words(words)], dim=1)
        heads = tokens.view(len(tokens), -1, 2, 4).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).reshape(tokens.shape)
        mixed = 2.0 * mixed
        mixed[:, 0] += 1.0
        self.calls.add_(mixed.detach().mean())
        return self.head(mixed.mean(dim=1))


def batch():
    """Return images, words and classes."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(5, 3, 6, 6, generator=generator)
    return images, torch.randint(11, (5, 3), generator=generator), torch.randint(4, (5,), generator=generator)


def step(model, images, words, classes, *, read, precision=None):
    """Take a step of AdamW and return everything that it leaves, read by `read`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    with torch.autocast("cpu", dtype=precision or torch.bfloat16, enabled=precision is not None):
        loss = F.cross_entropy(model(images, words).float() if precision else model(images, words), classes)
    loss.backward()
    optimizer.step()
    found = {"loss": read(loss), "calls": read(model.calls), "mean": read(model.norm.running_mean)}
    for name, parameter in model.named_parameters():
        found |= {f"gradient {name}": read(parameter.grad), f"after {name}": read(parameter)}
    return found


def in_float64(**more):
    """Return the same step on the model in float64, as PyTorch itself takes it."""
    torch.manual_seed(0)
    model = Mixed().double()
    images, words, classes = batch()
    return step(model, images.double(), words, classes, read=lambda tensor: tensor.detach().numpy().copy(), **more)


def on_shadows(draw=None, precision=None):
    """Return the step on shadows, and these."""
    torch.manual_seed(0)
    model = Mixed()
    with Shadows(draw=draw) as shadows:
        return step(model, *batch(), read=shadows.array, precision=precision), shadows


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
def test_shadows_are_the_program_in_float64(precision):
    """To the last bits, whatever autocast does: casts change nothing that is not rounded."""
    found, expected = on_shadows(precision=precision)[0], in_float64()
    for name, tensor in expected.items():
        assert np.linalg.norm(found[name] - tensor) <= 1e-12 * np.linalg.norm(tensor), name


def test_a_program_that_computes_in_float32_is_no_shadow():
    """What shadows are held to above would see a float32 in the middle."""
    torch.manual_seed(0)
    found = step(Mixed(), *batch(), read=lambda tensor: tensor.detach().double().numpy())
    expected = in_float64()
    assert np.linalg.norm(found["gradient conv.weight"] - expected["gradient conv.weight"]) > 1e-9 * np.linalg.norm(
        expected["gradient conv.weight"]
    )


def test_draws_move_by_rounding_and_repeat():
    """The same draw twice gives the same bits; another gives others; bfloat16 moves by some 2**16 times as much."""
    exact, first, again, second = (on_shadows(draw)[0]["gradient head.weight"] for draw in (None, 0, 0, 1))
    assert first.tobytes() == again.tobytes() != second.tobytes()
    moved = np.linalg.norm(first - exact) / np.linalg.norm(exact)
    assert 2.0**-26 < moved < 2.0**-19
    statistics = [on_shadows(draw)[0]["mean"] for draw in (None, 0)]
    assert 2.0**-27 < np.linalg.norm(statistics[1] - statistics[0]) / np.linalg.norm(statistics[0]) < 2.0**-19
    halves = on_shadows(0, torch.bfloat16)[0]["gradient head.weight"]
    assert 2.0**-11 < np.linalg.norm(halves - exact) / np.linalg.norm(exact) < 2.0**-4


@pytest.mark.parametrize("dtype", list(UNITS))
def test_the_noise_of_one_product_is_that_of_its_type(dtype):
    """Uniform in plus or minus one unit: its root mean square is a unit over the root of three."""
    x, y = torch.linspace(1, 2, 4096).to(dtype), torch.linspace(2, 3, 4096).to(dtype)
    with Shadows(draw=3) as shadows:
        product = shadows.array(x * y)
    exact = x.double().numpy() * y.double().numpy()
    size = float(np.sqrt(np.mean(((product - exact) / exact) ** 2)))
    assert size == pytest.approx(UNITS[dtype] / math.sqrt(3), rel=0.1)


def test_what_only_moves_numbers_has_no_noise():
    """Views, copies, maxima and gathers hold their arguments' numbers."""
    x = torch.randn(6, 7, generator=torch.Generator().manual_seed(0))
    with Shadows(draw=3) as shadows:
        moved = torch.cat([x.t().contiguous(), x.relu().t()]).gather(0, torch.tensor([[0, 1, 2, 3, 4, 5]]))
        assert shadows.array(moved).tolist() == moved.double().tolist()


def test_a_factor_moves_all_elements_alike():
    """A number that a tensor is scaled by is rounded once: that has a direction, which elements' own rounding has not."""
    x = torch.ones(100_000)
    with Shadows(draw=5) as shadows:
        scaled = shadows.array(x * 0.1)
    assert abs(scaled.mean() / 0.1 - 1) > 5 * 2.0**-24 / math.sqrt(3 * len(x))


def test_infinities_stay_what_they_are():
    """A mask of attention is minus infinity before a softmax: with rounding, too, what it hides counts nothing."""
    scores = torch.tensor([[1.0, 2.0, -math.inf], [0.5, -math.inf, -math.inf]])
    for draw in range(4):
        with Shadows(draw=draw) as shadows:
            shares = shadows.array(F.softmax(scores * 2.0, dim=-1))
        assert np.isfinite(shares).all()
        assert (shares[:, 2] == 0.0).all()


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_attention_in_halves_may_have_a_mask(half):
    """The mask is an argument by name, and has the type of the queries."""
    heads = torch.randn(2, 2, 5, 4, generator=torch.Generator().manual_seed(0))
    mask = torch.full((5, 5), -math.inf).triu(1)
    with Shadows() as shadows, torch.autocast("cpu", dtype=half):
        found = shadows.array(F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask))
    wide = heads.double()
    assert np.allclose(found, F.scaled_dot_product_attention(wide, wide, wide, is_causal=True).numpy(), rtol=1e-12)


def test_dropout_draws_what_the_program_draws():
    """The mask is the program's, at the same places, in float32 and on shadows."""
    x = torch.ones(1000)
    torch.manual_seed(7)
    plain = F.dropout(x, 0.3)
    torch.manual_seed(7)
    with Shadows() as shadows:
        shadow = shadows.array(F.dropout(x, 0.3))
    assert np.array_equal(shadow == 0, (plain == 0).numpy())


def test_a_gate_that_rounding_flips_is_counted():
    """An element at zero to within rounding passes a ReLU in some draws, and not in others."""
    x = torch.tensor([1.1, 2.0**-30, -1.1])

    def chosen(draw):
        with Shadows(draw=draw) as shadows:
            F.relu(x * 3.0 - x * 3.0)
        return shadows.choices

    assert len({tuple(chosen(draw)) for draw in range(6)}) > 1
    assert chosen(None) == chosen(None)
    assert chosen(0)[0][0] == "relu"


def test_numbers_that_leave_tensors_are_those_of_shadows():
    """What a program decides by, it decides in float64."""
    with Shadows() as shadows:
        third = torch.ones(()) / 3
        assert third.item() == 1 / 3
        assert shadows.array(third) == 1 / 3


def test_as_many_as_are_chosen_in_float64():
    """Where a result's size depends on numbers, the program gets that of the shadows."""
    with Shadows() as shadows:
        x = torch.tensor([1.0, 2.0, 3.0]) / 3
        kept = x[x > 1 / 3]
        assert shadows.array(kept).tolist() == [2 / 3, 1.0]
        assert kept.shape == (2,)


def test_an_operator_that_has_no_float64_is_named():
    """One line says which, and that it is not supported: neither a mismatch nor a pass."""
    library = torch.library.Library("vigil_test", "DEF")
    library.define("halved(Tensor x) -> Tensor")

    def halved(x):
        if x.dtype == torch.float64:
            raise RuntimeError("\"halved\" not implemented for 'Double'")
        return x / 2

    library.impl("halved", halved, "CPU")
    with Shadows(), pytest.raises(Unsupported, match=r"vigil_test.halved.*float64.*not implemented for 'Double'"):
        torch.ops.vigil_test.halved(torch.ones(3))


def test_too_little_memory_is_not_taken_for_a_missing_kernel():
    """A kernel that cannot allocate says so by the same type of error."""
    library = torch.library.Library("vigil_memory", "DEF")
    library.define("held(Tensor x) -> Tensor")

    def held(x):
        if x.dtype == torch.float64:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        return x + 0

    library.impl("held", held, "CPU")
    with Shadows(), pytest.raises(RuntimeError, match="can't allocate memory"):
        torch.ops.vigil_memory.held(torch.ones(3))


def test_what_is_drawn_from_numbers_is_named():
    """Its result is the program's own; dropout draws a mask alone, and is held to float64."""
    x = torch.randn(50, generator=torch.Generator().manual_seed(0))
    with Shadows() as shadows:
        F.dropout(x, 0.5)
        torch.randn_like(x)
    assert shadows.taken == set()
    with Shadows() as shadows:
        torch.rrelu(x, training=True)
    assert any("rrelu" in name for name in shadows.taken)


def test_a_model_is_left_as_it_was_found():
    """Shadows are beside the program: its own tensors are in float32, and what autograd knows of them stays."""
    torch.manual_seed(0)
    model = Mixed()
    twin = copy.deepcopy(model)
    with Shadows():
        step(model, *batch(), read=lambda tensor: None)
    step(twin, *batch(), read=lambda tensor: None)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, other)
        assert one.dtype == torch.float32


@pytest.mark.parametrize(("precision", "size"), [("fp32", 2.0**-24), ("tf32", 2.0**-11)])
def test_products_in_tf32_round_what_they_multiply(precision, size):
    """Each factor is off by a part in 2**11; the bias, which is added, and what is no product are float32's."""
    torch.manual_seed(0)
    x, w, bias = torch.randn(64, 48), torch.randn(32, 48), torch.full((32,), 1e6)
    with Shadows(draw=3, precision=precision) as shadows:
        product, shifted = shadows.array(x @ w.t()), shadows.array(torch.nn.functional.linear(x, w, bias))
        scaled = shadows.array(x * x)
    exact = x.double().numpy() @ w.double().numpy().T
    moved = np.linalg.norm(product - exact) / np.linalg.norm(exact)
    assert 0.3 * size < moved < 6 * size
    assert np.abs(shifted / (exact + 1e6) - 1).max() < 1e-5
    assert np.abs(scaled / x.double().numpy() ** 2 - 1).max() < 2.0**-22


def test_convolutions_in_tf32_are_products_too():
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)
    exact = torch.nn.functional.conv2d(x.double(), w.double()).numpy()
    with Shadows(draw=3, precision="tf32") as shadows:
        found = shadows.array(torch.nn.functional.conv2d(x, w))
    assert 2.0**-13 < np.linalg.norm(found - exact) / np.linalg.norm(exact) < 2.0**-9
