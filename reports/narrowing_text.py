"""What a narrowing ends with, as text: the block of the terminal, and the report that can be sent to a framework's tracker."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from reports.step_text import row, wrapped
from vigil.documents.narrowing import Narrowing, ReleaseSearch, SwitchLook
from vigil.frameworks import trackers
from vigil.progress import duration
from vigil.redaction import redact

_MOST = 8


def narrowing_block(document: Narrowing, *, directory: str) -> str:
    """Return the block of a narrowing, the answer first. Every number in it stands in narrow.json too."""
    fault = "PLANTED FAULT, " if document.fault else ""
    lines = wrapped(f"{document.state.upper()}: ", f"{fault}{document.source.what}: {document.reason}", indent=2)
    if script := document.script:
        lines += row("script", f"{script.lines} lines; wrong in {script.wrong} of {script.runs} runs")
        lines += row("", f"see it: python {script.path}")
        if script.without_fault is not None:
            lines += row("", f"without the planted fault: {script.without_fault}")
    if smaller := document.smaller:
        lines += row("smaller", f"{smaller.before} came down to {smaller.after} ({smaller.asked} forms asked)")
        for need in smaller.needs:
            lines += row("needs", need)
    if releases := document.releases:
        lines += _releases(releases)
    if document.switches is not None:
        lines += _switches(document.switches)
    lines += row("took", duration(document.seconds))
    lines += row("report", f"{directory}/report.md")
    return "\n".join(lines)


def _releases(releases: ReleaseSearch) -> list[str]:
    lines = []
    for change in releases.changes:
        for each in change.mixed[:_MOST]:
            lines += row("", f"{change.last_before} with {each.package} {each.version}: {each.outcome}")
    held = f", with {', '.join(releases.hold)}" if releases.hold else ""
    lines = row("since", f"{releases.says}{held}") + lines
    none = [look for look in releases.looks if look.outcome not in ("right", "wrong", "wrong otherwise")]
    looked = f"{len(releases.looks)} of {releases.releases} releases in {releases.rounds} rounds, {duration(releases.seconds)}"
    lines += row("looked at", f"{looked}{f'; {len(none)} gave no evidence' if none else ''}")
    for look in none[:_MOST]:
        lines += row("", f"{releases.package} {look.version}: {look.outcome}: {look.says}")
    return lines


def _switches(switches: tuple[SwitchLook, ...]) -> list[str]:
    hiding = [each for each in switches if each.outcome == "right"]
    if not hiding:
        return row("switches", f"none of {len(switches)} hides it")
    lines = []
    for each in hiding:
        lines += row("hidden by", f"{each.name}: {each.tells}{' (a workaround)' if each.is_workaround else ''}")
    return lines


def issue_report(document: Narrowing, script: str) -> str:
    """Return the Markdown that can be sent to a framework's tracker: what, the script, releases, switches, environment."""
    said = document.script.says if document.script else ""
    lines = [f"# {document.source.what}", "", f"`{said}`", ""]
    if document.fault:
        lines += [f"**A fault was planted on purpose ({document.fault.name}): this is not the framework as released.**", ""]
    lines += ["## To see it", "", "The script needs NumPy and the framework alone. It prints RIGHT or WRONG.", ""]
    lines += ["```python", script.rstrip(), "```", ""]
    if document.script:
        lines += [f"Here it is wrong in {document.script.wrong} of {document.script.runs} runs.", ""]
    if releases := document.releases:
        lines += ["## Releases", "", f"{releases.says[:1].upper()}{releases.says[1:]}.", ""]
        lines += [f"| {releases.package} | outcome | runs | it says |", "|---|---|---|---|"]
        for look in releases.looks:
            lines.append(f"| {look.version} | {look.outcome} | {look.wrong} of {look.runs} wrong | {_cell(look.says)} |")
        lines.append("")
        for change in releases.changes:
            for each in change.mixed:
                lines.append(f"- {releases.package} {change.last_before} with {each.package} {each.version}: {each.outcome}")
        lines += [""] if any(change.mixed for change in releases.changes) else []
    if document.switches is not None:
        lines += ["## Switches", ""]
        hiding = [each for each in document.switches if each.outcome == "right"]
        lines += [f"- `{each.name}` hides it: {each.tells}." for each in hiding] or ["None that was tried hides it."]
        others = [each.name for each in document.switches if each.outcome in ("wrong", "wrong otherwise")]
        lines += ["", f"It stays with: {', '.join(f'`{name}`' for name in others)}.", ""] if others else [""]
    lines += ["## Environment", ""]
    lines += [f"- {document.framework} {document.framework_version or '(its version was not told)'}"]
    lines += [f"- {name}: {value}" for name, value in document.environment.items() if name != "cpu_flags"]
    pins = document.release.pins if document.release and document.release.pins else ()
    lines += [f"- packages: {', '.join(pins)}"] if pins else []
    lines += ["", "## How it was found", ""]
    lines += [f"By `{redact(document.command)}`, from {document.source.kind} {Path(document.source.path).name}.", ""]
    package = document.releases.package if document.releases else None
    lines += [f"Is it known? [Search]({search_address(document, package)})", ""]
    return "\n".join(lines)


def search_address(document: Narrowing, package: str | None) -> str:
    """Return where to look for a report of the same failure."""
    words = document.source.what.split(",")[0].split(":")[0]
    tracker = trackers().get(package or "", trackers()[document.framework])
    return f"https://github.com/{tracker}/issues?{urlencode({'q': f'is:issue {words}'})}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
