"""From the run of a user's operator to a script: each kind of failure, in each framework; and what is refused, in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from runners.contract.arrays import write_arrays
from runners.contract.operators import frame
from tests.vigil.narrow.own_runs import operator_run
from vigil.documents.operator import Inputs
from vigil.errors import CannotRun, UsageError
from vigil.narrow.from_run import alarm_of, script_of_alarm
from vigil.narrow.outcome import RIGHT, WRONG, run_script
from vigil.narrow.own_file import OwnNarrowed, OwnText, Shown, first_that_shows, needed_of
from vigil.narrow.own_operator import is_raised, scripts_of
from vigil.steps.processes import Started

FAULT = '''
def install_torch():
    import torch
    original = torch.rsqrt
    torch.rsqrt = lambda x: original(x) * 1.001


def install_jax():
    import jax
    original = jax.lax.rsqrt
    jax.lax.rsqrt = lambda x: original(x) * 1.001


def install_tensorflow():
    import tensorflow as tf
    original = tf.math.rsqrt
    tf.math.rsqrt = lambda x: original(x) * 1.001
'''
HEAD = '''
import math

import numpy as np
{imported}


def inputs(seed, rows=4, columns=8):
    random = np.random.default_rng(seed)
    return {{"x": random.random((rows, columns), np.float32) + 0.5, "scale": [random.random(columns, np.float32), 2]}}


def reference(x, scale):
    return {reference}


def candidate(x, scale):
    return {candidate}


def unneeded():
    return math.pi
'''
TORCH = {"imported": "import torch", "reference": "(x / torch.sqrt(x) * scale[0]).sum(-1) * scale[1]"}
JAX = {"imported": "import jax\nimport jax.numpy as jnp", "reference": "(x / jnp.sqrt(x) * scale[0]).sum(-1) * scale[1]"}
TENSORFLOW = {"imported": "import tensorflow as tf", "reference": "tf.reduce_sum(x / tf.sqrt(x) * scale[0], -1) * scale[1]"}
SOURCES = {
    "torch": HEAD.format(**TORCH, candidate="(x * torch.rsqrt(x) * scale[0]).sum(-1) * scale[1]"),
    "jax": HEAD.format(**JAX, candidate="(x * jax.lax.rsqrt(x) * scale[0]).sum(-1) * scale[1]"),
    "tensorflow": HEAD.format(**TENSORFLOW, candidate="tf.reduce_sum(x * tf.math.rsqrt(x) * scale[0], -1) * scale[1]"),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What is named in a test is named there alone."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))


def narrowed(tmp_path: Path, framework: str, source: str, *, fault: str | None = None, **found: object) -> OwnNarrowed:
    """Return the script of a run that found this."""
    file = tmp_path / "my_op.py"
    file.write_text(source, encoding="utf-8")
    planted = None
    if fault:
        planted = tmp_path / "planted.py"
        planted.write_text(fault, encoding="utf-8")
    sizes = found.pop("sizes", {"rows": 4, "columns": 8})
    operator_run(tmp_path / "run", file, framework, fault=planted, sizes=sizes, **found)
    (tmp_path / "narrowed").mkdir()
    made = script_of_alarm(alarm_of(tmp_path / "run"), tmp_path / "narrowed", python=Path(sys.executable), tell=lambda text: None)
    assert isinstance(made, OwnNarrowed)
    return made


def assert_alone(found: OwnNarrowed) -> str:
    """Assert that a script needs nothing of Vigil, and return its text."""
    text = found.script.read_text(encoding="utf-8")
    assert not any("vigil" in line.lower() or "runners" in line for line in text.splitlines())
    return text


def outcome_of_script(place: Path, source: str, inputs: Inputs, *, right: np.ndarray):
    """Return what the first script of an operator's bug says, in a process of its own."""
    write_arrays(place / frame.RIGHT, {"outputs/0": right})
    answer = {"floors": {"outputs/0": 1e-6}, "limits": {"outputs/0": 3.0}}
    own = OwnText(place / "my_op.py", source)
    [first, *_] = scripts_of("torch", "eager", frame.BUG, "outputs/0", 1, inputs, answer, place, own, ["What it shows."])
    script = place / "script.py"
    script.write_text(first, encoding="utf-8")
    return run_script(script, Path(sys.executable), modules=("torch",))


