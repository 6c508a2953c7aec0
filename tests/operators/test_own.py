"""A user's file with an operator: what it may say, and each error with what was found and what is allowed."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest

from runners.contract.errors import Unsupported
from runners.contract.operators.own import OperatorFile, Tolerance, load_operator, named_leaves
from runners.contract.operators.trials import LAYOUTS, SIZE, USUAL, Trial, arranged, plan, rounded
from runners.contract.steps.own import OwnFileError

SOURCE = """
def inputs(seed, rows=4, columns=10):
    return {}

def candidate(x):
    return x

def reference(x):
    return x
"""
_NUMBERS = itertools.count()


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a source as a user's file."""

    def loaded(source: str) -> OperatorFile:
        path = tmp_path / f"operator_{next(_NUMBERS)}.py"
        path.write_text(source, encoding="utf-8")
        return load_operator(path, hashlib.sha256(path.read_bytes()).hexdigest())

    return loaded


def test_sizes_and_tolerances_are_read(load):
    """Sizes are what `inputs` takes; a tolerance may be one for all precisions, or one for each."""
    file = load(SOURCE + "TOLERANCE = {'fp32': {'atol': 1e-5, 'rtol': 0}}\nTILES = {'rows': 4}\nSIZES = {'columns': (10, 12)}\n")
    assert file.usual == {"rows": 4, "columns": 10}
    assert (file.tiles, file.sizes) == ({"rows": 4}, {"columns": (10, 12)})
    assert file.tolerance("fp32") == Tolerance(1e-5, 0.0)
    assert file.tolerance("bf16") is None
    assert load(SOURCE + "TOLERANCE = {'atol': 1, 'rtol': 2}\n").tolerance("bf16") == Tolerance(1.0, 2.0)
    assert load(SOURCE).tolerance("fp32") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("def reference", "def other"), "reference: missing"),
        (("inputs(seed, rows=4", "inputs(rows=4"), "found no `seed`"),
        (("rows=4", "rows"), "rows: no usual size"),
        (("rows=4", "rows=0"), "rows: no usual size"),
        (("rows=4", "rows=True"), "rows: no usual size"),
        (("\ndef candidate", "\nSIZES = {'depth': 3}\n\ndef candidate"), "Allowed: a dict of what `inputs` takes: rows, columns"),
        (("\ndef candidate", "\nSIZES = {'rows': (1, 2)}\n\ndef candidate"), "its usual size, 4, is not among"),
        (("\ndef candidate", "\nTILES = {'rows': 'x'}\n\ndef candidate"), "Allowed: whole numbers from 1"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(load, change, message):
    """Each message names the file, what was found, and what is allowed."""
    source = SOURCE.replace(*change)
    assert source != SOURCE
    with pytest.raises(OwnFileError, match=message) as caught:
        load(source)
    assert ".py: " in str(caught.value)


@pytest.mark.parametrize("tolerance", ["1e-5", "{'atol': 1}", "{'atol': -1, 'rtol': 0}", "{'fp32': {'atol': 1}}", "{'fp64': {}}"])
def test_a_tolerance_that_is_none_is_refused(load, tolerance):
    """A test's tolerance has both parts."""
    with pytest.raises(OwnFileError, match="TOLERANCE: found"):
        load(SOURCE + f"TOLERANCE = {tolerance}\n").tolerance("fp32")


def test_a_precision_that_the_file_leaves_out_is_unsupported(load):
    """Of several those that it has are tried; another one is not taken for them."""
    file = load(SOURCE + "PRECISIONS = ('fp32', 'bf16')\n")
    assert file.precisions_of(("fp16", "fp32")) == ("fp32",)
    with pytest.raises(Unsupported, match="PRECISIONS is fp32, bf16: it is not tried in fp16"):
        file.precisions_of(("fp16",))


@pytest.mark.parametrize("precisions", ["'fp32'", "()", "('fp64',)"])
def test_precisions_that_are_none_are_refused(load, precisions):
    """Each is one that a runner knows."""
    with pytest.raises(OwnFileError, match="PRECISIONS: found"):
        load(SOURCE + f"PRECISIONS = {precisions}\n").precisions()


def test_inputs_that_a_function_does_not_take_are_told_apart(load):
    """A dict's names are those of the function's arguments, whose order does not matter."""
    file = load(SOURCE.replace("def candidate(x)", "def candidate(x, y=2)"))
    assert file.call("candidate", {"x": 3}) == 3
    assert file.call("candidate", (4,)) == 4
    with pytest.raises(OwnFileError, match=r"candidate: inputs gives z: .*'x'"):
        file.call("candidate", {"z": 3})


def test_sizes_are_tried_around_powers_of_two_and_tiles(load):
    """One size at a time, the others as usual, and some together; with what a file allows, nothing else."""
    file = load(SOURCE.replace("columns=10", "columns=20") + "TILES = {'columns': 24}\nSIZES = {'rows': (2, 4)}\n")
    trials = plan(file, precisions=("fp32", "bf16"), seeds=3, has_layouts=True)
    usual = [each for each in trials if each.group == USUAL]
    assert [(each.seed, each.precision) for each in usual] == [(0, "fp32"), (1, "fp32"), (2, "fp32")]
    columns = {each.sizes["columns"] for each in trials if each.group == SIZE}
    assert {1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49} <= columns
    assert {each.sizes["rows"] for each in trials} == {2, 4}
    assert {each.layout for each in trials} == {"plain", *LAYOUTS}
    assert {each.precision for each in trials} == {"fp32", "bf16"}
    assert not {each.layout for each in plan(file, precisions=("fp32",), seeds=1, has_layouts=False)} - {"plain"}


def test_numbers_are_rounded_to_what_a_precision_has():
    """To the nearest, ties to even, as frameworks do; infinities and NaN stay."""
    numbers = np.array([1.0, 1.00390625, 1.01171875, 3.14159265, -2.7182818, np.inf, np.nan, 0.0], np.float32)
    bf16 = [1.0, 1.0, 1.015625, 3.140625, -2.71875, np.inf, np.nan, 0.0]  # 1 + 1/256 and 1 + 3/256 are ties
    np.testing.assert_array_equal(rounded(numbers, "bf16"), np.array(bf16, np.float32))
    np.testing.assert_array_equal(rounded(numbers, "fp16"), numbers.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(rounded(numbers, "fp32"), numbers)


def test_values_at_the_edge_leave_whole_numbers_alone():
    """Labels and indices are no values to change."""
    trial = Trial("values", 0, {}, "fp32", values="large")
    changed = arranged({"x": np.ones(3, np.float64), "labels": np.arange(3), "eps": 1e-5}, trial)
    assert changed["x"].dtype == np.float32
    assert changed["x"].tolist() == [1e4] * 3
    assert changed["labels"].tolist() == [0, 1, 2]
    assert changed["eps"] == 1e-5


def test_leaves_go_by_their_paths():
    """As gradients and outputs are named."""
    assert [name for name, _ in named_leaves({"values": [1, (2, 3)], "x": 4})] == ["values.0", "values.1.0", "values.1.1", "x"]
    assert [name for name, _ in named_leaves(7)] == ["0"]
