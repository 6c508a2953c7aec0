"""Malformed recipes, command lines and environments, drawn at random: each must end in a message and one of five exit codes.

`python -m benchmarks.malformed_input --count 1000 --seed 0` calls `vigil` in this process, in a directory of its own. No runner,
no installer and no server is started, and nothing is fetched: what would begin one ends there with exit code 3. What falls is
printed: a traceback, another exit code, a control character on a stream, or more than a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from vigil.cli.main import build_parser, main
from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.recipes.loading import recipe_names

LIMIT_SECONDS = 60
_FALLEN = re.compile(r"Traceback|not foreseen")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# No path outside the directory of a case that could be written to.
_HOSTILE = (
    *("", " ", "-1", "0", "1", "2", "1e300", "-1e-300", "nan", "inf", "9" * 30, "9" * 5000, "0x10", "1_000", "\u0663", "\u00b2"),
    *("true", "null", "~", "[]", "{}", "[1, 2]", "{a: 1}", "*a", "&a b", "!!python/object:os.system x", "'", '"', "a" * 10_000),
    *("\x1b[2J", "\x00", "\u202e", "\udcff", "../up", "/dev/null", "/dev/zero", ".", "~nobody/x", "./recipe.yaml", "torch"),
    *("jax==0.0.0", "jax@pre", "torch,torch", "tensorflow", "cpu", "fp32", "1,2", "a=b", "--", "-", "--seeds", "%s%n", "${HOME}"),
    *("2026-13-45", "1:30", "010"),
)
_VARIABLES = (
    *("VIGIL_RUNS_DIR", "VIGIL_DATA_DIR", "VIGIL_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "MLFLOW_TRACKING_URI", "COLUMNS", "TERM"),
    *("PIP_INDEX_URL", "NO_COLOR", "LANG", "TMPDIR", "PATH", "CUDA_VISIBLE_DEVICES"),
)
_LONG = {"golden", "export", "verify"}  # with the right options they compute for minutes, or write a thousand images
# Verbs that end by themselves within a moment whatever stands behind them, with what they need.
_QUICK: tuple[tuple[str, ...], ...] = (
    ("check", "resnet_cifar"),
    ("recipes",),
    ("power", "digits_mlp"),
    ("reference", "show"),
    ("env", "list"),
    ("reproduce", "digits_mlp", "--framework", "torch", "--profile", "smoke", "--no-verify"),
    ("resume", "."),
    ("sync",),
)


@dataclass
class Case:
    """A command line, what differs in its environment, and the recipe that stands in recipe.yaml beside it."""

    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    recipe: bytes | None = None


@dataclass(frozen=True)
class Outcome:
    """How a case ended; `problem`: what must not be, or nothing."""

    code: int | None
    problem: str | None


def mutated(text: bytes, generator: random.Random) -> bytes:
    """Return a recipe with one to four mistakes in it."""
    for _ in range(generator.randint(1, 4)):
        lines = text.split(b"\n")
        place = generator.randrange(len(lines))
        kind = generator.choice(("flip", "drop", "double", "swap", "value", "value", "value", "indent", "cut", "insert"))
        if kind == "flip" and text:
            at = generator.randrange(len(text))
            text = text[:at] + bytes([text[at] ^ 1 << generator.randrange(8)]) + text[at + 1 :]
            continue
        if kind == "cut":
            text = text[: generator.randrange(len(text) + 1)]
            continue
        if kind == "drop":
            del lines[place]
        elif kind == "double":
            lines.insert(place, lines[place])
        elif kind == "swap":
            other = generator.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == "value":
            key = lines[place].partition(b":")[0]
            lines[place] = key + b": " + generator.choice(_HOSTILE).encode("utf-8", "surrogateescape")
        elif kind == "indent":
            lines[place] = b" " * generator.randint(0, 9) + lines[place].lstrip()
        else:
            lines.insert(place, generator.randbytes(generator.randint(1, 30)))
        text = b"\n".join(lines)
    return text


def with_recipe(generator: random.Random) -> Case:
    """Return a case of a malformed recipe."""
    source = project_root() / "recipes" / f"{generator.choice(recipe_names())}.yaml"
    verb = generator.choice((["check"], ["check"], ["power"], ["reproduce", "--framework", "torch", "--no-verify"]))
    return Case([verb[0], "./recipe.yaml", *verb[1:]], recipe=mutated(source.read_bytes(), generator))


def with_arguments(generator: random.Random) -> Case:
    """Return a case of options of a verb, right and wrong, with hostile values."""
    parser: Any = build_parser()
    words: list[str] = []
    while below := next((action.choices for action in parser._actions if isinstance(action.choices, dict)), None):
        words.append(generator.choice(sorted(below.keys() - _LONG)))
        parser = below[words[-1]]
    options = [option for action in parser._actions for option in action.option_strings if option not in ("-h", "--help")]
    for _ in range(generator.randint(0, 5)):
        words += generator.choices((generator.choice(_HOSTILE), generator.choice(recipe_names())), k=generator.randint(0, 2))
        words += [generator.choice(options)] if options and generator.random() < 0.7 else []
    return Case([word for word in words if "\x00" not in word])  # no shell can pass one


def with_environment(generator: random.Random) -> Case:
    """Return a case of hostile variables around a command line that is right."""
    names = generator.sample(_VARIABLES, k=generator.randint(1, 3))
    values = {name: generator.choice([value for value in _HOSTILE if "\x00" not in value]) for name in names}
    return Case(list(generator.choice(_QUICK)), environment=values)


MAKERS: tuple[Callable[[random.Random], Case], ...] = (with_recipe, with_arguments, with_environment)


def cases(count: int, *, seed: int | str) -> Iterator[Case]:
    """Yield so many cases, of each sort in turn."""
    for number in range(count):
        yield MAKERS[number % len(MAKERS)](random.Random(f"{seed}/{number}"))


def try_case(case: Case, directory: Path) -> Outcome:
    """Run a case in a directory, and return how it ended."""
    if case.recipe is not None:
        (directory / "recipe.yaml").write_bytes(case.recipe)
    own = {"VIGIL_RUNS_DIR": "runs", "VIGIL_DATA_DIR": "data", "VIGIL_CACHE_DIR": "cache"}
    environment = {name: str(directory / folder) for name, folder in own.items()}
    environment |= {"HOME": str(directory), "MLFLOW_TRACKING_URI": f"sqlite:///{directory / 'mlflow.db'}", **case.environment}
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, started = Path.cwd(), time.monotonic()
    with _nothing_started(environment), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        os.chdir(directory)
        signal.alarm(LIMIT_SECONDS)
        try:
            code, escaped = main(case.arguments), None
        except SystemExit as error:  # `--help`
            code, escaped = int(error.code or 0), None
        except BaseException as error:
            code, escaped = None, f"{type(error).__name__} left main: {error}"
        finally:
            signal.alarm(0)
            os.chdir(before)
    said = "".join(_text(stream) for stream in (out, err))
    if escaped is None and time.monotonic() - started >= LIMIT_SECONDS:
        escaped = f"took {LIMIT_SECONDS} s"
    if escaped is None and _FALLEN.search(said):
        escaped = said[-1500:]
    if escaped is None and (found := _CONTROL.search(said)):
        escaped = f"a control character: {said[max(0, found.start() - 40) : found.end() + 40]!r}"
    if escaped is None and code not in range(5):
        escaped = f"exit code {code}"
    if escaped is None and code in (2, 3) and not said.strip():
        escaped = f"exit code {code} without a word"
    return Outcome(code, escaped)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


@contextlib.contextmanager
def _nothing_started(environment: Mapping[str, str]) -> Iterator[None]:
    """Let the environment differ, and let nothing be started but git, and nothing be fetched."""
    real = subprocess.Popen

    class Popen(real):  # type: ignore[valid-type]
        def __init__(self, arguments: Sequence[str], *others: Any, **options: Any) -> None:
            if Path(arguments[0]).name != "git":
                raise CannotRun(f"{arguments[0]}: nothing is started here.")
            super().__init__(arguments, *others, **options)

    def refuse(*_: object, **__: object) -> None:
        raise OSError("nothing is fetched here")

    def interrupt(*_: object) -> None:
        raise TimeoutError(f"took {LIMIT_SECONDS} s")

    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(subprocess, "Popen", Popen),
            mock.patch.object(urllib.request, "urlopen", refuse),
        ):
            yield
    finally:
        signal.signal(signal.SIGALRM, usual)


def run(arguments: Sequence[str] | None = None) -> int:
    """Try all cases, print what fell, and return 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.malformed_input", description="Hostile input, drawn at random.")
    parser.add_argument("--count", type=int, default=1000, help="how many cases (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    chosen = parser.parse_args(arguments)
    codes: Counter[int | None] = Counter()
    fallen = 0
    with tempfile.TemporaryDirectory() as name:
        for number, case in enumerate(cases(chosen.count, seed=chosen.seed)):
            directory = Path(name) / str(number)
            directory.mkdir()
            outcome = try_case(case, directory)
            codes[outcome.code] += 1
            if outcome.problem is not None:
                fallen += 1
                print(f"case {number}: {ascii(case.arguments)[:300]} {ascii(case.environment)[:300]}\n{outcome.problem}\n")
    told = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items(), key=str))
    print(f"{chosen.count} cases, seed {chosen.seed}: {told}; {fallen} fell")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(run())
