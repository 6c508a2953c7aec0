"""A user's own training step, in one context or in float64.

A program that nobody declared: its parameters go by the names that `named_parameters` gives them, its modules by those of
`named_modules`.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from runners.contract.errors import ContractError, Unsupported
from runners.contract.steps.frame import Arrays, Framework
from runners.contract.steps.overflow import Overflow
from runners.contract.steps.own import DISTRIBUTE, Batch, OwnFile, OwnFileError, leaves, map_leaves
from runners.contract.steps.request import StepRequest
from runners.torch import determinism
from runners.torch.devices import device_of, replicas
from runners.torch.modes import compile_function, keep_compiled
from runners.torch.precision import autocast
from runners.torch.precision import set_up as set_up_precision
from runners.torch.shadows import shadowed

_SEED = 0
_FIRST_SCALE = 2.0**16  # that of torch.amp.GradScaler
_SCALE = "loss_scale"
# What an optimizer keeps as plain numbers, of parameters and of groups; and parameters without a gradient, which it passes over.
_NUMBERS, _GROUPS, _WITHOUT = "numbers", "groups", "without"
_MARGIN = 4.0  # another order of rows, or another batch, may have gradients that are larger


PEER = ["-m", "runners.torch.step_peer"]


def among(request: StepRequest, directory: Path) -> contextlib.AbstractContextManager:
    """Return what a step of several devices runs in: the group of their processes."""
    return replicas(request, run_directory=directory, rank=0, peer=PEER)


def set_up(request: StepRequest) -> None:
    """Configure PyTorch for what a process is asked."""
    torch.set_num_threads(request.threads)
    determinism.set_up(request.determinism)
    if request.device == "gpu":
        set_up_precision(request.precision, device=request.device)
        torch.cuda.set_device(device_of(request.device))
    keep_compiled(request, run_directory=Path())  # which only ranks of several devices share


def describe() -> dict[str, Any]:
    """Return what a record says of the framework."""
    gpu = {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda} if torch.cuda.is_initialized() else {}
    return gpu | {
        "framework_version": torch.__version__,
        "framework_path": torch.__file__,
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def to_numpy(batch: Batch) -> Batch:
    """Return a batch with its tensors as NumPy arrays."""
    return map_leaves(lambda leaf: leaf.detach().cpu().numpy() if isinstance(leaf, torch.Tensor) else leaf, batch)


def _to_torch(batch: Batch, device: torch.device) -> Batch:
    return map_leaves(lambda leaf: torch.from_numpy(np.array(leaf)).to(device) if isinstance(leaf, np.ndarray) else leaf, batch)


def _state(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Return parameters and buffers, those too that a state_dict leaves out."""
    return [*model.named_parameters(), *model.named_buffers()]


