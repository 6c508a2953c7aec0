"""`--release` and `--extra-index` on the verbs that take them."""

from __future__ import annotations

import dataclasses
import importlib.util
import threading
from types import SimpleNamespace

import pytest

import vigil.runs.plan
from tests.vigil.releases.conftest import FakeInstaller
from vigil.cli import golden, reference_add
from vigil.cli.main import main
from vigil.paths import project_root
from vigil.references.samples import load_rows
from vigil.releases.naming import parse_release
from vigil.releases.store import environments_directory, obtain, python_of
from vigil.runs.carry_out import read_invocation
from vigil.verify.golden import Golden
from vigil.verify.vote import Vote


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "resnet_cifar", "--release", "jaxx"], "found 'jaxx'"),
        (["reproduce", "resnet_cifar", "--framework", "torch", "--release", "jax"], "found jax, and --framework torch"),
        (["reproduce", "resnet_cifar", "--release", "jax", "--release", "jax@pre"], "found two of jax"),
        (["reproduce", "resnet_cifar", "--release", "jax", "--release", "torch"], "found 2. Allowed: one"),
        (["reproduce", "resnet_cifar", "--framework", "jax", "--extra-index", "https://x"], "--extra-index: it is where"),
        (["verify", "resnet_cifar", "--framework", "torch", "--release", "jax"], "found jax, and --framework torch"),
        (["matrix", "resnet_cifar", "--framework", "torch", "--release", "jax"], "found jax, and --framework torch"),
        (["reference", "add", "resnet_cifar", "--framework", "torch,jax", "--release", "jax"], "and --framework torch,jax"),
        (["golden", "resnet_cifar", "--release", "jax==0.9.2"], "none of torch, tensorflow, which vote on resnet_cifar, too"),
        (["golden", "resnet_cifar", "--extra-index", "https://x"], "--extra-index: it is where"),
    ],
)
def test_a_release_that_contradicts_the_rest_is_refused(places, capsys, arguments, message):
    """Wrong usage is exit code 2, before anything is resolved."""
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_release_names_its_framework_on_the_command_line(fake: FakeInstaller, scripted, places, capsys):
    """Without --framework; and a release that cannot be had ends the command with exit code 3 and the last lines."""
    started = scripted({0: 80.0})
    smoke = ["resnet_cifar", "--profile", "smoke", "--no-verify"]
    assert main(["reproduce", *smoke, "--release", "jax==0.9.2"]) == 4
    assert started == [("jax", 0)]
    fake.problem = "resolve"
    assert main(["reproduce", *smoke, "--release", "jax==0.9.3"]) == 3
    assert "| ERROR: no matching distribution" in capsys.readouterr().err


