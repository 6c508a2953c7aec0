"""What is said of an operator's trials: rates with intervals, tolerances that rounding supports, verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from reports.operator_text import operator_block
from runners.contract.operators import frame
from vigil.documents.context import make_context
from vigil.documents.operator import OperatorProcess, OperatorVerification
from vigil.documents.step import OwnFileFacts
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts
from vigil.operators.judge import findings_of, own_tests_of, rate_of, supported_tolerance, verdict_of, without_kinks
from vigil.operators.limits import limits_of, operator_limits, plain_limits, reach
from vigil.verify.limits import Limits

_TRIAL = {"group": "usual", "seed": 0, "sizes": {"rows": 4}, "precision": "fp32", "values": "given", "layout": "plain"}


def result(kind: str, group: str = "usual", seed: int = 0, **more) -> dict:
    """Return what a trial came to."""
    found = {"trial": _TRIAL | {"group": group, "seed": seed}, "kind": kind, "calls": {"calls": 2, "results": 1}}
    if kind in (frame.FINE, frame.BUG, frame.KINK, frame.RACE):
        found["measured"] = {"gradients/x": [50.0 if kind != frame.FINE else 0.5, 2.0]}
    if kind in (frame.BUG, frame.KINK, frame.RACE):
        found |= {"tensor": "gradients/x", "elements": {"out": 1, "of": 8, "index": [3], "got": 1.0, "expected": 2.0}}
    return found | more


def answers_of(*results: dict, smallest=(), tolerance=None) -> dict:
    """Return what a runner writes."""
    return {"usual": {"rows": 4}, "precisions": ["fp32"], "results": list(results), "smallest": list(smallest),
            "tolerances": {"fp32": tolerance}}  # fmt: skip


def test_a_rate_has_an_interval():
    """Clopper and Pearson's, of the tables: 3 of 20."""
    rate = rate_of(3, 20)
    assert (round(rate.low, 4), round(rate.high, 4)) == (0.0321, 0.3789)
    assert rate_of(0, 0).high == 1.0


def test_the_supported_tolerance_holds_for_others():
    """Of the largest of normal errors: what 200 pairs give is kept by 20,000 others, and is not much larger than they need."""
    random = np.random.default_rng(0)

    def needs(count: int) -> np.ndarray:
        return np.abs(random.standard_normal((count, 1000))).max(axis=1) * 1e-6

    supported = supported_tolerance(needs(200))
    others = needs(20_000)
    assert (others > supported).sum() == 0
    assert supported < 4 * np.median(others)


def test_a_need_at_a_kink_does_not_widen_the_tolerance():
    """One pair whose derivative jumps needs a million times as much."""
    needs = np.abs(np.random.default_rng(1).standard_normal((64, 100))).max(axis=1) * 1e-6
    assert without_kinks([*needs, 1.0]) == list(needs)
    assert supported_tolerance(without_kinks([*needs, 1.0])) < 1e-4
    assert without_kinks([]) == []


def test_the_worst_comes_first_and_a_kink_is_no_failure():
    """Each kind and tensor is one finding, with how many inputs show it."""
    results = [result(frame.KINK), result(frame.BUG, seed=1), result(frame.BUG, "size", 2), result(frame.FINE, seed=3)]
    findings = findings_of(answers_of(*results), threads=1)
    assert [each.kind for each in findings] == [frame.BUG, frame.KINK]
    assert (findings[0].usual.count, findings[0].usual.of, findings[0].others) == (1, 3, {"size": (1, 1)})
    assert verdict_of(findings, results).name is Verdict.REGRESSED
    assert verdict_of(findings[1:], results).name is Verdict.REPRODUCED


def test_an_operator_that_only_raises_has_failed():
    """A crash is neither a mismatch nor a pass; nothing that could be held to anything is unknown."""
    raising = [result(frame.RAISES, message="my_op.py:3: candidate: ValueError: no"), result(frame.FINE)]
    assert verdict_of(findings_of(answers_of(*raising), threads=1), raising).name is Verdict.FAILED_PROGRAM
    unstable = [result(frame.UNSTABLE, message="no number")]
    assert verdict_of(findings_of(answers_of(*unstable), threads=1), unstable).name is Verdict.UNKNOWN


