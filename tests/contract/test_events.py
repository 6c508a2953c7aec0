"""events.jsonl: whole lines only, whoever was killed in the middle of one."""

from __future__ import annotations

import errno
import json
import math
import threading
import time

import pytest

from runners.contract.protocol.events import FILE_NAME, EventReader, EventWriter, encode_float, read_events


@pytest.fixture
def writer(tmp_path):
    """A writer whose heartbeat does not come within a test."""
    writer = EventWriter(tmp_path, heartbeat_seconds=60.0)
    yield writer
    writer.close()


def test_an_event_has_kind_time_phase_and_its_fields(writer, tmp_path):
    """What is emitted can be read back at once, before the file is closed."""
    before = time.time()
    writer.enter("train")
    writer.emit("steps", step=2, losses=[1.5, 1.25])
    phase, steps = read_events(tmp_path)
    assert (phase["kind"], phase["phase"]) == ("phase", "train")
    assert {key: steps[key] for key in ("kind", "phase", "step", "losses")} == {
        "kind": "steps", "phase": "train", "step": 2, "losses": [1.5, 1.25]}
    assert before - 0.01 <= steps["time"] <= time.time() + 0.01


def test_a_clock_that_goes_back_takes_no_time_away(writer, tmp_path, monkeypatch):
    """Times of events only grow, so that no run takes less than nothing."""
    writer.emit("started", pid=1)
    an_hour_ago = time.time() - 3600.0
    monkeypatch.setattr(time, "time", lambda: an_hour_ago)
    writer.emit("steps", step=1, losses=[1.0])
    first, second = (event["time"] for event in read_events(tmp_path))
    assert 0.0 <= second - first < 60.0


def test_floats_survive_to_the_last_bit(writer, tmp_path):
    """A loss read back is the same double."""
    losses = [0.1, 1 / 3, 2.3025850929940455, 5e-324, 1.7976931348623157e308]
    writer.emit("steps", step=5, losses=losses)
    assert read_events(tmp_path)[0]["losses"] == losses


def test_floats_that_are_not_finite_become_words(writer, tmp_path):
    """NaN and infinities are strings at any depth, so that every line is JSON."""
    writer.emit("x", a=math.nan, b=[math.inf, {"c": (-math.inf, 1.0)}])
    line = (tmp_path / FILE_NAME).read_text()
    event = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (event["a"], event["b"]) == ("nan", ["inf", {"c": ["-inf", 1.0]}])
    assert [encode_float(value) for value in (math.nan, math.inf, -math.inf, 0.5)] == ["nan", "inf", "-inf", 0.5]


@pytest.mark.parametrize("half", [b'{"kind": "steps", "time": 1.0, "lo', b"{", b'{"kind": "x", "text": "\xc3', b"1234"])
def test_a_half_line_is_passed_over_and_the_next_writer_starts_afresh(tmp_path, half):
    """What a killed writer has left hides neither the events before it nor those of its successor."""
    first = EventWriter(tmp_path, heartbeat_seconds=60.0)
    first.emit("started", pid=1)
    first.close()
    with open(tmp_path / FILE_NAME, "ab") as file:
        file.write(half)
    assert [event["kind"] for event in read_events(tmp_path)] == ["started"]
    second = EventWriter(tmp_path, heartbeat_seconds=60.0)
    second.emit("resumed", step=2)
    second.close()
    assert [event["kind"] for event in read_events(tmp_path)] == ["started", "resumed"]


def test_a_writer_that_appends_to_a_half_line_is_caught(tmp_path):
    """Without a fresh line the successor's first event is lost with the half line."""
    (tmp_path / FILE_NAME).write_bytes(b'{"kind": "sta')
    with open(tmp_path / FILE_NAME, "a") as file:
        file.write('{"kind": "resumed", "step": 2}\n')
    assert read_events(tmp_path) == []


def test_a_reader_follows_a_growing_file(tmp_path):
    """Each call returns what is new, a line only when it is complete, and nothing twice."""
    reader = EventReader(tmp_path)
    assert reader.new() == []
    with open(tmp_path / FILE_NAME, "wb", buffering=0) as file:
        file.write(b'{"kind": "a"}\n{"kind": "b"')
        assert reader.new() == [{"kind": "a"}]
        assert reader.new() == []
        file.write(b', "step": 1}\n')
        assert reader.new() == [{"kind": "b", "step": 1}]
        file.write(b'not json\n[1, 2]\n{"no": "kind"}\n{"kind": "c"}\n')
        assert reader.new() == [{"kind": "c"}]
    assert [event["kind"] for event in read_events(tmp_path)] == ["a", "b", "c"]


