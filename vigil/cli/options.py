"""Options that several verbs share. Values come in as text, so that one place checks them and names what is allowed."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.documents.context import FRAMEWORKS, Context, make_context
from vigil.documents.document import Document
from vigil.documents.invocation import SequentialRule
from vigil.errors import DirectoryError, FrameworkMissing, UsageError, nearest
from vigil.process.build_spec import fault_entry
from vigil.process.environment import installed_frameworks
from vigil.recipes.blocks import OWN_DATA
from vigil.recipes.loading import DEFAULT_PROFILE, Recipe, load_recipe, recipe_names
from vigil.releases.naming import Release, parse_release
from vigil.runs.plan import Request
from vigil.runs.until_decided import rule
from vigil.statistics.sequential import CAP, DELTA

# Together below 2**32: every framework's own generator takes such a seed.
_LARGEST_FIRST_SEED = 2**31 - 1
_MOST_SEEDS = 10_000
_REPORT_SECONDS = 10.0
_STANDARD_OUTPUT = Path("-")
CONTEXT, RELEASE, SEEDS = "the context", "the framework's release", "how many runs"
_METAVARS = {"devices": "N", "shards": "A,B"}
_MEANINGS = {
    "devices": "how many of them (default: 1)",
    "shards": "images of the global batch on each device (default: even)",
    "determinism": "{allowed}; of a step of your own both as well: off,on (default: off, the framework as it is)",
    "randomness": "{allowed}: Vigil's weights and order (default), or the framework's own",
    "attention": "its kernel: {allowed} (default: default, what the framework chooses)",
}


def group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Return the group of options with this title, which is made where there is none."""
    return next((each for each in parser._action_groups if each.title == title), None) or parser.add_argument_group(title)


def request_from(arguments: argparse.Namespace, **more: Any) -> Request:
    """Return what is asked of one recipe, in one context, by every verb that trains it. Raises UsageError.

    Args:
        more: fields of the request that a verb has options of its own for.
    """
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    return Request(
        recipe=recipe,
        recipe_source=arguments.recipe,
        profile=arguments.profile,
        context=context_from(arguments),
        seeds=seeds_from(arguments),
        fault=fault_entry(arguments.fault),
        command=arguments.command,
        **more,
    )


def add_recipe(
    parser: argparse.ArgumentParser, *, or_all: str | None = None, or_step: bool = False, profile: str = DEFAULT_PROFILE
) -> None:
    """Add the recipe and its profile.

    Args:
        or_all: when it may be left out, which stands for every recipe in recipes/.
        or_step: it may be a user's own training step.
        profile: unless one is given.
    """
    what = "a name in recipes/, or the path of a recipe file"
    if or_step:
        what += ", or a Python file with a training step of your own"
    if or_all is None:
        parser.add_argument("recipe", metavar="RECIPE", help=what)
    else:
        parser.add_argument("recipe", metavar="RECIPE", nargs="?", help=f"{what} ({or_all}: every recipe in recipes/)")
    parser.add_argument("--profile", default=profile, help=f"how much of it (default: {profile})")


def recipes_from(arguments: argparse.Namespace) -> dict[str, Recipe]:
    """Return the recipe that was asked for, or all, by name or path. Raises UsageError unless each has the profile."""
    found = {name: load_recipe(name) for name in ([arguments.recipe] if arguments.recipe is not None else recipe_names())}
    for recipe in found.values():
        recipe.profile(arguments.profile)
    return found


def add_context(parser: argparse.ArgumentParser, *, framework_is_required: bool = True, or_step: bool = False) -> None:
    """Add the fields of one context but for its randomness. What is not given is None.

    Args:
        or_step: of a user's own file every mode and precision is asked unless some are given.
    """
    for field in dataclasses.fields(Context):
        if field.name != "randomness":
            is_required = framework_is_required and field.name == "framework"
            metavar, says = _METAVARS.get(field.name), _help(field)
            if or_step and field.name in ("mode", "precision"):
                says = says.replace(")", "; of a file of your own: each that applies)")
            group(parser, CONTEXT).add_argument(f"--{field.name}", required=is_required, metavar=metavar, help=says)


def _help(field: dataclasses.Field) -> str:
    """Return what a field of a context may be, and what it is unless it is given."""
    allowed = ", ".join(field.metadata.get("allowed", ()))
    if field.name in _MEANINGS:
        return _MEANINGS[field.name].format(allowed=allowed)
    return allowed if field.default is dataclasses.MISSING else f"{allowed} (default: {field.default})"


