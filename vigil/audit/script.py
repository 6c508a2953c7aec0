"""A script that shows one finding without Vigil: the call as it was made, its arguments, and what is right."""

from __future__ import annotations

import ast
import base64
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from runners.contract.audit.derivatives import (
    FORWARD,
    FORWARD_OVER_FORWARD,
    FORWARD_OVER_REVERSE,
    REVERSE_OVER_FORWARD,
    REVERSE_OVER_REVERSE,
    way_of,
)
from runners.contract.audit.frame import Question, cut_axis
from runners.contract.audit.ways import named_by
from vigil.audit.entry import COLLECTIVES
from vigil.audit.exact import Exact
from vigil.audit.judge import Measured
from vigil.audit.source import BY_TWO_PROCESSES, CannotWrite, call_alone, module_of
from vigil.paths import project_root

_SHORT = 40  # elements that are written out; more are packed
_LONGEST = 1 << 19  # bytes, packed: 65,537 numbers in float32 take 300 KB
MIRRORED = "(mirrored)"  # a way of such a name needs two devices, as collectives do; runners make them before anything else
# Both processes carry out the whole script, each with its own row; the second one prints nothing.
_TWO_PROCESSES = f"""\
import itertools, os, sys, tempfile
import torch.distributed as dist
folder, numbers = tempfile.mkdtemp(), itertools.count()
rank = 0 if os.fork() else 1
sys.stdout = open(os.devnull, "w") if rank else sys.stdout
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
dist.init_process_group("gloo", init_method=f"file://{{folder}}/rendezvous", rank=rank, world_size=2)
def both(own):
    number = next(numbers)
    torch.save(own.detach(), f"{{folder}}/{{number}}-{{rank}}")
    dist.barrier()
    return tuple(torch.load(f"{{folder}}/{{number}}-{{each}}") for each in range(2))
def {BY_TWO_PROCESSES}(work):
    def call(*rows, **parameters):
        class Together(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *rows):
                ctx.row = rows[rank].detach().clone().requires_grad_(rows[rank].requires_grad)
                with torch.enable_grad():
                    ctx.found = work(ctx.row, **parameters)
                return both(ctx.found)
            @staticmethod
            def backward(ctx, *cotangents):
                return both(torch.autograd.grad(ctx.found, ctx.row, cotangents[rank].contiguous())[0])
        return Together.apply(*rows)
    return call"""

_BY_POSITION = (
    "call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], "
    "**{k: v for k, v in given.items() if not hasattr(v, 'shape')})"
)
_TO = {
    "torch": "torch.from_numpy({array}).to(torch.{kind})",
    "tensorflow": "tf.cast(tf.constant({array}), tf.{kind})",
    "jax": "jnp.asarray({array}, jnp.{kind})",
}
# As an audit lays tensors of PyTorch out.
_CHANNELS_LAST = {4: "torch.channels_last", 5: "torch.channels_last_3d"}
_LAID_OUT = {
    "plain": "{tensor}",
    "transposed": "{tensor}.transpose(0, -1).contiguous().transpose(0, -1)",
    "strided": "{tensor}.repeat_interleave(2, -1)[..., ::2]",
    "channels_last": "{tensor}.contiguous(memory_format={last})",
    "offset": "torch.cat([torch.zeros(1), {tensor}.flatten()])[1:].view({shape})",
}
_KINDS = {"fp32": "float32", "fp64": "float64", "bf16": "bfloat16", "fp16": "float16"}
_IMPORTS = {
    "torch": ["import torch"],
    "tensorflow": ["import tensorflow as tf"],
    "jax": ["import jax", "import jax.numpy as jnp"],
}


_THREADS = {
    "torch": "torch.set_num_threads({})",
    "tensorflow": "tf.config.threading.set_intra_op_parallelism_threads({})",
}


class Drawn(NamedTuple):
    """Expressions that make what is asked, in the order in which they draw from one generator, `random`, of a seed.

    direction: of a gradient, +1 and -1; it draws from a generator of its own.
    """

    seed: int
    arguments: Mapping[str, str]
    cotangents: Sequence[str | None]
    direction: str


