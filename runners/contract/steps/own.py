"""A user's file: what it must define, and what may be wrong with it, said in one line."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from runners.contract.errors import ContractError
from runners.contract.protocol import host

BUILD, BATCH, LOSS = "build", "batch", "loss"
OPTIMIZER, PREDICT, ROWS, CAST, DISTRIBUTE = "optimizer", "predict", "take_rows", "cast", "distribute"
_MUST = {BUILD: "build()", BATCH: "batch(seed)", LOSS: "loss(model, batch)"}
_MAY = {
    OPTIMIZER: "optimizer(model)", PREDICT: "predict(model, batch)", ROWS: "take_rows(batch, indices)",
    CAST: "cast(model, precision)", DISTRIBUTE: "distribute(model)",
}  # fmt: skip


class Form(NamedTuple):
    """What a file must define, and what it may: functions, by name, as they are written."""

    what: str
    must: dict[str, str]
    may: dict[str, str]


STEP = Form("A step", _MUST, _MAY)
# What a loss may take besides: JAX's random key, and whether a Keras model is in training mode.
_OF_LOSS = ("key", "training")
# Gradients are not the derivative of the loss on purpose, as where something is detached from it.
STOPS_GRADIENT = "STOPS_GRADIENT"
Batch = Any
_MARKS, _OF_KERAS = re.compile(r"\x1b\[[\d;]*m"), "Exception encountered when calling"


class OwnFileError(ContractError):
    """The user's file cannot be used: what is wrong with it, and where."""

    category = "program"


class OwnFile:
    """What a user's file defines, each function checked, and errors of theirs told by file and line."""

    def __init__(self, path: Path, module: ModuleType, form: Form) -> None:
        self.path, self._module = path, module
        self.has_run = False  # in float64: what fails then is not the file's fault
        # The first numbers of the model by name: those that `build` makes, and those that take their place.
        self.made: dict[str, np.ndarray] = {}
        self.given: dict[str, np.ndarray] = {}
        for name, signature in form.must.items():
            if not callable(getattr(module, name, None)):
                raise OwnFileError(
                    f"{path.name}: {name}: missing. {form.what} needs {', '.join(form.must.values())}: define `def {signature}`."
                )
        for name, signature in (form.must | form.may).items():
            if self.has(name) and "..." not in signature:
                self._check_arguments(name, signature)
        self.stops_gradient = bool(getattr(module, STOPS_GRADIENT, False))

    def value(self, name: str, default: Any) -> Any:
        """Return a constant of the file; the default where it has none of this name."""
        return getattr(self._module, name, default)

    def signature(self, name: str) -> inspect.Signature:
        """Return what one of its functions takes."""
        return inspect.signature(getattr(self._module, name))

    def has(self, name: str) -> bool:
        """Does it define this?"""
        return getattr(self._module, name, None) is not None

    def takes(self, name: str, argument: str) -> bool:
        """Does one of its functions have an argument of this name?"""
        return argument in self.signature(name).parameters

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call one of its functions. Raises OwnFileError with the line that failed; out of memory stays that."""
        return self.call_as(name, getattr(self._module, name), *arguments, **named)

    def call_as(self, name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call what stands for one of its functions, and fail as that would."""
        try:
            return function(*arguments, **named)
        except ContractError:
            raise
        except Exception as error:
            raise self.blame(name, error) from error

    def first(self, name: str, made: np.ndarray) -> np.ndarray:
        """Return what the model begins with: what `build` made, unless other numbers of this form are given."""
        self.made[name] = made
        given = self.given.get(name)
        return made if given is None or not same_form(given, made) or same_bits(given, made) else given

    def blame(self, name: str, error: Exception) -> Exception:
        """Return the error of a function of the file, told by its last line there; out of memory is told as it is."""
        from runners.contract.protocol.launch import category

        if category(error) != "crash":
            return error
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self.path)]
        where = f"{self.path.name}:{lines[-1]}" if lines else self.path.name
        said = _said(error)
        return (ContractError if self.has_run else OwnFileError)(f"{where}: {name}: {type(error).__name__}: {said}")

    def _check_arguments(self, name: str, form: str) -> None:
        try:
            parameters = list(inspect.signature(getattr(self._module, name)).parameters.values())
        except (TypeError, ValueError):  # of a function of a compiled library nothing is known
            return
        wanted = form.count(",") + (not form.endswith("()"))
        parameters = [each for each in parameters if not (name == LOSS and each.name in _OF_LOSS)]
        positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        least = sum(each.default is each.empty for each in positional)
        is_open = any(each.kind is each.VAR_POSITIONAL for each in parameters)
        if least > wanted or (len(positional) < wanted and not is_open):
            raise OwnFileError(f"{self.path.name}: {name}: takes {len(positional)} arguments. Allowed: `def {form}`.")


