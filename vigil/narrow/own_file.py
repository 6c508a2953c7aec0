"""A user's own file as the first part of a script: its text as it was verified, without what the script does not call.

Definitions that nothing needed refers to are left out, and so are imports that they alone used. All else stays as it is written:
statements may have effects, as a seed that is set, and an import that nothing refers to may register something.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from runners.contract.files import replace_text
from vigil.documents.narrowing import Shrinking
from vigil.documents.step import OwnFileFacts
from vigil.errors import CannotRun, UsageError
from vigil.narrow.outcome import RIGHT, WRONG, fault_argument, run_script
from vigil.process.consent import FILES, is_own
from vigil.steps.processes import Started

# What the part that is added defines: the file may have any other name for itself.
FUNCTION = "right_or_wrong"
SCRIPT = "script.py"
# Of a tensor with no more elements the right values are written down, of a larger one a sum of them.
MOST_NUMBERS = 8
_SUMS = 3
_WIDER = 2.0


class OwnText(NamedTuple):
    """A user's file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.name


def own_text(facts: OwnFileFacts) -> OwnText:
    """Return a file as it was when it was verified.

    Raises:
        UsageError: it is gone or has changed, no command of this user has named it, or it needs a module that lies beside it.
    """
    path = Path(facts.path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}. The run is of this file: put it back, or verify it where it is.") from error
    if hashlib.sha256(content).hexdigest() != facts.sha256:
        raise UsageError(f"{path}: it has changed since the run. Allowed: the file as it was; verify it again.")
    if not is_own(FILES, facts.sha256):
        raise UsageError(f"{path}: no command of yours has named this file, and it is not run unasked. Verify it yourself first.")
    text = content.decode("utf-8")
    beside = [name for name in _modules(ast.parse(text)) if _is_beside(path, name)]
    if beside:
        raise UsageError(
            f"{path.name}: imports {', '.join(beside)}, which lies beside it: a script would not stand alone. "
            "Put what is needed of it into the file, and verify that."
        )
    return OwnText(path, text)


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from dict.fromkeys(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _is_beside(path: Path, name: str) -> bool:
    return (path.parent / f"{name}.py").exists() or (path.parent / name / "__init__.py").exists()


def needed_of(text: str, names: Sequence[str]) -> str:
    """Return a file's text without what these names do not need.

    >>> print(needed_of("import a, b\\n\\ndef f():\\n    return a.x\\n\\n\\ndef g():\\n    return b.x\\n", ["f"]).strip())
    import a
    <BLANKLINE>
    def f():
        return a.x
    """
    tree = ast.parse(text)
    defined = {id(node): _defined(node) for node in tree.body}
    used = {id(node): {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} for node in tree.body}
    used_before = set().union(*used.values()) if used else set()
    kept = {id(node) for node in tree.body if defined[id(node)] is None and not _is_main(node)}
    wanted = {*names}.union(*(used[key] for key in kept))
    while True:
        more = {id(node) for node in tree.body if id(node) not in kept and (defined[id(node)] or set()) & wanted}
        if not more:
            break
        kept |= more
        wanted |= set().union(*(used[key] for key in more))
    lines = text.splitlines()
    parts: list[str] = []
    last = 0
    for node in tree.body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        between = lines[last : first - 1]
        last = node.end_lineno or node.lineno
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            own = _import_of(node, wanted, used_before)
            own_lines = lines[first - 1 : last] if own == ast.unparse(node) else own.splitlines()
            parts += [*between, *own_lines] if own else []
        elif id(node) in kept:
            parts += [*between, *lines[first - 1 : last]]
    return "\n".join(_single_spaced(parts)) + "\n"


def without_main(text: str) -> str:
    """Return a file's text without what it does where it is the program."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        if _is_main(node):
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines) + "\n"


def _defined(node: ast.stmt) -> set[str] | None:
    """Return the names that a statement defines and does nothing besides; None where it may do more."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, ast.Assign) and all(isinstance(each, ast.Name) for each in node.targets):
        return {each.id for each in node.targets if isinstance(each, ast.Name)}
    return None


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).replace('"', "'") == "__name__ == '__main__'"