def script_of(
    *, framework: str, framework_version: str | None, family: str, way: str, mode: str, question: Question, exact: Exact,
    quantity: str, measured: Measured, drawn: Drawn | None = None, devices: int = 1, threads: int = 1,
    has_other_bits: bool = False,
) -> str | None:  # fmt: skip
    """Return the script of a finding; None where its arguments are too large to be written down.

    It prints RIGHT or WRONG, and ends in exit code 0 or 1.

    Args:
        drawn: arguments are drawn in the script; None: their numbers are written into it.
        devices: how many there are; a layout may cut the arguments over them.
        threads: how many the framework has; of one, it may have as many as it takes by itself.
        has_other_bits: the call is made as often as it was, and held to the bits of the first time; else to what is right.
    """
    source = call_of(framework, family, question.operator, way)
    if source is None:
        return None
    imports, definition = source
    arguments: dict[str, str | None]
    if drawn:
        arguments, cotangents = dict(drawn.arguments), list(drawn.cotangents)
    else:
        arguments = {name: _literal(array) for name, array in question.arguments.items()}
        cotangents = [None if each is None else _literal(each) for each in question.cotangents]
    if any(text is None for text in (*arguments.values(), *(each for each in cotangents if each))):
        return None
    is_gradient = quantity.startswith("gradients/")
    what = "has other bits at times" if has_other_bits else f"is {measured.ratio:.3g} times rounding off"
    lines = [f'"""{named_by(way)}, {framework} {framework_version}, {mode}: {quantity} {what}."""']
    axis = cut_axis(question.layout)
    is_keras = any("keras" in line for line in (*definition, *imports))
    devices = max(devices, 2) if family == COLLECTIVES and framework == "jax" else devices
    has_pool = threads > 1 and framework == "jax"  # whose size XLA reads as it begins
    lines += ["import os"] if is_keras or devices > 1 or has_pool else []
    lines += [f'os.environ["KERAS_BACKEND"] = "{framework}"'] if is_keras else []
    lines += [f'os.environ["NPROC"] = "{threads}"'] if has_pool else []
    if devices > 1:
        lines += [
            f'os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count={devices}"'
        ]
    if axis is not None:
        imports = [*imports, "from jax.sharding import Mesh, NamedSharding, PartitionSpec"]
    lines += sorted({"import numpy as np", *_IMPORTS[framework], *imports})
    if threads > 1 and framework in _THREADS:
        lines.append(_THREADS[framework].format(threads))
    if any(f"{BY_TWO_PROCESSES}(" in line for line in definition):
        lines += _TWO_PROCESSES.splitlines()
    if MIRRORED in way or (family == COLLECTIVES and framework == "tensorflow"):
        lines += [
            '[cpu] = tf.config.list_physical_devices("CPU")',
            "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)",
        ]
    if any("unpack" in (text or "") for text in (*arguments.values(), *cotangents)):
        lines += [
            "import base64, zlib",
            "unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()",
        ]
    if framework == "jax" and question.precision == "fp64":
        lines.append('jax.config.update("jax_enable_x64", True)')
    lines += definition
    if axis is not None:
        lines += _cut(axis)
    if drawn:
        lines.append(f"random = np.random.default_rng({drawn.seed})")
    for name, text in arguments.items():
        lines.append(f"{name} = {_tensor(framework, question, name, text or '')}")
    given = ", ".join(
        [f"{name}={name}" for name in arguments] + [f"{key}={value!r}" for key, value in question.parameters.items()]
    )
    if way_of(quantity):
        lines += [
            *_derivative(framework, mode, question, given, quantity, cotangents),
            *_derivative_check(question, exact, quantity, measured),
        ]
        return "\n".join(lines) + "\n"
    if is_gradient:
        prepared, run = _gradient(framework, mode, question, given, quantity, cotangents)
    elif mode == "eager" or question.is_program:
        prepared, run = _forward(framework, "eager", given, quantity, ())
    else:  # of all arguments, as the audit has it: what is constant a compiler may work out itself
        prepared, run = _forward(framework, mode, given, quantity, tuple(arguments))
    if has_other_bits:
        lines += [*prepared, *_again(run, question.calls)]
    else:
        lines += [*prepared, *run, *_check(question, exact, quantity, measured, drawn)]
    return "\n".join(lines) + "\n"


