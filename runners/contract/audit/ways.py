"""The public calls of a framework: one module a family, and Keras's beside them where it is installed."""

from __future__ import annotations

import fnmatch
import functools
import importlib.metadata
import importlib.util
import os
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Call = Callable[..., Any]
# By operator and public name. None: the public name is called as it is.
Calls = Mapping[str, Mapping[str, Call | None]]
KERAS = "keras"


def use_keras(backend: str) -> None:
    """Let Keras, if it is imported later, compute with this framework."""
    os.environ["KERAS_BACKEND"] = backend


def has_keras() -> bool:
    """Is Keras installed beside the framework?"""
    return importlib.util.find_spec(KERAS) is not None


def version_of_keras() -> dict[str, str]:
    """Return what a record says of Keras: nothing where it is not installed."""
    return {"keras_version": importlib.metadata.version(KERAS)} if has_keras() else {}


def calls_of(framework: str, family: str, patterns: Sequence[str]) -> Calls:
    """Return the calls of a family whose public names match a pattern, by operator: the framework's, and Keras's on it."""
    chosen: dict[str, dict[str, Call | None]] = {}
    for module in _modules(framework, family, wants_keras=any(each.startswith((KERAS, "*")) for each in patterns)):
        for operator, calls in module.CALLS.items():
            kept = {name: call for name, call in calls.items() if any(fnmatch.fnmatchcase(name, each) for each in patterns)}
            chosen.setdefault(operator, {}).update(kept)
    return chosen


def _modules(framework: str, family: str, *, wants_keras: bool) -> Iterator[Any]:
    names = [f"runners.{framework}.calls.{family}"]
    if wants_keras and has_keras():
        names.append(f"runners.{KERAS}.{family}")
    for name in names:
        if importlib.util.find_spec(name):
            yield pkgutil.resolve_name(name)


def named_by(name: str) -> str:
    """Return the public name alone: what stands in brackets behind it says which form of it is meant.

    >>> named_by("torch.nn.LSTM (two directions)")
    'torch.nn.LSTM'
    """
    return re.sub(r" \(.*\)$", "", name)


@functools.cache
def found(name: str) -> Any:
    """Return what a public name stands for in what is installed; None where there is no such name."""
    try:
        return _resolved(named_by(name))
    except (ImportError, AttributeError):
        return None


def _resolved(name: str) -> Any:
    """Return what a name stands for, each part looked up before it is imported: importing tensorflow.nn makes tf.nn anew."""
    path, *rest = name.split(".")
    value: Any = pkgutil.resolve_name(path)
    for part in rest:
        path = f"{path}.{part}"
        value = getattr(value, part) if hasattr(value, part) else pkgutil.resolve_name(path)
    return value


def called(name: str, call: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the call of a public name: None stands for the name itself, its tensors by position and its parameters by name."""
    return call or (lambda **arguments: _by_position(found(name), arguments))


def _by_position(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    tensors = [each for each in arguments.values() if hasattr(each, "shape")]
    rest = {name: each for name, each in arguments.items() if not hasattr(each, "shape")}
    return function(*tensors, **rest)


def all_ways(framework: str) -> dict[str, list[str]]:
    """Return the public names that are called, by operator, of every family."""
    folders = [f"runners.{framework}.calls"] + ([f"runners.{KERAS}"] if has_keras() else [])
    ways: dict[str, list[str]] = {}
    for folder in folders:
        for each in pkgutil.iter_modules(pkgutil.resolve_name(folder).__path__):
            for operator, calls in getattr(pkgutil.resolve_name(f"{folder}.{each.name}"), "CALLS", {}).items():
                ways.setdefault(operator, []).extend(calls)
    return ways


def namespaces(framework: str) -> tuple[str, ...]:
    """Return the namespaces whose public names an audit of a framework should reach: its own, and Keras's on it."""
    names = [f"runners.{framework}.calls"] + ([f"runners.{KERAS}"] if has_keras() else [])
    return tuple(space for name in names for space in pkgutil.resolve_name(name).NAMESPACES)


_FOREIGN = ("typing", "collections", "builtins", "abc", "functools", "enum")


def public_names(framework: str) -> dict[str, dict[str, str]]:
    """Return the public functions and classes of each namespace: full name -> the first name of the same object."""
    first: dict[int, str] = {}
    names: dict[str, dict[str, str]] = {}
    for namespace in namespaces(framework):
        space = found(namespace)
        listed = getattr(space, "__all__", None) or [name for name in dir(space) if not name.startswith("_")]
        values = [(name, getattr(space, name, None)) for name in sorted(listed)] if space is not None else []
        names[namespace] = {
            f"{namespace}.{name}": first.setdefault(id(value), f"{namespace}.{name}")
            for name, value in values
            if callable(value) and not _is_foreign(value)
        }
    return names


def _is_foreign(value: Any) -> bool:
    """Is it what the namespace has only imported, a type hint or what belongs to Python?"""
    return str(getattr(value, "__module__", "")).partition(".")[0] in _FOREIGN
