"""`vigil golden`: make the golden tape of a recipe's profile, and keep it only if all that vote on it agree.

A recipe that Vigil ships needs the votes of all three frameworks, a user's own those that are installed.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from vigil.cli import options
from vigil.cli.answers import CastVote, GoldenAnswer
from vigil.data.official import ensure_data
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED, FrameworkMissing, UsageError
from vigil.paths import reference_directory, runs_directory
from vigil.process.directories import new_directory, require_writable
from vigil.process.environment import describe_code, describe_machine, is_installed
from vigil.process.side_by_side import available_cores
from vigil.progress import RunDisplay, StageDisplay
from vigil.recipes.command_line import cell_command
from vigil.recipes.loading import Recipe, identity_of, load_recipe
from vigil.references.samples import lock_references
from vigil.releases.naming import Release
from vigil.releases.store import held, obtain
from vigil.verify.golden import Golden, make_golden, path_of, save_golden
from vigil.verify.probes import MARGIN_IMAGES
from vigil.verify.standard_cases import has_taps
from vigil.verify.vote import Vote, vote

# What a framework takes to start and to answer the cases of a small model; of a large one it takes the oracle's time besides.
_VOTE_SECONDS = 15.0


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "golden",
        help="make a recipe verifiable: a golden tape, on which oracle and frameworks agree in float64",
        description="It says how long it will take in its first seconds. Your own recipe needs one framework, and its tape lies "
        "in reference_results/ beside it, or in VIGIL_REFERENCE_DIR.",
        epilog="exit codes: 0 the tape is saved, 1 a framework leaves the others, 2 wrong usage or recipe, 3 could not run",
    )
    options.add_recipe(parser)
    options.add_release(parser, several=True)
    parser.add_argument(
        "--late",
        metavar="STEP",
        help="the late state's step (default: the rate's first change, at most 720; of a cosine 240; of a large model 24)",
    )
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compute the tape, let the frameworks vote on it, and save it; return 1, and save nothing, when one leaves the others."""
    recipe = load_recipe(arguments.recipe)
    facts, training = identity_of(recipe, arguments.profile), recipe.resolve(arguments.profile)
    if training["batch_size"] < MARGIN_IMAGES:
        raise UsageError(
            f"{arguments.recipe}, profile {arguments.profile}: batch_size: found {training['batch_size']}. Allowed for a golden "
            f"tape: {MARGIN_IMAGES} or more, which is what its least cases have."
        )
    late = arguments.late and options.whole_number("--late", arguments.late, least=2, most=training["steps"] - 1)
    releases = options.releases_from(arguments)
    frameworks = voters(recipe, releases)
    require_writable(runs_directory())
    data_directory = ensure_data(training, progress=RunDisplay().data)
    now, votes, answers = datetime.now(timezone.utc), dict[str, Vote](), list[GoldenAnswer]()
    with contextlib.ExitStack() as stack, StageDisplay() as display:
        say = display.say
        pythons = {name: stack.enter_context(held(obtain(each, tell=say), tell=say)) for name, each in releases.items()}

        def ask(tape: Golden, stop: threading.Event) -> None:
            directory = new_directory(runs_directory(), f"{now:%Y%m%d-%H%M%S}-golden-{facts.name}-{facts.profile}")
            found = vote(
                tape,
                directory,
                data_directory=data_directory,
                on_event=_VoteProgress(tape, display),
                frameworks=frameworks,
                pythons=pythons,
                stop=stop,
            )
            votes.update(found)
            cast = {name: CastVote.model_validate(each, from_attributes=True) for name, each in votes.items()}
            given = {"recipe": facts, "votes": cast, "cases": len(tape.cases), "directory": str(directory)}
            answers.append(GoldenAnswer(exit_code=EXIT_OUTSIDE, path=None, **given))
            if not all(each.agrees for each in votes.values()):
                raise _LeftTheOthers

        try:
            tape = make_golden(
                recipe=facts,
                training=training,
                data_directory=data_directory,
                progress=display.progress,
                announce=lambda *facts: say(_announcement(*facts, frameworks=frameworks, is_named=bool(releases))),
                late=late or None,
                vote=ask,
            )
        except _LeftTheOthers:
            tape = None
    [answer] = answers
    for name, each in votes.items():
        print(vote_line(name, each))
    if tape is None:
        print(f"No tape is saved. What each framework answered is in {answer.directory}.")
        options.write_json(arguments, answer)
        return EXIT_OUTSIDE
    tape.header |= provenance(votes, created=now.isoformat(timespec="seconds"))
    path = path_of(facts.name, facts.profile, source=recipe.source)
    with lock_references(reference_directory(recipe.source)):
        save_golden(path, tape)
    print(f"{path}: {path.stat().st_size / 2**20:.2f} MiB, {len(tape.cases)} cases")
    context, first = make_context(framework=frameworks[0]), releases.get(frameworks[0])
    released = [first.text] if first else []
    again = cell_command("verify", facts.name, context, profile=facts.profile, source=recipe.source, releases=released)
    print(f"go on with: {again}")
    options.write_json(arguments, answer.replace(exit_code=EXIT_REPRODUCED, path=str(path)))
    return EXIT_REPRODUCED


