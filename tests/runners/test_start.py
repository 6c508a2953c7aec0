"""A runner is started with `python -m runners.FRAMEWORK`; the forks that the other tests start in its place do the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from runners.contract.protocol.spec import write_spec
from tests.runners.harness import ROOT, finished, make_spec, outcome


def test_a_fork_ends_with_the_bits_of_a_process_of_its_own(run, framework, tmp_path):
    """The same losses and state, from a process that imports its framework itself."""
    write_spec(tmp_path, make_spec(framework, mode="jit"))
    with open(tmp_path / "log.txt", "ab") as log:
        command = [sys.executable, "-m", f"runners.{framework}", str(tmp_path)]
        exit_code = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, timeout=300).returncode
    whole, forked = finished(outcome(tmp_path, exit_code)), finished(run(framework, mode="jit"))
    assert forked.losses == whole.losses
    for name, expected in whole.state.items():
        np.testing.assert_array_equal(forked.state[name], expected, err_msg=name)
