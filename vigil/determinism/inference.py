"""Is a row's result the same in another process, and in another batch? Asked of the weights that a run ended with."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runners.contract.kinds.table import kind_of
from runners.contract.protocol.cases import CASES, PROBES, answers_path, read_answers
from runners.contract.protocol.checkpoint import State
from runners.contract.protocol.spec import RunSpec
from vigil.determinism.judge import twin_of
from vigil.determinism.trial import Bench, Trial, run_trial
from vigil.errors import CannotRun

_ROWS = 8
TWINS = 3


def predicted(bench: Bench, name: str, state: State, *, is_alone: bool) -> tuple[Trial, dict[str, np.ndarray]]:
    """Return what the model gives for some rows in one batch, and what else was asked, each [row, value].

    Args:
        is_alone: whether also each of three rows is asked alone, and the batch of three twins of the weights.

    Returns:
        The process, and the results: `batch`, `row 0`, `twin 0` ...; nothing of what it did not come to.
    """
    kind, rows = kind_of(bench.training), rows_of(bench)
    dataset = kind.load(bench.training["data"], str(bench.data_directory) if bench.data_directory else None)
    batches = kind.make_batches(dataset, bench.training, seed=bench.seed)
    images, labels = batches.few(0, 0, count=rows)
    states = {"weights": dict(state)}
    # The sizes of a trainer's programs are those of its step: it is asked for one, whose answer nobody needs.
    lines = [_line("step", "weights", range(rows), rows, kind="step"), _line("batch", "weights", range(rows), rows)]
    alone = (0, rows // 2, rows - 1) if is_alone else ()
    if is_alone:
        states |= {f"twin {draw}": twin_of(state, bench.context.precision, draw=draw) for draw in range(TWINS)}
        lines += [_line(name, name, range(rows), rows) for name in states if name != "weights"]
        lines.append(_line("step for a row", "weights", [0], rows, kind="step"))
        lines += [_line(f"row {row}", "weights", [row], rows) for row in alone]
    arrays = _arrays(states)
    for key, chosen in {"all": range(rows), **{f"row-{row}": [row] for row in alone}}.items():
        arrays[f"batch/{key}/images"] = images[list(chosen)]
        several: Mapping[str, np.ndarray] = labels if isinstance(labels, dict) else {"": labels}
        arrays |= {f"batch/{key}/labels/{name}".rstrip("/"): each[list(chosen)] for name, each in several.items()}

    def asked(spec: RunSpec) -> RunSpec:
        directory = bench.directory / name.replace(" ", "-")
        (directory / CASES).write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
        np.savez(directory / PROBES, **arrays)  # type: ignore[arg-type]
        return dataclasses.replace(spec, task="verify")

    trial = run_trial(bench, name, change=asked)
    found = {}
    for index, line in enumerate(lines):
        if line["kind"] == "predict" and answers_path(trial.directory, index).exists():
            try:
                logits = read_answers(trial.directory, index)["logits"]
            except (OSError, ValueError, KeyError) as error:
                raise CannotRun(f"{answers_path(trial.directory, index)}: no whole answer ({error}).") from error
            found[line["name"]] = logits.reshape(line["evaluation_rows"], -1)
    return trial, found


def rows_of(bench: Bench) -> int:
    """Return of how many rows results are asked."""
    return min(_ROWS, bench.training["batch_size"])


def _line(name: str, state: str, evaluated: Sequence[int], rows: int, *, kind: str = "predict") -> dict[str, Any]:
    """Return a case; the trainer that it is put to is made for steps of so many rows."""
    key = "all" if len(evaluated) > 1 or kind == "step" else f"row-{evaluated[0]}"
    return {
        "name": name, "kind": kind, "state": state.replace(" ", "-"), "batch": key, "shards": [rows],
        "evaluation_rows": len(evaluated), "evaluation_shards": [len(evaluated)],
    }  # fmt: skip


def _arrays(states: Mapping[str, State]) -> dict[str, np.ndarray]:
    scaler = {"scaler/scale": np.float64(1.0), "scaler/good_steps": np.int64(0)}
    return {
        f"state/{key.replace(' ', '-')}/{name}": np.asarray(array)
        for key, state in states.items()
        for name, array in {**scaler, **state}.items()
    }
