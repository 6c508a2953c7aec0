"""Known findings excuse one release, context and origin; a crash is excused by nothing."""

import pytest

from tests.verify.conftest import RECIPE
from vigil.verify import examine, localise
from vigil.verify.ask import Answers
from vigil.verify.known import Known, load_known


def known(**changes):
    """Return a known finding."""
    fields = {
        "name": "a", "recipe": "tiny", "framework": "torch", "releases": ("2.13.0",), "contexts": ("torch-*-bf16-x1",),
        "layers": ("head",), "quantity": "bias gradient", "evidence": "docs/findings/x.py",
    }  # fmt: skip
    return Known(**{**fields, **changes})


def record(text="torch-jit-bf16-x1", version="2.13.0+cpu", fault=None):
    """Return what is asked of a record."""
    context = {"framework": "torch", "text": text}
    return {"recipe": RECIPE, "context": context, "fault": fault, "environment": {"framework_version": version}, "failure": None}


def test_a_known_finding_is_that_release_and_context_only():
    """Another release, another context or a planted fault is not excused."""
    from vigil.verify.known import matching

    assert matching([known()], record()) == [known()]
    assert matching([known()], record(version="2.14.0")) == []
    assert matching([known()], record(text="torch-jit-fp32-x1")) == []
    assert matching([known()], record(fault={"name": "x"})) == []


def test_a_known_finding_that_no_longer_fails_is_an_error():
    """An entry whose context is right again does not pass: it has to go."""
    found = examine.Examination(Answers(record(), {}, {}), [], [])
    verdict = examine._verdict(record(), [(0.5, None)], found, None, [known()])
    assert verdict["name"] == "regressed"
    assert "no longer fails" in verdict["reason"]


def test_a_known_finding_elsewhere_is_a_regression(tape):
    """A context that is wrong in another layer than the one listed is regressed; in the listed one it is known."""
    found = examine.Examination(Answers(record(), {}, {}), [], [])
    out = [(2.0, None)]
    for layer, name in (("stem.conv", "regressed"), ("head", "known-finding")):
        origin = localise.Origin(localise.Place(layer, "backward", "bias gradient"), "x", "c", 9.0, 1.1)
        assert examine._verdict(record(), out, found, localise.Localisation([origin], [], [], []), [known()])["name"] == name


def test_two_known_findings_explain_what_both_are_about(tape):
    """Where two are listed, each origin is one of them and each is found; with one missing, or a third, it is regressed."""
    found, out = examine.Examination(Answers(record(), {}, {}), [], []), [(2.0, None)]
    entries = [known(), known(name="b", layers=("fpn.*", "*.conv*"), quantity="weight gradient")]
    places = {
        "both": [("head", "bias gradient"), ("stage1.conv1", "weight gradient")],
        "one": [("head", "bias gradient")],
        "third": [("head", "bias gradient"), ("stage1.conv1", "weight gradient"), ("stem.bn", "output")],
    }
    for which, name in (("both", "known-finding"), ("one", "regressed"), ("third", "regressed")):
        origins = [
            localise.Origin(localise.Place(layer, "backward", quantity), "x", "c", 9.0, 1.1) for layer, quantity in places[which]
        ]
        assert examine._verdict(record(), out, found, localise.Localisation(origins, [], [], []), entries)["name"] == name


def test_a_list_with_a_missing_key_is_refused(tmp_path):
    """An entry must say all: what, where, which releases, on what evidence."""
    from vigil.errors import UsageError

    path = tmp_path / "known.yaml"
    path.write_text("- {name: x, recipe: tiny}\n")
    with pytest.raises(UsageError, match="entry 1"):
        load_known(path)


def test_one_pattern_is_a_list_of_one(tmp_path):
    """A text in the place of a list would be read letter by letter: it is refused, with its key."""
    from vigil.errors import UsageError

    path = tmp_path / "known.yaml"
    entry = "name: x, recipe: r, framework: torch, releases: [a], contexts: [b], quantity: q, evidence: e"
    path.write_text(f"- {{{entry}, layers: [head]}}\n")
    assert load_known(path)[0].layers == ("head",)
    path.write_text(f"- {{{entry}, layers: head}}\n")
    with pytest.raises(UsageError, match="entry 1: layers: found one value"):
        load_known(path)


def test_a_crash_is_neither_mismatch_nor_pass():
    """A runner that died is failed, whatever its finished cases said."""
    failure = {"category": "died", "message": "killed by SIGKILL"}
    dead = {**record(), "failure": failure}
    verdict = examine._verdict(dead, [(5.0, None)], examine.Examination(Answers(dead, {}, {}), [], []), None, [])
    assert verdict["name"] == "failed:died"
