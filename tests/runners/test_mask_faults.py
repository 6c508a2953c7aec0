"""The planted faults of Mask R-CNN do what they say, and the same, in every framework: one float64 step, and a tie."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.runners import fork_server
from tests.runners.harness import FRAMEWORKS, Outcome, finished
from tests.runners.region_cases import PLANTED_IN
from tests.runners.test_mask_rcnn import planted

SPEC = {"recipe": "tiny_mask_rcnn", "precision": "fp64", "batch_size": 6, "steps": 1}
# Fault -> parameters whose gradient it changes, and parts of the model that it does not reach.
REACHES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "roi_align_half_pixel": (("box.conv.kernel", "mask.conv1.kernel", "stem.conv.kernel"), ("rpn.",)),
    "box_delta_weights_missing": (("box.deltas.kernel", "box.conv.kernel"), ("rpn.", "box.classes.", "mask.")),
    "mask_class_channel": (("mask.classes.kernel", "mask.conv1.kernel"), ("rpn.", "box.")),
    "sampling_unbalanced": (("box.classes.kernel", "box.deltas.kernel", "mask.classes.kernel"), ("rpn.",)),
    "objectness_of_ignored": (("rpn.objectness.kernel", "rpn.conv.kernel"), ("rpn.deltas.", "box.", "mask.")),
    "unused_regions_counted": (("box.conv.kernel", "mask.conv1.kernel"), ("rpn.",)),
}
# In `make test` PyTorch has one of them; the others are the same files.
QUICK = "sampling_unbalanced"
CELLS = [
    pytest.param(
        framework,
        fault,
        marks=[getattr(pytest.mark, framework), *([] if (framework, fault) == ("torch", QUICK) else [pytest.mark.slow])],
    )
    for framework in FRAMEWORKS
    for fault in REACHES
]
# Keeps of each image which of two boxes: 14 of 20 columns in common, exactly 0.7, or a thousandth less.
SUPPRESS = """
import importlib, json, sys
import numpy
from runners.contract.protocol import faults
framework, dtype, fault = sys.argv[1:4]
library = importlib.import_module({"jax": "jax.numpy"}.get(framework, framework))
if framework == "jax":
    importlib.import_module("jax").config.update("jax_enable_x64", True)
if fault:
    faults.install(json.loads(fault), framework)
make = {"torch": "tensor", "tensorflow": "constant", "jax": "asarray"}[framework]
tensor = lambda numbers, kind: getattr(library, make)(numbers, dtype=getattr(library, kind))
boxes = tensor([[[0, 0, 20, 10], [0, 0, 14, 10]], [[0, 0, 20, 10], [0, 0, 13.98, 10]]], dtype)
scores, valid = tensor([[0.9, 0.8]] * 2, dtype), tensor([[True, True]] * 2, "bool")
regions = importlib.import_module(f"runners.{framework}.regions")
_, used = regions.nms(boxes, scores, valid, threshold=0.7, count=2)
print(json.dumps(numpy.asarray(used).tolist()))
"""


def stepped(run, framework: str, *faults: str) -> Outcome:
    """Return the outcome of a step, with a fault planted or without."""
    return finished(run(framework, **SPEC, mode=PLANTED_IN[framework], fault=planted(*faults) if faults else None))


def distance(found: Outcome, clean: Outcome, name: str) -> float:
    """Return how far an array of the state is from the clean one, relative to it."""
    return float(np.linalg.norm(found.state[name] - clean.state[name]) / np.linalg.norm(clean.state[name]))


def assert_reaches(found: Outcome, clean: Outcome, fault: str) -> None:
    """Raise unless the loss is another, and so are the gradients that the fault should change, and none that it should not.

    Measured in the three frameworks: the loss is 5e-5 off at least, what is reached 2e-2, what is not is the same bits.
    """
    changed, untouched = REACHES[fault]
    assert abs(found.losses[0] / clean.losses[0] - 1) > 1e-6, "the loss is that of the clean run"
    for name in changed:
        assert distance(found, clean, f"momentum/{name}") > 1e-3, f"{name} is not reached"
    for name in clean.state:
        if name.startswith(tuple(f"momentum/{part}" for part in untouched)):
            assert distance(found, clean, name) < 1e-12, f"{name} is reached"


@pytest.mark.parametrize(("framework", "fault"), CELLS)
def test_a_fault_reaches_what_it_should(run, framework, fault):
    """Loss and gradients of a step show the fault, and show it in its own part of the model alone."""
    assert_reaches(stepped(run, framework, fault), stepped(run, framework), fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", REACHES)
def test_a_fault_is_the_same_in_every_framework(run, fault):
    """With the fault the three frameworks agree as closely as they do without it."""
    torch, *others = (stepped(run, framework, fault) for framework in FRAMEWORKS)
    for other in others:
        np.testing.assert_allclose(other.losses, torch.losses, rtol=1e-9)
        for name, value in torch.state.items():
            assert np.linalg.norm(other.state[name] - value) <= 1e-8 * np.linalg.norm(value), name


@pytest.mark.torch
def test_what_changes_nothing_is_no_fault(run):
    """Moving what is not in use is planted like a fault, and fails the comparison that faults pass."""
    with pytest.raises(AssertionError, match="the loss is that of the clean run"):
        assert_reaches(stepped(run, "torch", "unused_regions_moved"), stepped(run, "torch"), QUICK)


@pytest.mark.torch
def test_another_fault_is_not_this_one(run):
    """Unbalanced sampling is not taken for wrong masks: it reaches the box head."""
    with pytest.raises(AssertionError, match=r"momentum/box\.\S+ is reached"):
        assert_reaches(stepped(run, "torch", QUICK), stepped(run, "torch"), "mask_class_channel")


def suppressed(framework: str, dtype: str, fault: str, folder: Path) -> list[list[bool]]:
    """Return which of two boxes are kept in each of two images, asked in a process of its own."""
    script = folder / "suppress.py"
    script.write_text(SUPPRESS, encoding="utf-8")
    arguments = [framework, dtype, json.dumps(planted(fault)) if fault else ""]
    return json.loads(fork_server.ask(framework, str(script), *arguments, folder=folder).splitlines()[-1])


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_a_box_at_the_threshold_is_dropped_with_the_fault_alone(framework, dtype, tmp_path):
    """An overlap of exactly 0.7 is kept without the fault and dropped with it; one just below is kept in either case."""
    both, one = [True, True], [True, False]
    assert suppressed(framework, dtype, "", tmp_path) == [both, both]
    assert suppressed(framework, dtype, "nms_at_threshold", tmp_path) == [one, both]
