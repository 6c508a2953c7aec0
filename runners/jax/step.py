"""A user's own training step, in one context or in float64.

A program that nobody declared: its parameters, or those of its flax.nnx module, go by their paths in the tree.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from runners.contract.audit.request import AuditRequest
from runners.contract.errors import ContractError, Unsupported
from runners.contract.operators.request import OperatorRequest
from runners.contract.steps.frame import RANDOM, Arrays, Framework
from runners.contract.steps.overflow import Overflow
from runners.contract.steps.own import DISTRIBUTE, Batch, OwnFile, OwnFileError, leaves, map_leaves
from runners.contract.steps.request import StepRequest
from runners.jax import determinism
from runners.jax.devices import add_xla_flags, devices_of, share_gpu, show_devices
from runners.jax.interpreter import Flat, Interpreter, evaluate, flatten, is_shown
from runners.jax.modes import bytes_of, compile_ahead, keep_compiled
from runners.jax.precision import set_up as set_up_precision

_SEED = 0
_DRAWING = {"random_bits", "random_split", "random_gamma", "threefry2x32", "rng_bit_generator", "rng_uniform"}
_HALVES = {"bf16": jnp.bfloat16, "fp16": jnp.float16}
_FIRST_SCALE = 2.0**16  # that of torch.amp.GradScaler
_SCALE = "loss_scale"
_CAST = "cast"
# Of a tensor in a look as many sums of its elements, with signs at random, are kept: as far apart as the tensors are.
_SHOWN = 8192
_LARGEST_SHOWN = 2**22


def set_up(request: StepRequest | OperatorRequest | AuditRequest) -> None:
    """Configure JAX for what a process is asked."""
    keep_compiled(request)
    if request.device == "gpu":
        share_gpu()
        determinism.set_up(request.determinism, device=request.device)
        set_up_precision(request.precision, device=request.device)
    else:
        jax.config.update("jax_platforms", "cpu")
    os.environ["NPROC"] = str(request.threads)  # where XLA reads the size of its pools
    if request.devices > 1:
        show_devices(request.devices, is_op_by_op=request.mode == "eager")
    if request.threads == 1:
        add_xla_flags("--xla_cpu_multi_thread_eigen=false")
    if request.device == "gpu":
        devices_of("gpu")


def set_up_file(request: StepRequest | OperatorRequest) -> None:
    """Configure JAX for what a process is asked about a user's file."""
    set_up(request)
    if request.device == "gpu":
        # What the file builds and draws has the same numbers everywhere; what is given to a program is put on the GPU.
        jax.config.update("jax_default_device", jax.devices("cpu")[0])


def describe() -> dict[str, Any]:
    """Return what a record says of the framework."""
    gpu = {"gpu": jax.devices("gpu")[0].device_kind} if jax.config.jax_platforms != "cpu" else {}
    return gpu | {
        "framework_version": jax.__version__,
        "framework_path": jax.__file__,
        "jaxlib_version": jaxlib.__version__,
        "threads": int(os.environ.get("NPROC", os.cpu_count() or 1)),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        **{f"{name}_version": version for name in ("flax", "optax") if (version := _version_of(name))},
    }


