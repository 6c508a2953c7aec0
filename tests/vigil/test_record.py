"""record.json: complete from the run directory alone, with every step counted once however often a run was resumed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runners.contract import files
from runners.contract.data import instances
from runners.contract.kinds import detections
from runners.contract.protocol.checkpoint import CHECKPOINT, save_state
from runners.contract.protocol.events import FILE_NAME as EVENTS
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import write_spec
from vigil.digests import digest_of
from vigil.documents.context import make_context
from vigil.documents.document import DocumentError
from vigil.documents.record import PlantedFault, Record, Resumption
from vigil.process.execute import Ending
from vigil.process.recording import make_record, read_record, require_whole
from vigil.recipes.loading import load_recipe

CONTEXT = make_context(framework="torch", mode="eager")
FINISHED = {
    "metrics": {"test_accuracy": 81.5, "test_loss": 0.5},
    "state_sha256": "ab" * 32,
    "images_per_second": 900.0,
    "first_step_seconds": 1.5,
    "peak_memory_bytes": 5,
    "cpu_seconds": 7.0,
}


def evaluated(time: float, step: int, accuracy: float) -> dict:
    """Return an `evaluated` event."""
    return {
        "kind": "evaluated",
        "time": time,
        "phase": "evaluate",
        "step": step,
        "epoch": step / 8,
        "train_loss": 1.0,
        "metrics": {"test_accuracy": accuracy, "test_loss": 0.5},
        "images_per_second": 900.0,
    }


def event(kind: str, time: float, phase: str = "train", **fields) -> dict:
    return {"kind": kind, "time": time, "phase": phase, **fields}


FIRST = [
    event("started", 1_700_000_000.0, "import", pid=1, framework="torch"),
    event("environment", 1_700_000_001.0, "set_up", environment={"framework_version": "2.13", "threads": 2}),
    event("data", 1_700_000_001.0, "data", checksum="c0ffee"),
    event("steps", 1_700_000_002.0, step=2, losses=[2.5, 2.0]),
    evaluated(1_700_000_003.0, 2, 50.0),
    event("checkpointed", 1_700_000_003.0, "checkpoint", step=2),
    event("steps", 1_700_000_004.5, step=3, losses=[9.0]),
]
SECOND = [
    event("started", 1_700_000_100.0, "import", pid=2, framework="torch"),
    event("resumed", 1_700_000_101.0, "build", step=2),
    event("steps", 1_700_000_102.0, step=4, losses=[1.5, "nan"]),
    evaluated(1_700_000_103.0, 4, 81.5),
    event("finished", 1_700_000_104.0, "finish", step=4, **FINISHED),
]


@pytest.fixture
def recorded(run_directory):
    """Return a function that writes events and returns the record made of them."""

    def make(events: list[dict], ending: Ending, *, tail: str = "") -> Record:
        (run_directory / EVENTS).write_text("".join(json.dumps(entry) + "\n" for entry in events) + tail)
        return make_record(run_directory, invocation_id="invocation", context=CONTEXT, ending=ending)

    return make


def test_chance_is_what_the_run_says_of_its_data(recorded):
    """Of test images that are mostly of one class, always that answer is right more often; runs from before say nothing of it."""
    assert recorded(FIRST + SECOND, Ending(0)).metric.chance == 10.0
    said = [each | ({"chance": 90.0} if each["kind"] == "data" else {}) for each in FIRST]
    assert recorded(said + SECOND, Ending(0)).metric.chance == 90.0


def test_a_resumed_run_counts_each_step_once(recorded):
    """The step that was lost with the first attempt is replaced by the one that counted."""
    record = recorded(FIRST + SECOND, Ending(0))
    assert record.as_json()["losses"] == [2.5, 2.0, 1.5, "nan"]
    assert [(point.step, point.metrics["test_accuracy"]) for point in record.curve] == [(2, 50.0), (4, 81.5)]
    assert record.resumed == (Resumption(time=1_700_000_101.0, step=2),)


def test_losses_counted_per_attempt_would_be_caught(recorded):
    """Appending both attempts gives five losses for four steps."""
    every = [loss for entry in FIRST + SECOND if entry["kind"] == "steps" for loss in entry["losses"]]
    assert every != recorded(FIRST + SECOND, Ending(0)).as_json()["losses"]


def test_an_evaluation_that_was_taken_twice_counts_once_as_last_seen(recorded):
    """A point that a resumed run takes again replaces the first."""
    again = [*SECOND[:2], evaluated(1_700_000_102.0, 2, 51.0), SECOND[-1]]
    assert [point.metrics["test_accuracy"] for point in recorded(FIRST + again, Ending(0)).curve] == [51.0]


def test_wall_seconds_are_summed_over_attempts(recorded):
    """4.5 and 4 seconds make 8.5; the hours between two attempts do not count."""
    assert recorded(FIRST + SECOND, Ending(0)).timing.wall_seconds == 8.5
    assert recorded(FIRST, Ending(-9)).timing.wall_seconds == 4.5
    assert recorded([], Ending(1)).timing.wall_seconds == 0.0


def test_a_finished_record_is_complete(recorded, run_directory):
    """What architecture.md lists is there, and is what was written to disk."""
    record = recorded(FIRST + SECOND, Ending(0))
    assert set(record.as_json()) == {
        "schema",
        "run_id",
        "invocation_id",
        "created",
        "recipe",
        "context",
        "seed",
        "status",
        "failure",
        "metric",
        "curve",
        "losses",
        "state_sha256",
        "timing",
        "peak_memory_bytes",
        "fault",
        "environment",
        "data",
        "code",
        "probed",
        "verify",
        "resumed",
        "files",
    }
    assert record.files == {"events.jsonl": digest_of((run_directory / "events.jsonl").read_bytes())}
    assert record.text() == read_record(run_directory).text() == (run_directory / "record.json").read_text()
    assert record.created == "2023-11-14T22:13:20+00:00"
    assert record.metric.as_json() == {
        "name": "test_accuracy",
        "unit": "percent",
        "direction": "higher",
        "selection": "last",
        "chance": 10.0,
        "value": 81.5,
    }
    assert (record.status, record.failure, record.fault) == ("finished", None, None)
    assert record.timing.as_json() == {
        "wall_seconds": 8.5,
        "cpu_seconds": 7.0,
        "first_step_seconds": 1.5,
        "images_per_second": 900.0,
    }
    assert record.data.as_json() == {"name": "generated", "n_train": 512, "n_test": 256, "checksum": "c0ffee"}
    assert record.environment["framework_version"] == "2.13"
    assert record.environment["framework"] == "torch"
    assert record.context.text == "torch-eager-fp32-x1"


@pytest.mark.parametrize(
    ("last", "ending", "status", "category"),
    [
        ("failed nan_loss", Ending(3), "failed", "nan_loss"),
        ("failed out_of_memory", Ending(3), "failed", "out_of_memory"),
        ("failed unsupported", Ending(3), "unsupported", "unsupported"),
        ("failed interrupted", Ending(3), "interrupted", "interrupted"),
        ("failed crash", Ending(3, is_interrupted=True), "interrupted", "interrupted"),
        (None, Ending(-15, is_interrupted=True), "interrupted", "interrupted"),
        (None, Ending(None, hang="no sign of life for 120 s"), "failed", "hang"),
        (None, Ending(-9), "failed", "died"),
        (None, Ending(0), "failed", "died"),
    ],
)
def test_status_words(recorded, last, ending, status, category):
    """Each way to end has its status and category; none has a value."""
    events = list(FIRST)
    if last:
        events.append(event("failed", 1_700_000_005.0, category=last.split()[1], message="m", step=3, traceback=""))
    record = recorded(events, ending)
    assert (record.status, record.failure.category) == (status, category)
    assert (record.failure.phase, record.failure.step) == ("train", 3)
    assert record.metric.value is None
    assert record.state_sha256 is None


@pytest.mark.parametrize(
    ("ending", "log", "category", "line"),
    [
        (Ending(-9, memory_kills=1), "", "out_of_memory", "the kernel killed 1 of its processes for memory"),
        (Ending(-9), "MemoryError", "killed", "it was ended by SIGKILL"),
        (Ending(-11), "", "native_crash", "it was ended by SIGSEGV"),
        (Ending(None, hang="no sign of life for 120 s"), "", "hang", "no sign of life for 120 s; the runner was ended"),
        (Ending(1), "python: error while loading shared libraries: libcuda.so.1", "library_not_found", None),
    ],
)
def test_a_failure_is_triaged_by_evidence_first(recorded, run_directory, ending, log, category, line):
    """What the kernel counted, the signal, and last the log."""
    (run_directory / "log.txt").write_text(log)
    triage = recorded(FIRST, ending).failure.triage
    assert (triage.category, triage.line) == (category, line or log)


def test_the_traceback_of_the_last_event_decides(recorded):
    """Its cause, not the message of what wrapped it; a refusal is no failure."""
    frame = '  File "step.py", line 3, in step\n    load()\n'
    cause = f"Traceback (most recent call last):\n{frame}FileNotFoundError: [Errno 2] No such file or directory: 'a'\n"
    said = "The above exception was the direct cause of the following exception:"
    text = f"{cause}\n{said}\n\nTraceback (most recent call last):\n{frame}ValueError: bad step"
    facts = {"message": "ValueError: bad step", "step": 3, "traceback": text}
    failed = event("failed", 1_700_000_005.0, category="crash", **facts)
    assert recorded([*FIRST, failed], Ending(3)).failure.triage.category == "path_not_found"
    refused = event("failed", 1_700_000_005.0, category="unsupported", **facts)
    assert recorded([*FIRST, refused], Ending(3)).failure.triage is None


def test_a_failure_of_an_earlier_attempt_is_forgotten(recorded):
    """A run that was interrupted and then finished is finished."""
    told = event("failed", 1_700_000_005.0, category="interrupted", message="m", step=3, traceback="")
    assert recorded([*FIRST, told, *SECOND], Ending(0)).status == "finished"


def test_a_half_line_does_not_hurt(recorded):
    """The record of a killed run is made from its whole lines."""
    record = recorded(FIRST, Ending(-9), tail='{"kind": "steps", "ti')
    assert record.losses == (2.5, 2.0, 9.0)


def test_a_faulted_run_is_marked(recorded, run_directory, make_spec):
    """Name and hash of the fault are on record, its path is not."""
    write_spec(run_directory, make_spec(fault={"path": "/home/someone/f.py", "name": "f", "sha256": "12"}))
    record = recorded(FIRST + SECOND, Ending(0))
    assert record.fault == PlantedFault(name="f", sha256="12")
    assert "/home/someone" not in record.text()


def test_a_record_is_replaced_whole(recorded, run_directory, monkeypatch):
    """A write that fails leaves the old file."""
    recorded(FIRST, Ending(-9))
    before = (run_directory / "record.json").read_bytes()
    monkeypatch.setattr(files.os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        recorded(FIRST + SECOND, Ending(0))
    assert (run_directory / "record.json").read_bytes() == before


def test_a_run_without_a_record_has_none(tmp_path):
    """An unfinished run directory gives None, not an error."""
    assert read_record(tmp_path) is None


@pytest.fixture
def detected(run_directory, make_spec):
    """Return a function that lets a detector's run find everything but a share of the instances, and returns its record."""
    training = load_recipe("tiny_mask_rcnn").resolve("smoke") | {"steps": 4}
    training["data"] = {"name": "scenes", "checksum": None, "n_train": 4, "n_test": 4}
    write_spec(run_directory, make_spec(training=training, shards=(4,), evaluation_shards=(8,)))
    truth = instances.load(training["data"], None).test

    def make(*events: dict, missed: dict[int, int]) -> Record:
        for step, count in missed.items():
            detections.write_step(run_directory, all_but(truth, count), step=step)
        (run_directory / EVENTS).write_text("".join(json.dumps(entry) + "\n" for entry in events))
        return make_record(run_directory, invocation_id="invocation", context=CONTEXT, ending=Ending(0))

    return make