def test_a_heartbeat_tells_how_far_the_work_is(tmp_path):
    """Heartbeats come by themselves; their counter moves with the work and stands still with it."""
    writer = EventWriter(tmp_path, heartbeat_seconds=0.02)

    def beats(count: int) -> list[int]:
        deadline = time.monotonic() + 10.0
        seen = len(read_events(tmp_path))
        while len(read_events(tmp_path)) < seen + count and time.monotonic() < deadline:
            time.sleep(0.01)
        return [event["progress"] for event in read_events(tmp_path)[seen:]]

    still = beats(3)
    writer.advance()
    writer.advance()
    moved = beats(3)[-1]
    writer.close()
    assert len(set(still)) == 1
    assert moved == still[0] + 2
    count = len(read_events(tmp_path))
    time.sleep(0.1)
    assert len(read_events(tmp_path)) == count


def test_lines_of_many_threads_do_not_mix(writer, tmp_path):
    """Heartbeat and training may emit at once: every line stays whole."""

    def emit(number: int) -> None:
        for _ in range(40):
            writer.emit("x", number=number, text="y" * 3000)

    threads = [threading.Thread(target=emit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(event["number"] for event in read_events(tmp_path)) == [n for n in range(4) for _ in range(40)]


@pytest.fixture
def written(tmp_path):
    """The bytes of four events by two writers, the first of which left half a line."""
    for kinds, half in ((("started", "steps"), b'{"kind": "eval'), (("started", "finished"), b"")):
        writer = EventWriter(tmp_path, heartbeat_seconds=60.0)
        for kind in kinds:
            writer.emit(kind, step=11)
        writer.close()
        with open(tmp_path / FILE_NAME, "ab") as file:
            file.write(half)
    return (tmp_path / FILE_NAME).read_bytes()


def without_line(number):
    return lambda content: b"".join(line for place, line in enumerate(content.splitlines(keepends=True)) if place != number)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.replace(b'"step": 11', b'"step": 91', 1),
        lambda content: content[::-1].replace(b'"step": 11'[::-1], b'"step": 91'[::-1], 1)[::-1],
        lambda content: content.replace(b'"sha256"', b'"sha257"', 1),
        lambda content: content[::-1].replace(b'"sha256"'[::-1], b'"sha257"'[::-1], 1)[::-1],
        lambda content: content[:-3] + b"x}\n",
        lambda content: content[:-2] + b"\n",
        lambda content: content.replace(b"}\n", b"} ", 1),
        lambda content: content.replace(b"eval", b"evil"),
        lambda content: content + b'{"kind": "finished"}\n',
        *(without_line(number) for number in range(4)),
    ],
)
def test_altered_events_are_refused(tmp_path, written, damage):
    """A flip in the first line and in the last, in a digest, in half a line; a line lost, joined or put there."""
    assert [event["kind"] for event in read_events(tmp_path)] == ["started", "steps", "started", "finished"]
    assert damage(written) != written
    (tmp_path / FILE_NAME).write_bytes(damage(written))
    with pytest.raises(ValueError, match="is not what was written"):
        read_events(tmp_path)


def test_events_from_before_there_were_digests_are_read_and_held_from_then_on(tmp_path):
    """A run of an earlier version is gone on with; what it wrote cannot be altered after that."""
    old = b'{"kind": "started", "time": 1.0, "phase": "import"}\n'
    (tmp_path / FILE_NAME).write_bytes(old)
    assert len(read_events(tmp_path)) == 1
    writer = EventWriter(tmp_path, heartbeat_seconds=60.0)
    writer.emit("resumed", step=0)
    writer.close()
    assert len(read_events(tmp_path)) == 2
    (tmp_path / FILE_NAME).write_bytes((tmp_path / FILE_NAME).read_bytes().replace(b"1.0", b"2.0", 1))
    with pytest.raises(ValueError, match="line 2"):
        read_events(tmp_path)


def test_a_disk_that_is_full_for_a_while_does_not_end_the_heartbeat(tmp_path, monkeypatch):
    """Else a run that goes on once there is room would be silent, and be ended as one that hangs."""
    is_full = threading.Event()
    is_full.set()
    original = EventWriter.emit

    def emit(self, kind, **fields):
        if is_full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        original(self, kind, **fields)

    monkeypatch.setattr(EventWriter, "emit", emit)
    writer = EventWriter(tmp_path, heartbeat_seconds=0.01)
    time.sleep(0.2)
    is_full.clear()
    deadline = time.monotonic() + 10.0
    while not read_events(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    writer.close()
    assert {event["kind"] for event in read_events(tmp_path)} == {"heartbeat"}