def _import_of(node: ast.Import | ast.ImportFrom, wanted: set[str], used_before: set[str]) -> str:
    """Return an import without the names that only what is left out used; empty where none is left."""

    def is_kept(alias: ast.alias) -> bool:
        name = alias.asname or alias.name.split(".")[0]
        return name in wanted or name not in used_before

    names = [alias for alias in node.names if is_kept(alias)]
    if not names:
        return ""
    return ast.unparse(ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level))


def _single_spaced(lines: Sequence[str]) -> Iterator[str]:
    """Leave out empty lines at the ends, and more than two in a row."""
    empty = 2
    held: list[str] = []
    for line in lines:
        if line.strip():
            yield from held[:2] if empty < 2 or held else []
            held, empty = [], 0
            yield line
        elif empty == 0:
            held.append(line)


def whole_script(own: OwnText, *, says: Sequence[str], needs: Sequence[str] | None, before: Sequence[str], body: str) -> str:
    """Return a script: what it shows, the file's text, and a function that says RIGHT or WRONG.

    Args:
        says: lines of comment at its head.
        needs: names that the function calls: what they do not need is left out; None: nothing is, as what is called by its name.
        before: lines that come before anything of the file is carried out, as how many threads there are.
        body: of the function.
    """
    if FUNCTION in own.text:
        raise UsageError(f"{own.name}: found the name {FUNCTION}, which the script needs for itself. Rename it.")
    kept = without_main(own.text) if needs is None else needed_of(own.text, needs)
    # A docstring and what is imported from the future come first.
    head = [
        node for place, node in enumerate(ast.parse(kept).body)
        if (place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    ]  # fmt: skip
    first, lines = max((node.end_lineno or 0 for node in head), default=0), kept.splitlines()
    plain = re.sub(r"\n{3,}", "\n\n", needed_of(body, []).strip("\n"))
    function = [f"def {FUNCTION}():", *textwrap.indent(plain, "    ").splitlines()]
    comments = [each for line in says for each in textwrap.wrap(line, 120, break_long_words=False)]
    text = [*(f"# {each}" for each in comments), *lines[:first], *before, *lines[first:]]
    text += ["", "", *function, "", "", f"{FUNCTION}()"]
    return "\n".join(line.rstrip() for line in text) + "\n"


def threads_of(framework: str, threads: int) -> list[str]:
    """Return lines that give a framework so many threads."""
    if framework == "torch":
        return ["import torch", f"torch.set_num_threads({threads})"]
    if framework == "tensorflow":
        return ["import tensorflow", *(f"tensorflow.config.threading.set_{kind}_op_parallelism_threads({threads})"
                                       for kind in ("intra", "inter"))]  # fmt: skip
    flag = ['os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"']
    return ["import os", f'os.environ["NPROC"] = "{threads}"', *(flag if threads == 1 else [])]


NAMED = '''
def named(tree, name=""):
    if isinstance(tree, (dict, tuple, list)):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from named(value, f"{name}.{key}" if name else str(key))
    else:
        yield name or "0", tree


def mapped(function, tree):
    if isinstance(tree, dict):
        return {key: mapped(function, value) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [mapped(function, each) for each in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree)
'''.strip("\n")
_JUDGED = '''
{first}got = {got}
expected = {expected}
# How far it may be off: {reason}.
tolerance = {tolerance!r}


def distance(got):
    is_same = np.isnan(expected) | (got == expected)  # what is no number is held to nothing
    with np.errstate(invalid="ignore"):
        return np.where(is_same, 0.0, got - expected)


def is_right(got):
    return got.shape == expected.shape and bool(np.linalg.norm(distance(got)) <= tolerance)


{loop}word = "RIGHT" if is_right(got) else "WRONG"
if got.shape != expected.shape:
    print(word, "got shape", got.shape, "expected shape", expected.shape)
else:
    off = np.nan_to_num(np.abs(distance(got)), nan=np.inf)
    farthest = np.unravel_index(np.argmax(off), off.shape) if off.size else ()
    print(word, "got", got[farthest], "expected", expected[farthest], "in", {tensor!r}, list(map(int, farthest)))
raise SystemExit(word == "WRONG")
'''
_LOOP = '''for _ in range({calls} - 1):  # a call is right at times
    if not is_right(got):
        break
    got = {got}
'''


class Right(NamedTuple):
    """What a script holds a tensor to. got, expected: expressions of arrays. first: a line before. wider: times the tolerance."""

    got: str
    expected: str
    source: str
    first: str = ""
    wider: float = 1.0


def rights_of(expected: np.ndarray, *, got: str, in_float64: str, source: str) -> Iterator[Right]:
    """Yield what a script may hold a tensor to: the file itself in float64, then numbers that are written into the script.

    A fault that float64 has as well is seen by the second alone.

    Args:
        expected: the right values. source: where they come from, in words.
    """
    yield Right(got, in_float64, "the file itself, in float64")
    values = np.asarray(expected, np.float64)
    if not np.isfinite(values).all():
        return
    if values.size <= MOST_NUMBERS:
        yield Right(got, f"np.array({values.tolist()!r})", source)
        return
    for seed in range(_SUMS):
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), values.shape)
        # A sum of elements with signs at random is about as far off as the tensor is: more than twice as far is one in twenty.
        yield Right(
            f"np.asarray(np.sum({got} * signs))", f"np.array({float(np.sum(values * signs))!r})",
            f"{source}: the sum of its elements, with these signs", f"signs = np.random.default_rng({seed}).choice((-1.0, 1.0), "
            f"{values.shape})\n", _WIDER,
        )  # fmt: skip


