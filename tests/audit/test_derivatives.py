"""Derivatives by other ways than reverse mode: what is right by differences, planted errors, jumps, what calls refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reports.audit_text import audit_block, finding_text
from runners.contract.audit.derivatives import (
    FORWARD,
    FORWARD_OVER_FORWARD,
    FORWARD_OVER_REVERSE,
    PULLED,
    REVERSE_OVER_FORWARD,
    REVERSE_OVER_REVERSE,
    WAYS,
    by_cotangent,
    first_of,
    second_of,
    tried,
)
from runners.contract.files import replace_text
from tests.test_architecture import ROOT
from vigil.audit.arguments import Argument, normal
from vigil.audit.definitions import catalog
from vigil.audit.entry import Entry
from vigil.audit.exact import exact_of
from vigil.audit.judge import measure
from vigil.audit.known import KnownCall
from vigil.audit.limits import AuditLimits
from vigil.audit.plan import Trial, plan
from vigil.audit.sweep import USUAL_MODES, Extent, audit
from vigil.documents.audit import Audit
from vigil.documents.verification import LimitFacts
from vigil.process.build_spec import fault_entry
from vigil.steps.processes import Started

FAULTS = ROOT / "tests" / "audit" / "faults"


def asked(definition, *, n=33, **arguments):
    """Return a question that has directions, and what is right for it."""
    entry = Entry(name="own", family="own", definition=definition, arguments=arguments, sizes=({"n": n},), parameters=({},),
                  source="https://example.org")  # fmt: skip
    trial = Trial(entry, 0, {"n": n}, {}, "fp64", derives=True)
    question = trial.question(5)
    return question, exact_of(trial, question, 5)


def product(x, y):
    """Return what has derivatives of each argument, and mixed ones."""
    return np.exp(x) * np.sin(y)


def right_answers(question):
    """Return all derivatives of the product as formulas have them."""
    x, y = (question.arguments[name] for name in ("x", "y"))
    (d, e), cotangent = question.directions, question.cotangents[0]
    value, slope = np.exp(x) * np.sin(y), np.exp(x) * np.cos(y)
    first = value * d["x"] + slope * d["y"]
    second = value * d["x"] * e["x"] + slope * (d["x"] * e["y"] + d["y"] * e["x"]) - value * d["y"] * e["y"]
    pulled = {second_of(way): np.asarray((cotangent * second).sum()) for way in PULLED}
    return {
        "outputs/0": value, "gradients/x": cotangent * value, "gradients/y": cotangent * slope, first_of(0): first,
        by_cotangent(0): first, second_of(FORWARD_OVER_FORWARD, 0): second, **pulled,
    }  # fmt: skip


@pytest.mark.parametrize(("got", "is_right"), [(1.1e-16, True), (1e-3, False)])
def test_where_all_is_zero_rounding_of_what_cancels_is_no_error(got, is_right):
    """A product with two zeros has second derivatives whose terms cancel: nothing there says how large they were."""
    question, exact = asked(lambda x: 0.0 * x, x=normal("n"))
    quantity = second_of(FORWARD_OVER_REVERSE)
    measured = measure(question, exact, {quantity: np.float64(got)}, ways=[FORWARD_OVER_REVERSE])[quantity]
    assert (measured.ratio < 1.0) == is_right
    assert is_right or measured.ratio > 1e6


def test_what_formulas_give_is_a_few_floors_off():
    """First and second derivatives of two arguments that move together, by all ways, far within any limit."""
    question, exact = asked(product, x=normal("n"), y=normal("n"))
    found = measure(question, exact, right_answers(question))
    assert {first_of(0), by_cotangent(0), second_of(FORWARD_OVER_FORWARD, 0), *map(second_of, PULLED)} < set(found)
    assert max(each.ratio for each in found.values()) < 32
    assert exact.kinks == 0


@pytest.mark.parametrize(
    ("quantity", "change"),
    [
        (first_of(0), lambda array: array * (1 + 1e-3 * (np.arange(33) == 16))),
        (by_cotangent(0), np.zeros_like),
        (second_of(FORWARD_OVER_FORWARD, 0), lambda array: array + 1e-3 * (np.arange(33) == 32)),
        *((second_of(way), lambda array: array * 1.001) for way in PULLED),
    ],
)
def test_a_derivative_that_is_slightly_wrong_is_seen(quantity, change):
    """A thousandth of one element, or of a sum, is farther off than anything that is right, and nothing else is."""
    question, exact = asked(product, x=normal("n"), y=normal("n"))
    arrays = right_answers(question)
    found = measure(question, exact, arrays | {quantity: change(arrays[quantity])})
    assert found[quantity].ratio > 1e4
    assert max(each.ratio for name, each in found.items() if name != quantity) < 32


def test_a_mixed_derivative_that_is_dropped_is_seen():
    """Both arguments move at once, so that a formula without the term of both is wrong."""
    question, exact = asked(product, x=normal("n"), y=normal("n"))
    arrays = right_answers(question)
    (d, e), cotangent = question.directions, question.cotangents[0]
    value = arrays["outputs/0"]
    alone = np.asarray((cotangent * value * (d["x"] * e["x"] - d["y"] * e["y"])).sum())
    name = second_of(REVERSE_OVER_REVERSE)
    assert measure(question, exact, arrays | {name: alone})[name].ratio > 1e6


@pytest.mark.parametrize(
    ("definition", "place", "first", "second"),
    [
        (lambda x: np.abs(x), 0.0, False, False),
        (lambda x: np.abs(x), 1e-3, False, False),
        (lambda x: np.maximum(x, 0.0) ** 2, 0.0, False, False),
        (lambda x: x + np.maximum(x, 0.0) ** 2, 0.0, True, False),
        (lambda x: np.maximum(x, 0.0) ** 2, 1e-3, False, False),
        (lambda x: np.maximum(x, 0.0) ** 2, 0.5, True, True),
    ],
)
def test_nothing_is_held_where_a_derivative_jumps(definition, place, first, second):
    """Also at the very middle, where differences of both sides agree on a mean that no formula gives; and it is counted.

    Where the second derivative jumps, the first one is held if it is much larger than what that makes of its difference.
    """
    near = Argument(("n",), lambda random, shape, sizes: np.full(shape, place))
    _, exact = asked(definition, n=3, x=near)
    held = exact.derivatives
    assert np.isfinite(held.first[0][1]).all() == first
    assert np.isfinite(held.second[0][1]).all() == second
    assert np.isfinite(held.pulled[1]) == second
    assert held.jumps == 3 * (not first) + 4 * (not second)


def test_what_is_no_number_at_one_place_leaves_the_others_held():
    """A power of 0 is no number on one side of it: the second derivatives of all other elements are held as they were."""
    drawn = Argument(("n",), lambda random, shape, sizes: random.uniform(0.5, 2.0, shape) * (np.arange(shape[0]) != 7))
    question, exact = asked(lambda x: x**1.7, x=drawn)
    second, floors = exact.derivatives.second[0]
    held = np.isfinite(floors)
    assert held.sum() == 32
    assert not held[7]
    d, e, x = (each[held] for each in (*(direction["x"] for direction in question.directions), question.arguments["x"]))
    np.testing.assert_allclose(second[held], 1.7 * 0.7 * x**-0.3 * d * e, rtol=1e-6)


def test_a_derivative_that_is_neither_given_nor_refused_is_told():
    """A runner that forgets one does not pass for one whose framework has none."""
    question, exact = asked(product, x=normal("n"), y=normal("n"))
    arrays = right_answers(question)
    del arrays[first_of(0)]
    assert measure(question, exact, arrays)[first_of(0)].problem.startswith("gave nothing")
    assert first_of(0) not in measure(question, exact, arrays, ways=[way for way in WAYS if way != FORWARD])


def test_a_rule_that_is_missing_is_told_from_an_error():
    """By the error's kind, or by what the framework says; any other error is one."""

    def fails(error):
        raise error

    ways = {
        FORWARD: lambda: 1,
        PULLED[0]: lambda: fails(NotImplementedError("")),
        PULLED[1]: lambda: fails(RuntimeError("it has No gradient defined\nhere")),
        PULLED[2]: lambda: fails(RuntimeError("an index")),
    }
    gave, derived = tried(ways, refusals=["No gradient defined"])
    assert gave == {FORWARD: 1}
    assert derived.refused == {PULLED[0]: "NotImplementedError: ", PULLED[1]: "RuntimeError: it has No gradient defined"}
    assert derived.raised == {PULLED[2]: "RuntimeError: an index"}
    assert derived.answered == (FORWARD,)


