"""uv for real, with wheels from a folder and no network; what it says is shown without secrets."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from vigil.errors import EnvironmentFailed
from vigil.releases import installer
from vigil.releases.naming import parse_release
from vigil.releases.resolve import resolve, version_in
from vigil.releases.store import held, listed, obtain

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


def test_an_environment_is_built_in_which_the_release_runs(frameworks):
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


def test_uv_takes_the_version_that_is_held(frameworks):
    """A release that would get the newest flax gets the one that is held; two that do not fit are said to exist."""
    held_back = resolve(dataclasses.replace(parse_release("jax==0.9.1"), hold=("flax==1.0",)))
    assert version_in(held_back.pins, "flax") == "1.0"
    with pytest.raises(EnvironmentFailed, match=r"the resolver cannot put them together.*with flax 1.0: hold another") as caught:
        resolve(dataclasses.replace(parse_release("jax==0.9.0"), hold=("flax==2.0",)))
    assert any("flax==2.0" in line for line in caught.value.log_tail)
    with pytest.raises(EnvironmentFailed, match=r"--hold flax==3\.0: there is no such version"):
        resolve(dataclasses.replace(parse_release("jax==0.9.0"), hold=("flax==3.0",)))


@pytest.mark.parametrize(("name", "version"), [("jax", "0.9.1"), ("jax@pre", "0.10.0rc1")])
def test_uv_takes_pre_releases_of_the_framework_alone(frameworks, name, version):
    """The newest is a final release unless asked otherwise; numpy's pre-release is not asked for by a framework's."""
    release = parse_release(name)
    pins = dict(installer.resolve(release.requirements(), indexes=(), what=name))
    assert (pins["jax"], pins["jaxlib"], pins["numpy"], pins["flax"]) == (version, version, "1.0", "2.0")


def test_uv_installs_a_local_wheel(frameworks, tmp_path):
    """A wheel that lies elsewhere takes the place of its package, and its hash is among the pins."""
    wheel = frameworks("jax", "0.9.5", requires=("jaxlib", "numpy"), into=tmp_path)
    resolved = obtain(parse_release(str(wheel)))
    assert resolved.version == "0.9.5"
    assert any(pin.startswith("jax==0.9.5 sha256:") for pin in resolved.pins)
    with held(resolved) as python:
        done = subprocess.run([python, "-c", "import jax; print(jax.__version__)"], capture_output=True, text=True, check=True)
    assert done.stdout == "0.9.5\n"


def test_what_uv_says_of_a_release_that_is_not_there_is_kept(frameworks):
    """The last lines name the release, and nothing of a folder that was looked into in vain."""
    with pytest.raises(EnvironmentFailed, match=r"jax==0.8.0: no set of packages fits, says uv \(exit code 1\)") as caught:
        obtain(parse_release("jax==0.8.0"))
    assert any("jax==0.8.0" in line for line in caught.value.log_tail)
    assert (caught.value.is_final, caught.value.may_pass) == (True, False)


def test_a_password_is_in_no_command_line_and_in_no_message(monkeypatch):
    """The installer reads it from a file that is gone afterwards; what it says of it is redacted."""
    commands, files = [], []

    def run(command, **options):
        commands.append(command)
        if "config" in command:
            return subprocess.CompletedProcess(command, 0, "", "")
        files.append(Path(next(part for part in command if part.endswith(".txt"))).read_text())
        return subprocess.CompletedProcess(command, 1, "", f"error: 401 for {SECRET}")

    monkeypatch.setattr(installer.subprocess, "run", run)
    with pytest.raises(EnvironmentFailed) as caught:
        installer.resolve(["jax"], indexes=[SECRET], what="jax")
    assert files == [f"--extra-index-url {SECRET}\njax\n"]
    assert "hidden-word" not in f"{commands}{caught.value}"
    assert caught.value.log_tail == ["error: 401 for https://***@127.0.0.1:9/simple"]


def test_the_password_of_an_index_is_in_no_command_line_of_pip(monkeypatch):
    """Its releases are listed by pip, which reads indexes from its environment, those of the user first."""
    commands, variables = [], []

    def run(command, **options):
        commands.append(command)
        variables.append(options.get("env"))
        said = "global.extra-index-url='https://own.example'" if "config" in command else "Available versions: 1.1, 1.0+cpu"
        return subprocess.CompletedProcess(command, 0, f"{said}\n", "")

    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setattr(installer.subprocess, "run", run)
    assert installer.versions("torch", indexes=[SECRET]) == ["1.0", "1.1"]
    assert "hidden-word" not in str(commands)
    assert variables[-1]["PIP_EXTRA_INDEX_URL"] == f"https://own.example {SECRET}"


def test_without_uv_it_is_told_how_to_get_it(monkeypatch):
    """There is no other installer to fall back on."""
    monkeypatch.setattr(installer.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFailed, match="-m pip install uv"):
        installer.resolve(["jax"], indexes=(), what="jax")


PIP = """
:env:.find-links='/shelf /more'
:env:.no-index='0'
global.extra-index-url='https://b.example/simple\\nhttps://c.example/simple'
global.index-url='https://user:hidden-word@a.example/simple'
global.find-links='/elsewhere'
install.index-url='https://i.example/simple'
download.index-url='https://d.example/simple'
global.timeout='60'
"""


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, {"UV_DEFAULT_INDEX": "https://i.example/simple", "UV_FIND_LINKS": "/shelf,/more",
              "UV_INDEX": "https://b.example/simple https://c.example/simple"}),
        ({"UV_INDEX_URL": "https://own.example"}, {"UV_DEFAULT_INDEX": None, "UV_INDEX_URL": "https://own.example"}),
        ({"UV_FIND_LINKS": "/own"}, {"UV_FIND_LINKS": "/own"}),
        ({"UV_LINK_MODE": "hardlink"}, {"UV_LINK_MODE": "hardlink"}),
    ],
)  # fmt: skip
def test_uv_is_told_what_pip_was_told(monkeypatch, own, expected):
    """Indexes and folders of wheels, the last word on each; what uv was told itself is left as it is."""
    for name in [name for name in os.environ if name.startswith("UV_")]:
        monkeypatch.delenv(name)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(installer.subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, 0, PIP, ""))
    told = installer.configuration_of_pip()
    assert "no-index" not in told
    variables = installer.environment_of_uv(told)
    assert {name: variables.get(name) for name in expected} == expected
    assert own or variables["UV_LINK_MODE"] == "copy"


LOCK = """
[[packages]]
name = "jax"
sdist = { url = "https://x/jax.tar.gz", upload-time = 2024-05-09T23:23:13Z, hashes = {} }
wheels = [{ url = "https://x/jax.whl", upload-time = 2024-05-09T23:23:10Z, hashes = {} }]
"""


@pytest.mark.parametrize(
    ("code", "output", "expected"),
    [(0, LOCK, datetime(2024, 5, 9, 23, 23, 10, tzinfo=timezone.utc)), (0, "name = 'jax'", None), (1, "", None)],
)
def test_a_release_is_as_old_as_its_first_file(monkeypatch, code, output, expected):
    """None where no index says it, or nothing fits; what cannot be asked is an error."""
    monkeypatch.setattr(installer, "_run", lambda arguments: subprocess.CompletedProcess(arguments, code, output, ""))
    assert installer.uploaded("jax==0.4.28", indexes=(), what="jax") == expected
    monkeypatch.setattr(installer, "_run", lambda arguments: subprocess.CompletedProcess(arguments, 2, "", "no route"))
    with pytest.raises(EnvironmentFailed, match="no index says when"):
        installer.uploaded("jax==0.4.28", indexes=(), what="jax")


def test_packages_are_resolved_for_this_python_and_installed_as_pinned(monkeypatch, tmp_path):
    """uv would resolve for the first Python that it finds; nor may it add a package to the pins."""
    commands = []

    def run(arguments, *, holds=()):
        commands.append(arguments)
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr(installer, "_run", run)
    day = datetime(2024, 6, 10, tzinfo=timezone.utc)
    installer.resolve(["jax"], indexes=(), what="jax", before=day, of_any_day=["flax"])
    installer.install(tmp_path / "python", ["jax==0.9.2"], indexes=(), what="jax")
    resolving, installing = commands
    assert resolving[resolving.index("--python") + 1] == sys.executable
    assert resolving[resolving.index("--exclude-newer") + 1] == "2024-06-10T00:00:00+00:00"
    assert resolving[resolving.index("--exclude-newer-package") + 1] == "flax=9000-01-01"
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
    assert installer._pins(text) == [("jax", "0.9.2"), ("ml-dtypes", "0.6.0"), ("torch", "2.13.0+cpu")]


def test_the_installer_has_the_lock_open_as_well(monkeypatch, tmp_path):
    """A file that is passed on is open in its process, and one that is not is closed there."""
    run = subprocess.run
    with open(tmp_path / "lock", "w") as lock:
        look = [sys.executable, "-I", "-S", "-c", f"import os; os.fstat({lock.fileno()})"]
        monkeypatch.setattr(installer.subprocess, "run", lambda command, **options: run(look, **options))
        monkeypatch.setattr(installer, "configuration_of_pip", dict)
        assert installer._run(["install"], holds=[lock.fileno()]).returncode == 0
        assert installer._run(["install"]).returncode != 0


def test_what_steers_this_environment_does_not_steer_another(monkeypatch):
    """A user's PYTHONPATH would let the installer see packages that the environment does not have."""
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    variables = installer.environment_of_uv({})
    assert "PYTHONPATH" not in variables
    assert "PATH" in variables
