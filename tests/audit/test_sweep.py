"""An audit from end to end: planted defects of a framework are found, told with a script, and cost nothing beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reports.audit_text import audit_block, coverage_block, finding_text
from runners.contract.files import replace_text
from tests.test_architecture import ROOT
from vigil.audit.definitions import catalog
from vigil.audit.exact import exact_of
from vigil.audit.judge import CANNOT, RAISES, Measured
from vigil.audit.known import KnownCall, of_processor
from vigil.audit.limits import AuditLimits
from vigil.audit.plan import EMPTY, plan
from vigil.audit.script import on_gpu
from vigil.audit.sweep import Extent, Row, _findings, _fixed, _gaps, _key, _verdict, _worst, audit, covered, rows_of
from vigil.cli.main import main
from vigil.documents.audit import Audit
from vigil.documents.failure import Failure
from vigil.documents.verification import LimitFacts
from vigil.errors import CannotRun
from vigil.process.build_spec import fault_entry
from vigil.steps.processes import Started

FAULTS = ROOT / "tests" / "audit" / "faults"
# Those of correct calls are a few floors off.
LIMITS = AuditLimits({}, LimitFacts(clean_rows=0), margin=0.5)


def audited(directory: Path, *names: str, fault: str | None = None, known=(), jobs: int = 1, **more) -> Audit:
    """Return the audit of some operators of PyTorch, which itself knows nothing of a fault."""
    entries = [catalog()[name] for name in names]
    started = Started(framework="torch", fault=fault_entry(str(FAULTS / f"{fault}.py")) if fault else None)
    usual = {"ways": ["torch.*"], "precisions": ["fp32"], "seed": 4, "threads": 1}
    extent = Extent(entries=entries, modes=["eager"], **usual | more)
    return audit(started, extent, directory, LIMITS, known, command="vigil audit", jobs=jobs)


def run_script(directory: Path, name: str, *, fault: str | None = None) -> subprocess.CompletedProcess:
    """Run a finding's script, with the fault planted before it or without."""
    text = (directory / name).read_text(encoding="utf-8")
    if fault:
        text = (FAULTS / f"{fault}.py").read_text(encoding="utf-8") + "\ninstall()\n" + text
    replace_text(directory / "shown.py", text)
    return subprocess.run([sys.executable, directory / "shown.py"], capture_output=True, text=True, cwd=directory, check=False)


def test_a_clean_audit_is_reproduced(tmp_path):
    """In every precision and layout, with NaN and infinities, and the block says what was asked."""
    found = audited(tmp_path, "exp", "tanh", "multiply", precisions=[])
    assert found.verdict.name == "reproduced", audit_block(found, directory="runs/x")
    assert (found.operators, found.findings) == (3, ())
    assert {"outputs fp32", "gradients bf16", "outputs fp64"} <= set(found.worst["exp"])
    assert "REPRODUCED" not in audit_block(found, directory="runs/x")
    assert audit_block(found, directory="runs/x").startswith("reproduced: torch")
    assert Audit.read(tmp_path) == found
    assert not list(tmp_path.glob("*/answers-*")), "arrays that can be made again stay behind"


def test_two_processes_side_by_side_find_what_one_does(tmp_path):
    """Families are shared out, and each defect is told with the same numbers as by one process."""
    one, two = (audited(tmp_path / str(jobs), "exp", "relu", "sum", fault="exp_long_tail", jobs=jobs) for jobs in (1, 2))
    assert [len(each.processes) for each in (one, two)] == [1, 2]
    assert sorted(family for each in two.processes for family in each.families) == sorted(one.processes[0].families)
    assert (one.findings, one.worst, one.forms) == (two.findings, two.worst, two.forms)
    assert one.verdict.name == "regressed"
    assert {each.name: each for each in one.families} == {each.name: each for each in two.families}
    wrong, *right = (catalog()[name].family for name in ("exp", "relu", "sum"))
    verdicts = {each.name: str(each.verdict.name) for each in one.families}
    assert verdicts == {wrong: "regressed", **dict.fromkeys(right, "reproduced")}
    assert all((each.worst_score > 1.0) == (each.name == wrong) for each in one.families)
    assert sum(each.forms for each in one.families) == one.forms