def test_derivatives_are_asked_in_float64_of_each_set_of_parameters():
    """Not in the quick form, and beyond the least sizes only where it is cheap."""
    entry = catalog()["layer_norm"]
    assert not any(trial.derives for trial in plan(entry, is_quick=True))
    least, all_of = ([each for each in plan(entry, derives_largely=more) if each.derives] for more in (False, True))
    assert [dict(each.parameters) for each in least] == [dict(each) for each in entry.parameters]
    assert {each.precision for each in all_of} == {"fp64"}
    assert len(all_of) == len(least) + 1


def audited(directory: Path, framework: str, fault: str | None, ways: list[str], *, known=(), seed=4) -> Audit:
    """Return the audit of tanh in float64, with or without a fault planted."""
    limits = AuditLimits({}, LimitFacts(clean_rows=0))
    extent = Extent(entries=[catalog()["tanh"]], modes=[USUAL_MODES[framework]], ways=ways, precisions=["fp64"], seed=seed)
    started = Started(framework=framework, fault=fault_entry(str(FAULTS / f"{fault}.py")) if fault else None)
    return audit(started, extent, directory, limits, known, command="vigil audit")


def shown(directory: Path, name: str, fault: str | None) -> str:
    """Return what a finding's script says, with the fault planted before it or without."""
    text = (directory / name).read_text(encoding="utf-8")
    assert "vigil" not in text.lower()
    if fault:
        text = (FAULTS / f"{fault}.py").read_text(encoding="utf-8") + "\ninstall()\n" + text
    replace_text(directory / "shown.py", text)
    ended = subprocess.run([sys.executable, directory / "shown.py"], capture_output=True, text=True, cwd=directory, check=False)
    assert ended.returncode == (1 if ended.stdout.startswith("WRONG") else 0), ended.stderr
    return ended.stdout[:5]


