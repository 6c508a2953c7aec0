"""request.json: what a runner of a user's program is asked. The conductor writes it, complete; a runner fills in no default."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import ClassVar

from runners.contract.files import replace_text

FILE_NAME = "request.json"
# What one process is asked: what is expected, with its floors; some of the draws for these, beside the process that is asked for
# all; answers in one context, which are held to it; and what contexts made of the gradients that they computed. Or, held to
# nothing, a few steps in one context, to see what they take; and what the programs of such steps say that they will, where a
# framework compiles ahead.
TASKS = ("oracle", "draws", "context", "updates", "rehearsal", "sizes")


@dataclasses.dataclass(frozen=True)
class StepRequest:
    """One process of `python -m runners.<framework>.step RUN_DIR`.

    looks: at what each module of the model gives and gets, in the place of the cases.
    file, file_sha256: the user's file, as it was when it was asked about.
    expected: of a context, and of `draws`, the directory of the oracle of its precision; of `updates`, those of the contexts;
        else none.
    draws: of rounding, for each floor. repeats: calls from the same state, at most.
    shares_draws: of an oracle, with a process that is asked for `draws`.
    seeds: of the oracle's batches; empty where it chooses one. Of several, each has a directory below that of the process.
    keeps: all that is answered, and what it began with, for somebody who holds another release to it.
    given: the directory of an oracle that kept these: its batches and its model's first numbers take the place of the file's.
    fault: a planted fault, as in a run's spec.
    determinism: off, or on: kernels that give the same bits each time, or refuse to run.
    device: cpu or gpu, where a context computes; oracles are on the CPU.
    devices: of the step, where the file says how they share it.
    rows: of the batch, its first ones, on which the step alone is asked; None: all of them, and every case.
    """

    framework: str
    task: str
    looks: bool
    file: str
    file_sha256: str
    mode: str
    precision: str
    threads: int
    cores: tuple[int, ...] | None
    draws: int
    repeats: int
    seeds: tuple[int, ...]
    expected: tuple[str, ...]
    keeps: bool
    given: str | None
    fault: dict[str, str] | None
    heartbeat_seconds: float
    determinism: str = "off"
    device: str = "cpu"
    shares_draws: bool = False
    devices: int = 1
    rows: int | None = None

    # What a run's spec says as well (`runners.contract.compiled.Compiling`).
    attention: ClassVar[str] = "default"
    shards: ClassVar[tuple[int, ...]] = ()

    def write(self, directory: Path) -> None:
        """Write it where the runner looks for it."""
        replace_text(directory / FILE_NAME, json.dumps(dataclasses.asdict(self), indent=1))


def read_request(directory: Path) -> StepRequest:
    """Return the request of a directory. Raises OSError, ValueError or TypeError where there is none that can be read."""
    fields = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    tuples = {name: tuple(fields[name]) for name in ("seeds", "expected")} | {"cores": fields["cores"] and tuple(fields["cores"])}
    request = StepRequest(**fields | tuples)
    if request.task not in TASKS:
        raise ValueError(f"task: found {request.task!r}. Allowed: {', '.join(TASKS)}.")
    return request
