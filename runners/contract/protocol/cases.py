"""What a verify task is asked and answers: cases.json and probes.npz in the run directory, answers-<index>.npz beside them.

Made by whoever judges; a runner reads the cases in order and knows nothing of what is expected.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.arrays import Arrays, read_arrays, write_arrays
from runners.contract.data.batches import Labels
from runners.contract.kinds.kind import Kind
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.checkpoint import State
from runners.contract.protocol.spec import RunSpec

CASES = "cases.json"
PROBES = "probes.npz"
KINDS = ("step", "predict", "alternate", "accumulate", "repeat", "choose", "segments", "trajectory")
Answers = Arrays


@dataclasses.dataclass(frozen=True)
class Case:
    """One question. `index` is its place in the file; what its kind has no use for is left at its default.

    shards, evaluation_shards: images on each device, of the batches that this case's programs are made for.
    evaluation_rows: images that are evaluated; what an evaluation batch has beyond them is blank, and not answered.
    state, batch, batches, leaves: keys of probes.npz.
    taps: all of the model's taps in forward order, where a case looks at them: a compiled program may return them in another.
    cuts: those at which the model is cut into segments. scale: what the loss of `segments` is multiplied by.
    times: calls of a case that repeats. steps: how many of them, the first, are whole steps; all, if nothing is said. The others
    are forward passes, where these take less time.
    is_fresh: whether a step is the first of an optimizer and a loss scaler that nothing was loaded into.
    kept: of a trajectory, the steps before which the state is kept, the last of them being how many steps it has. again: those of
    them to which the steps from the one before are taken again.
    """

    index: int
    name: str
    kind: str
    state: str
    shards: tuple[int, ...]
    evaluation_rows: int
    evaluation_shards: tuple[int, ...]
    batch: str = ""
    batches: tuple[str, ...] = ()
    learning_rate: float = 0.0
    times: int = 1
    steps: int | None = None
    taps: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    leaves: str = ""
    scale: float = 1.0
    is_fresh: bool = False
    kept: tuple[int, ...] = ()
    again: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"case {self.name!r}: kind {self.kind!r}; allowed are {', '.join(KINDS)}")
        if sum(self.evaluation_shards) < self.evaluation_rows:
            raise ValueError(
                f"case {self.name!r}: evaluation_shards {self.evaluation_shards} hold fewer than "
                f"evaluation_rows {self.evaluation_rows}"
            )


class Probes:
    """The arrays of probes.npz, read when asked for."""

    def __init__(self, run_directory: Path, kind: Kind) -> None:
        self._path, self._kind = run_directory / PROBES, kind
        self._archive = np.load(self._path, allow_pickle=False)

    def state(self, key: str) -> State:
        """Return a training state under canonical names."""
        return self._below(f"state/{key}/")

    def batch(self, key: str, *, rows: int) -> tuple[np.ndarray, Labels]:
        """Return images float32 [batch, height, width, channel], labels [batch, ...]. Raises ValueError unless it has `rows`."""
        batch = self._below(f"batch/{key}/")
        found = {len(array) for array in batch.values()}
        if found != {rows}:
            counts = " and ".join(map(str, sorted(found)))
            raise ValueError(f"{self._path}: batch {key!r} has {counts} images or labels; the case's shards hold {rows}")
        several = {name.removeprefix("labels/"): array for name, array in batch.items() if name.startswith("labels/")}
        return batch["images"], several or batch["labels"]

    def evaluated(self, key: str, *, rows: int) -> np.ndarray:
        """Return the images of a batch as an evaluation takes them. Raises ValueError unless it has `rows`."""
        return self._kind.evaluated_images(self.batch(key, rows=rows)[0])

    def leaves(self, key: str) -> Answers:
        """Return tap name -> what is added there, or put in its place."""
        return self._below(f"leaf/{key}/")

    def cotangents(self, key: str, cuts: tuple[str, ...]) -> Answers:
        """Return tap name -> cotangent, for the taps that are cut."""
        return {name: self._archive[f"cotangent/{key}/{name}"] for name in cuts}

    def _below(self, prefix: str) -> dict[str, np.ndarray]:
        found = {name[len(prefix) :]: self._archive[name] for name in self._archive.files if name.startswith(prefix)}
        if not found:
            raise ValueError(f"{self._path}: nothing is named {prefix}...")
        return found


def read_cases(run_directory: Path) -> list[Case]:
    """Read cases.json. Raises ValueError or TypeError for what is not a case."""
    content = json.loads((run_directory / CASES).read_text(encoding="utf-8"))
    cases = [Case(index=index, **{key: _frozen(value) for key, value in case.items()}) for index, case in enumerate(content)]
    names = [case.name for case in cases]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{run_directory / CASES}: names that stand there twice: {repeated}")
    return cases


def by_trainer(spec: RunSpec, cases: list[Case]) -> Iterator[tuple[RunSpec, list[Case]]]:
    """Yield consecutive cases of equal batches, with the spec of the trainer whose programs are made for these sizes."""
    for (shards, evaluation_shards), group in itertools.groupby(cases, key=lambda case: (case.shards, case.evaluation_shards)):
        training = sized(spec.training, rows=sum(shards), evaluation_rows=sum(evaluation_shards))
        yield dataclasses.replace(spec, shards=shards, evaluation_shards=evaluation_shards, training=training), list(group)


def sized(training: dict[str, Any], *, rows: int, evaluation_rows: int) -> dict[str, Any]:
    """Return the recipe's resolved content for batches of this size."""
    result = {**training, "batch_size": rows, "evaluation_batch_size": evaluation_rows}
    if rows < training["batch_size"]:
        result["model"] = kind_of(training).for_fewer_rows(training["model"])
    return result


def answers_path(run_directory: Path, index: int) -> Path:
    """Return where the answers to a case are."""
    return run_directory / f"answers-{index}.npz"


def write_answers(run_directory: Path, index: int, answers: Answers) -> None:
    """Write answers-<index>.npz: it is there whole, or not at all."""
    write_arrays(answers_path(run_directory, index), answers)


def read_answers(run_directory: Path, index: int) -> Answers:
    """Return the answers to a case. Raises OSError or ValueError for a missing or broken file."""
    return read_arrays(answers_path(run_directory, index))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
