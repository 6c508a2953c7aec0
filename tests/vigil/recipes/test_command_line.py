"""The commands that blocks, tags and pages give to copy are ones that `vigil` takes, of the cell that they stand beside."""

from __future__ import annotations

import shlex

import pytest

from vigil.cli import options
from vigil.cli.main import build_parser
from vigil.documents.context import parse_context
from vigil.recipes.command_line import cell_command, fault_in

USUAL = "torch-jit-fp32-x1"
RARE = "torch-compile-bf16-gpu-x2-s20+12-det-native-math"


@pytest.mark.parametrize("text", [USUAL, RARE, "jax-eager-fp64-x1"])
@pytest.mark.parametrize("verb", ["reproduce", "verify"])
def test_a_command_asks_for_the_cell_that_it_was_made_of(verb, text):
    """Read by `vigil`'s own parser, it gives recipe, profile, context and release back; verify has shared randomness alone."""
    context = parse_context(text)
    release = f"{context.framework}==1.2"
    made = cell_command(verb, "resnet_cifar", context, profile="smoke", releases=[release], fault="a b.py")
    parsed = build_parser().parse_args(shlex.split(made)[1:])
    asked = options.context_from(parsed)
    assert asked.text == (text.replace("-native", "") if verb == "verify" else text)
    assert (parsed.recipe, parsed.profile, parsed.release, parsed.fault) == ("resnet_cifar", "smoke", [release], "a b.py")


@pytest.mark.parametrize("text", [USUAL, RARE])
def test_a_comparison_names_its_framework_by_its_releases(text):
    """Old and new stand where `vigil compare` takes them, and neither a framework nor a randomness, which it does not take."""
    made = cell_command("compare", "resnet_cifar", parse_context(text), profile="quick", releases=["torch==1.0", "torch==1.1"])
    assert made.startswith("vigil compare resnet_cifar torch==1.0 torch==1.1 --mode ")
    parsed = build_parser().parse_args(shlex.split(made)[1:])
    assert (parsed.old, parsed.new, parsed.framework) == ("torch==1.0", "torch==1.1", None)


def test_what_is_usual_is_left_out():
    """The profile that is the default stands in no command, nor does what nobody planted or asked for."""
    made = cell_command("reproduce", "resnet_cifar", parse_context(USUAL), profile="quick", seeds=5)
    assert made == "vigil reproduce resnet_cifar --framework torch --mode jit --precision fp32 --seeds 5"


def test_no_name_breaks_out_of_a_command():
    """Names of a history may be anything: a shell reads each as one word."""
    hostile = "x; rm -rf ~ '\"$(id)"
    made = cell_command("verify", hostile, parse_context(USUAL), profile=hostile, releases=[hostile], fault=hostile)
    words = shlex.split(made)
    assert words.count(hostile) == 4
    assert len(words) == 15


@pytest.mark.parametrize(
    ("command", "file"),
    [("vigil verify x --fault 'a b.py'", "a b.py"), ("vigil verify x", None), ("vigil verify 'x --fault a.py", "a.py")],
)
def test_the_fault_of_a_command_is_found(command, file):
    """Quoted or not, and in a command that no shell would take."""
    assert fault_in(command) == file