class _Step:
    """The file's model in its first state, its parameters and what is minimised, in a precision."""

    def __init__(self, own: OwnFile, precision: str, scale: float, device: str = "cpu") -> None:
        self.own, self.precision, self.scale, self.device = own, precision, scale, device_of(device)
        if precision not in ("fp32", "tf32", "bf16", "fp16"):
            raise Unsupported(f"{precision}: a step is verified in fp32, bf16 and fp16, on a GPU in tf32 as well")
        self.model = self._build()
        self._check_model(self.model)
        made = {name: tensor.detach().clone() for name, tensor in _state(self.model)}
        again = {name: tensor.detach() for name, tensor in _state(self._build())}
        for name, tensor in made.items():
            if name not in again or not torch.equal(tensor, again[name]):
                raise OwnFileError(
                    f"{own.path.name}: build: two calls after torch.manual_seed({_SEED}) gave other numbers, in {name}. "
                    "It must make the same model each time."
                )
        self._first = {name: _begun(own, name, tensor) for name, tensor in made.items()}
        self.called = self.model  # what the file's functions are given
        self.model.to(self.device)  # built on the CPU, so that it begins with the same numbers everywhere

    def _build(self) -> Any:
        torch.manual_seed(_SEED)
        return self.own.call("build")

    def _check_model(self, model: Any) -> None:
        if not isinstance(model, torch.nn.Module):
            raise OwnFileError(f"{self.own.path.name}: build: gave {type(model).__name__}. Allowed: a torch.nn.Module.")
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.device.type != "cpu":
                raise OwnFileError(f"{self.own.path.name}: build: {name} is on {tensor.device}. Build on the CPU.")
            if isinstance(tensor, torch.nn.Parameter) and tensor.is_floating_point() and tensor.dtype != torch.float32:
                raise OwnFileError(
                    f"{self.own.path.name}: build: {name} is of {tensor.dtype}. Build in float32; Vigil sets the precision."
                )

    def begin(self) -> Any:
        """Load the first state, seed what is drawn at random, and return a new optimizer, None where the file has none."""
        with torch.no_grad():
            for name, tensor in _state(self.model):
                tensor.copy_(self._first[name])
        for parameter in self.model.parameters():
            parameter.grad = None
        torch.manual_seed(_SEED)
        optimizer = self.own.call("optimizer", self.model) if self.own.has("optimizer") else None
        if optimizer is not None:
            closure = inspect.signature(optimizer.step).parameters.get("closure")
            if closure is not None and closure.default is inspect.Parameter.empty:
                raise OwnFileError(
                    f"{self.own.path.name}: optimizer: {type(optimizer).__name__} asks for the loss several times in a step, by "
                    "a closure. Allowed: one whose step() takes none."
                )
        self._begun_groups = _numbers_of_groups(optimizer) if optimizer is not None else {}
        return optimizer

    def autocast(self) -> contextlib.AbstractContextManager:
        return autocast(self.precision, device=self.device)

    def differentiate(self, loss_of: Callable[[Batch], Any], batch: Batch, share: float) -> Any:
        """Add the gradients of a batch's share of a step to what is there; return the loss."""
        loss = loss_of(_to_torch(batch, self.device))
        if getattr(loss, "shape", None) is None or loss.numel() != 1:
            raise OwnFileError(f"{self.own.path.name}: loss: gave {_shown(loss)}. Allowed: one number, a tensor of one element.")
        try:
            (loss.reshape(()) * (self.scale * share)).backward()
        except Exception as error:
            raise self.own.blame("loss", error) from error
        return loss

    def all_losses(self, loss_of: Callable[[Batch], Any], batches: Sequence[Batch]) -> list[Any]:
        """Add up the gradients of a step's batches; return their losses."""
        return [self.differentiate(loss_of, batch, 1.0 / len(batches)) for batch in batches]

    def unscale(self) -> None:
        """Take the loss scale out of the gradients."""
        if self.scale != 1.0:
            with torch.no_grad():
                for parameter in self.model.parameters():
                    if parameter.grad is not None:
                        parameter.grad.mul_(1.0 / self.scale)

    def steps(
        self,
        loss_of: Callable[[Batch], Any],
        steps: Sequence[Sequence[Batch]],
        read: Callable[[Any], np.ndarray],
        *,
        see_first: Callable[[Arrays], None] = lambda found: None,
    ) -> Arrays:
        """Take steps from the first state; return what the last one began with, what it computed and what it left.

        Args:
            see_first: is shown what the first of several steps computed.
        """
        optimizer = self.begin()
        self.model.train()
        found: Arrays = {}
        for place, batches in enumerate(steps):
            for parameter in self.model.parameters():
                parameter.grad = None
            losses = self.all_losses(loss_of, batches)
            self.unscale()
            found = self.computed(losses, read)  # before the optimizer, which may clip gradients
            if not place and len(steps) > 1:
                see_first(found)
            if optimizer is not None:
                # What the loss itself has changed, as an embedding of a largest norm, is no update.
                before = self.state_of(optimizer, read, "before")
                self.update_by(optimizer)
                found = found | before | self.state_of(optimizer, read, "after")
        return found

    def computed(self, losses: Sequence[Any], read: Callable[[Any], np.ndarray]) -> Arrays:
        """Return what a step has computed, from the losses of its batches."""
        found = {"loss": np.mean([read(loss) for loss in losses], axis=0).reshape(())}
        parameters = self.model.named_parameters()
        found |= {f"gradients/{name}": _gradient(each, read) for name, each in parameters if each.requires_grad}
        # A teacher's weights, which the loss itself moves, are no buffers.
        frozen = [(name, each) for name, each in self.model.named_parameters() if not each.requires_grad]
        return found | {f"stats/{name}": read(each) for name, each in [*self.model.named_buffers(), *frozen]}

    def update_by(self, optimizer: Any) -> None:
        """Let the optimizer take a step."""
        try:
            optimizer.step()
        except ContractError:
            raise
        except Exception as error:
            raise self.own.blame("optimizer", error) from error

    def state_of(self, optimizer: Any, read: Callable[[Any], np.ndarray], when: str) -> Arrays:
        """Return parameters and the tensors that the optimizer keeps of them.

        `before` an update also what makes it: the numbers of the optimizer's own, and which parameters have no gradient.
        """
        found = {}
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad:
                found[f"{when}/params/{name}"] = read(parameter)
            for slot, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    found[f"{when}/optimizer/{name}/{slot}"] = read(value)
        if when == "before":
            found |= {f"{when}/{name}": each for name, each in self._numbers_of(optimizer).items()}
        return found

    def _numbers_of(self, optimizer: Any) -> Arrays:
        """Return the plain numbers that an optimizer has changed, and an empty array for each parameter that has no gradient.

        What it was made with is the file's to say, as another release of it may.
        """
        found: Arrays = {}
        for name, parameter in self.model.named_parameters():
            if parameter.grad is None:
                found[f"{_WITHOUT}/{name}"] = np.zeros(0)
            for slot, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, (bool, int, float)):
                    found[f"{_NUMBERS}/{name}/{slot}"] = np.asarray(value)
        changed = _numbers_of_groups(optimizer).items() - self._begun_groups.items()
        return found | {name: np.asarray(value) for name, value in changed}

    def predicted(self, batch: Batch, evaluation: Callable[[Batch], Sequence[Any]], read: Callable[[Any], np.ndarray]) -> Arrays:
        """Return loss and outputs in evaluation mode."""
        self.begin()
        self.model.eval()
        with torch.no_grad():
            loss, *outputs = evaluation(_to_torch(batch, self.device))
            found = {"loss": read(loss).reshape(())}
            return found | {f"outputs/{place}": read(each) for place, each in enumerate(outputs)}

    def minimised(self, batch: Batch) -> Any:
        """Return the file's loss of a batch, in the precision."""
        with self.autocast():
            return self.own.call("loss", self.called, batch)

    def evaluation(self, batch: Batch) -> tuple[Any, ...]:
        """Return the loss and each tensor that is predicted."""
        loss = self.minimised(batch)
        if not self.own.has("predict"):
            return (loss,)
        with self.autocast():
            outputs = self.own.call("predict", self.called, batch)
        tensors = _tensors(outputs)
        strange = [each for each in leaves(outputs) if not isinstance(each, (torch.Tensor, bool, int, float, str, type(None)))]
        if strange or not tensors:
            found = type(strange[0]).__name__ if strange else "no tensor"
            raise OwnFileError(f"{self.own.path.name}: predict: gave {found}. Allowed: tensors, in tuples, lists and dicts.")
        return (loss, *tensors)


