"""The picture of masks: every panel, name and score that it promises, and a word where there is nothing to draw."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

from reports import masks
from reports.masks import COLUMNS, draw_masks, make_figure
from runners.contract.data import instances
from runners.contract.kinds import detections
from runners.contract.kinds.detections import Detections
from runners.contract.protocol.spec import write_spec
from tests.vigil.json_answer import answer_of
from tests.vigil.test_coco import perfect
from tests.vigil.tracked import a_record
from vigil.cli.answers import CocoDrawAnswer, CocoEvaluateAnswer
from vigil.cli.main import main
from vigil.digests import digest_of
from vigil.documents.record import Record


@pytest.fixture(scope="module")
def scene_set() -> instances.InstanceSet:
    return instances.load({"name": "scenes", "n_train": 1, "n_test": 4}, None)


@pytest.fixture
def figure(scene_set):
    return make_figure(scene_set.test, perfect(scene_set.test), class_names=scene_set.class_names, title="a title")


def words(figure) -> list[list[str]]:
    """Return what is written at the instances, panel by panel."""
    return [[text.get_text() for text in panel.texts] for panel in figure.axes]


def test_each_image_has_three_panels(figure, scene_set):
    """Four images, twelve panels: first the pixels themselves, then twice the image in gray; columns and picture have titles."""
    assert len(figure.axes) == 12
    assert [panel.get_title() for panel in figure.axes[:3]] == list(COLUMNS)
    for index in range(4):
        assert words(figure)[3 * index] == []
        bare, *others = (panel.images[0].get_array() for panel in figure.axes[3 * index : 3 * index + 3])
        np.testing.assert_array_equal(bare, scene_set.test.images[index])
        for gray in others:
            np.testing.assert_allclose(gray, (bare @ np.array([0.299, 0.587, 0.114]))[..., None].repeat(3, axis=-1), atol=1)
    assert [text.get_text() for text in figure.texts] == ["a title"]


def test_instances_are_named_and_detections_have_their_score(figure, scene_set):
    """Class names on the ground truth; class and score on detections, the most certain last."""
    for index in range(4):
        names = [scene_set.class_names[kind] for kind in scene_set.test.classes[index] if kind >= 0]
        scores = perfect(scene_set.test).scores[index][: len(names)]
        assert words(figure)[3 * index + 1] == names
        expected = [f"{name} {score:.2f}" for name, score in zip(names, scores, strict=True)]
        assert words(figure)[3 * index + 2] == expected[::-1]


def test_what_is_drawn_is_the_mask(figure, scene_set):
    """The first overlay of the ground truth covers its mask, and nothing else."""
    overlay = figure.axes[1].images[1].get_array()
    np.testing.assert_array_equal(overlay[..., 3] > 0, scene_set.test.masks(0)[0])


def test_labels_do_not_cover_each_other():
    """Five names at one place are written below each other, within the image; the first stays at the top of its mask."""
    mask = np.zeros((128, 128), bool)
    mask[1:20, 60:70] = True
    taken: list = []
    rows = [masks._label_place(mask, "triangle 0.91", taken)[0] for _ in range(5)]
    assert rows[0] == pytest.approx(0.055 * 64)
    assert min(np.diff(rows)) >= 0.055 * 128
    assert max(rows) < 128


def test_the_legend_names_the_classes_that_are_shown(figure, scene_set):
    """Those, in their order, and no others."""
    shown = sorted(set(scene_set.test.classes[scene_set.test.classes >= 0].tolist()))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [scene_set.class_names[kind] for kind in shown]


def test_uncertain_detections_are_counted_and_not_drawn(scene_set):
    """A detection of score 0.4 is below its panel as a number."""
    found = perfect(scene_set.test)
    found.scores[0, 0] = 0.4
    figure = make_figure(scene_set.test, found, class_names=scene_set.class_names, title="")
    count = int((found.classes[0] >= 0).sum())
    assert len(words(figure)[2]) == count - 1
    assert figure.axes[2].get_xlabel() == f"{count - 1} detection{'s' if count != 2 else ''}, 1 below 0.5"


def test_a_crowd_is_called_one(scene_set):
    """It is in no class's colour, and its word says so."""
    crowd = np.zeros_like(scene_set.test.crowd)
    crowd[0, 0] = True
    marked = dataclasses.replace(scene_set.test, crowd=crowd)
    figure = make_figure(marked, perfect(scene_set.test), class_names=scene_set.class_names, title="")
    assert words(figure)[1][0] == f"crowd: {scene_set.class_names[scene_set.test.classes[0, 0]]}"


