"""A user's own training step, in one context or in float64.

A program that nobody declared: its variables go by their paths in Keras, and its layers, too. A step is two functions, one that
differentiates a batch and one that updates: each is a graph of its own, in a mode's way of running it, or interpreted in float64.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.contract.errors import ContractError, Unsupported
from runners.contract.steps.frame import Arrays, Framework
from runners.contract.steps.overflow import Overflow
from runners.contract.steps.own import Batch, OwnFile, OwnFileError, leaves, map_leaves
from runners.contract.steps.request import StepRequest
from runners.tensorflow import determinism
from runners.tensorflow.modes import compile_function, trace

_SEED = 0
_FIRST_SCALE = 2.0**16  # that of Keras' LossScaleOptimizer is 2**15
_LEAST_SCALE = 2.0**-16
_SCALE, _CHANGED = "loss_scale", "changed"
_POLICIES = {"fp32": "float32", "bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
_FLOATS = (tf.float32, tf.bfloat16, tf.float16)
# Layers that call others within a loop, whose tensors are not at hand outside it.
_LOOPING = ("RNN", "TimeDistributed")
# What is raised where a graph is made of Python's loops and branches by a tensor, which AutoGraph makes operators of.
_BY_TENSORS = "OperatorNotAllowedInGraphError"
Function = Callable[..., Any]


def set_threads(threads: int) -> None:
    """Let TensorFlow have so many threads, for what is within an operator and for operators side by side."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def require_cpu(device: str, devices: int = 1) -> None:
    """Raise Unsupported for a GPU, and for several devices."""
    if devices > 1:
        raise Unsupported("a file of TensorFlow is verified on one device; those of PyTorch and JAX on two as well")
    if device != "cpu":
        raise Unsupported("a file of TensorFlow is verified on the CPU alone; those of PyTorch and JAX on a GPU as well")


def _set_up(request: StepRequest) -> None:
    require_cpu(request.device, request.devices)
    set_threads(request.threads)
    determinism.set_up(request.determinism)
    if request.precision in _POLICIES:
        # Set before the file is imported: layers that a module makes take the policy of that moment.
        _set_policy(request.precision)


def _set_policy(precision: str) -> None:
    tf.keras.mixed_precision.set_global_policy(_POLICIES[precision])


def describe() -> dict[str, Any]:
    """Return what a record says of the framework."""
    return {
        "framework_version": tf.__version__,
        "framework_path": tf.__file__,
        "keras_version": tf.keras.__version__,
        "threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "onednn": _has_onednn(),
    }


def _has_onednn() -> bool | None:
    try:
        from tensorflow.python.util import _pywrap_util_port

        return bool(_pywrap_util_port.IsMklEnabled())
    except (ImportError, AttributeError):
        return None


def to_numpy(batch: Batch) -> Batch:
    """Return a batch with its tensors as NumPy arrays."""

    def plain(leaf: Any) -> Any:
        if isinstance(leaf, tf.Tensor):
            leaf = leaf.numpy()
        if isinstance(leaf, np.ndarray) and leaf.dtype == object:
            return _text(leaf)
        if tf.is_tensor(leaf) or (dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)):
            # They would be constants of a graph, and those of the first batch.
            raise OwnFileError(f"batch: holds a {type(leaf).__name__}. Allowed: arrays and numbers in tuples, lists and dicts.")
        return leaf

    return map_leaves(plain, batch)


def _text(objects: np.ndarray) -> np.ndarray:
    """Return an array of bytes or words as one of NumPy's own: objects are told apart by where they lie in memory."""
    kinds = {type(each) for each in objects.flat}
    if kinds <= {bytes} or kinds <= {str}:
        text = np.array(objects, "S" if kinds == {bytes} else "U")
        if np.array_equal(text.astype(object), objects):  # a zero at the end of a word is lost
            return text
    names = ", ".join(sorted(each.__name__ for each in kinds))
    raise OwnFileError(f"batch: holds an array of objects ({names}). Allowed: numbers, bytes or words, none that ends in zero.")