class Program(_Step):
    """The step in one context."""

    def __init__(self, own: OwnFile, request: StepRequest, facts: dict[str, Any]) -> None:
        super().__init__(own, request.precision, facts.get(_SCALE, 1.0), request.device)
        self._mode = request.mode
        self._compiled: dict[tuple, Callable[[Batch], Any]] = {}
        self._is_shared = request.devices > 1
        if self._is_shared:
            if self._mode == "jit":
                raise Unsupported("jit: a traced step has no part on another device. Allowed: eager, compile.")
            self.called = own.call(DISTRIBUTE, self.model)

    def all_losses(self, loss_of: Callable[[Batch], Any], batches: Sequence[Batch]) -> list[Any]:
        """Of several devices, each has one of the batches; gradients are means over them, and so is the loss that is returned."""
        if not self._is_shared:
            return super().all_losses(loss_of, batches)
        with torch.no_grad():
            for batch in batches[: dist.get_rank()]:  # so that what this device draws follows what those before it draw
                self.own.call("loss", self.model, _to_torch(batch, self.device))
        loss = self.differentiate(loss_of, batches[dist.get_rank()], 1.0).detach()
        dist.all_reduce(loss)
        return [loss / dist.get_world_size()]

    def train(self, steps: Sequence[Sequence[Batch]]) -> Arrays:
        return self.steps(self._in_mode(self.minimised), steps, _read)

    def evaluate(self, batch: Batch) -> Arrays:
        return self.predicted(batch, self._in_mode(self.evaluation), _read)

    def taps(self, batch: Batch) -> Arrays:
        with _Taps(self.model) as taps:
            taps.prepare(lambda: self.minimised(_to_torch(batch, self.device)), self.begin)
            function = taps.shown(self.minimised)
            program = _compiled(function, self._mode, self.model, batch=_to_torch(batch, self.device), leaves=taps.leaves)
            found = self.steps(taps.kept(program), [[batch]], _read)
            return taps.read(_read, self.scale, found["loss"]) | found

    def _in_mode(self, function: Callable[[Batch], Any]) -> Callable[[Batch], Any]:
        """Return a function of a batch as a program of the mode, one for each size of a batch."""

        def of_batch(batch: Batch) -> Any:
            # A trace keeps what is no tensor as it was.
            key = function.__name__, repr(map_leaves(_form, batch))
            if key not in self._compiled:
                self._compiled[key] = _compiled(function, self._mode, self.model, batch=batch)
            return self._compiled[key](batch)

        return of_batch


