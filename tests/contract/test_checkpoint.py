"""Checkpoints: all bits come back, a failed write destroys nothing, and the hash sees every change."""

from __future__ import annotations

import errno
import io
import os
import shutil
import zipfile

import numpy as np
import pytest

from runners.contract import files
from runners.contract.protocol import checkpoint
from runners.contract.protocol.checkpoint import (
    CHECKPOINT,
    kept_path,
    kept_steps,
    load_state,
    require_same_names,
    save_checkpoint,
    save_state,
    state_sha256,
    what_is_not_finite,
)


@pytest.fixture
def state():
    """A state with every kind of array that a runner saves."""
    kernel = np.arange(12, dtype=np.float32).reshape(2, 2, 1, 3) - 5.5
    return {
        "params/a.kernel": kernel,
        "params/b.kernel": np.array([[0.0, -0.0], [5e-324, 1 / 3]], dtype=np.float64),
        "stats/a.mean": np.array([np.nan, np.inf, -np.inf], dtype=np.float32),
        "momentum/a.kernel": np.asfortranarray(kernel * 2),
        "scaler/scale": np.array(65536.0, dtype=np.float32),
        "scaler/good_steps": np.array(7, dtype=np.int64),
    }


def assert_same_bits(actual, expected) -> None:
    """Raise unless names, types, shapes and bits are equal."""
    assert set(actual) == set(expected)
    for name, array in expected.items():
        assert (actual[name].dtype, actual[name].shape) == (array.dtype, array.shape), name
        assert actual[name].tobytes() == array.tobytes(), name


def test_a_state_comes_back_bit_for_bit(tmp_path, state):
    """Signs of zero, denormals, NaN, Fortran order, float64 and 0-d arrays all survive, with the step."""
    save_state(tmp_path / "checkpoint.npz", state, step=123)
    loaded, step = load_state(tmp_path / "checkpoint.npz")
    assert step == 123
    assert_same_bits(loaded, state)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_a_flipped_sign_of_zero_is_caught(tmp_path, state):
    """The comparison of bits tells 0.0 from -0.0."""
    changed = state | {"params/b.kernel": np.abs(state["params/b.kernel"])}
    with pytest.raises(AssertionError):
        assert_same_bits(changed, state)


