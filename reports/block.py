"""The verdict block: what a reproduction ends with, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from reports.failure_text import triage_rows
from reports.verification_text import WHAT_TO_DO
from vigil.documents.invocation import FirstRung, Invocation, Tracking
from vigil.documents.judgement import JudgedTarget, Judgement, RunBand, SequentialEvidence, shown
from vigil.documents.verdict import Verdict
from vigil.progress import duration
from vigil.recipes.command_line import cell_command, fault_in
from vigil.statistics.metric import amount
from vigil.statistics.sequential import lower_bound
from vigil.terminal import width

_LOG_LINES = 6


def verdict_block(invocation: Invocation, *, directory: str) -> str:
    """Return the block for a judged invocation, the answer first. Every number in it stands in invocation.json too."""
    judged = invocation.verdict
    if judged is None:
        raise ValueError(f"{directory}: not judged yet")
    rule = "-" * width()
    lines = [_answer(invocation, judged), rule, f"{invocation.recipe}, {invocation.context}"]
    if invocation.fault:
        lines.append(_row("PLANTED FAULT", f"{invocation.fault}: this is not a run of the framework as released"))
    lines += [_row(judged.metric, _values(judged))]
    lines += [_row(name, text) for name, text in zip(("band", ""), _band(judged), strict=False)]
    lines += [_row("verdict", _shown(judged.name)), _row("", judged.reason)]
    if judged.detectable_drop is not None and judged.name is not Verdict.RAN:
        runs, worse = len(judged.values), "drop" if judged.direction == "higher" else "rise"
        lines.append(
            _row(
                "power",
                f"{'this run' if runs == 1 else f'these {runs} runs'} would have caught a {worse} of "
                f"{amount(judged.detectable_drop, judged.unit)} with probability {judged.power:g}",
            )
        )
    if judged.sequential:
        lines.append(_row("evidence", _evidence(judged.sequential, unit=judged.unit)))
    lines += _first_rung(invocation.verify)
    # Beside values that came out digit for digit, those of other profiles say nothing.
    exact = [target for target in judged.targets if target.exact]
    lines += [_row("published", _target(target)) for target in exact or judged.targets]
    if failure := judged.failure:
        lines.append(_row("failed", f"{failure.category} in phase {failure.phase}, step {failure.step}, seed {failure.seed}"))
        lines += [_row(name, text) for name, text in triage_rows(failure.triage)]
        lines += [] if judged.name is Verdict.UNSUPPORTED else _log(failure.log_tail)
    if judged.name.is_not_finite:
        lines.append(f"{'replay it':<15} vigil replay {directory}")
    if judged.name.is_outside:
        lines += [f"{'go on with':<15} {_verify_command(invocation)}", _row("read", WHAT_TO_DO)]
    lines += [
        _row("wall time", duration(invocation.wall_seconds)),
        _row("directory", directory),
        _row("MLflow", _tracking(invocation.tracking)),
    ]
    return "\n".join([*lines, rule])


def _answer(invocation: Invocation, judged: Judgement) -> str:
    """Return the verdict in one line, with what it is of and what it goes by."""
    said = [judged.name if judged.mean is None else f"{judged.metric} {shown(judged.mean, judged.unit)}"]
    if judged.band and judged.mean is not None:
        said.append(f"band {shown(judged.band.low, judged.unit)} to {shown(judged.band.high, judged.unit)}")
    if (rung := invocation.verify) and rung.verdict and rung.verdict.name is Verdict.REGRESSED:
        said.append("a training step is wrong")
    fault = "PLANTED FAULT, " if invocation.fault else ""
    recipe = invocation.recipe
    return f"{_shown(judged.name)}: {fault}{recipe.name} {recipe.profile}, {invocation.context.text}: {', '.join(said)}"


def _row(name: str, text: str) -> str:
    return textwrap.fill(
        text,
        width=width(),
        initial_indent=f"{name:<15} ",
        subsequent_indent=" " * 16,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shown(verdict: Verdict) -> str:
    return verdict if verdict in (Verdict.REPRODUCED, Verdict.RAN) else verdict.upper()


def _log(lines: Sequence[str]) -> list[str]:
    return [f"    | {line}" for line in lines[-_LOG_LINES:]]


def _values(judged: Judgement) -> str:
    if not judged.values:
        return "no value"
    text = ", ".join(f"{shown(entry.value, judged.unit)} (seed {entry.seed})" for entry in judged.values)
    return f"{text}; mean {shown(judged.mean, judged.unit)}" if len(judged.values) > 1 and judged.mean is not None else text


def _band(judged: Judgement) -> list[str]:
    band = judged.band
    if band is None:
        exact = [target for target in judged.targets if target.exact and target.exact.metric == judged.metric]
        return [f"{target.value:g} and {target.tolerance:g} either way, as published" for target in exact] or ["none"]

    def interval(low: float, high: float) -> str:
        return f"{shown(low, judged.unit)} to {shown(high, judged.unit)}"

    one = f"{interval(band.low, band.high)} for one run"
    if several := judged.mean_band:
        one += f"; {interval(several.low, several.high)} for the mean of {len(judged.values)}"
    return [one, _how_it_was_made(band)]


def _how_it_was_made(band: RunBand) -> str:
    return (
        f"{band.coverage:.0%} {band.method}, from {band.n} runs of {band.n_seeds} seeds on "
        f"{', '.join(band.frameworks)}, {dates(band.dates)}"
    )


def dates(days: Sequence[str]) -> str:
    """Return one day, or the first and the last."""
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _evidence(evidence: SequentialEvidence, *, unit: str) -> str:
    """Return the e-value after each run, and what ends it."""
    seen = ", ".join(f"{look.e_value:.3g}" for look in evidence.looks)
    ends = f"{1.0 / evidence.alpha:.3g} or more says outside, {lower_bound(evidence.beta):.3g} or less reproduced"
    effect = amount(evidence.effect, unit)
    return f"{seen} to 1 for a difference of {effect}, run by run; {ends}; at most {evidence.planned} runs"


def _target(target: JudgedTarget) -> str:
    outcome = {True: "met", False: "NOT MET", None: "not judged"}[target.meets]
    return f"{target.value:g} ({target.published_as}; {target.source}): {outcome}, {target.reason}"


def _first_rung(rung: FirstRung | None) -> list[str]:
    """Return how the first rung ended: a line, and the end of its log when it crashed."""
    if rung is None or rung.verdict is None:
        return []
    spent = f", {duration(rung.seconds)}" if rung.seconds is not None else ""
    line = _row("verify", f"{_shown(rung.verdict.name)}: {rung.text}{spent}")
    if rung.failure is None:
        return [line]
    return [line, *(_row(name, text) for name, text in triage_rows(rung.failure.triage)), *_log(rung.failure.log_tail)]


def _verify_command(invocation: Invocation) -> str:
    """Return the command that looks for the first wrong tensor: unbroken, so that it can be copied."""
    return cell_command(
        "verify",
        invocation.recipe.name,
        invocation.context,
        profile=invocation.recipe.profile,
        source=invocation.source,
        releases=[invocation.release.request] if invocation.release else [],
        fault=fault_in(invocation.command),
    )


def _tracking(tracking: Tracking | None) -> str:
    if tracking is None or tracking.error is not None:
        return f"not recorded: {tracking.error if tracking else 'not tracked'}"
    return f"experiment {tracking.experiment}, run {tracking.run_id}"
