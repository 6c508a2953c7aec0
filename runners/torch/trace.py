"""What a user's script computes with PyTorch, written down as it runs: modules, gradients, parameters, and single operators.

Hooks of all modules and optimizers see a script that was not changed. Within compiled code they are left out, so that it stays in
one piece: what goes into a compiled module and what comes out is seen. Operators are seen in the window that is asked for alone.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from runners.contract.trace.digests import digest_of_bytes
from runners.contract.trace.records import FORWARD, GRADIENT, INPUT, VARIABLE, Recorder, tried
from runners.contract.trace.where import user_line
from runners.torch import determinism

_watch: _Watch | None = None
_is_recording = False
# They leave memory as it was.
_UNSET = {"empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "empty_quantized", "empty_permuted"}
# They write over all of their first argument, whatever was in it.
_FILLING = {
    "zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "log_normal_", "cauchy_",
    "geometric_",
}  # fmt: skip


def install(recorder: Recorder, framework: str, *, has_seeds: bool, has_switch: bool) -> None:
    """Hook all modules, optimizers and backward passes, and begin to look at operators if that is asked."""
    global _watch
    recorder.frameworks["torch"] = torch.__version__
    if has_seeds:
        torch.manual_seed(0)
    if has_switch:
        determinism.set_up("on")
    _watch = _Watch(recorder)
    _watch.install()
    if recorder.ask.window is not None:
        _Operators(recorder).__enter__()


def watch(recorder: Recorder, model: torch.nn.Module, optimizer: Any = None) -> None:
    """Name a model's modules and parameters, and record gradients and updates of an optimizer's parameters."""
    if _watch is not None:
        _watch.root(model)
        for group in optimizer.param_groups if optimizer is not None else ():
            for parameter in group["params"]:
                _watch.parameter(parameter, "parameter")


def monitor(recorder: Recorder, value: Any, name: str) -> Any:
    """Record a tensor, and its gradient in the backward pass."""
    if isinstance(value, torch.Tensor) and not _is_unseen(value):
        if value.requires_grad and torch.is_grad_enabled():
            value = value.view_as(value)  # a leaf's own gradient would be told as that of each use of it
        _record(recorder, value, name, FORWARD)
        _hook_gradient(recorder, value, name)
    return value


class _Watch:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._names: dict[int, tuple[weakref.ref, str]] = {}
        self._roots: dict[int, weakref.ref] = {}
        self._last: tuple[Any, int] = (lambda: None, 0)
        self._has_modules = False

    def install(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        modules.register_module_forward_pre_hook(self._enters)
        modules.register_module_forward_hook(self._leaves)
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: self._before(optimizer))
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self._updated(optimizer))
        torch.autograd.backward, torch.autograd.grad = self._backward(torch.autograd.backward), self._grad(torch.autograd.grad)

    def root(self, model: torch.nn.Module) -> None:
        """Name all modules and parameters of a model by it."""
        kind = type(model).__name__
        taken = sum(1 for ref in self._roots.values() if type(ref()).__name__ == kind)
        top = kind if not taken else f"{kind}#{taken + 1}"
        self._roots[id(model)] = weakref.ref(model)
        for name, each in model.named_modules():
            self._names[id(each)] = weakref.ref(each), f"{top}.{name}" if name else top
        for name, parameter in model.named_parameters():
            self.parameter(parameter, f"{top}.{name}")

    def parameter(self, parameter: torch.Tensor, name: str) -> str:
        """Record the gradients of a parameter from now on; return its name."""
        known = self._names.get(id(parameter))
        if known is not None and known[0]() is parameter:
            return known[1]
        if name == "parameter":
            name = f"parameter#{sum(1 for _, each in self._names.values() if each.startswith('parameter#')) + 1}"
        self._names[id(parameter)] = weakref.ref(parameter), name
        if parameter.requires_grad and parameter.is_leaf:
            parameter.register_hook(lambda gradient: _record(self.recorder, gradient, name, GRADIENT))
        return name

    def _name(self, module: torch.nn.Module) -> str | None:
        known = self._names.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def _enters(self, module: torch.nn.Module, given: Any) -> None:
        if _is_compiling() or isinstance(module, torch.jit.ScriptModule):
            return
        self._has_modules = True
        name = self._name(module)
        if name is None:
            self.root(module)
            name = self._name(module)
        known = self._roots.get(id(module))
        if known is not None and known() is module and name is not None:
            for place, each in enumerate(_tensors(given)):
                self._once(each, f"{name}.input{place or ''}", INPUT)

    def _leaves(self, module: torch.nn.Module, given: Any, result: Any) -> None:
        if _is_compiling():
            return
        name = self._name(module)
        if name is None:
            return
        found = _tensors(result)
        for place, each in enumerate(found):
            self._once(each, f"{name}[{place}]" if len(found) > 1 else name, FORWARD)

    def _once(self, tensor: torch.Tensor, name: str, kind: str) -> None:
        """Record a tensor unless it was the last one: a container gives what its last module gave."""
        if _is_unseen(tensor) or (self._last[0]() is tensor and self._last[1] == _version(tensor)):
            return
        self._last = weakref.ref(tensor), _version(tensor)
        _record(self.recorder, tensor, name, kind)
        if kind == FORWARD:
            _hook_gradient(self.recorder, tensor, name)

    def _before(self, optimizer: torch.optim.Optimizer) -> None:
        for parameter in _parameters(optimizer):
            known = self._names.get(id(parameter))
            if known is None or known[0]() is not parameter:
                name = self.parameter(parameter, "parameter")
                if parameter.grad is not None:
                    _record(self.recorder, parameter.grad, name, GRADIENT)

    def _updated(self, optimizer: torch.optim.Optimizer) -> None:
        for parameter in _parameters(optimizer):
            _record(self.recorder, parameter.detach(), self.parameter(parameter, "parameter"), VARIABLE)
        if self.recorder.counts_steps:
            self.recorder.steps()

    def _backward(self, own: Callable) -> Callable:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            roots = [each for each in _tensors(tensors) if not _is_unseen(each)]
            for place, each in enumerate(roots):
                self._once(each, f"loss{place or ''}", FORWARD)
            if not self._has_modules:
                for leaf in _leaves(roots):
                    self.parameter(leaf, "parameter")
            own(tensors, *args, **kwargs)

        return backward

    def _grad(self, own: Callable) -> Callable:
        def grad(*args: Any, **kwargs: Any) -> Any:
            gradients = own(*args, **kwargs)
            for place, each in enumerate(_tensors(gradients)):
                if not _is_unseen(each):
                    _record(self.recorder, each, f"autograd.grad[{place}]", GRADIENT)
            return gradients

        return grad


class _Operators(TorchDispatchMode):
    """Writes down the operators of a window, with what they are given and give; one of them is tried alone."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._is_own = False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if self._is_own or _is_recording or not self._recorder.looks or func is torch.ops.aten.detach.default:
            return func(*args, **kwargs)
        self._is_own = True
        try:
            name = func._schema.name.partition("::")[2]
            given = [each for each in _tensors((args, kwargs)) if not _is_unseen(each)]
            read = given[1:] if name in _FILLING and args and given and args[0] is given[0] else given
            digests: list[Any] = [_told(each) for each in read if not any(each is out for out in _outs(func, kwargs))]
            digests += [repr(each) for each in tree_flatten((args, kwargs))[0] if isinstance(each, (int, float, complex, str))]
            number = self._recorder.operators
            is_tried = self._recorder.ask.experiment == number
            copied = tree_map(_copy, (args, kwargs)) if is_tried else None
            result = func(*args, **kwargs)
            gives = [] if name in _UNSET else [_told(each) for each in _tensors(result) if not _is_unseen(each)]
            marks = ["random"] if any("nondeterministic_seeded" in str(tag) for tag in getattr(func, "tags", ())) else []
            self._recorder.add_operator(str(func), _where(), digests, gives, marks)
            if copied is not None:
                self._recorder.write_experiment(_experiments(func, copied, self._recorder.ask.row))
            return result
        finally:
            self._is_own = False


