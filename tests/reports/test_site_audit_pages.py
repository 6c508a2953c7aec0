"""An audit has a page: its findings with their scripts, what is on record, and which public names nobody has looked at."""

from __future__ import annotations

from pathlib import Path

from reports.site.pages import write_site
from reports.site.sources import gather
from tests.reports.site_frames import NOW, frames, sample, sources
from tests.reports.site_pages import Page, assert_links_lead_somewhere, assert_sound, read
from vigil.documents.audit import Audit, AuditCoverage, AuditFinding, AuditForm
from vigil.documents.newest import read_newest
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict

HOSTILE = "\u202e<script>alert(1)</script>{{ 7 * 7 }}"
NAME = "20261125-131207-audit-jax-00f1"
EVIDENCE = {"jax_relu": "docs/findings/audit/keras_correlate_sizes.py"}


def finding(operator: str = "softmax", *, known: str | None = None, script: str | None = None, **more) -> AuditFinding:
    """Return a finding of a call."""
    form = AuditForm(sizes={"n": 1027}, parameters={"axis": -1}, precision="fp32", layout="plain", values="given", seed=0)
    facts = {
        "operator": operator, "way": f"jax.nn.{operator}", "mode": "jit", "kind": "wrong", "quantity": "outputs/0",
        "precision": "fp32", "count": 1, "of": 4, "smallest": form, "ratio": 812.0, "limit": 16.0, "index": (1026,), "got": 0.25,
        "expected": 0.5, "problem": "", "known": known, "script": script,
    }  # fmt: skip
    return AuditFinding.model_validate(facts | more)


def audit(name: str = NAME, *findings: AuditFinding, **more) -> Audit:
    """Return the document of an audit."""
    coverage = AuditCoverage(namespace="jax.nn", names=35, audited=32, gaps=1, unseen=("jax.nn.scaled_matmul", "jax.nn.other"))
    facts = {
        "audit_id": name, "created": NOW.isoformat(), "command": "vigil audit --framework jax --quick", "framework": "jax",
        "framework_version": "0.10.2", "release": None, "fault": None, "modes": ("jit",), "threads": 1, "seed": 0,
        "is_quick": True, "verdict": StepVerdict(name=Verdict.REGRESSED, reason="2 of 73 public calls"), "operators": 20,
        "ways": 73, "forms": 90, "kinks": 0, "findings": findings, "fixed": (), "gaps": (), "coverage": (coverage,), "worst": {},
        "processes": (), "limits": LimitFacts(clean_rows=2), "seconds": 60.0,
    }  # fmt: skip
    return Audit.model_validate(facts | more)


def page_of(document: Audit, folder: Path, *, scripts: dict[str, str] | None = None, **facts) -> Page:
    """Write the report of one audit, and return its page; every page is sound."""
    place = folder / "runs" / document.audit_id
    place.mkdir(parents=True)
    document.write(place)
    for name, text in (scripts or {}).items():
        (place / name).write_text(text, encoding="utf-8")
    write_site(sources(frames([sample(0)]), runs=folder / "runs", audits=[document], **facts), folder / "report")
    for path in (folder / "report").rglob("*.html"):
        assert_sound(read(path))
    assert_links_lead_somewhere(folder / "report")
    return read(folder / "report" / "audits" / f"{document.audit_id}.html")


def test_each_call_is_told_once_with_its_script(tmp_path):
    """What is new comes before what is on record; the second tensor of a call is counted, not told again."""
    found = [
        finding(script="finding-1-softmax.py"),
        finding(quantity="gradients/x", ratio=99.0),
        finding("relu", known="jax_relu"),
    ]
    scripts = {"finding-1-softmax.py": "import jax\nprint('WRONG')\n"}
    page = page_of(audit(NAME, *found), tmp_path, scripts=scripts, known_calls=EVIDENCE)
    assert [text for _, _, text in page.all("h2")] == ["Not on record", "Known findings", "Which public names are audited"]
    assert [text for _, _, text in page.all("h3")] == ["jax.nn.softmax", "jax.nn.relu"]
    told, known = [text for _, attributes, text in page.all("section") if "data-find" in attributes]
    assert "812 times what rounding does, of 16 allowed: got 0.25, not 0.5 at [1026]" in told
    assert "and in 1 more" in told
    assert "print('WRONG')" in told
    assert "<pre>import jax\nprint(" in (tmp_path / "report" / "audits" / f"{NAME}.html").read_text(encoding="utf-8")
    assert known.endswith("On record as jax_relu.")
    assert "scaled_matmul" in page.text
    assert any(text == "94%" for _, _, text in page.all("td"))


def test_the_list_leads_to_every_audit_and_the_first_page_to_the_list(tmp_path):
    """With its verdict and what was found."""
    page_of(audit(NAME, finding(), finding("relu", known="jax_relu")), tmp_path)
    listed = read(tmp_path / "report" / "audits.html")
    assert any(attributes["href"] == f"audits/{NAME}.html" for _, attributes, _ in listed.all("a"))
    assert "1 call not on record, 1 known" in listed.text
    assert any(attributes["href"] == "audits.html" for _, attributes, _ in read(tmp_path / "report" / "index.html").all("a"))


def test_without_audits_there_is_no_list_and_no_link_to_one(tmp_path):
    """A link that leads nowhere is a defect."""
    write_site(sources(frames([sample(0)])), tmp_path / "report")
    assert not (tmp_path / "report" / "audits.html").exists()
    assert "audits.html" not in (tmp_path / "report" / "index.html").read_text()


def test_names_and_scripts_from_elsewhere_run_nothing(tmp_path):
    """A directory of runs may come from anybody; a script outside of it is not shown."""
    (tmp_path / "secret.py").write_text("the secret", encoding="utf-8")
    hostile = finding(HOSTILE, way=HOSTILE, problem=HOSTILE, script="../../secret.py")
    page = page_of(audit(NAME, hostile, command=HOSTILE, framework_version=HOSTILE, fixed=(HOSTILE,)), tmp_path)
    for what in ("<script>alert", "\u202e", " 49 ", "the secret"):
        assert what not in page.text


def test_the_newest_of_each_family_are_read(tmp_path):
    """Nights leave dozens each; one that is damaged is told, and no other is lost with it."""
    for day in range(4):
        for of in ("jax", "jax-pooling"):
            place = tmp_path / f"2026112{day}-131207-audit-{of}-00f{day}"
            place.mkdir()
            audit(place.name, created=f"2026-11-2{day}T00:00:00+00:00").write(place)
    (tmp_path / "20261123-131207-audit-jax-00f3" / Audit.FILE_NAME).write_text("{", encoding="utf-8")
    found, remarks = read_newest(Audit, tmp_path, "audit", most=2)
    names = [each.audit_id.removesuffix(f"-00f{each.audit_id[7]}").replace("-131207-audit", "") for each in found]
    assert sorted(names) == ["20261122-jax", "20261122-jax-pooling", "20261123-jax-pooling"]
    [remark] = remarks
    assert "20261123-131207-audit-jax-00f3" in remark
    given = gather(frames([]), runs=tmp_path, references=tmp_path, now=NOW)
    assert {each.audit_id for each in found} <= {each.audit_id for each in given.audits}
    assert given.audits == sorted(given.audits, key=lambda each: each.when, reverse=True)
    assert any("The audit is left out" in each for each in given.remarks)
    assert given.known_calls
