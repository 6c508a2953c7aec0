"""What `--help` says beside the options: the verbs in groups, and of each verb an example and its exit codes."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator

from vigil.terminal import width

GROUPS = {
    "Does it compute what it should?": (
        "reproduce", "preflight", "verify", "audit", "narrow", "determinism", "trace", "init", "matrix", "compare", "resume",
        "replay",
    ),
    "Night after night": ("nightly", "triage", "drift", "report", "dashboard", "sync"),
    "What judges": ("reference", "power", "golden"),
    "Recipes and data of your own": ("recipes", "check", "schema", "data", "coco"),
    "Releases": ("env",),
}
EXAMPLES = {
    "reproduce": "vigil reproduce resnet_cifar --framework jax --mode compile --precision bf16",
    "preflight": "vigil preflight resnet_cifar --profile paper --framework torch",
    "verify": "vigil verify resnet_cifar --framework torch --mode compile",
    "audit": "vigil audit softmax convolution --framework torch",
    "narrow": "vigil narrow my_script.py --since",
    "determinism": "vigil determinism resnet_cifar --framework torch",
    "trace": "vigil trace my_script.py --runs 20",
    "triage": "vigil triage runs/DIRECTORY",
    "init": "vigil init torch my_step.py",
    "matrix": "vigil matrix resnet_cifar --profile smoke --jobs 2",
    "compare": "vigil compare resnet_cifar jax==0.9.2 jax==0.10.2",
    "resume": "vigil resume runs/DIRECTORY",
    "replay": "vigil replay runs/DIRECTORY",
    "nightly": "vigil nightly --budget 2h",
    "drift": "vigil drift resnet_cifar --profile quick",
    "report": "vigil report",
    "dashboard": "vigil dashboard",
    "sync": "vigil sync",
    "reference": "vigil reference show resnet_cifar",
    "reference show": "vigil reference show resnet_cifar --profile quick",
    "reference add": "vigil reference add resnet_cifar --profile quick",
    "reference supersede": 'vigil reference supersede resnet_cifar --profile quick --reason "measured with the wrong padding"',
    "reference diff": "vigil reference diff main",
    "power": "vigil power resnet_cifar --effect 1.5",
    "golden": "vigil golden resnet_cifar",
    "recipes": "vigil recipes",
    "check": "vigil check my_recipe.yaml",
    "schema": "vigil schema > recipe.schema.json",
    "data": "vigil data import flowers --train flowers/train --test flowers/test",
    "data import": "vigil data import flowers --train flowers/train --test flowers/test",
    "coco": "vigil coco export scenes",
    "coco import": "vigil coco import cells --train cells/train.json --test cells/test.json",
    "coco export": "vigil coco export scenes",
    "coco evaluate": "vigil coco evaluate runs/DIRECTORY/seed0/detections.npz",
    "coco draw": "vigil coco draw runs/DIRECTORY/seed0/detections.npz --images 12",
    "env": "vigil env list",
    "env list": "vigil env list",
    "env build": "vigil env build jax==0.9.2",
    "env prune": "vigil env prune --unused-days 30",
}
OF_A_VERDICT = (
    "exit codes: 0 reproduced, 1 outside the band, 2 wrong usage or recipe, 3 could not run, "
    "4 unknown (no or too little reference) or ran"
)
OF_A_TOOL = "exit codes: 0 done, 2 wrong usage or recipe, 3 could not be done"
_VERDICTS = ("reproduce", "matrix", "resume")


def complete(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `vigil` its groups, and that of each verb and action its example and exit codes."""
    parser.usage = "vigil [-h] [--version] VERB ..."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"{_groups(parser)}\n\n{_filled(OF_A_VERDICT)}\n\n`vigil VERB --help` has the options and an example of each."
    for name, below in _parsers(parser):
        codes = below.epilog or (OF_A_VERDICT if name in _VERDICTS else OF_A_TOOL)
        example = f"example: {EXAMPLES[name]}\n\n" if name in EXAMPLES else ""
        below.description = _filled(below.description) if below.description else None
        below.formatter_class = argparse.RawDescriptionHelpFormatter
        below.epilog = example + _filled(codes)


def _groups(parser: argparse.ArgumentParser) -> str:
    verbs = _choices(parser)
    said = {action.dest: action.help or "" for action in verbs._choices_actions} if verbs else {}
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"{title}"]
        lines += [_filled(said[name], first=f"  {name:<13}", rest=" " * 15) for name in names if name in said]
    return "\n".join(lines).strip()


def _parsers(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    actions = _choices(parser)
    for word, below in actions.choices.items() if actions else ():
        yield f"{name} {word}".strip(), below
        yield from _parsers(below, f"{name} {word}".strip())


def _choices(parser: argparse.ArgumentParser) -> argparse._SubParsersAction | None:
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


def _filled(text: str, *, first: str = "", rest: str = "") -> str:
    return textwrap.fill(text, width=width() - 2, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
