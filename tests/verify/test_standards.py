"""Many contexts of one command: which is begun when, and that each answer is that of its own context."""

import dataclasses
from types import SimpleNamespace

import pytest

from tests.verify.conftest import RECIPE
from vigil.documents.context import MODES
from vigil.frameworks import TABLE
from vigil.process import side_by_side
from vigil.runs.contexts import every_context, in_short_form
from vigil.verify import standards
from vigil.verify.company import companion_of


@pytest.fixture
def contexts():
    """Two modes in two precisions of three frameworks, one framework after the other."""
    frameworks = ("torch", "tensorflow", "jax")
    return every_context(frameworks, modes=("eager", "jit"), precisions=("fp32", "bf16"), batch_size=4)


def test_frameworks_take_turns(contexts, monkeypatch):
    """Side by side, two contexts of one framework would compile the same; no context is lost."""
    monkeypatch.setattr(standards, "shares_of", lambda context, short: 1)
    begun = standards.in_turns(contexts, short=())
    turns = [begun[first : first + 3] for first in range(0, len(begun), 3)]
    assert all(sorted(each.framework for each in turn) == ["jax", "tensorflow", "torch"] for turn in turns)
    assert sorted(begun, key=contexts.index) == contexts


def test_the_dearest_of_a_framework_come_first(contexts):
    """By what its mode costs in the form that a context is verified in: one that compiles would run alone at the end."""
    short = in_short_form(contexts)
    begun = standards.in_turns(contexts, short)
    assert {each in short for each in contexts} == {True, False}
    for name in ("torch", "tensorflow", "jax"):
        costs = [TABLE[name].costs[each.mode].verify[each in short] for each in begun if each.framework == name]
        assert costs == sorted(costs, reverse=True)
        assert len(set(costs)) > 2


def test_where_frameworks_have_unequal_numbers_the_rest_comes_last(contexts):
    """No context is lost."""
    some = [*contexts[:1], *contexts[-3:]]
    begun = standards.in_turns(some, short=())
    assert sorted(each.framework for each in begun[:2]) == ["jax", "torch"]
    assert sorted(begun, key=some.index) == some


def test_what_compiles_for_minutes_takes_the_cores_of_two_workers():
    """PyTorch's compiler and JAX op by op in full, whose cases two processes divide, and a rank for each uneven shard."""
    contexts = every_context(("torch", "tensorflow", "jax"), modes=MODES, precisions=("fp32", "bf16"), batch_size=8)
    short = in_short_form(contexts)
    wide = [context.text for context in contexts if standards.shares_of(context, short) == 2]
    of_ranks = ["torch-compile-fp32-x2-s5+3", "torch-compile-bf16-x2-s5+3"]
    assert wide == ["torch-compile-fp32-x1", *of_ranks, "jax-eager-fp32-x1"]
    begun = standards.in_turns(contexts, short)
    assert {context.text for context in begun[:4]} == set(wide)
    assert sorted(begun, key=contexts.index) == contexts
    on_gpu = [dataclasses.replace(context, device="gpu") for context in contexts]
    assert all(standards.shares_of(context, short=()) == 1 for context in on_gpu)


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_processes_are_given_cores_of_their_own(monkeypatch, tmp_path, jobs):
    """As a worker has by itself, so that each has the threads of a verification in one process; alone there is one."""
    given = {}

    def verify_context(standard, context, directory, *, cores, second_cores, **options):
        given[context.text] = cores, second_cores
        return context

    monkeypatch.setattr(standards, "verify_context", verify_context)
    monkeypatch.setattr(standards, "require_framework", lambda name: None)
    monkeypatch.setattr(side_by_side, "available_cores", lambda: [0, 1, 2, 3])
    standard = SimpleNamespace(
        tape=SimpleNamespace(header={"recipe": RECIPE}), limits=SimpleNamespace(require=lambda precision: None)
    )
    contexts = every_context(("torch",), modes=("jit", "compile"), precisions=("fp32",), batch_size=8)
    standards.verify_contexts(
        standard, contexts, tmp_path, command="a test", data_directory=None, jobs=jobs, short=in_short_form(contexts),
        on_end=lambda *ended: None,
    )  # fmt: skip
    halves = [0, 2], [1, 3]
    assert given["torch-compile-fp32-x1"] == ((None, None) if jobs == 1 else halves)
    assert given["torch-compile-fp32-x2-s5+3"] == (None if jobs == 1 else [0, 1, 2, 3], None)
    assert given["torch-jit-fp32-x1"][0] in (None, *halves)
    assert given["torch-jit-fp32-x1"][1] is None


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_come_in_the_order_asked_and_are_told_as_they_end(contexts, monkeypatch, tmp_path, jobs):
    """Whichever was begun first."""
    begun, told = [], []

    def verify_context(standard, context, directory, **options):
        begun.append(context)
        return context

    monkeypatch.setattr(standards, "verify_context", verify_context)
    monkeypatch.setattr(standards, "require_framework", lambda name: None)
    standard = SimpleNamespace(
        tape=SimpleNamespace(header={"recipe": RECIPE}), limits=SimpleNamespace(require=lambda precision: None)
    )
    answers = standards.verify_contexts(
        standard, contexts, tmp_path, command="a test", data_directory=None, jobs=jobs,
        on_end=lambda done, document, directory: told.append((document, directory)),
    )  # fmt: skip
    assert [document for document, _ in answers] == contexts
    assert all(document.text in directory.name for document, directory in answers)
    assert sorted(map(str, told)) == sorted(map(str, answers))
    if jobs == 1:
        assert begun == standards.in_turns(contexts, short=())


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_held_to_a_companion_is_verified_after_it(contexts, monkeypatch, tmp_path, jobs):
    """In the short form; whatever is verified in full, or has no companion here, is held to the oracle alone."""
    given = {}

    def verify_context(standard, context, directory, *, companion, **options):
        given[context] = companion
        return context

    monkeypatch.setattr(standards, "verify_context", verify_context)
    monkeypatch.setattr(standards, "require_framework", lambda name: None)
    standard = SimpleNamespace(
        tape=SimpleNamespace(header={"recipe": RECIPE}), limits=SimpleNamespace(require=lambda precision: None)
    )
    short = in_short_form(contexts)
    answers = standards.verify_contexts(
        standard, contexts, tmp_path, command="a test", data_directory=None, jobs=jobs, short=short, on_end=lambda *ended: None
    )
    directories = dict(answers)
    held = [context for context in contexts if context in short and context.devices == 2]
    assert len(held) > 5
    if jobs == 1:
        assert all(given[context] == directories[companion_of(context)] for context in held)
    assert not any(given[context] for context in contexts if context.devices == 1)
