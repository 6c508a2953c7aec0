"""The command that looks at a cell: one builder, so that every block, tag and page gives the same line to copy."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from vigil.documents.context import Context
from vigil.documents.night import AUDIT, Night
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


def own_command(night: Night, kind: str, name: str, context: Context) -> str:
    """Return the command that looks again at a cell of a night that is no recipe's: a user's own step, or a family's audit.

    The release is the night's: the newest is another one tomorrow.
    """
    release = night.releases[context.framework]
    package = re.split("==|@", release.request)[0]
    is_named = release.request.endswith(".whl") or release.version is None
    options = ["--release", release.request if is_named else f"{package}=={release.version}", "--mode", context.mode]
    if kind == AUDIT:
        return shlex.join(["vigil", "audit", name, "--framework", context.framework, *options, "--quick"])
    file = next((path for path in night.files if Path(path).name == name), name)
    return shlex.join(["vigil", "verify", file, *options, "--precision", context.precision])


def fault_in(command: str) -> str | None:
    """Return the file of the planted fault that a command names."""
    try:
        given = shlex.split(command)
    except ValueError:  # of a document from before commands were quoted
        given = command.split()
    return next((value for option, value in itertools.pairwise(given) if option == "--fault"), None)
