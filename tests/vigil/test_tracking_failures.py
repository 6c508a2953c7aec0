"""A tracker that fails is told of within seconds, loses nothing and gives no secret away."""

from __future__ import annotations

import json
import socket
import time

import pytest

import vigil.tracking.client
from tests.vigil.tracked import an_invocation, client_of, closed_port
from vigil.errors import CannotRun
from vigil.tracking import TrackingUnavailable, upload


@pytest.mark.parametrize("scheme", ["http", "postgresql"])
def test_unreachable_tracker_is_reported_within_seconds_without_its_password(invocation_directory, monkeypatch, scheme):
    """A refused connection raises at once, names the address, and shows neither user nor password."""
    address = f"127.0.0.1:{closed_port()}"
    started = time.monotonic()
    with pytest.raises(TrackingUnavailable) as raised:
        upload(invocation_directory, uri=f"{scheme}://anna:s3cret@{address}")
    assert time.monotonic() - started < 5
    assert address in str(raised.value)
    assert "s3cret" not in str(raised.value)
    assert "anna" not in str(raised.value)
    assert raised.value.exit_code == 3


def test_a_tracker_that_answers_no_more_is_reported_within_seconds(invocation_directory, monkeypatch):
    """A server that takes connections and then hangs, as one does that is dying: no run waits for it, and none is lost."""
    monkeypatch.setattr(vigil.tracking.client, "ANSWER_SECONDS", 1.0)
    before = {path: path.read_bytes() for path in invocation_directory.rglob("*") if path.is_file()}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        with pytest.raises(TrackingUnavailable, match="Nothing is lost"):
            upload(invocation_directory, uri=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - started < 5
    assert {path: path.read_bytes() for path in invocation_directory.rglob("*") if path.is_file()} == before


def test_store_that_cannot_be_opened_is_reported_within_seconds(invocation_directory, tmp_path):
    """A SQLite path that is a directory raises at once, where MLflow alone retries for minutes."""
    started = time.monotonic()
    with pytest.raises(TrackingUnavailable, match="unable to open database file"):
        upload(invocation_directory, uri=f"sqlite:///{tmp_path}")
    assert time.monotonic() - started < 5


def test_deleted_experiment_is_named(uri, invocation_directory):
    """A recipe's experiment that was deleted in MLflow is not revived behind its owner's back."""
    upload(invocation_directory)
    client = client_of(uri)
    client.delete_experiment(client.get_experiment_by_name("resnet_cifar").experiment_id)
    with pytest.raises(TrackingUnavailable, match="mlflow experiments restore --experiment-id 1"):
        upload(invocation_directory)


def test_unfinished_invocation_is_refused(invocation_directory):
    """Without a verdict there is nothing to upload yet."""
    (invocation_directory / "invocation.json").write_text(json.dumps(an_invocation(verdict=None)))
    with pytest.raises(CannotRun, match="no verdict yet"):
        upload(invocation_directory)
