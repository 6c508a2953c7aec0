"""What public batch norms are asked: steps on a fresh layer, and what each step gives and leaves behind.

A scenario is the conductor's, and so is what its numbers mean. A runner brings layers: how one is made, and how it takes a step.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from runners.contract.arrays import read_arrays, write_arrays
from runners.contract.errors import ContractError, Unsupported
from runners.contract.files import replace_text
from runners.contract.protocol.events import EventWriter
from runners.contract.steps import process

FILE_NAME, OPTION = "request.json", "--batch-norm"
SCENARIOS, ANSWERS, TOLD = "scenarios.npz", "answers.npz", "answers.json"
# A forward pass in training whose new statistics are stored as the documentation says; one whose caller stores nothing; one that
# a backward pass follows; one that is not recorded for gradients; one of a frozen layer, with a backward pass; one in evaluation.
TRAINING, UNSTORED, BACKWARD, NO_GRADIENT, FROZEN, EVALUATION = (
    "training", "unstored", "backward", "no gradient", "frozen", "evaluation",
)  # fmt: skip
# What a scenario came to. absent: this release has no such name. cannot: the layer has no such form, with the reason.
ANSWERED, RAISES, ABSENT, CANNOT = "answered", "raises", "absent", "cannot"
_LONGEST_MESSAGE = 200


class Form(NamedTuple):
    """How a layer is made: with its defaults, but for what is not None.

    channels: how many it has. momentum: as its own argument of this name takes it. scale: of each channel, 1 by default.
    precision: fp32; fp16 or bf16, as the framework's users mix it with float32. is_cast: the layer itself is of the type, too.
    mode: eager, jit or compile.
    """

    channels: int
    momentum: float | None
    scale: float | None
    precision: str
    is_cast: bool
    mode: str


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Steps that a fresh layer takes one after another, with the same arguments.

    x, cotangent: [value, channel]. mask: [value], None for none. shards: how many values each device has; empty: one device,
    which is not told of others.
    """

    name: str
    steps: tuple[str, ...]
    x: np.ndarray
    cotangent: np.ndarray
    mask: np.ndarray | None = None
    momentum: float | None = None
    scale: float | None = None
    precision: str = "fp32"
    is_cast: bool = False
    mode: str = "eager"
    shards: tuple[int, ...] = ()

    @property
    def form(self) -> Form:
        """Return how a layer for it is made."""
        return Form(self.x.shape[1], self.momentum, self.scale, self.precision, self.is_cast, self.mode)


class Taken(NamedTuple):
    """What a step gave: the output, in float32, its type's name, and of a backward pass the gradient of x, all as x is shaped."""

    output: np.ndarray
    kind: str
    gradient: np.ndarray | None = None


class Layer(Protocol):
    """A fresh layer: running mean 0, running variance 1. `take` raises Unsupported for what it has no form of."""

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken: ...

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        """Return running mean and variance as they are now, [channel] each, in float32."""


class Shard(NamedTuple):
    """What a device gave, and its running statistics afterwards."""

    output: np.ndarray
    gradient: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class Public(NamedTuple):
    """A public layer or function.

    axes: how many its input has: 2, [batch, channel], or 4, with height and width.
    shared: one training step with a backward pass on several devices, given the shards of x and of the cotangent; None where
    nothing makes it know of other devices.
    """

    axes: int
    make: Callable[[Form], Layer]
    shared: Callable[[Form, list[np.ndarray], list[np.ndarray]], list[Shard]] | None = None


class Framework(NamedTuple):
    """What a framework brings. `set_up` comes before its first operation. layers: by public name; None of one that it lacks.

    same: public names that stand for the object of another one.
    """

    name: str
    set_up: Callable[[TableRequest], None]
    describe: Callable[[], dict[str, Any]]
    layers: Callable[[], Mapping[str, Public | None]]
    same: Callable[[], Mapping[str, str]]


@dataclasses.dataclass(frozen=True)
class TableRequest:
    """One process of `python -m runners.<framework> --batch-norm RUN_DIR`; the scenarios lie beside it."""

    framework: str
    threads: int
    cores: tuple[int, ...] | None
    fault: dict[str, str] | None
    heartbeat_seconds: float

    def write(self, directory: Path) -> None:
        """Write it where the runner looks for it."""
        replace_text(directory / FILE_NAME, json.dumps(dataclasses.asdict(self), indent=1))


class Answer(NamedTuple):
    """What a layer came to in a scenario. kinds: the type's name of each step's output.

    arrays: `<place of the step>/output`, `/gradient`, `/mean`, `/variance`; of several devices `<place of the device>/...`.
    """

    status: str
    message: str
    kinds: tuple[str, ...]
    arrays: dict[str, np.ndarray]


# By layer, then by scenario.
Answers = Mapping[str, Mapping[str, Answer]]


def read_request(directory: Path) -> TableRequest:
    """Return the request of a directory. Raises OSError, ValueError or TypeError where there is none that can be read."""
    fields = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    return TableRequest(**fields | {"cores": fields["cores"] and tuple(fields["cores"])})


def main(name: str, load: Callable[[], Framework], arguments: list[str]) -> int:
    """Answer the scenarios beside a request; return the exit code. A failure of any kind becomes a `failed` event."""
    return process.main(name, load, arguments, file=FILE_NAME, read=read_request, option=OPTION, answer=_answer)


