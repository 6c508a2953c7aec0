"""Whole trainings by Keras's own loop are held to gradient descent that is written out."""

from __future__ import annotations

import numpy as np
import pytest

from reports.audit_text import audit_block
from tests.audit.test_sweep import LIMITS, audited, run_script
from vigil.audit.definitions import catalog, fitting
from vigil.audit.sweep import Extent, audit
from vigil.steps.processes import Started

WAYS = ("keras.*",)


def regression(rows=6, seed=0):
    random = np.random.default_rng(seed)
    return {"w": random.normal(size=(3, 2)), "b": random.normal(size=2), "x": random.normal(size=(rows, 3)),
            "y": random.normal(size=(rows, 2))}  # fmt: skip


def test_the_gradients_that_are_written_out_are_those_of_the_losses():
    """Central differences of each loss, by its kernel, give what the definitions descend by."""
    given = regression()
    s = np.random.default_rng(1).uniform(0.0, 2.0, 6)
    for loss, y in ((fitting._squares, given["y"]), (fitting._entropy, np.array([0, 1, 1, 0, 1, 0]))):
        _, of_w, _ = loss(given["w"], given["b"], given["x"], y, s)
        for place in np.ndindex(3, 2):
            moved = np.zeros((3, 2))
            moved[place] = 1e-6
            up, down = (loss(given["w"] + sign * moved, given["b"], given["x"], y, s)[0].mean() for sign in (1, -1))
            assert (up - down) / 2e-6 == pytest.approx(of_w[place], abs=1e-8)


def test_two_batches_accumulated_are_one_of_both():
    """Eight examples in two batches, one step: the same as the mean gradient of all; an epoch's end interrupts nothing."""
    given = regression(rows=8)
    s = np.ones(8)
    w, b, _ = fitting.fitted_by_accumulation(**given, s=s, rate=0.25, epochs=1, period=2)
    _, of_w, of_b = fitting._squares(given["w"], given["b"], given["x"], given["y"], s)
    np.testing.assert_allclose(w, given["w"] - 0.25 * of_w)
    np.testing.assert_allclose(b, given["b"] - 0.25 * of_b)
    across, *_ = fitting.fitted_by_accumulation(**given, s=s, rate=0.25, epochs=3, period=4)
    assert not np.allclose(across, given["w"])


def test_fit_is_reproduced_with_weights_and_accumulation(tmp_path):
    """On PyTorch, compiled or op by op; what it has not is told as such."""
    found = audited(tmp_path, "fitted_with_weights", "evaluated", ways=WAYS)
    assert found.verdict.name == "reproduced", audit_block(found, directory="runs/x")
    assert found.ways == 4
    mirrored = {"keras.Model.fit (mirrored)", "keras.Model.evaluate (mirrored)"}
    assert {gap.way for gap in found.gaps} == {"keras.Model.fit (three steps a call)", *mirrored}


@pytest.mark.parametrize(
    ("fault", "operator"),
    [("fit_forgets_weights", "fitted_with_weights"), ("fit_drops_the_last_batch", "fitted_by_accumulation")],
)
def test_a_training_that_leaves_something_out_is_found(tmp_path, fault, operator):
    """The call is told, and its script shows it without Vigil."""
    found = audited(tmp_path, operator, fault=fault, ways=WAYS)
    assert {each.way for each in found.findings} >= {"keras.Model.fit"}
    require_script(found, tmp_path, fault)


def test_a_training_that_clips_before_it_scales_back_is_found(tmp_path):
    """Where the loss is scaled, and nowhere else."""
    fault = "fit_clips_scaled_gradients"
    found = audited(tmp_path, "fitted_with_penalty", fault=fault, ways=WAYS)
    assert {each.way for each in found.findings} == {"keras.Model.fit (scaled loss)"}
    require_script(found, tmp_path, fault)


def test_a_training_over_two_devices_is_held_to_the_same(tmp_path):
    """Keras 3.15.1 clips what each replica has: docs/findings/audit/keras_tensorflow_clips_before_replicas_add.py."""
    started = Started(framework="tensorflow")
    extent = Extent(entries=[catalog()["fitted_with_penalty"]], modes=["eager"], ways=WAYS, precisions=["fp32"], seed=4)
    found = audit(started, extent, tmp_path, LIMITS, (), command="vigil audit", jobs=1)
    assert {each.way for each in found.findings} == {"keras.Model.fit (mirrored)"}
    require_script(found, tmp_path, fault=None)


def require_script(found, directory, fault):
    """A finding has a script that shows it, and with a planted fault not without it."""
    assert found.verdict.name == "regressed"
    script = next(each.script for each in found.findings if each.script)
    shown = run_script(directory, script, fault=fault)
    assert (shown.returncode, shown.stdout[:5]) == (1, "WRONG"), shown.stderr
    if fault:
        assert run_script(directory, script).returncode == 0
