"""From the run of a user's own operator to a script: its file, its smallest inputs, and what it is held to.

Its inputs are asked about again alone, in a process that looks for plainer and smaller ones, and says what is right.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runners.contract.arrays import read_arrays
from runners.contract.operators import frame
from runners.contract.operators.own import CANDIDATE, INPUTS, REFERENCE
from runners.contract.operators.request import OPTION, OperatorRequest
from runners.contract.operators.trials import GIVEN, PLAIN, USUAL
from vigil.documents.narrowing import Shrinking
from vigil.documents.operator import Inputs, OperatorFinding, OperatorVerification
from vigil.documents.step import OwnFileFacts
from vigil.errors import UsageError
from vigil.narrow.own_file import (
    NAMED,
    OwnNarrowed,
    OwnText,
    Right,
    Shown,
    first_that_shows,
    judged,
    not_shown,
    rights_of,
    threads_of,
    whole_script,
)
from vigil.operators.limits import DRAWS, operator_limits, plain_limits, reach
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.side_by_side import available_cores
from vigil.steps.processes import REPEATS, Started, carried_out

_KINDS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_NEEDED = (INPUTS, CANDIDATE, REFERENCE, "DIFFERENTIATED")
_RACE_RUNS = 5  # processes in which a race may show, each with as many calls as a verification makes
_VALUES = {
    "zeros": "np.zeros_like(leaf)",
    "equal": "np.full_like(leaf, leaf.ravel()[0] if leaf.size else 0.0)",
    "halves": "np.round(2 * leaf) / 2",
    "large": "leaf * {large}",
    "small": "leaf * 1e-4",
}
_LAID_OUT = {
    "transposed": "leaf.transpose(0, -1).contiguous().transpose(0, -1)",
    "strided": "leaf.repeat_interleave(2, -1)[..., ::2]",
    "offset": "torch.cat([leaf.new_zeros(1), leaf.flatten()])[1:].view(leaf.shape)",
}
_FLOATING = 'isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"'
_CALL = '''
def called(function, given):
    if not isinstance(given, dict):
        return function(*given)
    bound = inspect.signature(function).bind(**given)  # by place, which decorators of frameworks take
    return function(*bound.args, **bound.kwargs)


def cotangent(place, shape):  # the gradient of an output
    return {cotangent}


made = mapped(lambda leaf: {to_numpy}, inputs({call}))
{change}names = [name for name, leaf in named(made) if isinstance(leaf, np.ndarray)]
differentiated = {differentiated}
'''
_TORCH = '''
import inspect
import numpy as np
import torch

{helpers}

{call}

def carried_out(function, wide):
    places = iter([name for name, leaf in named(made)])

    def tensor(leaf):
        name = next(places)
        if not isinstance(leaf, np.ndarray):
            return leaf
        found = torch.from_numpy(leaf.copy())
        return found.to(torch.{kind}).to(wide).requires_grad_(name in differentiated) if found.is_floating_point() else found

    given = mapped(tensor, made)
    before = dict(named(mapped(lambda leaf: leaf.detach().clone() if torch.is_tensor(leaf) else leaf, given)))
    arguments = mapped(lambda leaf: laid_out(leaf.clone()) if torch.is_tensor(leaf) else leaf, given)
    result = called(function, arguments)
    outputs = [(name, leaf) for name, leaf in named(result) if torch.is_tensor(leaf)]
    found = {{f"outputs/{{name}}": leaf for name, leaf in outputs}}
    pulled = [(place, leaf) for place, (_, leaf) in enumerate(outputs) if leaf.requires_grad]
    if pulled:
        numbers = [torch.from_numpy(np.array(cotangent(place, leaf.shape), np.float32)) for place, leaf in pulled]
        numbers = [laid_out(each.to(torch.{kind}).to(leaf.dtype)) for each, (_, leaf) in zip(numbers, pulled)]
        torch.autograd.backward([leaf for _, leaf in pulled], {numbers})
    for (name, leaf), (_, argument) in zip(named(given), named(arguments)):
        if torch.is_tensor(leaf):
            found[f"gradients/{{name}}"] = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            found[f"inputs/{{name}}"], found[f"before/{{name}}"] = argument, before[name]
    return {{name: leaf.detach().double().numpy() if leaf.is_floating_point() else leaf.numpy() for name, leaf in found.items()}}


def laid_out(leaf):
    return {laid_out}


def in_float64():
    torch.set_default_dtype(torch.float64)
    found = carried_out(reference, torch.float64)
    torch.set_default_dtype(torch.float32)
    return found


program = {program}


def in_precision():
    return carried_out(program, torch.{kind})

'''
_JAX = '''
import inspect
import jax
import jax.numpy as jnp
import numpy as np

{helpers}

{call}
arrays = [
    np.asarray(leaf.astype(jnp.{kind}) if leaf.dtype.kind == "f" else jnp.asarray(leaf))
    for _, leaf in named(made) if isinstance(leaf, np.ndarray)
]
chosen = [place for place, name in enumerate(names) if name in differentiated]


def outputs_of(function, given):
    rest = iter(given)
    result = called(function, mapped(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, made))
    return [(name, leaf) for name, leaf in named(result) if hasattr(leaf, "shape")]


def work(function, given, numbers):
    def of_chosen(*some):
        whole = list(given)
        for place, each in zip(chosen, some):
            whole[place] = each
        leaves = [leaf for _, leaf in outputs_of(function, whole)]
        return [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)], leaves

    if not chosen or not numbers:
        return of_chosen(*(given[place] for place in chosen))[1], []
    _, pull, leaves = jax.vjp(of_chosen, *(given[place] for place in chosen), has_aux=True)
    return leaves, pull(numbers)


def carried_out(function, program, given, wide):
    shapes = []
    jax.eval_shape(lambda *some: shapes.extend(outputs_of(function, some)) or [leaf for _, leaf in shapes], *given)
    floating = [(place, leaf) for place, (_, leaf) in enumerate(shapes) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    numbers = [np.asarray(cotangent(place, leaf.shape), np.float32).astype(jnp.{kind}) for place, leaf in floating]
    numbers = [each.astype(wide or leaf.dtype) for each, (_, leaf) in zip(numbers, floating)]
    leaves, gradients = program(given, numbers)
    found = {{f"outputs/{{name}}": leaf for (name, _), leaf in zip(shapes, leaves)}}
    found.update({{f"gradients/{{names[place]}}": each for place, each in zip(chosen, gradients)}})
    return {{name: np.asarray(leaf, np.float64) for name, leaf in found.items()}}


def in_float64():
    wide = [each.astype(np.float64) if jnp.issubdtype(each.dtype, jnp.floating) else each for each in arrays]
    with (jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64)(True):
        return carried_out(reference, lambda *some: work(reference, *some), [jnp.asarray(each) for each in wide], np.float64)


program = {program}


def in_precision():
    return carried_out(candidate, program, [jnp.asarray(each) for each in arrays], None)

'''
_TENSORFLOW = '''
import inspect
import numpy as np
import tensorflow as tf

{helpers}

{call}

def arrays_of(wide):
    leaves = [leaf for _, leaf in named(made) if isinstance(leaf, np.ndarray)]
    return [tf.cast(tf.cast(leaf, tf.{kind}), wide) if leaf.dtype.kind == "f" else tf.constant(leaf) for leaf in leaves]


def outputs_of(function, given):
    rest = iter(given)
    result = called(function, mapped(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, made))
    return [(name, leaf) for name, leaf in named(result) if tf.is_tensor(leaf)]


def work(function, given, numbers):
    chosen = {{name: leaf for name, leaf in zip(names, given) if name in differentiated}}
    with tf.GradientTape() as tape:
        tape.watch(list(chosen.values()))
        outputs = outputs_of(function, given)
    found = {{f"outputs/{{name}}": leaf for name, leaf in outputs}}
    floating = [leaf for _, leaf in outputs if leaf.dtype.is_floating]
    if chosen and floating:
        gradients = tape.gradient(floating, chosen, output_gradients=list(numbers), unconnected_gradients="zero")
        found.update({{f"gradients/{{name}}": tf.convert_to_tensor(each) for name, each in gradients.items()}})
    return found


def carried_out(function, program, given):
    traced = tf.function(lambda *some: [leaf for _, leaf in outputs_of(function, some)], autograph=False)
    shapes = traced.get_concrete_function(*(tf.TensorSpec(each.shape, each.dtype) for each in given)).structured_outputs
    numbers = [
        tf.cast(tf.cast(np.asarray(cotangent(place, each.shape), np.float32), tf.{kind}), each.dtype)
        for place, each in enumerate(shapes) if each.dtype.is_floating
    ]
    found = program(given, numbers)
    return {{name: tf.cast(leaf, tf.float64).numpy() for name, leaf in found.items()}}


def in_float64():
    return carried_out(reference, lambda *some: work(reference, *some), arrays_of(tf.float64))


program = {program}


def in_precision():
    return carried_out(candidate, program, arrays_of(tf.{kind}))

'''
_PROGRAMS = {
    "torch": {
        "eager": "candidate",
        "compile": "torch.compile(lambda *given, **more: candidate(*given, **more), dynamic=False)",
    },
    "jax": {
        "eager": "lambda *some: work(candidate, *some)",
        "jit": "jax.jit(lambda *some: work(candidate, *some))",
        "compile": "lambda *some: jax.jit(lambda *these: work(candidate, *these)).lower(*some).compile()(*some)",
    },
    "tensorflow": {
        "eager": "lambda *some: work(candidate, *some)",
        "jit": "tf.function(lambda *some: work(candidate, *some), autograph=False)",
        "compile": "tf.function(lambda *some: work(candidate, *some), autograph=False, jit_compile=True)",
    },
}
_TEMPLATES = {"torch": _TORCH, "jax": _JAX, "tensorflow": _TENSORFLOW}
_TO_NUMPY = {
    "torch": "(leaf.float() if leaf.dtype == torch.bfloat16 else leaf).detach().cpu().numpy() if torch.is_tensor(leaf) else leaf",
    "jax": "leaf if not isinstance(leaf, (np.ndarray, jax.Array)) or jnp.issubdtype(leaf.dtype, jax.dtypes.extended) "
    "else np.asarray(jnp.asarray(leaf, jnp.float32 if leaf.dtype == jnp.bfloat16 else None))",
    "tensorflow": "(tf.cast(leaf, tf.float32) if leaf.dtype == tf.bfloat16 else leaf).numpy() if tf.is_tensor(leaf) else leaf",
}
_RAISES = '''
try:
    in_precision()
except Exception as error:
    print("WRONG candidate raises", type(error).__name__, *str(error).strip().splitlines()[:1])
    raise SystemExit(1)
print("RIGHT candidate raises nothing")
raise SystemExit(0)
'''


def finding_of(document: OperatorVerification, number: int) -> OperatorFinding:
    """Return the finding of a run that is meant: from 1 on, the worst first. Raises UsageError for one that is no failure."""
    wrong = [each for each in document.findings if each.kind in frame.WRONG]
    if not wrong and document.findings:
        raise UsageError(
            f"{document.operator_id}: a kink of the derivative is no failure: neither side is wrong there. "
            "Keep such inputs out of a test (docs/own-operators.md)."
        )
    if not wrong:
        raise UsageError(f"{document.operator_id}: found nothing that is wrong. Allowed: a run that found something.")
    if not 1 <= number <= len(wrong):
        raise UsageError(f"--finding: found {number}. Allowed: 1 to {len(wrong)}, what is wrong in {document.operator_id}.")
    return wrong[number - 1]


def narrow_operator(
    started: Started,
    directory: Path,
    document: OperatorVerification,
    finding: OperatorFinding,
    own: OwnText,
    *,
    what: str,
    tell: Callable[[str], None] = lambda text: None,
) -> OwnNarrowed:
    """Write the script of a finding into a directory.

    Raises:
        CannotRun: asked again alone it does not show, or no script shows it.
    """
    tell("asking its inputs again, alone")
    request = request_of(
        started, document.file, document.context.mode, finding.smallest, threads=finding.threads,
        repeats=REPEATS if finding.kind == frame.RACE else 2,
    )  # fmt: skip
    ended = carried_out(started, directory / "asked", request, option=OPTION)
    if ended.failure:
        raise not_shown(what, f"the process that asked it again failed: {ended.failure.message}", document.command)
    answer = ended.read(frame.ANSWERS)
    result = answer["result"]
    raised = result["message"] if finding.kind == frame.RAISES and result["kind"] == frame.RAISES else None
    if (result["kind"], result.get("tensor")) != (finding.kind, finding.tensor):
        raise not_shown(what, f"asked again alone, these inputs are {result['kind']}", document.command)
    if raised and finding.message and _without_numbers(raised) != _without_numbers(finding.message):
        raise not_shown(what, f"asked again alone, the candidate raises something else: {raised}", document.command)
    inputs = Inputs(**{name: result["trial"][name] for name in Inputs.model_fields})
    before, after = inputs.model_copy(update={"sizes": document.usual}).call(document.usual), inputs.call(document.usual)
    tell("running scripts in fresh processes")
    # What is wrong as it is written needs no compiler.
    said, found = "", None
    for mode in dict.fromkeys(("eager", document.context.mode)):
        needs = _needs(mode, finding, inputs)
        words = f"{own.name}: {_in_words(finding)}, shown by {after} in {finding.precision}."
        says = [words, *(f"It needs {each}." for each in needs)]
        kind, tensor, framework = finding.kind, str(finding.tensor), document.context.framework
        candidates = scripts_of(framework, mode, kind, tensor, finding.threads, inputs, answer, ended.directory, own, says)
        runs = _RACE_RUNS if finding.kind == frame.RACE else 1
        shown = first_that_shows(
            candidates, directory, started, runs=runs, is_same=lambda line: raised is None or is_raised(line, raised)
        )
        if isinstance(shown, Shown):
            found = shown
            break
        said = shown
    if found is None:
        raise not_shown(what, said, document.command)
    smaller = Shrinking(asked=int(answer["asked"]) + found.tried, before=before, after=after, needs=needs)
    return OwnNarrowed(found.path, smaller, found.like, found.without)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def is_raised(line: str, message: str) -> bool:
    """Does a script say that the candidate raises what a run says of it? The message ends in its type and its first line."""
    said = _without_numbers(line.removeprefix("WRONG candidate raises ")).strip()
    name, _, text = said.partition(" ")
    # A long line of a script's is cut.
    return re.search(rf"\b{re.escape(name)}: {re.escape(text[:200].rstrip())}", _without_numbers(message)) is not None


def request_of(
    started: Started, file: OwnFileFacts, mode: str, inputs: Inputs, *, threads: int, repeats: int = 2
) -> OperatorRequest:
    """Return the request that asks these inputs alone."""
    return OperatorRequest(
        framework=started.framework,
        file=file.path,
        file_sha256=file.sha256,
        mode=mode,
        threads=threads,
        cores=tuple(available_cores()),
        precisions=(inputs.precision,),
        seeds=1,
        draws=DRAWS,
        repeats=repeats,
        limits=plain_limits(operator_limits(), [inputs.precision]),
        reach=reach(),
        fault=started.fault,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        trial={"group": USUAL, **inputs.model_dump()},
    )


def _in_words(finding: OperatorFinding) -> str:
    return {
        frame.BUG: f"`candidate` gives another {finding.tensor} than `reference` in float64",
        frame.RACE: f"`candidate` gives another {finding.tensor} than `reference` in some of its calls",
        frame.WRITES: f"`candidate` changes its input {finding.tensor}",
        frame.RAISES: "`candidate` raises where `reference` does not",
    }[finding.kind]


def _needs(mode: str, finding: OperatorFinding, inputs: Inputs) -> tuple[str, ...]:
    """Return what a script keeps: without it nothing was tried, or the failure does not show."""
    found = [f"{name}={size}" for name, size in inputs.sizes.items() if size > 1]
    found += [f"{name} {value}" for name, value in (("values", inputs.values), ("layout", inputs.layout))
              if value not in (GIVEN, PLAIN)]  # fmt: skip
    if mode != "eager":
        found.append(f"mode {mode}")
    if finding.threads > 1:
        found.append(f"{finding.threads} threads")
    if finding.kind == frame.RACE:
        found.append(f"repetition: {REPEATS} calls")
    return tuple(found)


def scripts_of(
    framework: str, mode: str, kind: str, tensor: str, threads: int, inputs: Inputs, answer: Mapping[str, Any], directory: Path,
    own: OwnText, says: list[str],
) -> Iterator[str]:  # fmt: skip
    """Yield scripts of an operator that may show a failure of a tensor, the likeliest first.

    Args:
        kind: of the failure. answer, directory: what the process that asked these inputs alone wrote.
    """
    body = _body(framework, mode, inputs, own)

    def script(end: str, *, is_whole: bool = False) -> str:
        before = threads_of(framework, threads)
        return whole_script(own, says=says, needs=None if is_whole else _NEEDED, before=before, body=body + end.strip("\n"))

    if kind == frame.RAISES:
        yield script(_RAISES)
        yield script(_RAISES, is_whole=True)
        return
    if kind == frame.WRITES:
        stays = Right(f'found["inputs/{tensor}"]', f'found["before/{tensor}"]', "what it was", "found = in_precision()\n")
        for is_whole in (False, True):
            yield script(judged(stays, tensor, 0.0, "nothing"), is_whole=is_whole)
        return
    floor, limit = float(answer["floors"][tensor]), float(answer["limits"][tensor])
    reason = f"{limit:.3g} times what rounding moves it by, {floor:.3g}, as measured of right operators"
    in_float64 = f'in_float64()["{tensor}"]'
    if inputs.values != GIVEN:  # where the reference may overflow, and nothing is asked of infinities
        in_float64 = f"np.where(np.isinf(right := {in_float64}), np.nan, right)"
    rights = rights_of(
        read_arrays(directory / frame.RIGHT)[tensor], got=f'in_precision()["{tensor}"]', in_float64=in_float64,
        source="`reference` in float64, operator by operator",
    )  # fmt: skip
    # Where the file without what its functions do not name fails otherwise, it is tried whole.
    for is_whole, right in itertools.product((False, True), rights):
        end = judged(right, tensor, limit * floor, reason, calls=REPEATS if kind == frame.RACE else 1)
        yield script(end, is_whole=is_whole)


def _body(framework: str, mode: str, inputs: Inputs, own: OwnText) -> str:
    change = ""
    if inputs.values != GIVEN:
        expression = _VALUES[inputs.values].format(large=16.0 if inputs.precision == "fp16" else 1e4)
        change = f"made = mapped(lambda leaf: np.asarray({expression}, np.float32) if {_FLOATING} else leaf, made)\n"
    is_expanded = inputs.layout == "expanded"
    call = _CALL.format(
        cotangent="np.ones(tuple(shape))" if is_expanded
        else f"np.random.default_rng(({inputs.seed}, place)).standard_normal(tuple(shape))",
        to_numpy=_TO_NUMPY[framework],
        call=", ".join([str(inputs.seed), *(f"{name}={size}" for name, size in inputs.sizes.items())]),
        change=change,
        differentiated="list(DIFFERENTIATED)" if re.search(r"^DIFFERENTIATED\b", own.text, re.MULTILINE)
        else f"[name for name, leaf in named(made) if {_FLOATING}]",
    )  # fmt: skip
    laid_out = _LAID_OUT.get(inputs.layout)
    is_laid_out = "torch.is_tensor(leaf) and leaf.is_floating_point() and leaf.ndim"
    return _TEMPLATES[framework].strip("\n").format(
        helpers=NAMED, call=call.strip("\n") + "\n", kind=_KINDS[inputs.precision],
        program=_PROGRAMS[framework][mode],
        laid_out=f"{laid_out} if {is_laid_out} else leaf" if laid_out else "leaf",
        numbers="[torch.ones((), dtype=leaf.dtype).expand(leaf.shape) for _, leaf in pulled]" if is_expanded else "numbers",
    ) + "\n\n"  # fmt: skip

