"""The frame of a runner of audits: each question is asked of every public call that its operator has in the framework.

What is right is known to the conductor alone. Here a call is made several times, and what it gave first is written down with its
gradients.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from runners.contract.arrays import read_arrays, write_arrays
from runners.contract.audit.derivatives import Derived
from runners.contract.audit.mutants import MUTANTS, Tools, has_effect
from runners.contract.audit.request import FILE_NAME, OPTION, AuditRequest, read_request
from runners.contract.audit.ways import Call, all_ways, called, calls_of, found, public_names
from runners.contract.errors import ContractError
from runners.contract.files import replace_text
from runners.contract.protocol.events import EventWriter
from runners.contract.steps import process

# What a call came to. absent: this release has no such name. cannot: the framework has no such form of it, with the reason.
ANSWERED, RAISES, ABSENT, CANNOT = "answered", "raises", "absent", "cannot"
# A layout: each argument is cut over the devices along an axis, as far as it has that axis.
CUT = "cut along axis "
AGAIN = "again/"  # before the name of what had other bits when its call was made again
NAMES = "names.json"  # what is public in each namespace that is audited, and what is called
_PERTURB = -6  # M_PERTURB: what is allocated is filled with the complement of a byte (man 3 mallopt)
_FAR_OFF = 0xFE  # of four such bytes float32 makes -1.7e38
_LONGEST_MESSAGE = 300
_LONGEST_REPEATS = 2.0  # seconds after which a call is not made again: some take a minute
# What frameworks say of a type of numbers, a derivative or a mode that they do not have.
HAS_NONE = (
    "not implemented for",
    "is not implemented",
    "No OpKernel was registered",
    "is not supported",
    "not in list of allowed values",
    "No gradient defined",
    "Gradient not defined",
    "gradient registry has no entry",
    "not in the list of allowed values",
    "Could not find device for node",
    "gradients are only implemented if",
    "Only DCT type 2 is implemented",
    "Abstract tracer value encountered where concrete value is expected",
    "Attempted boolean conversion of traced array",
    "__array__() was called on traced array",
    "expects float32 or float64 dtypes",
    "view size is not compatible with input tensor's size and stride",
    "Linearization failed to produce known values for all output primals",
    "Unsupported reduction computation",
    "input must be float32 or float64",
    # What a GPU does not have, or takes from the CPU alone.
    "Expected a 'cuda' device type for generator",
    "should be a 1D CPU int64 tensor",
    "Use Tensor.cpu() to copy the tensor to host memory first",
    "with arguments from the 'CUDA' backend",
    "requires all the params to be floating point Tensors of supported devices",
)


def cut_axis(layout: str) -> int | None:
    """Return the axis that a layout cuts over the devices, if it does.

    >>> cut_axis("cut along axis 2"), cut_axis("plain")
    (2, None)
    """
    return int(layout.removeprefix(CUT)) if layout.startswith(CUT) else None


class Question(NamedTuple):
    """One set of arguments and parameters of an operator.

    arguments: NumPy arrays, float32 (float64 in fp64) where they are floating, of numbers that the precision has.
    cotangents: the gradients of what the operator gives, None where an output is not floating.
    kept: arguments that stay in float32.
    is_program: the call is a whole program, and no mode applies to it.
    calls: how often it is made, at least twice; a slow one less often.
    """

    id: str
    operator: str
    parameters: dict[str, Any]
    arguments: dict[str, np.ndarray]
    differentiated: tuple[str, ...]
    kept: tuple[str, ...]
    cotangents: tuple[np.ndarray | None, ...]
    precision: str
    layout: str
    is_program: bool = False
    # Two of the differentiated arguments; none: derivatives by other ways than reverse mode are not asked for.
    directions: tuple[dict[str, np.ndarray], ...] = ()
    calls: int = 2


class Answer(NamedTuple):
    """What a call gave, as NumPy arrays: float32 (float64 in fp64) where it is floating.

    changed: arguments that it wrote to. later: reads the outputs again, from where the framework holds them.
    """

    outputs: list[np.ndarray]
    gradients: dict[str, np.ndarray]
    later: Callable[[], list[np.ndarray]]
    changed: tuple[str, ...] = ()

    def named(self) -> dict[str, np.ndarray]:
        """Return all arrays: `outputs/<place>`, `gradients/<argument>`."""
        outputs = {f"outputs/{place}": each for place, each in enumerate(self.outputs)}
        return outputs | {f"gradients/{name}": each for name, each in self.gradients.items()}


class Adapter(Protocol):
    """How a framework carries out a call in the process's mode."""

    tools: Tools

    def prepared(self, call: Call, question: Question) -> Callable[[], Answer]:
        """Return what makes the call for a question, with the gradients that it asks for: compiled once, for every time."""

    def derived(self, call: Call, question: Question) -> Derived:
        """Return the derivatives that a question asks for, by each way that the call has."""

    def elsewhere(self, call: Call, question: Question) -> list[np.ndarray] | None:
        """Return the outputs where the device is the default one by name, which changes no number; None: there is no such way."""

    def forget(self) -> None:
        """Drop what was compiled for an operator: thousands of programs would fill the memory."""