@pytest.mark.torch
@pytest.mark.parametrize(("factor", "kind"), [(1.01, WRONG), (1.0, RIGHT)])
def test_a_script_says_whether_the_operator_is_right(tmp_path, factor, kind) -> None:
    """In a process of its own, by word and exit code, against the file's own reference in float64."""
    source = HEAD.format(**TORCH, candidate=f"(x * torch.rsqrt(x) * scale[0]).sum(-1) * scale[1] * {factor}")
    inputs = Inputs(seed=0, sizes={"rows": 2}, precision="fp32", values="given", layout="plain")
    outcome = outcome_of_script(tmp_path, source, inputs, right=np.zeros(2))
    assert outcome.kind == kind, outcome
    assert "in outputs/0 [" in outcome.line


@pytest.mark.torch
def test_a_script_shows_an_infinity_that_is_lost(tmp_path) -> None:
    """A mask lets one number more through."""
    masked = "x.masked_fill(~torch.ones(x.shape, dtype=torch.bool).tril({}), float('-inf'))"
    source = HEAD.format(imported="import torch", reference=masked.format(0), candidate=masked.format(1))
    inputs = Inputs(seed=0, sizes={"rows": 1, "columns": 3}, precision="fp32", values="given", layout="plain")
    outcome = outcome_of_script(tmp_path, source, inputs, right=np.array([[0.5, -np.inf, -np.inf]]))
    assert outcome.kind == WRONG, outcome
    assert "expected -inf in outputs/0 [0, 1]" in outcome.line


@pytest.mark.torch
def test_a_script_shows_an_input_that_is_written_to(tmp_path) -> None:
    """One with a gradient, which `inputs` gives in bfloat16."""
    source = HEAD.format(**TORCH, candidate="x.mul_(2).sum(-1)").replace("np.float32) + 0.5", "np.float32)")
    source = source.replace('{"x": random.random((rows, columns), np.float32)', '{"x": torch.ones(rows, columns).bfloat16()')
    inputs = Inputs(seed=0, sizes={"rows": 2}, precision="bf16", values="given", layout="transposed")
    own = OwnText(tmp_path / "my_op.py", source)
    [first, *_] = scripts_of("torch", "eager", frame.WRITES, "x", 1, inputs, {}, tmp_path, own, ["What it shows."])
    script = tmp_path / "script.py"
    script.write_text(first, encoding="utf-8")
    outcome = run_script(script, Path(sys.executable), modules=("torch",))
    assert outcome.kind == WRONG, outcome
    assert "got 2.0 expected 1.0 in x [" in outcome.line


BY_NAME = "globals()['_kernel_' + 'tanh'](x)"
KERNEL = """

def _kernel_tanh(x):
    if x.shape[0] > 2:
        raise ValueError(f"at most 2 rows, found {x.shape[0]}")
    return x
"""


@pytest.mark.torch
def test_a_script_that_fails_otherwise_is_none_and_the_whole_file_is_tried(tmp_path) -> None:
    """What is called by its name alone is left out at first: a KeyError is no ValueError."""
    own = OwnText(tmp_path / "my_op.py", HEAD.format(**TORCH, candidate=BY_NAME) + KERNEL)
    inputs = Inputs(seed=0, sizes={"rows": 3}, precision="fp32", values="given", layout="plain")
    candidates = scripts_of("torch", "eager", frame.RAISES, "None", 1, inputs, {}, tmp_path, own, ["What it shows."])
    message = "my_op.py:24: candidate: ValueError: at most 2 rows, found 64"
    shown = first_that_shows(
        candidates, tmp_path, Started(framework="torch"), is_same=lambda line: is_raised(line, message)
    )  # fmt: skip
    assert isinstance(shown, Shown), shown
    assert (shown.like, shown.tried) == ("WRONG candidate raises ValueError at most 2 rows, found 3", 2)