def _said(error: Exception) -> str:
    """Return the first line of an error that says something: Keras puts the layer's call before it, and marks it bold."""
    lines = [line.strip() for line in _MARKS.sub("", str(error)).splitlines() if line.strip()]
    while len(lines) > 1 and lines[0].startswith(_OF_KERAS):
        lines = lines[1:]
    return lines[0] if lines else ""


def load_own(path: Path, sha256: str, form: Form = STEP) -> OwnFile:
    """Import a user's file, whose folder may hold modules that it imports.

    Raises OwnFileError where it has changed since it was asked about, cannot be imported or lacks a function.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OwnFileError(f"{path}: cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise OwnFileError(f"{path.name}: it has changed since this verification began; start a new one")
    sys.path.insert(0, str(path.parent))
    before = dict(os.environ)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OwnFileError(f"{path.name}: a step is a Python file, and ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # compilers look a function's globals up in its module, by name
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise OwnFileError(
            f"{path.name}: needs the module {error.name}, which this environment lacks: {sys.executable}"
        ) from error
    except SyntaxError as error:
        raise OwnFileError(f"{path.name}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path.name}:{lines[-1]}" if lines else path.name
        said = (str(error).strip().splitlines() or [""])[0]
        raise OwnFileError(f"{where}: cannot be imported: {type(error).__name__}: {said}") from error
    if dict(os.environ) != before:
        host.start_anew()  # a variable that the file sets is read by modules that a host has imported already
    return OwnFile(path, module, form)


def same_form(one: np.ndarray, other: np.ndarray) -> bool:
    """Have two arrays one shape and one type?"""
    return one.shape == other.shape and one.dtype == other.dtype


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Have two arrays of one form the same bits?"""
    return same_form(one, other) and one.tobytes() == other.tobytes()


def leaves(batch: Batch) -> Iterator[Any]:
    """Yield what a batch is made of, in order: all that is no tuple, list or dict."""
    if isinstance(batch, dict):
        for value in batch.values():
            yield from leaves(value)
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from leaves(value)
    else:
        yield batch


def map_leaves(function: Callable[[Any], Any], batch: Batch) -> Batch:
    """Return a batch with each of its leaves changed, and its form kept."""
    if isinstance(batch, dict):
        return {key: map_leaves(function, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_leaves(function, value) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(map_leaves(function, value) for value in batch)
    return function(batch)


def row_count(batch: Batch) -> int | None:
    """Return how many rows a batch has, the first axis of every array in it; None where they do not share one."""
    sizes = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in leaves(batch) if hasattr(leaf, "shape")}
    return sizes.pop() if len(sizes) == 1 and sizes != {0} else None


def take_rows(own: OwnFile, batch: Batch, indices: Sequence[int]) -> Batch:
    """Return some rows of a batch of NumPy arrays, by the file's own function where it has one."""
    if own.has(ROWS):
        return own.call(ROWS, batch, np.asarray(indices))
    return map_leaves(lambda leaf: leaf[np.asarray(indices)] if hasattr(leaf, "shape") else leaf, batch)