def judged(right: Right, tensor: str, tolerance: float, reason: str, *, calls: int = 1) -> str:
    """Return the lines of a script that hold a tensor to what is right."""
    return _JUDGED.strip("\n").format(
        first=f"# Right is {right.source}.\n{right.first}", got=right.got, expected=right.expected, reason=reason,
        tolerance=right.wider * tolerance, tensor=tensor, loop=_LOOP.format(calls=calls, got=right.got) if calls > 1 else "",
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class OwnNarrowed:
    """A script of a user's file, and what it came down to. like: what it says; without: the same without the planted fault."""

    script: Path
    shrinking: Shrinking
    like: str
    without: str | None


class Shown(NamedTuple):
    """A script that shows a failure: where it lies, what it says, and how many scripts were tried."""

    path: Path
    like: str
    without: str | None
    tried: int


def first_that_shows(
    candidates: Iterable[str],
    directory: Path,
    started: Started,
    *,
    runs: int = 1,
    is_same: Callable[[str], bool] = lambda line: True,
) -> Shown | str:
    """Return the first script that is WRONG in a fresh process, and RIGHT without the planted fault; or what the last one said.

    Args:
        runs: processes of which one has to show it.
        is_same: is a line that begins with WRONG of the failure that is looked for?
    """
    python, fault = started.python or Path(sys.executable), fault_argument(started.fault, started.framework)
    path, said = directory / SCRIPT, ""
    for number, text in enumerate(candidates, start=1):
        replace_text(path, text)
        outcomes = (run_script(path, python, modules=(started.framework,), fault=fault) for _ in range(runs))
        outcome = next((each for each in outcomes if each.kind != RIGHT), None)
        if outcome is None or outcome.kind != WRONG or not is_same(outcome.line):
            said = f"a script of it is {outcome.kind}: {outcome.line}" if outcome else "a script of it is right"
            continue
        if not fault:
            return Shown(path, outcome.line, None, number)
        without = run_script(path, python, modules=(started.framework,))
        if without.kind == RIGHT:
            return Shown(path, outcome.line, without.line, number)
        said = f"a script of it is {without.kind} without the planted fault as well: {without.line}"
    path.unlink(missing_ok=True)
    return said


def not_shown(what: str, reason: str, command: str) -> CannotRun:
    """Return the error of a failure that no script shows."""
    return CannotRun(f"{what}: no script shows it: {reason}. What shows it is the run itself: {command}")
