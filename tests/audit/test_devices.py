"""Audits with arguments that are cut over several devices, within one process of JAX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reports.audit_text import audit_block
from runners.contract.audit.frame import cut_axis
from tests.audit.test_sweep import FAULTS, LIMITS, known_call
from vigil.audit.definitions import catalog
from vigil.audit.known import of_processor
from vigil.audit.plan import plan
from vigil.audit.sweep import Extent, Row, _fixed, audit
from vigil.cli.main import main
from vigil.documents.audit import Audit
from vigil.narrow.smaller import narrow_audit
from vigil.process.build_spec import fault_entry
from vigil.steps.processes import Started

SUM = "jax_sum_forgets_a_device"


def audited(directory: Path, *names: str, fault: str | None = None, **more) -> Audit:
    """Return the audit of some operators of JAX over two devices."""
    started = Started(framework="jax", fault=fault_entry(str(FAULTS / f"{fault}.py")) if fault else None)
    entries = [catalog()[name] for name in names]
    extent = Extent(entries=entries, modes=["jit"], **{"ways": ["jax.*"], "devices": 2, "seed": 4} | more)
    return audit(started, extent, directory, LIMITS, (), command="vigil audit")


def test_what_is_right_over_two_devices_is_reproduced(tmp_path):
    """Each axis is cut, and the answer says over how many devices."""
    found = audited(tmp_path, "sum", "softmax", is_quick=True)
    assert found.verdict.name == "reproduced", found.findings
    assert (found.devices, found.operators, found.gaps) == (2, 2, ())
    assert "jit over 2 devices: " in audit_block(found, directory="runs/x")


def test_a_device_that_is_forgotten_is_found_over_two_alone(tmp_path):
    """On one device the same program is right; the script makes its two devices itself."""
    one = audited(tmp_path / "one", "sum", fault=SUM, ways=["jax.numpy.sum"], is_quick=True, devices=1)
    two = audited(tmp_path / "two", "sum", fault=SUM, ways=["jax.numpy.sum"], is_quick=True)
    assert (one.verdict.name, two.verdict.name) == ("reproduced", "regressed")
    wrong = next(each for each in two.findings if each.kind == "wrong" and each.quantity == "outputs/0")
    assert wrong.smallest.layout.startswith("cut along axis ")
    text = (tmp_path / "two" / str(wrong.script)).read_text(encoding="utf-8")
    assert "device_count=2" in text
    assert len(text.splitlines()) <= 40
    assert subprocess.run([sys.executable, tmp_path / "two" / str(wrong.script)], check=False).returncode == 0
    # The devices are there before the fault asks for them.
    planted = text.replace("import jax\n", "import jax\n" + (FAULTS / f"{SUM}.py").read_text(encoding="utf-8") + "install()\n", 1)
    (tmp_path / "planted.py").write_text(planted, encoding="utf-8")
    shown = subprocess.run([sys.executable, tmp_path / "planted.py"], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout[:5]) == (1, "WRONG"), shown.stderr


def test_a_finding_over_two_devices_is_made_smaller_over_two(tmp_path):
    """Its script makes the devices, and says WRONG with the fault and RIGHT without, though nothing need be cut any more."""
    found = audited(tmp_path / "audit", "sum", fault=SUM, ways=["jax.numpy.sum"], is_quick=True)
    finding = next(each for each in found.findings if each.kind == "wrong" and each.quantity == "outputs/0")
    started = Started(framework="jax", fault=fault_entry(str(FAULTS / f"{SUM}.py")))
    narrowed = narrow_audit(started, tmp_path / "narrow", finding, catalog()["sum"], limits=LIMITS, devices=2)
    assert narrowed is not None
    assert narrowed.trial.layout == "plain"
    assert sum(narrowed.trial.sizes.values()) < sum(finding.smallest.sizes.values())
    assert (narrowed.like[:5], (narrowed.without or "")[:5]) == ("WRONG", "RIGHT")
    assert "device_count=2" in narrowed.script.read_text(encoding="utf-8")


def test_every_axis_that_an_argument_has_is_cut():
    """All parameters at the least sizes, made even, and one set at the middle ones; quickly, that alone; whole programs never."""
    entry = catalog()["convolution_2d"]
    whole, quick = (plan(entry, is_quick=is_quick, devices=2) for is_quick in (False, True))
    assert {cut_axis(each.layout) for each in quick} == {0, 1, 2, 3}
    assert {size % 2 for each in plan(catalog()["sum"], is_quick=True, devices=2) for size in each.sizes.values()} == {0}
    assert entry.sizes[2] in [each.sizes for each in whole]
    assert {str(each.parameters) for each in whole} == {str(each) for each in entry.parameters}
    assert {each.precision for each in whole} == {"fp32"}
    assert plan(catalog()["fitted"], devices=2) == []


def test_a_known_finding_is_of_so_many_devices():
    """What is wrong over two devices explains nothing on one; what is wrong on one may be on two."""
    one, two = known_call(), known_call(counts=(2,))
    assert of_processor([one, two], "", devices=1) == [one]
    assert of_processor([one, two], "", devices=2) == [one, two]


@pytest.mark.parametrize(("devices", "missing"), [(1, ["one"]), (2, ["two"])])
def test_a_finding_of_one_device_is_not_missed_over_two(devices, missing):
    """Forms differ, so that only a finding that was seen over so many devices has to show there again."""
    entry = catalog()["sum"]
    trial = plan(entry, devices=devices)[0]
    row = Row(trial, trial.question(0), "jax.numpy.sum", "jit", "fine")
    facts = {"frameworks": ("jax",), "releases": ("*",), "operators": ("sum",), "ways": ("jax.numpy.sum",)}
    known = [known_call(name="one", **facts), known_call(name="two", counts=(2,), **facts)]
    extent = Extent(entries=[entry], modes=["jit"], devices=devices)
    assert _fixed(known, [], extent, "jax", "0.10.2", [row], {}) == missing


@pytest.mark.parametrize(
    "more", [["torch", "--devices", "2"], ["jax", "--devices", "9"], ["jax", "--devices", "2", "--mode", "jit,eager"]]
)
def test_devices_that_there_are_not_are_refused(more, capsys):
    assert main(["audit", "sum", "--framework", *more]) == 2
    assert capsys.readouterr().err.startswith("vigil: --devices: ")


def test_what_was_answered_before_a_process_died_is_not_asked_again(tmp_path, monkeypatch):
    """The operator that kills its process costs itself alone, also of its own family."""
    counts = []
    for names in (("tanh",), ("tanh", "exp", "relu")):
        calls = tmp_path / f"calls-{len(names)}"
        monkeypatch.setenv("VIGIL_TEST_CALLS", str(calls))
        started = Started(framework="torch", fault=fault_entry(str(FAULTS / "exp_kills_after_tanh_counts.py")))
        entries = [catalog()[name] for name in names]
        extent = Extent(entries=entries, modes=["eager"], ways=["torch.tanh", "torch.exp"], precisions=["fp32"], seed=4)
        found = audit(started, extent, tmp_path / str(len(names)), LIMITS, (), command="vigil audit")
        counts.append(len(calls.read_text(encoding="utf-8").splitlines()))
    assert counts[0] == counts[1] > 0
    assert [each.kind for each in found.findings] == ["died"]
    assert not list(tmp_path.glob("*/eager/part-*"))
