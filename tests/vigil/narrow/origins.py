"""Origins as verifications tell them of planted faults, and where each leads to: what the tests of narrowing share."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import NamedTuple

from tests.test_architecture import ROOT
from vigil.audit.limits import audit_limits
from vigil.documents.context import Context, make_context
from vigil.documents.verification import Origin
from vigil.narrow.layers import NotNarrowed, narrow_origin
from vigil.narrow.smaller import Narrowed
from vigil.process.build_spec import fault_entry
from vigil.recipes.loading import load_recipe
from vigil.steps.processes import Started
from vigil.verify.golden import Golden
from vigil.verify.standards import load_standard

RESNET, GPT, DIGITS, DETECTOR = "resnet_cifar", "char_gpt", "digits_mlp", "tiny_mask_rcnn"
_MODES = {"torch": "eager", "tensorflow": "eager", "jax": "jit"}


class Case(NamedTuple):
    """A planted fault in a framework, and the origin that a verification tells of it. way: the public call that is wrong."""

    fault: str
    framework: str
    recipe: str
    layer: str
    phase: str
    quantity: str
    way: str
    slope: float = math.nan
    case: str = "early/margin"

    @property
    def origin(self) -> Origin:
        return Origin(layer=self.layer, phase=self.phase, quantity=self.quantity, tensor="", case=self.case, ratio=1e4,
                      slope=self.slope)  # fmt: skip


@functools.cache
def tape_of(recipe: str) -> Golden:
    """Return the golden tape of a recipe's quick profile."""
    return load_standard(load_recipe(recipe), "quick", data_directory=None).tape


def context_of(framework: str, **more: object) -> Context:
    return make_context(**{"framework": framework, "mode": _MODES[framework], **more})


def narrowed(case: Case, directory: Path, **more: object) -> Narrowed | NotNarrowed:
    """Return what an origin leads to; with VIGIL_NARROW_TABLE set, a row of it is added to that file."""
    fault = fault_entry(str(ROOT / "tests" / "faults" / f"{case.fault}.py"))
    started = Started(framework=case.framework, fault=fault)
    context = context_of(case.framework, **more)
    found = narrow_origin(started, directory, case.origin, context, tape_of(case.recipe), limits=audit_limits())
    table = os.environ.get("VIGIL_NARROW_TABLE")
    if table:
        said = found.reason if isinstance(found, NotNarrowed) else (
            f"{found.way} | {found.quantity} | {found.lines} | {', '.join(found.needs) or 'nothing'}"
        )  # fmt: skip
        with open(table, "a", encoding="utf-8") as file:
            file.write(f"| {case.fault} | {case.framework} | {said} |\n")
    return found
