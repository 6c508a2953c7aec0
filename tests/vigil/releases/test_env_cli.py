"""`vigil env`: the table, what was built, what pruning freed and what it left."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

import pytest

from runners.contract import compiled
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import EnvBuildAnswer, EnvListAnswer, EnvPruneAnswer
from vigil.cli.main import main
from vigil.paths import cache_directory
from vigil.releases.naming import parse_release
from vigil.releases.store import LAST_USED, held, listed, obtain


def test_an_empty_cache_is_said_to_be_empty(capsys, cache):
    """Not a table without rows."""
    assert main(["env", "list"]) == 0
    assert f"no environments in {cache}" in capsys.readouterr().out


def test_an_environment_is_built_and_listed(fake, capsys, monkeypatch):
    """Key, release, packages and size; the pins are shown when it is built."""
    monkeypatch.setenv("COLUMNS", "200")  # where no cell is folded
    assert main(["env", "build", "jax==0.9.2"]) == 0
    [environment] = listed()
    out = capsys.readouterr().out
    assert f"jax==0.9.2: jax 0.9.2, environment {environment.resolved.key}" in out
    assert "flax==0.12, jax==0.9.2" in out
    assert main(["env", "list"]) == 0
    out = capsys.readouterr().out
    for text in (environment.resolved.key, "jax 0.9.2, Python 3.11.7", "1 environments"):
        assert text in out


def test_an_environment_with_packages_held_says_so(fake, capsys, monkeypatch):
    """Beside one of the same release without, nobody could tell them apart."""
    monkeypatch.setenv("COLUMNS", "200")
    obtain(dataclasses.replace(parse_release("jax==0.9.2"), hold=("flax==0.11",)))
    assert main(["env", "list"]) == 0
    assert "jax==0.9.2 with flax==0.11" in capsys.readouterr().out


def test_a_failed_build_is_exit_code_3_with_the_last_lines(fake, capsys):
    """And nothing is listed afterwards."""
    fake.problem = "install"
    assert main(["env", "build", "jax==0.9.2"]) == 3
    assert "    | ERROR: disk full" in capsys.readouterr().err
    assert listed() == []


def test_pruning_says_what_it_freed_and_what_is_in_use(fake, cache, capsys):
    """By age first, then all but the one that is held."""
    old, held_one = obtain(parse_release("jax==0.9.1")), obtain(parse_release("jax==0.9.2"))
    os.utime(cache / old.key / LAST_USED, (time.time() - 40 * 86_400,) * 2)
    assert main(["env", "prune"]) == 0
    out = capsys.readouterr().out
    assert f"{old.key} (jax==0.9.1): removed" in out
    assert "1 removed, 0 MiB freed; 1 environments left" in out
    with held(held_one):
        assert main(["env", "prune", "--all"]) == 0
    assert f"{held_one.key} (jax==0.9.2): in use, left as it is" in capsys.readouterr().out
    assert main(["env", "prune", "--unused-days", "0"]) == 0
    assert listed() == []


def test_pruning_takes_compiled_programs_that_nobody_uses(fake, capsys):
    """Those of long ago by default, with --all all but those that may be in use."""
    now = time.time()
    for name, days in (("jax-old", 40), ("jax-recent", 3), ("jax-now", 0)):
        folder = cache_directory() / compiled.FOLDER / name
        folder.mkdir(parents=True)
        (folder / "program").write_bytes(bytes(2**21))
        os.utime(folder, (now - 86_400 * days,) * 2)
    assert main(["env", "prune"]) == 0
    out = capsys.readouterr().out
    assert "compiled programs of jax-old: removed, 2 MiB" in out
    assert "1 removed, 2 MiB freed" in out
    assert main(["env", "prune", "--all"]) == 0
    assert "compiled programs of jax-recent: removed" in capsys.readouterr().out
    assert [path.name for path in (cache_directory() / compiled.FOLDER).iterdir()] == ["jax-now"]


def test_environments_are_answers(fake, cache, capsys):
    """What was built, what there is, and what was removed or is in use."""
    built = answer_of(capsys, EnvBuildAnswer, "env", "build", "jax==0.9.2")
    assert (built.framework, built.version, "jax==0.9.2" in built.pins) == ("jax", "0.9.2", True)
    assert Path(built.python).exists()
    [listed_one] = answer_of(capsys, EnvListAnswer, "env", "list").environments
    assert (listed_one.key, listed_one.request, listed_one.python) == (built.key, "jax==0.9.2", "3.11.7")
    with held(obtain(parse_release("jax==0.9.2"))):
        [left] = answer_of(capsys, EnvPruneAnswer, "env", "prune", "--all").environments
    assert (left.key, left.in_use, left.freed) == (built.key, True, 0)
    removed = answer_of(capsys, EnvPruneAnswer, "env", "prune", "--all")
    assert (removed.environments[0].in_use, removed.left) == (False, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["env", "prune", "--unused-days", "soon"], "--unused-days: found 'soon'"),
        (["env", "prune", "--unused-days", "-1"], "--unused-days: found '-1'"),
        (["env", "prune", "--all", "--unused-days", "3"], "not allowed with --all"),
        (["env", "build", "keras"], "found 'keras'"),
        (["env"], "required: ACTION"),
    ],
)
def test_wrong_usage_is_exit_code_2(capsys, arguments, message):
    """With what was found."""
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"VIGIL_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/vigil"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/.cache/vigil"),
        ({}, "/home/.cache/vigil"),
    ],
)
def test_where_the_cache_lies(monkeypatch, variables, expected):
    """Vigil's own variable, then the desktop's where it is absolute, then the home directory."""
    for name in ("VIGIL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "home", lambda: Path("/home"))
    assert cache_directory() == Path(expected)