def test_an_image_without_detections_is_said(scene_set):
    """Not even empty rows: it was not evaluated."""
    found = perfect(scene_set.test)
    fewer = Detections(**{field.name: getattr(found, field.name)[:2] for field in dataclasses.fields(Detections)})
    with pytest.raises(ValueError, match=r"images \[3, 4\]: are not among the detections"):
        make_figure(scene_set.test, fewer, class_names=scene_set.class_names, title="")


def test_the_picture_is_written(tmp_path, scene_set):
    """As a PNG, 930 pixels wide, of a height that goes with the number of images, and not of one colour."""
    from PIL import Image

    path = draw_masks(
        scene_set.test.first(2), perfect(scene_set.test), class_names=scene_set.class_names, title="", path=tmp_path / "m.png"
    )
    with Image.open(path) as image:
        assert image.size == (930, 760)
        assert np.asarray(image).std() > 20


@pytest.fixture
def run(tmp_path, make_spec, training, scene_set):
    """A run directory with detections of four scenes and the spec that names them."""
    data = {"name": "scenes", "n_train": 1, "n_test": 4}
    write_spec(tmp_path, make_spec(training=training | {"data": data}))
    detections.write(tmp_path / detections.FILE_NAME, perfect(scene_set.test))
    return tmp_path


def test_recorded_detections_are_drawn_beside_themselves(run, capsys):
    """`vigil coco draw` finds the images by the spec in the run directory, and says where the picture is."""
    assert main(["coco", "draw", str(run / "detections.npz"), "--images", "3"]) == 0
    assert capsys.readouterr().out == f"{run}/masks.png\n"
    assert (run / "masks.png").stat().st_size > 10_000


def test_recorded_detections_are_judged(run, capsys):
    """`vigil coco evaluate` prints twelve figures of both kinds, and what a dash means."""
    assert main(["coco", "evaluate", str(run / "detections.npz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 15
    assert lines[0].endswith("detections in 4 test images of scenes")
    assert lines[2].split() == ["ap", "1.0000", lines[2].split()[2]]
    assert lines[7].split() == ["ap_large", "-", "-"]
    assert lines[14] == "-: there is nothing of that size to find"


def test_figures_and_picture_are_answers(run, capsys):
    """Twenty-four figures by name, null where there is nothing to find; and where the picture is."""
    found = answer_of(capsys, CocoEvaluateAnswer, "coco", "evaluate", str(run / "detections.npz"))
    assert (found.data, found.images, len(found.figures)) == ("scenes", 4, 24)
    assert (found.figures["box_ap"], found.figures["mask_ap_large"]) == (1.0, None)
    drawn = answer_of(capsys, CocoDrawAnswer, "coco", "draw", str(run / "detections.npz"), "--images", "3")
    assert (drawn.path, drawn.images) == (f"{run}/masks.png", 3)


@pytest.mark.parametrize("action", ["draw", "evaluate"])
def test_detections_of_another_run_are_refused(run, capsys, action, scene_set):
    """Whole detections that are not those which the record was made of are not shown as that run's."""
    listed = {"detections.npz": digest_of((run / "detections.npz").read_bytes())}
    Record.model_validate(a_record(1, files=listed)).write(run)
    command = ["coco", action, str(run / "detections.npz"), *(("--images", "1") if action == "draw" else ())]
    assert main(command) == 0
    found = perfect(scene_set.test)
    detections.write(run / detections.FILE_NAME, dataclasses.replace(found, scores=found.scores / 2))
    assert main(command) == 3
    assert f"{run}/detections.npz: its SHA-256 is not the one in record.json" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["draw", "evaluate"])
@pytest.mark.parametrize("missing", ["detections.npz", "spec.json"])
def test_a_missing_file_is_said(run, capsys, action, missing):
    """Detections without their spec are of no known images; both are named, with exit code 3."""
    (run / missing).unlink()
    assert main(["coco", action, str(run / "detections.npz")]) == 3
    assert f"{run / missing}: cannot be read (No such file or directory)" in capsys.readouterr().err


def test_detections_of_another_number_of_images_are_said(run, capsys, make_spec, training):
    """A spec that names more test images than were evaluated is an error with exit code 3."""
    write_spec(run, make_spec(training=training | {"data": {"name": "scenes", "n_train": 1, "n_test": 5}}))
    assert main(["coco", "evaluate", str(run / "detections.npz")]) == 3
    assert "detections.npz: 4 of 5 images have detections" in capsys.readouterr().err


def test_the_command_line_loads_neither_matplotlib_nor_pycocotools():
    """Both are imported where they are used: `vigil --help` stays quick."""
    import subprocess

    code = "import sys, vigil.cli.main; print([name for name in ('matplotlib', 'pycocotools', 'PIL') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