def voters(recipe: Recipe, releases: Mapping[str, Release]) -> list[str]:
    """Return the frameworks that vote: those of the releases that were named, or else those that are installed.

    Raises:
        UsageError: A recipe that Vigil ships needs a vote that no release was named for.
        FrameworkMissing: One is needed that is not installed.
    """
    if releases:
        unnamed = [name for name in FRAMEWORKS if name not in releases]
        if unnamed and recipe.source is None:
            raise UsageError(
                f"--release: found {', '.join(each.text for each in releases.values())}, and none of {', '.join(unnamed)}, which "
                f"vote on {recipe.name}, too. Allowed: one of each framework; one alone for a recipe of your own."
            )
        return [name for name in FRAMEWORKS if name in releases]
    missing = [name for name in FRAMEWORKS if not is_installed(name)]
    if missing and (recipe.source is None or len(missing) == len(FRAMEWORKS)):
        needed = f"what {', '.join(FRAMEWORKS)} agree on" if recipe.source is None else "what the oracle and a framework agree on"
        raise FrameworkMissing(
            f"a golden tape is {needed}; not installed: {', '.join(missing)}. "
            f"Install with {' and '.join(f'`make setup FRAMEWORK={name}`' for name in missing)}."
        )
    return [name for name in FRAMEWORKS if name not in missing]


def _announcement(seconds: float, voter: float, what: str, *, frameworks: Sequence[str], is_named: bool) -> str:
    voting = (_VOTE_SECONDS + voter) * len(frameworks)
    minutes = max(1, round(max(voting, seconds + voting / len(available_cores())) / 60))
    absent = [name for name in FRAMEWORKS if name not in frameworks]
    alone = f" ({', '.join(absent)}: {'not named' if is_named else 'not installed'}, no vote)" if absent else ""
    return f"about {minutes} min: {what}, then the votes of oracle, {', '.join(frameworks)}{alone}"


def provenance(votes: Mapping[str, Vote], *, created: str) -> dict[str, Any]:
    """Return what a tape's header says of how it was made."""
    machine, code = describe_machine(), describe_code()
    return {
        "created": created,
        "votes": {name: dataclasses.asdict(each) for name, each in votes.items()},
        "hardware": machine["hardware"],
        "python": machine["python"],
        "commit": code.commit,
        "dirty": code.dirty,
    }


def vote_line(name: str, standing: Vote) -> str:
    """Return how one voter stands: that it agrees, or which tensor it left the others in, and by how much."""
    who, where = f"{name} ({standing.version})", f"{standing.case} {standing.tensor}"
    if standing.agrees:
        return f"{who}: agrees, at most {standing.largest:.1e} of a norm away, in {where}"
    return f"{who}: LEFT THE OTHERS in {where}, {standing.largest:.1e} of its norm away from the nearest"


class _LeftTheOthers(Exception):
    """A voter is not where the others are: there is no tape, and its floors need not be drawn."""


class _VoteProgress:
    """Turns events of one runner after another into stages, one a framework."""

    def __init__(self, tape: Golden, display: StageDisplay) -> None:
        self._total, self._display, self._name = len(tape.cases) + sum(map(has_taps, tape.cases)), display, ""

    def __call__(self, event: dict) -> None:
        if event["kind"] == "started":
            self._name = event["framework"]
        elif event["kind"] == "probed":
            self._display.progress(f"{self._name} votes", event["index"] + 1, self._total)