class Framework(NamedTuple):
    """What a framework brings. `set_up` comes before its first operation."""

    name: str
    set_up: Callable[[AuditRequest], None]
    describe: Callable[[], dict[str, Any]]
    adapter: Callable[[AuditRequest], Adapter]


def main(name: str, load: Callable[[], Framework], arguments: list[str]) -> int:
    """Answer the questions that a request names; return the exit code. A failure of any kind becomes a `failed` event."""
    return process.main(name, load, arguments, file=FILE_NAME, read=read_request, option=OPTION, answer=_answer)


def _answer(framework: Framework, request: AuditRequest, directory: Path, events: EventWriter) -> None:
    if request.tells_names:
        told_names = {"public": public_names(framework.name), "called": all_ways(framework.name)}
        replace_text(directory / NAMES, json.dumps(told_names))
    adapter = framework.adapter(request)
    events.enter("verify")
    total = sum(len(_rows_of(directory, family)) for family in request.families)
    done = 0
    for family in request.families:
        questions = [each for each in read_questions(directory, family) if each.operator not in request.skipped]
        calls = calls_of(framework.name, family, request.ways)
        told: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray] = {}
        for operator, asked in itertools.groupby(questions, key=lambda question: question.operator):
            of_operator = list(asked)
            part = directory / f"part-{family}-{operator}"
            if not part.with_suffix(".json").exists():
                _write_answers(part, *_of_operator(framework, adapter, of_operator, calls.get(operator, {}), request, events))
                adapter.forget()
            rows: list[dict[str, Any]] = json.loads(part.with_suffix(".json").read_text(encoding="utf-8"))
            for name, array in read_arrays(part.with_suffix(".npz")).items():
                place, _, rest = name.partition("/")
                arrays[f"{len(told) + int(place)}/{rest}"] = array
            told += rows
            done += len(of_operator)
            events.emit("probed", index=done - 1, total=total, name=f"{family}/{operator}", seconds=0.0)
        _write_answers(directory / f"answers-{family}", told, arrays)
        for part in directory.glob(f"part-{family}-*"):
            part.unlink()