def on_gpu(script: str, framework: str) -> str:
    """Return a script that makes its call on a GPU, in float32 that is not rounded to TF32."""
    if framework == "jax":  # which computes on a GPU wherever there is one
        return _after(script, "import jax.numpy as jnp\n", ['jax.config.update("jax_default_matmul_precision", "highest")'])
    moved = script.replace("torch.from_numpy(", "torch.as_tensor(").replace(".double().numpy()", ".double().cpu().numpy()")
    return _after(moved, "import torch\n", ['torch.set_default_device("cuda")', "torch.backends.cudnn.allow_tf32 = False"])


def _after(script: str, line: str, more: Sequence[str]) -> str:
    before, found, after = script.partition(line)
    return before + found + "".join(f"{each}\n" for each in more) + after


def _tensor(framework: str, question: Question, name: str, text: str) -> str:
    array = question.arguments[name]
    kind = _KINDS["fp32" if name in question.kept else question.precision]
    if array.dtype.kind in "iu":
        kind = "int64" if framework == "torch" else "int32"
    elif array.dtype.kind == "b":
        kind = "bool" if framework != "jax" else "bool_"
    tensor = _TO[framework].format(array=text, kind=kind)
    is_laid_out = cut_axis(question.layout) is None and (question.layout != "channels_last" or array.ndim in _CHANNELS_LAST)
    if array.dtype.kind != "f" or array.ndim == 0 or not is_laid_out:
        return tensor
    return _LAID_OUT[question.layout].format(tensor=tensor, shape=array.shape, last=_CHANNELS_LAST.get(array.ndim))


def _cut(axis: int) -> list[str]:
    """Return lines after which `call` has its arguments cut over the devices."""
    spec = ", ".join([*["None"] * axis, "'devices'"])
    return [
        f"sharding = NamedSharding(Mesh(np.array(jax.devices()), ('devices',)), PartitionSpec({spec}))",
        f"cut = lambda v: jax.lax.with_sharding_constraint(v, sharding) if v.ndim > {axis} and v.shape[{axis}] > 1 else v",
        "whole = call",
        "call = lambda **given: whole(**{k: cut(v) if hasattr(v, 'ndim') else v for k, v in given.items()})",
    ]


class _Work(NamedTuple):
    """Lines that prepare a call, and lines that make it and leave one array as `found`, as often as they are run."""

    prepared: list[str]
    run: list[str]


def _again(run: Sequence[str], calls: int) -> list[str]:
    """Return what makes a call so often, and holds each to the bits of the first."""
    return [
        "def once():",
        *(f"    {line}" for line in run),
        "    return found",
        f"first, *others = [once() for _ in range({calls})]",
        "others = [each for each in others if each.tobytes() != first.tobytes()]",
        *_verdict("not others", "f'{len(others)} later calls with other bits'", "'none'"),
    ]


def _forward(framework: str, mode: str, given: str, quantity: str, names: Sequence[str]) -> _Work:
    """Return what makes a call and takes one output. names: of the program's arguments, none where it is called as it is."""
    place = int(quantity.partition("/")[2])
    wrapped = {"jit": {"jax": "jax.jit", "tensorflow": "tf.function"}, "compile": {"jax": "jax.jit", "torch": "torch.compile"}}
    function = wrapped.get(mode, {}).get(framework, "")
    if mode == "compile" and framework == "tensorflow":
        function = "tf.function(jit_compile=True)"
    taken = ", ".join(names)
    work = f"work = {function}(lambda {taken}: call({given}))" if function else f"work = lambda {taken}: call({given})"
    read = {"torch": ".detach().double().numpy()", "tensorflow": "", "jax": ""}[framework]
    run = [
        f"found = work({taken})",
        f"found = found[{place}] if isinstance(found, (tuple, list)) else found",
        f"found = np.asarray(found{read}).astype(np.float64)",
    ]
    return _Work([work.replace("lambda :", "lambda:")], run)