@pytest.mark.parametrize("failing", ["savez", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_checkpoint(tmp_path, state, monkeypatch, failing):
    """When the disk fails in the middle, at the flush or at the rename, the old file is whole."""
    path = tmp_path / "checkpoint.npz"
    save_state(path, state, step=1)

    def fail(file, *arguments, **arrays):
        if failing == "savez":
            file.write(b"PK half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.np if failing == "savez" else files.os, failing, fail)
    with pytest.raises(OSError, match="No space"):
        save_state(path, {"params/x": np.ones(3)}, step=2)
    loaded, step = load_state(path)
    assert step == 1
    assert_same_bits(loaded, state)


def test_a_write_in_place_is_caught(tmp_path, state, monkeypatch):
    """A writer that opens the checkpoint itself destroys it when it fails."""
    path = tmp_path / "checkpoint.npz"
    save_state(path, state, step=1)
    monkeypatch.setattr(type(path), "with_name", lambda self, name: self)
    with pytest.raises((AssertionError, FileNotFoundError)):
        test_a_failed_write_leaves_the_old_checkpoint(tmp_path, state, monkeypatch, "savez")


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_file_is_an_error_that_says_so(tmp_path, state, kept):
    """A file cut anywhere raises OSError or ValueError, as documented: what a runner turns into a message."""
    path = tmp_path / "checkpoint.npz"
    save_state(path, state, step=1)
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises((OSError, ValueError)):
        load_state(path)


def test_an_altered_file_is_an_error_that_says_so(tmp_path, state):
    """A flipped bit inside an array fails the archive's own checksum."""
    path = tmp_path / "checkpoint.npz"
    save_state(path, state, step=1)
    content = bytearray(path.read_bytes())
    content[content.index(state["params/a.kernel"].tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a whole"):
        load_state(path)


@pytest.mark.parametrize("shape", [(10**13,), (10**30,), (-1,), (True,)])
def test_a_header_that_lies_is_an_error_that_says_so(tmp_path, shape):
    """A shape that no memory holds, that is too large for a number of C, or that is none."""
    path, header = tmp_path / "checkpoint.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("params/a.kernel.npy", header.getvalue() + bytes(80))
    with pytest.raises(ValueError, match="not a whole"):
        load_state(path)


def test_a_missing_file_and_one_without_a_step_are_errors(tmp_path):
    """Neither is taken for a state at step 0."""
    with pytest.raises(OSError, match="No such file"):
        load_state(tmp_path / "checkpoint.npz")
    np.savez(tmp_path / "other.npz", x=np.ones(2))
    with pytest.raises(ValueError, match="step"):
        load_state(tmp_path / "other.npz")


CHANGES = {
    "sign": lambda a: -a,
    "last bit": lambda a: np.nextafter(a, np.float32(9), dtype=np.float32),
    "transposition": lambda a: a.T,
    "order of values": lambda a: a[::-1],
    "shape": lambda a: a.reshape(-1),
    "dtype": lambda a: a.astype(np.float64),
    "dtype of the same bits": lambda a: a.view(np.int32),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_hash_sees_every_change(change):
    """Sign, last bit, transposition, order, shape and type each give another hash."""
    square = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    assert state_sha256({"params/a": CHANGES[change](square)}) != state_sha256({"params/a": square})


def test_the_hash_sees_names_and_not_order_or_memory_layout(state):
    """A renamed or exchanged array changes the hash; the order of the dict and of memory does not."""
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    digest = state_sha256({"params/a": a, "params/b": b})
    assert state_sha256({"params/a": b, "params/b": a}) != digest
    assert state_sha256({"params/a": a, "params/c": b}) != digest
    assert state_sha256({"params/a": a, "stats/b": b}) != digest
    assert state_sha256({"params/b": b, "params/a": np.asfortranarray(a)}) == digest
    assert len(state_sha256(state)) == 64


def test_the_hash_is_of_parameters_and_statistics(state):
    """Momentum and loss scaler, which the metric does not see, are left out."""
    digest = state_sha256(state)
    assert state_sha256(state | {"momentum/a.kernel": np.zeros(3), "scaler/scale": np.array(1.0)}) == digest
    assert state_sha256(state | {"stats/a.mean": np.zeros(3, np.float32)}) != digest


def test_a_state_of_another_model_is_refused():
    """Missing and superfluous names are both listed."""
    require_same_names({"a": np.ones(1)}, {"a"})
    with pytest.raises(ValueError, match=r"missing \['b'\], not expected \['c'\]"):
        require_same_names({"a": np.ones(1), "c": np.ones(1)}, {"a", "b"})


def state_of(value: float, size: int = 10) -> dict[str, np.ndarray]:
    return {"params/a": np.full(size, value, np.float32)}


def saved(directory, steps, **options) -> None:
    """Save a checkpoint at each of these steps, as a run does."""
    last = None
    for step in steps:
        save_checkpoint(directory, state_of(step, **options), step=step, last=last)
        last = step


def test_the_few_before_a_checkpoint_are_kept_whole(tmp_path):
    """Three, the newest; a run goes on from the newest of all."""
    saved(tmp_path, [10, 20, 30, 40, 50, 60])
    assert kept_steps(tmp_path) == [30, 40, 50]
    assert load_state(tmp_path / CHECKPOINT)[1] == 60
    for step in kept_steps(tmp_path):
        state, own = load_state(kept_path(tmp_path, step))
        assert (own, state["params/a"][0]) == (step, step)


def test_kept_checkpoints_are_bounded_in_size(tmp_path, monkeypatch):
    """Two of 40 kB are over 64 kB, and so is one: the oldest go first, also on a disk that is nearly full."""
    monkeypatch.setattr(checkpoint, "_KEPT_BYTES", 65_536)
    saved(tmp_path, [10, 20, 30], size=10_000)
    assert kept_steps(tmp_path) == [20]
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    save_checkpoint(tmp_path, state_of(40.0, size=10_000), step=40, last=30)
    assert kept_steps(tmp_path) == []


def test_on_a_full_disk_kept_checkpoints_give_way(tmp_path, monkeypatch):
    """The new one is written once they are gone; where that is not enough the old one stays, and the error is told."""
    saved(tmp_path, [10, 20, 30])

    def full_until_freed(path, state, *, step):
        if kept_steps(tmp_path):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save_state(path, state, step=step)

    monkeypatch.setattr(checkpoint, "save_state", full_until_freed)
    save_checkpoint(tmp_path, state_of(40.0), step=40, last=30)
    assert (kept_steps(tmp_path), load_state(tmp_path / CHECKPOINT)[1]) == ([], 40)

    def full(path, state, *, step):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(checkpoint, "save_state", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(tmp_path, state_of(50.0), step=50, last=40)
    assert load_state(tmp_path / CHECKPOINT)[1] == 40


def test_a_file_system_without_second_names_keeps_none(tmp_path, monkeypatch):
    """The checkpoint itself is saved as ever."""

    def refused(*arguments):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refused)
    saved(tmp_path, [10, 20])
    assert (kept_steps(tmp_path), load_state(tmp_path / CHECKPOINT)[1]) == ([], 20)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"params/a": np.array([1.0, np.nan, np.inf])}, "2 of 3 elements of params/a"),
        ({"a/b": np.array([-np.inf]), "stats/b": np.array([np.nan])}, "1 of 1 elements of a/b, and of 1 more arrays"),
        ({"scaler/scale": np.float64(np.inf)}, ""),
    ],
)
def test_what_is_not_finite_is_named(changes, said):
    """Which array, and how many elements; a loss scale may be infinite, and counts have no such number."""
    state = {"params/a": np.zeros(3), "optimizer/steps": np.int64(4), "scaler/good_steps": np.int64(1), **changes}
    assert what_is_not_finite(state) == said
