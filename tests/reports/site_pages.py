"""What every page of a report must keep, read from its HTML: `assert_sound` raises for a page that does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

_EMPTY = {"meta", "link", "br", "img", "input", "hr"}
_LOADS = {"src", "srcset", "poster", "data", "action", "formaction", "background"}
SCRIPTS = ("report.js", "../report.js")


@dataclass
class Page(HTMLParser):
    """One page: its elements as (tag, attributes, text of all within)."""

    text: str
    elements: list[tuple[str, dict[str, str | None], list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(self.text)
        self.close()
        assert not self.open, f"not closed: {[each[0] for each in self.open]}"

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        element = (tag, dict(attributes), [])
        self.elements.append(element)
        if tag not in _EMPTY:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> opens nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1][0]}"
        self.open.pop()

    def handle_data(self, text: str) -> None:
        for _, _, parts in self.open:
            parts.append(text)

    def all(self, *tags: str) -> list[tuple[str, dict[str, str | None], str]]:
        return [(tag, attributes, " ".join("".join(parts).split())) for tag, attributes, parts in self.elements if tag in tags]

    def of_class(self, name: str) -> list[tuple[str, dict[str, str | None], str]]:
        every = self.all(*{tag for tag, _, _ in self.elements})
        return [each for each in every if name in (each[1].get("class") or "").split()]


def read(path: Path) -> Page:
    """Return a page from disk."""
    return Page(path.read_text(encoding="utf-8"))


def assert_sound(page: Page) -> None:
    """Raise unless a page loads nothing from elsewhere, runs no script of others, and can be read by everybody."""
    assert page.text.startswith("<!DOCTYPE html>"), "no doctype"
    assert_loads_nothing_else(page)
    ids = [attributes["id"] for _, attributes, _ in page.all(*{tag for tag, _, _ in page.elements}) if "id" in attributes]
    assert len(ids) == len(set(ids)), "an id stands twice"
    assert page.all("html")[0][1].get("lang") == "en", "no language"
    assert any(each[1].get("name") == "viewport" for each in page.all("meta")), "no viewport"
    headings = [int(tag[1]) for tag, _, _ in page.all("h1", "h2", "h3", "h4")]
    assert headings[:1] == [1], f"the first heading is h{headings[0]}"
    assert headings.count(1) == 1, "more than one h1"
    assert all(after <= before + 1 for before, after in pairwise(headings)), "headings out of order"
    assert all("scope" in attributes for _, attributes, _ in page.all("th")), "a header without scope"
    assert all(attributes.get("aria-label") for _, attributes, _ in page.all("figure")), "a figure without a label"
    described = [attributes["aria-describedby"] for _, attributes, _ in page.all("a") if "aria-describedby" in attributes]
    assert set(described) <= set(ids), "described by what is not there"
    assert_every_verdict_has_words(page)


def assert_loads_nothing_else(page: Page) -> None:
    """Raise for a script, style or picture from elsewhere, a handler in an attribute, or a link that runs a script."""
    for tag, attributes, text in page.all(*{tag for tag, _, _ in page.elements}):
        for name, value in attributes.items():
            assert not name.startswith("on"), f"a handler: {name}"
            assert name != "style", "a style in an attribute"
            if name in _LOADS or (tag == "link" and name == "href"):
                assert not re.match(r"\s*([a-z][a-z0-9+.-]*:|//)", value or "", re.IGNORECASE), f"{tag} loads {value}"
            if tag == "a" and name == "href":
                assert re.match(r"(https?://|[A-Za-z0-9_.#/+-]+$)", value or ""), f"a link to {value}"
        if tag == "script":
            known = attributes.get("type") == "application/json" or (attributes.get("src") in SCRIPTS and not text)
            assert known, f"a script: {attributes} {text[:80]}"
        if tag == "img":
            assert re.fullmatch(r"[A-Za-z0-9_+-]+\.png", attributes.get("src") or ""), f"a picture: {attributes}"
        assert tag not in ("iframe", "object", "embed", "base", "form", "style"), f"a {tag}"


def assert_every_verdict_has_words(page: Page) -> None:
    """Raise for a field whose colour is all that it says."""
    for tag, attributes, text in page.all("span", "a", "td"):
        names = (attributes.get("class") or "").split()
        if any(name.startswith("v-") for name in names):
            assert re.search(r"\w{2}", text), f"a verdict without a word: {tag} {names} {text!r}"


def assert_links_lead_somewhere(root: Path) -> None:
    """Raise for a link to a page or an anchor that is not there."""
    anchors = {}
    for path in root.rglob("*.html"):
        page = read(path)
        anchors[path.resolve()] = {attributes.get("id") for _, attributes, _ in page.all(*{tag for tag, _, _ in page.elements})}
    for path in root.rglob("*.html"):
        for _, attributes, _ in read(path).all("a"):
            href = attributes["href"] or ""
            if not href.startswith("http"):
                name, _, anchor = href.partition("#")
                target = (path.parent / name).resolve() if name else path.resolve()
                assert target.is_file(), f"{path.name} links to {href}"
                assert not anchor or anchor in anchors[target], f"{path.name} links to {href}"
