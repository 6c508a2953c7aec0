"""Known findings excuse one release, context and origin; a crash is excused by nothing."""

import pytest

from tests.documents import a_record
from tests.verify.conftest import RECIPE
from vigil.digests import replace_listed
from vigil.documents.context import parse_context
from vigil.documents.failure import Failure
from vigil.documents.verdict import Verdict
from vigil.documents.verification import KnownFinding, Origin
from vigil.errors import UsageError
from vigil.verify import examination, known_findings, localise
from vigil.verify.ask import Answers
from vigil.verify.distance import Difference
from vigil.verify.known_findings import load_known
from vigil.verify.oracle.outline import Outline, Parameter


def known(**changes):
    """Return a known finding."""
    fields = {
        "name": "a", "recipe": "tiny", "framework": "torch", "releases": ("2.13.0",), "contexts": ("torch-*-bf16-x1",),
        "layers": ("head",), "quantity": "bias gradient", "evidence": "docs/findings/x.py",
    }  # fmt: skip
    return KnownFinding(**{**fields, **changes})


def record(context="torch-jit-bf16-x1", version="2.13.0+cpu", **changes):
    """Return the record of such a context."""
    return a_record(recipe=RECIPE, context=parse_context(context), environment={"framework_version": version}, **changes)


def outline():
    """Return the outline of a stem and a head."""
    parts = [("stem.conv", "kernel"), ("stem.bn", "bias"), ("head", "kernel"), ("head", "bias")]
    parameters = {each.name: each for each in (Parameter(*part) for part in parts)}
    return Outline((), {}, {}, {}, (), {}, parameters, {}, {})


NOTHING = localise.Localisation([], [], [], [])


def verdict_of(*arguments, **options):
    """Return the verdict on what was found of such a model."""
    return examination._verdict(*arguments, outline(), **options)


def origin_of(layer, phase, quantity, **changes):
    """Return an origin."""
    facts = {"tensor": "x", "case": "c", "ratio": 9.0, "slope": 1.1, **changes}
    return Origin(layer=layer, phase=phase, quantity=quantity, **facts)


def difference(tensor, case="late/margin"):
    """Return a tensor that is out."""
    return Difference(case, tensor, 9.0, 1.1, 0.0, 9.0, 0.0)


def test_a_known_finding_is_that_release_and_context_only():
    """Another release, another context or a planted fault is not excused."""
    from vigil.verify.known_findings import matching

    assert matching([known()], record()) == [known()]
    assert matching([known()], record(version="2.14.0")) == []
    assert matching([known()], record("torch-jit-fp32-x1")) == []
    assert matching([known()], record(fault={"name": "x", "sha256": "0" * 64})) == []


PLAIN, WIDE, HALF = "avx avx2 fma sse4_1", "avx avx2 avx512f fma sse4_1", "amx_bf16 avx avx2 avx512_fp16 avx512f fma sse4_1"


@pytest.mark.parametrize(
    ("patterns", "those"),
    [(("avx avx2 fma *",), (PLAIN,)), (("!*avx512_fp16*",), (PLAIN, WIDE, "asimd sve", None)), (("*avx512f*", "!amx*"), (WIDE,))],
)
@pytest.mark.parametrize("flags", [PLAIN, WIDE, HALF, "asimd sve", None])
def test_a_finding_of_a_processor_is_not_looked_for_on_another(patterns, those, flags):
    """It is the processor that ran that counts, by what it has, and by what it has not."""
    entry, applies = known(cpu_flags=patterns), flags in those
    environment = {"framework_version": "2.13.0"} | ({} if flags is None else {"cpu_flags": flags})
    of_run = a_record(recipe=RECIPE, context=parse_context("torch-jit-bf16-x1"), environment=environment)
    assert known_findings.matching([entry], of_run) == ([entry] if applies else [])
    assert known_findings.matching([known()], of_run) == [known()]


def test_a_known_finding_that_no_longer_fails_is_an_error():
    """An entry whose context is right again does not pass: it has to go."""
    found = examination.Examination(Answers(record(), {}, {}), [], [])
    verdict = verdict_of(record(), [(0.5, None)], found, NOTHING, [known()])
    assert verdict.name is Verdict.REGRESSED
    assert "no longer fails" in verdict.reason


def test_a_known_finding_elsewhere_is_a_regression(tape):
    """A context that is wrong in another layer than the one listed is regressed; in the listed one it is known."""
    found = examination.Examination(Answers(record(), {}, {}), [], [])
    out = [(2.0, difference("parameter_gradient/head.bias"))]
    for layer, name in (("stem.conv", "regressed"), ("head", "known-finding")):
        origin = origin_of(layer, "backward", "bias gradient")
        assert verdict_of(record(), out, found, localise.Localisation([origin], [], [], []), [known()]).name == name


def test_two_known_findings_explain_what_both_are_about(tape):
    """Where two are listed, each origin is one of them and each is found; with one missing, or a third, it is regressed."""
    found, out = examination.Examination(Answers(record(), {}, {}), [], []), [(2.0, difference("momentum/head.bias"))]
    entries = [known(), known(name="b", layers=("fpn.*", "*.conv*"), quantity="weight gradient")]
    places = {
        "both": [("head", "bias gradient"), ("stage1.conv1", "weight gradient")],
        "one": [("head", "bias gradient")],
        "third": [("head", "bias gradient"), ("stage1.conv1", "weight gradient"), ("stem.bn", "output")],
    }
    for which, name in (("both", "known-finding"), ("one", "regressed"), ("third", "regressed")):
        origins = [origin_of(layer, "backward", quantity) for layer, quantity in places[which]]
        assert verdict_of(record(), out, found, localise.Localisation(origins, [], [], []), entries).name == name