def with_space(array: np.ndarray, axes: int) -> np.ndarray:
    """Return [value, ...] as a layer of so many axes takes it, channels last: two values a row where they are even.

    >>> with_space(np.zeros((6, 3)), 4).shape, with_space(np.zeros(6), 4).shape, with_space(np.zeros((5, 3)), 2).shape
    ((3, 2, 1, 3), (3, 2, 1), (5, 3))
    """
    if axes == 2:
        return array
    wide = 2 if len(array) % 2 == 0 else 1
    return array.reshape(len(array) // wide, wide, 1, *array.shape[1:])


def _answer(framework: Framework, request: TableRequest, directory: Path, events: EventWriter) -> None:
    events.enter("verify")
    told: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    layers, scenarios = framework.layers(), read_scenarios(directory)
    for index, (name, public) in enumerate(layers.items()):
        for scenario in scenarios:
            answer = _asked(public, scenario)
            arrays |= {f"{len(told)}/{key}": array for key, array in answer.arrays.items()}
            told.append({"layer": name, "scenario": scenario.name, **answer._asdict() | {"arrays": None}})
            events.advance()
        events.emit("probed", index=index, total=len(layers), name=name, seconds=0.0)
    write_arrays(directory / ANSWERS, arrays)
    replace_text(directory / TOLD, json.dumps({"rows": told, "same": dict(framework.same())}))


def _asked(public: Public | None, scenario: Scenario) -> Answer:
    if public is None:
        return Answer(ABSENT, "this release has no such name", (), {})
    kinds: list[str] = []
    arrays: dict[str, np.ndarray] = {}
    try:
        for key, array, kind in _shared(public, scenario) if scenario.shards else _steps(public, scenario):
            arrays[key] = array
            kinds += [kind] if kind else []
    except ContractError as error:
        status = CANNOT if error.category == "unsupported" else RAISES
        return Answer(status, str(error)[:_LONGEST_MESSAGE], tuple(kinds), arrays)
    except Exception as error:  # whatever a layer raises is an answer of its own
        return Answer(RAISES, _message(error)[:_LONGEST_MESSAGE], tuple(kinds), arrays)
    return Answer(ANSWERED, "", tuple(kinds), arrays)


def _message(error: Exception) -> str:
    """Return an error in a line: its first, or the last of one that quotes where another language raised it."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [""]
    line = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    name = f"{type(error).__name__}: "
    return name + line.removeprefix(name)


def _steps(public: Public, scenario: Scenario) -> Iterator[tuple[str, np.ndarray, str]]:
    layer = public.make(scenario.form)
    x, cotangent = with_space(scenario.x, public.axes), with_space(scenario.cotangent, public.axes)
    mask = None if scenario.mask is None else with_space(scenario.mask, public.axes)
    for place, step in enumerate(scenario.steps):
        taken = layer.take(step, x, mask, cotangent)
        yield f"{place}/output", np.reshape(taken.output, scenario.x.shape), taken.kind
        if taken.gradient is not None:
            yield f"{place}/gradient", np.reshape(taken.gradient, scenario.x.shape), ""
        mean, variance = layer.running()
        yield f"{place}/mean", np.reshape(mean, -1), ""
        yield f"{place}/variance", np.reshape(variance, -1), ""


def _shared(public: Public, scenario: Scenario) -> Iterator[tuple[str, np.ndarray, str]]:
    if public.shared is None:
        raise Unsupported("nothing tells it of other devices")
    cuts = np.cumsum(scenario.shards)[:-1]
    parts = [np.split(array, cuts) for array in (scenario.x, scenario.cotangent)]
    spaced = [[with_space(each, public.axes) for each in part] for part in parts]
    for place, shard in enumerate(public.shared(scenario.form, *spaced)):
        for name in ("output", "gradient"):
            yield f"{place}/{name}", np.reshape(getattr(shard, name), (-1, scenario.x.shape[1])), ""
        for name in ("mean", "variance"):
            yield f"{place}/{name}", np.reshape(getattr(shard, name), -1), ""


_ARRAYS = ("x", "cotangent", "mask")


def write_scenarios(directory: Path, scenarios: Sequence[Scenario]) -> None:
    """Write the scenarios where the runner looks for them."""
    arrays: dict[str, np.ndarray] = {}
    plain = []
    for place, each in enumerate(scenarios):
        given = {name: getattr(each, name) for name in _ARRAYS if getattr(each, name) is not None}
        arrays |= {f"{place}/{name}": array for name, array in given.items()}
        fields = (field.name for field in dataclasses.fields(Scenario) if field.name not in _ARRAYS)
        plain.append({name: getattr(each, name) for name in fields})
    write_arrays(directory / SCENARIOS, arrays)
    replace_text(directory / f"{SCENARIOS}.json", json.dumps(plain))


def read_scenarios(directory: Path) -> list[Scenario]:
    """Return the scenarios of a directory."""
    arrays = read_arrays(directory / SCENARIOS)
    rows = json.loads((directory / f"{SCENARIOS}.json").read_text(encoding="utf-8"))
    found = []
    for place, row in enumerate(rows):
        given: dict[str, Any] = {name: arrays[f"{place}/{name}"] for name in _ARRAYS if f"{place}/{name}" in arrays}
        found.append(Scenario(**row | given | {"steps": tuple(row["steps"]), "shards": tuple(row["shards"])}))
    return found


def read_answers(directory: Path) -> tuple[dict[str, dict[str, Answer]], dict[str, str]]:
    """Return what each layer came to in each scenario, and which public names stand for another one's object."""
    told = json.loads((directory / TOLD).read_text(encoding="utf-8"))
    arrays: list[dict[str, np.ndarray]] = [{} for _ in told["rows"]]
    for name, array in read_arrays(directory / ANSWERS).items():
        place, _, key = name.partition("/")
        arrays[int(place)][key] = array
    found: dict[str, dict[str, Answer]] = {}
    for row, given in zip(told["rows"], arrays, strict=True):
        answer = Answer(row["status"], row["message"], tuple(row["kinds"]), given)
        found.setdefault(row["layer"], {})[row["scenario"]] = answer
    return found, told["same"]