def _compiled(
    function: Callable[[Batch], Any], mode: str, model: Any, *, batch: Batch, leaves: Any = None
) -> Callable[[Batch], Any]:
    """Return a function of a batch as a program of a mode for batches of this size. `leaves`: parameters that it has besides."""
    if mode == "eager":
        return function
    if mode == "jit":
        return _traced(function, model, batch, leaves)
    program = compile_function(function, dynamic=False)
    from torch._inductor import config  # which older releases have not

    config.fallback_random = True  # what is drawn at random is drawn as in eager mode, so that all contexts draw the same
    return program


def _traced(function: Callable[[Batch], Any], model: Any, batch: Batch, leaves: Any) -> Callable[[Batch], Any]:
    """Return torch.jit.trace of what is minimised. Raises Unsupported where it cannot be traced."""

    tensors = _tensors(batch)

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.leaves = model, leaves

        def forward(self, *given: Any) -> Any:
            rest = iter(given)
            return function(map_leaves(lambda leaf: next(rest) if isinstance(leaf, torch.Tensor) else leaf, batch))

    module = Traced()
    module.train(model.training)
    before = {name: tensor.detach().clone() for name, tensor in _state(model)}
    with warnings.catch_warnings(), torch.random.fork_rng({each.device for each in tensors if each.is_cuda}):
        warnings.simplefilter("ignore")
        try:
            # The cache of autocast would record one cast of each weight as a constant.
            traced = torch.jit.trace(module, tuple(tensors), check_trace=False)
        except ContractError as error:
            with torch.no_grad():
                function(batch)  # which cannot be carried out at all
            raise Unsupported(f"torch.jit.trace cannot trace the step: {error}") from error
    with torch.no_grad():
        for name, tensor in _state(model):
            tensor.copy_(before[name])
    return lambda given: traced(*_tensors(given))