@pytest.mark.parametrize(("is_certain", "name"), [(True, "regressed"), (False, "known-finding")])
def test_what_may_be_chance_is_no_regression_beside_a_known_finding(is_certain, name):
    """A layer that only the narrow limits of a search call wrong does not turn the finding into something else."""
    found = examination.Examination(Answers(record(), {}, {}), [], [])
    origins = [
        origin_of("head", "backward", "bias gradient"),
        origin_of("stem.bn", "forward", "running variance", tensor="y", ratio=1.2, slope=1.0, is_certain=is_certain),
    ]
    seen = localise.Localisation(origins, [], [], [])
    assert verdict_of(record(), [(2.0, difference("momentum/head.bias"))], found, seen, [known()]).name == name


@pytest.mark.parametrize(
    ("tensor", "quantity", "is_known"),
    [
        ("params/head.bias", "bias gradient", True),
        ("params/head.kernel", "bias gradient", False),
        ("params/stem.bn.bias", "bias gradient", False),
        ("49/momentum/head.bias", "bias gradient", False),
        ("logits", "bias gradient", False),
        ("stats/stem.bn.mean", "data gradient", False),
        ("momentum/stem.conv.kernel", "data gradient", True),
        ("stats/stem.bn.mean", "output", True),
        ("momentum/stem.conv.kernel", "* gradient", True),
        ("stats/stem.bn.mean", "* gradient", False),
        ("logits", "* gradient", False),
    ],
)
def test_a_known_finding_does_not_hide_what_it_cannot_reach(tensor, quantity, is_known):
    """Origins are looked for in one case: what is out elsewhere, and comes from none of them, is a regression, and is named."""
    found = examination.Examination(Answers(record(), {}, {}), [], [])
    origin = origin_of("head", "backward", quantity)
    out = [(3.0, difference("parameter_gradient/head.bias")), (2.0, difference(tensor, "early/alternation"))]
    verdict = verdict_of(record(), out, found, localise.Localisation([origin], [], [], []), [known(quantity=quantity)])
    assert verdict.name == ("known-finding" if is_known else "regressed")
    assert (f"no known finding reaches early/alternation {tensor}" in verdict.reason) is not is_known


def test_the_short_form_need_not_show_a_known_finding():
    """One that shows on full batches alone is no reason to take it off the list; the context is not reproduced either."""
    found = examination.Examination(Answers(record(), {}, {}), [], [])
    verdict = verdict_of(record(), [(0.5, None)], found, NOTHING, [known()], quick=True)
    assert verdict.name is Verdict.KNOWN_FINDING
    assert "the short form does not show: 1 tensors within their limits" in verdict.reason
    entries = [known(), known(name="b", layers=("*.conv*",), quantity="weight gradient")]
    origin = origin_of("head", "backward", "bias gradient")
    out, seen = [(2.0, difference("momentum/head.bias"))], localise.Localisation([origin], [], [], [])
    for quick, name in ((True, "known-finding"), (False, "regressed")):
        assert verdict_of(record(), out, found, seen, entries, quick=quick).name == name


def test_a_list_with_a_missing_key_is_refused(tmp_path):
    """An entry must say all: what, where, which releases, on what evidence."""
    path = tmp_path / "known.yaml"
    replace_listed(path, b"- {name: x, recipe: tiny}\n")
    with pytest.raises(UsageError, match="entry 1"):
        load_known(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"- {name: x", "no YAML: while parsing"),
        (b"- \xff", "no YAML: 'utf-8' codec"),
        (b"name: x", "found dict. Allowed: a list of entries"),
        (
            b"- {name: x, recipe: r, framework: torch, releases: [2.13], contexts: [b], layers: [l], quantity: q, evidence: e}",
            "entry 1: found 2.13. Allowed: text",
        ),
    ],
)
def test_a_damaged_list_is_refused_with_its_file(tmp_path, content, message):
    """2.13 is a number in YAML, which no release would ever be equal to: the entry would lie asleep."""
    path = tmp_path / "known.yaml"
    replace_listed(path, content)
    with pytest.raises(UsageError, match=message) as caught:
        load_known(path)
    assert "known.yaml" in str(caught.value)


def test_one_pattern_is_a_list_of_one(tmp_path):
    """A text in the place of a list would be read letter by letter: it is refused, with its key."""
    path = tmp_path / "known.yaml"
    entry = "name: x, recipe: r, framework: torch, releases: [a], contexts: [b], quantity: q, evidence: e"
    replace_listed(path, f"- {{{entry}, layers: [head]}}\n".encode())
    assert load_known(path)[0].layers == ("head",)
    replace_listed(path, f"- {{{entry}, layers: head}}\n".encode())
    with pytest.raises(UsageError, match="entry 1: layers: found one value"):
        load_known(path)


def test_a_crash_is_neither_mismatch_nor_pass():
    """A runner that died is failed, whatever its finished cases said."""
    failure = Failure(category="died", phase="verify", step=0, message="killed by SIGKILL", log_tail=())
    dead = record(status="failed", failure=failure)
    verdict = verdict_of(dead, [(5.0, None)], examination.Examination(Answers(dead, {}, {}), [], []), NOTHING, [])
    assert verdict.name is Verdict.FAILED_DIED