@pytest.mark.parametrize(
    ("line", "is_it"),
    [
        ("WRONG candidate raises ValueError at most 2 rows, found 3", True),
        ("WRONG candidate raises ValueError at least 2 rows, found 3", False),
        ("WRONG candidate raises KeyError at most 2 rows, found 3", False),
        ("WRONG candidate raises Error at most 2 rows, found 3", False),
    ],
)
def test_another_exception_is_another_failure(line, is_it) -> None:
    assert is_raised(line, "my_op.py:24: candidate: ValueError: at most 2 rows, found 64") is is_it


@pytest.mark.torch
@pytest.mark.slow
def test_an_exception_of_what_is_called_by_its_name_leads_to_a_script(tmp_path) -> None:
    source = HEAD.format(**TORCH, candidate=BY_NAME) + KERNEL
    found = narrowed(tmp_path, "torch", source, kind="raises", tensor=None)
    assert found.like == "WRONG candidate raises ValueError at most 2 rows, found 3"


@pytest.mark.slow
@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("torch", marks=pytest.mark.torch),
        pytest.param("jax", marks=pytest.mark.jax),
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    ],
)
def test_a_planted_fault_leads_to_a_script(tmp_path, framework) -> None:
    """WRONG with the fault, RIGHT without it, in fresh processes; with the smallest sizes, and without what it does not need."""
    found = narrowed(tmp_path, framework, SOURCES[framework], fault=FAULT)
    assert found.like.startswith("WRONG got ")
    assert found.without is not None
    assert found.without.startswith("RIGHT got ")
    assert "inputs(0, rows=1, columns=1)" in assert_alone(found)
    assert found.shrinking.after == "inputs(0, rows=1, columns=1)"
    assert found.shrinking.needs == ()
    assert "math" not in assert_alone(found).replace("tf.math", "")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["eager", "jit", "compile"])
@pytest.mark.parametrize(
    "framework", [pytest.param("jax", marks=pytest.mark.jax), pytest.param("tensorflow", marks=pytest.mark.tensorflow)]
)
def test_a_gradient_in_a_mode(tmp_path, framework, mode) -> None:
    """A candidate whose gradient stops is wrong as it is written, so that the script needs no compiler."""
    stopped = {"jax": "jax.lax.stop_gradient(scale[0])", "tensorflow": "tf.stop_gradient(scale[0])"}[framework]
    source = SOURCES[framework].replace("rsqrt(x) * scale[0]", f"rsqrt(x) * {stopped}")
    found = narrowed(tmp_path, framework, source, tensor="gradients/scale.0", mode=mode)
    assert found.like.startswith("WRONG got 0.0 expected ")
    assert found.shrinking.needs == ()