def _gradient(framework: str, mode: str, question: Question, given: str, quantity: str, cotangents: list[str | None]) -> _Work:
    name, kind = quantity.partition("/")[2], _KINDS[question.precision]
    pairs = "[" + ", ".join("None" if each is None else each for each in cotangents) + "]"
    head = [f"cotangents = {pairs}", f"work = lambda {name}: call({given})"]
    if framework == "torch":
        compiled = ["work = torch.compile(work)"] if mode == "compile" else []
        run = [
            f"{name}.grad = None", f"found = work({name})",
            "found = found if isinstance(found, (tuple, list)) else [found]",
            f"pairs = [(y, torch.from_numpy(c).to(torch.{kind})) for y, c in zip(found, cotangents) "
            "if c is not None and y.requires_grad]",
            "torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs]) if pairs else None",
            f"found = (torch.zeros_like({name}) if {name}.grad is None else {name}.grad).double().numpy()",
        ]  # fmt: skip
        return _Work([*head, *compiled, f"{name}.requires_grad_()"], run)
    if framework == "tensorflow":
        options = {"jit": ["@tf.function"], "compile": ["@tf.function(jit_compile=True)"]}
        defined = [
            *head, *options.get(mode, []), f"def gradient({name}):", "    with tf.GradientTape() as tape:",
            f"        tape.watch({name})", f"        found = work({name})",
            "        found = found if isinstance(found, (tuple, list)) else [found]",
            "    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]",
            f"    return tape.gradient([y for y, _ in pairs], {name}, output_gradients=[c for _, c in pairs], "
            "unconnected_gradients='zero')",
        ]  # fmt: skip
        return _Work(defined, [f"found = np.asarray(tf.convert_to_tensor(gradient({name}))).astype(np.float64)"])
    taken = ", ".join([*question.arguments, "cotangents"])
    defined = [
        head[0], f"def gradient({taken}):",
        f"    work = lambda {name}: call({given})",
        f"    found, pull = jax.vjp(lambda {name}: [*jax.tree_util.tree_leaves(work({name}))], {name})",
        "    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]",
        *(["gradient = jax.jit(gradient)"] if mode != "eager" else []),
    ]  # fmt: skip
    return _Work(defined, [f"found = np.asarray(gradient({taken})).astype(np.float64)"])


# What each way comes to: of `outputs`, a function of the tensors that derivatives are of (`leaves`), along `first` and `second`.
_DERIVATIVES = {
    "torch": {
        FORWARD: [
            "with forward_ad.dual_level():",
            "    found = outputs(*[forward_ad.make_dual(leaf, d) for leaf, d in zip(leaves, first)])",
            "    found = [(y, forward_ad.unpack_dual(y).tangent) for y in found]",
            "    found = [torch.zeros_like(y) + (0 if t is None else t) for y, t in found]",
        ],
        FORWARD_OVER_FORWARD: [
            "found = torch.func.jvp(lambda *some: torch.func.jvp(outputs, some, first)[1], leaves, second)[1]",
        ],
        FORWARD_OVER_REVERSE: [
            "with forward_ad.dual_level():",
            "    duals = [forward_ad.make_dual(leaf.requires_grad_(), d) for leaf, d in zip(leaves, first)]",
            "    pulled = torch.autograd.grad(outputs(*duals), duals, cotangents, create_graph=True, allow_unused=True)",
            "    found = [None if g is None else forward_ad.unpack_dual(g).tangent for g in pulled]",
        ],
        REVERSE_OVER_FORWARD: [
            "pushed = lambda *some: torch.func.jvp(outputs, some, first)[1]",
            "whole = lambda *some: sum((y * c).sum() for y, c in zip(pushed(*some), cotangents))",
            "found = torch.func.grad(whole, tuple(range(len(leaves))))(*leaves)",
        ],
        REVERSE_OVER_REVERSE: [
            "leaves, cotangents = ([each.requires_grad_() for each in some] for some in (leaves, cotangents))",
            "pulled = torch.autograd.grad(outputs(*leaves), leaves, cotangents, create_graph=True, allow_unused=True)",
            "whole = sum((g * d).sum() for g, d in zip(pulled, first) if g is not None)",
            "found = torch.autograd.grad(whole, [*leaves, *cotangents], allow_unused=True)",
            "by_leaves, by_cotangents = found[: len(leaves)], found[len(leaves) :]",
        ],
    },
    "jax": {
        FORWARD: ["work = lambda leaves: jax.jvp(outputs, leaves, first)[1]"],
        FORWARD_OVER_FORWARD: [
            "pushed = lambda *some: jax.jvp(outputs, some, first)[1]",
            "work = lambda leaves: jax.jvp(pushed, leaves, second)[1]",
        ],
        FORWARD_OVER_REVERSE: [
            "pulled = lambda *some: jax.vjp(outputs, *some)[1](cotangents)",
            "work = lambda leaves: jax.jvp(pulled, leaves, first)[1]",
        ],
        REVERSE_OVER_FORWARD: [
            "pushed = lambda some: jax.jvp(outputs, some, first)[1]",
            "work = jax.grad(lambda some: sum((y * c).sum() for y, c in zip(pushed(some), cotangents)))",
        ],
        REVERSE_OVER_REVERSE: [
            "pulled = lambda some, given: jax.vjp(outputs, *some)[1](given)",
            "whole = lambda some, given: sum((g * d).sum() for g, d in zip(pulled(some, given), first))",
            "work = lambda leaves: jax.grad(whole, (0, 1))(leaves, cotangents)",
        ],
    },
    "tensorflow": {
        FORWARD: [
            "with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:",
            "    found = outputs(*leaves)",
            "found = [pushed.jvp(y, unconnected_gradients='zero') for y in found]",
        ],
        FORWARD_OVER_REVERSE: [
            "with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:",
            "    with tf.GradientTape() as tape:",
            "        tape.watch(leaves)",
            "        found = outputs(*leaves)",
            "    found = tape.gradient(found, leaves, output_gradients=cotangents, unconnected_gradients='zero')",
            "found = [pushed.jvp(g, unconnected_gradients='zero') for g in found]",
        ],
        REVERSE_OVER_FORWARD: [
            "with tf.GradientTape() as tape:",
            "    tape.watch(leaves)",
            "    with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:",
            "        found = outputs(*leaves)",
            "    found = [pushed.jvp(y, unconnected_gradients='zero') for y in found]",
            "    whole = tf.add_n([tf.reduce_sum(y * c) for y, c in zip(found, cotangents)])",
            "found = tape.gradient(whole, leaves, unconnected_gradients='zero')",
        ],
        REVERSE_OVER_REVERSE: [
            "with tf.GradientTape() as outer:",
            "    outer.watch([leaves, cotangents])",
            "    with tf.GradientTape() as tape:",
            "        tape.watch(leaves)",
            "        found = outputs(*leaves)",
            "    pulled = tape.gradient(found, leaves, output_gradients=cotangents, unconnected_gradients='zero')",
            "    whole = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(pulled, first)])",
            "by_leaves, by_cotangents = outer.gradient(whole, (leaves, cotangents), unconnected_gradients='zero')",
        ],
    },
}  # fmt: skip