def _of_operator(
    framework: Framework,
    adapter: Adapter,
    questions: Sequence[Question],
    calls: Mapping[str, Call | None],
    request: AuditRequest,
    events: EventWriter,
) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Return what each call of an operator came to, and the arrays, by the number of the row that they belong to."""
    told: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for question in questions:
        for way, call in calls.items():
            if request.mutants:
                asked = list(_mutated(adapter, question, way, call, request.mutants))
            else:
                asked = [_asked(framework, adapter, question, way, call)]
            for row, answers in asked:
                told.append(row)
                arrays |= {f"{len(told) - 1}/{name}": each for name, each in answers.items()}
        events.advance()
    return told, arrays


def _write_answers(path: Path, told: Sequence[dict[str, Any]], arrays: Mapping[str, np.ndarray]) -> None:
    """Write answers; those of each operator, so that a process that dies of a later one costs no more than that."""
    write_arrays(path.with_suffix(".npz"), dict(arrays))
    replace_text(path.with_suffix(".json"), json.dumps(told))


def _mutated(
    adapter: Adapter, question: Question, way: str, call: Call | None, mutants: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Yield what a call gives with each defect planted in it that changes a bit of what it gave without."""
    if found(way) is None:
        return
    try:
        call = called(way, call)
        _, clean, question, no_gradient = _answered(adapter, call, question)
    except Exception:  # what cannot be carried out has no defect to show, and an audit tells why
        return
    row: dict[str, Any] = {"question": question.id, "way": way, "no_gradient": no_gradient}
    for mutant in mutants:
        try:
            mutated = adapter.prepared(MUTANTS[mutant](call, adapter.tools), question)().named()
        except Exception:  # a defect that ends the call is one that nobody misses
            continue
        if has_effect(clean.named(), mutated):
            yield row | {"mutant": mutant}, mutated


def _asked(
    framework: Framework, adapter: Adapter, question: Question, way: str, call: Call | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    row: dict[str, Any] = {"question": question.id, "way": way, "status": ANSWERED, "message": ""}
    if found(way) is None:
        return row | {"status": ABSENT, "message": f"{framework.name} has no {way}"}, {}
    try:
        call = called(way, call)
        made, answer, question, row["no_gradient"] = _answered(adapter, call, question)
        held = {name: array.tobytes() for name, array in answer.named().items()}
        repeats = _repeated(made, held, question.calls)
        later = [each.tobytes() for each in answer.later()]
    except ContractError as error:
        status = CANNOT if error.category == "unsupported" else RAISES
        return row | {"status": status, "message": str(error)[:_LONGEST_MESSAGE]}, {}
    except Exception as error:  # whatever a call raises is an answer of its own, and others go on
        return row | {"status": CANNOT if _is_said(error) else RAISES, "message": _said(error)}, {}
    arrays = answer.named()
    moved = [f"outputs/{place}" for place, each in enumerate(later) if each != held[f"outputs/{place}"]]
    row |= {"changed": sorted({*answer.changed, *repeats.changed}), "moved": moved}
    row |= {"calls": repeats.calls, "other_bits": repeats.others}
    arrays |= {f"{AGAIN}{name}": array for name, array in repeats.arrays.items()}
    try:
        elsewhere = adapter.elsewhere(call, question) or []
    except Exception as error:  # it hides nothing of what the call gave without
        elsewhere, row["elsewhere_raises"] = [], _said(error)
    # What varies anyway says nothing of the device. How far other bits are, which another kernel gives, is judged.
    apart = {f"outputs/{place}": each for place, each in enumerate(elsewhere)}
    varies = (*repeats.others, *moved)
    apart = {name: each for name, each in apart.items() if name not in varies and each.tobytes() != held[name]}
    row["elsewhere"] = list(apart)
    arrays |= {f"elsewhere/{name}": each for name, each in apart.items()}
    if question.directions:
        derived = adapter.derived(call, question)
        arrays |= derived.arrays
        row |= {"derived": derived.answered, "refused": derived.refused, "raised": derived.raised}
    return row, arrays


class _Repeats(NamedTuple):
    """What a call gave when it was made again.

    calls: that were made, the first among them. others: by what has other bits, in which call first, and in how many. arrays: as
    they were in that call. changed: arguments that one of the calls wrote to.
    """

    calls: int
    others: dict[str, list[int]]
    arrays: dict[str, np.ndarray]
    changed: set[str]


def _repeated(made: Callable[[], Answer], held: Mapping[str, bytes], calls: int) -> _Repeats:
    """Make a call again until it was made so often, and hold each to the bits of the first. A slow one is made fewer times."""
    others: dict[str, list[int]] = {}
    arrays: dict[str, np.ndarray] = {}
    changed: set[str] = set()
    began, number = time.monotonic(), 1
    while number < calls and (number == 1 or time.monotonic() - began < _LONGEST_REPEATS):
        number += 1
        answer = made()
        changed.update(answer.changed)
        again = answer.named()
        for name, bits in held.items():
            if again[name].tobytes() != bits:
                arrays.setdefault(name, again[name])
                others.setdefault(name, [number, 0])[1] += 1
    return _Repeats(number, others, arrays, changed)


def _answered(adapter: Adapter, call: Call, question: Question) -> tuple[Callable[[], Answer], Answer, Question, str]:
    """Return what makes a call, what it gave, what it was asked, and what the framework says of a gradient that it has not.

    Without a gradient the call is asked once more for its outputs alone: they are held as any are.

    Raises:
        Exception: Whatever the call raised, with its gradients where it raises without them too.
    """
    try:
        made = _in_soiled_memory(adapter.prepared(call, question), question)
        return made, made(), question, ""
    except Exception as error:  # whatever a call raises, `_asked` tells it
        if isinstance(error, ContractError) or not question.differentiated or not _is_said(error):
            raise
        plain = question._replace(differentiated=(), cotangents=(None,) * len(question.cotangents), directions=())
        with contextlib.suppress(Exception):
            made = _in_soiled_memory(adapter.prepared(call, plain), question)
            return made, made(), plain, _said(error)
        raise


def _in_soiled_memory(made: Callable[[], Answer], question: Question) -> Callable[[], Answer]:
    """Return a call that is made, where an argument is empty, while the C library fills what it allocates with numbers far off.

    What a call should write and does not, as the gradient of weights that met no image, shows with every call so.
    """
    if all(np.size(each) for each in question.arguments.values()):
        return made
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
    if set_option is None:
        return made

    def call() -> Answer:
        set_option(_PERTURB, ~_FAR_OFF & 0xFF)
        try:
            return made()
        finally:
            set_option(_PERTURB, 0)

    return call


def _is_said(error: Exception) -> bool:
    """Does a framework say that there is no such form? Keras says first what it was calling."""
    return any(phrase in str(error) for phrase in HAS_NONE)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:_LONGEST_MESSAGE]


