"""The scripts of findings keep to what `vigil narrow` reads: both verdicts, and an exit code that agrees."""

from __future__ import annotations

import ast

import pytest

from vigil.paths import project_root

FOLDER = project_root() / "docs" / "findings"
SCRIPTS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py"))
# Scripts without a verdict, each with a reason.
LEFT_OUT: dict[str, str] = {}


def lacking(text: str) -> list[str]:
    """Return what a script lacks: a printed RIGHT, a printed WRONG, and an exit code of its own."""
    nodes = list(ast.walk(ast.parse(text)))
    printed = {
        constant.value
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args
        for constant in ast.walk(node.args[0])  # A verdict line begins with its word.
        if isinstance(constant, ast.Constant)
    }
    raised = [node.exc for node in nodes if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    called = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit"]
    is_ended = any(ast.unparse(each.func) == "SystemExit" and each.args for each in raised) or any(each.args for each in called)
    return [word for word in ("RIGHT", "WRONG") if word not in printed] + ([] if is_ended else ["SystemExit"])


def test_there_are_scripts():
    assert len(SCRIPTS) > 150
    assert set(LEFT_OUT) <= set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_a_finding_has_a_verdict(name):
    found = lacking((FOLDER / name).read_text(encoding="utf-8"))
    assert bool(found) == (name in LEFT_OUT), found


VERDICT = 'print("RIGHT" if is_right else "WRONG", "got", 1, "expected", 2)\n'


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("is_right = False\n" + VERDICT + "raise SystemExit(not is_right)\n", []),
        ("is_right = False\n" + VERDICT, ["SystemExit"]),
        ("is_right = False\n" + VERDICT + "raise SystemExit\n", ["SystemExit"]),
        ('"""Says RIGHT or WRONG."""\nraise SystemExit(1)\n', ["RIGHT", "WRONG"]),
        ('told = "RIGHT" if 0 else "WRONG"\nprint(f"dense: {told}")\nraise SystemExit(1)\n', ["RIGHT", "WRONG"]),
        ('print("WRONG")\nraise SystemExit(1)\n', ["RIGHT"]),
    ],
)
def test_a_script_without_a_verdict_is_caught(text, missing):
    assert lacking(text) == missing
