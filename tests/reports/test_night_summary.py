"""A night as Markdown, JSON and JUnit XML, whatever its reasons hold."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import pytest

from reports import night_summary
from tests.nightly.nights import a_cell, a_document, a_release, a_row
from vigil.documents.night import VERIFY
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_verdict import judge_night

HOSTILE = 'a <b> & "c" | d\n]]> \x00\x1b[31mred\x1b[0m \x0b\x85\u2028 \ud800 \ufffe \U0001f600 `x` \' end'
OUTSIDE = "outside its band, not beyond chance"


def a_night(*rows, **facts):
    """Return the document of a night that is judged."""
    return judge_night(a_document(rows, **facts), Ledger([]))


def a_mixed_night(reason="why"):
    """Return a night with a cell of every ending."""
    endings = {
        "jax-jit-fp32-x1": "reproduced", "jax-jit-fp32-x2": "regressed", "jax-jit-bf16-x1": "better-than-reference",
        "jax-eager-fp32-x1": "failed:crash", "jax-eager-fp32-x2": "unsupported", "jax-eager-bf16-x1": "unknown",
        "jax-eager-bf16-x2": "known-finding", "jax-compile-fp32-x1": None,
    }  # fmt: skip
    rows = [a_row(a_cell(VERIFY, context), verdict=verdict, reason=reason, directory="d") for context, verdict in endings.items()]
    return a_night(*rows)


def parsed(document):
    """Return the testcases of JUnit's XML by name, read by a parser that refuses what is not XML."""
    root = ElementTree.fromstring(night_summary.junit(document))
    suite = root.find("testsuite")
    return suite, {case.get("name"): case for case in suite}


def test_every_cell_is_a_testcase():
    """Wrong is a failure, could not run an error, unsupported and left are skipped, and the rest passed."""
    suite, cases = parsed(a_mixed_night())
    found = {name.removeprefix("verify jax-"): [child.tag for child in case] for name, case in cases.items()}
    assert found == {
        "jit-fp32-x1": [], "jit-fp32-x2": ["failure"], "jit-bf16-x1": ["failure"], "eager-fp32-x1": ["error"],
        "eager-fp32-x2": ["skipped"], "eager-bf16-x1": ["error"], "eager-bf16-x2": ["system-out"], "compile-fp32-x1": ["skipped"],
    }  # fmt: skip
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8", "failures": "2", "errors": "2", "skipped": "2"}  # fmt: skip
    assert (cases["verify jax-jit-fp32-x2"].get("classname"), cases["verify jax-jit-fp32-x2"].get("time")) == (
        "resnet_cifar.jax",
        "20.0",
    )


@pytest.mark.parametrize("verdict", ["regressed", "failed:crash", "unsupported", "known-finding", "unknown"])
def test_any_reason_gives_valid_xml(verdict):
    """Control characters, half of a surrogate pair, the end of a CDATA section: they are shown as their numbers."""
    row = a_row(a_cell(), verdict=verdict, reason=HOSTILE, directory=HOSTILE, stands=True)
    document = a_night(row)
    text = night_summary.junit(document)
    ElementTree.fromstring(text.encode("utf-8"))
    assert "\\x1b[31mred" in text
    assert "\\ud800" in text


def test_unescaped_reasons_are_caught(monkeypatch):
    """Planted: with the reasons as they are, the parser refuses the document."""
    monkeypatch.setattr(night_summary, "xml_text", lambda text: text)
    with pytest.raises((ElementTree.ParseError, UnicodeEncodeError)):
        ElementTree.fromstring(night_summary.junit(a_night(a_row(a_cell(), verdict="failed:crash", reason=HOSTILE))).encode())


def test_any_reason_can_be_written(tmp_path):
    """The three files are written whole, and read back."""
    document = a_night(a_row(a_cell(), verdict="failed:crash", reason=HOSTILE), command=HOSTILE)
    markdown, summary, junit = night_summary.write_summary(tmp_path, document)
    rows = [line for line in markdown.read_text("utf-8").splitlines() if line.startswith("| reproduce ")]
    assert len(rows) == 1
    assert rows[0].count(" | ") == len(night_summary.NOT_FINE_COLUMNS) - 1
    assert json.loads(summary.read_text("utf-8"))["not_fine"][0]["verdict"] == "failed:crash"
    ElementTree.parse(junit)
    assert list(tmp_path.glob("*.partial")) == []


def test_the_table_counts_every_cell_once():
    """Verified, reproduced, wrong, failed, other and left sum to the cells of a night."""
    document = a_mixed_night()
    [row] = night_summary.table(document)
    assert row == ("resnet_cifar", "jax", "1.0", "1", "0", "2", "1", "3", "1")
    assert sum(map(int, row[3:])) == len(document.cells)


def test_what_is_not_fine_is_named_with_its_reason_and_directory():
    """Each wrong, failed, unknown or known cell; not what is reproduced, unsupported or left."""
    found = night_summary.not_fine(a_mixed_night())
    assert [row[1] for row in found] == ["regressed", "better-than-reference", "failed:crash", "unknown", "known-finding"]
    assert found[0] == ("verify resnet_cifar jax-jit-fp32-x2", "regressed", "why", "d")


