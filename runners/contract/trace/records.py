"""The records of a traced process: one line each, in the order in which they were made.

Two runs of a program that computes the same write the same lines, so that the first line that differs is where they part. What
is asked of a process lies in `ask.json` of its folder. A later run is told the lines of an earlier one, and keeps the whole
tensors of the record where it parts from them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runners.contract.trace.digests import digest_of_array

ASK, RECORDS, OPERATORS, EXPERIMENT, PARTED, DONE = (
    "ask.json", "records.jsonl", "operators.jsonl", "experiment.json", "parted.npz", "done.json",
)  # fmt: skip
FORWARD, GRADIENT, VARIABLE, INPUT = "forward", "gradient", "variable", "input"
REPEATS = 60
_SECONDS = 20.0


class Ask(NamedTuple):
    """What is asked of a traced process.

    reference: the records of another run, which it is held to while it runs.
    keep: the record whose tensor is kept; None for that where it parts from the reference.
    window: between which records operators are looked at, the second one included; None for none.
    experiment: the operator that is tried alone, by its number in the window; row: of its result that differed.
    """

    reference: str | None = None
    keep: int | None = None
    window: tuple[int, int] | None = None
    experiment: int | None = None
    row: int | None = None

    def write(self, folder: Path) -> None:
        (folder / ASK).write_text(json.dumps(self._asdict()), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Ask:
        values = json.loads((folder / ASK).read_text(encoding="utf-8"))
        return cls(**{**values, "window": tuple(values["window"]) if values["window"] else None})


class Recorder:
    """Writes down the records of this process.

    `count`: how many records there are. `step`: how many steps are done.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.ask = folder, Ask.read(folder)
        self.step = self.count = self.operators = 0
        self.frameworks: dict[str, str] = {}
        self.counts_steps = True
        self._process = os.getpid()
        self._file = open(folder / RECORDS, "w", encoding="utf-8", buffering=1 << 16)  # noqa: SIM115  closed when the process ends
        self._operators: Any = None
        self._reference = _lines(Path(self.ask.reference)) if self.ask.reference else None
        self._is_late = False
        self._most = 0
        self._kept: dict[str, np.ndarray] = {}
        self._waiting: list[tuple[list[Any], Any]] = []
        self._read_back: Callable[[list[Any]], list[int]] | None = None

    @property
    def is_on(self) -> bool:
        """Is this the process that is traced? Its children, as those of a loader, have the module and not the task."""
        return os.getpid() == self._process

    def add(
        self, name: str, kind: str, dtype: str, shape: tuple[int, ...], digest: Any, array: Callable[[], np.ndarray],
        read_back: Callable[[list[Any]], list[int]] | None = None,
    ) -> None:  # fmt: skip
        """Write down a record.

        Args:
            digest: a whole number; or what `read_back` makes whole numbers of, many at once at the end of the step.
            array: gives the numbers, which are asked for where they are to be kept.
        """
        if not self.is_on:
            return
        number = self.count
        self.count += 1
        line = [self.step, name, kind, dtype, list(shape)]
        if self.ask.keep == number:
            self._keep(number, line, array())
        if read_back is not None:
            self._waiting.append((line, digest))
            self._read_back = read_back
            return
        self._settle()
        self._write(number, [*line, digest], array)

    def steps(self, by: int = 1) -> None:
        """Say that a step is done."""
        self._settle()
        self.step += by
        if self.is_on:
            self._file.flush()

    def reach(self, step: int) -> None:
        """Say at which step the program is, where each function counts its own."""
        self._settle()
        self.step = step
        self._most = max(self._most, step)

    def close(self) -> None:
        """Write down that the program has come to its end."""
        if not self.is_on:
            return
        self._settle()
        self._file.close()
        if self._operators:
            self._operators.close()
        done = {"records": self.count, "steps": max(self.step, self._most), "frameworks": self.frameworks}
        (self.folder / DONE).write_text(json.dumps(done), encoding="utf-8")

    @property
    def looks(self) -> bool:
        """Are operators looked at here, between the last record and the next one?"""
        return self.ask.window is not None and self.ask.window[0] < self.count <= self.ask.window[1] and self.is_on

    def add_operator(self, name: str, where: str, given: list[Any], results: list[Any], marks: list[str]) -> int:
        """Write down an operator with the digests of what it was given and what it gave; return its number."""
        if self._operators is None:
            self._operators = open(self.folder / OPERATORS, "w", encoding="utf-8")  # noqa: SIM115  closed with the recorder
        self._operators.write(json.dumps([self.count, self.step, name, where, given, results, marks]) + "\n")
        self._operators.flush()
        self.operators += 1
        return self.operators - 1

    def write_experiment(self, found: Mapping[str, Any]) -> None:
        """Write down what an operator came to alone."""
        (self.folder / EXPERIMENT).write_text(json.dumps(found), encoding="utf-8")

    def _write(self, number: int, line: list[Any], array: Callable[[], np.ndarray]) -> None:
        text = json.dumps(line)
        self._file.write(text + "\n")
        if self._reference is not None and not self._is_late and text != next(self._reference, None):
            self._is_late = True
            if self.ask.keep is None:
                self._keep(number, line, array())

    def _settle(self) -> None:
        """Write down the records whose digests still lie on a device."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        assert self._read_back is not None
        number = self.count - len(waiting)
        for line, digest in zip([line for line, _ in waiting], self._read_back([each for _, each in waiting]), strict=True):
            self._write(number, [*line, digest], lambda: np.zeros(0))
            number += 1

    def _keep(self, number: int, line: list[Any], array: np.ndarray) -> None:
        whole: dict[str, Any] = {"record": np.array(number), "line": np.array(json.dumps(line)), "values": array}
        np.savez(self.folder / PARTED, **whole)


def _lines(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def monitored(value: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
    """Return nested lists, tuples and dicts with each leaf as `leaf` returns it; names say how to get to each."""
    if isinstance(value, Mapping):
        items = {key: monitored(each, f"{name}[{key!r}]", leaf) for key, each in value.items()}
        try:
            return type(value)(items)  # type: ignore[call-arg]
        except TypeError:
            return items
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(monitored(getattr(value, field), f"{name}.{field}", leaf) for field in value._fields))
    if isinstance(value, (list, tuple)):
        return type(value)(monitored(each, f"{name}[{place}]", leaf) for place, each in enumerate(value))
    return leaf(value, name)


def add_number(recorder: Recorder, value: Any, name: str, kind: str = FORWARD) -> None:
    """Write down a number, a string or an array of NumPy."""
    array = np.asarray(value)
    if array.dtype.hasobject:
        array = np.asarray(repr(value))
    recorder.add(name, kind, str(array.dtype), array.shape, digest_of_array(array), lambda: array)


def repeated(call: Callable[[], int]) -> dict[str, Any]:
    """Return how many different results calls gave; fewer calls where they take long."""
    began, results, calls = time.monotonic(), set(), 0
    while calls < REPEATS and (calls < 2 or time.monotonic() - began < _SECONDS):
        results.add(call())
        calls += 1
    return {"calls": calls, "results": len(results), "message": None}


def tried(call: Callable[[], int]) -> dict[str, Any]:
    """Return what `repeated` does, or why a call is refused."""
    try:
        return repeated(call)
    except Exception as error:  # whichever a framework says it by
        first = (str(error).strip().splitlines() or [""])[0]
        return {"calls": 0, "results": 0, "message": f"{type(error).__name__}: {first}"}
