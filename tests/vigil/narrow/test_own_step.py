"""From the run of a user's step to a script: verified with a planted fault, and narrowed; and what is refused, in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vigil.cli.main import main
from vigil.documents.narrowing import Narrowing
from vigil.documents.step import StepVerification
from vigil.errors import UsageError
from vigil.narrow.from_run import Alarm, alarm_of, script_of_alarm
from vigil.narrow.own_file import OwnNarrowed

TORCH = '''
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3))


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(4, 6, generator=generator), torch.arange(4) % 3


def loss(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1])
'''
JAX = '''
import jax
import jax.numpy as jnp


def build():
    return {"first": jax.random.normal(jax.random.key(0), (6, 5)), "second": jax.random.normal(jax.random.key(1), (5, 3))}


def batch(seed):
    return jax.random.normal(jax.random.key(seed), (4, 6)), jnp.arange(4) % 3


def loss(model, batch):
    logits = jax.nn.gelu(batch[0] @ model["first"]) @ model["second"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), batch[1][:, None], 1).mean()
'''
TENSORFLOW = '''
import tensorflow as tf

keras = tf.keras


def build():
    layers = [keras.layers.Dense(5, activation="gelu"), keras.layers.Dense(3, dtype="float32")]
    return keras.Sequential([keras.Input((6,)), *layers])


def batch(seed):
    return tf.random.stateless_normal((4, 6), [seed, 1]), tf.range(4) % 3


def loss(model, batch):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch[1], model(batch[0])))
'''
SOURCES = {"torch": TORCH, "jax": JAX, "tensorflow": TENSORFLOW}
FAULT = '''
def changed(original, is_of):
    return lambda x, *more, **named: original(x, *more, **named) * (1.001 if is_of(x) else 1.0)


def install_torch():
    import torch

    torch.nn.functional.gelu = changed(torch.nn.functional.gelu, lambda x: IS_OF)


def install_jax():
    import jax

    jax.nn.gelu = changed(jax.nn.gelu, lambda x: IS_OF)


def install_tensorflow():
    import tensorflow as tf

    tf.nn.gelu = changed(tf.nn.gelu, lambda x: IS_OF)
'''
ALWAYS, IN_FLOAT32 = "True", '"float32" in str(x.dtype)'
EACH = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("jax", marks=pytest.mark.jax),
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return an empty folder, with runs and a cache beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def verified(place: Path, source: str, *, fault: str | None = FAULT.replace("IS_OF", ALWAYS), mode: str = "eager") -> Alarm:
    """Verify a file with a planted fault, if one is, in one context, and return what its run says is wrong."""
    (place / "my_step.py").write_text(source, encoding="utf-8")
    chosen = ["--mode", mode, "--precision", "fp32", "--threads", "1"]
    if fault is not None:
        (place / "planted.py").write_text(fault, encoding="utf-8")
        chosen += ["--fault", "planted.py"]
    assert main(["verify", "my_step.py", *chosen]) == 1
    [file] = place.glob("runs/*/step.json")
    return alarm_of(file.parent)


def narrowed(place: Path, alarm: Alarm) -> OwnNarrowed:
    """Return the script of what is wrong."""
    (place / "narrowed").mkdir()
    found = script_of_alarm(alarm, place / "narrowed", python=Path(sys.executable), tell=lambda text: None)
    assert isinstance(found, OwnNarrowed)
    text = found.script.read_text(encoding="utf-8")
    assert not any("vigil" in line.lower() or "runners" in line for line in text.splitlines())
    assert found.like.startswith("WRONG got ")
    assert found.without is not None
    assert found.without.startswith("RIGHT got ")
    assert all(f"# It needs {each}." in text for each in found.shrinking.needs)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("framework", EACH)
def test_a_planted_fault_leads_to_a_script(place, framework) -> None:
    """WRONG with the fault, RIGHT without it, by numbers of the oracle's: float64 has the fault as well. One row shows it."""
    found = narrowed(place, verified(place, SOURCES[framework]))
    assert "operator by operator" in found.script.read_text(encoding="utf-8")
    if framework == "torch":  # a layer of PyTorch's own is asked alone
        assert found.shrinking.after == "torch.nn.GELU(approximate='none'), 1 row"
        assert found.shrinking.needs == ()
    else:
        assert found.shrinking.after.endswith(" of 1 row")
        assert found.shrinking.needs == ("the whole step",)