def _record(recorder: Recorder, tensor: torch.Tensor, name: str, kind: str) -> None:
    global _is_recording
    if _is_unseen(tensor):
        return
    _is_recording = True
    try:
        with torch.no_grad():
            flat = _flat(tensor)
            digest: Any = digest_of_bytes(flat.numpy()) if flat.device.type == "cpu" else digest_on_device(flat)
            recorder.add(
                name, kind, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), digest, lambda: _numbers(tensor),
                None if flat.device.type == "cpu" else _read_back,
            )  # fmt: skip
    finally:
        _is_recording = False


def digest_on_device(flat: torch.Tensor) -> torch.Tensor:
    """Return the digest of flat bytes as a tensor on their device: whole numbers, whose sum has no order.

    Of words of 32 bits, each widened before it is multiplied by an odd number that depends on its place.
    """
    words = torch.nn.functional.pad(flat, (0, -flat.numel() % 4)).view(torch.int32).to(torch.int64)
    places = torch.arange(words.numel(), device=flat.device, dtype=torch.int64)
    weights = (places * 0x2545F4914F6CDD1D + 0x1405_7B7E_F767_814F) ^ (places * 0x5851F42D4C957F2D) >> 29
    return (words * (weights | 1)).sum()


def _read_back(digests: list[torch.Tensor]) -> list[int]:
    return torch.stack([each.to(digests[0].device) for each in digests]).tolist()


