"""The command that looks at a cell: one builder, so that every block, tag and page gives the same line to copy."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Sequence

from vigil.documents.context import Context
from vigil.recipes.recipe import DEFAULT_PROFILE, in_command


def cell_command(
    verb: str,
    recipe: str,
    context: Context,
    *,
    profile: str,
    source: str | None = None,
    releases: Sequence[str] = (),
    fault: str | None = None,
    seeds: int | None = None,
) -> str:
    """Return a command line for a shell.

    Args:
        recipe, profile: by name.
        source: the file of a recipe of a user's own.
        releases: of the framework, as they were asked for; `compare` has the old one and the new one.
        fault: the file of a planted fault.
    """
    shown = ["--profile", profile] if profile != DEFAULT_PROFILE else []
    if verb in ("verify", "compare"):
        # Native randomness has weights and batches of its own, which no tape knows.
        context = dataclasses.replace(context, randomness="shared")
    if verb == "compare":
        words = [*shown, *releases, *context.options[2:]]  # without the framework, which the releases name
    else:
        words = [*shown, *context.options, *(word for release in releases for word in ("--release", release))]
    words += ["--fault", fault] if fault else []
    words += ["--seeds", str(seeds)] if seeds else []
    return f"vigil {verb} {in_command(recipe, source)} {shlex.join(words)}"


def fault_in(command: str) -> str | None:
    """Return the file of the planted fault that a command names."""
    try:
        given = shlex.split(command)
    except ValueError:  # of a document from before commands were quoted
        given = command.split()
    return next((value for option, value in itertools.pairwise(given) if option == "--fault"), None)
