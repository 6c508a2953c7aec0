"""Recipe, context and seed become a spec that a runner can read back, and that fits its batch."""

from __future__ import annotations

import dataclasses
import json

import pytest

from runners.contract.protocol.faults import file_sha256
from runners.contract.protocol.spec import FILE_NAME, RunSpec, read_spec, write_spec
from vigil.documents.context import make_context
from vigil.documents.identity import Identity
from vigil.errors import UsageError
from vigil.process import build_spec as module
from vigil.process.build_spec import build_spec, fault_entry
from vigil.recipes.loading import load_recipe

IDENTITY = Identity(name="resnet_cifar", version=1, hash="ab12", profile="smoke")


def built(training, *, cores=None, data_directory=None, fault=None, **context) -> RunSpec:
    """Return the spec of seed 3 in a context."""
    return build_spec(
        run_id="r",
        recipe=IDENTITY,
        training=training,
        seed=3,
        data_directory=data_directory,
        fault=fault,
        cores=cores,
        context=make_context(**{"framework": "torch", **context}),
    )


def test_a_spec_survives_its_file(training, tmp_path):
    """What is written is what is read, types included."""
    spec = built(training, devices=2, shards="40,24", precision="bf16", cores=[1, 0])
    write_spec(tmp_path, spec)
    assert read_spec(tmp_path) == spec
    assert (spec.shards, spec.evaluation_shards, spec.cores, spec.threads) == ((40, 24), (64, 64), (1, 0), 2)


def test_every_field_of_the_context_reaches_the_spec(training):
    """No field of a context is left at a default of the spec's own."""
    chosen = {
        "framework": "jax",
        "mode": "compile",
        "precision": "fp64",
        "device": "gpu",
        "devices": 2,
        "determinism": "on",
        "randomness": "native",
    }
    spec = built(training, **chosen)
    assert {field: getattr(spec, field) for field in chosen} == chosen


def test_a_kernel_of_attention_needs_attention(training):
    """A ResNet has none; a transformer whose shares are dropped by shared masks computes it step by step."""
    with pytest.raises(UsageError, match="Allowed: default; resnet_cifar, profile smoke, has no attention"):
        built(training, attention="math")
    assert built(load_recipe("char_gpt").resolve("quick"), framework="torch", attention="math").attention == "math"
    with pytest.raises(UsageError, match="has no attention that its framework computes as a whole"):
        built(load_recipe("char_gpt").resolve("dropout"), framework="torch", attention="math")


def test_threads_are_the_cores_that_may_be_used(training, monkeypatch):
    """Unbound, a run gets every core of the process; bound, its share."""
    monkeypatch.setattr(module, "available_cores", lambda: [0, 2, 5])
    assert (built(training).threads, built(training).cores) == (3, None)
    assert built(training, cores=[2]).threads == 1


@pytest.mark.parametrize(
    "change", [{"schema": 2}, {"shards": (32, 32)}, {"shards": (63,)}, {"devices": 2}], ids=lambda change: str(change)
)
def test_a_spec_that_contradicts_itself_is_refused(training, change):
    """Another schema, or shards that do not fit devices and batch, are an error."""
    with pytest.raises(ValueError, match=r"spec schema 2|do not fit"):
        dataclasses.replace(built(training), **change)


@pytest.mark.parametrize("change", ["missing", "unknown"])
def test_a_spec_with_other_keys_is_refused(training, tmp_path, change):
    """A missing and an unknown key are errors: a runner fills in nothing."""
    write_spec(tmp_path, built(training))
    content = json.loads((tmp_path / FILE_NAME).read_text())
    if change == "missing":
        del content["mode"]
    else:
        content["colour"] = "red"
    (tmp_path / FILE_NAME).write_text(json.dumps(content))
    with pytest.raises(TypeError, match=r"mode|colour"):
        read_spec(tmp_path)


def test_a_fault_is_named_and_hashed(tmp_path, monkeypatch):
    """A relative path becomes absolute, so that the runner, elsewhere, finds the same file."""
    (tmp_path / "weak.py").write_text("def install():\n    pass\n")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "weak.py"
    assert fault_entry("weak.py") == {"path": str(path.resolve()), "name": "weak", "sha256": file_sha256(path)}
    assert fault_entry(None) is None


@pytest.mark.parametrize("path", ["gone.py", "."])
def test_a_fault_that_is_no_file_is_refused(path, tmp_path, monkeypatch):
    """A missing file and a directory are usage errors."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"--fault: .*no such file"):
        fault_entry(path)