def _derivative(
    framework: str, mode: str, question: Question, given: str, quantity: str, cotangents: list[str | None]
) -> list[str]:
    """Return what finds a derivative by another way than reverse mode: one number of it, as `found`."""
    way = str(way_of(quantity))
    group, _, rest = quantity.partition("/")
    place = rest.rpartition("/")[2]
    names = question.differentiated
    own = _KINDS[question.precision]

    def tensors(arrays: Iterable[tuple[str | None, str]]) -> str:
        return f"({', '.join(_TO[framework].format(array=text, kind=kind) for text, kind in arrays)},)"

    kinds = {name: _KINDS["fp32"] if name in question.kept else own for name in names}
    first, second = (
        tensors((_literal(each[name].astype(np.int8)), kinds[name]) for name in names) for each in question.directions
    )
    held = [at for at, each in enumerate(cotangents) if each is not None]
    lines = ["from torch.autograd import forward_ad"] if framework == "torch" and way in (FORWARD, FORWARD_OVER_REVERSE) else []
    lines += [
        f"def outputs({', '.join(names)}):",
        f"    found = call({given})",
        "    found = found if isinstance(found, (tuple, list)) else [found]",
        f"    return tuple(found[place] for place in {held!r})",
        f"leaves = ({', '.join(names)},)",
        f"first = {first}",
        f"second = {second}",
        f"cotangents = {tensors((each, own) for each in cotangents if each is not None)}",
        *_DERIVATIVES[framework][way],
    ]
    if framework == "jax":
        lines.append(f"found = {'work' if mode == 'eager' else 'jax.jit(work)'}(leaves)")
        if way == REVERSE_OVER_REVERSE:
            lines.append("by_leaves, by_cotangents = found")
    if group == "cotangent":
        lines.append("found = by_cotangents")
    elif way == REVERSE_OVER_REVERSE:
        lines.append("found = by_leaves")
    if place.isdigit():
        lines.append(f"found = found[{held.index(int(place))}]")
    else:
        sums = {"torch": "(t * e).sum()", "jax": "(t * e).sum()", "tensorflow": "tf.reduce_sum(t * e)"}[framework]
        lines.append(f"found = sum({sums} for t, e in zip(found, second) if t is not None)")
    read = {"torch": "torch.as_tensor(found).detach().double().numpy()"}.get(framework, "found")
    return [*lines, f"found = np.asarray({read}).astype(np.float64)"]