def _hook_gradient(recorder: Recorder, tensor: torch.Tensor, name: str) -> None:
    if tensor.requires_grad and tensor.is_floating_point() and torch.is_grad_enabled():
        tensor.register_hook(lambda gradient: _record(recorder, gradient, name, GRADIENT))


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor: in the order in which they lie where they are close together, else row by row."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if not tensor.is_contiguous():
        order = sorted(range(tensor.ndim), key=lambda axis: -tensor.stride(axis))
        tensor = tensor.permute(order).contiguous()
    return tensor.reshape(-1).view(torch.uint8)


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    """Return the numbers of a tensor; those that NumPy has no type for in float32, which holds all of them."""
    tensor = tensor.detach().cpu()
    tensor = tensor.to_dense() if tensor.layout != torch.strided else tensor
    try:
        return tensor.numpy().copy()
    except (TypeError, RuntimeError):
        return tensor.to(torch.float32).numpy()


def _told(tensor: torch.Tensor) -> list[Any]:
    flat = _flat(tensor)
    digest = digest_of_bytes(flat.numpy()) if flat.device.type == "cpu" else int(digest_on_device(flat))
    return [str(tensor.dtype).removeprefix("torch."), list(tensor.shape), digest]


def _experiments(func: Any, copied: tuple[tuple, dict], row: int | None) -> dict[str, Any]:
    """Return how many results an operator has of the same inputs: as it is, on one thread, and so on."""

    def call(given: tuple[tuple, dict]) -> int:
        args, kwargs = tree_map(_copy, given)
        result = func(*args, **kwargs)
        return hash(tuple(_told(each)[2] for each in _tensors(result)))

    found = {"alone": tried(lambda: call(copied))}
    with _threads(1):
        found["one thread"] = tried(lambda: call(copied))
    with _deterministic():
        found["switch"] = tried(lambda: call(copied))
    given = next(iter(_tensors(copied)), None)
    if row is not None and given is not None and given.ndim > 1 and row < given.shape[0]:
        alone = tree_map(lambda each: each[row : row + 1].clone() if each is given else each, copied)
        found["the row alone"] = tried(lambda: call(alone))
    return found


@contextlib.contextmanager
def _threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def _where() -> str:
    """Return the node of the backward pass that is under way, or the user's line."""
    node = getattr(torch._C, "_current_autograd_node", lambda: None)()
    if node is not None:
        return str(node.name())
    return user_line()


def _leaves(roots: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors that a backward pass from these gives gradients to."""
    pending, seen, found = [each.grad_fn for each in roots if each.grad_fn is not None], set(), []
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if (leaf := getattr(node, "variable", None)) is not None:
            found.append(leaf)
        pending += [each for each, _ in node.next_functions if each is not None]
    return found


def _outs(func: Any, kwargs: dict) -> list[Any]:
    """Return the tensors that an operator writes its results over."""
    return [kwargs[each.name] for each in func._schema.arguments if each.is_out and each.name in kwargs]


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def _tensors(value: Any) -> list[torch.Tensor]:
    return [each for each in tree_flatten(value)[0] if isinstance(each, torch.Tensor)]


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _is_compiling() -> bool:
    compiler = getattr(torch, "compiler", None)
    asked = getattr(compiler, "is_compiling", None) or torch._dynamo.is_compiling
    return bool(asked() or torch.jit.is_tracing())


def _is_unseen(tensor: torch.Tensor) -> bool:
    """Has a tensor no bits of its own: without data, of a program that is being traced, or of a function over many?"""
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
        return True
    return tensor.is_meta or tensor.is_quantized or type(tensor).__name__ in ("FakeTensor", "FunctionalTensor")
