"""Planted faults are installed as planned, or the run fails with the reason."""

from __future__ import annotations

import sys
import types

import pytest

from runners.contract.errors import FaultError
from runners.contract.protocol import faults


@pytest.fixture
def plant(tmp_path):
    """Return a function that writes a fault file and returns its entry in a spec."""

    def write(text: str) -> dict[str, str]:
        path = tmp_path / "planted.py"
        path.write_text(text)
        return {"path": str(path), "name": "planted", "sha256": faults.file_sha256(path)}

    return write


def test_install_is_called(plant, monkeypatch):
    """The file runs, and its install() can patch a module that is imported already."""
    framework = types.ModuleType("framework_of_this_test")
    framework.decay = 1.0
    monkeypatch.setitem(sys.modules, "framework_of_this_test", framework)
    faults.install(plant("import framework_of_this_test as f\ndef install():\n    f.decay = 0.0\n"), "jax")
    assert framework.decay == 0.0


def test_a_framework_has_an_install_of_its_own(plant, monkeypatch):
    """Of several the one for the framework is called, also where another framework has been imported; else the common one."""
    framework = types.ModuleType("framework_of_this_test")
    monkeypatch.setitem(sys.modules, "framework_of_this_test", framework)
    lines = ["import framework_of_this_test as f", "def install():", "    f.planted = 'all'"]
    lines += [line for name in ("torch", "jax") for line in (f"def install_{name}():", f"    f.planted = '{name}'")]
    for name, planted in (("torch", "torch"), ("jax", "jax"), ("tensorflow", "all")):
        faults.install(plant("\n".join(lines)), name)
        assert framework.planted == planted


def test_an_altered_file_is_not_run(plant, tmp_path):
    """A file that has changed since the run was planned is refused before any of it runs."""
    entry = plant("def install():\n    pass\n")
    marker = tmp_path / "ran"
    (tmp_path / "planted.py").write_text(f"open({str(marker)!r}, 'w').close()\ndef install():\n    pass\n")
    with pytest.raises(FaultError, match="has changed since the run was planned"):
        faults.install(entry, "jax")
    assert not marker.exists()


def test_a_missing_file_is_said(tmp_path):
    """A fault file that is gone is a fault error, not a clean run."""
    with pytest.raises(FaultError, match="no such fault file"):
        faults.install({"path": str(tmp_path / "gone.py"), "name": "gone", "sha256": ""}, "jax")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def install():\n    raise RuntimeError('no such layer')\n", r"install\(\) failed with RuntimeError: no such layer"),
        ("def install_jax():\n    raise KeyError(1)\n", r"install_jax\(\) failed with KeyError"),
        ("x = 1\n", r"neither install_jax\(\) nor install\(\)"),
        ("def install_torch():\n    pass\n", r"neither install_jax\(\) nor install\(\), and cannot be planted in jax"),
        ("def install(:\n", "cannot be executed, SyntaxError"),
        ("import no_such_module\n", "cannot be executed, ModuleNotFoundError"),
    ],
)
def test_a_fault_that_cannot_be_installed_is_an_error(plant, text, found):
    """A fault that was asked for and not planted never becomes a clean run."""
    with pytest.raises(FaultError, match=found):
        faults.install(plant(text), "jax")
