"""The cells of a night: for every recipe and framework a verification and a reproduction in each of their contexts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from vigil.audit.definitions import catalog
from vigil.audit.sweep import USUAL_MODES
from vigil.documents.context import MODES, Context
from vigil.documents.night import AUDIT, REPRODUCE, STEP, VERIFY, CellKind, CellRow, StepRow
from vigil.process.build_spec import rows_of_part
from vigil.recipes.loading import Recipe
from vigil.runs.contexts import ALL_PRECISIONS, every_context, in_short_form, matrix_contexts, neighbours
from vigil.steps.verify import PRECISIONS as STEP_PRECISIONS
from vigil.steps.verify import settings_of
from vigil.verify.company import companion_of

# What a look is worth. A verification says where a framework is wrong, a reproduction only that it is, and only of what moves a
# metric by several points. With 30 the dearest verification, of a compiled detector, comes before all reproductions but those in
# plain contexts: at 4 an hour left five verifications out. A context that more people use is worth more.
_KINDS = {VERIFY: 30.0, STEP: 30.0, AUDIT: 30.0, REPRODUCE: 1.0}
_MODES = {"jit": 2.0}
_PRECISIONS = {"fp32": 2.0, "bf16": 1.0}
_RARE = 0.5
QUICK = "quick"  # how much of an audit a night takes: there is no profile of one


@dataclasses.dataclass(frozen=True)
class NightCell:
    """One kind of look at one recipe's profile in one context. is_short: a verification by steps on margin batches alone.

    recipe: of a user's own step the name of its file, which has no profile: it says the night's. Of an audit its family.
    """

    kind: CellKind
    recipe: str
    profile: str
    context: Context
    # Compared by nothing: a reproduction names the verification before it without knowing its form.
    is_short: bool = dataclasses.field(default=False, compare=False)

    @property
    def key(self) -> str:
        """Return what stands for the cell in documents and tables, and is the same every night."""
        return f"{self.kind} {self.recipe} {self.profile} {self.context.text}"

    @property
    def framework(self) -> str:
        return self.context.framework

    @property
    def verification(self) -> NightCell | None:
        """Return the cell that comes before this one, if any does."""
        return dataclasses.replace(self, kind=VERIFY) if self.kind == REPRODUCE else None

    @property
    def before(self) -> list[NightCell]:
        """Return the cells that are to be looked at before this one: of a verification in the short form its neighbours.

        And its companion on one device, to which it is held where both are wrong.
        """
        if self.verification:
            return [self.verification]
        near = neighbours(self.context) if self.is_short else []
        cells = [dataclasses.replace(self, context=context, is_short=False) for context in near]
        return [*cells, self.companion] if self.is_short and self.companion else cells

    @property
    def companion(self) -> NightCell | None:
        """Return the cell of the same verification on one device, of one on several."""
        context = companion_of(self.context)
        return None if context is None else dataclasses.replace(self, context=context)

    @property
    def value(self) -> float:
        """Return what a look at it is worth: jit, fp32, one device first."""
        devices = 1.5 if self.context.devices == 1 else _RARE if self.context.shards else 1.0
        mode, precision = _MODES.get(self.context.mode, 1.0), _PRECISIONS.get(self.context.precision, _RARE)
        return _KINDS[self.kind] * mode * precision * devices


def night_cells(recipe: Recipe, profile: str, *, frameworks: Sequence[str], is_verified: bool = True) -> list[NightCell]:
    """Return the cells of one recipe, framework by framework: the contexts of `vigil verify --all`, those of `vigil matrix`.

    Args:
        is_verified: whether there is a golden tape; without one there is nothing to verify against.
    """
    training = recipe.resolve(profile)
    batch_size, rows = training["batch_size"], rows_of_part(training)
    verified = (
        every_context(frameworks, modes=MODES, precisions=ALL_PRECISIONS, batch_size=batch_size, rows=rows) if is_verified else []
    )
    short = in_short_form(verified)
    cells = [NightCell(VERIFY, recipe.name, profile, context, is_short=context in short) for context in verified]
    return cells + [NightCell(REPRODUCE, recipe.name, profile, context) for context in matrix_contexts(frameworks)]


def step_cells(name: str, framework: str, profile: str) -> list[NightCell]:
    """Return the cells of a user's own step: each mode and precision that it is verified in, with all its numbers of threads."""
    contexts = dict.fromkeys(each.context for each in settings_of(framework, MODES, STEP_PRECISIONS, [1]))
    return [NightCell(STEP, name, profile, context) for context in contexts]


def audit_cells(frameworks: Sequence[str]) -> list[NightCell]:
    """Return the cells of the quick audit of each framework, as it is used: one a family of operators."""
    families = dict.fromkeys(entry.family for entry in catalog().values())
    contexts = [Context(framework, USUAL_MODES[framework], "fp32") for framework in frameworks]
    return [NightCell(AUDIT, family, QUICK, context) for context in contexts for family in families]


def row_of(cell: NightCell, *, basis: str, chosen: str) -> CellRow:
    """Return the row of a cell that nobody has started on. `chosen`: why it is due."""
    return (StepRow if cell.kind in (STEP, AUDIT) else CellRow)(
        key=cell.key,
        kind=cell.kind,
        recipe=cell.recipe,
        profile=cell.profile,
        context=cell.context,
        is_short=cell.is_short,
        basis=basis,
        chosen=chosen,
    )


def cell_of(row: CellRow) -> NightCell:
    """Return the cell of a row."""
    return NightCell(row.kind, row.recipe, row.profile, row.context, is_short=row.is_short)
