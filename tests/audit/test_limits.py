"""How far a call may be off: in no precision as far as a call that gives nothing, or half of what is right."""

from __future__ import annotations

import numpy as np
import pytest

from vigil.audit.definitions import catalog
from vigil.audit.exact import exact_of
from vigil.audit.limits import LARGEST, MARGIN, AuditLimits, audit_limits, limits_of, most_of
from vigil.audit.plan import plan
from vigil.audit.sweep import rows_of
from vigil.documents.verification import LimitFacts

NO_ROWS = AuditLimits({}, LimitFacts(clean_rows=0))
TOLD = {"way": "own", "status": "answered", "changed": [], "other_bits": {}, "moved": []}


@pytest.mark.parametrize("limits", [NO_ROWS, audit_limits()], ids=["no rows", "rows on record"])
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "fp64"])
@pytest.mark.parametrize("operator", ["relu", "exp", "multiply", "softmax", "sum", "matmul", "layer_norm", "half_squared_error"])
def test_neither_zeros_nor_half_of_what_is_right_pass(operator, precision, limits):
    """Of each output, in each precision that the operator has, with rows or without."""
    trials = plan(catalog()[operator], precisions=[precision])
    assert trials
    for trial in trials[:2]:
        question = trial.question(0)
        exact = exact_of(trial, question, 0)
        for factor in (0.0, 0.5):
            arrays = {f"outputs/{place}": held.values * factor for place, held in enumerate(exact.outputs)}
            rows, _ = rows_of(trial, question, exact, TOLD, arrays, "eager", limits)
            wrong = {row.quantity for row in rows if row.kind == "wrong"}
            assert set(arrays) <= wrong, (trial.form, factor)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_no_gradient_of_zeros_passes(precision):
    """In the reduced precisions, whose floors are the widest, of an elementwise operator and of another."""
    for operator in ("tanh", "softmax"):
        for trial in plan(catalog()[operator], precisions=[precision]):
            question = trial.question(0)
            exact = exact_of(trial, question, 0)
            arrays = {f"outputs/{place}": held.values for place, held in enumerate(exact.outputs)}
            arrays |= {f"gradients/{name}": np.zeros(question.arguments[name].shape) for name in question.differentiated}
            rows, _ = rows_of(trial, question, exact, TOLD, arrays, "eager", NO_ROWS)
            assert {row.quantity for row in rows} == {f"gradients/{name}" for name in question.differentiated}, trial.form


def test_no_row_widens_a_limit_beyond_a_tenth_of_the_value():
    """Of a precision with few bits the share of the value is what limits, of others the floors."""
    row = {"operators": {"relu": {"outputs bf16": LARGEST, "outputs fp16": LARGEST, "outputs fp32": LARGEST}}}
    limits = limits_of([row])
    assert limits.of("relu", "outputs/0", "bf16") == most_of("bf16") < LARGEST
    assert limits.of("relu", "outputs/0", "fp16") == most_of("fp16") < MARGIN * LARGEST
    assert limits.of("relu", "outputs/0", "fp32") == MARGIN * LARGEST


def test_without_a_row_a_reduced_precision_has_no_margin():
    """Its rows are of all operators that are right, so that one without is most likely wrong."""
    found = {precision: NO_ROWS.of("relu", "outputs/0", precision) for precision in ("bf16", "fp16", "fp32", "fp64")}
    assert found == {"bf16": most_of("bf16"), "fp16": LARGEST, "fp32": MARGIN * LARGEST, "fp64": MARGIN * LARGEST}
