"""`vigil`: parse the command line, run the verb, turn errors on purpose into a message and an exit code."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import re
import select
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from vigil import __version__
from vigil.cli import options
from vigil.cli.help_text import complete
from vigil.errors import EXIT_COULD_NOT_RUN, UsageError, VigilError, nearest
from vigil.redaction import redacted_command
from vigil.terminal import plain_streams

# Each is a module beside this one, which is imported when it is asked for.
VERBS = (
    "reproduce", "preflight", "verify", "audit", "narrow", "determinism", "trace", "triage", "init", "matrix", "compare",
    "nightly", "drift", "power", "resume", "replay", "reference", "golden", "recipes", "check", "schema", "data", "coco", "env",
    "sync", "report", "dashboard",
)  # fmt: skip


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors name the nearest match and end in exit code 2 with one message.

    It takes no abbreviations: `--seed 3` would be read as `--seeds 3`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        allowed = [option for action in self._actions for option in action.option_strings]
        found = re.search(r"(?:unrecognized arguments: |invalid choice: ')([^ ']+)", message)
        choices = [name for action in self._actions if isinstance(action.choices, dict) for name in action.choices]
        hint = nearest(found.group(1), allowed + choices) if found else ""
        raise UsageError(f"{message}.{hint} See `{self.prog} --help`.")


def build_parser(verbs: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """Return the parser with every verb, or with some of them."""
    parser = Parser(
        prog="vigil",
        description="Reproduce known results across deep-learning frameworks, and judge each number.",
    )
    parser.add_argument("--version", action="version", version=f"vigil {__version__}")
    subparsers = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser, help=argparse.SUPPRESS)
    for verb in verbs:
        importlib.import_module(f"vigil.cli.{verb}").add_parser(subparsers)
    complete(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    with plain_streams():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    own = given[: given.index("--")] if given[:1] == ["trace"] and "--" in given else given
    try:
        verbs = given[:1] if given[:1] and given[0] in VERBS else VERBS
        parsed, unknown = build_parser(verbs).parse_known_args(own)
        if unknown:
            _refuse(unknown, given)
        parsed.of_script = given[len(own) + 1 :]  # what follows --, which only a verb that runs a user's script takes
        parsed.command = redacted_command(["vigil", *given])  # it is recorded, and an index may have a password
        with options.json_apart(parsed):
            code = parsed.run(parsed)
        print(end="", flush=True)  # what cannot be written is said here, not when the interpreter has ended
        return code
    except VigilError as error:
        print(f"vigil: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("vigil: interrupted", file=sys.stderr)
        return EXIT_COULD_NOT_RUN
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            return EXIT_COULD_NOT_RUN
        if refusal := _refusal_of_the_system(error):
            print(f"vigil: {refusal}", file=sys.stderr)
            return EXIT_COULD_NOT_RUN
        # Left to itself Python ends with 1, which says here that a number is outside its band.
        traceback.print_exc()
        print("vigil: this error was not foreseen: it says nothing about any number.", file=sys.stderr)
        return EXIT_COULD_NOT_RUN


def _refusal_of_the_system(error: Exception) -> str | None:
    """Return what the system refused, and where: a full disk, a place that cannot be read or written; None for other errors."""
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):  # Path.resolve() before Python 3.13
        return f"{error}."
    if not isinstance(error, OSError) or error.errno is None:
        return None
    place = f"{error.filename}: " if error.filename else ""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = " Free some space, or set VIGIL_RUNS_DIR to another disk; then go on with `vigil resume`." if is_full else ""
    return f"{place}{error.strerror}.{hint}"


def _nobody_reads() -> bool:
    """Is it standard output that is closed, as by `| head`? What is still to be written to it is then dropped."""
    probe = select.poll()
    probe.register(sys.stdout, 0)  # a pipe without a reader is an error whatever is asked
    if not probe.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def _refuse(unknown: list[str], given: list[str]) -> NoReturn:
    parser = build_parser()
    for name in given:
        # A verb may have actions, each with options of its own.
        below = next((action.choices for action in parser._actions if isinstance(action.choices, dict)), {})
        parser = below.get(name, parser)
    allowed = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    if not unknown[0].startswith("-"):
        raise UsageError(
            f"{unknown[0]}: one argument more than `{parser.prog}` takes, or one behind an option, which belongs beside the "
            f"others. See `{parser.prog} --help`."
        )
    raise UsageError(
        f"{unknown[0]}: no such option of `{parser.prog}`. Allowed: {', '.join(allowed)}.{nearest(unknown[0], allowed)}"
    )


if __name__ == "__main__":
    sys.exit(main())
