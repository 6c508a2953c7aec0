"""What is installed, and what is recorded about machine and code: named variables only."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from vigil.documents.record import Code
from vigil.errors import EXIT_COULD_NOT_RUN, FrameworkMissing
from vigil.process import environment


@pytest.fixture
def hidden(monkeypatch):
    """Return a function that makes modules look as if they were not installed."""
    find = importlib.util.find_spec

    def hide(*names: str) -> None:
        monkeypatch.setattr(
            environment.importlib.util, "find_spec", lambda name, *rest: None if name in names else find(name, *rest)
        )

    return hide


@pytest.mark.parametrize(
    ("framework", "module"), [("torch", "torch"), ("tensorflow", "tensorflow"), ("jax", "flax"), ("jax", "optax")]
)
def test_a_missing_framework_is_named_with_its_command(hidden, framework, module):
    """One missing module is enough; the message says which, and how it is installed."""
    hidden(module)
    assert not environment.is_installed(framework)
    assert framework not in environment.installed_frameworks()
    with pytest.raises(FrameworkMissing) as caught:
        environment.require_framework(framework)
    assert caught.value.exit_code == EXIT_COULD_NOT_RUN
    assert f"{module} not found" in str(caught.value)
    assert f"make setup FRAMEWORK={framework}" in str(caught.value)


def test_frameworks_come_in_the_usual_order(monkeypatch):
    """With everything installed, nothing is missing."""
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: object())
    assert environment.installed_frameworks() == ["torch", "tensorflow", "jax"]
    environment.require_framework("jax")


def test_only_named_variables_are_recorded(monkeypatch):
    """A variable that moves numbers is recorded; a secret, or any other, is not."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-word")
    facts = environment.describe_machine()
    assert facts["env.XLA_FLAGS"] == "--xla_cpu_enable_fast_math=true"
    assert "hidden-word" not in str(facts)
    assert all(isinstance(value, str) for value in facts.values())
    assert facts["hardware"]


def test_code_outside_a_checkout_has_no_commit(tmp_path, monkeypatch):
    """Without git's history commit and state are null, not wrong."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(environment, "project_root", lambda: tmp_path)
    assert environment.describe_code() == Code(commit=None, dirty=None)


def test_code_without_git_has_no_commit(monkeypatch):
    """A machine without git records null."""

    def missing(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(environment.subprocess, "run", missing)
    assert environment.describe_code() == Code(commit=None, dirty=None)


def test_a_changed_file_makes_the_code_dirty(tmp_path, monkeypatch):
    """A file that git tracks and that differs is told from a clean checkout and from an untracked file."""

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    monkeypatch.setattr(environment, "project_root", lambda: tmp_path)
    (tmp_path / "file").write_text("one")
    git("init")
    git("add", "file")
    git("commit", "-m", "first")
    (tmp_path / "untracked").write_text("x")
    clean = environment.describe_code()
    assert (len(clean.commit), clean.dirty) == (40, False)
    (tmp_path / "file").write_text("two")
    assert environment.describe_code() == Code(commit=clean.commit, dirty=True)


@pytest.mark.parametrize(
    ("busy", "said", "expected"),
    [
        (100.0, {}, "20000"),
        (5.0, {}, None),
        (100.0, {"GOMP_SPINCOUNT": "7"}, "7"),
        (100.0, {"OMP_WAIT_POLICY": "ACTIVE"}, None),
    ],
)
def test_on_a_busy_machine_waiting_threads_leave_their_core_unless_the_user_says(monkeypatch, busy, said, expected):
    """A runner's threads of OpenMP then sleep after a while; what the user has set is passed on as it is."""
    monkeypatch.setattr(environment.psutil, "cpu_percent", lambda interval: busy)
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    found = environment.environment_of_runners(Path("/checkout"))
    assert found.get("GOMP_SPINCOUNT") == expected
    assert {name: found[name] for name in said} == said
    assert found["PYTHONPATH"] == "/checkout"