def test_cells_without_an_environment_are_told_together():
    """One line for a framework, not one for each of its cells."""
    rows = [a_row(a_cell(VERIFY, f"{framework}-{mode}-fp32-x1"), verdict="failed:environment", reason="disk full")
            for framework in ("jax", "torch") for mode in ("jit", "eager")]  # fmt: skip
    assert [row[0] for row in night_summary.not_fine(a_night(*rows))] == ["2 cells of jax", "2 cells of torch"]


def test_chance_is_told_as_chance():
    """A number outside that does not stand fails nothing, and is not silent either."""
    outcomes = {"jax-jit-fp32-x1": 0.008} | {
        f"{framework}-{mode}-fp32-x{n}": 0.6 for framework in ("jax", "torch") for mode in ("eager", "compile") for n in (1, 2)
    }
    rows = [a_row(a_cell(context=context), verdict="regressed" if p < 0.01 else "reproduced", p_value=p, directory="d")
            for context, p in outcomes.items()]  # fmt: skip
    document = a_night(*rows)
    [row] = night_summary.not_fine(document)
    assert row[1] == f"{OUTSIDE} among 9 cells (regressed)"
    _, cases = parsed(document)
    assert [child.tag for child in cases["reproduce jax-jit-fp32-x1"]] == ["system-out"]
    assert any("0.09 expected outside by chance" in line for line in night_summary.notes(document))


def test_what_failed_says_what_it_cost():
    """Seconds of failed cells, and of environments that could not be built."""
    error = {"reason": "no", "log_tail": [], "seconds": 7.5}
    document = a_night(a_row(a_cell(), verdict="failed:hang", seconds=900.0), releases={"jax": a_release("jax", error=error)})
    assert night_summary.seconds_lost(document) == 907.5
    assert "what failed took 15 min 08 s" in night_summary.notes(document)


def test_cells_that_no_such_budget_reaches_are_told():
    """A cell of twelve minutes is left by every night of ten."""
    document = a_night(a_row(a_cell(), verdict=None, estimate_seconds=720.0), a_row(a_cell(VERIFY)), budget_seconds=600.0)
    assert any(line.startswith("1 of these take longer than the whole budget") for line in night_summary.notes(document))


def test_the_short_form_is_told():
    """The night says how many verifications had it, and what stands in for what they leave out; what is left had none."""
    short = dataclasses.replace(a_cell(VERIFY, "jax-compile-bf16-x1"), is_short=True)
    left = dataclasses.replace(a_cell(VERIFY, "jax-compile-bf16-x2"), is_short=True)
    document = a_night(a_row(a_cell(VERIFY)), a_row(short), a_row(left, verdict=None))
    assert [line for line in night_summary.notes(document) if line.startswith("1 verifications in the short form")]
    assert not [line for line in night_summary.notes(a_night(a_row(a_cell(VERIFY)))) if "short form" in line]
    near = a_cell(VERIFY, "jax-jit-bf16-x1")
    failed = night_summary.notes(a_night(a_row(short), a_row(near, verdict="failed:crash")))
    assert "except resnet_cifar jax-jit-bf16-x1 (failed:crash)" in failed
    assert not [line for line in night_summary.notes(a_night(a_row(short), a_row(near))) if line.startswith("except")]


def test_what_is_still_wrong_is_told():
    """A cell that an earlier night found wrong, on a basis that is covered."""
    standing = [{"key": "verify a b c", "night": "n1", "verdict": "regressed", "reason": "low", "directory": "d"}]
    document = a_night(a_row(a_cell()), standing=standing)
    assert document.verdict.exit_code == 1
    assert "not fine since night n1: verify a b c: regressed: low" in night_summary.markdown(document)
    assert night_summary.summary(document)["not_fine"] == standing


def test_what_is_still_wrong_is_a_testcase():
    """A reader of JUnit sees no green beside exit code 1 or 3; what tonight left stands once, with what is known of it."""
    facts = {"night": "n1", "reason": "\x1b low", "directory": "d"}
    standing = [
        {"key": "step my step.py quick jax-jit-fp32-x1", "verdict": "regressed", **facts},
        {"key": a_cell().key, "verdict": "failed:hang", **facts},
    ]
    suite, cases = parsed(a_document([a_row(a_cell(), verdict=None), a_row(a_cell(VERIFY))], standing=standing))
    assert {name: [child.tag for child in case] for name, case in cases.items()} == {
        "verify jax-jit-fp32-x1": [], "step jax-jit-fp32-x1": ["failure"], "reproduce jax-jit-fp32-x1": ["error"]}  # fmt: skip
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    step = cases["step jax-jit-fp32-x1"]
    assert step.get("classname") == "my step.py.jax"
    assert step.find("failure").get("message") == "not fine since night n1: regressed: \\x1b low"
    assert step.find("failure").get("type") == "regressed"


@pytest.mark.parametrize(
    ("release", "shown"),
    [
        (a_release("jax"), ("jax", "1.0", "new", "-", "")),
        (a_release("jax", is_new=False, previous="1.0"), ("jax", "1.0", "as before", "1.0", "")),
        (
            a_release("jax", version=None, key=None, error={"reason": "no\nway", "log_tail": [], "seconds": 0.0}),
            ("jax", "none", "-", "-", "no way"),
        ),
    ],
)
def test_releases_say_whether_they_are_new(release, shown):
    """New, as before, or not to be had and why."""
    assert night_summary.releases(a_night(a_row(a_cell(), verdict=None), releases={"jax": release})) == [shown]
