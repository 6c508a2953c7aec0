"""What the pages say can be typed and followed: every link, command, option, target and variable is there."""

from __future__ import annotations

import argparse
import functools
import os
import re
import subprocess
from pathlib import Path

import pytest

from vigil.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "runners" / "README.md"])
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


command_line = functools.cache(build_parser)


def below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next((action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)), {})


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the options of a verb; of one that has actions, theirs too: a page may speak of all of them at once."""
    own = {option for action in parser._actions for option in action.option_strings}
    return own.union(*map(options_of, below(parser).values()))


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def assert_links_lead_somewhere(text: str, *, at: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if path.startswith(("http://", "https://")):
            continue
        target = at.parent / path if path else at
        assert target.exists(), f"{at}: {link}: there is no such file"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{at}: {link}: there is no such heading"


def assert_commands_exist(text: str, *, at: Path) -> None:
    for command in re.findall(r"(?:\$ |`|bin/|^)vigil ((?:(?!--help)[^`\n#|;&])+)", text, re.MULTILINE):
        parser, words = command_line(), command.split()
        while words and (known := below(parser)):
            name = words.pop(0)
            if re.search(r"[A-Z|.]", name):  # any of them
                break
            assert name in known, f"{at}: `vigil {command}`: there is no {name}"
            parser = known[name]
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", command):
            assert option in options_of(parser), f"{at}: `vigil {command}`: there is no {option}"


def assert_targets_exist(text: str, *, at: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    variables = {*re.findall(r"\$\(call option,[a-z-]+,([A-Z]+)\)", MAKEFILE), *re.findall(r"\$\(([A-Z]+)\)", MAKEFILE)}
    for target, given in re.findall(r"(?:\$ |`|^)make ([a-z-]+)((?: +[A-Z]+=\S+)*)", text, re.MULTILINE):
        assert target in targets, f"{at}: make {target}: there is no such target"
        for variable in re.findall(r"([A-Z]+)=", given):
            assert variable in variables, f"{at}: make {target}: there is no {variable}"


@pytest.mark.parametrize("check", [assert_links_lead_somewhere, assert_commands_exist, assert_targets_exist])
def test_the_pages_name_what_there_is(check):
    """Every page of the repository is held to what can be read off the command line, the Makefile and the files."""
    for page in PAGES:
        check(page.read_text(encoding="utf-8"), at=page)


@pytest.mark.parametrize(
    ("check", "planted", "found"),
    [
        (assert_links_lead_somewhere, "[x](docs/gone.md)", "no such file"),
        (assert_links_lead_somewhere, "[x](docs/drift.md#gone)", "no such heading"),
        (assert_commands_exist, "`vigil reproduc x`", "there is no reproduc"),
        (assert_commands_exist, "vigil reproduce x --seed 3", "there is no --seed"),
        (assert_commands_exist, "`.venv/bin/vigil reference list`", "there is no list"),
        (assert_targets_exist, "make reproduse RECIPE=x", "no such target"),
        (assert_targets_exist, "$ make reproduce RECIPES=x", "there is no RECIPES"),
    ],
)
def test_what_is_not_there_is_caught(check, planted, found):
    """A dead link, and a verb, option, target or variable that was renamed, are each found."""
    with pytest.raises(AssertionError, match=found):
        check(planted, at=ROOT / "README.md")


@pytest.mark.parametrize(
    "target", ["reproduce", "verify", "matrix", "compare", "nightly", "drift", "report", "reference", "golden"]
)
def test_make_leaves_nothing_out_in_silence(target):
    """A context that was asked for reaches `vigil`, which refuses what the verb does not know: another one must not run."""
    stamps = [word for name in ("core", "torch", "tensorflow", "jax", "test") for word in ("-o", f".venv/.{name}")]
    given = ["MODE=eager", "PRECISION=bf16", "DEVICES=2", "SEEDS=3", "FAULT=f.py", "JOBS=2", "PROFILE=smoke"]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}  # of `make test`
    done = subprocess.run(["make", "-n", *stamps, target, *given], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    [command] = [line for line in done.stdout.replace("\\\n", "").splitlines() if "bin/vigil" in line]
    for option in given:
        name, value = option.split("=")
        assert f"--{name.lower()}='{value}'" in command
