"""Every picture that a run can have is drawn when its record is written, and none that fails takes the run with it."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.image import imread

from reports.run_pictures import _DRAWN, draw_pictures
from runners.contract.data import instances
from runners.contract.kinds import detections
from runners.contract.protocol.spec import write_spec
from tests.vigil.test_coco import perfect
from vigil.cli.reproduce import watch
from vigil.progress import RunDisplay
from vigil.tracking import RUN_PICTURES


def leave_detections(directory, make_spec, training, *, n_test: int, evaluated: int) -> None:
    """Leave what a detector's run does: a spec that names n_test scenes, and detections of `evaluated` of them."""
    write_spec(directory, make_spec(training=training | {"data": {"name": "scenes", "n_train": 1, "n_test": n_test}}))
    whole = instances.load({"name": "scenes", "n_train": 1, "n_test": evaluated}, None)
    detections.write(directory / detections.FILE_NAME, perfect(whole.test))


def leave_views(directory) -> None:
    """Leave what a contrastive run does."""
    np.savez(
        directory / "inputs.npz", **{name: np.zeros((2, 6, 6, 3), np.uint8) for name in ("images", "query_views", "key_views")}
    )


@pytest.mark.parametrize(("n_test", "rows"), [(2, 2), (14, 12)])
def test_a_detector_has_its_masks(tmp_path, make_spec, training, n_test, rows, capsys):
    """masks.png shows every test image of a few, and of many the first twelve: a row has 310 pixels, head and foot 140."""
    leave_detections(tmp_path, make_spec, training, n_test=n_test, evaluated=n_test)
    assert draw_pictures(tmp_path) == [tmp_path / "masks.png"]
    assert imread(tmp_path / "masks.png").shape[:2] == (310 * rows + 140, 930)
    assert capsys.readouterr().err == ""


def test_a_contrastive_run_has_its_views(tmp_path):
    """views.png, and no masks."""
    leave_views(tmp_path)
    assert draw_pictures(tmp_path) == [tmp_path / "views.png"]


def test_a_run_with_nothing_to_draw_is_silent(tmp_path, capsys):
    """Neither views nor detections is the case of most runs, and of those that failed early."""
    assert draw_pictures(tmp_path) == []
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [
        (lambda run: (run / "detections.npz").write_bytes(b"not an archive"), "detections.npz: "),
        (lambda run: (run / "spec.json").unlink(), "spec.json: cannot be read"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_said_and_no_more(tmp_path, make_spec, training, capsys, breaks, reason):
    """Damaged detections, or no spec to say of what: one line on standard error, and the other picture is drawn."""
    leave_views(tmp_path)
    leave_detections(tmp_path, make_spec, training, n_test=2, evaluated=2)
    breaks(tmp_path)
    assert draw_pictures(tmp_path) == [tmp_path / "views.png"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"{tmp_path}/masks.png: not drawn (")
    assert reason in said


def test_detections_of_fewer_images_are_not_drawn(tmp_path, make_spec, training, capsys):
    """Images that were not evaluated are no images without detections."""
    leave_detections(tmp_path, make_spec, training, n_test=3, evaluated=2)
    assert draw_pictures(tmp_path) == []
    assert "are not among the detections" in capsys.readouterr().err


def test_a_run_draws_and_uploads_the_same_pictures():
    """What is drawn of a run that is recorded is what MLflow is given of it."""
    assert watch(RunDisplay(), progress_timeout=1.0).on_recorded is draw_pictures
    assert tuple(_DRAWN) == RUN_PICTURES
