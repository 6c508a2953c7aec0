"""A user's file: what it must define, and how what is wrong with it is told."""

from __future__ import annotations

import hashlib
import textwrap

import numpy as np
import pytest

from runners.contract.errors import ContractError
from runners.contract.steps.frame import _Batches, cases_of, main
from runners.contract.steps.own import OwnFileError, load_own, map_leaves, row_count, take_rows
from runners.contract.steps.request import StepRequest
from vigil.errors import UsageError
from vigil.steps.verify import framework_of

WHOLE = """
import numpy as np

def build():
    return None

def batch(seed):
    return np.full((4, 2), seed), {"labels": np.arange(4)}

def loss(model, batch):
    raise ValueError("no such loss")
"""


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a source as a user's file."""

    def of(source: str, *, sha256: str | None = None):
        path = tmp_path / "some_step.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return load_own(path, sha256 or hashlib.sha256(path.read_bytes()).hexdigest())

    return of


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (WHOLE.replace("def loss", "def lost"), r"some_step.py: loss: missing. A step needs build\(\), batch\(seed\), loss\("),
        (WHOLE.replace("def batch(seed)", "def batch()"), r"some_step.py: batch: takes 0 arguments. Allowed: `def batch"),
        (WHOLE.replace("def build()", "def build(width)"), r"some_step.py: build: takes 1 arguments. Allowed: `def build\(\)`"),
        ("import numpy\nimport no_such_module\n", "some_step.py: needs the module no_such_module, which this environment lacks"),
        ("x = 1 +\n", r"some_step.py:1: invalid syntax"),
        ("\nx = {}['key']\n", r"some_step.py:2: cannot be imported: KeyError: 'key'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_in_one_line(load, source, said):
    """File, line where there is one, what was found and what is allowed."""
    with pytest.raises(OwnFileError, match=said) as found:
        load(source)
    assert "\n" not in str(found.value)
    assert found.value.category == "program"


def test_a_file_that_was_edited_meanwhile_is_refused(load):
    """What is verified is what was asked about."""
    with pytest.raises(OwnFileError, match="has changed since"):
        load(WHOLE, sha256="0" * 64)


def test_an_error_in_a_function_is_told_by_its_line(load):
    """Before the program has run in float64 it is the file's, afterwards the context's."""
    own = load(WHOLE)
    with pytest.raises(OwnFileError, match=r"some_step.py:11: loss: ValueError: no such loss"):
        own.call("loss", None, None)
    own.has_run = True
    with pytest.raises(ContractError) as found:
        own.call("loss", None, None)
    assert found.value.category == "crash"


def test_a_loss_may_take_a_key_or_a_mode(load):
    """JAX's random key, and Keras' training mode, beside model and batch."""
    for more in ("key", "training=True"):
        load(WHOLE.replace("loss(model, batch)", f"loss(model, batch, {more})"))
    with pytest.raises(OwnFileError, match="takes 3 arguments"):
        load(WHOLE.replace("loss(model, batch)", "loss(model, batch, width)"))


def test_a_batch_that_does_not_come_from_its_seed_is_refused(load):
    """Two calls with one seed must give the same bits."""
    same = _Batches(load(WHOLE), lambda batch: batch, {})
    assert same(3)[0][0, 0] == 3
    drawn = WHOLE.replace("np.full((4, 2), seed)", "np.random.default_rng().normal(size=(4, 2))")
    with pytest.raises(OwnFileError, match="two calls with seed 3 gave other numbers"):
        _Batches(load(drawn), lambda batch: batch, {})(3)


def test_rows_are_what_every_array_shares(load):
    """A batch of arrays of several lengths has no rows, unless the file says how to take them."""
    own = load(WHOLE)
    batch = own.call("batch", 1)
    assert row_count(batch) == 4
    images, labels = take_rows(own, batch, [3, 0])
    assert labels["labels"].tolist() == [3, 0]
    assert images.shape == (2, 2)
    assert row_count((np.ones((4, 2)), np.ones(3))) is None
    assert row_count((np.ones((4, 2)), np.float32(1.0))) is None


def test_cases_need_rows_to_change_their_order(load):
    """Where a batch has no rows, two cases fall away, and a remark says so."""
    own = load(WHOLE)
    cases, remarks = cases_of(own, lambda seed: own.call("batch", seed), 0, 12)
    assert [case.name for case in cases] == ["step", "rows", "steps", "evaluation", "single"]
    assert remarks == []
    odd = load(WHOLE.replace("np.arange(4)", "np.arange(3)"))
    cases, remarks = cases_of(odd, lambda seed: odd.call("batch", seed), 0, 12)
    assert [case.name for case in cases] == ["step", "steps", "evaluation"]
    assert "take_rows" in remarks[0]


def test_the_form_of_a_batch_is_kept():
    """Tuples, lists and dicts, nested."""
    batch = ([np.ones(2), {"a": np.zeros(2)}], "word")
    changed = map_leaves(lambda leaf: leaf + 1 if isinstance(leaf, np.ndarray) else leaf, batch)
    assert isinstance(changed, tuple)
    assert changed[0][1]["a"].tolist() == [1.0, 1.0]
    assert changed[1] == "word"


@pytest.mark.parametrize(
    ("source", "framework"),
    [
        ("import torch.nn as nn\n", "torch"),
        ("from jax import numpy\nimport optax\n", "jax"),
        ("def f():\n    import tensorflow as tf\n", "tensorflow"),
        ('FRAMEWORK = "jax"\nimport torch\n', "jax"),
    ],
)
def test_the_framework_is_the_one_that_a_file_imports(tmp_path, source, framework):
    """Or the one that it names, which comes first."""
    path = tmp_path / "step.py"
    path.write_text(source, encoding="utf-8")
    assert framework_of(path) == framework


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import numpy\n", "imports no framework. Say which it is of"),
        ("import torch\nimport jax\n", "imports torch and jax. Say which"),
        ('FRAMEWORK = "mxnet"\n', "step.py:1: FRAMEWORK: found 'mxnet'. Allowed: torch, tensorflow, jax"),
        ("def (:\n", "step.py:1: not Python"),
    ],
)
def test_a_file_of_no_framework_is_refused(tmp_path, source, said):
    """What was found, and what is allowed."""
    path = tmp_path / "step.py"
    path.write_text(source, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        framework_of(path)


def test_a_request_of_another_framework_is_refused(tmp_path, capsys):
    """A runner answers for its own; exit code 2, and nothing is written."""
    request = StepRequest(
        framework="jax", task="context", looks=False, file="f", file_sha256="0", mode="eager", precision="fp32", threads=1,
        cores=None, draws=6, repeats=2, seeds=(), expected=(), keeps=False, given=None, fault=None, heartbeat_seconds=5.0,
    )  # fmt: skip
    request.write(tmp_path)
    assert main("torch", lambda: None, [str(tmp_path)]) == 2
    assert "request.json: framework 'jax'; this is the runner of torch" in capsys.readouterr().err
    assert not (tmp_path / "events.jsonl").exists()
    assert main("torch", lambda: None, []) == 2
    assert "usage: python -m runners.torch --step RUN_DIR   (RUN_DIR holds request.json" in capsys.readouterr().err
