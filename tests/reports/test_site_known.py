"""Where somebody may know a cause: a search of its framework's issues, and the findings on record that it may be."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from reports.site.pages import write_site
from tests.reports.site_frames import HOSTILE, KEY, check, frames, night, night_release, nights_of, sample, sources, verification
from tests.reports.site_pages import assert_sound, read
from vigil.documents.verification import KnownFinding
from vigil.verify.known_findings import load_known

ORIGIN = {"origin_layer": "stage1.block1.bn2", "origin_phase": "backward", "origin_quantity": "scale gradient"}
FINDING = KnownFinding(
    name="torch_compile_batch_norm_scale_gradient", recipe="moco_lite", framework="torch", releases=("2.13.0",),
    contexts=("torch-compile-*",), layers=("*.bn[12]",), quantity="scale gradient",
    evidence="docs/findings/torch_compile_batch_norm_scale_gradient.py",
)  # fmt: skip


def links_of(rows, out, **facts):
    """Return the links of the first cause of a report: name -> address."""
    write_site(sources(frames([], rows), **{"night_id": "n11"} | facts), out)
    page = read(out / "index.html")
    assert_sound(page)
    return {text: attributes["href"] for _, attributes, text in page.all("a") if text.startswith(("known", "may be"))}


def asked(address):
    """Return the tracker that is searched, and for what."""
    parts = urlsplit(address)
    assert (parts.scheme, parts.netloc) == ("https", "github.com")
    [query] = parse_qs(parts.query)["q"]
    return parts.path, query


def wrong(context, release="2.14.0+cpu", **changes):
    """Return a cell whose step is wrong from the sixth night on."""
    bad = nights_of(12, since=6, bad=lambda _: {"verdict": "regressed", **ORIGIN} | changes, release=release)
    return check(bad, context=context, framework=context.split("-")[0])


@pytest.mark.parametrize(
    ("rows", "path", "query"),
    [
        (wrong("torch-compile-bf16-x1"), "pytorch/pytorch", 'is:issue "batch norm" gradient torch.compile bfloat16 2.14.0'),
        (wrong("jax-jit-fp32-x1"), "jax-ml/jax", 'is:issue "batch norm" gradient 2.14.0'),
        (wrong("tensorflow-jit-fp16-x1", origin_layer="odd.thing1", origin_quantity="loss scale"), "tensorflow/tensorflow",
         'is:issue "loss scale" float16 2.14.0'),
        (wrong("torch-eager-fp64-x1", verdict="failed:out_of_memory"), "pytorch/pytorch",
         'is:issue "out of memory" float64 2.14.0'),
        ([*wrong("torch-compile-bf16-x1"), *wrong("torch-compile-fp16-x1")], "pytorch/pytorch",
         'is:issue "batch norm" gradient torch.compile 2.14.0'),
    ],
)  # fmt: skip
def test_a_cause_is_searched_by_operator_context_and_release(tmp_path, rows, path, query):
    """Of a context only what is unusual and all cells have; a release without its build."""
    links = links_of(rows, tmp_path / "out")
    assert asked(links["known?"]) == (f"/{path}/issues", query)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_becomes_a_condition_of_a_search(tmp_path, text):
    """Words of a record are letters in a search, and the address leads to the tracker whatever they are."""
    given = {"origin_layer": text, "origin_quantity": f"{text} is:open -label:x", "reason": text}
    links = links_of(wrong("jax-jit-fp32-x1", **given), tmp_path / "out")
    path, query = asked(links["known?"])
    assert path == "/jax-ml/jax/issues"
    assert query.count(":") == 1
    assert "-" not in query


def test_a_finding_on_record_is_named_where_a_cause_may_be_it(tmp_path):
    """Framework, context, layer and quantity decide: in a new release a finding may live on. Its script is one click away."""
    known = links_of(wrong("torch-compile-bf16-x1"), tmp_path / "out", known=(FINDING,))
    address = known["may be: torch compile batch norm scale gradient"]
    assert (tmp_path / "out" / address).resolve().is_file()
    for place, rows in enumerate((
        wrong("torch-eager-bf16-x1"), wrong("jax-compile-fp32-x1"), wrong("torch-compile-bf16-x1", origin_layer="head"),
        wrong("torch-compile-bf16-x1", origin_quantity="weight gradient"), wrong("torch-compile-bf16-x1", verdict="failed:died"),
    )):  # fmt: skip
        assert list(links_of(rows, tmp_path / str(place), known=(FINDING,))) == ["known?"]


def test_the_list_of_findings_leads_to_files_that_are_there(tmp_path):
    """Every finding that the checkout has on record would be a link that holds."""
    findings = load_known()
    assert findings
    rows = [row for name in ("torch-compile-fp32-x1",) for row in wrong(name)]
    for finding in findings:
        like = finding.replace(framework="torch", contexts=("*",), layers=("*",), quantity="*")
        known = links_of(rows, tmp_path / "out", known=(like,))
        assert (tmp_path / "out" / known[f"may be: {finding.name.replace('_', ' ')}"]).resolve().is_file()


def test_what_has_no_tracker_has_no_search(tmp_path):
    """A framework that nobody knows, as an edited record may name it, is searched nowhere."""
    rows = check(nights_of(12, since=6, bad=lambda _: {"verdict": "regressed"}), context="evil-jit-fp32-x1", framework="evil")
    assert links_of(rows, tmp_path / "out") == {}


def test_a_release_that_cannot_be_tested_is_searched_by_its_name(tmp_path):
    """A cause without cells has its link as well."""
    document = night(releases={"jax": night_release("0.11.0", error="no wheel")})
    write_site(sources(frames([sample()], [verification()]), night=document, night_id=document.id), tmp_path / "out")
    links = {text: attributes["href"] for _, attributes, text in read(tmp_path / "out" / "index.html").all("a")}
    assert asked(links["known?"]) == ("/jax-ml/jax/issues", "is:issue 0.11.0")
    assert KEY[2] not in links["known?"]