def test_a_password_is_written_nowhere(fake: FakeInstaller, scripted, places, cache, capsys):
    """Not into an invocation, a spec, a record or a marker, and it is not shown; without redaction it would be in the command."""
    scripted({0: 80.0})
    index = "https://user:hidden-word@example.com/simple"
    smoke = ["resnet_cifar", "--profile", "smoke", "--no-verify"]
    main(["reproduce", *smoke, "--release", "jax==0.9.2", "--extra-index", index])
    written = [path for folder in (places, cache) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(written) > 5
    assert not [path for path in written if b"hidden-word" in path.read_bytes()]
    [invocation] = [read_invocation(path.parent) for path in places.glob("*/invocation.json")]
    assert list(invocation.release.extra_index) == ["https://***@example.com/simple"]
    assert "--extra-index https://***@example.com/simple" in invocation.command
    out, err = capsys.readouterr()
    assert "hidden-word" not in out + err


def test_a_matrix_of_releases(fake: FakeInstaller, scripted, places, capsys, monkeypatch):
    """Releases name the frameworks; one that cannot be had leaves the other's cells alone and decides the exit code."""
    started = scripted({0: 80.0})
    monkeypatch.setattr(vigil.runs.plan, "require_framework", lambda name: None)
    obtain(parse_release("torch==1.0"))
    fake.problem = "resolve"
    cells = ["--mode", "eager", "--precision", "fp32", "--devices", "1"]
    releases = ["--release", "torch==1.0", "--release", "jax==0.9.3"]
    assert main(["matrix", "resnet_cifar", "--profile", "smoke", *cells, *releases]) == 3
    assert started == [("torch", 0)]
    assert "jax-eager-fp32-x1: failed:environment" in capsys.readouterr().out


def test_references_are_measured_under_a_release(fake: FakeInstaller, scripted, places, tmp_path, monkeypatch, capsys):
    """Its interpreter verifies and trains, and its samples alone count as there: those of another release are other samples."""
    folder, asked = tmp_path / "reference", {}
    started = scripted({1000: 11.0, 1001: 12.0})
    monkeypatch.setattr(reference_add, "reference_directory", lambda source=None: folder)
    dataset = SimpleNamespace(checksum="c0ffee")  # as in scripted runs
    monkeypatch.setattr(reference_add, "kind_of", lambda training: SimpleNamespace(load=lambda *facts: dataset))
    examine = reference_add.examine_contexts
    monkeypatch.setattr(reference_add, "examine_contexts", lambda *facts, **more: asked.update(more) or examine(*facts, **more))
    words = ["reference", "add", "resnet_cifar", "--profile", "smoke", "--seeds", "2"]
    assert main([*words, "--release", "torch==1.0"]) == 0
    resolved = obtain(parse_release("torch==1.0"))
    assert started == [("torch", 1000), ("torch", 1001)]
    assert (asked["release"], asked["python"]) == (resolved.named, python_of(environments_directory() / resolved.key))
    invocations = [read_invocation(path.parent) for path in places.glob("*/invocation.json")]
    assert [each.release for each in invocations] == [resolved.named] * 2
    assert [row.framework_version for row in load_rows(folder, "resnet_cifar")] == ["1.0", "1.0"]
    capsys.readouterr()
    assert main([*words, "--release", "torch==1.0"]) == 0
    assert "0 runs to measure, 2 samples" in capsys.readouterr().out
    monkeypatch.setattr(reference_add, "examine_contexts", lambda *facts, **more: [])
    assert main([*words, "--release", "torch==2.0"]) == 0
    assert "2 runs to measure, 0 samples" in capsys.readouterr().out


def test_a_vote_on_a_tape_is_that_of_the_release(fake: FakeInstaller, places, tmp_path, monkeypatch, capsys):
    """On a recipe of one's own one release is enough, which needs nothing installed here; its interpreter is asked."""
    asked = {}
    tape = Golden({"schema": 1}, {}, {}, None, [], {}, {}, {})

    def vote(tape, directory, **options):
        asked.update(options)
        return {name: Vote("1.0", True, 0.0, "", "") for name in ("oracle", *options["frameworks"])}

    def make_golden(*, announce, recipe, **options):
        announce(60.0, 5.0, "24 steps of the oracle")
        options["vote"](tape, threading.Event())
        return dataclasses.replace(tape, header={"recipe": recipe.as_json()})

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(golden, "vote", vote)
    monkeypatch.setattr(golden, "make_golden", make_golden)
    monkeypatch.setattr(golden, "save_golden", lambda path, tape: path.write_bytes(b""))
    monkeypatch.setattr(golden, "path_of", lambda *names, source: tmp_path / "golden.npz")
    text = (project_root() / "recipes" / "resnet_cifar.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("\nname: resnet_cifar\n", "\nname: mine\n", 1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["golden", "mine.yaml", "--release", "jax==0.9.2"]) == 0
    resolved = obtain(parse_release("jax==0.9.2"))
    assert asked["frameworks"] == ["jax"]
    assert asked["pythons"] == {"jax": python_of(environments_directory() / resolved.key)}
    captured = capsys.readouterr()
    assert "then the votes of oracle, jax (torch, tensorflow: not named, no vote)" in captured.err
    assert "go on with: vigil verify mine.yaml --framework jax --mode jit --precision fp32 --release jax==0.9.2" in captured.out