def _derivative_check(question: Question, exact: Exact, quantity: str, measured: Measured) -> list[str]:
    if measured.problem.startswith("gave "):
        shape = _shape_of(question, exact, quantity)
        return _verdict(f"found.shape == {shape!r}", "found.shape", repr(shape))
    off = abs(measured.got - measured.expected)
    allowed = off / 2 if math.isfinite(off) else 1e-6 * (1.0 + abs(measured.expected))
    return [
        f"got, expected = float(found[{measured.place!r}]), {measured.expected!r}  # by differences of the definition in float64",
        *_verdict(f"abs(got - expected) < {allowed:.3g}", "got", "expected"),
    ]


def _check(question: Question, exact: Exact, quantity: str, measured: Measured, drawn: Drawn | None) -> list[str]:
    name = quantity.partition("/")[2]
    if measured.problem and not measured.place:
        shape = _shape_of(question, exact, quantity)
        return _verdict(f"found.shape == {shape!r}", "found.shape", repr(shape))
    if measured.problem and math.isnan(measured.expected) and name in exact.directions:
        return _verdict("np.isfinite(found).all()", f"found[{measured.place!r}]", "'a number'")
    if quantity.startswith("gradients/") and name in exact.directions:
        direction = max(
            exact.directions[name], key=lambda each: each.derivative == measured.expected
        )  # the one that was farthest off
        allowed = abs(measured.got - measured.expected) / 2
        right = f"{measured.expected!r}  # by central differences of the definition in float64"
        if np.count_nonzero(direction.vector) == 1:
            place = tuple(int(each[0]) for each in np.nonzero(direction.vector))
            got = [f"got, expected = {'-' if direction.vector[place] < 0 else ''}float(found[{place!r}]), {right}"]
        else:
            vector = drawn.direction if drawn else _literal(direction.vector.astype(np.int8))
            got = [f"direction = {vector}", f"got, expected = float((found * direction).sum()), {right}"]
        return [
            *got,
            *_verdict(f"abs(got - expected) < {allowed:.3g}", "got", "expected"),
        ]
    allowed = abs(measured.got - measured.expected) / 2
    test = (
        f"abs(got - expected) < {allowed:.3g}"
        if np.isfinite(allowed)
        else "got == expected or (got != got and expected != expected)"
    )
    return [
        f"got, expected = float(found[{measured.place!r}]), float({str(measured.expected)!r})  # by the definition in float64",
        *_verdict(test, "got", "expected"),
    ]


def _verdict(test: str, got: str, expected: str) -> list[str]:
    return [
        f"is_right = bool({test})",
        f'print("RIGHT" if is_right else "WRONG", "got", {got}, "expected", {expected})',
        "raise SystemExit(not is_right)",
    ]


def _shape_of(question: Question, exact: Exact, quantity: str) -> tuple[int, ...]:
    family, _, name = quantity.partition("/")
    if family == "outputs":
        return exact.outputs[int(name)].values.shape
    if way_of(quantity):
        place = name.rpartition("/")[2]
        return exact.outputs[int(place)].values.shape if place.isdigit() else ()
    return question.arguments[name].shape


def _literal(array: np.ndarray) -> str | None:
    """Return an expression that makes an array; None for one that is too large."""
    kind = {"f": str(array.dtype), "b": "bool", "i": "int64" if array.dtype != np.int8 else "int8"}[array.dtype.kind]
    if array.size <= _SHORT:
        numbers = ", ".join(map(repr, array.ravel().tolist())).replace("inf", "np.inf").replace("nan", "np.nan")
        return f"np.array([{numbers}], '{kind}').reshape({array.shape})"
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(array.astype(kind)).tobytes(), 9)).decode()
    if len(packed) > _LONGEST:
        return None
    return f"unpack({packed!r}, '{kind}').reshape({array.shape})"


