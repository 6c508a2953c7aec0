"""The count of false alarms: what clean contexts raise, and what a known finding explains."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from benchmarks import false_alarms
from benchmarks.false_alarms import by_present_limits, count, instructions_of, row_of, with_findings
from vigil.audit.limits import NAME as AUDITS
from vigil.documents.context import parse_context
from vigil.documents.record import Code
from vigil.documents.verification import Verification
from vigil.operators.limits import NAME as OPERATORS
from vigil.paths import reference_directory
from vigil.steps.limits import NAME as STEPS
from vigil.verify.distance import Difference
from vigil.verify.floors import Floor

OTHERS = (STEPS, OPERATORS, AUDITS)  # of programs that no recipe declares


def document(context: str, *, score: float = 0.5, verdict: str = "reproduced", broken=(), **changes) -> Verification:
    """Return a verification of two states, one tensor each, the later with this score."""
    numbers = {"ratio": 1.0, "slope": 1.0, "intercept": 0.0, "slope_z": 0.0, "intercept_z": 0.0, "problem": None}
    scores = ("late", score), ("init", 0.1)
    tensors = [{**numbers, "case": f"{state}/margin", "tensor": "loss", "score": each} for state, each in scores]
    nothing = dict.fromkeys(("origins", "passengers", "looks", "remarks", "cases", "known"), ())
    return Verification.model_validate({
        **nothing, "verify_id": "v", "created": "2026-11-22T00:00:00+00:00", "command": "c", "fault": None, "origin": None,
        "recipe": {"name": "tiny", "version": 1, "hash": "a" * 12, "profile": "test"}, "context": parse_context(context),
        "golden": {"sha256": "", "created": None, "votes": None}, "limits": {"clean_rows": 1}, "environment": {}, "seconds": 1.0,
        "tensors": tensors, "worst": tensors[0], "broken": broken, "verdict": {"name": verdict, "reason": "the reason"},
        **changes,
    })  # fmt: skip


def test_clean_contexts_raise_nothing(capsys):
    """Every context and state is a combination; none raises an alarm, and the largest score is said."""
    assert count([document("torch-eager-fp32-x1"), document("jax-jit-fp32-x1", score=0.9)]) == 0
    assert "0 of 4 combinations" in capsys.readouterr().out


@pytest.mark.parametrize(
    "alarm",
    [{"score": 1.2}, {"broken": [{"case": "late/margin", "tensor": "params", "what": "did not move"}]}],
)
def test_an_alarm_is_printed_and_counted(capsys, alarm):
    """A tensor above its limit, or a broken invariant, is one of the combinations, and the exit code says so."""
    assert count([document("torch-eager-fp32-x1", **alarm), document("jax-jit-fp32-x1")]) == 1
    printed = capsys.readouterr().out
    assert "ALARM torch-eager-fp32-x1: late/margin" in printed
    assert "1 of 4 combinations" in printed


def test_a_known_finding_is_no_false_alarm(capsys):
    """What was shown wrong is printed as the finding it is, and its score is not the largest of the others."""
    assert count([document("tensorflow-eager-fp16-x1", score=6.0, verdict="known-finding"), document("jax-jit-fp32-x1")]) == 0
    printed = capsys.readouterr().out
    assert "FINDING tensorflow-eager-fp16-x1: 1 tensors, the reason" in printed
    assert "the largest score of the others is 0.50" in printed


def test_a_verification_is_judged_by_the_rows_as_they_are_now(limits):
    """Six floors pass, and sixty do not, whatever earlier rows passed. What the same rows judged is left as it is."""

    def judged(ratio: float, *, rows: int = 1) -> Verification:
        made = document("torch-eager-fp32-x1", limits={"clean_rows": rows})
        made = made.replace(tensors=[each.replace(ratio=ratio) for each in made.tensors])
        floor = Floor(1.0, 0.1, (0.0, 1.0), (0.0, 1.0), 16)
        floors = {"fp32": {each.case: {"loss": floor} for each in made.tensors}}
        return by_present_limits(made, limits, floors, family=lambda tensor: tensor)

    assert count([judged(6.0)]) == 0
    assert count([judged(60.0)]) == 1
    assert judged(60.0).worst.score > 1
    assert count([judged(60.0, rows=limits.rows)]) == 0


@pytest.mark.parametrize(("context", "is_apart"), [("jax-jit-bf16-x1", True), ("torch-jit-bf16-x1", False)])
def test_what_a_finding_is_known_of_makes_no_limit(context, is_apart):
    """The bias gradients of a finding stand apart in a row, and the rest of their family is as clean as before."""
    found = [
        Difference("early/margin", f"parameter_gradient/{name}", ratio, 1.0, 0.0, 0.1, 0.1)
        for name, ratio in (("fpn.output3.bias", 350.0), ("fpn.output3.kernel", 1.1), ("stem.bn.bias", 1.2))
    ]
    row = row_of(found, recipe={"name": "tiny_mask_rcnn"}, context=context, case="early/margin")
    assert row["largest"]["parameter_gradient"]["distance"] == (1.2 if is_apart else 350.0)
    apart = row.get("apart", {}).get("xla_cpu_low_precision_bias_gradient", {})
    assert apart == ({"parameter_gradient": {"distance": 350.0, "slope": 0.1, "intercept": 0.1}} if is_apart else {})


def test_a_row_says_which_instructions_were_left():
    """Kernels for narrower vectors round otherwise, as another processor does: what was limited stands beside what there is."""
    machine = {"cpu_flags": "avx avx2 avx512bw avx512f fma", "env.OMP_NUM_THREADS": "1"}
    assert instructions_of(machine) == "avx512f"
    limited = machine | {"env.ATEN_CPU_CAPABILITY": "avx2", "env.XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
    assert instructions_of(limited) == "avx512f, with ATEN_CPU_CAPABILITY=avx2 XLA_FLAGS=--xla_cpu_max_isa=AVX2"
    assert instructions_of({"cpu_flags": "avx avx2 fma sse4_2"}) == "avx2"


def test_rows_that_were_just_added_are_no_change_of_the_code(tmp_path, monkeypatch):
    """Every row says of which commit the code is, and whether that was changed: as it was before the first was written."""
    monkeypatch.setattr(false_alarms, "runs_directory", lambda: tmp_path)
    monkeypatch.setattr(false_alarms, "reference_directory", lambda: tmp_path)
    monkeypatch.setattr(false_alarms, "describe_code", lambda: Code(commit="c", dirty=any(tmp_path.rglob("SHA256SUMS"))))
    monkeypatch.setattr(false_alarms, "rows_of", lambda context, *_, code, **__: [{"context": context.text, **code.as_json()}])
    contexts = [parse_context(f"torch-{mode}-fp32-x1") for mode in ("eager", "jit")]
    false_alarms.measure(SimpleNamespace(header={"recipe": {"name": "tiny"}}), "tape", contexts, jobs=1, with_looks=False)
    [path] = tmp_path.rglob("clean-*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(row["context"], row["commit"], row["dirty"]) for row in rows] == [(each.text, "c", False) for each in contexts]


def test_what_a_finding_is_known_of_is_marked_in_every_committed_row():
    """One that was found after a row was measured would otherwise go on widening the limits that are to show it."""
    paths = sorted(path for path in reference_directory().glob("*/verify/clean-*.jsonl") if path.parts[-3] not in OTHERS)
    rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    unmarked = {
        (row["recipe"]["name"], row["context"], family)
        for row in rows
        for family in with_findings(row).get("not_clean", {})
        if family in row["largest"] and family not in row.get("not_clean", {})
    }
    assert len(rows) > 3000
    assert not unmarked