def add_release(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the framework's release. `several`: one for each framework."""
    what = "; once for each framework" if several else ""
    group(parser, RELEASE).add_argument(
        "--release",
        action="append",
        metavar="RELEASE",
        help="a release in an environment of its own, as jax==0.9.2, jax (the newest), jax@pre, or a wheel "
        f"(default: what is installed here){what}",
    )
    add_extra_index(parser)


def add_extra_index(parser: argparse.ArgumentParser) -> None:
    """Add where packages of a release are looked for besides the installer's own indexes."""
    group(parser, RELEASE).add_argument(
        "--extra-index", action="append", default=[], metavar="URL", help="look for a release's packages here too (repeatable)"
    )


def releases_from(arguments: argparse.Namespace) -> dict[str, Release]:
    """Return the releases that were asked for, by framework. Raises UsageError for two of one framework, or none for an index."""
    found: dict[str, Release] = {}
    for text in arguments.release or []:
        release = parse_release(text, indexes=arguments.extra_index)
        if release.framework in found:
            raise UsageError(f"--release: found two of {release.framework}, {found[release.framework].text} and {release.text}.")
        found[release.framework] = release
    if arguments.extra_index and not found:
        raise UsageError("--extra-index: it is where a --release is looked for. Name one, or leave it out.")
    return found


def release_of_context(arguments: argparse.Namespace) -> Release | None:
    """Return the one release that was asked for, and let it name the framework where no --framework does. Raises UsageError."""
    found = releases_from(arguments)
    if len(found) > 1:
        raise UsageError(f"--release: found {len(found)}. Allowed: one, of the context's framework.")
    for release in found.values():
        if arguments.framework is None:
            arguments.framework = release.framework
        if arguments.framework != release.framework:
            raise UsageError(f"--release: found {release.text}, and --framework {arguments.framework}. Allowed: one of the two.")
        return release
    return None


def require_framework_named(arguments: argparse.Namespace) -> None:
    """Raise UsageError where neither --framework nor --release says which framework is meant."""
    if arguments.framework is None:
        raise UsageError(f"--framework: missing. Allowed: {', '.join(FRAMEWORKS)}; or --release, which names its framework.")


def add_randomness(parser: argparse.ArgumentParser) -> None:
    """Add where weights and order come from."""
    [field] = (field for field in dataclasses.fields(Context) if field.name == "randomness")
    group(parser, CONTEXT).add_argument("--randomness", help=_help(field))


def context_from(arguments: argparse.Namespace) -> Context:
    """Return the context of the options that were given. Raises UsageError."""
    fields = (field.name for field in dataclasses.fields(Context))
    given = {name: getattr(arguments, name, None) for name in fields}
    return make_context(**{name: value for name, value in given.items() if value is not None})


def add_seeds(parser: argparse.ArgumentParser, *, count: int, first: int) -> None:
    """Add how many seeds, and the first of them."""
    seeds = group(parser, SEEDS)
    seeds.add_argument("--seeds", default=str(count), metavar="N", help=f"how many seeds (default: {count})")
    seeds.add_argument("--first-seed", default=str(first), metavar="K", help=f"seeds K to K+N-1 (default: {first})")


def seeds_from(arguments: argparse.Namespace) -> tuple[int, ...]:
    """Return the seeds of the options. Raises UsageError."""
    first = whole_number("--first-seed", arguments.first_seed, least=0, most=_LARGEST_FIRST_SEED)
    return tuple(range(first, first + whole_number("--seeds", arguments.seeds, least=1, most=_MOST_SEEDS)))


def add_until_decided(parser: argparse.ArgumentParser) -> None:
    """Add running seed after seed until the evidence decides; behind `add_seeds`, whose default becomes a cap."""
    what = f"seeds one at a time until the evidence decides either way, --seeds at most (then {CAP} unless given)"
    group(parser, SEEDS).add_argument("--until-decided", action="store_true", help=what)
    effect = f"the smallest difference worth finding, in the metric's unit (default: {DELTA:g} standard deviations)"
    group(parser, SEEDS).add_argument("--effect", metavar="X", help=f"with --until-decided: {effect}")
    parser.set_defaults(seeds=None)


def sequential_from(arguments: argparse.Namespace) -> SequentialRule | None:
    """Return the rule of `--until-decided`, or None, and settle how many seeds there are. Raises UsageError."""
    if arguments.seeds is None:
        arguments.seeds = str(CAP if arguments.until_decided else 1)
    if not arguments.until_decided:
        if arguments.effect is not None:
            raise UsageError("--effect: found without --until-decided. It says what --until-decided looks for: give both.")
        return None
    effect = None if arguments.effect is None else amount("--effect", arguments.effect)
    return rule(seeds_from(arguments), effect=effect)


def frameworks_from(arguments: argparse.Namespace, *, default: Sequence[str] = ()) -> list[str]:
    """Return the frameworks of a `--framework A,B`; without one `default`, else all that are installed.

    Raises:
        UsageError: A name is not a framework's, or stands twice.
        FrameworkMissing: Nothing is named, and nothing is installed.
    """
    if arguments.framework is not None:
        return names("--framework", arguments.framework, FRAMEWORKS)
    if found := list(default) or installed_frameworks():
        return found
    raise FrameworkMissing("no framework is installed. Install one with `make setup FRAMEWORK=torch`, tensorflow or jax.")


def add_fault(parser: argparse.ArgumentParser) -> None:
    """Add a fault that is planted on purpose."""
    parser.add_argument("--fault", metavar="FILE.py", help="plant a fault: the file's install() runs before the model is built")


def add_file(parser: argparse.ArgumentParser, option: str, *, what: str) -> None:
    """Add a file that what is shown is written to as well; `check_file` before the work, `write_file` after it."""
    parser.add_argument(option, type=Path, metavar="FILE", help=f"{what} to a file, too")


def check_file(option: str, path: Path | None) -> None:
    """Raise UsageError for a file that cannot be written: hours of work come before it is."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option}: found {path}, a directory. Allowed: a file, new or to be written anew.")
    if not path.parent.is_dir():
        raise UsageError(f"{option}: found {path}, and there is no directory {path.parent}. Make it, or name another file.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{option}: found {path}, which cannot be written. Give access, or name another file.")


def write_file(option: str, path: Path | None, text: str) -> None:
    """Write the file, if one was asked for. Raises DirectoryError."""
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DirectoryError(f"{option}: {path} cannot be written ({error.strerror}). All else was kept.") from error


def add_json(parser: argparse.ArgumentParser, *, what: str = "the answer") -> None:
    """Add the file that the answer is written to as one JSON document; `json_apart` around the verb, `write_json` in it."""
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=f"write {what} as JSON to a file, too; - is standard output, and all else then goes to standard error",
    )


@contextlib.contextmanager
def json_apart(arguments: argparse.Namespace) -> Iterator[None]:
    """Check the file of --json before the work; of `-`, keep standard output for the document alone. Raises UsageError."""
    path = getattr(arguments, "json", None)
    if path != _STANDARD_OUTPUT:
        check_file("--json", path)
        yield
        return
    arguments.standard_output = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield


def write_json(arguments: argparse.Namespace, document: Document) -> None:
    """Write the document where --json asks for it, if it does. Raises DirectoryError."""
    if arguments.json == _STANDARD_OUTPUT:
        arguments.standard_output.write(document.text())
    else:
        write_file("--json", arguments.json, document.text())


def add_timeouts(parser: argparse.ArgumentParser) -> None:
    """Add how long a runner may show no progress."""
    parser.add_argument(
        "--hang-timeout",
        default="900",
        metavar="SECONDS",
        help="end a runner that makes no progress for so long (default: 900)",
    )


def seconds(option: str, text: str) -> float:
    """Return a positive number of seconds. Raises UsageError."""
    return amount(option, text, of=" of seconds")


def amount(option: str, text: str, *, of: str = "") -> float:
    """Return a positive number. Raises UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UsageError(f"{option}: found {text!r}. Allowed: a number{of} above 0.")
    return value


def data_set_name(text: str) -> str:
    """Return the name of a data set that is imported. Raises UsageError for one that no recipe could name, or that is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,59}", text) or text in OWN_DATA:
        raise UsageError(
            f"NAME: found {text!r}. Allowed: small letters, digits and _, a letter first, but not {', '.join(OWN_DATA)}."
        )
    return text


def in_recipe(facts: Mapping[str, Any]) -> str:
    """Return facts as a recipe has them in a line.

    >>> in_recipe({"name": "cells", "checksum": "00", "n_train": 8})
    '{name: cells, checksum: "00", n_train: 8}'
    """
    shown = {**facts, **({"checksum": f'"{facts["checksum"]}"'} if "checksum" in facts else {})}
    return "{" + ", ".join(f"{key}: {value}" for key, value in shown.items()) + "}"


def import_progress() -> Callable[[str, int, int], None]:
    """Return what says from time to time how far a long import is: of which split, how many images of how many."""
    said = time.monotonic()

    def say(split: str, done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said > _REPORT_SECONDS:
            said = time.monotonic()
            print(f"{split}: {done} of {total} images", file=sys.stderr, flush=True)

    return say


def whole_number(option: str, text: str, *, least: int, most: int | None = None) -> int:
    """Return a whole number. Raises UsageError for text, fractions and numbers below `least` or above `most`."""
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or value < least or (most is not None and value > most):
        limit = "" if most is None else f" to {most}"
        raise UsageError(f"{option}: found {text!r}. Allowed: a whole number from {least}{limit}.")
    return value


def names(option: str, text: str, allowed: tuple[str, ...]) -> list[str]:
    """Return a comma-separated list of names. Raises UsageError for one that is not allowed, or stands twice."""
    found = [name.strip() for name in text.split(",")]
    for name in found:
        if name not in allowed:
            raise UsageError(f"{option}: found {name!r}. Allowed: {', '.join(allowed)}.{nearest(name, allowed)}")
    _refuse_repeats(option, found)
    return found


def whole_numbers(option: str, text: str, *, least: int, most: int | None = None) -> list[int]:
    """Return a comma-separated list of whole numbers. Raises UsageError for one that is not allowed, or stands twice."""
    found = [whole_number(option, each, least=least, most=most) for each in text.split(",")]
    _refuse_repeats(option, found)
    return found


def _refuse_repeats(option: str, found: Sequence[object]) -> None:
    """Raise UsageError for what stands twice: the same would be run twice, and the second sample is none."""
    for place, each in enumerate(found):
        if each in found[:place]:
            raise UsageError(f"{option}: found {each} twice. Allowed: each once.")