def test_what_is_covered_is_told_without_an_audit(tmp_path, monkeypatch):
    """Each public name is audited, a gap, or listed as looked at by nobody; without the definitions there is nothing to tell."""
    found = {each.namespace: each for each in covered(Started(framework="torch"), tmp_path)}
    assert found["torch.nn.functional"].audited > 100
    assert all(each.audited + each.gaps + len(each.unseen) == each.names for each in found.values())
    monkeypatch.setenv("COLUMNS", "80")
    first, _, *lines = coverage_block(tuple(found.values())).splitlines()
    assert first.startswith("audited: ")
    assert [line.split()[0] for line in lines[: len(found)]] == list(found)
    unseen = next(each for each in found.values() if each.unseen)
    assert any(line.startswith(f"  {unseen.namespace}: {unseen.unseen[0].rpartition('.')[2]}") for line in lines[len(found) :])
    assert max(map(len, lines)) <= 80
    (tmp_path / "python").write_text("#!/bin/sh\necho no module named numpy\nexit 1\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(CannotRun, match="no module named numpy"):
        covered(Started(framework="torch", python=tmp_path / "python"), tmp_path / "other")


def test_a_tail_that_is_left_out_of_long_arrays_is_found(tmp_path):
    """Small arrays are right; the smallest form that is not is told, and its script needs no Vigil."""
    found = audited(tmp_path, "exp", "tanh", fault="exp_long_tail")
    assert found.verdict.name == "regressed"
    assert {each.way for each in found.findings} == {"torch.exp"}
    first = next(each for each in found.findings if each.quantity == "outputs/0")
    assert first.smallest.sizes == {"n": 1027}
    assert first.index == (1026,)
    assert first.count < first.of
    assert first.script
    shown = run_script(tmp_path, first.script, fault="exp_long_tail")
    assert (shown.returncode, shown.stdout[:5]) == (1, "WRONG"), shown.stderr
    assert run_script(tmp_path, first.script).returncode == 0
    block = audit_block(found, directory="runs/x")
    assert "torch.exp" in block
    assert "n=1027" in block


def test_a_gradient_that_equal_largest_numbers_get_each_is_found(tmp_path):
    """Where all numbers of a window differ it is right."""
    names, ways = ("max_pool_2d", "max_pool_2d_of_equals"), ["torch.nn.functional.max_pool2d"]
    found = audited(tmp_path, *names, fault="max_pool_gives_each_the_gradient", ways=ways, is_quick=True)
    assert {(each.operator, each.quantity) for each in found.findings} == {("max_pool_2d_of_equals", "gradients/x")}
    assert audited(tmp_path / "right", *names, ways=ways, is_quick=True).verdict.name == "reproduced"


def test_a_gradient_that_nobody_writes_is_found(tmp_path):
    """Memory that is given out holds numbers far off while a call with an empty argument is made. Other arguments are right."""
    found = audited(tmp_path, "linear", fault="linear_leaves_a_gradient_unwritten", ways=["torch.nn.functional.linear"])
    [finding] = found.findings
    assert (finding.kind, finding.quantity, finding.smallest.values) == ("wrong", "gradients/weight", EMPTY)
    # PyTorch's group norm of nothing has a gradient of NaN for its scale, which is no alarm.
    right = audited(tmp_path / "right", "linear", "group_norm")
    assert not [each for each in right.findings if each.smallest.values == EMPTY]


def test_an_error_for_an_empty_array_is_no_finding():
    """Whoever takes none says so. Of other arguments an error is one."""
    trials = plan(catalog()["linear"], precisions=["fp32"])
    told = {"way": "torch.nn.functional.linear", "status": RAISES, "message": "RuntimeError: no rows"}
    for trial, kind in ((trials[0], RAISES), (trials[-1], CANNOT)):
        question = trial.question(0)
        [row], near = rows_of(trial, question, exact_of(trial, question, 0), told, {}, "eager", LIMITS)
        assert (row.kind, near) == (kind, [])


def test_a_gradient_that_is_lost_at_a_bound_is_found(tmp_path):
    """Clipped once, no number equals a bound, and all is right."""
    names, ways = ("clip_between_arrays", "clip_again"), ["torch.clamp"]
    found = audited(tmp_path, *names, fault="clamp_gives_no_gradient_at_a_bound", ways=ways, is_quick=True)
    assert {each.operator for each in found.findings} == {"clip_again"}
    assert audited(tmp_path / "right", *names, ways=ways, is_quick=True).verdict.name == "reproduced"


def test_an_error_within_a_default_device_hides_no_wrong_number():
    """Both are told: what the call gave without the device is judged as ever."""
    trial = plan(catalog()["tanh"], precisions=["fp32"])[0]
    question = trial.question(0)
    exact = exact_of(trial, question, 0)
    arrays = {"outputs/0": exact.outputs[0].values * 1.01, "gradients/x": exact.gradients["x"].values}
    told = {"way": "torch.tanh", "status": "answered", "changed": [], "other_bits": {}, "moved": [], "elsewhere": []}
    rows, _ = rows_of(trial, question, exact, told | {"elsewhere_raises": "TypeError: no"}, arrays, "eager", LIMITS)
    assert {(row.kind, row.quantity) for row in rows} == {("raises", None), ("wrong", "outputs/0")}


@pytest.mark.parametrize(
    ("off", "in_any_order", "shown"), [(1e-7, False, True), (1e-7, True, False), (1e-2, False, True), (1e-2, True, True)]
)
def test_other_bits_are_held_to_rounding_where_sums_have_any_order(off, in_any_order, shown):
    """Of several threads and on a GPU they are a finding where the numbers are wrong, and of one thread always."""
    trial = plan(catalog()["tanh"], precisions=["fp32"])[0]
    question = trial.question(0)
    exact = exact_of(trial, question, 0)
    arrays = {"outputs/0": exact.outputs[0].values, "gradients/x": exact.gradients["x"].values}
    arrays["again/outputs/0"] = arrays["outputs/0"] * (1.0 + off)
    told = {"way": "torch.tanh", "status": "answered", "changed": [], "moved": [], "calls": 60}
    told["other_bits"] = {"outputs/0": [17, 3]}
    rows, _ = rows_of(trial, question, exact, told, arrays, "eager", LIMITS, in_any_order=in_any_order)
    assert [(row.kind, row.quantity) for row in rows] == ([("bits", "outputs/0")] if shown else [("fine", None)])


def test_other_bits_of_what_no_definition_has_are_told():
    """Of such an output there is no distance, and its bits are a finding of one thread."""
    trial = plan(catalog()["tanh"], precisions=["fp32"])[0]
    question = trial.question(0)
    exact = exact_of(trial, question, 0)
    arrays = {"outputs/0": exact.outputs[0].values, "gradients/x": exact.gradients["x"].values, "again/outputs/1": np.ones(2)}
    told = {"way": "torch.tanh", "status": "answered", "changed": [], "moved": [], "calls": 2}
    told["other_bits"] = {"outputs/1": [2, 1]}
    rows, _ = rows_of(trial, question, exact, told, arrays, "eager", LIMITS)
    assert [(row.kind, row.quantity) for row in rows] == [("bits", "outputs/1")]
    assert rows[0].measured is not None  # its script is written as any is


def test_a_softmax_that_is_wrong_for_wide_odd_rows_is_found(tmp_path):
    """A bug that a framework had: inputs of other widths, however many, never meet it."""
    found = audited(tmp_path, "softmax", fault="softmax_wide", ways=["torch.nn.functional.softmax"], is_quick=True)
    assert {(each.quantity or "").partition("/")[0] for each in found.findings} == {"outputs", "gradients"}
    for each in found.findings:
        width = max(each.smallest.sizes.values())
        assert width > 1024
        assert width % 4
        assert each.count < each.of


def test_a_gradient_that_is_slightly_wrong_is_found_with_its_script(tmp_path):
    """The output is right, and one ten-thousandth of the gradient is not."""
    found = audited(tmp_path, "tanh", fault="tanh_gradient_scaled", ways=["torch.tanh"])
    assert {(each.way, each.quantity) for each in found.findings} == {("torch.tanh", "gradients/x")}
    script = found.findings[0].script
    assert script
    assert run_script(tmp_path, script, fault="tanh_gradient_scaled").returncode == 1
    assert run_script(tmp_path, script).returncode == 0
    assert "vigil" not in (tmp_path / script).read_text(encoding="utf-8").lower()


def test_a_script_is_right_where_the_framework_is(tmp_path):
    """Of a gradient that is no number, and of another shape: WRONG with the fault, RIGHT without."""
    ways = ["torch.nn.functional.softmax", "torch.exp"]
    found = audited(tmp_path, "softmax", "exp", fault="softmax_gradient_nan", ways=ways, is_quick=True)
    scripts = {each.problem: each.script for each in found.findings if each.problem}
    assert "a gradient that is no number" in scripts
    assert any(problem.startswith("gave shape") for problem in scripts)
    for script in scripts.values():
        assert script
        shown = run_script(tmp_path, script, fault="softmax_gradient_nan")
        assert (shown.returncode, shown.stdout[:5]) == (1, "WRONG"), shown.stderr
        assert run_script(tmp_path, script).stdout[:5] == "RIGHT"


def test_a_call_that_kills_its_process_costs_one_operator(tmp_path):
    """The others are asked again in another process, and are answered as if nothing had been."""
    found = audited(tmp_path, "exp", "tanh", "relu", fault="exp_kills")
    alone = audited(tmp_path / "alone", "tanh", fault="exp_kills")
    assert [(each.kind, each.operator) for each in found.findings] == [("died", "exp")]
    assert found.verdict.name == "failed:died"
    assert found.worst["tanh"] == alone.worst["tanh"]
    by_family = {each.name: str(each.verdict.name) for each in found.families}
    assert by_family == {catalog()["exp"].family: "failed:died", catalog()["relu"].family: "reproduced"}


def test_written_arguments_and_bits_that_vary_are_told_apart(tmp_path):
    """An argument that a call changes, and two calls that differ, are findings of their own."""
    found = audited(tmp_path, "square", "absolute", fault="square_writes_and_varies")
    kinds = {(each.operator, each.way, each.kind) for each in found.findings}
    assert ("square", "torch.square", "writes") in kinds
    assert ("absolute", "torch.abs", "bits") in kinds


def test_what_goes_wrong_at_times_is_found(tmp_path):
    """Once in forty calls, of which the quick form makes two. Its script makes as many calls as the audit."""
    ways, fault = ["torch.exp"], "exp_differs_at_times"
    found = audited(tmp_path / "full", "exp", "tanh", fault=fault, ways=ways)
    assert {each.kind for each in found.findings} == {"bits"}
    assert {each.quantity for each in found.findings} >= {"outputs/0"}
    bits = next(each for each in found.findings if each.quantity == "outputs/0")
    assert bits.ratio is not None
    assert bits.ratio > 1e3
    assert "1 of 60 calls with the same arguments gave other bits, the first of them call 40" in finding_text(bits)
    assert bits.script
    shown = run_script(tmp_path / "full", bits.script, fault=fault)
    assert (shown.returncode, shown.stdout[:5]) == (1, "WRONG"), shown.stderr
    assert run_script(tmp_path / "full", bits.script).stdout[:5] == "RIGHT"
    assert audited(tmp_path / "quick", "exp", fault=fault, ways=ways, is_quick=True).verdict.name == "reproduced"


def test_what_several_threads_get_wrong_is_found(tmp_path):
    """In the largest arrays, which have two threads unless one is asked for; the script has them, too."""
    ways, fault = ["torch.exp"], "exp_by_threads"
    found = audited(tmp_path / "two", "exp", fault=fault, ways=ways, threads=None)
    assert {each.threads for each in found.processes} == {1, 2}
    wrong = [each for each in found.findings if each.quantity == "outputs/0"]
    assert [(each.kind, each.count) for each in wrong] == [("wrong", 1)]
    assert wrong[0].script
    assert "torch.set_num_threads(2)" in (tmp_path / "two" / wrong[0].script).read_text(encoding="utf-8")
    assert run_script(tmp_path / "two", wrong[0].script, fault=fault).stdout[:5] == "WRONG"
    assert run_script(tmp_path / "two", wrong[0].script).stdout[:5] == "RIGHT"
    assert audited(tmp_path / "one", "exp", fault=fault, ways=ways).verdict.name == "reproduced"


def test_what_the_first_call_of_a_process_gets_wrong_is_found(tmp_path):
    """It is the one that is held to what is right, and the second has other bits."""
    found = audited(tmp_path, "exp", fault="exp_cold", ways=["torch.exp"], is_quick=True)
    assert {(each.kind, each.quantity) for each in found.findings if each.quantity == "outputs/0"} == {
        ("wrong", "outputs/0"),
        ("bits", "outputs/0"),
    }


def test_memory_that_is_given_back_too_early_is_told(tmp_path):
    """Each call is right when it ends, and both give the same bits; what the first gave is another number after the second."""
    found = audited(tmp_path, "square", "exp", fault="square_freed_early")
    assert {(each.way, each.kind, each.quantity) for each in found.findings} == {("torch.square", "moves", "outputs/0")}
    assert found.verdict.name == "regressed"


def test_a_default_device_that_changes_numbers_is_told(tmp_path):
    """The numbers are right without one, and the same within it where the function is."""
    found = audited(tmp_path, "square", "exp", fault="square_by_device", ways=["torch.square", "torch.exp"])
    assert {(each.way, each.kind, each.quantity) for each in found.findings} == {("torch.square", "device", "outputs/0")}
    assert found.verdict.name == "regressed"


def test_an_error_is_neither_a_mismatch_nor_a_pass(tmp_path):
    """Exit code 3, with what was raised."""
    found = audited(tmp_path, "sin", fault="sin_raises")
    assert found.verdict.name == "failed:crash"
    assert found.exit_code == 3
    assert {each.kind for each in found.findings} == {"raises"}
    assert "never met" in audit_block(found, directory="runs/x")


def known_call(**more) -> KnownCall:
    """Return a known finding of torch.tanh's gradient."""
    fields = {
        "name": "own", "frameworks": ["torch"], "releases": ["2.*"], "operators": ["tanh"], "ways": ["torch.tanh"],
        "quantities": ["gradients/*"], "evidence": "docs/findings/own.py",
    }  # fmt: skip
    return KnownCall(**fields | more)


def test_a_known_finding_is_told_as_one(tmp_path):
    """It is never `reproduced`, and no new finding either."""
    known = known_call()
    found = audited(tmp_path, "tanh", fault="tanh_gradient_scaled", known=[known], ways=["torch.tanh"])
    assert found.verdict.name == "known-finding"
    assert found.exit_code == 1
    assert "own" in audit_block(found, directory="runs/x")


@pytest.mark.parametrize(
    ("more", "is_explained"),
    [
        ({}, True),
        ({"most": 10.0}, False),
        ({"quantities": ["outputs/*"]}, False),
        ({"kinds": ["bits"]}, False),
        ({"precisions": ["bf16"]}, False),
        ({"operators": ["tan"]}, False),
        ({"ways": ["torch.exp"]}, False),
        ({"forms": ["*, transposed"]}, True),
        ({"forms": ["*, nan and infinities"]}, False),
    ],
)
def test_a_known_finding_explains_itself_alone(more, is_explained):
    """Another call or quantity, and one that is farther off than it ever was, are new."""
    finding = {
        "operator": "tanh",
        "way": "torch.tanh",
        "kind": "wrong",
        "quantity": "gradients/x",
        "precision": "fp32",
        "ratio": 50.0,
        "form": "n=33, fp32, transposed",
    }
    assert known_call(**more).explains(**finding) is is_explained


@pytest.mark.parametrize(("more", "is_covered"), [({}, True), ({"releases": ["1.*"]}, False), ({"modes": ["compile"]}, False)])
def test_a_known_finding_is_of_its_releases_and_modes(more, is_covered):
    """A release that it was not seen in has none."""
    assert known_call(**more).covers(framework="torch", release="2.13.0", mode="eager") is is_covered
    assert not known_call(**more).covers(framework="jax", release="2.13.0", mode="eager")


def test_a_known_finding_is_of_its_processors():
    """On a processor that lacks what it needs, a finding neither excuses anything nor is missed."""
    wide, plain = known_call(cpu_flags=["*avx512f*"]), known_call(name="plain")
    assert of_processor([wide, plain], "avx avx2 avx512f fma") == [wide, plain]
    assert of_processor([wide, plain], "avx avx2 fma") == [plain]


def test_a_known_finding_is_of_its_devices():
    """What a GPU alone gets wrong excuses nothing on the CPU, and the other way round."""
    on_gpu, on_cpu = known_call(devices=["gpu"]), known_call(name="plain")
    assert of_processor([on_gpu, on_cpu], "") == [on_cpu]
    assert of_processor([on_gpu, on_cpu], "", device="gpu") == [on_gpu]


def test_a_known_finding_that_no_longer_shows_is_told(tmp_path):
    """The list cannot outlive the bug."""
    found = audited(tmp_path, "tanh", precisions=[], known=[known_call()])
    assert found.fixed == ("own",)
    assert found.verdict.name == "regressed"
    assert "no longer shows" in found.verdict.reason


def test_what_several_known_findings_explain_is_told_by_each():
    """What none explains stays new, and has no script that shows something known."""
    trial = plan(catalog()["multiply"])[0]
    question = trial.question(0)
    rows = [
        Row(trial, question, "torch.multiply", "eager", "wrong", f"gradients/{name}", Measured(1e6), 32.0) for name in ("x", "y")
    ]
    facts = {"operators": ("multiply",), "ways": ("torch.multiply",)}
    one, other = (known_call(name=name, quantities=(f"gradients/{name}",), **facts) for name in ("x", "y"))
    scripts = {_key(rows[0]): "finding-1.py"}

    def told(*known):
        found = _findings(rows, 0, "torch", "2.13.0", known, scripts)
        return sorted((each.quantity, each.known, each.script) for each in found)

    assert told(one, other) == [("gradients/x", "x", "finding-1.py"), ("gradients/y", "y", None)]
    assert told(one) == [("gradients/x", "x", "finding-1.py"), ("gradients/y", None, None)]
    assert told() == [("gradients/x", None, "finding-1.py")]


def row_of(operator: str, way: str, kind: str = "fine", **more) -> Row:
    """Return a row of an operator's first question."""
    trial = plan(catalog()[operator])[0]
    return Row(trial, trial.question(0), way, "eager", kind, **more)


def fixed_of(known: KnownCall, rows, *, ways=("*",), names=("tanh", "exp"), lost=None) -> list[str]:
    """Return what an audit of two operators says no longer shows."""
    extent = Extent(entries=[catalog()[name] for name in names], modes=["eager"], ways=ways)
    return _fixed([known], [], extent, "torch", "2.13.0", rows, lost or {})


def failure_of(message: str, category: str = "died") -> Failure:
    """Return why a process ended."""
    return Failure(category=category, phase="verify", step=0, message=message, log_tail=())


BOTH = (row_of("tanh", "torch.tanh"), row_of("exp", "torch.exp"))


@pytest.mark.parametrize(
    ("rows", "more", "is_fixed"),
    [
        (BOTH, {}, True),
        (BOTH, {"ways": ("torch.*",)}, True),
        (BOTH, {"ways": ("torch.nn.*",)}, False),
        (BOTH[:1], {"names": ("tanh",)}, False),
        ((BOTH[0], BOTH[1]._replace(kind="cannot")), {}, False),
        ((BOTH[0], BOTH[1]._replace(kind="raises")), {}, False),
        ((BOTH[0], BOTH[1]._replace(kind="refused", quantity="gradients")), {}, False),
        ((BOTH[0], BOTH[1]._replace(kind="refused", quantity="forward")), {}, True),
        ((BOTH[0], BOTH[1]._replace(kind="absent")), {}, True),
        ((*BOTH, row_of("exp", "torch.exp_", "cannot")), {}, False),
        (BOTH, {"lost": {"elementwise": [failure_of("exp: a signal")]}}, False),
        (BOTH, {"lost": {"elementwise": [failure_of("elementwise: not answered: sin: a signal")]}}, False),
        (BOTH, {"lost": {"elementwise": [failure_of("sin: a signal")]}}, True),
    ],
)
def test_a_known_finding_is_fixed_where_all_its_calls_were_asked(rows, more, is_fixed):
    """One operator or call of several is no evidence, nor is one that refuses, raises, or whose process ended before."""
    known = known_call(operators=["tanh", "exp"], ways=["torch.*"])
    assert fixed_of(known, rows, **more) == (["own"] if is_fixed else [])


def test_a_known_finding_that_is_seen_is_not_fixed():
    """Where any of its calls shows it."""
    known = known_call(operators=["tanh", "exp"], ways=["torch.*"])
    wrong = row_of("exp", "torch.exp", "wrong", quantity="gradients/x", measured=Measured(1e6), limit=32.0)
    findings = _findings([BOTH[0], wrong], 0, "torch", "2.13.0", [known], {})
    extent = Extent(entries=[catalog()[name] for name in ("tanh", "exp")], modes=["eager"])
    assert _fixed([known], findings, extent, "torch", "2.13.0", [BOTH[0], wrong], {}) == []


def test_a_failure_is_told_before_what_no_longer_shows():
    """What a process left unanswered is no evidence that anything was fixed."""
    failure = failure_of("exp: a signal")
    assert _verdict([failure], [], ["own"], BOTH).name == "failed:died"
    assert _verdict([], [], ["own"], BOTH).name == "regressed"


def test_a_death_that_is_known_ends_as_known():
    """Of the operator that it was of alone: another, and a family that was never answered, are failures."""
    message = "exp: a signal"
    rows = [BOTH[0], row_of("exp", "", "died", message=message)]
    known = known_call(operators=["exp"], ways=["*"], kinds=["died"], quantities=["*"])
    findings = _findings(rows, 0, "torch", "2.13.0", [known], {})
    assert _verdict([failure_of(message)], findings, [], rows).name == "known-finding"
    assert _verdict([failure_of(message)], _findings(rows, 0, "torch", "2.13.0", [], {}), [], rows).name == "failed:died"
    others = ("sin: a signal", f"elementwise: not answered: {message}")
    assert {str(_verdict([failure_of(message), failure_of(each)], findings, [], rows).name) for each in others} == {"failed:died"}


def test_a_call_without_a_gradient_is_held_to_its_outputs():
    """The gradient that it has not is told as refused, and is no wrong one."""
    trial = plan(catalog()["tanh"], precisions=["fp32"])[0]
    question = trial.question(0)
    exact = exact_of(trial, question, 0)
    told = {"way": "torch.tanh", "status": "answered", "changed": [], "other_bits": {}, "moved": [], "no_gradient": "No gradient"}
    for factor, kinds in ((1.0, {"refused"}), (1.01, {"refused", "wrong"})):
        rows, near = rows_of(trial, question, exact, told, {"outputs/0": exact.outputs[0].values * factor}, "eager", LIMITS)
        assert {row.kind for row in rows} == kinds
        assert [each.key for each in near] == ["outputs fp32"]


def test_an_output_none_of_whose_elements_is_held_is_told():
    """It is a gap: the call may give what it likes."""
    trial = plan(catalog()["argmax"], precisions=["fp32"])[0]
    question = trial.question(0)
    exact = exact_of(trial, question, 0)
    told = {"way": "torch.argmax", "status": "answered", "changed": [], "other_bits": {}, "moved": []}
    arrays = {"outputs/0": exact.outputs[0].values}
    assert [row.kind for row in rows_of(trial, question, exact, told, arrays, "eager", LIMITS)[0]] == ["fine"]
    nowhere = exact.outputs[0]._replace(where=np.zeros(exact.outputs[0].values.shape, bool))
    [row] = rows_of(trial, question, exact._replace(outputs=[nowhere]), told, arrays, "eager", LIMITS)[0]
    assert (row.kind, row.quantity) == ("unheld", "outputs/0")
    assert [each.status for each in _gaps([row])] == ["unheld"]


def test_what_a_wrong_call_gave_within_its_limit_widens_none():
    """Nor what a known finding gave: rows are made of calls that are right."""
    wrong = row_of("tanh", "keras.ops.tanh", "wrong", quantity="gradients/x", measured=Measured(1e6), limit=32.0)
    right = {("tanh", "outputs fp32", "torch.tanh", "fp32"): 2.0, ("tanh", "outputs fp32", "keras.ops.tanh", "fp32"): 31.0}
    assert _worst(right, [wrong]) == {"tanh": {"outputs fp32": 2.0}}
    assert _worst(right, []) == {"tanh": {"outputs fp32": 31.0}}


def test_lost_accuracy_may_not_show(tmp_path):
    """How much is lost depends on arguments, so that another seed is no evidence that nothing is."""
    found = audited(tmp_path, "tanh", precisions=[], known=[known_call(most=100.0)])
    assert (found.fixed, found.verdict.name) == ((), "reproduced")


def test_the_verb_answers_with_a_document(tmp_path, monkeypatch, capsys):
    """What is printed and what is written are one."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    code = main(
        ["audit", "tanh", "--framework", "torch", "--quick", "--calls", "torch.*", "--json", str(tmp_path / "audit.json")]
    )
    document = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert code == 0
    assert document["verdict"]["name"] == "reproduced"
    assert document["is_quick"] is True
    assert "tanh" not in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "tahn", "--framework", "torch"], "tahn: no such operator or family. Did you mean tan?"),
        (["audit", "--framework", "pytorch"], "Allowed: torch"),
        (["audit"], "--framework: missing"),
        (["audit", "--framework", "torch", "--mode", "fast"], "--mode"),
        (["audit", "--framework", "torch", "--precision", "fp8"], "--precision"),
        (["audit", "--framework", "torch", "--seed", "-1"], "--seed"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments, said, capsys):
    """Exit code 2, with what is allowed."""
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_the_list_names_every_operator(capsys):
    """By family, without starting anything."""
    assert main(["audit", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("elementwise", "tanh", "logaddexp"))


def test_a_script_for_a_gpu_makes_its_call_there(tmp_path):
    """It shows the same: tried with the CPU by that name, since not every machine has a GPU."""
    found = audited(tmp_path, "exp", fault="exp_long_tail")
    [shown] = {each.script for each in found.findings if each.quantity == "outputs/0"}
    text = (tmp_path / shown).read_text(encoding="utf-8")
    moved = on_gpu(text, "torch")
    assert 'torch.set_default_device("cuda")' in moved
    assert "from_numpy" not in moved
    (tmp_path / shown).write_text(moved.replace('"cuda"', '"cpu"'), encoding="utf-8")
    assert run_script(tmp_path, shown, fault="exp_long_tail").stdout.startswith("WRONG")
    assert run_script(tmp_path, shown).stdout.startswith("RIGHT")
    of_jax = on_gpu("import jax\nimport jax.numpy as jnp\nx = 1\n", "jax")
    assert of_jax.splitlines()[2:] == ['jax.config.update("jax_default_matmul_precision", "highest")', "x = 1"]
