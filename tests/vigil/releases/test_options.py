"""`--release` and `--extra-index` on the verbs that take them."""

from __future__ import annotations

import pytest

import vigil.runs.plan
from tests.vigil.releases.conftest import FakeInstaller
from vigil.cli.main import main
from vigil.releases.naming import parse_release
from vigil.releases.store import obtain
from vigil.runs.carry_out import read_invocation


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