def _version_of(name: str) -> str | None:
    """Return the version of a library that a file may import; None where there is none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def to_numpy(batch: Batch) -> Batch:
    """Return a batch with its tensors as NumPy arrays."""

    def plain(leaf: Any) -> Any:
        if _is_key(leaf):
            raise OwnFileError("batch: holds a random key. A `loss(model, batch, key)` is given one.")
        if not isinstance(leaf, (np.ndarray, jax.Array)):
            _check_batch_leaf(leaf)
            return leaf
        return np.asarray(jnp.asarray(leaf))

    return map_leaves(plain, batch)


def _check_batch_leaf(leaf: Any) -> None:
    """Raise OwnFileError for what holds arrays of its own: they would be constants of a program, and those of the first batch."""
    if _is_array(leaf) or isinstance(leaf, type):
        return
    if dataclasses.is_dataclass(leaf) or any(map(_is_array, jax.tree_util.tree_leaves(leaf))):
        raise OwnFileError(f"batch: holds a {type(leaf).__name__}. Allowed: arrays and numbers in tuples, lists and dicts.")


def placed(arrays: Sequence[Any], device: str) -> list[Any]:
    """Return arrays of JAX, on a GPU where that is the device."""
    found = [_to_jax(each) for each in arrays]
    return found if device == "cpu" else jax.device_put(found, devices_of(device)[0])


class _Model:
    """What the file builds, as lists of arrays: those that are trained, by name, and the rest; and back."""

    def __init__(self, model: Any, file: Path) -> None:
        self._nnx = sys.modules.get("flax.nnx")
        self._file = file.name
        self.is_module = self._nnx is not None and isinstance(model, self._nnx.Module)
        self._graphs: dict[bool, Any] = {}
        if self.is_module:
            for training in (False, True):
                model.train() if training else model.eval()
                self._graphs[training], tree, rest = self._nnx.split(model, self._nnx.Param, ...)
            named = _named(rest)
            self._tree, self._rest_tree = jax.tree_util.tree_structure(tree), jax.tree_util.tree_structure(rest)
        else:
            leaves, self._whole = jax.tree_util.tree_flatten(model)
            self._is_trained = _trained_places(model)
            either = list(zip(leaves, self._is_trained, strict=True))
            tree = jax.tree_util.tree_unflatten(self._whole, [leaf if is_trained else None for leaf, is_trained in either])
            rest = jax.tree_util.tree_unflatten(self._whole, [None if is_trained else leaf for leaf, is_trained in either])
            named, self._tree = _named(rest), jax.tree_util.tree_structure(tree)
            for name, leaf in named:
                if not isinstance(leaf, (int, float)) and not _is_array(leaf):
                    raise OwnFileError(
                        f"{file.name}: build: {name} is a {type(leaf).__name__}. Allowed: a tree of arrays and numbers, "
                        "or a flax.nnx.Module."
                    )
                if not _is_key(leaf) and np.iscomplexobj(leaf):
                    raise OwnFileError(
                        f"{file.name}: build: {name} is of {leaf.dtype}. Allowed: float32, which is trained, and whole numbers, "
                        "which are not. Hold the real and the imaginary part as two arrays."
                    )
        self.rest_names, self.rest = [name for name, _ in named], [_to_jax(leaf) for _, leaf in named]
        self.names, self.trained = [name for name, _ in _named(tree)], [_to_jax(leaf) for _, leaf in _named(tree)]
        if not self.trained:
            raise OwnFileError(
                f"{file.name}: build: gave {type(model).__name__}, in which there is no parameter. "
                "Allowed: a tree of float arrays, or a flax.nnx.Module."
            )
        for name, leaf in zip(self.names, self.trained, strict=True):
            if leaf.dtype != jnp.float32:
                raise OwnFileError(f"{file.name}: build: {name} is of {leaf.dtype}. Build in float32; Vigil sets the precision.")

    def tree(self, trained: Sequence[Any]) -> Any:
        """Return what is trained in the form that an optimizer gets it in."""
        return jax.tree_util.tree_unflatten(self._tree, trained)

    def whole(self, trained: Sequence[Any], rest: Sequence[Any], *, training: bool) -> Any:
        """Return a model for the file's functions."""
        if self.is_module:
            state = jax.tree_util.tree_unflatten(self._rest_tree, rest)
            return self._nnx.merge(self._graphs[training], self.tree(trained), state)
        of_trained, of_rest = iter(trained), iter(rest)
        return jax.tree_util.tree_unflatten(
            self._whole, [next(of_trained) if is_trained else next(of_rest) for is_trained in self._is_trained]
        )

    def parameters_of(self, model: Any) -> dict[str, Any]:
        """Return what a module holds as its parameters, by name; nothing of a tree, which a loss cannot change."""
        return dict(_named(self._nnx.split(model, self._nnx.Param, ...)[1])) if self.is_module else {}

    def rest_of(self, model: Any, rest: Sequence[Any], state: Any) -> tuple[list[Any], set[str]]:
        """Return what a model holds besides its parameters after a call, as the list that it was made of, and what is held of it.

        state: what the loss gives beside its number: collections of a tree, as flax.linen's `apply` returns them.
        """
        if self.is_module:
            found = dict(_named(self._nnx.split(model, self._nnx.Param, ...)[2]))
            return [found[name] for name in self.rest_names], {*found}
        found = {name: _to_jax(leaf) for name, leaf in _named(state)}
        tops = {_top(name) for name in found}
        shapes = {name: leaf.shape for name, leaf in found.items()}
        wanted = {name: leaf.shape for name, leaf in zip(self.rest_names, rest, strict=True) if _top(name) in tops}
        for name, shape in sorted(shapes.items() ^ wanted.items()):
            raise OwnFileError(
                f"{self._file}: loss: gave beside its number another state than the model's, in {name or 'an array'} of shape "
                f"{list(shape)}. Allowed: whole collections of the model without those that are trained, of the same names and "
                "shapes, as {'batch_stats': ...}."
            )
        return [found.get(name, leaf) for name, leaf in zip(self.rest_names, rest, strict=True)], {*found}


