"""Mask R-CNN in the three frameworks: three float64 steps are those of the oracle, on any number of devices."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.faults import file_sha256
from runners.contract.schedule import learning_rate
from tests.runners.harness import ROOT, finished, frameworks, make_spec
from vigil.verify.oracle import step as oracle

UNEVEN = (4, 2)
SPEC = {"precision": "fp64", "batch_size": 6, "steps": 3}
# One for each thing that a detection is made of; the last of the finer level's map.
POISONED = ("rpn.objectness", "rpn.deltas", "box.classes", "box.deltas", "mask.classes", "fpn.output3")
# Evaluates once with each bias not a number, and then as it should.
POISON = f"""
import sys
import numpy as np
from runners.contract.errors import NanDetections

def install():
    trainer = sys.modules["runners.FRAMEWORK.train"].Trainer
    evaluate = trainer.evaluate

    def poisoned(self, batches):
        state, refused = self.get_state(), []
        for name in {POISONED}:
            bias = f"params/{{name}}.bias"
            self.set_state({{**state, bias: np.full_like(state[bias], np.nan)}})
            try:
                evaluate(self, batches)
            except NanDetections:
                refused.append(name)
        self.set_state(state)
        print("refused:", *refused, flush=True)
        return evaluate(self, batches)

    trainer.evaluate = poisoned
"""
Expected = tuple[list[float], dict[str, np.ndarray], Detections]


def planted(name: str) -> dict[str, str]:
    """Return the spec's entry for a file in tests/faults."""
    path = ROOT / "tests" / "faults" / f"{name}.py"
    return {"path": str(path), "name": name, "sha256": file_sha256(path)}


@pytest.fixture(scope="module")
def expected() -> Expected:
    """The oracle's losses of three steps, the state after them, and what is then found in the test images."""
    training = make_spec("torch", "tiny_mask_rcnn", **SPEC).training
    batches = kind_of(training).make_batches(kind_of(training).load(training["data"], None), training, seed=3)
    state = {name: value.astype(np.float64) for name, value in weights.initial_state(training, seed=3).items()}
    losses = []
    for step in range(training["steps"]):
        rate = learning_rate(training["learning_rate"], step)
        answer = oracle.train_step(training, state, [batches.train(step)], rate)
        losses.append(float(answer["loss"]))
        state = {name: answer[name] for name in state}
    images = np.concatenate([images for images, _, _ in batches.evaluation()])
    found = oracle.forward_passes(training, state, [], images)["logits"]
    return losses, state, batches.detections(found)


def assert_agrees(result, expected: Expected) -> None:
    """Raise unless losses agree to 1e-9, every array of the state to 1e-8 of its norm, and what is found to its rounding."""
    losses, state, found = expected
    np.testing.assert_allclose(result.losses, losses, rtol=1e-9, atol=0)
    assert set(result.state) == set(state)
    for name, value in state.items():
        assert np.linalg.norm(result.state[name] - value) <= 1e-8 * np.linalg.norm(value), name
    np.testing.assert_array_equal(result.detections.classes, found.classes)
    # Scores and boxes are written as float32, masks as float16.
    np.testing.assert_allclose(result.detections.scores, found.scores, rtol=1e-6)
    np.testing.assert_allclose(result.detections.boxes, found.boxes, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(result.detections.masks.astype(float), found.masks.astype(float), atol=1e-3)


def steps_of(run, framework: str, **changes):
    return finished(run(framework, recipe="tiny_mask_rcnn", **SPEC, **changes))


def test_three_steps_are_the_oracles(run, framework, expected):
    """Losses, parameters, statistics, momentum and detections, on two devices with other numbers of regions."""
    assert_agrees(steps_of(run, framework, mode="jit", shards=UNEVEN), expected)


# Op by op, JAX takes more than a minute.
@pytest.mark.parametrize("framework", frameworks("torch", "tensorflow"))
def test_three_steps_are_the_oracles_on_one_device(run, framework, expected):
    """The same, op by op."""
    assert_agrees(steps_of(run, framework, mode="eager", shards=(6,)), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "shards"), [("jit", (6,)), ("eager", UNEVEN)])
def test_three_steps_are_the_oracles_in_the_other_contexts(run, framework, mode, shards, expected):
    """The same the other way around."""
    assert_agrees(steps_of(run, framework, mode=mode, shards=shards), expected)


@pytest.mark.parametrize("framework", frameworks("torch"))
def test_statistics_averaged_as_if_even_are_seen(run, framework, expected):
    """Where devices have different numbers of regions, the mean of their means is another mean: nothing agrees."""
    result = steps_of(run, framework, mode="jit", shards=UNEVEN, fault=planted("region_statistics_even_shards"))
    with pytest.raises(AssertionError):
        assert_agrees(result, expected)


@pytest.mark.parametrize("framework", frameworks("torch"))
def test_what_is_not_in_use_changes_nothing(run, framework, expected):
    """With other boxes in the empty places every loss and every array is what it was."""
    assert_agrees(steps_of(run, framework, mode="jit", fault=planted("unused_regions_moved")), expected)


@pytest.mark.slow
def test_counting_what_is_not_in_use_is_seen(run, framework, expected):
    """There are empty places, and statistics that took them in would be others: nothing agrees."""
    result = steps_of(run, framework, mode="jit", fault=planted("unused_regions_counted"))
    with pytest.raises(AssertionError):
        assert_agrees(result, expected)


@pytest.mark.slow
def test_a_number_that_is_not_finite_is_refused_wherever_it_is(run, framework, tmp_path):
    """In any part of the model: an image for which no proposal is left must not pass for one with nothing in it."""
    path = tmp_path / "poison.py"
    path.write_text(POISON.replace("FRAMEWORK", framework))
    fault = {"path": str(path), "name": path.stem, "sha256": file_sha256(path)}
    mode = "jit" if framework == "jax" else "eager"
    result = finished(run(framework, recipe="tiny_mask_rcnn", mode=mode, batch_size=6, steps=1, fault=fault))
    assert f"refused: {' '.join(POISONED)}" in result.log
