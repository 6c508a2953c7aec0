"""What the pages say can be typed, followed and read.

Every link, command, option, target, variable and path is there; sentences are short, and each stands on a line of its own.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import importlib
import os
import re
import statistics
import subprocess
import textwrap
import typing
from pathlib import Path

import pytest

from vigil.cli.main import build_parser
from vigil.documents.context import Context
from vigil.documents.document import Part

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "runners" / "README.md"])
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


FOLDERS = ("vigil", "runners", "reports", "recipes", "tests", "benchmarks", "docs", "reference_results")
WORDS_MEAN, WORDS_MOST = 20, 35
MADE_PART = r"<!-- made by .*? -->.*?<!-- end -->"

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


def is_there(dotted: str) -> bool:
    """Is this name a module of the repository, or a function or class that stands in one?"""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        module = ROOT.joinpath(*parts[:n])
        source = next((path for path in (module.with_suffix(".py"), module / "__init__.py") if path.exists()), None)
        if source is not None:
            top = rf"^(?:def|class) {parts[n]}\b|^{parts[n]}\b.*=" if parts[n:] else ""
            return re.search(top, source.read_text(encoding="utf-8"), re.MULTILINE) is not None
        if module.is_dir():
            return n == len(parts)
    return False


def assert_paths_exist(text: str, *, at: Path) -> None:
    for path in re.findall(rf"(?<![\w./-])((?:{'|'.join(FOLDERS)})/[\w./<>*-]*)", text):
        path = re.sub(r"<[^>]*>", "*", path.rstrip("."))
        if path.startswith(("reports/html", "reports/sample")):  # where reports are written
            continue
        assert "*" in path or (ROOT / path).exists(), f"{at}: {path}: there is no such file"
        assert not re.match(r"(runners|vigil|reports)/", path) or any(ROOT.glob(path)), f"{at}: {path}: there is no such file"
    for dotted in re.findall(r"(?<![\w./-])((?:vigil|runners|reports|benchmarks)(?:\.[A-Za-z_]\w*)+)", text):
        assert dotted == "vigil.uploaded_at" or is_there(dotted), f"{at}: {dotted}: there is no such module, function or class"


def inner_parts(kind: typing.Any) -> list[type]:
    """Return the parts of documents that a field's type is made of."""
    if kind is Context or (isinstance(kind, type) and issubclass(kind, Part)):
        return [kind]
    return [part for argument in typing.get_args(kind) for part in inner_parts(argument)]


def keys_of(part: type) -> list[tuple[str, typing.Any]]:
    if issubclass(part, Part):
        return [(field.alias or name, field.annotation) for name, field in part.model_fields.items()]
    return [*((field.name, None) for field in dataclasses.fields(part)), ("text", None)]


def structure(kind: typing.Any, *, module: str) -> str:
    """Return the keys of a field: {a, b} of a part of this module, the name of another, in [] of a list; nothing of a value."""
    text = " | ".join(
        f"{{{', '.join(f'{key} {structure(inner, module=module)}'.strip() for key, inner in keys_of(part))}}}"
        if part.__module__ == module
        else part.__name__
        for part in inner_parts(kind)
    )
    is_list = typing.get_origin(kind) is tuple
    return f"[{text}]" if text and is_list else f"by name: {text}" if text and typing.get_origin(kind) is dict else text


