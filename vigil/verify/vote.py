"""The vote: every framework takes the same float64 steps, eager, on one device, and the oracle is a voter like them.

In float64, programs that mean the same agree to some 1e-12 of each tensor's norm. One that leaves the others is wrong without any
tolerance, and is the finding. Only what all agree on becomes the golden tape.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vigil.documents.context import FRAMEWORKS, make_context
from vigil.errors import CannotRun
from vigil.process.side_by_side import available_cores
from vigil.verify.ask import Setting, ask, lines_of
from vigil.verify.golden import AGREEMENT, Golden
from vigil.verify.inspection import arrays_of, line_of, look_at
from vigil.verify.standard_cases import StandardCase, derived, has_taps, on_first_images

ORACLE = "oracle"
# Float64 tensors of an evaluation batch are given back to the system after each operation, and come again page by page: of 17 s
# PyTorch spent 8 s in the system on a ResNet-14's 1,000 images, and 3 s with pages of 2 MiB. Other systems than Linux read none.
_LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Vote:
    """How one voter stands: its largest relative distance to the voter that it is furthest from, of those that agree."""

    version: str
    agrees: bool
    largest: float
    case: str
    tensor: str


def vote(
    tape: Golden,
    directory: Path,
    *,
    data_directory: Path | None,
    on_event: Callable[[dict], None],
    frameworks: Sequence[str] = FRAMEWORKS,
    pythons: Mapping[str, Path] | None = None,
    stop: threading.Event | None = None,
) -> dict[str, Vote]:
    """Run the frameworks on the tape's cases and return each voter's standing. Raises CannotRun when a framework fails.

    Each is on one core: it votes while the tape's floors are drawn. At `stop` it is ended, and KeyboardInterrupt is raised.

    Args:
        pythons: by framework, the interpreter of a release that was named, whose vote it is then.
    """
    cores = available_cores()[-1:]
    ballots: dict[str, dict[str, Tensors]] = {ORACLE: {case.name: _voted_on(case, tape.expected(case)) for case in tape.cases}}
    versions = {ORACLE: f"numpy {np.__version__}"}
    looks = [look_at(tape, case, cuts=(), precision="fp64") for case in tape.cases if has_taps(case)]
    more = {name: array for look in looks for name, array in arrays_of(look).items()}
    for framework in frameworks:
        context = make_context(framework=framework, mode="eager", precision="fp64")
        python = (pythons or {}).get(framework)
        folder, seed = directory / framework, tape.header["seed"]
        variables = {name: value for name, value in _LARGE_PAGES.items() if name not in os.environ}
        setting = Setting(context, folder, seed, data_directory, cores=cores, stop=stop, python=python, variables=variables)
        asked = lines_of(tape, [on_first_images(case) for case in tape.cases], context)
        lines = [*map(_called_once, asked), *(line_of(look, context) for look in looks)]
        lines.sort(key=lambda line: line["shards"])  # those of one batch size share a program
        answers = ask(setting, tape, lines, more=more, on_event=on_event)
        if answers.record.status == "interrupted":
            raise KeyboardInterrupt
        if answers.record.failure:
            raise CannotRun(f"{framework}: {answers.record.failure.message}. See {setting.directory / 'log.txt'}.")
        versions[framework] = str(answers.record.environment["framework_version"])
        ballots[framework] = {}
        for case in tape.cases:
            found = derived(tape.training, tape.probes[case.state].state, _first_call(answers.tensors[case.name]))
            tapped = answers.tensors.get(f"{case.name}/tapped", {})
            inner = {name: tensor for name, tensor in tapped.items() if name.startswith(("output/", "leaf_gradient/"))}
            ballots[framework][case.name] = found | inner
    return {name: dataclasses.replace(standing, version=versions[name]) for name, standing in count(ballots).items()}


def count(ballots: Mapping[str, Mapping[str, Tensors]]) -> dict[str, Vote]:
    """Return each voter's standing. A voter agrees when, in every tensor, it is within 1e-10 of at least half of the others."""
    standings = {name: Vote("", True, 0.0, "", "") for name in ballots}
    enough = len(ballots) // 2
    for case, tensors in ballots[ORACLE].items():
        for tensor in tensors:
            values = {name: ballots[name][case].get(tensor) for name in ballots}
            friends = dict.fromkeys(ballots, 0)
            apart: dict[str, list[float]] = {name: [] for name in ballots}
            for one, other in itertools.combinations(ballots, 2):
                distance = _relative(values[one], values[other])
                for name in (one, other):
                    friends[name] += distance <= AGREEMENT
                    apart[name].append(distance)
            for name in ballots:
                agrees = friends[name] >= enough
                distance = max(each for each in apart[name] if each <= AGREEMENT) if agrees else min(apart[name])
                standing = standings[name]
                if (not agrees, distance) > (not standing.agrees, standing.largest):
                    standings[name] = Vote("", agrees, distance, case, tensor)
    return standings


def _relative(one: np.ndarray | None, other: np.ndarray | None) -> float:
    """Return the distance of two tensors over the larger norm; infinite unless both are there, of one shape and finite."""
    if one is None or other is None or np.shape(one) != np.shape(other):
        return float("inf")
    distance, norm = float(np.linalg.norm(one - other)), float(max(np.linalg.norm(one), np.linalg.norm(other)))
    if not np.isfinite(norm):
        return float("inf")
    return distance / norm if norm else 0.0


def _voted_on(case: StandardCase, tensors: Tensors) -> Tensors:
    """Return what of the oracle's answer the vote is about: of an evaluation, the first images."""
    return {name: each[: on_first_images(case).evaluation_rows] if name == "logits" else each for name, each in tensors.items()}


def _called_once(line: dict[str, Any]) -> dict[str, Any]:
    """Return a case's line with one call where it has many: the vote is on the first, and op by op 56 take half a minute."""
    return {**line, "times": 1, "steps": 1} if line["kind"] == "repeat" else line


def _first_call(tensors: Tensors) -> Tensors:
    """Return the answer of a repeated case's first call; of any other case, the answer."""
    first = {name.removeprefix("0/"): tensor for name, tensor in tensors.items() if name.startswith("0/")}
    return first or tensors