class _OfNnx:
    """An `nnx.Optimizer` as a function, of what it keeps, parameters and gradients: its own `update` moves them."""

    def __init__(self, nnx: Any, model: Any, optimizer: Any) -> None:
        self._nnx = nnx
        self._graph, self._slots, trained, rest = self._split(model, optimizer)
        self._tree, self._rest = jax.tree_util.tree_structure(trained), jax.tree_util.tree_flatten(rest)

    def _split(self, model: Any, optimizer: Any) -> tuple[Any, ...]:
        return self._nnx.split((model, optimizer), lambda path, _: path[0] == 1, self._nnx.Param, ...)

    def init(self, _: Any) -> Any:
        return self._slots

    def update(self, gradients: Any, slots: Any, trained: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the parameters, and what it keeps, after a step."""
        rest, form = self._rest
        states = slots, jax.tree_util.tree_unflatten(self._tree, trained), jax.tree_util.tree_unflatten(form, rest)
        model, optimizer = self._nnx.merge(self._graph, *states)
        # DIFFERS(flax 0.10): a state filters itself, and the optimizer holds the model, as `nnx.ModelAndOptimizer` does since.
        filtered = getattr(self._nnx, "filter_state", lambda state, wrt: state.filter(wrt))
        optimizer.update(*([] if hasattr(optimizer, "model") else [model]), filtered(gradients, optimizer.wrt))
        _, slots, moved, _ = self._split(model, optimizer)
        return jax.tree_util.tree_leaves(moved), slots


class _Step(abc.ABC):
    """The file's model in its first state, what is minimised and how, in a precision."""

    def __init__(self, own: OwnFile, precision: str) -> None:
        self.own, self.precision = own, precision
        if precision not in ("fp32", "tf32", *_HALVES):
            raise Unsupported(f"{precision}: a step is verified in fp32, bf16 and fp16, on a GPU in tf32 as well")
        self.model = _Model(own.call("build"), own.path)
        self._check_model(_Model(own.call("build"), own.path))
        self.model.trained = [_begun(own, *each) for each in zip(self.model.names, self.model.trained, strict=True)]
        self.model.rest = [_begun(own, *each) for each in zip(self.model.rest_names, self.model.rest, strict=True)]
        self.scale = 1.0
        self._takes_key = own.takes("loss", "key")
        self._remarks: list[str] = []
        self._stats: set[str] = set()  # of the rest, what a step is known to leave
        self._optimizer, self._slots, self._slots_tree, self._slot_names = None, [], None, []
        if own.has("optimizer"):
            self._begin_optimizer()
        self.first = (self.model.trained, self.model.rest, self._slots)

    def _check_model(self, again: _Model) -> None:
        for name, one, other in zip(
            [*self.model.names, *self.model.rest_names],
            [*self.model.trained, *self.model.rest],
            [*again.trained, *again.rest],
            strict=False,
        ):
            if not np.array_equal(read(one), read(other)):
                raise OwnFileError(
                    f"{self.own.path.name}: build: two calls gave other numbers, in {name}. "
                    "It must make the same model each time."
                )

    def _begin_optimizer(self) -> None:
        model = self.model.whole(self.model.trained, self.model.rest, training=True)
        optimizer = self.own.call("optimizer", model)
        nnx = sys.modules.get("flax.nnx")
        if self.model.is_module and isinstance(optimizer, nnx.Optimizer):
            self._optimizer = _OfNnx(nnx, model, optimizer)
        else:
            self._optimizer = getattr(optimizer, "tx", optimizer)
            if self._optimizer is not optimizer:
                remark = f"optimizer: of {type(optimizer).__name__} its tx alone is asked, and not what it does itself"
                self._remarks.append(remark)
        if not callable(getattr(self._optimizer, "init", None)) or not callable(getattr(self._optimizer, "update", None)):
            raise OwnFileError(
                f"{self.own.path.name}: optimizer: gave {type(optimizer).__name__}. Allowed: an optax.GradientTransformation."
            )
        try:
            slots = self._optimizer.init(self.model.tree(self.model.trained))
        except Exception as error:
            raise self.own.blame("optimizer", error) from error
        self._slots_tree = jax.tree_util.tree_structure(slots)
        # What an `nnx.Optimizer` keeps of its transformation goes by the names that this has alone.
        begins = ("1/", "opt_state/") if isinstance(self._optimizer, _OfNnx) else ("", "")
        self._slot_names = [name.removeprefix(begins[0]).removeprefix(begins[1]) for name, _ in _named(slots)]
        self._slots = [_to_jax(leaf) for leaf in jax.tree_util.tree_leaves(slots)]

    def loss(self, trained: Any, rest: Any, batch: Batch, key: Any, *, training: bool) -> tuple[Any, Any]:
        """Return what is minimised, in float32, and the rest of the model after the call."""
        model, given = self._in_precision(trained, rest, batch, training=training)
        before = self.model.parameters_of(model)
        loss, state = self.own.call("loss", model, given, *([key] if self._takes_key else [])), None
        if not self.model.is_module and isinstance(loss, tuple) and len(loss) == 2:
            loss, state = loss
        for name, leaf in self.model.parameters_of(model).items():
            if leaf is not before.get(name):
                raise OwnFileError(
                    f"{self.own.path.name}: loss: changes {name}, an nnx.Param. Allowed: changes of what is not trained, "
                    "as of an nnx.Variable."
                )
        if getattr(loss, "shape", None) is None or loss.size != 1:
            raise OwnFileError(f"{self.own.path.name}: loss: gave {_shown(loss)}. Allowed: one number, an array of one element.")
        rest, stats = self.model.rest_of(model, rest, state)
        self._stats |= stats
        return loss.reshape(()).astype(jnp.float32), rest

    def _in_precision(self, trained: Any, rest: Any, batch: Batch, *, training: bool) -> tuple[Any, Batch]:
        half = _HALVES.get(self.precision)
        if half is None:
            return self.model.whole(trained, rest, training=training), batch
        given = map_leaves(lambda leaf: leaf.astype(half) if isinstance(leaf, jax.Array) and _is_floating(leaf) else leaf, batch)
        if self.own.has(_CAST):
            model = self.model.whole(trained, rest, training=training)
            changed = self.own.call(_CAST, model, self.precision)
            return (model if changed is None else changed), given
        return self.model.whole([leaf.astype(half) for leaf in trained], rest, training=training), given

    def differentiate(self, trained: Any, rest: Any, batches: Sequence[Batch], keys: Any, scale: Any) -> tuple[Any, Any, Any]:
        """Return the losses of the batches, the gradients of their mean, and the rest of the model."""
        share = 1.0 / len(batches)
        losses, total = [], None

        def scaled(trained: Any, rest: Any, batch: Batch, key: Any) -> tuple[Any, Any]:
            loss, rest = self.loss(trained, rest, batch, key, training=True)
            minimised = loss * share if len(batches) > 1 else loss
            return (minimised * scale if self.precision == "fp16" else minimised), (loss, rest)

        for place, batch in enumerate(batches):
            try:
                gradients, (loss, rest) = jax.grad(scaled, has_aux=True)(trained, rest, batch, keys[place])
            except ContractError:
                raise
            except Exception as error:
                raise self.own.blame("loss", error) from error
            losses.append(loss)
            total = gradients if total is None else [a + b for a, b in zip(total, gradients, strict=True)]
        if self.precision == "fp16":
            total = [each * (1.0 / scale) for each in total]
        return losses, total, rest

    def step(self, trained: Any, rest: Any, slots: Any, batches: Sequence[Batch], keys: Any, scale: Any) -> tuple[Any, ...]:
        """Return the losses of the batches, the gradients of their mean, and all that a step leaves."""
        losses, gradients, rest = self.differentiate(trained, rest, batches, keys, scale)
        return losses, gradients, *self.updated(trained, slots, gradients), rest

    def updated(self, trained: Any, slots: Any, gradients: Any) -> tuple[Any, Any]:
        """Return the parameters and what the optimizer keeps after a step with these gradients."""
        if self._optimizer is None:
            return trained, slots
        # The oracle holds in float64 what the optimizer keeps in a half: the program has it in that type.
        kinds = [own.dtype for own in self._slots]
        slots = [each if each.dtype == kind else each.astype(kind) for each, kind in zip(slots, kinds, strict=True)]
        kept = jax.tree_util.tree_unflatten(self._slots_tree, slots)
        optax = sys.modules.get("optax")
        try:
            if isinstance(self._optimizer, _OfNnx):
                moved, kept = self._optimizer.update(self.model.tree(gradients), kept, trained)
            else:
                updates, kept = self._optimizer.update(self.model.tree(gradients), kept, self.model.tree(trained))
                apply = optax.apply_updates if optax else functools.partial(jax.tree_util.tree_map, jnp.add)
                moved = jax.tree_util.tree_leaves(apply(self.model.tree(trained), updates))
        except Exception as error:
            raise self.own.blame("optimizer", error) from error
        return [new.astype(leaf.dtype) for leaf, new in zip(trained, moved, strict=True)], jax.tree_util.tree_leaves(kept)

    def evaluation(self, trained: Any, rest: Any, batch: Batch, key: Any) -> tuple[Any, list[Any]]:
        """Return loss and outputs in evaluation mode."""
        loss, _ = self.loss(trained, rest, batch, key, training=False)
        if not self.own.has("predict"):
            return loss, []
        model, given = self._in_precision(trained, rest, batch, training=False)
        outputs = jax.tree_util.tree_leaves(self.own.call("predict", model, given))
        for each in outputs:
            if not _is_array(each) and not isinstance(each, (int, float, complex)):
                raise OwnFileError(
                    f"{self.own.path.name}: predict: gave a {type(each).__name__}. Allowed: arrays and numbers in tuples, lists, "
                    "dicts and classes that jax.tree_util knows."
                )
        return loss, [jnp.asarray(each) for each in outputs]

    @abc.abstractmethod
    def carry_out(self, function: Callable, *arguments: Any) -> Any:
        """Return what a function gives. Its arguments are trees of arrays, batches among them."""

    def train(self, steps: Sequence[Sequence[Batch]]) -> Arrays:
        trained, rest, slots = self.first
        found: Arrays = {}
        for number, batches in enumerate(steps):
            found = self.state_of(trained, slots, "before")
            keys = [_key(number, place) for place in range(len(batches))]
            given = (trained, rest, slots, batches, keys, np.float32(self.scale))
            losses, gradients, trained, slots, rest = self.carry_out(self.step, *given)
            computed = self.computed(losses, gradients, rest)
            if not number and len(steps) > 1:
                self.see_first(computed)
            found |= self.state_of(trained, slots, "after") | computed
        return found

    def see_first(self, computed: Arrays) -> None:  # noqa: B027  a context has no use for it
        """Is shown what the first of several steps computed."""

    def computed(self, losses: Any, gradients: Any, rest: Any) -> Arrays:
        """Return what a step computes, under canonical names."""
        found = {"loss": np.mean([read(loss) for loss in losses], axis=0).reshape(())}
        found |= {f"gradients/{name}": read(each) for name, each in zip(self.model.names, gradients, strict=True)}
        named = zip(self.model.rest_names, rest, strict=True)
        return found | {f"stats/{name}": read(each) for name, each in named if name in self._stats and not _is_key(each)}

    def state_of(self, trained: Any, slots: Any, when: str) -> Arrays:
        """Return parameters and what the optimizer keeps, where there is one."""
        if self._optimizer is None:
            return {}
        found = {f"{when}/params/{name}": read(each) for name, each in zip(self.model.names, trained, strict=True)}
        named = zip(self._slot_names, slots, strict=True)
        return found | {f"{when}/optimizer/{name}": read(each) for name, each in named}

    def evaluate(self, batch: Batch) -> Arrays:
        trained, rest, _ = self.first
        loss, outputs = self.carry_out(self.evaluation, trained, rest, batch, _key(0, 0))
        return {"loss": read(loss)} | {f"outputs/{place}": read(leaf) for place, leaf in enumerate(outputs)}

    def traced(self, function: Callable, *arguments: Any) -> tuple[Flat, Any]:
        """Return a function of the program's types as equations, and the form of what it gives."""
        arrays, whole = _parted(arguments)
        shapes = [_shape(each) for each in arrays]
        jaxpr, form = jax.make_jaxpr(lambda *given: function(*whole(given)), return_shape=True)(*shapes)
        return flatten(jaxpr, file=str(self.own.path)), jax.tree_util.tree_structure(form)

    def look(self, batch: Batch) -> tuple[Flat, Any, list[Any], dict[int, list[str]]]:
        """Return a step's equations, the form of its results, what it is given, and the names of what its equations give.

        The equations of a line of the file go by the number of the visit to it. One that is there in one context alone changes
        no names but those of its own line.
        """
        arguments = *self.first, [batch], [_key(0, 0)], np.float32(self.scale)
        flat, form = self.traced(self.step, *arguments)
        names: dict[int, list[str]] = {}
        phase, visit, line = "forward", -1, ""
        seen: dict[str, int] = {}
        gradients = {*flat.outputs[1 : 1 + len(self.model.names)]}
        done: set[int] = {*flat.inputs, *flat.constants} & gradients
        for number, equation in enumerate(flat.equations):
            if equation.where != line:
                visit, line, seen = visit + 1, equation.where, {}
            if is_shown(equation) and not gradients <= done:
                found = names[number] = []
                for aval in equation.results:
                    count = seen[equation.name] = seen.get(equation.name, 0) + 1
                    known = f"{phase}/{visit:04d}/{line}:{equation.name}" + (f".{count}" if count > 1 else "")
                    found.append(known if _is_floating(aval) and aval.size <= _LARGEST_SHOWN else "")
            done |= {*equation.outputs} & gradients
            if flat.outputs[0] in equation.outputs:
                phase = "backward"
        return flat, form, _parted(arguments)[0], names

    def looked(self, results: Any) -> Arrays:
        """Return what a look shows besides: all that the step gave."""
        losses, gradients, trained, slots, rest = results
        found = self.state_of(*self.first[::2], "before") | self.state_of(trained, slots, "after")
        return found | self.computed(losses, gradients, rest)


class Program(_Step):
    """The step in one context."""

    def __init__(self, own: OwnFile, request: StepRequest, facts: dict[str, Any]) -> None:
        super().__init__(own, request.precision)
        self.scale = facts.get(_SCALE, 1.0)
        self._mode, self._device = request.mode, request.device
        self._is_shared = request.devices > 1
        self._compiled: dict[tuple, Callable] = {}

    def train(self, steps: Sequence[Sequence[Batch]]) -> Arrays:
        return super().train([[self._shared(batch) for batch in batches] for batches in steps])

    def evaluate(self, batch: Batch) -> Arrays:
        return super().evaluate(self._shared(batch))

    def _shared(self, batch: Batch) -> Batch:
        """Return a batch as the file lays it over several devices."""
        if not self._is_shared:
            return batch
        on_devices = self.own.call(DISTRIBUTE, map_leaves(lambda leaf: jnp.asarray(leaf) if _is_array(leaf) else leaf, batch))
        if not any(len(leaf.devices()) > 1 for leaf in leaves(on_devices) if isinstance(leaf, jax.Array)):
            raise OwnFileError(f"{self.own.path.name}: distribute: no array is on several devices. Give each a sharding.")
        return on_devices

    def carry_out(self, function: Callable, *arguments: Any) -> Any:
        arrays = placed(_parted(arguments)[0], self._device)
        key = _kind(function, *arguments)
        if key not in self._compiled:
            self._compiled[key] = self._program(function, *arguments)
        return self._compiled[key](*arrays)

    def _program(self, function: Callable, *arguments: Any) -> Callable:
        """Return a function of the arrays in some arguments as a program of the mode."""
        if self._mode == "eager":
            # Traced once and carried out op by op: JAX would compile each loop anew whenever the file is called.
            flat, form = self.traced(function, *arguments)
            return lambda *given: jax.tree_util.tree_unflatten(form, evaluate(flat, given))
        arrays, whole = _parted(arguments)
        program = jax.jit(lambda *given: function(*whole(given)))
        return compile_ahead(program, *placed(arrays, self._device)) if self._mode == "compile" else program

    def program_bytes(self, batch: Batch) -> int | None:
        """Return the memory that the compiled programs of a step and an evaluation take, before they run."""
        trained, rest, slots = self.first
        step = self._program(self.step, trained, rest, slots, [batch], [_key(0, 0)], np.float32(self.scale))
        sizes = [bytes_of(each) for each in (step, self._program(self.evaluation, trained, rest, batch, _key(0, 0)))]
        return None if None in sizes else sum(sizes)

    def taps(self, batch: Batch) -> Arrays:
        flat, form, given, names = self.look(batch)

        def tapped(*given: Any) -> tuple[list[Any], list[Any]]:
            shown: list[Any] = []

            def show(number: int, results: list[Any]) -> None:
                shown.extend(each for each, name in zip(results, names.get(number, []), strict=False) if name)

            return evaluate(flat, given, show), shown

        given = placed(given, self._device)
        if self._mode == "eager":
            results, shown = tapped(*given)
        else:
            program = jax.jit(tapped)
            results, shown = (compile_ahead(program, *given) if self._mode == "compile" else program)(*given)
        known = [name for each in names.values() for name in each if name]
        found = {name: _folded(read(each)) for name, each in zip(known, shown, strict=True)}
        return found | self.looked(jax.tree_util.tree_unflatten(form, results))


class Oracle(_Step):
    """The step in float64, by the equations of the program in a precision."""

    def __init__(self, own: OwnFile, request: StepRequest) -> None:
        super().__init__(own, request.precision)
        self._draw: int | None = None
        self._choices: list[tuple[str, int]] = []
        self._flat: dict[tuple, tuple[Flat, Any]] = {}
        self._operators = 0
        self._overflows = False
        self._overflowed: list[Overflow] = []
        self._first_step: tuple[Arrays, list[tuple[str, int]]] = {}, []
        if self.precision == "fp16":
            self.scale = self._largest_scale(to_numpy(own.call("batch", request.seeds[0] if request.seeds else 0)))

    def _largest_scale(self, batch: Batch) -> float:
        """Return half of the largest loss scale, of powers of 2, at which no gradient leaves the range of float16."""

        def overflows(scale: float) -> int:
            self.scale, self._overflowed = scale, []
            self.train([[batch]])
            return len(self._overflowed)

        least, scale = overflows(1.0), _FIRST_SCALE
        while scale > 1.0 and overflows(scale) > least:
            scale /= 2.0
        return max(1.0, scale / 2.0)

    def under(self, draw: int | None, *, overflows: bool = False) -> None:
        self._draw, self._overflows, self._overflowed = draw, overflows, []

    def choices(self) -> list[tuple[str, int]]:
        return self._choices

    def overflow(self) -> Overflow | None:
        return next(iter(self._overflowed), None)

    def see_first(self, computed: Arrays) -> None:
        self._first_step = computed, self._choices

    def first_step(self) -> tuple[Arrays, list[tuple[str, int]]]:
        return self._first_step

    def facts(self) -> dict[str, Any]:
        named = zip(self.model.rest_names, self.model.rest, strict=True)
        unseen = {_top(name) for name, leaf in named if _is_floating(leaf) and name not in self._stats}
        remarks = [
            f"{name}: stands beside params: it is not trained, nor looked at after a step. "
            f"With `return number, {{{name!r}: ...}}` the loss gives what becomes of it"
            for name in sorted(unseen)
            if not self.model.is_module
        ]
        drawn = _drawn() if any(_DRAWING & flat.names() for flat, _ in self._flat.values()) else None
        return {_SCALE: self.scale, "operators": self._operators, "remarks": [*self._remarks, *remarks], RANDOM: drawn}

    def settle(self, facts: Mapping[str, Any]) -> None:
        self.scale = facts[_SCALE]

    def carry_out(self, function: Callable, *arguments: Any) -> Any:
        key = _kind(function, *arguments)
        if key not in self._flat:
            self._flat[key] = self.traced(function, *arguments)
        flat, form = self._flat[key]
        return jax.tree_util.tree_unflatten(form, self._run(flat, _parted(arguments)[0]))

    def taps(self, batch: Batch) -> Arrays:
        flat, form, given, names = self.look(batch)
        found: Arrays = {}

        def show(number: int, results: list[Any]) -> None:
            named = zip(names.get(number, []), results, strict=False)
            found.update({name: _folded(result) for name, result in named if name})

        results = self._run(flat, given, show)
        return found | self.looked(jax.tree_util.tree_unflatten(form, results))

    def update(self, before: Arrays, gradients: Arrays) -> Arrays:
        trained, _, slots = self.first
        trained = [before[f"params/{name}"] for name in self.model.names]
        slots = [_as_key(before[f"optimizer/{name}"], slot) for name, slot in zip(self._slot_names, slots, strict=True)]
        found = self.carry_out(self.updated, trained, slots, [gradients[name] for name in self.model.names])
        return self.state_of(*found, "after")

    def parameters(self) -> Arrays:
        return {name: read(each) for name, each in zip(self.model.names, self.model.trained, strict=True)}

    def loss_at(self, batch: Batch, moved: Arrays) -> float:
        loss, _ = self.carry_out(self._training_loss, self._moved(moved), self.model.rest, batch, _key(0, 0))
        return float(loss)

    def gradients_at(self, batch: Batch, moved: Arrays) -> Arrays:
        given = self._moved(moved), self.model.rest, [batch], [_key(0, 0)], np.float32(self.scale)
        _, gradients, _ = self.carry_out(self.differentiate, *given)
        return {name: read(each) for name, each in zip(self.model.names, gradients, strict=True)}

    def _moved(self, moved: Arrays) -> list[Any]:
        named = zip(self.model.names, self.model.trained, strict=True)
        return [np.float64(leaf) + moved[name] if name in moved else leaf for name, leaf in named]

    def _training_loss(self, trained: Any, rest: Any, batch: Batch, key: Any) -> tuple[Any, Any]:
        return self.loss(trained, rest, batch, key, training=True)

    def _run(self, flat: Flat, values: Sequence[Any], show: Callable[[int, list[Any]], None] | None = None) -> list[Any]:
        interpreter = Interpreter(draw=self._draw, is_tf32=self.precision == "tf32", overflows=self._overflows)
        results = interpreter.run(flat, values, show)
        self._choices = interpreter.choices
        self._overflowed += interpreter.overflowed
        self._operators = max(self._operators, flat.count())
        return results


def _begun(own: OwnFile, name: str, leaf: Any) -> Any:
    """Return what the model begins with; what a random key is made of is always its own."""
    if _is_key(leaf):
        return leaf
    made = np.asarray(leaf)
    begun = own.first(name, made)
    return leaf if begun is made else jnp.asarray(begun)


def _drawn() -> list[int]:
    """Return some of what is drawn of one key: other numbers where a release, or what it is set to, draws otherwise."""
    key = _key(0, 0)
    keys = [jax.random.PRNGKey(_SEED), *jax.random.split(key)]
    return [int(each) for one in keys for each in np.ravel(jax.random.bits(one, (2, 3)))]


def _key(step: int, place: int) -> Any:
    """Return the key of a step's batch: the same in every context."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.PRNGKey(_SEED), step), place)


def _parted(arguments: tuple) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """Return the arrays in some arguments, and a function that puts others in their place."""
    arrays = [leaf for leaf in leaves(arguments) if _is_array(leaf)]

    def whole(given: Sequence[Any]) -> Any:
        rest = iter(given)
        return map_leaves(lambda leaf: next(rest) if _is_array(leaf) else leaf, arguments)

    return arrays, whole


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.generic, jax.Array))


def _is_key(leaf: Any) -> bool:
    return _is_array(leaf) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended)


def _is_floating(leaf: Any) -> bool:
    if isinstance(leaf, float):
        return True
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.floating)


def _to_jax(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)


def _shape(leaf: Any) -> Any:
    """Return what a program sees of an array: float64 is its float32 without rounding."""
    narrow = {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.complex64)}
    return jax.ShapeDtypeStruct(np.shape(leaf), leaf.dtype if _is_key(leaf) else narrow.get(leaf.dtype, leaf.dtype))


def _kind(function: Callable, *arguments: Any) -> tuple:
    """Return what a program is made for: its function, and of its arguments all but the numbers in their arrays."""
    arrays, whole = _parted(arguments)
    kinds = [(tuple(each.shape), str(_shape(each).dtype), getattr(each, "weak_type", False)) for each in arrays]
    return function.__name__, repr(whole([None] * len(arrays))), *kinds


def _trained_places(model: Any) -> list[bool]:
    """Say which leaves of a tree are trained: its floats; where it has a `params`, as flax.linen's, the floats in that alone."""
    named = _named(model)
    has_params = any(_top(name) == "params" for name, _ in named)
    return [_is_floating(leaf) and (not has_params or _top(name) == "params") for name, leaf in named]


def _top(name: str) -> str:
    return name.partition("/")[0]


def _named(tree: Any) -> list[tuple[str, Any]]:
    """Return the leaves of a tree by their paths; nnx's variables hold theirs in `value`."""
    found = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [("/".join(_plain_path(path)), leaf) for path, leaf in found]


def _plain_path(path: Sequence[Any]) -> Iterator[str]:
    for place, part in enumerate(path):
        name = next((str(getattr(part, of)) for of in ("key", "idx", "name") if hasattr(part, of)), str(part))
        if place == 0 or name != "value" or place < len(path) - 1:
            yield name


def _folded(array: np.ndarray) -> np.ndarray:
    """Return sums of a large array's elements, with signs at random: what is far from it stays as far, and it takes less room."""
    if array.size <= _SHOWN:
        return array
    flat = np.nan_to_num(np.asarray(array, np.float64).ravel(), nan=0.0, posinf=0.0, neginf=0.0)
    return np.add.reduceat(flat * _signs(flat.size), np.arange(_SHOWN) * flat.size // _SHOWN)


@functools.lru_cache(maxsize=16)
def _signs(size: int) -> np.ndarray:
    return np.random.default_rng(_SEED).choice((-1.0, 1.0), size)


def read(leaf: Any) -> np.ndarray:
    """Return an array's numbers: halves as float32, and both parts of complex ones along a last axis."""
    array = np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], -1)
    return array if array.dtype == np.float64 or not _is_floating(array) else array.astype(np.float32)


def _as_key(array: np.ndarray, like: Any) -> Any:
    """Return what `read` made of a leaf: of a key, the key again."""
    return jax.random.wrap_key_data(array, impl=jax.random.key_impl(like)) if _is_key(like) else array


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"an array of shape {list(shape)}"


FRAMEWORK = Framework("jax", set_up_file, describe, to_numpy, Program, Oracle)
