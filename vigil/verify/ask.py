"""Put cases to a framework: write a run directory, start its runner, read what it answers.

The runner works in the context's own mode, precision and devices, and knows nothing of what is expected.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.protocol.cases import CASES, PROBES, answers_path, read_answers
from runners.contract.protocol.spec import write_spec
from vigil.documents.context import Context
from vigil.documents.identity import Identity
from vigil.documents.record import Record
from vigil.errors import CannotRun
from vigil.process.build_spec import build_spec, rows_of_part
from vigil.process.execute import PROGRESS_TIMEOUT_SECONDS, execute
from vigil.process.hosts import Hosts
from vigil.process.recording import make_record
from vigil.verify.golden import Golden
from vigil.verify.probes import MARGIN_IMAGES
from vigil.verify.standard_cases import (
    FIRST_SCALE,
    LOSS_SCALE,
    TRAJECTORY,
    StandardCase,
    batch_of,
    choice,
    repeats_of,
    taken_again,
    training_for,
    whole_steps,
)

# What float16 holds at most is 65504. A gradient of which the oracle's is half of that may overflow in a correct program.
_SAFE = 65504.0 / 2
# Nothing of a runner that is interrupted is read, and one that imports its framework, or compiles, does not hear.
_GRACE_SECONDS = 1.0
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where cases are put to a framework, and what is planted there. python, hosts, variables: as in `execute`.

    second_cores: those of a second process, which answers a part of the cases at the same time, see `ask_all`.
    """

    context: Context
    directory: Path
    seed: int
    data_directory: Path | None
    fault: dict[str, str] | None = None
    cores: list[int] | None = None
    second_cores: list[int] | None = None
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS
    stop: threading.Event | None = None
    python: Path | None = None
    hosts: Hosts | None = None
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def second(self) -> Setting:
        """Return where the second process is asked."""
        return dataclasses.replace(self, directory=second_directory(self.directory), cores=self.second_cores, second_cores=None)


def second_directory(directory: Path) -> Path:
    """Return the run directory of the process beside the one that has this directory."""
    return directory.with_name(f"{directory.name}-second")


@dataclasses.dataclass(frozen=True)
class Answers:
    """What came back: the record of the runner's process, and the tensors of every case that it finished.

    Of two processes the record is that of the one that failed, or of the first.
    """

    record: Record
    tensors: dict[str, Tensors]
    seconds: dict[str, float]