@pytest.mark.slow
@pytest.mark.parametrize("framework", EACH)
def test_what_float64_has_not_is_held_to_the_file_itself(place, framework) -> None:
    fault = FAULT.replace("IS_OF", IN_FLOAT32)
    found = narrowed(place, verified(place, SOURCES[framework], fault=fault))
    assert "Right is the file itself, in float64." in found.script.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.torch
def test_a_layer_that_is_right_alone_keeps_the_whole_step(place) -> None:
    """It is wrong of what another layer gave alone."""
    found = narrowed(place, verified(place, TORCH, fault=FAULT.replace("IS_OF", "x.grad_fn is not None")))
    assert found.shrinking.needs == ("the whole step",)


@pytest.mark.slow
@pytest.mark.torch
def test_a_wrong_update_is_held_to_what_the_optimizer_should_make(place) -> None:
    fault = '''
def install_torch():
    import importlib

    module = importlib.import_module("torch.optim.sgd")
    original = module.sgd
    module.sgd = lambda *given, **named: original(*given, **{**named, "lr": named["lr"] * 1.01})
'''
    source = TORCH + "\n\ndef optimizer(model):\n    return torch.optim.SGD(model.parameters(), lr=0.1)\n"
    found = narrowed(place, verified(place, source, fault=fault))
    assert found.shrinking.after.startswith("params/")
    assert "def optimizer(model)" in found.script.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.torch
def test_a_wrong_evaluation_is_no_step(place) -> None:
    """The model is wrong where no gradient is asked for."""
    fault = FAULT.replace("IS_OF", "not torch.is_grad_enabled()")
    source = TORCH + "\n\ndef predict(model, batch):\n    return model(batch[0])\n"
    found = narrowed(place, verified(place, source, fault=fault))
    assert ".backward()" not in found.script.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.torch
def test_what_is_wrong_after_many_calls_keeps_them(place) -> None:
    fault = "import itertools\n\ncount = itertools.count()\n" + FAULT.replace("IS_OF", "next(count) % 61 == 40")
    found = narrowed(place, verified(place, TORCH, fault=fault))
    assert "repetition: 60 calls" in found.shrinking.needs


@pytest.mark.slow
@pytest.mark.torch
def test_what_is_wrong_when_compiled_alone_keeps_the_compiler(place) -> None:
    source = TORCH.replace("model(batch[0])", "model(batch[0]) * (1.001 if torch.compiler.is_compiling() else 1.0)")
    alarm = verified(place, source, mode="compile", fault=None)
    (place / "narrowed").mkdir()
    found = script_of_alarm(alarm, place / "narrowed", python=Path(sys.executable), tell=lambda text: None)
    assert isinstance(found, OwnNarrowed)
    assert found.shrinking.needs == ("the whole step", "mode compile")


@pytest.mark.slow
@pytest.mark.torch
def test_the_verb_makes_the_script(place, capfd) -> None:
    """From the directory of a run on; what was verified without a fault says that there is nothing to narrow."""
    alarm = verified(place, TORCH)
    assert main(["narrow", alarm.source.path, "--json", "answer.json"]) == 0
    document = Narrowing.parse((place / "answer.json").read_text(encoding="utf-8"), where="answer")
    assert (document.source.kind, document.state) == ("step", "narrowed")
    assert document.script is not None
    assert str(document.script.without_fault).startswith("RIGHT")
    assert "smaller        the whole step came down to torch.nn.GELU" in capfd.readouterr().out
    with pytest.raises(UsageError, match=r"--finding: found 2\. Allowed: 1 to 1"):
        alarm_of(Path(alarm.source.path), finding=2)
    directory = Path(alarm.source.path)
    step = StepVerification.read(directory)
    clean = step.contexts[0].replace(verdict=step.verdict.replace(name="reproduced"))
    step.replace(contexts=(clean,), verdict=clean.verdict).write(directory)
    with pytest.raises(UsageError, match="found nothing that is wrong"):
        alarm_of(directory)
    step.replace(contexts=(clean,), verdict=step.verdict.replace(reason="the gradients are not the derivative")).write(directory)
    with pytest.raises(UsageError, match=r"the gradients are not the derivative\. No context differs from float64"):
        alarm_of(directory)