class Oracle(_Step):
    """The step in float64, on shadows of what eager mode computes in a precision."""

    def __init__(self, own: OwnFile, request: StepRequest) -> None:
        super().__init__(own, request.precision, _FIRST_SCALE if request.precision == "fp16" else 1.0)
        self._draw: int | None = None
        self._choices: list[tuple[str, int]] = []
        self._operators = 0
        self._has_margin = False
        self._taken: set[str] = set()
        self._overflows = False
        self._overflow: Overflow | None = None
        self._first_step: tuple[Arrays, int] = {}, 0

    def under(self, draw: int | None, *, overflows: bool = False) -> None:
        self._draw, self._overflows, self._overflow = draw, overflows, None

    def choices(self) -> list[tuple[str, int]]:
        return self._choices

    def overflow(self) -> Overflow | None:
        return self._overflow

    def first_step(self) -> tuple[Arrays, list[tuple[str, int]]]:
        found, chosen = self._first_step
        return found, self._choices[:chosen]

    def facts(self) -> dict[str, Any]:
        remarks = [
            f"operator {name} draws at random from numbers: its result is the program's own, and not held to float64"
            for name in sorted(self._taken)
        ]
        return {_SCALE: self.scale, "operators": self._operators, "remarks": remarks}

    def settle(self, facts: Mapping[str, Any]) -> None:
        self.scale, self._has_margin = facts[_SCALE], True

    def train(self, steps: Sequence[Sequence[Batch]]) -> Arrays:
        while True:
            with self._shadows() as shadows:

                def see_first(found: Arrays, shadows: Any = shadows) -> None:
                    self._first_step = found, len(shadows.choices)

                found = self.steps(self.minimised, steps, shadows.array, see_first=see_first)
            self._operators = max(self._operators, shadows.operators)
            # As a GradScaler does: what overflows in the program's own type is scaled by less. Shadows overflow nowhere.
            gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
            if self.scale > 1.0 and not all(bool(torch.isfinite(each).all()) for each in gradients):
                self.scale /= 2.0
            elif self.scale > _MARGIN and not self._has_margin:
                self.scale, self._has_margin = self.scale / _MARGIN, True
            else:
                return found

    def evaluate(self, batch: Batch) -> Arrays:
        with self._shadows() as shadows:
            return self.predicted(batch, self.evaluation, shadows.array)

    def taps(self, batch: Batch) -> Arrays:
        with _Taps(self.model) as taps:
            taps.prepare(lambda: self.minimised(_to_torch(batch, self.device)), self.begin)
            with self._shadows() as shadows:
                found = self.steps(taps.kept(taps.shown(self.minimised)), [[batch]], shadows.array)
                return taps.read(shadows.array, self.scale, found["loss"]) | found

    def update(self, before: Arrays, gradients: Arrays) -> Arrays:
        optimizer = self.begin()
        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, parameter in parameters.items():
                if f"params/{name}" in before:
                    parameter.copy_(torch.from_numpy(before[f"params/{name}"]))
                if name in gradients and f"{_WITHOUT}/{name}" not in before:
                    parameter.grad = torch.from_numpy(np.array(gradients[name])).to(parameter.dtype)
            for key, value in before.items():
                group, _, rest = key.partition("/")
                name, _, slot = rest.rpartition("/")
                if group == "optimizer":
                    optimizer.state[parameters[name]][slot] = torch.from_numpy(np.array(value))
                elif group == _NUMBERS:
                    optimizer.state[parameters[name]][slot] = value.item()
                elif group == _GROUPS:
                    optimizer.param_groups[int(name)][slot] = value.item()
        with self._shadows() as shadows:
            self.update_by(optimizer)
            return self.state_of(optimizer, shadows.array, "after")

    def parameters(self) -> Arrays:
        return {name: _read(each) for name, each in self.model.named_parameters() if each.requires_grad}

    def loss_at(self, batch: Batch, moved: Arrays) -> float:
        with self._shadows() as shadows, torch.no_grad():
            self._move(shadows, moved)
            return float(shadows.array(self.minimised(_to_torch(batch, self.device))))

    def gradients_at(self, batch: Batch, moved: Arrays) -> Arrays:
        with self._shadows() as shadows:
            self._move(shadows, moved)
            self.all_losses(self.minimised, [batch])
            self.unscale()
            named = self.model.named_parameters()
            return {name: _gradient(each, shadows.array) for name, each in named if each.requires_grad}

    def _move(self, shadows: Any, moved: Arrays) -> None:
        """Begin with some parameters moved."""
        self.begin()
        self.model.train()
        with torch.no_grad():
            for name, each in self.model.named_parameters():
                if name in moved:
                    shadows.of(each).add_(torch.from_numpy(moved[name]))

    @contextlib.contextmanager
    def _shadows(self) -> Iterator[Any]:
        with shadowed(self._draw, precision=self.precision, overflows=self._overflows) as shadows:
            yield shadows
        self._choices, self._overflow = shadows.choices, shadows.overflow
        self._taken |= shadows.taken


