"""The commands that show a cell again, with the release that was tested: to copy into a terminal."""

from __future__ import annotations

from reports.site.cell_results import Key
from reports.site.standing import public
from reports.site.words import plain
from vigil.documents.context import Context, parse_context
from vigil.errors import UsageError
from vigil.recipes.command_line import cell_command

_SEEDS = 5


def verify_command(key: Key, release: str | None, *, source: str | None = None) -> str | None:
    """Return the verification of a cell, or None for a context that this Vigil does not know."""
    return _command("verify", key, release, source=source)


def reproduce_command(key: Key, release: str | None, *, source: str | None = None) -> str | None:
    """Return the reproduction of a cell with several seeds."""
    return _command("reproduce", key, release, source=source, seeds=_SEEDS)


def compare_command(key: Key, before: str | None, release: str | None, *, source: str | None = None) -> str | None:
    """Return the comparison of two releases in a cell; None where they are not two."""
    if not before or not release or public(before) == public(release):
        return None
    return _command("compare", key, before, release, source=source)


def _command(verb: str, key: Key, *releases: str | None, source: str | None, seeds: int | None = None) -> str | None:
    context = _context(key)
    if context is None:
        return None
    return cell_command(
        verb,
        plain(key[0]),
        context,
        profile=plain(key[1]),
        source=plain(source) if source else None,
        releases=[f"{context.framework}=={plain(public(each))}" for each in releases if each],
        seeds=seeds,
    )


def _context(key: Key) -> Context | None:
    try:
        return parse_context(key[2])
    except UsageError:
        return None
