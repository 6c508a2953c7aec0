"""Definitions and calls: each entry can be drawn and evaluated, each call is of an entry, and each gap is one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from runners.contract.audit.ways import named_by
from tests.test_architecture import ROOT
from vigil.audit.arguments import normal
from vigil.audit.coverage import gaps_of
from vigil.audit.definitions import catalog
from vigil.audit.entry import operator
from vigil.audit.known import known_calls
from vigil.audit.plan import OFTEN, plan
from vigil.audit.script import call_of
from vigil.frameworks import FRAMEWORKS

ENTRIES = catalog()
FAMILIES = sorted({entry.family for entry in ENTRIES.values()})


@pytest.fixture(scope="session")
def called(once) -> dict[str, dict[str, list[str]]]:
    """Return the public names that each framework is called by, as its own process tells them, by operator."""

    def ask(folder: Path) -> None:
        for framework in FRAMEWORKS:
            text = (
                "import json, sys; from runners.contract.audit.ways import all_ways, use_keras; "
                f"use_keras({framework!r}); json.dump(all_ways({framework!r}), open(sys.argv[1], 'w'))"
            )
            subprocess.run([sys.executable, "-c", text, folder / f"{framework}.json"], cwd=ROOT, check=True)

    folder = once("audited-calls", ask)
    return {each: json.loads((folder / f"{each}.json").read_text(encoding="utf-8")) for each in FRAMEWORKS}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_gives_finite_numbers_of_its_least_arguments(family):
    """Arguments come from the seed alone, and what is right is a number, for every set of parameters."""
    for entry in (each for each in ENTRIES.values() if each.family == family):
        for trial in (each for each in plan(entry) if each.sizes == entry.sizes[0] and each.precision == "fp32"):
            if trial.values != "given":
                continue
            one, again = trial.arguments(3), trial.arguments(3)
            assert all(one[name].tobytes() == again[name].tobytes() for name in one), entry.name
            is_finite = all(np.isfinite(each).all() for each in one.values())  # some are about those that are not
            for output in entry.evaluate(one, trial.parameters):
                assert output.dtype.kind in "fiub", (entry.name, output.dtype)
                assert not is_finite or not output.size or np.isfinite(output).any(), (entry.name, trial.parameters)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_says_where_it_stands_and_begins_small(family):
    """A definition without a source could be anyone's; the least arguments are few, so that a script shows them."""
    for entry in (each for each in ENTRIES.values() if each.family == family):
        assert entry.source.startswith("https://"), (entry.name, entry.source)
        size = sum(each.size for each in plan(entry)[0].arguments(0).values())
        assert size <= 8192 or family == "statistics", entry.name  # samples are many


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_call_is_of_an_entry(called, framework):
    """A call that nothing asks for looks as if it were audited."""
    assert set(called[framework]) <= set(ENTRIES)


def test_every_entry_has_a_call(called):
    """A definition that no framework is held to is no audit."""
    assert set(ENTRIES) <= {name for calls in called.values() for name in calls}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_gap_has_a_reason_and_is_one(called, framework):
    """A name that is audited by now is no gap any more."""
    audited = {named_by(name) for names in called[framework].values() for name in names}
    for pattern, reason in gaps_of(framework).items():
        assert reason, pattern
        assert pattern not in audited


def test_a_script_has_the_call_alone_or_its_whole_file():
    """Whether `CALLS` is written out, or made in a loop; what the library alone can give takes the file."""
    imports, lines = call_of("torch", "elementwise", "tanh", "torch.tanh")
    assert (imports, len(lines)) == (["from torch import tanh as function"], 1)
    _, lines = call_of("torch", "padding", "pad_constant_2d", "torch.nn.functional.pad")
    assert lines[-1].startswith("call = lambda x, widths, value: ")
    _, lines = call_of("jax", "statistics", "he_cut_weights", "jax.nn.initializers.he_normal")
    assert lines[-1] == "call = CALLS['he_cut_weights']['jax.nn.initializers.he_normal']"
    assert not any("runners" in line for line in lines)
    _, lines = call_of("jax", "metrics", "overlap_metric", "keras.metrics.IoU")
    assert any(line.startswith("def _over(") for line in lines), "what the call is made of is missing"


def test_two_entries_of_one_name_are_refused():
    """The later one would silently take the place of the first."""
    with pytest.raises(ValueError, match="two entries of one name"):

        @operator(x=normal("n"), source="https://example.org")
        def exp(x):
            return x


def test_arguments_that_a_definition_does_not_take_are_refused():
    """A misspelt parameter would never be tried."""
    with pytest.raises(ValueError, match="takes"):

        @operator(x=normal("n"), parameters=[{"axes": 0}], source="https://example.org")
        def never_entered(x, axis):
            return x


def test_brackets_say_which_form_of_a_name_is_meant():
    """The name itself is what a release has or lacks."""
    assert named_by("torch.nn.LSTM (two directions)") == "torch.nn.LSTM"


def test_every_known_finding_has_its_evidence_and_names_an_entry():
    """A script that is there, or the command that shows it; an operator that no entry is of could never be seen again."""
    known = known_calls(ROOT / "reference_results" / "audit" / "known_findings.yaml")
    assert len({each.name for each in known}) == len(known) > 0
    for each in known:
        # One that is of all operators has a way that it is of, as Keras's of float64.
        assert set(each.operators) <= set(ENTRIES) or (each.operators == ("*",) and "*" not in each.ways), each.name
        assert each.evidence.startswith("vigil audit ") or (ROOT / each.evidence).exists(), each.name


def test_calls_are_made_often_where_something_may_go_wrong_at_times():
    """With the least and the largest arguments, which have two threads; loops repeat themselves, and a quick audit is quick."""
    least, *others = plan(ENTRIES["exp"], precisions=["fp32"])
    largest = max(others, key=lambda each: each.sizes["n"])
    assert (least.sizes, least.calls, least.threads) == ({"n": 7}, OFTEN, 1)
    assert (largest.sizes, largest.calls, largest.threads) == ({"n": 65537}, OFTEN, 2)
    assert {(each.calls, each.threads) for each in others if each != largest} == {(2, 1)}
    assert {each.calls for each in plan(ENTRIES["exp"], is_quick=True)} == {2}
    assert {(each.calls, each.threads) for each in plan(ENTRIES["adam"])} == {(2, 1)}
    for is_quick in (False, True):
        assert {(each.calls, each.threads) for each in plan(ENTRIES["summed_on_all"], is_quick=is_quick)} == {(OFTEN, 1)}