def test_a_second_derivative_that_pytorch_stops_is_found(tmp_path):
    """Outputs, gradients and other names are right; forward mode that it has not is told, and is no finding."""
    fault, way = "tanh_second_stopped_torch", "torch.nn.functional.tanh"
    found = audited(tmp_path, "torch", fault, [way, "torch.tanh"])
    assert {(each.way, each.quantity) for each in found.findings} == {(way, second_of(REVERSE_OVER_REVERSE))}
    assert (found.findings[0].got, found.verdict.name) == (0.0, "regressed")
    ways = {each.way: (each.calls, each.refused, each.wrong) for each in found.derivatives}
    assert ways == {way: (2, 0, 1) if way == REVERSE_OVER_REVERSE else (2, 1, 0) for way in WAYS}
    assert {each.way for each in found.gaps if each.status == "refused"} == {way}
    script = found.findings[0].script
    assert script
    assert shown(tmp_path, script, fault) == "WRONG"
    assert shown(tmp_path, script, None) == "RIGHT"
    block = audit_block(found, directory="runs/x")
    assert "reverse over reverse: 2 calls; 0 refuse, 1 are wrong" in block
    assert "second derivative, reverse over reverse, in fp64" in block


def test_forward_mode_that_is_slightly_wrong_is_found(tmp_path):
    """A thousandth, where the gradient is right; an error that comes with another way is neither right nor wrong."""
    fault, way = "tanh_forward_scaled_torch", "torch.nn.functional.tanh"
    found = audited(tmp_path, "torch", fault, [way])
    wrong = [each for each in found.findings if each.kind == "wrong"]
    assert first_of(0) in {each.quantity for each in wrong}
    assert "outputs/0" not in {each.quantity for each in wrong}
    assert not any((each.quantity or "").startswith("gradients") for each in wrong)
    assert {each.kind for each in found.findings} == {"wrong"}
    raised = [each for each in found.gaps if each.status == "raised"]
    assert any("a state that was never met" in each.message for each in raised)
    assert sum(each.raised for each in found.derivatives) == len(raised)
    first = next(each for each in wrong if each.quantity == first_of(0))
    assert "derivative by forward mode of output 0" in finding_text(first)
    assert first.got / first.expected == pytest.approx(1.001, abs=1e-6)


