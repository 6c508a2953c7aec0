"""A finding made smaller shows the same failure, by a short script that stands alone."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from tests.test_architecture import ROOT
from vigil.audit.definitions import catalog
from vigil.audit.judge import Measured
from vigil.audit.limits import audit_limits
from vigil.audit.plan import Trial
from vigil.audit.source import CannotWrite, call_alone
from vigil.audit.sweep import Extent, audit
from vigil.errors import UsageError
from vigil.narrow.from_run import alarm_of
from vigil.narrow.smaller import MOST_LINES, Failing, narrow_audit, narrow_finding
from vigil.narrow.text import WIDTH, wrapped
from vigil.narrow.written import Written
from vigil.process.build_spec import fault_entry
from vigil.steps.processes import Started

FAULTS = ROOT / "tests" / "audit" / "faults"


def started(fault: str | None) -> Started:
    return Started(framework="torch", fault=fault_entry(str(FAULTS / f"{fault}.py")) if fault else None)


@pytest.mark.torch
def test_a_finding_of_an_audit_is_made_smaller(tmp_path) -> None:
    """A tail that long arrays alone lose: the size stays above what the bug needs, and nothing else is left."""
    extent = Extent(entries=[catalog()["exp"]], modes=["eager"], ways=["torch.exp"], precisions=["fp32"], is_quick=True)
    found = audit(started("exp_long_tail"), extent, tmp_path / "audit", audit_limits(), [], command="vigil audit")
    finding = next(each for each in found.findings if each.quantity == "outputs/0")
    narrowed = narrow_audit(started("exp_long_tail"), tmp_path / "narrow", finding, catalog()["exp"], limits=audit_limits())
    assert narrowed is not None
    assert (narrowed.way, narrowed.quantity, narrowed.is_drawn) == ("torch.exp", "outputs/0", True)
    assert narrowed.trial.sizes["n"] <= finding.smallest.sizes["n"]
    assert narrowed.lines <= MOST_LINES
    assert narrowed.like.startswith("WRONG")
    assert (narrowed.without or "").startswith("RIGHT")
    assert "default_rng" in narrowed.script.read_text(encoding="utf-8")
    on_gpu = tmp_path / "on_gpu"
    on_gpu.mkdir()
    found.replace(device="gpu").write(on_gpu)
    with pytest.raises(UsageError, match="found on a GPU"):
        alarm_of(on_gpu)


@pytest.mark.torch
def test_what_is_right_leads_to_no_script(tmp_path) -> None:
    entry = catalog()["exp"]
    trial = Trial(entry, 0, {"n": 33}, {}, "fp32")
    found = narrow_finding(
        started(None),
        tmp_path,
        entry=entry,
        way="torch.exp",
        mode="eager",
        trial=trial,
        quantity="outputs/0",
        limits=audit_limits(),
    )
    assert found is None
    assert not list(tmp_path.glob("*.py"))


@pytest.mark.parametrize(
    ("kind", "error", "is_same"),
    [("", 0.002, True), ("", -0.001, False), ("", 0.5, False), ("shape", 0.001, False)],
)  # fmt: skip
def test_a_failure_of_another_sign_or_size_is_another(kind, error, is_same) -> None:
    one = Failing("torch.exp", "outputs/0", "", 0.001)
    assert one.is_same(one._replace(kind=kind, error=error)) is is_same
    assert not one.is_same(one._replace(quantity="gradients/x"))


@pytest.mark.parametrize("name", ["convolution_2d", "embedding", "attention_causal", "layer_norm", "sgd", "where", "adam"])
def test_a_script_draws_what_was_asked(name) -> None:
    """The expressions that stand in a script make the very numbers, gradients to pull back too."""
    entry = catalog()[name]
    trial = Written(entry, 3, entry.sizes[0], entry.parameters[0], "fp32")
    question, drawn = trial.question(7), trial.drawn(7, None)
    random = np.random.default_rng(drawn.seed)
    for argument, text in drawn.arguments.items():
        value = eval(text, {"np": np, "random": random})
        np.testing.assert_array_equal(np.asarray(value, question.arguments[argument].dtype), question.arguments[argument])
    for text, cotangent in zip(drawn.cotangents, question.cotangents, strict=True):
        if text is not None:
            np.testing.assert_array_equal(eval(text, {"np": np, "random": random}), cotangent)


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
@pytest.mark.parametrize("operator", ["convolution_2d", "batch_norm_in_training", "linear", "layer_norm", "sgd", "embedding"])
def test_a_call_alone_is_short_and_whole(framework, operator) -> None:
    """Its text compiles, uses no name that it does not have, and has no more lines than leave room for the rest."""
    ways = {
        "torch": ["torch.nn.Conv2d", "torch.nn.BatchNorm2d", "torch.nn.Linear", "torch.nn.LayerNorm", "torch.optim.SGD (foreach)",
                  "torch.nn.Embedding"],
        "tensorflow": ["keras.layers.Conv2D", "keras.layers.BatchNormalization", "keras.layers.Dense",
                       "keras.layers.LayerNormalization", "tensorflow.compat.v1.train.MomentumOptimizer",
                       "keras.layers.Embedding"],
        "jax": ["flax.nnx.Conv", "flax.nnx.BatchNorm", "flax.nnx.Linear", "flax.nnx.LayerNorm", "optax.sgd", "flax.nnx.Embed"],
    }[framework]  # fmt: skip
    entry = catalog()[operator]
    written = 0
    for way in ways:
        try:
            found = call_alone(framework, entry.family, operator, way)
        except CannotWrite:
            continue
        assert found is not None
        imports, lines = found
        written += 1
        tree = ast.parse("\n".join([*imports, *lines]))
        assert len(lines) <= 24
        bound = {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
        bound |= {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        bound |= {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
        bound |= {(alias.asname or alias.name.split(".")[0]) for each in ast.walk(tree)
                  if isinstance(each, (ast.Import, ast.ImportFrom)) for alias in each.names}  # fmt: skip
        used = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} - bound
        assert not {each for each in used if each not in dir(__builtins__) and each not in __builtins__}
        assert "call" in bound
    assert written == 1


def test_long_lines_are_broken_without_a_change() -> None:
    line = f"    y = f(np.array({list(range(90))}), {'a' * 400!r}, key='b')"
    short = wrapped([line])
    assert max(map(len, short)) <= WIDTH
    assert ast.dump(ast.parse("\n".join(short).strip())) == ast.dump(ast.parse(line.strip()))
    assert wrapped(["x = 1"]) == ["x = 1"]


def test_an_error_is_told_beside_the_size_of_what_is_right() -> None:
    from vigil.narrow.smaller import _error

    assert _error(Measured(1e5, (), got=1.001, expected=1.0), 1.0) == pytest.approx(0.001)
    assert _error(Measured(1e5, (), got=-1.001, expected=-1.0), 2.0) == pytest.approx(0.0005)
    assert _error(Measured(1e5, (), got=-0.5, expected=0.0), 0.0) == -0.5