def all_but(truth: instances.Instances, missed: int) -> detections.Detections:
    """Return the ground truth as detections, without the first instances of each image."""
    classes = np.where(np.arange(truth.classes.shape[1]) < missed, -1, truth.classes)
    found = classes >= 0
    masks = np.stack([cells(truth.masks(image), truth.boxes[image]) for image in range(len(classes))])
    scores = found * np.linspace(0.9, 0.5, classes.shape[1])
    return detections.Detections(truth.image_ids, scores.astype(np.float32), truth.boxes, classes, masks)


def cells(masks: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return what of masks [n, side, side] is in their boxes, at 28 x 28 cells, by the nearest pixel."""
    crops = np.zeros((len(masks), 28, 28), np.float16)
    for crop, mask, (left, top, right, bottom) in zip(crops, masks, boxes, strict=True):
        steps = (np.arange(28) + 0.5) / 28
        rows, columns = ((low + steps * (high - low)).astype(int) for low, high in ((top, bottom), (left, right)))
        crop[:] = mask[np.minimum(rows, 127)[:, None], np.minimum(columns, 127)]
    return crops


def found_at(time: float, step: int) -> dict:
    """Return a detector's `evaluated` event."""
    return {**evaluated(time, step, 0.0), "metrics": {"detections_per_image": 4.0}}


DETECTOR_FINISHED = event("finished", 1_700_000_009.0, "finish", step=4, **{**FINISHED, "metrics": {"detections_per_image": 4.0}})


def test_average_precision_stands_in_the_curve(detected):
    """Each evaluation is worth what its own detections are, and the last one's mask AP is the metric."""
    events = FIRST[0], found_at(1_700_000_003.0, 2), found_at(1_700_000_008.0, 4), DETECTOR_FINISHED
    record = detected(*events, missed={2: 2, 4: 0})
    early, late = record.curve
    assert record.status == "finished"
    assert record.metric.value == late.metrics["mask_ap"]
    assert late.metrics["box_ap"] == pytest.approx(100.0)
    assert early.metrics["box_ap"] < 90 < late.metrics["mask_ap"] <= 100
    assert early.metrics["detections_per_image"] == 4.0


def test_a_step_that_was_run_twice_is_measured_as_last_written(detected):
    """After a resumed run the detections of the second attempt are those that count."""
    events = FIRST[0], found_at(1_700_000_003.0, 4), FIRST[0], found_at(1_700_000_008.0, 4), DETECTOR_FINISHED
    assert detected(*events, missed={4: 2}).metric.value < 90
    assert detected(*events, missed={4: 0}).metric.value > 90


def test_detections_that_are_gone_fail_the_run(detected):
    """A run whose detections cannot be measured has no value, and says why, although its runner finished."""
    record = detected(FIRST[0], found_at(1_700_000_008.0, 4), DETECTOR_FINISHED, missed={})
    assert (record.status, record.failure.category) == ("failed", "detections")
    assert "detections-4.npz: cannot be read" in record.failure.message
    assert record.metric.value is None


@pytest.fixture
def killed(run_directory, make_spec, training):
    """The directory of a run that evaluates after every second step, and was killed after the checkpoint of the fourth."""
    write_spec(run_directory, make_spec(training=training | {"evaluate_every_steps": 2}))
    writer = EventWriter(run_directory, heartbeat_seconds=60.0)
    writer.emit("started", pid=1, framework="torch")
    for step in (2, 4):
        writer.emit("steps", step=step, losses=[2.5, 2.0])
        fields = evaluated(0.0, step, 50.0)
        writer.emit("evaluated", **{key: value for key, value in fields.items() if key not in ("kind", "time", "phase")})
    save_state(run_directory / CHECKPOINT, {"params/a": np.zeros(3)}, step=4)
    writer.emit("checkpointed", step=4)
    writer.close()
    return run_directory


def cut(name, lines):
    def damage(directory):
        kept = (directory / name).read_bytes().splitlines(keepends=True)[:lines]
        (directory / name).write_bytes(b"".join(kept))

    return damage


def replace(name, old, new):
    def damage(directory):
        content = (directory / name).read_bytes()
        assert old in content
        (directory / name).write_bytes(content.replace(old, new))

    return damage


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (replace(EVENTS, b'"test_accuracy": 50.0', b'"test_accuracy": 90.0'), EVENTS),
        (cut(EVENTS, 4), EVENTS),  # the evaluation of step 4 is gone
        (cut(EVENTS, 3), EVENTS),
        (lambda directory: (directory / EVENTS).unlink(), EVENTS),
        (replace(CHECKPOINT, np.array([0.0]).tobytes() * 3, np.array([1.0]).tobytes() * 3), CHECKPOINT),
        (lambda directory: (directory / CHECKPOINT).write_bytes(b""), CHECKPOINT),
    ],
)
def test_a_run_goes_on_from_nothing_that_was_altered(killed, damage, named):
    """What lies beside a checkpoint is refused before the run is trained, although no record lists it."""
    require_whole(killed)
    damage(killed)
    with pytest.raises(DocumentError, match=rf"{named}: .*Restore it, or"):
        require_whole(killed)


