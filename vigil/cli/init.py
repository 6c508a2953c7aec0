"""`vigil init FRAMEWORK [FILE]`: write a training step to begin with, which `vigil verify` takes."""

from __future__ import annotations

import argparse
import shlex

from vigil.documents.context import FRAMEWORKS
from vigil.errors import EXIT_REPRODUCED, UsageError, nearest
from vigil.paths import expanded, project_root

_FILE = "my_step.py"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("init", help="write a training step of your own to begin with, for verify")
    parser.add_argument("framework", metavar="FRAMEWORK", help=", ".join(FRAMEWORKS))
    parser.add_argument("file", metavar="FILE", nargs="?", default=_FILE, help=f"where (default: {_FILE})")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file, unless there is one, and say what to do next."""
    if arguments.framework not in FRAMEWORKS:
        hint = nearest(arguments.framework, FRAMEWORKS)
        raise UsageError(f"FRAMEWORK: found {arguments.framework!r}. Allowed: {', '.join(FRAMEWORKS)}.{hint}")
    file = expanded(arguments.file)
    if file.suffix != ".py":
        raise UsageError(f"FILE: found {arguments.file}. Allowed: a name that ends in .py.")
    text = (project_root() / "examples" / f"step_{arguments.framework}.py").read_text(encoding="utf-8")
    try:
        with open(file, "x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        raise UsageError(f"FILE: {arguments.file} is there already. Name another, or remove it.") from None
    print(f"{arguments.file}: a step in {arguments.framework}. Put your model in, then:")
    print(f"  vigil verify {shlex.quote(arguments.file)} --mode eager --precision fp32    one context")
    print(f"  vigil verify {shlex.quote(arguments.file)}    every context")
    return EXIT_REPRODUCED
