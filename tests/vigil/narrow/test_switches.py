"""Switches that hide a failure, and that each of them does what its name says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from vigil.narrow.outcome import FAILED, RIGHT, WRONG, run_script
from vigil.narrow.switches import SWITCHES, Switch, passes_of, switches_of, try_switches
from vigil.paths import project_root

IMPORTS = {"torch": "import torch", "tensorflow": "import tensorflow as tf", "jax": "import jax"}
# Runs an operator, so that flags are read, then asks.
CHECK = {
    "torch": "torch.ones(2).sum()\n",
    "tensorflow": "tf.function(lambda x: x + 1, jit_compile=True)(tf.ones(2))\n",
    "jax": "import jax.numpy as jnp; jax.jit(lambda x: jnp.tanh(x).sum())(jnp.ones(2))\n",
}


def installed(framework: str) -> bool:
    return importlib.util.find_spec(framework) is not None


def in_force(switch: Switch, tmp_path) -> tuple[str, str]:
    """Return what a script says that holds a switch to its own expression."""
    script = tmp_path / "script.py"
    script.write_text(
        f"{IMPORTS[switch.framework]}\n{CHECK[switch.framework]}is_right = bool({switch.in_force or True})\n"
        "print('RIGHT' if is_right else 'WRONG')\nraise SystemExit(not is_right)\n"
    )
    found = run_script(
        script, Path(sys.executable), modules=[switch.framework], variables=switch.variables, prelude=switch.prelude
    )
    return found.kind, found.line


@pytest.mark.slow
@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: f"{switch.framework} {switch.name}")
def test_each_switch_is_in_force(switch, tmp_path) -> None:
    """The installed release knows it, and has it set when the script runs."""
    if not installed(switch.framework):
        pytest.skip(f"{switch.framework} is not installed")
    kind, line = in_force(switch, tmp_path)
    if switch.name.endswith("--xla_disable_all_hlo_passes=true"):
        return  # some programs cannot be compiled without: that is no evidence
    assert (kind, line) == (RIGHT, "RIGHT")


@pytest.mark.parametrize(
    "planted",
    [
        Switch("misspelled flag", "jax", "", variables={"XLA_FLAGS": "--xla_no_such_flag=1"}),
        Switch("misspelled variable", "jax", "", variables={"JAX_DISABLE_JITS": "1"}, in_force="jax.config.jax_disable_jit"),
        Switch("no such option", "jax", "", prelude="import jax; jax.config.update('no_such_option', 1)"),
    ],
    ids=lambda switch: switch.name,
)
def test_a_misspelled_switch_is_caught(planted, tmp_path) -> None:
    if not installed("jax"):
        pytest.skip("jax is not installed")
    assert in_force(planted, tmp_path)[0] in (FAILED, WRONG)


def tried(tmp_path, text: str, monkeypatch, switches, **more) -> dict[str, str]:
    script = tmp_path / "script.py"
    script.write_text(text)
    monkeypatch.setattr("vigil.narrow.switches.SWITCHES", switches)
    found = try_switches(script, Path(sys.executable), framework="torch", modules=(), like=None, **more)
    return {each.switch.name: each.outcome.kind for each in found}


def test_the_switch_that_hides_it_is_told(tmp_path, monkeypatch) -> None:
    text = (
        "import os, builtins\nis_right = os.environ.get('KERNELS') == 'plain' or getattr(builtins, 'PLAIN', False)\n"
        "print('RIGHT' if is_right else 'WRONG'); raise SystemExit(not is_right)\n"
    )
    switches = (
        Switch("KERNELS=plain", "torch", "kernels", True, {"KERNELS": "plain"}),
        Switch("KERNELS=fast", "torch", "kernels", True, {"KERNELS": "fast"}),
        Switch("prelude", "torch", "kernels", prelude="import builtins; builtins.PLAIN = True"),
        Switch("breaks", "torch", "nothing", prelude="raise ValueError('unknown option')"),
        Switch("of compiled code", "torch", "Inductor", where="torch.compile"),
        Switch("of another framework", "jax", "XLA"),
    )
    expected = {"KERNELS=plain": RIGHT, "KERNELS=fast": WRONG, "prelude": RIGHT, "breaks": FAILED}
    assert tried(tmp_path, text, monkeypatch, switches, jobs=2) == expected


def test_a_race_is_hidden_only_where_it_is_right_every_time(tmp_path, monkeypatch) -> None:
    """A counter in a file makes every third run wrong."""
    text = (
        f"path = {str(tmp_path / 'count')!r}\nimport os\ncount = os.path.getsize(path) if os.path.exists(path) else 0\n"
        "open(path, 'a').write('x')\nis_right = count % 3 != 2 or 'CALM' in os.environ\n"
        "print('RIGHT' if is_right else 'WRONG'); raise SystemExit(not is_right)\n"
    )
    switches = (Switch("nothing", "torch", ""), Switch("CALM=1", "torch", "", variables={"CALM": "1"}))
    assert tried(tmp_path, text, monkeypatch, switches, repeats=6) == {"nothing": WRONG, "CALM=1": RIGHT}


def test_switches_of_compiled_code_are_for_scripts_that_compile() -> None:
    plain, compiled = (switches_of("torch", text) for text in ("import torch", "torch.compile(f)"))
    assert len(compiled) > len(plain) > 5
    assert not any("inductor" in each.name for each in plain)


def test_passes_of_xla_are_found_and_left_out(tmp_path) -> None:
    """Those that have changed a program, and no beginning of a pipeline."""
    if not installed("jax"):
        pytest.skip("jax is not installed")
    script = tmp_path / "script.py"
    script.write_text(
        "import jax, jax.numpy as jnp\nx = jax.jit(lambda x: (jnp.tanh(x) * x).sum())(jnp.ones((64, 64)))\n"
        "print('RIGHT'); raise SystemExit(0)\n"
    )
    found = passes_of(script, Path(sys.executable), modules=["jax"])
    assert "layout-assignment" in found
    assert "pipeline-start" not in found


@pytest.mark.slow
def test_a_real_finding_is_hidden_by_leaving_inductor_out() -> None:
    """PyTorch 2.13 compiles average pooling with ceil_mode wrongly; Dynamo and autograd ahead of time do not."""
    if not installed("torch"):
        pytest.skip("torch is not installed")
    script = project_root() / "docs/findings/torch_compile_average_pooling_ceil.py"
    backends = [each for each in SWITCHES if each.name.startswith("torch.compile(")]
    for switch in backends:
        assert run_script(script, Path(sys.executable), modules=["torch"], prelude=switch.prelude).kind == RIGHT