def test_what_follows_a_checkpoint_may_be_cut(killed):
    """A kill leaves such events: the steps after the checkpoint are trained again."""
    cut(EVENTS, 5)(killed)
    require_whole(killed)
    (killed / EVENTS).write_bytes((killed / EVENTS).read_bytes() + b'{"kind": "ste')
    require_whole(killed)


@pytest.mark.parametrize(
    "damage", [cut(EVENTS, 6), replace(EVENTS, b"2.5", b"9.5"), lambda directory: (directory / EVENTS).unlink()]
)
def test_a_record_is_held_to_the_files_that_it_was_made_of(recorded, run_directory, damage):
    """Altered, cut off or gone: one line names the file and what to do."""
    record = recorded(FIRST + SECOND, Ending(0))
    record.require_files(run_directory)
    damage(run_directory)
    with pytest.raises(DocumentError, match=rf"{EVENTS}: .*record\.json.* Restore it, or start a new invocation\.$"):
        record.require_files(run_directory)
    with pytest.raises(DocumentError):
        require_whole(run_directory)
    record.replace(files=None).require_files(run_directory)  # one from before there were digests


def test_detections_of_a_run_that_goes_on_are_checked_before_it_is_trained(detected, run_directory):
    """An evaluation's detections that are gone, or are those of another step, are refused."""
    events = FIRST[0], found_at(1_700_000_003.0, 2), found_at(1_700_000_008.0, 4)
    record = detected(*events, missed={2: 2, 4: 0})
    assert set(record.files) == {EVENTS, "detections.npz", "detections-2.npz", "detections-4.npz"}
    require_whole(run_directory)
    other = (run_directory / "detections-4.npz").read_bytes()
    (run_directory / "detections-2.npz").write_bytes(other)
    with pytest.raises(DocumentError, match=r"detections-2\.npz: its SHA-256"):
        require_whole(run_directory)
    (run_directory / "record.json").unlink()
    require_whole(run_directory)
    (run_directory / "detections-2.npz").write_bytes(other[:-100])
    with pytest.raises(DocumentError, match=r"detections-2\.npz: "):
        require_whole(run_directory)
