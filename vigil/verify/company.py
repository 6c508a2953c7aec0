"""A context on several devices that is wrong as its companion on one is, whose origin is a known finding.

To look for an origin, each layer is compiled alone, which takes longer than the steps do. Where the companion was looked into,
its wrong numbers are what is expected here: a tensor that is further from them than rounding goes has an origin of its own.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from runners.contract.protocol.cases import CASES, read_answers
from vigil.documents.context import Context
from vigil.documents.document import DocumentError
from vigil.documents.record import Record
from vigil.documents.verdict import Verdict
from vigil.documents.verification import KnownFinding, Verification
from vigil.verify.ask import Answers
from vigil.verify.distance import compare
from vigil.verify.golden import Golden
from vigil.verify.limits import Limits
from vigil.verify.standard_cases import StandardCase, Tensors, derived, shown

# Of a gradient that should be nearly zero, a wrong one may be any number of times as large: that says nothing of its rounding.
# Those of compiled moco_lite are 4.3 to 6.1 times as large (bf16, PyTorch 2.13.0, Intel Xeon, 2026-11-27).
_LARGEST = 32.0


def companion_of(context: Context) -> Context | None:
    """Return the context on one device that a wrong one on several is held to; None of one on one device."""
    return dataclasses.replace(context, devices=1, shards=None) if context.devices > 1 else None


def read_companion(
    directory: Path, record: Record, known: Sequence[KnownFinding], *, tape: Golden, limits: Limits
) -> dict[str, Tensors] | None:
    """Return the answers of a verification that is wrong for known findings, by case; None where it says nothing of a context.

    Its origins must have been found, all of them known findings that are on record for the context, too. It was held to the same
    tape and limits, with the same packages on the same machine.

    Args:
        directory: the folder of the verification that holds what the framework answered.
        record: of the context that is to be held to it.
    """
    try:
        document = Verification.read(directory.parent)
        lines = json.loads((directory / CASES).read_text(encoding="utf-8"))
        answers = {line["name"]: read_answers(directory, index) for index, line in enumerate(lines)}
    except (DocumentError, OSError, ValueError):
        return None
    is_explained = document.verdict.name is Verdict.KNOWN_FINDING and bool(document.origins) and not document.broken
    is_held_alike = (
        document.context == companion_of(record.context)
        and document.golden.sha256 == tape.sha256
        and document.limits.sha256 == dict(limits.digests)
        and document.environment == record.environment
    )
    same_findings = {each.name for each in document.known} == {each.name for each in known}
    return answers if is_explained and is_held_alike and same_findings else None


def is_wrong_alike(
    answers: Answers, companion: dict[str, Tensors], cases: Sequence[StandardCase], *, tape: Golden, limits: Limits
) -> bool:
    """Is every tensor of every case as near to what the companion answered as two right ones may be to each other?

    Cases of the loss scaler are on no tape: its invariants say all of them.
    """
    return all(
        case.name in companion
        and _is_alike(case, answers.tensors.get(case.name, {}), companion[case.name], answers.record, tape=tape, limits=limits)
        for case in cases
        if case in tape.cases
    )


def _is_alike(case: StandardCase, here: Tensors, there: Tensors, record: Record, *, tape: Golden, limits: Limits) -> bool:
    state, right = tape.probes[case.state].state, shown(case, tape.expected(case))
    comparable, precision = tape.architecture.comparable, record.context.precision
    observed, expected = (derived(tape.training, state, comparable(each, right)) for each in (here, there))
    right = comparable(right, right)
    if not right.keys() <= expected.keys():
        return False
    expected = {name: np.asarray(expected[name], np.float64) for name in right}
    floors = tape.floors[precision][case.name]
    differences = compare(case.name, observed, expected, floors, family=tape.outline.family)
    for each in differences:
        # Both round, and in proportion to their numbers: gradients that are five times as large, five times as far, and with
        # them what the optimizer makes of them.
        gradient = "parameter_gradient/" + each.tensor.partition("/")[2]
        of = gradient if gradient in right else each.tensor
        size = float(np.linalg.norm(expected[of])) / (float(np.linalg.norm(right[of])) or 1.0)
        if not limits.score(each, precision) <= math.sqrt(2.0) * min(max(1.0, size), _LARGEST):
            return False
    return True
