"""No sample of a context that verify rejects: the short verification before the first seed of a reference is trained.

It is the first rung of a reproduction (first_rung.py), and stricter: there a wrong step takes the verdict back, here nothing is
trained at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from vigil.digests import is_listed
from vigil.documents.context import Context
from vigil.documents.provenance import NamedRelease
from vigil.documents.reference_row import VerificationNote
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_REPRODUCED, CannotRun
from vigil.recipes.loading import Recipe
from vigil.verify.golden import path_of
from vigil.verify.standards import load_standard, verify_contexts

UNVERIFIED = "there is no golden tape of this recipe's profile"


@dataclasses.dataclass(frozen=True)
class GateAnswer:
    """What verify said of one context. `note` goes into its rows; None refuses them, and `exit_code` is then the reason's."""

    context: Context
    note: VerificationNote | None
    said: str
    exit_code: int
    directory: Path | None


def examine_contexts(
    recipe: Recipe,
    profile: str,
    contexts: Sequence[Context],
    runs: Path,
    *,
    command: str,
    data_directory: Path | None,
    jobs: int,
    progress_timeout: float,
    on_end: Callable[[GateAnswer, Verification | None], None],
    release: NamedRelease | None = None,
    python: Path | None = None,
) -> list[GateAnswer]:
    """Verify each context, `jobs` side by side; return what was said, in the order given.

    Only where no tape of the recipe's profile was ever made are samples taken without a verification. A tape that cannot be
    read, is of another version of the recipe, or that this machine's oracle does not agree with, refuses every context.

    Args:
        on_end: told what was said of a context, and its verify.json if there is one, as each ends.
        release, python: as in `verify_contexts`.
    """
    if not is_listed(path_of(recipe.name, profile, source=recipe.source)):
        note = VerificationNote(verdict=Verdict.UNKNOWN, reason=UNVERIFIED, verify_id=None, golden=None)
        return _all_alike(contexts, note, f"{Verdict.UNKNOWN}: {UNVERIFIED}", EXIT_REPRODUCED, on_end)
    try:
        standard = load_standard(recipe, profile, data_directory=data_directory)
        results = verify_contexts(
            standard,
            contexts,
            runs,
            command=command,
            data_directory=data_directory,
            jobs=jobs,
            on_end=lambda done, document, directory: on_end(_gate(document, directory), document),
            short=contexts,
            progress_timeout=progress_timeout,
            release=release,
            python=python,
        )
    except CannotRun as error:
        return _all_alike(contexts, None, f"could not be verified: {error}", EXIT_COULD_NOT_RUN, on_end)
    return [_gate(document, directory) for document, directory in results]


def _all_alike(
    contexts: Sequence[Context],
    note: VerificationNote | None,
    said: str,
    exit_code: int,
    on_end: Callable[[GateAnswer, None], None],
) -> list[GateAnswer]:
    gated = [GateAnswer(context, note, said, exit_code, None) for context in contexts]
    for gate in gated:
        on_end(gate, None)
    return gated


def _gate(document: Verification, directory: Path) -> GateAnswer:
    context, verdict = document.context, document.verdict
    reason = document.origin.text if document.origin else verdict.reason
    said = f"{verdict.name}: {reason}"
    if verdict.name is not Verdict.REPRODUCED:  # unsupported and failed, too: what could not be looked at is not right
        return GateAnswer(context, None, said, verdict.name.exit_code, directory)
    note = VerificationNote(
        verdict=verdict.name, reason=verdict.reason, verify_id=document.verify_id, golden=document.golden.sha256
    )
    return GateAnswer(context, note, said, EXIT_REPRODUCED, directory)
