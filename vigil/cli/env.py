"""`vigil env`: the environments of releases in the cache, listed, built and pruned."""

from __future__ import annotations

import argparse
import math
import time
from datetime import datetime, timezone
from typing import Any

from reports.tables import print_table
from vigil.cli import options
from vigil.cli.answers import EnvBuildAnswer, EnvListAnswer, EnvPruneAnswer, ListedEnvironment, PrunedEnvironment
from vigil.errors import EXIT_REPRODUCED, UsageError
from vigil.progress import RunDisplay, duration
from vigil.releases.naming import ALLOWED, parse_release, with_held
from vigil.releases.resolve import Resolved
from vigil.releases.store import Environment, environments_directory, listed, obtain, prune, prune_compiled, python_of

COLUMNS = ("key", "release", "framework", "packages", "size", "created", "last used")
_DAY = 86_400.0
_UNUSED_DAYS = 30.0


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb, and its three actions, to the command line."""
    parser = subparsers.add_parser("env", help="list, build and prune the environments of releases")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="show the environments in the cache")
    options.add_json(listing)
    listing.set_defaults(run=run_list)
    building = actions.add_parser("build", help="build the environment of a release, or find it built")
    building.add_argument("release", metavar="RELEASE", help=ALLOWED)
    options.add_extra_index(building)
    options.add_json(building)
    building.set_defaults(run=run_build)
    what = "remove environments, and programs compiled to verify, that were not used for long; never one in use"
    pruning = actions.add_parser("prune", help=what)
    pruning.add_argument(
        "--unused-days", metavar="N", help=f"those that were not used for so many days (default: {_UNUSED_DAYS:.0f})"
    )
    pruning.add_argument("--all", action="store_true", help="every one that nobody is using")
    options.add_json(pruning)
    pruning.set_defaults(run=run_prune)


def run_list(arguments: argparse.Namespace) -> int:
    """Print the table, and what all of them take."""
    found = listed()
    answer = EnvListAnswer(
        exit_code=EXIT_REPRODUCED, directory=str(environments_directory()), environments=[_facts(each) for each in found]
    )
    options.write_json(arguments, answer)
    if not found:
        print(f"no environments in {environments_directory()}")
        return EXIT_REPRODUCED
    total = sum(environment.size for environment in found)
    print_table(
        f"environments in {environments_directory()}",
        COLUMNS,
        map(_row, found),
        notes=[f"{len(found)} environments, {size(total)}; `vigil env prune` removes those that are not used"],
    )
    return EXIT_REPRODUCED


def run_build(arguments: argparse.Namespace) -> int:
    """Build an environment, or find it, and say what is in it."""
    resolved = obtain(parse_release(arguments.release, indexes=arguments.extra_index), tell=RunDisplay().say)
    print(f"{resolved.request}: {resolved.framework} {resolved.version}, environment {resolved.key}")
    print(f"    {', '.join(resolved.pins)}")
    python = python_of(environments_directory() / resolved.key)
    options.write_json(arguments, EnvBuildAnswer(exit_code=EXIT_REPRODUCED, python=str(python), **_named(resolved)))
    return EXIT_REPRODUCED


def run_prune(arguments: argparse.Namespace) -> int:
    """Remove what was asked for and say what that freed, and what is left because it is in use."""
    if arguments.all and arguments.unused_days is not None:
        raise UsageError("--unused-days: not allowed with --all, which removes them whenever they were used.")
    unused_seconds = 0.0 if arguments.all else _DAY * _days(arguments.unused_days)
    outcomes, compiled = prune(unused_seconds=unused_seconds), prune_compiled(unused_seconds=unused_seconds)
    for outcome in outcomes:
        name = f"{outcome.key} ({outcome.resolved.request if outcome.resolved else 'not complete'})"
        print(f"{name}: in use, left as it is" if outcome.is_in_use else f"{name}: removed, {size(outcome.freed)}")
    for name, freed in compiled.items():
        print(f"compiled programs of {name}: removed, {size(freed)}")
    removed = [outcome for outcome in outcomes if not outcome.is_in_use]
    total = sum(outcome.freed for outcome in removed) + sum(compiled.values())
    left = len(listed())
    print(f"{len(removed) + len(compiled)} removed, {size(total)} freed; {left} environments left")
    pruned = [
        PrunedEnvironment(key=each.key, request=each.resolved and each.resolved.request, freed=each.freed, in_use=each.is_in_use)
        for each in outcomes
    ]
    answer = EnvPruneAnswer(exit_code=EXIT_REPRODUCED, environments=pruned, compiled=compiled, left=left)
    options.write_json(arguments, answer)
    return EXIT_REPRODUCED


def size(count: int) -> str:
    """Return bytes as MiB or GiB.

    >>> size(3 * 2**20), size(1536 * 2**20)
    ('3 MiB', '1.5 GiB')
    """
    return f"{count / 2**20:.0f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"


def _days(text: str | None) -> float:
    try:
        days = _UNUSED_DAYS if text is None else float(text)
    except ValueError:
        days = math.nan
    if not 0 <= days < math.inf:
        raise UsageError(f"--unused-days: found {text!r}. Allowed: a number of days from 0.")
    return days


def _named(resolved: Resolved) -> dict[str, Any]:
    return {name: getattr(resolved, name) for name in ("key", "request", "framework", "version", "pins")}


def _facts(environment: Environment) -> ListedEnvironment:
    return ListedEnvironment(
        python=environment.python_version,
        size=environment.size,
        created=environment.created,
        last_used=datetime.fromtimestamp(environment.last_used, timezone.utc).isoformat(timespec="seconds"),
        **_named(environment.resolved),
    )


def _row(environment: Environment) -> tuple[str, ...]:
    resolved = environment.resolved
    ago = time.time() - environment.last_used
    used = datetime.fromtimestamp(environment.last_used, timezone.utc)
    return (
        resolved.key,
        with_held(resolved.request, resolved.hold),
        f"{resolved.framework} {resolved.version}, Python {environment.python_version}",
        str(len(resolved.pins)),
        size(environment.size),
        environment.created[:16].replace("T", " "),
        f"{used:%Y-%m-%d %H:%M} ({duration(ago) if ago < _DAY else f'{ago / _DAY:.0f} days'} ago)",
    )