def call_of(framework: str, family: str, operator: str, way: str) -> tuple[list[str], list[str]] | None:
    """Return the imports and the definition of `call`, as the runner has them; None where its file cannot be taken alone."""
    try:
        return call_alone(framework, family, operator, way) or _named(way)
    except CannotWrite:
        path = project_root() / (module_of(framework, family, way).replace(".", "/") + ".py")
        return _in_file(path, operator, way) or _whole(path, operator, way)


def _named(way: str) -> tuple[list[str], list[str]]:
    """Return the call of a public name as it is."""
    module, _, name = named_by(way).rpartition(".")
    if module.startswith("tensorflow."):
        # Importing tensorflow.nn makes that module anew, without what anyone has put into it.
        return [], [f"function = tf.{module.removeprefix('tensorflow.')}.{name}", _BY_POSITION]
    return [f"from {module} import {name} as function"], [_BY_POSITION]


def _whole(path: Path, operator: str, way: str) -> tuple[list[str], list[str]] | None:
    """Return a whole file, whose calls are made in a loop; None where it needs others of Vigil."""
    text = path.read_text(encoding="utf-8").replace("from __future__ import annotations\n", "")
    text = text.replace("from runners.contract.errors import Unsupported\n", "Unsupported = ValueError\n")
    tree = ast.parse(text)
    if any(isinstance(each, ast.ImportFrom) and str(each.module).startswith("runners") for each in ast.walk(tree)):
        return None
    lines = [line for line in ast.unparse(ast.Module(tree.body[1:], [])).splitlines() if line]
    return [], [*lines, f"call = CALLS[{operator!r}][{way!r}]"]


def _in_file(path: Path, operator: str, way: str) -> tuple[list[str], list[str]] | None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    value = next((each for each in _dictionary(tree, operator) if each[0] == way), None)
    if value is None:
        return None
    node = value[1]
    needed = _names(node)
    body = [*_imported_from_runners(tree), *tree.body]
    defined = {each.name: each for each in body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    assigned = {
        name.id: each
        for each in body
        if isinstance(each, (ast.Assign, ast.AnnAssign))
        for name in ast.walk(each.targets[0] if isinstance(each, ast.Assign) else each.target)
        if isinstance(name, ast.Name)
    }
    waiting = list(needed)
    seen: set[str] = set()
    taken: list[ast.stmt] = []
    while waiting:
        name = waiting.pop()
        below = defined.get(name) or assigned.get(name)
        if below is None or name in seen or name == "CALLS":
            continue
        seen.add(name)
        taken.append(below)
        more = _names(below)
        needed |= more
        waiting += more
    imports = []
    for each in body:
        if isinstance(each, (ast.Import, ast.ImportFrom)) and getattr(each, "module", "") != "__future__":
            kept = [alias for alias in each.names if (alias.asname or alias.name.split(".")[0]) in needed]
            if kept and not str(getattr(each, "module", "")).startswith("runners"):
                each.names = kept
                imports.append(ast.unparse(each))
    if "Unsupported" in needed:
        imports.append("Unsupported = ValueError")
    # As they stand in the files, each after what it is made of.
    helpers = dict.fromkeys(ast.unparse(each) for each in body if each in taken)
    lines = [line for helper in helpers for line in helper.splitlines()]
    return imports, [*lines, f"call = {ast.unparse(node)}"]


def _imported_from_runners(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield what stands in other files of Keras's calls that a file takes something from."""
    for each in tree.body:
        if isinstance(each, ast.ImportFrom) and str(each.module).startswith("runners.keras."):
            path = project_root() / f"{str(each.module).replace('.', '/')}.py"
            yield from ast.parse(path.read_text(encoding="utf-8")).body


def _dictionary(tree: ast.Module, operator: str) -> Iterable[tuple[str, ast.expr]]:
    """Yield public names and calls of an operator in a file's `CALLS`."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(target) != "CALLS" or not isinstance(node.value, ast.Dict):
                continue
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == operator and isinstance(value, ast.Dict):
                    for name, call in zip(value.keys, value.values, strict=True):
                        if isinstance(name, ast.Constant):
                            yield str(name.value), call


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
