"""The feed of a report: valid Atom whatever is in it, an entry a cause, and a new date where what is told has changed alone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timedelta

import pytest

from reports.site.feed import ATOM
from reports.site.pages import write_site
from tests.reports.site_frames import (
    HOSTILE,
    KEY,
    NOW,
    check,
    frames,
    night,
    night_release,
    nights_of,
    sample,
    sources,
    verification,
)

BF16, TORCH = "jax-jit-bf16-x1", "torch-jit-fp32-x1"
ONE = {"atom": ATOM}


def assert_valid_atom(content: bytes) -> ElementTree.Element:
    """Raise unless a feed has what RFC 4287 requires of it (4.1.1, 4.1.2); return it."""
    feed = ElementTree.fromstring(content)
    assert feed.tag == f"{{{ATOM}}}feed", "no feed"
    entries = feed.findall("atom:entry", ONE)
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"atom:{name}", ONE)) == 1, f"{name}: needed once"
        # An id is an absolute IRI; a date is that of RFC 3339, with its zone.
        assert re.match(r"[a-z][a-z0-9+.-]*:.", element.findtext("atom:id", "", ONE)), "an id that is relative"
        updated = element.findtext("atom:updated", "", ONE)
        assert datetime.fromisoformat(updated).tzinfo is not None, "a date without zone"
        assert len(element.findall("atom:link[@rel='alternate']", ONE)) == 1, "no link to what it is of"
        assert all(link.get("href") for link in element.findall("atom:link", ONE)), "a link to nowhere"
        assert all(each.get("term") for each in element.findall("atom:category", ONE)), "a category without term"
    assert feed.findtext("atom:author/atom:name", "", ONE), "no author"
    ids = [entry.findtext("atom:id", "", ONE) for entry in entries]
    assert len(ids) == len(set(ids)), "two entries with one id"
    assert feed.findtext("atom:updated", "", ONE) >= max((e.findtext("atom:updated", "", ONE) for e in entries), default="")
    return feed


def told(content: bytes) -> dict[str, tuple[str, str, str]]:
    """Return id -> title, state and date of each entry."""
    return {
        entry.findtext("atom:id", "", ONE): (
            entry.findtext("atom:title", "", ONE),
            entry.find("atom:category", ONE).get("term"),
            entry.findtext("atom:updated", "", ONE),
        )
        for entry in assert_valid_atom(content).findall("atom:entry", ONE)
    }


def written(rows, out, *, place, **facts):
    """Return the feed of a report as of one of twelve nights, in the place of the one before."""
    now = NOW - timedelta(days=12 - place) + timedelta(hours=21)
    held = [row for row in rows if row["created"] < now]
    write_site(sources(frames([], held), now=now, night_id=f"n{place:02d}", **facts), out)
    return (out / "feed.xml").read_bytes()


def history():
    """Return a wrong step of old, one that begins in night 10, and one that is right again in night 11."""
    rows = check(nights_of(12, since=6, bad=lambda _: {"verdict": "regressed", "origin_layer": "head"}))
    rows += check(nights_of(12, since=10, bad=lambda _: {"verdict": "failed:died"}), context=BF16)
    fixed = nights_of(12, since=11, bad=lambda _: {"verdict": "reproduced"}, good=lambda _: {"verdict": "regressed"})
    return rows + check(fixed, context=TORCH, framework="torch")


def test_an_entry_changes_its_date_where_what_it_tells_has_changed(tmp_path):
    """A cause that goes on keeps id and date; a new one has the night's; one that is fixed keeps its id and has a new date."""
    rows, out = history(), tmp_path / "out"
    first, second, third = (told(written(rows, out, place=place)) for place in (9, 10, 11))
    old, torch = (next(name for name, (title, _, _) in first.items() if word in title) for word in (KEY[2], TORCH))
    [new] = set(second) - set(first)
    assert (first[old][1], second[old], third[old]) == ("ongoing", first[old], first[old])
    assert first[old][2].startswith("2026-11-17T02:00"), "without an earlier feed it has the day on which it began"
    assert second[new] == ("failed: died: resnet_cifar jax-jit-bf16-x1", "new", "2026-11-21T03:00:00+00:00")
    assert third[new] == (second[new][0], "ongoing", second[new][2])
    assert second[torch] == first[torch]
    assert third[torch] == ("fixed: wrong step: resnet_cifar torch-jit-fp32-x1", "fixed", "2026-11-22T03:00:00+00:00")


