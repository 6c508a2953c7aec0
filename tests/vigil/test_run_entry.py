"""What is sent to MLflow, computed without it."""

from __future__ import annotations

import pytest

from tests.vigil.tracked import a_record, a_verdict, an_invocation, child_of, history, parent_of, runs_in, write_invocation
from vigil.tracking import upload
from vigil.tracking.run_entry import thinned


def test_secrets_reach_neither_tags_nor_artifacts():
    """A URI with a password in the command or in a reason is redacted in all that is sent."""
    invocation = an_invocation(command="MLFLOW_TRACKING_URI=http://anna:s3cret@host")
    invocation["verdict"]["reason"] = "see http://anna:s3cret@host"
    assert "s3cret" not in repr(parent_of(invocation, [a_record(1)]))
    failure = {"category": "crash", "phase": "train", "step": 1, "message": "http://anna:s3cret@host", "log_tail": []}
    assert "s3cret" not in child_of(a_record(1, status="failed", failure=failure), invocation).note


@pytest.mark.parametrize(
    ("status", "category", "mlflow_status", "verdict"),
    [
        ("failed", "nan_loss", "FAILED", "failed:nan_loss"),
        ("interrupted", "interrupted", "KILLED", "failed:interrupted"),
        ("unsupported", "unsupported", "FAILED", "unsupported"),
    ],
)
def test_run_without_a_number_keeps_how_it_ended(uri, tmp_path, status, category, mlflow_status, verdict):
    """A run that ended early is shown as such, on child and parent, with what it had measured."""
    failure = {"category": category, "phase": "train", "step": 3, "message": "it ended", "log_tail": []}
    metric = a_record(1)["metric"] | {"value": None}
    ended = a_record(1, status=status, failure=failure, metric=metric, curve=[], losses=[2.5, "inf", "nan"])
    judged = a_verdict(name=verdict, values=[], mean=None, band=None, detectable_drop=None)
    invocation = an_invocation(verdict=judged, seeds=[1], runs=["seed1"])
    upload(write_invocation(tmp_path / "runs" / "first", invocation=invocation, records=[ended]))
    (parent,), (child,) = runs_in(uri)
    assert (parent.info.status, child.info.status) == (mlflow_status, mlflow_status)
    assert (parent.data.tags["verdict"], child.data.tags["verdict"]) == (verdict, verdict)
    assert "it ended" in child.data.tags["mlflow.note.content"]
    points = dict(history(uri, child.info.run_id, "loss"))
    assert points[1] == 2.5
    assert points[2] > 1e300  # MLflow stores infinity as the largest number
    assert points[3] != points[3]
    assert "final_test_accuracy" not in child.data.metrics


def test_faulted_run_is_marked_on_child_and_parent():
    """The name of a planted fault stands in the tags, so that no chart takes the run for a clean one."""
    record = a_record(1, fault={"name": "weight_decay_ignored", "sha256": "99"})
    assert child_of(record, an_invocation()).labels["fault"] == "weight_decay_ignored"
    assert parent_of(an_invocation(), [record, a_record(2)]).labels["fault"] == "weight_decay_ignored"


def test_child_is_judged_by_its_own_seed():
    """One seed outside the band is regressed, whatever the verdict on all of them."""
    rows = [{"seed": 1, "value": 82.5, "verdict": "reproduced"}, {"seed": 2, "value": 70.0, "verdict": "regressed"}]
    invocation = an_invocation(verdict=a_verdict(values=rows))
    assert [child_of(a_record(seed), invocation).labels["verdict"] for seed in (1, 2)] == ["reproduced", "regressed"]


@pytest.mark.parametrize(("n_losses", "n_points"), [(0, 0), (1, 1), (1000, 1000), (1001, 501), (64000, 1001)])
def test_thinned_losses_keep_first_and_last_step(n_losses, n_points):
    """At most about a thousand points stand for any number of steps, each at its own step."""
    points = thinned(list(range(n_losses)))
    assert len(points) == n_points
    assert all(loss == step - 1 for step, loss in points)
    if n_losses:
        assert (points[0][0], points[-1][0]) == (1, n_losses)


def test_the_record_that_is_sent_holds_no_password():
    """The end of a runner's log may name a URI; what is attached is redacted as the tags are."""
    failure = {"category": "crash", "phase": "train", "step": 1, "message": "no", "log_tail": ["GET http://anna:s3cret@host/x"]}
    record = a_record(1, status="failed", failure=failure)
    sent = child_of(record, an_invocation())
    assert "s3cret" not in repr(sent)
    assert "http://***@host/x" in sent.text
