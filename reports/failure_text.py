"""What a block says of a failure: its sort, the line that decides, what to do, and whether another try helps."""

from __future__ import annotations

from vigil.documents.failure import Triage

_BASES = {"evidence": "by evidence", "history": "by earlier failures", "rule": "by a rule on its words"}


def triage_rows(triage: Triage | None) -> list[tuple[str, str]]:
    """Return the rows on a failure, a name and a text each; none of one from before there was triage, or of a refusal."""
    if triage is None:
        return []
    rows = [("cause", cause_text(triage)), ("decided by", triage.line or "nothing that was said")]
    return [*rows, ("what to do", triage.advice), ("another try", retry_text(triage))]


def cause_text(triage: Triage) -> str:
    """Return the sort of a failure in plain words, and what decided."""
    if triage.category == triage.dimension:
        return f"{triage.name}: nothing decides"
    return f"{triage.name} ({triage.dimension}), {_BASES[triage.basis]}"


def retry_text(triage: Triage) -> str:
    """Return whether another try helps, by what came of earlier ones."""
    retry = triage.retry
    told = f"{retry.chance:.0%}, 95% below {retry.below:.0%}"
    seen = f"in {retry.helped} of {retry.tried} such failures so far"
    if triage.repeats and not retry.helped:
        return "cannot help: the same input fails the same way" + (f"; it helped {seen}" if retry.tried else "")
    if not retry.tried:
        return f"no such failure was tried again yet (prior {told})"
    return f"helps {seen} (posterior {told})"
