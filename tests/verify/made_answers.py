"""Answers that are made here, so that no framework runs: the oracle's in float32, with what a test plants in them."""

from __future__ import annotations

import numpy as np

from tests.documents import a_record
from vigil.verify.ask import Answers
from vigil.verify.inspection import rounded
from vigil.verify.oracle import step as oracle
from vigil.verify.standard_cases import shown


def as_float32(tensors):
    """Return what a framework in float32 would answer, if all its arithmetic were exact."""
    return {name: np.asarray(value, np.float32) for name, value in tensors.items() if not name.startswith("parameter_gradient/")}


def in_float32(tape, wrong=lambda case, tensors: tensors):
    """Return answers to all cases, with what is planted by `wrong`."""
    answers = {}
    for case in tape.cases:
        found = wrong(case, dict(shown(case, tape.expected(case))))
        found = as_float32(found)
        calls = range(len(case.batches) if case.kind == "repeat" else 0)
        answers[case.name] = {f"{call}/{name}": value for call in calls for name, value in found.items()} or found
    return answers


class FakeFramework:
    """Answers follow-up looks by the oracle's arithmetic in float32, with a fault planted in one layer."""

    def __init__(self, tape, wrong=lambda name, value: value):
        self.tape, self.wrong = tape, wrong

    def __call__(self, setting, tape, lines, *, more, on_event):
        tensors = {}
        for line in lines:
            leaves = {name: more[f"leaf/{line['leaves']}/{name}"] for name in line["cuts"]}
            cotangents = {name: more[f"cotangent/{line['leaves']}/{name}"] for name in line["cuts"]}
            leaves, cotangents = ({name: rounded(x, "float32") for name, x in each.items()} for each in (leaves, cotangents))
            probe = tape.probes[line["state"]]
            name, which = line["batch"].split("/")
            batch = getattr(tape.probes[name], which)
            found = oracle.segments(tape.training, probe.state, batch, leaves=leaves, cotangents=cotangents)
            found = {key: self.wrong(key, value) for key, value in found.items()}
            found = {key: np.asarray(value, np.float32) for key, value in found.items()}
            taps = tape.outline.taps
            if line["times"] > 1:  # it repeats itself
                found |= {f"changed/{tap}": np.zeros(0, np.int64) for tap in taps}
            tensors[line["name"]] = found | {f"dtype/{tap}": np.array("float32") for tap in taps}
        return Answers(a_record(), tensors, {})
