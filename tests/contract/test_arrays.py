"""Arrays with their digest: what is not what was written is refused, also where each archive member is whole."""

from __future__ import annotations

import struct
import zipfile

import numpy as np
import pytest

from runners.contract.arrays import DIGEST, digest_of_arrays, read_arrays, write_arrays

ARRAYS = {"params/a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "step": np.array(7)}


@pytest.mark.parametrize("is_compressed", [False, True])
def test_what_was_written_is_read(tmp_path, is_compressed):
    """Arrays come back to the bit; their digest is no array of theirs."""
    write_arrays(tmp_path / "a.npz", ARRAYS, is_compressed=is_compressed)
    found = read_arrays(tmp_path / "a.npz")
    assert found.keys() == ARRAYS.keys()
    assert digest_of_arrays(found) == digest_of_arrays(ARRAYS)


@pytest.mark.parametrize(
    "change",
    [
        {"params/a": ARRAYS["params/a"] + 1},
        {"params/a": ARRAYS["params/a"].astype(np.float64)},
        {"params/a": ARRAYS["params/a"].reshape(3, 2)},
        {"params/b": np.zeros(2)},
        {DIGEST: np.array("0" * 64)},
        {DIGEST: np.zeros(3)},
    ],
)
def test_a_whole_archive_of_other_arrays_is_refused(tmp_path, change):
    """A value, a type, a shape, an array too many: the archive's own checksums see none of these."""
    written = {**ARRAYS, DIGEST: np.array(digest_of_arrays(ARRAYS))}
    np.savez(tmp_path / "a.npz", **written)
    read_arrays(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", **(written | change))
    with pytest.raises(ValueError, match="sha256: the content is not what was written"):
        read_arrays(tmp_path / "a.npz")


def test_a_lost_array_is_refused(tmp_path):
    """What is gone is missed."""
    np.savez(tmp_path / "a.npz", step=np.array(7), **{DIGEST: np.array(digest_of_arrays(ARRAYS))})
    with pytest.raises(ValueError, match="sha256"):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("header", [b"{'descr': '<f8', 'shape': (2,\n", b"{'descr': '<f8'\n  'shape'\n 'x'\n", b"x = = 1\n"])
def test_a_header_that_is_no_literal_is_refused(tmp_path, header):
    """Where numpy takes such a header apart, other errors than its own come out."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("step.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16))
    with pytest.raises(ValueError, match="not a whole"):
        read_arrays(tmp_path / "a.npz")


def test_arrays_from_before_there_were_digests_are_read(tmp_path):
    """Checkpoints of earlier versions go on."""
    np.savez(tmp_path / "a.npz", **ARRAYS)
    assert read_arrays(tmp_path / "a.npz").keys() == ARRAYS.keys()