def test_the_users_own_test_is_judged():
    """It fails in two of forty, once where the derivative jumps; what rounding needs is more than it allows."""
    needs = list(np.linspace(1e-6, 2e-6, 4))
    results = [result(frame.FINE, seed=seed, needs=needs, test_fails=False) for seed in range(38)]
    results += [result(frame.FINE, seed=38, needs=needs, test_fails=True, test_at_kink=True)]
    results += [result(frame.FINE, seed=39, needs=needs, test_fails=True, test_at_kink=False)]
    [test] = own_tests_of(answers_of(*results, tolerance={"atol": 1e-6, "rtol": 1e-5}))
    assert (test.fails.count, test.fails.of, test.at_kink, test.pairs) == (2, 40, 1, 160)
    assert test.is_too_tight
    assert test.supported >= 4e-6
    [test] = own_tests_of(answers_of(*results, tolerance={"atol": 1e-4, "rtol": 1e-5}))
    assert not test.is_too_tight
    assert own_tests_of(answers_of(*results)) == []


def test_a_row_that_is_no_rounding_makes_no_limit():
    """A limit made of it would pass what is wrong."""
    row = {"program": "a", "context": "torch-eager-fp32-x1", "case": "operator", "precision": "fp32",
           "largest": {"outputs": 1e9}, "hardware": "x", "cpu_flags": []}  # fmt: skip
    with pytest.raises(Exception, match="which is no rounding"):
        limits_of([row])


def test_the_committed_limits_are_of_rounding():
    """In each precision and family: a few floors, from several operators."""
    limits = operator_limits()
    for families in plain_limits(limits, ("fp32", "bf16", "fp16")).values():
        assert all(0.5 < value < 12.0 for value in families.values())
    with pytest.raises(Exception, match="no clean runs of operators' outputs in fp32"):
        plain_limits(Limits({}, 0), ("fp32",))


def test_a_small_tensor_may_be_farther_off():
    """By as much as the F distribution says."""
    table = dict(reach())
    assert table[4096.0] == 1.0
    assert table[1.0] > 8.0
    assert list(table.values()) == sorted(table.values(), reverse=True)


def test_the_block_says_what_each_failure_is(monkeypatch):
    """At 80 columns: the answer first, the call that shows it, what rounding needs."""
    monkeypatch.setenv("COLUMNS", "80")
    needs = list(np.linspace(1e-6, 2e-6, 4))
    results = [result(frame.FINE, seed=seed, needs=needs, test_fails=True) for seed in range(10)]
    results += [result(frame.BUG, seed=1, needs=needs, test_fails=False), result(frame.KINK, "values")]
    small = result(frame.BUG) | {"trial": _TRIAL | {"sizes": {"rows": 1}, "seed": 1}}
    results[-1]["elements"] = results[-1]["elements"] | {"out": 0}
    answers = answers_of(*results, smallest=[small], tolerance={"atol": 1e-6, "rtol": 0.0})
    findings = findings_of(answers, threads=1)
    process = OperatorProcess(
        threads=1, trials={"fine": 10, "bug": 1, "kink": 1}, repeated={"calls": 60, "results": 1}, refused=(), unstable=(),
        worst={"outputs/0": 0.4}, failure=None, environment={}, directory="t1", seconds=3.0,
    )  # fmt: skip
    document = OperatorVerification(
        operator_id="one", created="2026-01-01T00:00:00+00:00", command="vigil verify my_op.py",
        file=OwnFileFacts(path="/somewhere/my_op.py", sha256="0" * 64),
        context=make_context(framework="torch", mode="eager", precision="fp32"), framework_version="2.13.0", release=None,
        fault=None, verdict=verdict_of(findings, results), usual={"rows": 4}, precisions=("fp32",), findings=tuple(findings),
        tests=tuple(own_tests_of(answers)), processes=(process,), limits=LimitFacts(clean_rows=9, sha256=None),
        not_seen=("other sizes",), seconds=3.0,
    )  # fmt: skip
    text = operator_block(document, directory="runs/one")
    flat = " ".join(text.split())
    assert text.startswith("REGRESSED: my_op.py, torch 2.13.0, eager: 1 wrong tensor; some inputs lie where")
    assert "shown by inputs(1, rows=1) in fp32: 1 of 8 elements are out; gradients/x[3] is 1, and should be 2" in flat
    assert "in fp32: no element stands out, all 8 together do; gradients/x[3] is 1, and should be 2" in flat
    assert "your test's tolerance is too tight: rounding needs atol " in flat
    assert "it fails in 10 of 11" in flat
    assert "60 calls with the same inputs gave one result" in flat
    assert all(len(line) <= 80 for line in text.splitlines())
    assert document.exit_code == 1
