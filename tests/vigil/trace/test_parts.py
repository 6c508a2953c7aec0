"""Digests, records and their comparison, on arrays and lines."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from runners.contract.trace.digests import digest_of_array
from runners.contract.trace.records import Ask, Recorder, monitored, repeated, tried
from vigil.trace.compare import INPUTS, OPERATOR, OUTPUT, amount_of, first_difference, first_operator
from vigil.trace.trace import bound_of


@pytest.mark.parametrize("size", [1, 7, 1000, 5000, 40_000, 300_001])
def test_a_digest_sees_one_bit_of_any_size_of_array(size) -> None:
    """Also two signs that change, and two numbers that change places."""
    draw = np.random.default_rng(size)
    array = draw.normal(size=size).astype(np.float32)
    usual = digest_of_array(array)
    assert digest_of_array(array.copy()) == usual
    for place in {0, size // 2, size - 1}:
        other = array.copy()
        other.view(np.int32)[place] ^= 1
        assert digest_of_array(other) != usual
    if size > 6:
        signs, swapped = array.copy(), array.copy()
        signs[[1, size - 2]] *= -1
        swapped[[1, size - 2]] = swapped[[size - 2, 1]]
        assert len({usual, digest_of_array(signs), digest_of_array(swapped)}) == 3


def test_a_digest_is_of_bits_and_not_of_numbers() -> None:
    assert digest_of_array(np.float32([0.0])) != digest_of_array(np.float32([-0.0]))
    assert digest_of_array(np.float32([math.nan])) == digest_of_array(np.float32([math.nan]))
    with pytest.raises(TypeError, match="Python objects"):
        digest_of_array(np.array([None]))


def _run(folder, values: list[float], **ask) -> Recorder:
    folder.mkdir()
    Ask(**ask).write(folder)
    recorder = Recorder(folder)
    for step, value in enumerate(values):
        array = np.array([value])
        recorder.add("x", "forward", "float64", (1,), digest_of_array(array), lambda array=array: array)
        if step % 2:
            recorder.steps()
    recorder.close()
    return recorder


def test_the_first_record_that_differs_is_told_with_its_step(tmp_path) -> None:
    _run(tmp_path / "one", [1.0, 2.0, 3.0, 4.0, 5.0])
    _run(tmp_path / "same", [1.0, 2.0, 3.0, 4.0, 5.0])
    _run(tmp_path / "other", [1.0, 2.0, 3.0, 9.0, 9.0], reference=str(tmp_path / "one" / "records.jsonl"))
    _run(tmp_path / "short", [1.0, 2.0])
    records = {name: tmp_path / name / "records.jsonl" for name in ("one", "same", "other", "short")}
    assert first_difference(records["one"], records["same"]) is None
    found = first_difference(records["one"], records["other"])
    assert (found.number, found.one.step, found.first) == (3, 1, 2)
    ended = first_difference(records["one"], records["short"])
    assert (ended.number, ended.other) == (2, None)
    # What parts from the reference is kept whole, and nothing after it.
    with np.load(tmp_path / "other" / "parted.npz") as kept:
        assert (int(kept["record"]), kept["values"].tolist()) == (3, [9.0])


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (["add", "a.py:1", [1], [9]], OUTPUT),
        (["add", "a.py:1", [9], [9]], INPUTS),
        (["mul", "a.py:1", [1], [2]], OPERATOR),
        (None, OPERATOR),
    ],
)
def test_the_first_operator_that_differs_is_told_with_what_of_it(tmp_path, other, kind) -> None:
    def lines(*operators) -> str:
        return "".join(json.dumps([0, 0, *each, []]) + "\n" for each in operators if each)

    same, one = ["sub", "a.py:0", [0], [0]], ["add", "a.py:1", [1], [2]]
    (tmp_path / "one").write_text(lines(same, one))
    (tmp_path / "other").write_text(lines(same, other))
    found = first_operator(tmp_path / "one", tmp_path / "other")
    assert (found.number, found.kind) == (1, kind)
    assert first_operator(tmp_path / "one", tmp_path / "one") is None


def test_an_amount_is_elements_the_largest_and_units_in_the_last_place() -> None:
    one = np.float32([1.0, 2.0, 3.0])
    other = one.copy()
    other[1] = np.nextafter(np.float32(2.0), np.float32(3.0))
    found = amount_of(one, other, "float32")
    assert (found.elements, found.ulps, found.row) == (1, 1, 1)
    assert found.largest == pytest.approx(2.0**-22)
    # From the least number below zero to the least above there are two.
    assert amount_of(np.float32([-1e-45]), np.float32([1e-45]), "float32").ulps == 2
    assert amount_of(one, one[:2], "float32") is None


def test_containers_are_returned_as_they_were_with_names_for_leaves() -> None:
    seen = []

    def leaf(value, name):
        seen.append(name)
        return value

    value = {"a": [1, (2, 3)], "b": {"c": 4}}
    assert monitored(value, "x", leaf) == value
    assert seen == ["x['a'][0]", "x['a'][1][0]", "x['a'][1][1]", "x['b']['c']"]


def test_what_a_call_is_refused_by_is_told() -> None:
    assert repeated(lambda: 1)["results"] == 1

    def refuses() -> int:
        raise RuntimeError("no deterministic kernel\nand more")

    assert tried(refuses)["message"] == "RuntimeError: no deterministic kernel"


def test_what_could_be_missed_is_bounded() -> None:
    assert bound_of(61, 0).runs == pytest.approx(3 / 60, rel=0.03)
    assert bound_of(2, 1000).steps == pytest.approx(3 / 1000, rel=0.01)
