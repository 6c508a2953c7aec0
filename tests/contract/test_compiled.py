"""Compiled programs are kept for the build, processor and threads that made them, and for no other."""

from __future__ import annotations

import os

import pytest

from runners.contract import compiled

FAULT = {"path": "fault.py", "name": "fault", "sha256": "0" * 64}


@pytest.fixture
def folder_for(make_spec, tmp_path, monkeypatch):
    """Return a function that gives the folder of a spec, for one library of a framework."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    library = tmp_path / "compiler.so"
    library.write_bytes(b"build 1")
    os.utime(library, ns=(0, 0))

    def folder(*, version="1.0", **changes):
        options = {"version": version, "libraries": [library], "distribution": "a"}
        return compiled.directory_for(make_spec(**{"task": "verify", **changes}), **options)

    folder.library = library
    return folder


def test_contexts_of_one_build_share_a_folder(folder_for, tmp_path):
    """Mode, precision and devices are told apart by the framework itself: contexts share what is equal in them."""
    assert folder_for() == folder_for(mode="jit", precision="bf16")
    assert folder_for().parent == tmp_path / "cache" / "compiled"


@pytest.mark.parametrize("other", ["version", "framework", "size", "time", "processor", "instructions", "threads"])
def test_another_build_or_machine_has_another_folder(folder_for, monkeypatch, other):
    """A release, a rebuilt library of the same version, another processor, fewer of its instructions, other cores."""
    before, changes = folder_for(), {}
    if other == "size":
        folder_for.library.write_bytes(b"build two")
        os.utime(folder_for.library, ns=(0, 0))
    elif other == "time":
        os.utime(folder_for.library, ns=(0, 1))
    elif other == "processor":
        monkeypatch.setattr(compiled, "processor", lambda: "model name: another")
    elif other == "instructions":
        monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    elif other == "threads":
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(99)), raising=False)
    else:
        changes = {"version": {"version": "1.1"}, "framework": {"framework": "jax"}}[other]
    assert folder_for(**changes) != before


def test_a_folder_has_the_time_of_its_last_use(folder_for):
    """By it old ones are removed."""
    folder = folder_for()
    os.utime(folder, (0, 0))
    assert folder_for() == folder
    assert folder.stat().st_mtime > 0


def test_a_cache_that_cannot_be_written_keeps_nothing(folder_for, tmp_path):
    """Verifying does not end for that."""
    (tmp_path / "cache").write_text("a file in its place")
    assert folder_for() is None


@pytest.mark.parametrize("changes", [{"task": "train"}, {"fault": FAULT}])
def test_training_and_faults_keep_nothing(folder_for, changes):
    """A run compiles as it would without Vigil; what a fault has compiled is nobody else's."""
    assert folder_for(**changes) is None


def test_without_a_home_nothing_is_kept(folder_for, monkeypatch):
    """There is no folder where there is no cache."""
    monkeypatch.setattr(compiled, "cache_directory", lambda: None)
    assert folder_for() is None


def environment(place, *, digest="sha256=x", library=b"build 1", installed=10, built=5):
    """Return the library of an environment below `place`; without a digest its list does not name it. Times in seconds."""
    path = place / "a" / "lib" / "compiler.so"
    record = place / "a-1.0.dist-info" / "RECORD"
    for each in (path, record):
        each.parent.mkdir(parents=True)
    path.write_bytes(library)
    record.write_text(f"a/__init__.py,sha256=y,3\na/lib/compiler.so,{digest},7\n")
    os.utime(path, (built, built))
    os.utime(record, (installed, installed))
    return path


@pytest.mark.parametrize(
    ("second", "is_shared"),
    [({"built": 7}, True), ({"digest": "sha256=z"}, False), ({"digest": ""}, False), ({"built": 11}, False)],
)
def test_two_environments_with_one_build_share_a_folder(tmp_path, second, is_shared):
    """What they were installed with tells; a library that is in no list, or that was built again since, is its own."""
    first, other = environment(tmp_path / "1"), environment(tmp_path / "2", **second)
    assert (compiled.builds([first], "a") == compiled.builds([other], "a")) is is_shared


def test_of_several_libraries_one_that_was_built_again_counts(tmp_path):
    """The others' digests do not tell its build."""
    path = environment(tmp_path)
    other, record = path.with_name("other.so"), tmp_path / "a-1.0.dist-info" / "RECORD"
    other.write_bytes(b"")
    os.utime(other, (5, 5))
    record.write_text(record.read_text() + "a/lib/other.so,sha256=w,0\n")
    os.utime(record, (10, 10))
    before = compiled.builds([path, other], "a")
    assert before == ["a/lib/compiler.so,sha256=x,7", "a/lib/other.so,sha256=w,0"]
    os.utime(other, (99, 99))
    assert compiled.builds([path, other], "a") != before
