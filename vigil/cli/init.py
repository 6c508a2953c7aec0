"""`vigil init FRAMEWORK [FILE]`: write a training step, or an operator, to begin with, which `vigil verify` takes."""

from __future__ import annotations

import argparse
import shlex

from vigil.documents.context import FRAMEWORKS
from vigil.errors import EXIT_REPRODUCED, UsageError, nearest
from vigil.paths import expanded, project_root

_FILES = {"step": "my_step.py", "operator": "my_op.py"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("init", help="write a training step, or an operator, of your own to begin with, for verify")
    parser.add_argument("framework", metavar="FRAMEWORK", help=", ".join(FRAMEWORKS))
    parser.add_argument("file", metavar="FILE", nargs="?", help=f"where (default: {' or '.join(_FILES.values())})")
    parser.add_argument("--operator", action="store_true", help="an operator, with what it shall compute, in the place of a step")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file, unless there is one, and say what to do next."""
    if arguments.framework not in FRAMEWORKS:
        hint = nearest(arguments.framework, FRAMEWORKS)
        raise UsageError(f"FRAMEWORK: found {arguments.framework!r}. Allowed: {', '.join(FRAMEWORKS)}.{hint}")
    what = "operator" if arguments.operator else "step"
    name = arguments.file or _FILES[what]
    file = expanded(name)
    if file.suffix != ".py":
        raise UsageError(f"FILE: found {name}. Allowed: a name that ends in .py.")
    text = (project_root() / "examples" / f"{what}_{arguments.framework}.py").read_text(encoding="utf-8")
    try:
        with open(file, "x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        raise UsageError(f"FILE: {name} is there already. Name another, or remove it.") from None
    command = f"vigil verify {shlex.quote(name)}"
    if arguments.operator:
        print(f"{name}: an operator in {arguments.framework}. Put yours in, then:")
        print(f"  {command} --precision fp32    one precision")
        print(f"  {command}    every precision")
    else:
        print(f"{name}: a step in {arguments.framework}. Put your model in, then:")
        print(f"  {command} --mode eager --precision fp32    one context")
        print(f"  {command}    every context")
    return EXIT_REPRODUCED
