"""Which cells a matrix has, and how cores are shared out."""

from __future__ import annotations

import pytest

from vigil.errors import UsageError
from vigil.process.side_by_side import share_cores
from vigil.runs.contexts import every_context, in_short_form, matrix_contexts


def test_the_matrix_is_every_combination_once():
    """Three frameworks give 36 cells, in a fixed order, framework by framework."""
    texts = [context.text for context in matrix_contexts(["torch", "tensorflow", "jax"])]
    assert len(texts) == len(set(texts)) == 36
    assert texts[:5] == [
        "torch-eager-fp32-x1",
        "torch-eager-fp32-x2",
        "torch-eager-bf16-x1",
        "torch-eager-bf16-x2",
        "torch-jit-fp32-x1",
    ]
    assert [text.split("-")[0] for text in texts] == ["torch"] * 12 + ["tensorflow"] * 12 + ["jax"] * 12


def test_a_matrix_can_be_narrowed():
    """Given modes, precisions, devices and device replace the usual ones."""
    contexts = matrix_contexts(["jax"], modes=["jit"], precisions=["fp64"], devices=[3], device="gpu")
    assert [context.text for context in contexts] == ["jax-jit-fp64-gpu-x3"]


def test_an_unknown_device_is_refused():
    """A word that no context has is a usage error."""
    with pytest.raises(UsageError, match="device"):
        matrix_contexts(["jax"], device="tpu")


def test_the_short_form_is_for_what_is_verified_in_full_one_thing_at_a_time():
    """Mode jit in fp32 on one device, and what departs from it in one thing, is verified in full; all else beside them is not."""
    options = {"precisions": ["fp32", "bf16"], "batch_size": 8}
    contexts = every_context(["torch"], modes=["eager", "jit", "compile"], **options)
    full = {context.text.removeprefix("torch-") for context in set(contexts) - in_short_form(contexts)}
    assert full == {"jit-fp32-x1", "eager-fp32-x1", "compile-fp32-x1", "jit-bf16-x1", "jit-fp32-x2", "jit-fp32-x2-s5+3"}


@pytest.mark.parametrize("missing", ["compile-fp32-x1", "jit-bf16-x1", "jit-fp32-x2"])
def test_without_one_of_its_neighbours_a_context_is_verified_in_full(missing):
    """Nothing else would show what it has in common with the one that is not there."""
    contexts = every_context(["torch"], modes=["jit", "compile"], precisions=["fp32", "bf16"], batch_size=8)
    left = [context for context in contexts if context.text != f"torch-{missing}"]
    last = next(context for context in left if context.text == "torch-compile-bf16-x2")
    assert last in in_short_form(contexts)
    assert last not in in_short_form(left)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(1, ["x1", "x2", "x2-s5+3"]), (2, ["x1", "x2", "x2-s6+2"]), (4, ["x1", "x2"]), (8, ["x1"])],
)
def test_a_batch_is_split_no_further_than_its_parts(rows, expected):
    """Eight rows of which batch norm takes all at once cannot be on two devices; in two halves they cannot be uneven."""
    contexts = every_context(["jax"], modes=["jit"], precisions=["fp32"], batch_size=8, rows=rows)
    assert [context.text.removeprefix("jax-jit-fp32-") for context in contexts] == expected
    assert all(min(context.shard_sizes(8, rows=rows)) > 0 for context in contexts)


@pytest.mark.parametrize(("n_cores", "jobs"), [(2, 2), (5, 2), (8, 3)])
def test_cores_are_shared_without_overlap(n_cores, jobs):
    """Every core has one worker, and shares differ by one core at most."""
    shares = share_cores(range(n_cores), jobs)
    assert sorted(core for share in shares for core in share) == list(range(n_cores))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_more_jobs_than_cores_still_have_a_core_each():
    """Workers that find no core of their own share one."""
    assert share_cores([4, 7], 3) == [[4], [7], [4]]


def test_one_job_is_not_bound():
    """A single worker may use whatever the machine offers."""
    assert share_cores([0, 1], 1) == [None]
