"""pip and uv for real, with wheels from a folder and no network; what they say is shown without secrets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vigil.errors import EnvironmentFailed
from vigil.releases import installer
from vigil.releases.naming import parse_release
from vigil.releases.resolve import resolve
from vigil.releases.store import held, listed, obtain

UV = shutil.which("uv")
SECRET = "https://user:hidden-word@127.0.0.1:9/simple"


@pytest.fixture
def frameworks(shelf):
    """Two releases and a pre-release of a JAX of one line, and what goes with it."""
    for name in ("numpy", "optax"):
        shelf(name, "1.0")
    shelf("numpy", "1.1rc1")
    for version in ("0.9.0", "0.9.1", "0.10.0rc1"):
        shelf("jaxlib", version)
        shelf("jax", version, requires=(f"jaxlib=={version}", "numpy"))
    shelf("flax", "1.0", requires=("jax",))
    shelf("flax", "2.0", requires=("jax>=0.9.1",))
    return shelf


def test_pip_builds_an_environment_in_which_the_release_runs(frameworks):
    """An older release gets the flax that fits it; the interpreter imports from its own environment and no other."""
    resolved = obtain(parse_release("jax==0.9.0"))
    assert resolved.pins == ("flax==1.0", "jax==0.9.0", "jaxlib==0.9.0", "numpy==1.0", "optax==1.0")
    with held(resolved) as python:
        code = "import jax, sys; print(jax.__version__, sys.prefix in jax.__file__, sys.version_info[:2])"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
        missing = subprocess.run([python, "-c", "import pydantic"], capture_output=True, text=True)
    assert done.stdout.strip() == f"0.9.0 True {sys.version_info[:2]}"
    assert "ModuleNotFoundError" in missing.stderr
    [environment] = listed()
    assert (environment.resolved, environment.python_version) == (resolved, ".".join(map(str, sys.version_info[:3])))


@pytest.mark.parametrize(("name", "version"), [("jax", "0.9.1"), ("jax@pre", "0.10.0rc1")])
def test_pip_takes_pre_releases_of_the_framework_alone(frameworks, name, version):
    """The newest is a final release unless asked otherwise; numpy's pre-release is not asked for by a framework's."""
    release = parse_release(name)
    pins = dict(installer.resolve(release.requirements(), indexes=(), what=name))
    assert (pins["jax"], pins["jaxlib"], pins["numpy"], pins["flax"]) == (version, version, "1.0", "2.0")


def test_pip_installs_a_local_wheel(frameworks, tmp_path):
    """A wheel that lies elsewhere takes the place of its package, and its hash is among the pins."""
    wheel = frameworks("jax", "0.9.5", requires=("jaxlib", "numpy"), into=tmp_path)
    resolved = obtain(parse_release(str(wheel)))
    assert resolved.version == "0.9.5"
    assert any(pin.startswith("jax==0.9.5 sha256:") for pin in resolved.pins)
    with held(resolved) as python:
        done = subprocess.run([python, "-c", "import jax; print(jax.__version__)"], capture_output=True, text=True, check=True)
    assert done.stdout == "0.9.5\n"


def test_what_pip_says_of_a_release_that_is_not_there_is_kept(frameworks):
    """The last lines name the release, and nothing of a folder that was looked into in vain."""
    with pytest.raises(EnvironmentFailed, match=r"jax==0.8.0: no set of packages fits, says pip \(exit code 1\)") as caught:
        obtain(parse_release("jax==0.8.0"))
    assert any("No matching distribution found for jax==0.8.0" in line for line in caught.value.log_tail)


def test_a_password_is_in_no_command_line_and_in_no_message(monkeypatch):
    """The installer reads it from a file that is gone afterwards; what it says of it is redacted."""
    commands, files = [], []

    def run(command, **options):
        commands.append(command)
        files.append(Path(command[command.index("-r") + 1]).read_text())
        return subprocess.CompletedProcess(command, 1, "", f"ERROR: 401 for {SECRET}")

    monkeypatch.setattr(installer, "installer", lambda: ("pip", ["pip"]))
    monkeypatch.setattr(installer.subprocess, "run", run)
    with pytest.raises(EnvironmentFailed) as caught:
        installer.resolve(["jax"], indexes=[SECRET], what="jax")
    assert files == [f"--extra-index-url {SECRET}\njax\n"]
    assert "hidden-word" not in f"{commands}{caught.value}"
    assert caught.value.log_tail == ["ERROR: 401 for https://***@127.0.0.1:9/simple"]


@pytest.mark.parametrize(
    ("executable", "modules", "expected"),
    [("/bin/uv", {"pip", "uv"}, "uv"), (None, {"pip", "uv"}, "uv"), (None, {"pip"}, "pip"), (None, set(), None)],
)
def test_uv_comes_first_and_pip_second(monkeypatch, executable, modules, expected):
    """On the path or as a module; where there is neither, the message says how to get one."""
    monkeypatch.setattr(installer.shutil, "which", lambda name: executable)
    monkeypatch.setattr(installer.importlib.util, "find_spec", lambda name: object() if name in modules else None)
    if expected is None:
        with pytest.raises(EnvironmentFailed, match="ensurepip"):
            installer.installer()
    else:
        assert installer.installer()[0] == expected


@pytest.mark.skipif(UV is None, reason="not covered: uv is not installed")
def test_uv_builds_the_same_environment(frameworks, tmp_path, monkeypatch):
    """The pins are pip's, so the environment is: what one has built the other finds. Pre-releases and wheels go the same way."""
    by_pip = obtain(parse_release("jax==0.9.0"))
    folder = os.environ["PIP_FIND_LINKS"]
    for name, value in {"UV_OFFLINE": "1", "UV_FIND_LINKS": folder, "UV_CACHE_DIR": str(tmp_path / "uv")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(installer.shutil, "which", lambda name: UV)
    assert resolve(parse_release("jax==0.9.0")).pins == by_pip.pins
    assert dict(installer.resolve(parse_release("jax@pre").requirements(), indexes=(), what=""))["numpy"] == "1.0"
    wheel = frameworks("jax", "0.9.5", requires=("jaxlib", "numpy"), into=tmp_path)
    with held(obtain(parse_release(str(wheel)))) as python:
        done = subprocess.run([python, "-c", "import jax; print(jax.__version__)"], capture_output=True, text=True, check=True)
    assert done.stdout == "0.9.5\n"
    with pytest.raises(EnvironmentFailed, match="says uv") as caught:
        obtain(parse_release("jax==0.8.0"))
    assert any("jax==0.8.0" in line for line in caught.value.log_tail)


@pytest.mark.parametrize("name", ["uv", "pip"])
def test_packages_are_resolved_for_this_python_and_installed_as_pinned(monkeypatch, tmp_path, name):
    """uv would resolve for the first Python that it finds; neither may add a package to the pins."""
    commands = []

    def run(command, failed, *, holds=()):
        commands.append(command)
        if "--report" in command:
            Path(command[command.index("--report") + 1]).write_text('{"install": []}')
        return ""

    monkeypatch.setattr(installer, "installer", lambda: (name, [sys.executable, "-m", name]))
    monkeypatch.setattr(installer, "_run", run)
    installer.resolve(["jax"], indexes=(), what="jax")
    installer.install(tmp_path / "python", ["jax==0.9.2"], indexes=(), what="jax")
    resolving, installing = commands
    assert name == "pip" or resolving[resolving.index("--python") + 1] == sys.executable
    assert installing[installing.index("--python") + 1] == str(tmp_path / "python")
    assert "--no-deps" in installing


def test_what_uv_writes_is_read():
    """Pins, a wheel by its path, a marker behind a pin; comments and options are none."""
    text = """# made by uv
        --extra-index-url https://example.com
        jax==0.9.2 ; python_version < '4'
        Ml_Dtypes==0.6.0
        torch @ file:///x/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl
    """
    assert installer._pins_of_uv(text) == [("jax", "0.9.2"), ("ml-dtypes", "0.6.0"), ("torch", "2.13.0+cpu")]


def test_the_installer_has_the_lock_open_as_well(tmp_path):
    """A file that is passed on is open in its process, and one that is not is closed there."""
    with open(tmp_path / "lock", "w") as lock:
        look = [sys.executable, "-I", "-S", "-c", f"import os; os.fstat({lock.fileno()})"]
        installer._run(look, "failed", holds=[lock.fileno()])
        with pytest.raises(EnvironmentFailed, match="failed"):
            installer._run(look, "failed")


def test_what_steers_this_environment_does_not_steer_another(monkeypatch):
    """A user's PYTHONPATH would let the installer see packages that the environment does not have."""
    seen = {}

    def run(command, *, env, **options):
        seen.update(env)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setattr(installer.subprocess, "run", run)
    installer._run(["pip"], "failed")
    assert "PYTHONPATH" not in seen
    assert "PATH" in seen
