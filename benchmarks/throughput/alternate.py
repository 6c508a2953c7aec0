"""One process in which a runner and others take turns at the same training: same threads, same memory, same minute.

The runner's own `train` runs on a session that hands over to the others after every block of steps. They are

- `step`: the runner's own step on a few batches that lie ready: what is left is what Vigil adds around a step;
- `step_with_input`: the same, which makes each batch before its step, on the same thread: what is left is all but input;
- `twin`: the same once more: what is left between the two is what the measurement cannot tell;
- `bare`: the bare loop of its framework, for the recipes that have one, on tensors that lie ready;
- `bare_with_input`: the bare loop, which makes each batch by the runner's input pipeline before its step, on the same thread.

`python -m benchmarks.throughput.alternate DIRECTORY` reads DIRECTORY/spec.json and turns.json, and writes result.json.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runners.contract.errors import Unsupported
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.session import Session
from runners.contract.protocol.spec import RunSpec, read_spec
from runners.contract.schedule import learning_rate

RUNNER, STEP, STEP_WITH_INPUT, TWIN = "runner", "step", "step_with_input", "twin"
BARE, BARE_WITH_INPUT = "bare", "bare_with_input"
# The recipes that have bare loops.
BARE_RECIPES = ("resnet_cifar", "char_gpt")
# After a turn the caches are the other's, and the runner finds batches prepared: these steps are not counted.
SETTLING_STEPS = 5
TURNS_NAME = "turns.json"
RESULT_NAME = "result.json"
_BATCHES = 12
Losses = Iterator[Any]


class AlternatingSession(Session):
    """A session in which others take their turn after every block of the runner's steps.

    The first round is not kept: in it, all of them compile.

    Args:
        others: name -> what returns a loop's losses. It is called when its first turn comes, after the runner has configured the
            framework: a framework can be configured only once.
    """

    def __init__(
        self,
        directory: Path,
        spec: RunSpec,
        events: EventWriter | None,
        *,
        steps: int,
        others: Mapping[str, Callable[[AlternatingSession], Losses]],
    ) -> None:
        super().__init__(directory, spec, events)
        self._steps, self._others = steps, others
        self._loops: dict[str, Losses] = {}
        self._block_start = self.step
        self._runner_started = 0.0
        self.rounds: list[dict[str, float]] = []
        self.trainer: Any = None

    def stepped(self, loss: Any) -> None:
        super().stepped(loss)
        done = self.step - self._block_start
        if done == SETTLING_STEPS:
            self._runner_started = now(loss)
        elif done == SETTLING_STEPS + self._steps:
            seconds = {RUNNER: now(loss) - self._runner_started}
            seconds |= {name: self._turn(name) for name in self._others}
            if self._block_start:
                self.rounds.append(seconds)
                print(f"round {len(self.rounds)}: {seconds}", flush=True)
            self._block_start = self.step

    def batch(self, step: int) -> tuple:
        """Return the images and labels of a step, made now."""
        return self._batches.train(step)

    def _turn(self, name: str) -> float:
        """Return the seconds of a block of another's loop."""
        if name not in self._loops:
            self._loops[name] = self._others[name](self)
        loop = self._loops[name]
        for _ in range(SETTLING_STEPS):
            loss = next(loop)
        started = now(loss)
        for _ in range(self._steps):
            loss = next(loop)
        return now(loss) - started


def own_step(session: AlternatingSession) -> Losses:
    """Return the losses of the runner's own step, over and over the first batches."""
    return _steps(session, itertools.cycle([session.batch(step) for step in range(_BATCHES)]))


def own_step_with_input(session: AlternatingSession) -> Losses:
    """Return the losses of the runner's own step on batches that are each made before it."""
    return _steps(session, map(session.batch, itertools.count()))


def _steps(session: AlternatingSession, batches: Iterable[tuple]) -> Losses:
    rate = learning_rate(session.spec.training["learning_rate"], 0)
    for images, labels in batches:
        yield session.trainer.train_step(images, labels, rate)


def bare_loop(session: AlternatingSession) -> Losses:
    """Return the losses of the bare loop on tensors that lie ready."""
    bare, spec = _bare(session.spec), session.spec
    batches = bare.make_batches(batch_size=spec.training["batch_size"], count=_BATCHES)
    return bare.train(itertools.cycle(batches), mode=spec.mode, precision=spec.precision)


def bare_loop_with_input(session: AlternatingSession) -> Losses:
    """Return the losses of the bare loop on the runner's batches, each made before its step."""
    bare, spec = _bare(session.spec), session.spec
    batches = (bare.as_tensors(*session.batch(step)) for step in itertools.count())
    return bare.train(batches, mode=spec.mode, precision=spec.precision)


def others_for(spec: RunSpec) -> dict[str, Callable[[AlternatingSession], Losses]]:
    """Return who takes turns with the runner of a spec."""
    bare = {BARE: bare_loop, BARE_WITH_INPUT: bare_loop_with_input} if spec.recipe["name"] in BARE_RECIPES else {}
    return {STEP: own_step, STEP_WITH_INPUT: own_step_with_input, **bare, TWIN: own_step_with_input}


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
        runner: Any = importlib.import_module(f"runners.{spec.framework}.train")
        session = AlternatingSession(directory, spec, events, steps=turns["steps"], others=others_for(spec))

        prepare = runner.Trainer.prepare

        def note(trainer: Any, **arguments: Any) -> None:
            prepare(trainer, **arguments)
            session.trainer = trainer

        # Its steps can only be taken by somebody who knows the trainer, which `train` makes.
        runner.Trainer.prepare = note
        runner.train(session)
        result = {"rounds": session.rounds, "framework_version": runner.environment()["framework_version"]}
    except Unsupported as error:
        result = {"unsupported": str(error)}
    finally:
        events.close()
    (directory / RESULT_NAME).write_text(json.dumps(result), encoding="utf-8")


def bare_module(recipe: str, framework: str) -> str:
    """Return the name of the module of a recipe's bare loop."""
    return f"benchmarks.throughput.bare_{recipe}_{framework}"


def _bare(spec: RunSpec) -> Any:
    return importlib.import_module(bare_module(spec.recipe["name"], spec.framework))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
