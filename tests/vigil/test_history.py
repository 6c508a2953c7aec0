"""History is what MLflow holds: all of it, once, whenever and from wherever it was uploaded."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import vigil.history
import vigil.tracking.client
from tests.reports.documents import a_regression, write_verification
from tests.vigil.tracked import CREATED_MILLISECONDS, a_record, an_invocation, client_of, closed_port, write_invocation
from vigil.errors import CannotRun
from vigil.history import History, load_history
from vigil.history_cache import SAMPLES, VERIFICATIONS
from vigil.tracking import TrackingUnavailable, upload

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
RUNG = {
    "verdict": {"name": "regressed", "reason": "9 of 589 tensors are out"}, "worst": {"ratio": 5134.4, "score": 135.1},
    "origin": {"layer": "stem", "phase": "forward", "quantity": "output"}, "seconds": 9.0, "tensors": 589, "tensors_out": 9,
}  # fmt: skip


@pytest.fixture
def clock(monkeypatch) -> Callable[..., None]:
    """Return a function that sets the clock of the machine that uploads, and of the one that reads."""

    def set_to(uploads: datetime, *, reads: datetime | None = None) -> None:
        monkeypatch.setattr(vigil.tracking.client, "now", lambda: uploads)
        monkeypatch.setattr(vigil.history, "_now", lambda: reads or uploads)

    set_to(NOON)
    return set_to


@pytest.fixture
def bring(tmp_path, uri) -> Callable[..., Path]:
    """Return a function that uploads an invocation of one seed, or uploads it again with another value."""

    def one(name: str, *, value: float = 82.5, **changes) -> Path:
        metric = a_record(1)["metric"] | {"value": value}
        record = a_record(1, invocation_id=name, run_id=f"{name}-seed1", metric=metric, losses=[], curve=[]) | changes
        invocation = an_invocation(invocation_id=name, seeds=[1], runs=["seed1"], night=f"night of {name}", verify=RUNG)
        directory = tmp_path / "runs" / f"{name} {value}"
        upload(write_invocation(directory, invocation=invocation, records=[record]))
        return directory

    return one


def names(history: History) -> list[str]:
    """Return the invocations in the history, once for each of their runs."""
    return sorted(history.samples["invocation_id"])


def assert_once(history: History) -> None:
    """Raise if a run or a verification stands twice."""
    assert not history.samples.duplicated(["invocation_id", "run_id"]).any()
    assert not history.verifications.duplicated("verify_id").any()


def test_a_run_is_a_row_with_every_column(uri, clock, bring):
    """Recipe, context, release, night, seed, number, band and verdict come back as they were uploaded."""
    bring("first")
    history = load_history()
    assert list(history.samples) == list(SAMPLES)
    (row,) = history.samples.to_dict("records")
    expected = {
        "invocation_id": "first", "run_id": "first-seed1", "night": "night of first", "recipe": "resnet_cifar",
        "recipe_version": 1, "recipe_hash": "ab12", "profile": "quick", "context": "jax-jit-bf16-x2", "framework": "jax",
        "mode": "jit", "precision": "bf16", "device": "cpu", "devices": 2, "determinism": "off", "randomness": "shared",
        "release": "0.10.2", "seed": 1, "metric": "test_accuracy", "unit": "percent", "direction": "higher", "value": 82.5,
        "verdict": "reproduced", "reason": "both seeds lie inside the band", "fault": "none", "state_sha256": "cd34",
        "seconds": 100.0,
    }  # fmt: skip
    assert {key: row[key] for key in expected} == expected
    assert row["created"].timestamp() * 1000 == CREATED_MILLISECONDS
    assert (history.as_of, history.skipped, history.remarks) == (NOON, 0, ())


def test_verifications_of_both_kinds_are_rows(uri, clock, bring, tmp_path):
    """A first rung names its invocation, a verification of its own none; infinity survives MLflow."""
    bring("first")
    upload(write_verification(tmp_path / "v", a_regression(worst={"ratio": "inf", "score": "inf"}, night="tonight")))
    history = load_history()
    assert list(history.verifications) == list(VERIFICATIONS)
    rung, alone = history.verifications.to_dict("records")
    expected = {
        "verify_id": "first/verify", "invocation_id": "first", "verdict": "regressed", "reason": "9 of 589 tensors are out",
        "tensors": 589, "tensors_out": 9, "worst_ratio": 5134.4, "worst_score": 135.1, "origin_layer": "stem", "seconds": 9.0,
        "night": "night of first", "release": "0.10.2",
    }  # fmt: skip
    assert {key: rung[key] for key in expected} == expected
    assert (alone["verify_id"], alone["night"], alone["release"]) == ("20261122-verify-one", "tonight", "2.13.0")
    assert alone["created"].isoformat() == "2026-11-22T10:00:21+00:00"
    assert math.isinf(alone["worst_ratio"])
    assert history.verifications["invocation_id"].isna().tolist() == [False, True]


def test_a_failed_run_is_a_row_without_a_number(uri, clock, bring):
    """Its verdict says how it ended and its reason why; the value is NaN, never zero."""
    failure = {"category": "crash", "phase": "train", "step": 3, "message": "it broke", "log_tail": []}
    bring("first", status="failed", failure=failure, metric=a_record(1)["metric"] | {"value": None})
    (row,) = load_history().samples.to_dict("records")
    assert (row["verdict"], row["reason"]) == ("failed:crash", "it broke")
    assert math.isnan(row["value"])


def test_a_late_upload_of_an_old_run_is_seen(uri, clock, bring):
    """What sync brings weeks after it ran is read at the next refresh; a history by the time of the run would miss it."""
    bring("first")
    assert names(load_history()) == ["first"]
    clock(NOON + timedelta(days=9))
    bring("second")
    assert names(load_history()) == ["first", "second"]
    bring("late")
    assert names(load_history()) == ["first", "late", "second"]
    # The planted defect: an upload that carries the time of its run, years ago.
    clock(datetime(2023, 11, 14, tzinfo=timezone.utc), reads=NOON + timedelta(days=9))
    bring("missed")
    assert names(load_history()) == ["first", "late", "second"]
    assert names(load_history(rebuild=True)) == ["first", "late", "missed", "second"]


@pytest.mark.parametrize(("hours", "is_seen"), [(-1, True), (-150, True), (1, True), (150, True), (-200, False)])
def test_a_clock_that_is_wrong_by_hours_hides_nothing(uri, clock, bring, hours, is_seen):
    """Just after midnight a clock an hour behind still writes the day before; beyond the margin, a week, it is not heard."""
    midnight = NOON + timedelta(hours=12.5)
    clock(midnight)
    bring("first")
    assert names(load_history()) == ["first"]
    clock(midnight + timedelta(hours=hours), reads=midnight)
    bring("second")
    assert ("second" in names(load_history())) == is_seen


def test_a_clock_that_is_ahead_hides_no_other(uri, clock, bring):
    """One upload dated years ahead does not move on the day from which the others are read."""
    clock(NOON + timedelta(days=900), reads=NOON)
    bring("ahead")
    assert names(load_history()) == ["ahead"]
    clock(NOON + timedelta(hours=1))
    bring("second")
    assert names(load_history()) == ["ahead", "second"]


@pytest.mark.parametrize("days", [0, 9])
def test_an_upload_made_anew_replaces_its_row(uri, clock, bring, days):
    """A record that changed stands once, with its new value, whether both uploads are of one day or of two."""
    bring("first")
    bring("second")
    load_history()
    clock(NOON + timedelta(days=days))
    bring("third")
    load_history()
    bring("first", value=80.0)
    history = load_history()
    assert_once(history)
    assert dict(zip(history.samples["invocation_id"], history.samples["value"], strict=True)) == {
        "first": 80.0, "second": 82.5, "third": 82.5}  # fmt: skip
    with pytest.raises(AssertionError):  # the planted defect
        assert_once(History(history.samples.loc[[0, 0]], history.verifications))


def test_copies_made_by_two_machines_count_once(uri, clock, bring):
    """Of two complete copies of a run the later stands in the history, on a first reading and on a later one."""
    bring("first")
    client = client_of(uri)
    (run,) = client.search_runs(["1"], filter_string="tags.seed = '1'")
    tags = {key: value for key, value in run.data.tags.items() if key != "mlflow.runName"}
    later = {"vigil.uploaded_at": "2026-11-20T13:00:00+00:00", "state_sha256": "later"}
    copy = client.create_run("1", start_time=run.info.start_time, tags=tags | later)
    client.log_metric(copy.info.run_id, "final_test_accuracy", 82.5)
    client.set_terminated(copy.info.run_id)
    for history in (load_history(), load_history(), load_history(rebuild=True)):
        assert history.samples["state_sha256"].tolist() == ["later"]
        assert_once(history)


def test_an_incomplete_upload_is_left_out_until_it_is_complete(uri, clock, bring):
    """A run that lacks the mark of a whole upload is no evidence yet."""
    bring("first")
    client = client_of(uri)
    (run,) = client.search_runs(["1"], filter_string="tags.seed = '1'")
    mark = run.data.tags["vigil.uploaded"]
    client.delete_tag(run.info.run_id, "vigil.uploaded")
    assert names(load_history()) == []
    client.set_tag(run.info.run_id, "vigil.uploaded", mark)
    assert names(load_history()) == ["first"]


def test_a_run_deleted_within_a_week_goes(uri, clock, bring):
    """What a person removed from MLflow judges nothing; one of long ago goes when all is read anew, or with its experiment."""
    bring("first")
    load_history()
    client = client_of(uri)
    (run,) = client.search_runs(["1"], filter_string="tags.seed = '1'")
    client.delete_run(run.info.run_id)
    assert names(load_history()) == []
    client.restore_run(run.info.run_id)
    load_history()
    client.delete_experiment("1")
    assert names(load_history()) == []


@pytest.mark.parametrize(
    ("tag", "value", "why"),
    [
        ("seed", "1; drop", "tag seed: found '1; drop', allowed is a whole number"),
        ("devices", "-2", "tag devices"),
        ("recipe", "", "tag recipe: missing or empty"),
        ("metric", "other", "metric final_other: found None"),
        ("vigil.uploaded_at", "2026-11-20 yesterday", "tag vigil.uploaded_at"),
    ],
)
def test_a_run_with_a_broken_value_is_left_out_and_named(uri, clock, bring, tag, value, why):
    """It spoils no other run, is counted once however often it is read, and is back when it is mended."""
    bring("first")
    bring("second")
    client = client_of(uri)
    (run,) = client.search_runs(["1"], filter_string="tags.seed = '1' and tags.`vigil.invocation_id` = 'second'")
    client.set_tag(run.info.run_id, tag, value)
    for _ in range(2):
        history = load_history()
        assert (names(history), history.skipped) == (["first"], 1)
        assert why in history.remarks[0]
        assert run.info.run_id in history.remarks[0]
    client.set_tag(run.info.run_id, tag, run.data.tags[tag])
    history = load_history()
    assert (names(history), history.skipped, history.remarks) == (["first", "second"], 0, ())


def test_uploads_from_before_there_were_nights_are_read(uri, clock, bring):
    """Without time of upload, release, metric and night, what is known stands in the row; sync --all replaces it, once."""
    directory = bring("first")
    client = client_of(uri)
    for run in client.search_runs(["1"]):
        for tag in ("vigil.uploaded_at", "release", "metric", "unit", "direction", "night"):
            if tag in run.data.tags:
                client.delete_tag(run.info.run_id, tag)
        client.set_tag(run.info.run_id, "framework_version", "0.9.9")
        client.set_tag(run.info.run_id, "vigil.uploaded", "of another version")
    history = load_history()
    (row,) = history.samples.to_dict("records")
    assert (row["release"], row["metric"], row["value"]) == ("0.9.9", "test_accuracy", 82.5)
    assert history.samples[["night", "unit"]].isna().all(axis=None)
    upload(directory)
    history = load_history()
    assert_once(history)
    assert history.samples["release"].tolist() == ["0.10.2"]


def test_a_tracker_that_is_down_leaves_what_is_cached_with_its_age(uri, clock, bring, monkeypatch, capsys):
    """The remark stands in the history and on standard error; with nothing cached there is no history at all."""
    bring("first")
    load_history()

    def refuse(*arguments):
        raise TrackingUnavailable("nothing answers")

    monkeypatch.setattr(vigil.history, "open_store", refuse)
    clock(NOON + timedelta(days=3))
    history = load_history()
    assert (names(history), history.as_of) == (["first"], NOON)
    assert "3 days old; later runs are missing: nothing answers" in history.remarks[0]
    assert history.remarks[0] in capsys.readouterr().err
    with pytest.raises(TrackingUnavailable):
        load_history(f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(TrackingUnavailable):
        load_history(rebuild=True)


def test_a_server_that_stops_half_way_leaves_the_cache_as_it_was(uri, clock, bring, monkeypatch):
    """A reading that breaks off after a page adds nothing: the next one reads all of it."""
    bring("first")
    load_history()
    bring("second")

    def stop(self, *arguments, **options):
        yield next(iter(whole(self, *arguments, **options)))
        raise ConnectionError("the server has died")

    whole = vigil.tracking.client.Store.runs
    with monkeypatch.context() as patch:
        patch.setattr(vigil.tracking.client.Store, "runs", stop)
        history = load_history()
        assert names(history) == ["first"]
        assert "the server has died" in history.remarks[0]
    assert names(load_history()) == ["first", "second"]


def test_the_cache_is_used_without_asking(uri, clock, bring):
    """Without a refresh the answer is that of the last time, and says so; where there was none, there is no answer."""
    with pytest.raises(CannotRun, match="is cached in"):
        load_history(refresh=False)
    bring("first")
    load_history()
    bring("second")
    clock(NOON + timedelta(hours=5))
    history = load_history(refresh=False)
    assert names(history) == ["first"]
    assert "5 hours old; MLflow was not asked" in history.remarks[0]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_tell_every_run_once(uri, clock, bring, monkeypatch, size):
    """Runs of one millisecond, which are more than a page, and a run that is deleted while pages are read, lose no other."""
    for name in ("a", "b", "c"):
        bring(name)
    monkeypatch.setattr(vigil.tracking.client, "RUNS_PER_PAGE", size)
    store = vigil.tracking.client.Store(uri)
    runs = [run.run_id for page in store.runs(["1"]) for run in page]
    assert len(runs) == len(set(runs)) == 6
    assert names(load_history()) == ["a", "b", "c"]