class _Taps:
    """What each module without children gives, and the gradients of what it gives and gets, in the order of the calls.

    Each of these tensors has zeros added to it, a leaf, whose gradient is that of the tensor.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __enter__(self) -> _Taps:
        self.leaves = torch.nn.ParameterList()
        self._names: list[str] = []
        self._tapped_tensors: list[Any] = []
        self._given: list[Any] = []
        self._is_probing = True
        self._place = 0
        modules = [(name, each) for name, each in self._model.named_modules() if name and not any(each.children())]
        self._handles = [each.register_forward_pre_hook(self._on_input(name)) for name, each in modules]
        self._handles += [each.register_forward_hook(self._on_output(name)) for name, each in modules]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def prepare(self, forward: Callable[[], Any], begin: Callable[[], Any]) -> None:
        """Run the forward pass once, so that each leaf has its shape."""
        begin()
        self._model.train()
        with torch.no_grad():
            forward()
        self._is_probing = False
        begin()

    def shown(self, function: Callable[[Batch], Any]) -> Callable[[Batch], Any]:
        """Return the function with what modules got and gave besides its result."""

        def with_tapped(batch: Batch) -> Any:
            self._place = 0
            self._tapped_tensors = []
            result = function(batch)
            return (result, *self._tapped_tensors)

        return with_tapped

    def kept(self, program: Callable[[Batch], Any]) -> Callable[[Batch], Any]:
        """Return the function, with what it gave besides kept here."""

        def loss_of(batch: Batch) -> Any:
            loss, *self._given = program(batch)
            return loss

        return loss_of

    def read(self, read: Callable[[Any], np.ndarray], scale: float, loss: np.ndarray) -> Arrays:
        """Return all of it, in the order in which it was computed."""
        named = [(f"{place:04d}/{name}", leaf) for place, (name, leaf) in enumerate(zip(self._names, self.leaves, strict=True))]
        found = {f"forward/{name}": read(given) for (name, _), given in zip(named, self._given, strict=True)}
        found["loss"] = loss
        return found | {f"backward/{name}": _gradient(leaf, read) / scale for name, leaf in named[::-1]}

    def _on_input(self, name: str) -> Callable:
        def tap(module: Any, arguments: Any) -> Any:
            return map_leaves(lambda leaf: self._tapped(leaf, f"{name}/input"), arguments)

        return tap

    def _on_output(self, name: str) -> Callable:
        def tap(module: Any, arguments: Any, output: Any) -> Any:
            return map_leaves(lambda leaf: self._tapped(leaf, f"{name}/output"), output)

        return tap

    def _tapped(self, leaf: Any, name: str) -> Any:
        if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
            return leaf
        if self._is_probing:
            self._names.append(name)
            self.leaves.append(torch.nn.Parameter(torch.zeros_like(leaf)))
            return leaf
        if self._place == len(self.leaves):  # a checkpoint computes it again in the backward pass
            return leaf + next(
                each
                for known, each in zip(self._names, self.leaves, strict=True)
                if (known, each.shape, each.dtype) == (name, leaf.shape, leaf.dtype)
            )
        tapped = leaf + self.leaves[self._place]
        self._place += 1
        self._tapped_tensors.append(tapped)
        return tapped


def _begun(own: OwnFile, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return what the model begins with; what NumPy has no type for is always its own."""
    return tensor if tensor.dtype == torch.bfloat16 else torch.from_numpy(np.array(own.first(name, tensor.numpy())))


def _tensors(batch: Batch) -> list[Any]:
    return [leaf for leaf in leaves(batch) if isinstance(leaf, torch.Tensor)]


def _numbers_of_groups(optimizer: Any) -> dict[str, float]:
    groups = ((place, key, value) for place, group in enumerate(optimizer.param_groups) for key, value in group.items())
    return {f"{_GROUPS}/{place}/{key}": value for place, key, value in groups if isinstance(value, (bool, int, float))}


def _form(leaf: Any) -> Any:
    return (tuple(leaf.shape), str(leaf.dtype)) if isinstance(leaf, torch.Tensor) else leaf


def _gradient(parameter: Any, read: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Return a gradient; of what the loss does not depend on, eager mode has none, and compiled programs have zeros."""
    return np.zeros(tuple(parameter.shape)) if parameter.grad is None else read(parameter.grad)


def _read(tensor: Any) -> np.ndarray:
    detached = tensor.detach().resolve_conj().resolve_neg()
    return (detached.float() if detached.is_floating_point() else detached).cpu().numpy().copy()


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"a tensor of shape {list(shape)}"


FRAMEWORK = Framework("torch", set_up, describe, to_numpy, Program, Oracle, has_parts=True, among=among)
