"""The verdict block: what a reproduction ends with, as text."""

from __future__ import annotations

import textwrap
from typing import Any

from vigil.progress import duration
from vigil.runs.first_rung import origin_text
from vigil.statistics.sequential import lower_bound

_WIDTH = 110
_RULE = "-" * _WIDTH


def verdict_block(invocation: dict[str, Any], *, directory: str) -> str:
    """Return the block for a judged invocation. Every number in it stands in invocation.json too."""
    judged, recipe = invocation["verdict"], invocation["recipe"]
    lines = [
        _RULE,
        f"{recipe['name']} v{recipe['version']} ({recipe['hash']}), profile {recipe['profile']}, {invocation['context']['text']}",
    ]
    if invocation["fault"]:
        lines.append(_row("PLANTED FAULT", f"{invocation['fault']}: this is not a run of the framework as released"))
    lines += [_row(judged["metric"], _values(judged))]
    lines += [_row(name, text) for name, text in zip(("band", ""), _band(judged), strict=False)]
    lines += [
        _row("verdict", judged["name"].upper() if judged["name"] != "reproduced" else "reproduced"),
        _row("", judged["reason"]),
    ]
    if judged["detectable_drop"] is not None:
        runs = len(judged["values"])
        lines.append(
            _row(
                "power",
                f"{'this run' if runs == 1 else f'these {runs} runs'} would have caught a drop of "
                f"{_amount(judged['detectable_drop'], judged)} with probability {judged['power']:g}",
            )
        )
    if in_turn := judged.get("sequential"):
        lines.append(_row("evidence", _in_turn(in_turn, judged)))
    lines += _verify(invocation.get("verify"))
    lines += [_row("published", _target(target)) for target in judged["targets"]]
    if failure := judged.get("failure"):
        lines.append(
            _row(
                "failed",
                f"{failure['category']} in phase {failure['phase']}, step {failure['step']}, seed {failure['seed']}",
            )
        )
        lines += [f"    | {line}" for line in failure["log_tail"][-6:] if judged["name"] != "unsupported"]
    lines += [
        _row("wall time", duration(invocation["wall_seconds"])),
        _row("directory", directory),
        _row("MLflow", _tracking(invocation)),
    ]
    return "\n".join([*lines, _RULE])


def _row(name: str, text: str) -> str:
    return textwrap.fill(
        text,
        width=_WIDTH,
        initial_indent=f"{name:<15} ",
        subsequent_indent=" " * 16,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _amount(value: float, judged: dict[str, Any]) -> str:
    return f"{value:.2f} points" if judged["unit"] == "percent" else f"{value:.4g} {judged['unit']}"


def _values(judged: dict[str, Any]) -> str:
    if not judged["values"]:
        return "no value"
    text = ", ".join(f"{entry['value']:.2f} (seed {entry['seed']})" for entry in judged["values"])
    return f"{text}; mean {judged['mean']:.2f}" if len(judged["values"]) > 1 and judged["mean"] is not None else text


def _band(judged: dict[str, Any]) -> list[str]:
    band = judged["band"]
    if band is None:
        return ["none"]
    made = (
        f"{band['coverage']:.0%} {band['method']}, from {band['n']} runs of {band['n_seeds']} seeds on "
        f"{', '.join(band['frameworks'])}, {dates(band['dates'])}"
    )
    lines = [f"{band['low']:.2f} to {band['high']:.2f} for one run"]
    if several := judged.get("mean_band"):
        lines[0] += f"; {several['low']:.2f} to {several['high']:.2f} for the mean of {len(judged['values'])}"
    return [*lines, made]


def dates(days: list[str]) -> str:
    """Return one day, or the first and the last."""
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _in_turn(found: dict[str, Any], judged: dict[str, Any]) -> str:
    """Return the e-value after each run, and what ends it."""
    seen = ", ".join(f"{look['e_value']:.3g}" for look in found["looks"])
    ends = f"{1.0 / found['alpha']:.3g} or more says outside, {lower_bound(found['beta']):.3g} or less reproduced"
    effect = _amount(found["effect"], judged)
    return f"{seen} to 1 for a difference of {effect}, run by run; {ends}; at most {found['planned']} runs"


def _target(target: dict[str, Any]) -> str:
    outcome = {True: "met", False: "NOT MET", None: "not judged"}[target["meets"]]
    return f"{target['value']:g} ({target['published_as']}; {target['source']}): {outcome}, {target['reason']}"


def _verify(summary: dict[str, Any] | None) -> list[str]:
    """Return how the first rung ended: a line, and the end of its log when it crashed."""
    if not summary:
        return []
    verdict = summary["verdict"]
    what = origin_text(summary["origin"]) if summary["origin"] else verdict["reason"]
    name = verdict["name"] if verdict["name"] == "reproduced" else verdict["name"].upper()
    spent = f", {duration(summary['seconds'])}" if summary["seconds"] is not None else ""
    tail = verdict.get("failure", {}).get("log_tail", [])[-6:]
    return [_row("verify", f"{name}: {what}{spent}"), *(f"    | {line}" for line in tail)]


def _tracking(invocation: dict[str, Any]) -> str:
    tracking = invocation["tracking"] or {"error": "not tracked"}
    if "error" in tracking:
        return f"not recorded: {tracking['error']}"
    return f"experiment {tracking['experiment']}, run {tracking['run_id']}"