def write_questions(directory: Path, family: str, questions: list[Question]) -> None:
    """Write the questions of a family where the runner looks for them."""
    arrays: dict[str, np.ndarray] = {}
    rows = []
    for place, each in enumerate(questions):
        arrays |= {f"{place}/arguments/{name}": array for name, array in each.arguments.items()}
        arrays |= {f"{place}/cotangents/{at}": array for at, array in enumerate(each.cotangents) if array is not None}
        for at, direction in enumerate(each.directions):
            arrays |= {f"{place}/directions/{at}/{name}": array for name, array in direction.items()}
        plain = {
            "arguments": list(each.arguments),
            "cotangents": [array is not None for array in each.cotangents],
            "directions": [list(direction) for direction in each.directions],
        }
        rows.append(each._asdict() | plain)
    write_arrays(directory / f"questions-{family}.npz", arrays)
    replace_text(directory / f"questions-{family}.json", json.dumps(rows))


def read_questions(directory: Path, family: str) -> list[Question]:
    """Return the questions of a family."""
    arrays = read_arrays(directory / f"questions-{family}.npz")
    questions = []
    for place, row in enumerate(_rows_of(directory, family)):
        cotangents = [arrays[f"{place}/cotangents/{at}"] if there else None for at, there in enumerate(row["cotangents"])]
        arguments = {name: arrays[f"{place}/arguments/{name}"] for name in row["arguments"]}
        directions = tuple(
            {name: arrays[f"{place}/directions/{at}/{name}"] for name in names} for at, names in enumerate(row["directions"])
        )
        tuples = {name: tuple(row[name]) for name in ("differentiated", "kept")}
        read = {"arguments": arguments, "cotangents": tuple(cotangents), "directions": directions}
        questions.append(Question(**row | tuples | read))
    return questions


def _rows_of(directory: Path, family: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((directory / f"questions-{family}.json").read_text(encoding="utf-8"))
    return rows