class _Step(abc.ABC):
    """The file's model in its first state, its variables and what is minimised, in a precision."""

    answers_updates = True

    def __init__(self, own: OwnFile, precision: str, scale: float) -> None:
        self.own, self.precision, self.scale = own, precision, scale
        if precision not in _POLICIES:
            raise Unsupported(f"{precision}: a step is verified in fp32, bf16 and fp16")
        self.remarks: list[str] = []
        self._is_converted = False  # in graphs, the file's functions are what AutoGraph makes of them
        self.changed: list[str] | None = None  # parameters that the loss itself changes, and not the optimizer alone
        self._first_batch = to_numpy(own.call("batch", 0))
        first = {name: variable.numpy() for name, variable in _named_variables(self._build())}
        self.model = self._build()
        self.variables = dict(_named_variables(self.model))
        for name, variable in self.variables.items():
            value = variable.numpy()
            if name not in first or first[name].shape != value.shape or first[name].tobytes() != value.tobytes():
                raise OwnFileError(
                    f"{own.path.name}: build: two calls after tf.keras.utils.set_random_seed({_SEED}) gave other numbers, in "
                    f"{name}. It must make the same model each time."
                )
        trained = {id(_plain(each)) for each in self.model.trainable_variables}
        self.parameters_of = {name: each for name, each in self.variables.items() if id(each) in trained}
        self._takes_training = own.takes("loss", "training")
        if precision != "fp32" and not isinstance(self.model, tf.keras.layers.Layer):
            self.remarks.append(f"{precision}: a tf.Module does not follow Keras' policy: it is verified as it is written")
        if not self._takes_training:
            self.remarks.append(
                "evaluation: the loss is not asked for: `loss(model, batch)` calls the model as it is trained. "
                "With `loss(model, batch, training=True)` it is"
            )
        self.optimizer = self._optimizer()
        slots = [] if self.optimizer is None else _optimizer_variables(self.optimizer)
        self.slots = dict(_unique((_path(each), _plain(each)) for each in slots))
        self._first = [(each, own.first(name, each.numpy())) for name, each in self.variables.items()]
        self._first += [(each, each.numpy()) for each in self.slots.values()]
        self._first += [(each, each.numpy()) for each in (*_carried(self.model), *_global_random_state())]
        # Of operators that are drawn with the state of a kernel, the kernel has to be made anew.
        self._draws_by_kernel = False

    def train(self, steps: Sequence[Sequence[Batch]], taps: _Taps | None = None) -> Arrays:
        """Take steps from the first state; return what the last one began with, what it computed and what it left."""
        self.begin()
        found: Arrays = {}
        inside: Arrays = {}
        for place, batches in enumerate(steps):
            # The frame holds a last update to the gradients that each context computed, and asks the oracle for none.
            is_updated = self.optimizer is not None and (self.answers_updates or place + 1 < len(steps))
            parts = [self._differentiated(batch, 1.0 / len(batches), taps) for batch in batches]
            self.see_changed()
            changed = {f"stats/{name}": self.value(self.parameters_of[name]) for name in self.changed or ()}
            if is_updated and self.answers_updates:
                found = self.state_of("before")  # with what the loss has changed, as a spectral norm does
            loss = np.mean([self.numbers(each["loss"]) for each in parts], axis=0).reshape(())
            inside = self._inside(parts[0], loss)
            gradients = self._sum([each["gradients"] for each in parts])
            if is_updated:
                self.carry_out(("update",), self._update, [gradients])
            if is_updated and self.answers_updates:
                found |= self.state_of("after")
            computed = {"loss": loss} | {f"gradients/{name}": self._dense(name, each) for name, each in gradients.items()}
            variables = ((name, each) for name, each in self.variables.items() if name not in self.parameters_of)
            computed |= {f"stats/{name}": self.value(each) for name, each in variables} | changed
            if not place and len(steps) > 1:
                self.see_first(computed)
            found |= computed
        return inside | found

    def see_first(self, computed: Arrays) -> None:  # noqa: B027  a context has no use for it
        """Is shown what the first of several steps computed."""

    def see_changed(self) -> None:  # noqa: B027  a context is told
        """Note which parameters a loss has changed, after the first one."""

    def evaluate(self, batch: Batch) -> Arrays:
        """Return loss and outputs in evaluation mode."""
        self.begin()
        tensors, whole = _parted(batch)

        def predicted(*given: Any) -> dict[str, Any]:
            found = {}
            if self._takes_training:
                found["loss"] = self._loss(whole(given), training=False)
            if self.own.has("predict"):
                outputs = self._call("predict", self.model, whole(given))
                found |= {f"outputs/{place}": each for place, each in enumerate(self._outputs(outputs))}
            return found

        found = self.carry_out(("evaluate", *_form(batch)), predicted, tensors)
        return {name: self.numbers(each) for name, each in found.items()}

    def _outputs(self, outputs: Any) -> Iterator[tf.Tensor]:
        """Yield the tensors that a model gives. Raises OwnFileError for what could not be held to anything."""
        for each in leaves(outputs):
            is_of_keras = hasattr(each, "dtype") and hasattr(each, "__tf_tensor__")  # a variable
            if is_of_keras or isinstance(each, (int, float, complex, np.ndarray, np.generic, tf.Tensor, tf.Variable)):
                yield tf.convert_to_tensor(each)
            elif each is not None:
                raise OwnFileError(
                    f"{self.own.path.name}: predict: gave a {type(each).__name__}. Allowed: tensors and numbers in tuples, lists "
                    "and dicts."
                )

    def taps(self, batch: Batch) -> Arrays:
        """Return what each layer gets and gives, and the gradients of these, and what a step returns."""
        with _Taps(self.model) as taps:
            tensors, whole = _parted(batch)
            self.begin()
            probing: Any = trace(taps.shown(lambda *given: self._loss(whole(given), training=True)))
            self.converting(lambda: probing.get_concrete_function(*tensors))
            taps.is_probing = False
            return self.train([[batch]], taps)

    def begin(self) -> None:
        """Load the first state, and seed what is drawn at random."""
        for variable, first in self._first:
            variable.assign(first)
        _seed()

    def state_of(self, when: str) -> Arrays:
        """Return parameters and what the optimizer keeps."""
        found = {f"{when}/params/{name}": self.value(each) for name, each in self.parameters_of.items()}
        return found | {f"{when}/optimizer/{name}": self.value(each) for name, each in self.slots.items()}

    def differentiation(self, batch: Batch, factor: float, taps: _Taps | None = None) -> tuple[tuple, Function, list]:
        """Return a key, the function that differentiates the loss times a factor, and its arguments."""
        tensors, whole = _parted(batch)

        def differentiated(*given: Any) -> dict[str, Any]:
            with tf.GradientTape() as tape:
                loss = self._loss(whole(given), training=True)
                # A scaled loss is of float32: a half cannot hold the first scale.
                scaled = loss if factor == 1.0 else tf.cast(loss, tf.float32) * factor
            tapped = taps.tapped if taps else {}
            gradients = tape.gradient(scaled, [*self.parameters_of.values(), *tapped.values()])
            own, inner = gradients[: len(self.parameters_of)], gradients[len(self.parameters_of) :]
            unscale = 1.0 / (self.scale if factor != 1.0 else 1.0)
            return {
                "loss": loss,
                "gradients": {
                    name: _unscaled(_as_tensors(each), unscale)
                    for name, each in zip(self.parameters_of, own, strict=True)
                    if each is not None
                },
                "forward": dict(tapped),
                "backward": {
                    name: _unscaled(each, unscale) for name, each in zip(tapped, inner, strict=True) if tf.is_tensor(each)
                },
            }

        function = taps.shown(differentiated) if taps else differentiated
        return ("differentiate", factor, taps is not None, *_form(batch)), function, tensors

    @abc.abstractmethod
    def carry_out(self, key: tuple, function: Function, arguments: list) -> Any:
        """Return what a function gives, in the form in which it gives it. `key`: of what it is made."""

    @abc.abstractmethod
    def value(self, variable: tf.Variable) -> np.ndarray:
        """Return a variable's numbers."""

    def numbers(self, tensor: Any) -> np.ndarray:
        """Return a tensor's numbers: halves as float32, and both parts of complex ones along a last axis."""
        found = np.array(tensor)
        if found.dtype.kind == "c":
            return np.stack([found.real, found.imag], -1)
        return found.astype(np.float32) if tf.as_dtype(found.dtype) in (tf.bfloat16, tf.float16) else found

    def _update(self, gradients: dict[str, Any]) -> dict[str, Any]:
        """Let the optimizer take a step."""
        pairs = [(_of_tensors(each, self.parameters_of[name]), self._trained[name]) for name, each in gradients.items()]
        self.optimizer.apply_gradients(pairs)
        return {}

    def _differentiated(self, batch: Batch, share: float, taps: _Taps | None) -> dict[str, Any]:
        return self.carry_out(*self.differentiation(batch, self.scale * share, taps))

    def _sum(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the sum of gradients; one of rows alone stays that where there is nothing to add to it."""
        if len(parts) == 1:
            return parts[0]

        def added(*given: dict[str, Any]) -> dict[str, Any]:
            names = [name for name in self.parameters_of if any(name in each for each in given)]
            return {
                name: tf.add_n(
                    [tf.convert_to_tensor(_of_tensors(each[name], self.parameters_of[name])) for each in given if name in each]
                )
                for name in names
            }

        return self.carry_out(("sum", len(parts)), added, parts)

    def _dense(self, name: str, gradient: Any) -> np.ndarray:
        if not isinstance(gradient, dict):
            return self.numbers(gradient)
        values = self.numbers(gradient["values"])
        found = np.zeros(self.parameters_of[name].shape, np.float64)
        np.add.at(found, np.asarray(gradient["indices"]), values)
        return found

    def _inside(self, part: dict[str, Any], loss: np.ndarray) -> Arrays:
        """Return what was tapped, in the order in which it was computed, and the loss between forward and backward."""
        if not part["forward"]:
            return {}
        found = {f"forward/{name}": self.numbers(each) for name, each in part["forward"].items()} | {"loss": loss}
        return found | {f"backward/{name}": self.numbers(each) for name, each in reversed(part["backward"].items())}

    def converting(self, work: Callable[[], Any]) -> Any:
        """Return what work gives that makes a graph: of the file's functions as they are, unless they need AutoGraph.

        Converted functions have no lines of the file.
        """
        try:
            return work()
        except ContractError as error:
            if self._is_converted or _BY_TENSORS not in str(error):
                raise
        self._is_converted = True
        return work()

    def _call(self, name: str, *arguments: Any) -> Any:
        if not self._is_converted or tf.executing_eagerly():
            return self.own.call(name, *arguments)
        return self.own.call_as(name, tf.autograph.to_graph(self.own.value(name, None)), *arguments)

    def _loss(self, batch: Batch, *, training: bool) -> Any:
        loss = self._call("loss", self.model, batch, *((training,) if self._takes_training else ()))
        shape = getattr(loss, "shape", ())
        if not tf.is_tensor(loss) or not loss.dtype.is_floating or math.prod(each or 0 for each in shape) != 1:
            raise OwnFileError(f"{self.own.path.name}: loss: gave {_shown(loss)}. Allowed: one number, a tensor of one element.")
        return tf.reshape(loss, ())

    def _build(self) -> Any:
        tf.keras.backend.clear_session()
        _set_policy(self.precision)  # which belongs to the session
        _seed()
        model = self.own.call("build")
        if not isinstance(model, (tf.Module, tf.keras.layers.Layer)):
            raise OwnFileError(
                f"{self.own.path.name}: build: gave {type(model).__name__}. Allowed: a Keras model or layer, or a tf.Module."
            )
        if not getattr(model, "built", True) or not model.trainable_variables:
            tensors, whole = _parted(self._first_batch)
            self.own.call("loss", model, whole(tensors))  # builds what takes its form from a batch
        if not model.trainable_variables:
            raise OwnFileError(f"{self.own.path.name}: build: the model has no variables that are trained, after a loss, too.")
        for name, variable in _named_variables(model):
            if variable.dtype.is_complex and any(variable is _plain(each) for each in model.trainable_variables):
                raise OwnFileError(
                    f"{self.own.path.name}: build: {name} is trained, and of {variable.dtype.name}. "
                    "Allowed: float32. Hold its real and its imaginary part in two variables."
                )
            if variable.dtype.is_floating and variable.dtype != tf.float32:
                raise OwnFileError(
                    f"{self.own.path.name}: build: {name} is of {variable.dtype.name}. "
                    "Build in float32; Vigil sets the precision."
                )
        return model

    def _optimizer(self) -> Any:
        if not self.own.has("optimizer"):
            return None
        self._trained = {
            name: each for name, each in _named_variables(self.model, as_they_are=True) if name in self.parameters_of
        }
        optimizer = self.own.call("optimizer", self.model)
        if not hasattr(optimizer, "apply_gradients") or not hasattr(optimizer, "build"):
            raise OwnFileError(
                f"{self.own.path.name}: optimizer: gave {type(optimizer).__name__}. Allowed: an optimizer of Keras, "
                "none of tf.keras.optimizers.legacy."
            )
        optimizer.build(list(self._trained.values()))
        return optimizer


class Program(_Step):
    """The step in one context."""

    def __init__(self, own: OwnFile, request: StepRequest, facts: dict[str, Any]) -> None:
        super().__init__(own, request.precision, facts.get(_SCALE, 1.0))
        self._mode = request.mode
        self.changed = facts.get(_CHANGED, [])
        self._functions: dict[tuple, Function] = {}

    def carry_out(self, key: tuple, function: Function, arguments: list) -> Any:
        return self.converting(lambda: self._carried_out(key, function, arguments))

    def _carried_out(self, key: tuple, function: Function, arguments: list) -> Any:
        if self._draws_by_kernel:
            _seed()
        with _CountedSeeds() as seeds:
            if key not in self._functions:
                self._functions[key] = self._in_mode(function, arguments)
            found = self._functions[key](*arguments)
        self._draws_by_kernel |= seeds.are_drawn
        return found

    def value(self, variable: tf.Variable) -> np.ndarray:
        return self.numbers(variable.numpy())

    def _in_mode(self, function: Function, arguments: list) -> Function:
        if self._mode == "eager":
            return function
        if self._mode == "jit":
            return trace(function)
        compiled: Any = compile_function(function)
        drawing = sorted(each for each in _operators(compiled.get_concrete_function(*arguments).graph) if "Random" in each)
        if drawing:
            raise Unsupported(f"compile: the step draws at random ({', '.join(drawing)}), and XLA draws other numbers")
        return compiled


class Oracle(_Step):
    """The step in float64: its graph in a precision, interpreted."""

    answers_updates = False

    def __init__(self, own: OwnFile, request: StepRequest) -> None:
        from runners.tensorflow.interpreter import Interpreter

        super().__init__(own, request.precision, _FIRST_SCALE if request.precision == "fp16" else 1.0)
        self._interpreter = Interpreter()
        self._draw: int | None = None
        self._traced: dict[tuple, _Traced] = {}
        self._operators = 0
        self._overflows = False
        self._overflow: Overflow | None = None
        self._settled: set[tuple] = set()
        self._first_step: tuple[Arrays, list[tuple[str, int]]] = {}, []

    def under(self, draw: int | None, *, overflows: bool = False) -> None:
        self._draw, self._overflows = draw, overflows

    def choices(self) -> list[tuple[str, int]]:
        return self._interpreter.choices

    def overflow(self) -> Overflow | None:
        return self._interpreter.overflow

    def see_first(self, computed: Arrays) -> None:
        self._first_step = computed, list(self._interpreter.choices)

    def see_changed(self) -> None:
        if self.changed is None:
            first = {id(variable): value for variable, value in self._first}
            self.changed = [
                name for name, each in self.parameters_of.items() if not np.array_equal(self.value(each), first[id(each)])
            ]

    def first_step(self) -> tuple[Arrays, list[tuple[str, int]]]:
        return self._first_step

    def facts(self) -> dict[str, Any]:
        return {_SCALE: self.scale, _CHANGED: self.changed or [], "operators": self._operators, "remarks": self.remarks}

    def settle(self, facts: Mapping[str, Any]) -> None:
        self.scale, self.changed = facts[_SCALE], facts[_CHANGED]

    def train(self, steps: Sequence[Sequence[Batch]], taps: _Taps | None = None) -> Arrays:
        if self.scale != 1.0 and self._draw is None:
            for batches in steps:
                for batch in batches:
                    self._settle(batch)
        found = super().train(steps, taps)
        self._operators = max(self._operators, self._interpreter.operators)
        return found

    def update(self, before: Arrays, gradients: Arrays) -> Arrays:
        """Return what the optimizer makes of a state and of gradients, which hold each row once."""
        self.begin()
        named = {f"params/{name}": each for name, each in self.parameters_of.items()}
        named |= {f"optimizer/{name}": each for name, each in self.slots.items()}
        for name, value in before.items():
            variable = self._interpreter.of(named[name])
            variable.assign(tf.cast(value, variable.dtype))
        self.carry_out(("update",), self._update, [{name: tf.constant(each) for name, each in gradients.items()}])
        return self.state_of("after")

    def parameters(self) -> Arrays:
        return {name: each.numpy() for name, each in self.parameters_of.items()}

    def loss_at(self, batch: Batch, moved: Arrays) -> float:
        self._move(moved)
        tensors, whole = _parted(batch)

        def loss_of(*given: Any) -> dict[str, Any]:
            return {"loss": self._loss(whole(given), training=True)}

        return float(self.carry_out(("loss", *_form(batch)), loss_of, tensors)["loss"])

    def gradients_at(self, batch: Batch, moved: Arrays) -> Arrays:
        self._move(moved)
        gradients = self._differentiated(batch, 1.0, None)["gradients"]
        return {name: self._dense(name, each) for name, each in gradients.items()}

    def _move(self, moved: Arrays) -> None:
        """Begin with some parameters moved."""
        self.begin()
        for name, change in moved.items():
            self._interpreter.of(self.parameters_of[name]).assign_add(change)

    def begin(self) -> None:
        super().begin()
        self._interpreter.restart(self._draw, overflows=self._overflows)

    def carry_out(self, key: tuple, function: Function, arguments: list) -> Any:
        if self._draws_by_kernel:
            _seed()
        flat = tf.nest.flatten(arguments)
        key = (*key, *((tuple(each.shape), each.dtype) for each in flat))
        if key not in self._traced:
            # Gradients are float32 in the program. A batch is what the file gives: of float64, it is not rounded.
            is_narrow = key[0] in ("update", "sum")
            self._traced[key] = self.converting(lambda: _Traced(function, arguments, is_narrow=is_narrow))
            self._draws_by_kernel |= self._traced[key].draws_by_kernel
        return self._traced[key].interpreted(self._interpreter, flat)

    def value(self, variable: tf.Variable) -> np.ndarray:
        return self.numbers(self._interpreter.of(variable).numpy())

    def _settle(self, batch: Batch) -> None:
        """Halve the loss scale until the program's own gradients are finite, as a scaler does in its first steps.

        Where no scale makes them so, there is none: the program overflows by itself, or the framework does.
        """
        form = tuple(each.tobytes() for each in leaves(batch) if isinstance(each, np.ndarray))
        while form not in self._settled:
            super().begin()
            _, function, arguments = self.differentiation(batch, self.scale)
            gradients = self.converting(functools.partial(trace(function), *arguments))["gradients"]
            if all(bool(tf.reduce_all(tf.math.is_finite(each))) for each in tf.nest.flatten(gradients) if each.dtype.is_floating):
                self._settled.add(form)
            elif self.scale <= _LEAST_SCALE:
                self.scale = 1.0
                self._settled.add(form)
            else:
                self.scale /= 2.0
                self._settled.clear()


class _Traced:
    """A function's graph, as the interpreter takes it, and the form of what it returns."""

    def __init__(self, function: Function, arguments: list, *, is_narrow: bool) -> None:
        from runners.tensorflow.interpreter import Traced

        def flat(*given: Any) -> list[Any]:
            self._form = function(*tf.nest.pack_sequence_as(arguments, given))
            return tf.nest.flatten(self._form)

        kinds = [(each.shape, _narrow(each.dtype) if is_narrow else each.dtype) for each in tf.nest.flatten(arguments)]
        specs = [tf.TensorSpec(*kind) for kind in kinds]
        function_of_lists: Any = trace(flat)
        with _CountedSeeds() as seeds:
            self._traced = Traced(function_of_lists.get_concrete_function(*specs))
        self.draws_by_kernel = seeds.are_drawn

    def interpreted(self, interpreter: Any, flat: list) -> Any:
        return tf.nest.pack_sequence_as(self._form, interpreter.run(self._traced, flat))


class _Taps:
    """What each layer without layers in it gets and gives, in the order of the calls.

    Each of these tensors is a copy, so that its gradient is that of one use of it. Only calls that a graph of the step holds
    itself are tapped: what a loop calls is inside the loop's.
    """

    def __init__(self, model: Any) -> None:
        self._names = _leaf_layers(model)
        self._layers = {id(each): each for each in _sublayers(model)}
        self._patched: list[tuple[type, Any]] = []
        self._known: list[str] = []
        self._inside = False
        self._graph: Any = None
        self.tapped: dict[str, Any] = {}
        self._calls: dict[str, int] = {}
        self.is_probing = True

    def __enter__(self) -> _Taps:
        for kind in {type(self._layers[key]) for key in self._names}:
            self._patched.append((kind, kind.__dict__.get("__call__")))
            setattr(kind, "__call__", self._tapping(kind.__call__))  # noqa: B010
        return self

    def __exit__(self, *error: object) -> None:
        for kind, before in self._patched:
            if before is None:
                delattr(kind, "__call__")
            else:
                setattr(kind, "__call__", before)  # noqa: B010

    def shown(self, function: Function) -> Function:
        """Return a function in whose calls layers are tapped."""

        def tapping(*given: Any) -> Any:
            self.tapped, self._calls = {}, {}
            self._graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
            return function(*given)

        return tapping

    def _tapping(self, call: Function) -> Function:
        @tf.autograph.experimental.do_not_convert
        def tapped_call(layer: Any, *arguments: Any, **named: Any) -> Any:
            name = self._names.get(id(layer))
            graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
            if name is None or self._inside or graph is not self._graph:
                return call(layer, *arguments, **named)
            self._inside = True
            try:
                arguments = tuple(map_leaves(lambda leaf: self._tapped(leaf, f"{name}/input"), each) for each in arguments)
                result = call(layer, *arguments, **named)
            finally:
                self._inside = False
            return map_leaves(lambda leaf: self._tapped(leaf, f"{name}/output"), result)

        return tapped_call

    def _tapped(self, leaf: Any, name: str) -> Any:
        if not tf.is_tensor(leaf) or isinstance(leaf, tf.Variable) or leaf.dtype not in _FLOATS:
            return leaf
        count = self._calls[name] = self._calls.get(name, 0) + 1
        layer, _, end = name.rpartition("/")
        known = f"{layer}#{count}/{end}" if count > 1 else name
        if self.is_probing:
            self._known.append(known)
            return leaf
        if known not in self._known:
            return leaf
        copy = tf.identity(leaf)
        for mark in ("_keras_mask", "_keras_history"):
            if hasattr(leaf, mark):
                setattr(copy, mark, getattr(leaf, mark))
        self.tapped[f"{self._known.index(known):04d}/{known}"] = copy
        return copy


class _CountedSeeds:
    """Gives operators that are drawn at random without a seed one by their count: eager mode and graphs count differently.

    `are_drawn`: was any?
    """

    def __enter__(self) -> _CountedSeeds:
        self.are_drawn = False
        try:
            from tensorflow.python.framework import random_seed
        except ImportError:
            self._module = None
            return self
        self._module, self._before, count = random_seed, random_seed.get_seed, iter(range(1, 2**31))

        def get_seed(seed: int | None) -> tuple[int, int]:
            self.are_drawn = True
            return (_SEED + 1997, next(count) if seed is None else seed)

        random_seed.get_seed = get_seed
        return self

    def __exit__(self, *error: object) -> None:
        if self._module is not None:
            self._module.get_seed = self._before


def _operators(graph: Any) -> set[str]:
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    return {each.op for each in nodes} - {"StatelessRandomGetKeyCounter", "StatelessRandomGetAlg"}


def _seed() -> None:
    tf.keras.utils.set_random_seed(_SEED)


def _global_random_state() -> Iterator[tf.Variable]:
    """Yield the state of the generators that a program may draw from without one of its own."""
    tf.random.set_global_generator(tf.random.Generator.from_seed(_SEED))
    yield tf.random.get_global_generator().state


def _carried(model: Any) -> Iterator[tf.Variable]:
    """Yield what stateful layers carry from one batch to the next, which is none of a Keras model's variables."""
    for layer in (model, *_sublayers(model)):
        if getattr(layer, "stateful", False):
            yield from (_plain(each) for each in tf.nest.flatten(getattr(layer, "states", None)) if each is not None)


def _parted(batch: Batch) -> tuple[list[tf.Tensor], Callable[[Sequence[Any]], Batch]]:
    """Return a batch's arrays, and what makes a batch of such."""
    tensors = [tf.constant(leaf) for leaf in leaves(batch) if isinstance(leaf, np.ndarray)]

    def whole(given: Sequence[Any]) -> Batch:
        rest = iter(given)
        return map_leaves(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, batch)

    return tensors, whole


def _form(batch: Batch) -> tuple:
    return tuple((leaf.shape, str(leaf.dtype)) if isinstance(leaf, np.ndarray) else repr(leaf) for leaf in leaves(batch))


def _narrow(kind: tf.DType) -> tf.DType:
    """Return the type that the program has in the place of one of the interpreter's."""
    return tf.float32 if kind == tf.float64 else kind


def _as_tensors(gradient: Any) -> Any:
    """Return a gradient of rows as what a graph returns: a dict of tensors."""
    if isinstance(gradient, tf.IndexedSlices):
        return {"values": gradient.values, "indices": gradient.indices}
    return gradient


def _of_tensors(gradient: Any, variable: tf.Variable) -> Any:
    if isinstance(gradient, dict):
        return tf.IndexedSlices(gradient["values"], gradient["indices"], tf.constant(variable.shape.as_list(), tf.int32))
    return gradient


def _unscaled(gradient: Any, factor: float) -> Any:
    """Return a gradient times a factor; a half, whose small numbers are few, in float32."""
    if factor == 1.0:
        return gradient
    if isinstance(gradient, dict):
        return {"values": _unscaled(gradient["values"], factor), "indices": gradient["indices"]}
    return tf.cast(gradient, tf.float32) * factor


def _named_variables(model: Any, *, as_they_are: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield a model's variables by their paths. `as_they_are`: Keras' own, which its optimizers take."""
    for name, each in _unique((_path(variable), variable) for variable in model.variables):
        yield name, each if as_they_are else _plain(each)


def _unique(named: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    seen: dict[str, int] = {}
    for name, each in named:
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}_{seen[name]}"), each


def _path(variable: Any) -> str:
    return getattr(variable, "path", variable.name).removesuffix(":0")


def _plain(variable: Any) -> tf.Variable:
    """Return TensorFlow's own variable of one of Keras'."""
    return variable if isinstance(variable, tf.Variable) else variable.value


def _optimizer_variables(optimizer: Any) -> list[Any]:
    found = optimizer.variables
    return list(found() if callable(found) else found)


def _sublayers(model: Any) -> list[Any]:
    if hasattr(model, "_flatten_layers"):
        return list(model._flatten_layers(include_self=False))
    return list(model.submodules)


def _leaf_layers(model: Any) -> dict[int, str]:
    """Return the names of the layers that have none in them, or call those that they have in a loop."""
    looping = tuple(getattr(tf.keras.layers, name) for name in _LOOPING)
    found: dict[int, str] = {}
    within = set()
    for layer in _sublayers(model):
        inner = {id(each) for each in _sublayers(layer)} - {id(layer)}
        if isinstance(layer, looping):
            within |= inner
        if (not inner or isinstance(layer, looping)) and callable(layer):
            found[id(layer)] = (getattr(layer, "path", None) or layer.name).replace("/", ".")
    names = dict(_unique((name, key) for key, name in found.items() if key not in within))
    return {key: name for name, key in names.items()}


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"a tensor of {value.dtype.name} of shape {list(shape)}"


FRAMEWORK = Framework("tensorflow", _set_up, describe, to_numpy, Program, Oracle)
