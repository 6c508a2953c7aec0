"""One process in which a runner and the bare loop of its framework take turns: same threads, same memory, same minute.

The runner's own `train` runs, unpatched, on a session that hands over to the bare loop after every block of steps.
`python -m benchmarks.throughput.alternate DIRECTORY` reads DIRECTORY/spec.json and turns.json, and writes result.json.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runners.contract.errors import Unsupported
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.session import Session
from runners.contract.protocol.spec import RunSpec, read_spec

# After a turn the caches are the other's, and the runner finds four batches prepared: these steps are not counted.
SETTLING_STEPS = 5
TURNS_NAME = "turns.json"
RESULT_NAME = "result.json"


class AlternatingSession(Session):
    """A session in which the bare loop takes its turn after every block of the runner's steps.

    The first round is not kept: in it, both compile.
    """

    def __init__(self, directory: Path, spec: RunSpec, events: EventWriter, *, steps: int) -> None:
        super().__init__(directory, spec, events)
        self._steps = steps
        self._bare: Iterator[Any] | None = None
        self._block_start = self.step
        self._runner_started = 0.0
        self.rounds: list[dict[str, float]] = []

    def stepped(self, loss: Any) -> None:
        super().stepped(loss)
        done = self.step - self._block_start
        if done == SETTLING_STEPS:
            self._runner_started = now(loss)
        elif done == SETTLING_STEPS + self._steps:
            runner_seconds = now(loss) - self._runner_started
            bare_seconds = self._bare_turn()
            if self._block_start:
                self.rounds.append({"bare_seconds": bare_seconds, "runner_seconds": runner_seconds})
                print(f"round {len(self.rounds)}: bare {bare_seconds:.3f} s, runner {runner_seconds:.3f} s", flush=True)
            self._block_start = self.step

    def _bare_turn(self) -> float:
        """Return the seconds of a block of the bare loop."""
        if self._bare is None:
            # Made here, after the runner has configured the framework: a framework can be configured only once.
            bare = importlib.import_module(f"benchmarks.throughput.bare_{self.spec.framework}")
            batches = bare.make_batches(batch_size=self.spec.training["batch_size"])
            self._bare = bare.train(batches, mode=self.spec.mode, precision=self.spec.precision)
        for _ in range(SETTLING_STEPS):
            loss = next(self._bare)
        started = now(loss)
        for _ in range(self._steps):
            loss = next(self._bare)
        return now(loss) - started


def now(loss: Any) -> float:
    """Return the time at which the step of this loss is done: a framework may still be working when it returns one."""
    float(loss)
    return time.perf_counter()


def steps_needed(*, rounds: int, steps: int) -> int:
    """Return how long the runner's training must be, the round that is not kept included."""
    return (rounds + 1) * (SETTLING_STEPS + steps)


def main(directory: Path) -> None:
    spec = read_spec(directory)
    turns = json.loads((directory / TURNS_NAME).read_text(encoding="utf-8"))
    events = EventWriter(directory, heartbeat_seconds=spec.heartbeat_seconds)
    try:
        runner = importlib.import_module(f"runners.{spec.framework}.train")
        session = AlternatingSession(directory, spec, events, steps=turns["steps"])
        runner.train(session)
        result = {"rounds": session.rounds, "framework_version": runner.environment()["framework_version"]}
    except Unsupported as error:
        result = {"unsupported": str(error)}
    finally:
        events.close()
    (directory / RESULT_NAME).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