def outline(part: type) -> str:
    """Return the keys of a part in the order of the file, after its name and its module."""
    words = [f"{key} {structure(inner, module=part.__module__)}".strip() for key, inner in keys_of(part)]
    head = f"{getattr(part, 'FILE_NAME', part.__name__)} ({part.__module__.replace('.', '/')}.py)"
    lines = textwrap.wrap(", ".join(words), 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join([head, *lines])


def outlines() -> str:
    """Return the keys of every document of vigil/documents, and of the parts that they share."""
    for path in sorted((ROOT / "vigil" / "documents").glob("*.py")):
        importlib.import_module(f"vigil.documents.{path.stem}")

    def below_part(kind: type[Part]) -> list[type[Part]]:
        return [kind, *(part for child in kind.__subclasses__() for part in below_part(child))]

    own = [kind for kind in below_part(Part) if kind.__module__.startswith("vigil.documents.")]
    known = sorted({kind for kind in own if "schema_" in kind.model_fields}, key=lambda kind: kind.__module__)
    return "\n".join(map(outline, made_of(known)))


def parts_of(part: type) -> list[type]:
    """Return the parts of other modules that a part is made of, directly or by parts of its own module."""
    found: list[type] = []
    pending = [inner for _, kind in keys_of(part) for inner in inner_parts(kind)]
    while pending:
        inner = pending.pop(0)
        if inner.__module__ == part.__module__:
            pending += [further for _, kind in keys_of(inner) for further in inner_parts(kind)]
        elif inner not in found:
            found.append(inner)
    return found


def made_of(documents: typing.Sequence[type]) -> list[type]:
    """Return documents, and behind them the parts of other modules that they are made of, each once."""
    known = list(documents)
    for part in known:  # grows while it is read
        known += [inner for inner in parts_of(part) if inner not in known]
    return known


def test_the_architecture_shows_every_key_of_a_document():
    """The page has the keys of all documents, in the order of the files."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"```\n{outlines()}\n```" in page, f"docs/architecture.md: the keys are now\n{outlines()}"


def floors() -> list[set[str]]:
    """Return the rooms of each floor as the architecture has them, from the top: the block after the heading."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = page.split("## Floors and rooms", 1)[1].split("```", 2)[1]
    return [set(re.findall(r"[\w./<>]+", line)) for line in block.splitlines() if line.strip()]


def room_of(module: str, rooms: set[str]) -> str | None:
    """Return the room that a module stands in, by its longest name."""
    path = re.sub(r"^runners\.(torch|tensorflow|jax|mxnet)\b", "runners.<framework>", module).replace(".", "/")
    inside = [room for room in rooms if f"{path}/".startswith(f"{room.removesuffix('.py')}/")]
    return max(inside, key=len, default=None)


def assert_imports_go_down(source: str, *, module: str, order: list[set[str]]) -> None:
    """Raise if a module imports from its own floor, another room, or from one above."""
    level = {room: number for number, rooms in enumerate(order) for room in rooms}
    own = room_of(module, set(level))
    assert own is not None, f"{module}: stands in no room"
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            other = room_of(name, set(level))
            assert other in (None, own) or level[own] < level[other], f"{module}: imports {name}, which is not below {own}"


def test_every_import_goes_down():
    """The floors of docs/architecture.md are those of the code: nothing imports from its own floor or from one above."""
    order = floors()
    for folder in ("vigil", "reports", "runners"):
        for path in (ROOT / folder).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if module not in ("vigil", "vigil.__main__", "runners"):
                assert_imports_go_down(path.read_text(encoding="utf-8"), module=module, order=order)


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("vigil.statistics.bands", "from vigil.recipes import loading"),
        ("vigil.documents.record", "def f():\n    import vigil.runs.request"),
        ("runners.contract.files", "from vigil import errors"),
        ("reports.tables", "from vigil.cli import main"),
    ],
)
def test_an_import_that_goes_up_is_caught(module, planted):
    """A neighbour, a room above, and one above in a function are each found."""
    with pytest.raises(AssertionError, match="not below"):
        assert_imports_go_down(planted, module=module, order=floors())


