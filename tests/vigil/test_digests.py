"""Files that verdicts rest on: whatever is altered, cut, lost or put there is refused in words, and no kill makes such damage."""

from __future__ import annotations

import pytest

import vigil.digests
from runners.contract import files
from vigil.digests import FILE_NAME, append_listed, digest_of, is_listed, read_listed, read_one, replace_listed
from vigil.errors import DataError
from vigil.paths import reference_directory

ROWS = b'{"value": 11.7}\n{"value": 12.1}\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with two listed files."""
    replace_listed(tmp_path / "a.jsonl", ROWS)
    replace_listed(tmp_path / "b.jsonl", b"{}\n")
    return tmp_path


def put(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def remove(name):
    return lambda folder: (folder / name).unlink()


LISTED = f"{digest_of(ROWS)}  a.jsonl\n".encode()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (put("a.jsonl", ROWS.replace(b"11.7", b"91.7")), r"its SHA-256 .* let its line there be: [0-9a-f]{64}  a\.jsonl"),
        (put("a.jsonl", ROWS[:16]), r"a\.jsonl: its SHA-256 is not the one in .*SHA256SUMS: it was altered or cut off"),
        (put("a.jsonl", b""), r"a\.jsonl: its SHA-256"),
        (remove("a.jsonl"), r"a\.jsonl: missing, although .*SHA256SUMS lists it"),
        (put("c.jsonl", ROWS), r"c\.jsonl: not listed in .* if the file is to be there, add: [0-9a-f]{64}  c\.jsonl"),
        (remove(FILE_NAME), r"SHA256SUMS: missing, and verdicts rest on .* sha256sum \*\.\* > SHA256SUMS"),
        (put(FILE_NAME, LISTED), r"b\.jsonl: not listed"),
        (put(FILE_NAME, LISTED.replace(b"a.jsonl", b"e.jsonl")), r"a\.jsonl: not listed"),
        (put(FILE_NAME, b"<<<<<<< HEAD\n" + LISTED), r"SHA256SUMS:1: found '<<<<<<< HEAD', .* after a merge, make it anew"),
        (put(FILE_NAME, LISTED[:70]), r"SHA256SUMS:1|not listed"),
    ],
)
def test_damage_is_refused_with_what_to_do(folder, damage, said):
    """A flip, a cut, a loss, a file from elsewhere; and the same of the list itself."""
    damage(folder)
    with pytest.raises(DataError, match=said):
        read_listed(folder, "*.jsonl")


def test_what_is_as_listed_is_read(folder):
    """Only files whose names match are looked at; a folder that is not there holds nothing."""
    (folder / "c.txt").write_bytes(b"of no concern")
    assert read_listed(folder, "*.jsonl") == {"a.jsonl": ROWS, "b.jsonl": b"{}\n"}
    assert read_one(folder / "a.jsonl") == ROWS
    assert read_one(folder / "none.jsonl") is None
    assert read_listed(folder / "none", "*") == {}
    (folder / "a.jsonl").unlink()
    assert [is_listed(folder / name) for name in ("a.jsonl", "none.jsonl")] == [True, False]


def test_nothing_is_appended_to_a_damaged_file(folder):
    """The new line would give the damage a digest of its own."""
    (folder / "a.jsonl").write_bytes(ROWS[:-3])
    with pytest.raises(DataError, match="altered or cut off"):
        append_listed(folder / "a.jsonl", "{}\n")


@pytest.mark.parametrize("name", ["a.jsonl", "new.jsonl"])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_kill_at_any_step_leaves_what_can_be_read(folder, monkeypatch, name, step):
    """The file is as it was or as it was to be, and appending goes on from there."""
    replace, calls = files.os.replace, []

    def killed(source, target):
        calls.append(target)
        if len(calls) > step:
            raise KeyboardInterrupt
        replace(source, target)

    before = read_one(folder / name) or b""
    monkeypatch.setattr(files.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        append_listed(folder / name, "{}\n")
    monkeypatch.undo()
    content = before + b"{}\n" if step == 2 else before
    assert (read_one(folder / name) or b"") == content
    append_listed(folder / name, "[]\n")
    assert read_one(folder / name) == content + b"[]\n"
    assert (folder / FILE_NAME).read_text().count(name) == 1


def test_a_reader_meets_no_file_that_is_being_replaced(folder, monkeypatch):
    """The list was read before the file was replaced, and is read once more before the file is called damaged."""
    read, lists = vigil.digests._read_list, []

    def overtaken(where):
        lists.append(read(where))
        if len(lists) == 1:
            monkeypatch.setattr(vigil.digests, "_read_list", read)
            replace_listed(folder / "a.jsonl", b"[]\n")
            monkeypatch.setattr(vigil.digests, "_read_list", overtaken)
        return lists[-1]

    monkeypatch.setattr(vigil.digests, "_read_list", overtaken)
    assert read_one(folder / "a.jsonl") == b"[]\n"
    assert len(lists) == 2


def test_every_committed_file_is_as_listed():
    """Whoever adds a file to reference_results/ adds its line, and nothing is listed twice."""
    for folder in [reference_directory(), *(path for path in reference_directory().rglob("*") if path.is_dir())]:
        contents = read_listed(folder, "*.*")
        assert len((folder / FILE_NAME).read_text().splitlines()) == len(contents)
