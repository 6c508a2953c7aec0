"""What devices tell each other is held to its definitions, over two processes of PyTorch and two devices of the others."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from reports.audit_text import audit_block, finding_text
from tests.audit.test_sweep import LIMITS, audited, run_script
from vigil.audit import sweep
from vigil.audit.definitions import catalog, collectives
from vigil.audit.sweep import Extent, audit
from vigil.paths import project_root
from vigil.process.build_spec import fault_entry
from vigil.steps.processes import Started

FAULT = "collectives_end_early"
FAULTS = project_root() / "tests" / "audit" / "faults"


def test_definitions_by_hand():
    """Two devices, two rows each: who has what afterwards."""
    x = np.array([[[1.0], [2.0]], [[30.0], [40.0]]])
    assert collectives.exchanged(x)[..., 0].tolist() == [[1.0, 30.0], [2.0, 40.0]]
    assert collectives.share_of_sum_on_each(x)[..., 0].tolist() == [[31.0], [42.0]]
    assert collectives.joined_on_all(x)[..., 0].tolist() == [[1.0, 2.0, 30.0, 40.0]] * 2
    assert collectives.shared_out(x, source=1)[..., 0].tolist() == [[30.0], [40.0]]
    assert collectives.sent_on(x[..., 0]).tolist() == [[30.0, 40.0], [1.0, 2.0]]
    assert [part[:, 0].tolist() for part in collectives.exchanged_unevenly(x)] == [[1.0, 30.0], [2.0, 40.0]]


def test_they_have_a_process_of_their_own():
    """Other families are asked where there is one device, as without them."""
    entries = [catalog()[name] for name in ("summed_on_all", "exp", "softmax")]
    extent = Extent(entries=entries, modes=["jit"], ways=["*"], precisions=["fp32"], seed=0)
    groups = sweep._groups(extent, is_eager=False, parts=1)
    others = ["elementwise", "reductions"]
    assert [(group.threads, sorted(group.trials)) for group in groups] == [(1, others), (1, ["collectives"]), (2, others)]
    assert len({group.directory for group in groups}) == 3


@pytest.mark.torch
def test_the_end_of_the_other_process_is_told(tmp_path):
    """With how it ended, instead of an error of the pipe."""
    (tmp_path / "works.py").write_text(
        "import os\nimport torch.distributed as dist\n\n\n"
        "def ends(row):\n    if dist.get_rank():\n        os._exit(7)\n    return row\n"
    )
    assert asked(tmp_path, "ends") == "the other device: its process has ended, with exit code 7\n"


@pytest.mark.torch
def test_two_processes_of_pytorch_are_reproduced(tmp_path):
    """With gradients, where there are any, and parts that are not all of one size."""
    names = ("summed_on_all", "exchanged_unevenly", "joined_on_one", "sent_on")
    found = audited(tmp_path, *names, ways=["torch.distributed.*"], precisions=["fp32", "bf16"])
    assert found.verdict.name == "reproduced", audit_block(found, directory="runs/x")
    assert found.ways == 9
    assert not [gap for gap in found.gaps if gap.status == "cannot"]


@pytest.mark.torch
def test_a_sum_over_processes_that_lacks_something_is_found(tmp_path):
    """Each script shows it by two processes without Vigil, and nothing without the fault."""
    found = audited(tmp_path, "furthest_on_all", fault=FAULT, ways=["torch.distributed.*"])
    assert [(each.way, each.quantity) for each in found.findings] == [("torch.distributed.all_reduce", "outputs/0")]
    require_scripts(found, tmp_path)


@pytest.mark.torch
def test_a_sum_that_is_none_at_times_is_found(tmp_path):
    """One of forty: calls are made so often that each set of arguments meets it, and so does the script."""
    fault = "all_reduce_differs_at_times"
    found = audited(tmp_path, "summed_on_all", fault=fault, ways=["torch.distributed.all_reduce"])
    assert found.verdict.name == "regressed"
    [bits] = [each for each in found.findings if each.kind == "bits"]
    assert (bits.quantity, bits.count) == ("outputs/0", bits.of)
    assert "of 60 calls with the same arguments gave other bits" in finding_text(bits)
    assert bits.ratio is not None
    assert bits.ratio > 1e3  # another number, not another rounding
    require_scripts(found, tmp_path, fault=fault)


@pytest.mark.torch
def test_what_fails_in_the_other_process_is_told(tmp_path):
    """By the first one, which is asked."""
    (tmp_path / "works.py").write_text(
        "import torch.distributed as dist\n\n\n"
        "def fails(row):\n    if dist.get_rank():\n        raise ValueError('has no such row')\n    return row\n"
    )
    assert asked(tmp_path, "fails") == "the other device: ValueError: has no such row\n"


def asked(directory, name):
    """Return what is said of a function of works.py that both processes are asked for."""
    script = (
        f"import torch\nfrom works import {name}\nfrom runners.torch.together import together\n"
        f"try:\n    together({name}, has_gradient=False)(torch.ones(2), torch.ones(2))\n"
        "except RuntimeError as error:\n    print(error)\n"
    )
    environment = {"PYTHONPATH": f"{project_root()}:{directory}", "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=directory, env=environment, timeout=120, check=True
    )
    return ended.stdout


@pytest.mark.parametrize("framework", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax")])
def test_a_sum_over_devices_that_lacks_something_is_found(tmp_path, framework):
    """With its gradient; scripts make the devices, and show nothing without the fault."""
    started = Started(framework=framework, fault=fault_entry(str(FAULTS / f"{FAULT}.py")))
    ways = ["*ReplicaContext.all_reduce", "jax.lax.psum (over devices)"]
    mode = "jit" if framework == "jax" else "eager"
    extent = Extent(entries=[catalog()["summed_on_all"]], modes=[mode], ways=ways, precisions=["fp32"], seed=4)
    found = audit(started, extent, tmp_path, LIMITS, (), command="vigil audit", jobs=1)
    assert {each.quantity for each in found.findings} == {"outputs/0", "gradients/x"}
    require_scripts(found, tmp_path)


def require_scripts(found, directory, *, fault=FAULT):
    """Each finding has a script that shows it with the planted fault, and not without."""
    assert found.findings
    for each in found.findings:
        assert each.script
        shown, without = (run_script(directory, each.script, fault=planted) for planted in (fault, None))
        assert (shown.returncode, shown.stdout[:5]) == (1, "WRONG"), shown.stderr
        assert (without.returncode, without.stdout[:5]) == (0, "RIGHT"), without.stdout + without.stderr
