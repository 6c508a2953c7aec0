"""History is what MLflow holds: all of it, once, whenever and from wherever it was uploaded."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

import vigil.tracking.client
import vigil.tracking.history
from tests.vigil.remembered import NOON, assert_once, names
from tests.vigil.tracked import client_of, closed_port
from vigil.errors import CannotRun
from vigil.tracking import TrackingUnavailable
from vigil.tracking.history import History, load_history


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


def test_after_a_long_pause_only_what_is_new_is_read(uri, clock, bring, monkeypatch):
    """Two years without an upload are a few dozen questions, not a reading of everything; each day among them is asked for."""
    bring("first")
    load_history()
    asked = []
    whole = vigil.tracking.history.read_pages
    monkeypatch.setattr(vigil.tracking.history, "read_pages", lambda store, days: asked.append(days) or whole(store, days))
    clock(NOON + timedelta(days=500), reads=NOON + timedelta(days=730))
    bring("second")
    assert names(load_history()) == ["first", "second"]
    (days,) = asked
    assert len(days) < 90
    every = (NOON + timedelta(days=offset) for offset in range(-7, 738))
    assert all(any(day.isoformat().startswith(each) for each in days) for day in every)
    assert [len(known) for known in days.values() if known] == [2]  # the run, and the rung of its invocation


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


def test_a_tracker_that_is_down_leaves_what_is_cached_with_its_age(uri, clock, bring, monkeypatch, capsys):
    """The remark stands in the history and on standard error; with nothing cached there is no history at all."""
    bring("first")
    load_history()

    def refuse(*arguments):
        raise TrackingUnavailable("nothing answers")

    monkeypatch.setattr(vigil.tracking.history, "open_store", refuse)
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