def shards_for(context: Context, rows: int, *, part: int = 1) -> list[int]:
    """Return how a batch is cut over the context's devices: evenly, or as unevenly as its shards. Each has one image at least.

    Args:
        part: rows that no two devices may share.

    >>> from vigil.documents.context import make_context
    >>> shards_for(make_context(framework="torch", devices=2, shards=(20, 12)), 4)
    [3, 1]
    >>> shards_for(make_context(framework="torch", devices=3), 64, part=16)
    [32, 16, 16]
    """
    if context.shards is None:
        return list(context.shard_sizes(rows, rows=part))
    total = sum(context.shards)
    sizes = [max(1, size * rows // total) for size in context.shards]
    sizes[sizes.index(max(sizes))] += rows - sum(sizes)
    if len(set(sizes)) == 1 < sizes[-1] and len(set(context.shards)) > 1:
        sizes[0], sizes[-1] = sizes[0] + 1, sizes[-1] - 1
    return sizes


def lines_of(tape: Golden, cases: Sequence[StandardCase], context: Context) -> list[dict[str, Any]]:
    """Return the standard cases as they stand in cases.json."""
    lines = []
    for case in cases:
        put = _in_shared_programs(case, tape, context)
        line = {
            "name": case.name,
            "kind": case.kind,
            "state": state_key(case),
            "learning_rate": case.learning_rate,
            "shards": shards_for(context, put.rows, part=rows_of_part(training_for(put, tape.training))),
            "evaluation_rows": case.evaluation_rows,
            "evaluation_shards": list(context.evaluation_shards(put.evaluation_rows)),
        }
        if case.kind in ("step", "predict"):
            line["batch"] = case.batches[0]
            if is_fresh(case, tape, context):
                line["is_fresh"] = True
        elif case.kind == "choose":
            line |= {"batch": case.batches[0], "leaves": case.name, "taps": list(tape.outline.choices)}
        elif case.kind == "alternate":
            line |= {"batches": list(case.batches[:-1]), "batch": case.batches[-1]}
        else:
            line["batches"] = list(case.batches)
        if case.kind == "repeat":
            line |= {"times": repeats_of(context), "steps": whole_steps(context.mode)}
        if case.kind == "trajectory":
            line |= {"kept": list(TRAJECTORY), "again": list(taken_again(context.mode))}
        lines.append(line)
    return lines


def _in_shared_programs(case: StandardCase, tape: Golden, context: Context) -> StandardCase:
    """Return the case with the sizes for which its programs are made.

    PyTorch's compiler takes 27 s for an evaluation of the detector, on one core of an AMD EPYC (2026-11-29). So there is one for
    all: that of the recipe's evaluation batch, which is the one that training runs, beside the steps on margin batches.
    """
    if (context.framework, context.mode) != ("torch", "compile") or context.devices > MARGIN_IMAGES:
        return case
    rows = min(case.rows, MARGIN_IMAGES) if case.kind == "predict" else case.rows
    return dataclasses.replace(case, rows=rows, evaluation_rows=max(case.evaluation_rows, tape.training["evaluation_batch_size"]))


def is_fresh(case: StandardCase, tape: Golden, context: Context) -> bool:
    """Is a case put to a fresh optimizer and a fresh loss scaler? Not where the first loss scale may overflow."""
    if not case.is_fresh or context.precision != "fp16":
        return case.is_fresh
    groups = "leaf_gradient/", "parameter_gradient/"
    largest = max(float(np.abs(tensor).max()) for name, tensor in tape.expected(case).items() if name.startswith(groups))
    return largest * FIRST_SCALE < _SAFE


def state_key(case: StandardCase) -> str:
    """Return the key of a case's state in probes.npz: its own, where its loss scaler has another state than the others'."""
    return case.state if (case.scale, case.good_steps) == (LOSS_SCALE, 0) else case.name.replace("/", "-")


def states_of(tape: Golden, cases: Sequence[StandardCase]) -> Tensors:
    """Return the states that cases have of their own, as they stand in probes.npz."""
    arrays: Tensors = {}
    for case in cases:
        if (key := state_key(case)) != case.state:
            arrays |= _state(key, tape.probes[case.state].state, scale=case.scale, good_steps=case.good_steps)
    return arrays


def _state(key: str, state: Mapping[str, np.ndarray], *, scale: float, good_steps: int) -> Tensors:
    whole = {**state, "scaler/scale": np.float64(scale), "scaler/good_steps": np.int64(good_steps)}
    return {f"state/{key}/{name}": np.asarray(value) for name, value in whole.items()}


def ask_all(
    setting: Setting, tape: Golden, cases: Sequence[StandardCase], *, on_event: Callable[[dict], None] = lambda event: None
) -> Answers:
    """Put cases to the framework: to one process, or to two at the same time, if there are cores for a second.

    The second one answers those on full batches and then those about choices, of which the first has compiled parts by then.
    Most of a verification may be compiling, by one core: so divided, PyTorch's compiler has about as much to do in either.
    """
    lines = dict(zip(cases, lines_of(tape, cases, setting.context), strict=True))

    def put(setting: Setting, cases: Sequence[StandardCase]) -> Answers:
        return ask(setting, tape, [lines[case] for case in cases], more=states_of(tape, cases), on_event=on_event)

    if setting.second_cores is None:
        return put(setting, sorted(cases, key=lambda case: sum(lines[case]["shards"])))  # equal sizes share a trainer
    of_second = [case for case in cases if case.is_full and sum(lines[case]["shards"]) == case.rows]
    of_second += [case for case in cases if case.kind == "choose"]
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="second") as pool:
        asked = pool.submit(put, setting.second, of_second)
        first = put(setting, [case for case in cases if case not in of_second])
        second = asked.result()
    record = second.record if second.record.failure and not first.record.failure else first.record
    return Answers(record, first.tensors | second.tensors, first.seconds | second.seconds)


def ask(
    setting: Setting,
    tape: Golden,
    lines: Sequence[Mapping[str, Any]],
    *,
    more: Mapping[str, np.ndarray] | None = None,
    on_event: Callable[[dict], None] = lambda event: None,
) -> Answers:
    """Run the cases in a fresh process. `more`: further arrays for probes.npz, as leaves and cotangents.

    A runner that crashes, hangs or is refused leaves a record that says so, and the tensors of the cases it had finished.
    Of one that was interrupted nobody waits for the tensors.
    """
    directory, context = setting.directory, setting.context
    directory.mkdir(parents=True)
    spec = build_spec(
        run_id=directory.name,
        recipe=Identity.model_validate(tape.header["recipe"]),
        training=tape.training,
        context=context,
        seed=setting.seed,
        data_directory=setting.data_directory,
        fault=setting.fault,
        cores=setting.cores,
    )
    write_spec(directory, dataclasses.replace(spec, task="verify"))
    (directory / CASES).write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    arrays: dict[str, Any] = {**_arrays(tape, lines), **(more or {})}
    np.savez(directory / PROBES, **arrays)
    ending = execute(
        directory,
        context.framework,
        on_event=on_event,
        progress_timeout=setting.progress_timeout,
        stop=setting.stop,
        python=setting.python,
        hosts=setting.hosts if context.device == "cpu" else None,
        cores=setting.cores,
        grace=_GRACE_SECONDS,
        variables=setting.variables,
    )
    record = Record.model_validate(make_record(directory, invocation_id=directory.parent.name, context=context, ending=ending))
    tensors: dict[str, Tensors] = {}
    for index, line in enumerate(lines if record.status != "interrupted" else ()):
        path = answers_path(directory, index)
        if path.exists():
            try:
                tensors[line["name"]] = read_answers(directory, index)
            except (OSError, ValueError) as error:
                raise CannotRun(f"{path}: no whole answer ({error}). Verify again.") from error
    return Answers(record, tensors, {case.name: case.seconds for case in record.probed})


def _arrays(tape: Golden, lines: Sequence[Mapping[str, Any]]) -> Tensors:
    arrays: Tensors = {}
    for name in tape.probes.keys() & {line["state"] for line in lines}:
        arrays |= _state(name, tape.probes[name].state, scale=LOSS_SCALE, good_steps=0)
    for key in {key for line in lines for key in (*line.get("batches", ()), *([line["batch"]] if "batch" in line else ()))}:
        images, labels = batch_of(key, tape.training, tape.probes, tape.batches)
        arrays[f"batch/{key}/images"] = images
        several = labels if isinstance(labels, dict) else {"": labels}
        arrays |= {f"batch/{key}/labels/{name}".rstrip("/"): array for name, array in several.items()}
    for case in tape.cases:
        if case.kind == "choose" and any(line["name"] == case.name for line in lines):
            arrays |= _chosen_from(case, tape)
    return arrays


def _chosen_from(case: StandardCase, tape: Golden) -> Tensors:
    """Return what a case about choices puts in the place of what the model chooses from."""
    _, leaves = choice(case, tape.training, tape.probes)
    return {f"leaf/{case.name}/{name}": array for name, array in leaves.items()}