def blocks(text: str) -> list[tuple[bool, list[str]]]:
    """Return the paragraphs and list items of a page, each with whether it is one of a list and its lines.

    Code, tables, headings, pictures, comments and what a command made are no prose.
    """
    text = re.sub(MADE_PART, "", text, flags=re.DOTALL)
    text = re.sub(r"^( *)```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    paragraphs: list[tuple[bool, list[str]]] = []
    is_open = False
    for line in text.splitlines():
        if not line.strip() or re.match(r"\s*(\||#|!\[|<!--)", line):
            is_open = False
            continue
        if re.match(r"\s*([-*]|\d+\.) ", line):
            paragraphs.append((True, [line]))
        elif is_open:
            paragraphs[-1][1].append(line)
        else:
            paragraphs.append((line.startswith(" "), [line]))
        is_open = True
    return paragraphs


def sentences(line: str) -> list[str]:
    """Return the sentences of a line; a piece of code is one word, whatever stands in it, and of a link its text counts."""
    line = re.sub(r"^\s*(?:[-*]|\d+\.) (?:\[.\] )?", "", line)
    line = re.sub(r"`[^`]+`", "Code", line)
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    line = re.sub(r"<https?:[^>]*>", "Link", line).replace("*", "")
    line = re.sub(r"\b(et al|e\.g|i\.e|vs|p|cf)\.", r"\1", line)
    return [part.strip() for part in re.split(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])", line) if part.strip()]


def words(sentence: str) -> int:
    return len(re.findall(r"\S*\w\S*", sentence))


def assert_sentences_are_short(text: str, *, at: Path) -> None:
    lengths = []
    for _, lines in blocks(text):
        for sentence in sentences(" ".join(lines)):
            lengths.append(words(sentence))
            assert lengths[-1] <= WORDS_MOST, f"{at}: {lengths[-1]} words, at most {WORDS_MOST} are allowed: {sentence}"
    if len(lengths) >= 5:
        mean = statistics.mean(lengths)
        assert mean <= WORDS_MEAN, f"{at}: {mean:.1f} words a sentence on average, at most {WORDS_MEAN} are allowed"


def assert_a_line_is_a_sentence(text: str, *, at: Path) -> None:
    for is_item, lines in blocks(re.sub(r"^\*\*[^*]+\*\*\s+", "", text, flags=re.MULTILINE)):  # a heading in bold shares the line
        for line in [] if is_item else lines:
            assert len(sentences(line)) == 1, f"{at}: two sentences on a line: {line}"
        for line in [] if is_item else lines[:-1]:
            assert re.search(r"[.!?:][\"')\]*_`]*$", line), f"{at}: a sentence on two lines: {line}"


@pytest.mark.parametrize("check", [assert_sentences_are_short, assert_a_line_is_a_sentence])
def test_sentences_are_short_and_have_a_line_each(check):
    """No sentence of a page that we write has more than 35 words, and the mean of a page is 20 at most."""
    for page in PAGES:
        check(page.read_text(encoding="utf-8"), at=page)


@pytest.mark.parametrize(
    ("check", "planted", "found"),
    [
        (assert_sentences_are_short, "It is " + "very " * 33 + "long.", "36 words, at most 35"),
        (assert_sentences_are_short, "- It is `so` " + "very " * 33 + "[long](x.md).\n", "37 words, at most 35"),
        (assert_sentences_are_short, "It is\n" + "very\n" * 33 + "long.", "36 words"),
        (assert_sentences_are_short, ("It is " + "very " * 18 + "long.\n") * 5, "21.0 words a sentence on average"),
        (assert_a_line_is_a_sentence, "This is one. That is another.", "two sentences on a line"),
        (assert_a_line_is_a_sentence, "This is\none.", "a sentence on two lines"),
    ],
)
def test_long_sentences_are_caught(check, planted, found):
    """A sentence of 36 words, a mean of 21, two sentences on a line and a sentence on two are each found."""
    with pytest.raises(AssertionError, match=found):
        check(planted, at=ROOT / "README.md")


def test_what_is_no_prose_is_not_counted():
    """Code, tables, headings and parts that a command made have no length; an abbreviation ends no sentence."""
    long = "word " * 50
    made = f"<!-- made by x -->\n{long}\n<!-- end -->"
    text = f"# {long}\n\n```\n{long}\n```\n\n| {long} |\n\n{made}\n\nHe et al. 2015 wrote `{long}`.\n"
    assert_sentences_are_short(text, at=ROOT / "README.md")
    assert_a_line_is_a_sentence(text, at=ROOT / "README.md")


@pytest.mark.parametrize(
    "check", [assert_links_lead_somewhere, assert_commands_exist, assert_targets_exist, assert_paths_exist]
)
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
        (assert_paths_exist, "`vigil/verify/gone.py`", "no such file"),
        (assert_paths_exist, "`runners/<framework>/gone.py`", "no such file"),
        (assert_paths_exist, "`vigil.verify.gone`", "no such module"),
        (assert_paths_exist, "`python -m benchmarks.gone`", "no such module"),
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
    context = ["MODE=eager", "PRECISION=bf16", "DEVICES=2", "RELEASE=jax==0.9.2"]
    assert_passed_on(target, [*context, "SEEDS=3", "FAULT=f.py", "JOBS=2", "PROFILE=smoke", "JSON=x.json"])


@pytest.mark.parametrize("target", ["resume", "recipes", "check", "sync"])
def test_make_passes_on_where_the_answer_goes(target):
    """Also of targets that have no context."""
    assert_passed_on(target, ["JSON=x.json"])


def test_make_help_names_what_may_be_given():
    """Each variable that is passed on stands in what `make help` prints."""
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for variable in set(re.findall(r"\$\(call option,[a-z-]+,([A-Z]+)\)", MAKEFILE)):
        assert re.search(rf"\b{variable}\b", shown), f"make help: {variable} is passed on, and not named"


def assert_passed_on(target: str, given: list[str]) -> None:
    """Raise unless each variable that is given to make becomes an option of the command that it runs."""
    stamps = [word for name in ("core", "torch", "tensorflow", "jax", "test") for word in ("-o", f".venv/.{name}")]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}  # of `make test`
    done = subprocess.run(["make", "-n", *stamps, target, *given], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    [command] = [line for line in done.stdout.replace("\\\n", "").splitlines() if "bin/vigil" in line]
    for option in given:
        name, _, value = option.partition("=")
        assert f"--{name.lower()}='{value}'" in command
