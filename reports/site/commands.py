"""The commands that show a cell again, with the release that was tested: to copy into a terminal."""

from __future__ import annotations

import dataclasses
import shlex

from reports.site.cell_results import Key
from reports.site.standing import public
from reports.site.words import plain
from vigil.documents.context import Context, parse_context
from vigil.errors import UsageError
from vigil.recipes.loading import DEFAULT_PROFILE

_ALWAYS = ("framework", "mode", "precision")
_SEEDS = 5


def verify_command(key: Key, release: str | None, *, source: str | None = None) -> str | None:
    """Return the verification of a cell, or None for a context that this Vigil does not know."""
    return _command("verify", key, release, source)


def reproduce_command(key: Key, release: str | None, *, source: str | None = None) -> str | None:
    """Return the reproduction of a cell with several seeds."""
    return _command("reproduce", key, release, source, f"--seeds {_SEEDS}")


def compare_command(key: Key, before: str | None, release: str | None, *, source: str | None = None) -> str | None:
    """Return the comparison of two releases in a cell; None where they are not two."""
    context = _context(key)
    if context is None or not before or not release or public(before) == public(release):
        return None
    old, new = (shlex.quote(f"{context.framework}=={public(each)}") for each in (before, release))
    options = _options(context, without=("framework", "randomness"))
    return " ".join(["vigil compare", *_recipe(key, source), old, new, *options])


def _command(verb: str, key: Key, release: str | None, source: str | None, *more: str) -> str | None:
    context = _context(key)
    if context is None:
        return None
    options = _options(context, without=("randomness",) if verb == "verify" else ())  # of which verify has none
    pin = [f"--release {shlex.quote(f'{context.framework}=={public(release)}')}"] if release else []
    return " ".join([f"vigil {verb}", *_recipe(key, source), *options, *pin, *more])


def _context(key: Key) -> Context | None:
    try:
        return parse_context(key[2])
    except UsageError:
        return None


def _recipe(key: Key, source: str | None) -> list[str]:
    profile = [] if key[1] == DEFAULT_PROFILE else [f"--profile {shlex.quote(plain(key[1]))}"]
    return [shlex.quote(plain(source or key[0])), *profile]


def _options(context: Context, *, without: tuple[str, ...] = ()) -> list[str]:
    options = []
    for field in dataclasses.fields(context):
        value = getattr(context, field.name)
        if field.name not in without and (field.name in _ALWAYS or value != field.default):
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
            options.append(f"--{field.name} {shown}")
    return options