def test_a_known_finding_explains_the_way_that_it_names(tmp_path):
    """One of another way does not."""
    entry = {
        "name": "own", "frameworks": ["torch"], "releases": ["*"], "operators": ["tanh"], "ways": ["torch.nn.functional.tanh"],
        "evidence": "docs",
    }  # fmt: skip
    known = [KnownCall(**entry | {"name": name, "quantities": [f"second/{name}"]}) for name in (PULLED[0], PULLED[2])]
    found = audited(tmp_path, "torch", "tanh_second_stopped_torch", ["torch.nn.functional.tanh"], known=known)
    assert [each.known for each in found.findings] == [REVERSE_OVER_REVERSE]


def test_a_wrong_rule_of_jax_is_found(tmp_path):
    """A rule that is wrong by a thousandth is so by every way; one that stops is right once and wrong twice."""
    fault = "tanh_jvp_jax"
    found = audited(tmp_path, "jax", fault, ["jax.numpy.tanh", "jax.lax.tanh"])
    groups = {way: {(each.quantity or "").partition("/")[0] for each in found.findings if each.way == way}
              for way in ("jax.numpy.tanh", "jax.lax.tanh")}  # fmt: skip
    assert groups == {"jax.numpy.tanh": {"gradients", "forward", "cotangent", "second"}, "jax.lax.tanh": {"second"}}
    for name in ("forward", "second"):
        each = next(each for each in found.findings if (each.quantity or "").startswith(name))
        assert each.script
        assert shown(tmp_path, each.script, fault) == "WRONG", each
        assert shown(tmp_path, each.script, None) == "RIGHT", each


def test_another_seed_compiles_no_program_of_jax_again(tmp_path, monkeypatch):
    """Numbers that are part of a program make it another one for each seed, of which nothing is kept."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    kept = []
    for seed in (4, 5):
        found = audited(tmp_path / str(seed), "jax", None, ["jax.numpy.tanh"], seed=seed)
        assert found.verdict.name == "reproduced"
        assert {each.calls for each in found.derivatives} == {1}
        kept.append({each.name for each in (tmp_path / "cache").rglob("*-cache")})
    assert kept[0] == kept[1] != set()


def test_a_second_derivative_that_tensorflow_stops_is_found(tmp_path):
    """Where the stopped derivative is derived; forward over forward is not asked."""
    fault, way = "tanh_second_stopped_tensorflow", "tensorflow.math.tanh"
    found = audited(tmp_path, "tensorflow", fault, [way])
    assert {(each.quantity or "").partition("/")[0] for each in found.findings} == {"second"}
    assert {each.way: each.wrong for each in found.derivatives} == {
        FORWARD: 0,
        FORWARD_OVER_REVERSE: 1,
        REVERSE_OVER_FORWARD: 0,
        REVERSE_OVER_REVERSE: 1,
    }
    script = found.findings[0].script
    assert script
    assert shown(tmp_path, script, fault) == "WRONG"
    assert shown(tmp_path, script, None) == "RIGHT"