def test_a_cell_that_joins_a_cause_is_a_change(tmp_path):
    """The cause has its id still, and a new date; a report that is written once more says the same."""
    rows, out = [], tmp_path / "out"
    for context, since in ((KEY[2], 6), (BF16, 6), ("jax-eager-fp32-x1", 6), ("jax-eager-bf16-x1", 11)):
        bad = nights_of(12, since=since, bad=lambda _: {"verdict": "regressed", "release": "0.10.2"}, release="0.10.2")
        if since == 11:  # it had not been looked at since
            bad = bad[:6] + bad[11:]
        rows += check(bad, context=context)
    before, after = told(written(rows, out, place=10)), told(written(rows, out, place=11))
    content = (out / "feed.xml").read_bytes()
    assert told(written(rows, out, place=11)) == after
    assert (out / "feed.xml").read_bytes() == content
    assert list(before) == list(after)
    [(title, _, updated)] = after.values()
    assert title == "wrong step: jax: all 4 cells"
    assert [when for _, _, when in before.values()] < [updated]


@pytest.mark.parametrize("text", [*HOSTILE, "\ufffe\x0b"], ids=range(len(HOSTILE) + 1))
def test_no_string_of_a_record_becomes_markup_of_a_feed(tmp_path, text):
    """Names and reasons are text; what no XML may hold, and what turns the direction of a text, is taken out."""
    names = {"recipe": text, "profile": text, "context": f"jax-{text}", "release": text, "night": text, "reason": text}
    rows = [verification(**names, verdict="regressed", origin_layer=text), verification("b", **names, verdict="failed:x")]
    given = sources(frames([], rows), night_id=text, note=text)
    write_site(given, tmp_path / "out")
    content = (tmp_path / "out" / "feed.xml").read_bytes()
    feed = assert_valid_atom(content)
    known = {"feed", "id", "title", "subtitle", "updated", "author", "name", "link", "entry", "category", "summary", "content"}
    assert {each.tag.removeprefix(f"{{{ATOM}}}") for each in feed.iter()} <= known
    assert len(feed.findall("atom:entry", ONE)) == 1
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", content.decode())
    assert all(re.match(r"(https://github\.com/|[A-Za-z0-9_.#/+-]+$)", link.get("href")) for link in feed.iter(f"{{{ATOM}}}link"))


def test_a_feed_with_nothing_to_tell_is_valid(tmp_path):
    """Without any result, and where everything is fine, there is no entry, and a date that stays."""
    for samples, verifications in (([], []), ([sample()], [verification()])):
        out = tmp_path / str(len(samples))
        for _ in range(2):
            write_site(sources(frames(samples, verifications), night_id="2026-11-22-1"), out)
            assert told((out / "feed.xml").read_bytes()) == {}
        before = (out / "feed.xml").read_bytes()
        write_site(sources(frames(samples, verifications), night_id="2026-11-22-1", now=NOW + timedelta(hours=1)), out)
        assert (out / "feed.xml").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"<feed", b"<feed/>", b"\xff\xfe", b"<html><body>x</body></html>"])
def test_a_damaged_feed_of_the_report_before_is_no_reason_to_fail(tmp_path, content):
    """What cannot be read counts as not there: dates are those on which causes began."""
    rows, out = history(), tmp_path / "out"
    fresh = written(rows, out, place=10)
    (out / "feed.xml").write_bytes(content)
    assert written(rows, out, place=10) == fresh


def test_a_release_that_could_not_be_tested_has_an_entry(tmp_path):
    """It has no cell: it leads to the first screen."""
    document = night(releases={"jax": night_release(None, error="no wheel")})
    write_site(sources(frames([sample()], []), night=document, night_id=document.id), tmp_path / "out")
    feed = assert_valid_atom((tmp_path / "out" / "feed.xml").read_bytes())
    [entry] = feed.findall("atom:entry", ONE)
    assert entry.findtext("atom:title", "", ONE) == "failed: jax: the release cannot be tested"
    assert entry.find("atom:link[@rel='alternate']", ONE).get("href") == "index.html#look"


SOUND = (
    f'<feed xmlns="{ATOM}"><id>urn:x:1</id><title>t</title><updated>2026-11-22T03:00:00+00:00</updated><author><name>n</name>'
    '</author><link rel="alternate" href="x"/><entry><id>urn:x:2</id><title>t</title><updated>2026-11-22T03:00:00+00:00</updated>'
    '<link rel="alternate" href="x"/></entry></feed>'
)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("<author><name>n</name></author>", "", "no author"),
        ("<id>urn:x:2</id>", "<id>cause2</id>", "relative"),
        ("<id>urn:x:2</id>", "", "id: needed once"),
        ("<title>t</title><updated>", "<title>t</title><title>u</title><updated>", "title: needed once"),
        ("03:00:00+00:00</updated><link", "03:00:00</updated><link", "without zone"),
        ('<link rel="alternate" href="x"/></entry>', "</entry>", "no link"),
        ("</entry>", "</entry>" + SOUND[SOUND.index("<entry>") : SOUND.index("</feed>")], "two entries"),
    ],
)
def test_a_feed_that_is_not_valid_is_caught(old, new, found):
    """Each planted defect fails the check that the feeds pass."""
    assert_valid_atom(SOUND.encode())
    assert old in SOUND
    with pytest.raises(AssertionError, match=found):
        assert_valid_atom(SOUND.replace(old, new).encode())
