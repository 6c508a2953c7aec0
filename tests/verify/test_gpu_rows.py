"""What was measured on a GPU, held to the limits that were made on CPUs."""

import json

import pytest

from vigil.digests import read_listed
from vigil.paths import reference_directory
from vigil.steps.limits import limits_of, scores_of
from vigil.verify.limits import make_limits, size_of


def rows_of(name):
    files = read_listed(reference_directory() / name / "verify", "clean-*.jsonl")
    return [json.loads(line) for content in files.values() for line in content.splitlines()]


def scores(row, limits, statistics_of):
    for family in row["largest"]:
        for statistic, value in statistics_of(row, family).items():
            yield value / limits.table[row["precision"], size_of(row["case"]), family, statistic].value


@pytest.mark.parametrize(
    ("name", "make", "statistics_of", "contexts"),
    [
        ("resnet_cifar", make_limits, lambda row, family: row["largest"][family], 30),
        ("own_steps", limits_of, scores_of, 4),
    ],
)
def test_no_tensor_of_a_gpu_is_beyond_the_limits_of_cpus(name, make, statistics_of, contexts):
    rows = rows_of(name)
    limits = make(rows)
    on_gpu = [row for row in rows if "gpu" in row]
    assert len({row["context"] for row in on_gpu}) == contexts
    assert max(max(scores(row, limits, statistics_of)) for row in on_gpu) < 1.0


@pytest.mark.parametrize(("name", "make"), [("resnet_cifar", make_limits), ("own_steps", limits_of)])
def test_rows_of_a_gpu_widen_no_limit(name, make):
    rows = rows_of(name)
    row = next(row for row in rows if "gpu" in row and row["precision"] == "fp32" and size_of(row["case"]) == "margin")
    far = {**row, "largest": {family: {**of, "distance": 15.0} for family, of in row["largest"].items()}}
    assert make([*rows, far]).table == make(rows).table
    assert "NVIDIA H200" in make(rows).processors


def test_tf32_is_held_to_the_limits_of_float16():
    table = make_limits(rows_of("resnet_cifar")).table
    halves = {key: limit for key, limit in table.items() if key[0] == "fp16"}
    assert halves
    assert {key: table[("tf32", *key[1:])] for key in halves} == halves
