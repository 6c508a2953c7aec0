"""The causes of a report as a feed, for who would be told and not look: Atom, RFC 4287, https://www.rfc-editor.org/rfc/rfc4287.

An entry a cause, once more when it is fixed. `updated` moves where what a reader would act on has changed: which cells, since
when, with which release, and whether it is fixed. So the feed is read of the report in whose place this one is put. Links are
relative: a report does not know where it will lie.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.site.screen import FIXED
from reports.site.words import plain, shortened
from vigil.documents.first_screen import FirstScreen, ShownCause

FILE_NAME = "feed.xml"
ATOM = "http://www.w3.org/2005/Atom"
# https://www.w3.org/TR/xml/#charsets: what no XML may hold, in any form.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2000
_STALE = "stale"


@dataclass(frozen=True)
class EarlierFeed:
    """The feed that an earlier report left. entries: the summary of each by its id, and when it was updated."""

    updated: str
    entries: Mapping[str, tuple[str, str]]


def read_earlier(path: Path) -> EarlierFeed | None:
    """Return what a feed says; None where there is none, or none that this version wrote."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
        entries = {
            _text(entry, "id"): (_text(entry, "summary"), _text(entry, "updated")) for entry in root.findall(f"{{{ATOM}}}entry")
        }
        return EarlierFeed(_text(root, "updated"), entries)
    except (OSError, ElementTree.ParseError, LookupError):
        return None


def _text(element: ElementTree.Element, name: str) -> str:
    found = element.find(f"{{{ATOM}}}{name}")
    if found is None:
        raise LookupError(name)
    return found.text or ""


def feed_of(screen: FirstScreen, earlier: EarlierFeed | None) -> bytes:
    """Return the feed of a first screen. earlier: the feed in whose place it is put."""
    causes = [*screen.causes, *screen.fixed]
    times = {cause.id: _updated(cause, screen, earlier) for cause in causes}
    if earlier is None:
        updated = max(times.values(), default=screen.written)
    else:
        is_same = times == {name: when for name, (_, when) in earlier.entries.items()}
        updated = earlier.updated if is_same else screen.written
    feed = ElementTree.Element("feed", {"xmlns": ATOM, "xml:lang": "en"})
    _add(feed, "id", screen.id)
    _add(feed, "title", "Vigil: what is wrong")
    if screen.note:
        _add(feed, "subtitle", screen.note)
    _add(feed, "updated", updated)
    _add(ElementTree.SubElement(feed, "author"), "name", "Vigil")
    _link(feed, "self", FILE_NAME, "application/atom+xml")
    _link(feed, "alternate", "index.html", "text/html")
    for cause in causes:
        _entry(feed, cause, times[cause.id])
    ElementTree.indent(feed)
    return bytes(ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)) + b"\n"


def _updated(cause: ShownCause, screen: FirstScreen, earlier: EarlierFeed | None) -> str:
    if earlier is None:
        return (cause.since.began if cause.state != FIXED else None) or screen.written
    summary, when = earlier.entries.get(cause.id, ("", ""))
    return when if summary == _clean(_summary(cause)) else screen.written


def _summary(cause: ShownCause) -> str:
    """Return what a reader would act on, and nothing that every night measures anew."""
    since = f" since night {cause.since.night}" if cause.since.night is not None else ""
    release = f", with {cause.framework} {cause.since.before} → {cause.since.release}" if cause.since.before else ""
    state = {FIXED: "Fixed: ", _STALE: "Not looked at any more: "}.get(cause.state or "", "")
    names = "; ".join(sorted(" ".join((cell.recipe, cell.profile, cell.context)) for cell in cause.cells)) or cause.where
    return f"{state}{cause.word}{since}{release}. In: {names}."


def _entry(feed: ElementTree.Element, cause: ShownCause, updated: str) -> None:
    entry = ElementTree.SubElement(feed, "entry")
    _add(entry, "id", cause.id)
    _add(entry, "title", shortened(f"{f'{FIXED}: ' if cause.state == FIXED else ''}{cause.word}: {plain(cause.where)}", 200))
    _add(entry, "updated", updated)
    _link(entry, "alternate", cause.cells[0].page if cause.cells else "index.html#look", "text/html")
    if cause.search:
        _link(entry, "related", cause.search, "text/html")
    for term in (cause.state, cause.framework):
        if term:
            ElementTree.SubElement(entry, "category", {"term": _clean(term)})
    _add(entry, "summary", _summary(cause))
    parts = [cause.what, cause.told, cause.since.told, f"How sure: {cause.sure}." if cause.sure else "", cause.command or ""]
    if content := "\n".join(part for part in parts if part):
        _add(entry, "content", shortened(content, _LONGEST))


def _add(element: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(element, name).text = _clean(text)


def _link(element: ElementTree.Element, rel: str, address: str, kind: str) -> None:
    ElementTree.SubElement(element, "link", {"rel": rel, "type": kind, "href": address})


def _clean(text: str) -> str:
    """Return a text that XML can hold, without what turns its direction, line by line."""
    return "\n".join(_NO_XML.sub("\ufffd", plain(line)) for line in text.split("\n"))