@pytest.mark.torch
@pytest.mark.slow
def test_what_is_wrong_when_compiled_alone_keeps_the_compiler(tmp_path) -> None:
    compiled = "(x * torch.rsqrt(x) * scale[0]).sum(-1) * (scale[1] + 0.01 * torch.compiler.is_compiling())"
    found = narrowed(tmp_path, "torch", HEAD.format(**TORCH, candidate=compiled), mode="compile")
    assert found.shrinking.needs == ("mode compile",)
    assert "It needs mode compile." in assert_alone(found)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("candidate", "more", "like", "needs"),
    [
        ("x.data.mul_(1.5).mul(scale[0]).sum(-1)", {"kind": "writes", "tensor": "x"}, "WRONG got", ()),
        ("(x @ x).sum(-1)", {"kind": "raises", "tensor": None}, "WRONG candidate raises RuntimeError", ("columns=2",)),
        ("(x.sqrt() * scale[0]).sum(-1, keepdim=True) * scale[1]", {}, "WRONG got shape (1, 1) expected shape (1,)", ()),
        ("(x * torch.rsqrt(x) * scale[0]).sum(-1) * scale[1] * float('nan')", {}, "WRONG got nan expected", ()),
        (
            "(torch.as_strided(x, x.shape, (x.shape[1], 1)).sqrt() * scale[0]).sum(-1) * scale[1]",
            {"layout": "transposed"}, "WRONG got", ("columns=2", "rows=2", "layout transposed"),
        ),
        (
            "(x.clamp(max=100.0).sqrt() * scale[0]).sum(-1) * scale[1]", {"values": "large", "precision": "bf16"}, "WRONG got",
            ("values large",),
        ),
        (
            "(x.sqrt() * scale[0]).sum(-1) * scale[1] * (1.0 + 0.01 * (next(count) % 7 == 3))", {"kind": "race"}, "WRONG got",
            ("repetition: 60 calls",),
        ),
    ],
    ids=["writes", "raises", "shape", "not finite", "layout", "values", "race"],
)  # fmt: skip
def test_each_kind_of_failure(tmp_path, candidate, more, like, needs) -> None:
    """And a script of each keeps what it needs, and says so."""
    source = HEAD.format(**TORCH, candidate=candidate)
    if "count" in candidate:
        source = source.replace("import math", "import itertools\nimport math\n\ncount = itertools.count()")
    found = narrowed(tmp_path, "torch", source, **more)
    assert found.like.startswith(like)
    assert set(found.shrinking.needs) == set(needs)
    assert all(f"# It needs {each}." in assert_alone(found) for each in needs)


@pytest.mark.torch
@pytest.mark.slow
def test_what_is_right_is_no_script(tmp_path) -> None:
    """Another operator than the one that the run was of: asked again, it is right."""
    with pytest.raises(CannotRun, match=r"asked again alone, these inputs are fine\. What shows it is the run itself"):
        narrowed(tmp_path, "torch", SOURCES["torch"])


def test_what_cannot_be_narrowed_is_one_line(tmp_path) -> None:
    """A kink, a file that has changed or is gone, one that nobody has named, a module beside it, another number."""
    file = tmp_path / "my_op.py"
    file.write_text(SOURCES["torch"], encoding="utf-8")
    operator_run(tmp_path / "kink", file, "torch", kind="kink")
    with pytest.raises(UsageError, match="a kink of the derivative is no failure"):
        alarm_of(tmp_path / "kink")
    operator_run(tmp_path / "run", file, "torch")
    with pytest.raises(UsageError, match=r"--finding: found 2\. Allowed: 1 to 1"):
        alarm_of(tmp_path / "run", finding=2)
    for remembered in (tmp_path / "cache" / "files").iterdir():
        remembered.unlink()
    with pytest.raises(UsageError, match="no command of yours has named this file"):
        alarm_of(tmp_path / "run")
    file.write_text(SOURCES["torch"] + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="it has changed since the run"):
        alarm_of(tmp_path / "run")
    file.unlink()
    with pytest.raises(UsageError, match="No such file"):
        alarm_of(tmp_path / "run")
    (tmp_path / "layers.py").write_text("", encoding="utf-8")
    file.write_text("from layers import *\n" + SOURCES["torch"], encoding="utf-8")
    operator_run(tmp_path / "beside", file, "torch")
    with pytest.raises(UsageError, match="imports layers, which lies beside it: a script would not stand alone"):
        alarm_of(tmp_path / "beside")


def test_what_is_not_needed_is_left_out() -> None:
    """Definitions and what they alone import; never statements, nor what may register something."""
    text = '''"""Mine."""
from __future__ import annotations

import os, json
import registers  # for its effect

torch_seed(0)
WIDTH = 3
UNUSED = json.loads("1")


@decorated(os.path)
def loss():
    return WIDTH


def predict():
    return UNUSED


if __name__ == "__main__":
    predict()
'''
    kept = needed_of(text, ["loss"])
    assert kept == '''"""Mine."""
from __future__ import annotations

import os
import registers  # for its effect

torch_seed(0)
WIDTH = 3


@decorated(os.path)
def loss():
    return WIDTH
'''
