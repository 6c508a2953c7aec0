"""Looks at users' own files, public calls and batch norms, each with something wrong, in directories as verbs leave them."""

from __future__ import annotations

from pathlib import Path

from tests.reports import test_site_audit_pages, test_step_comparison_text, test_step_text
from tests.steps.compared import RIGHT, WRONG
from tests.steps.compared import context as compared
from tests.vigil.narrow.own_runs import operator_run
from vigil.documents.audit import Audit, AuditFamily
from vigil.documents.batch_norm import BatchNormFinding, BatchNormsOf, BatchNormTable
from vigil.documents.document import Document
from vigil.documents.step_comparison import SidesVerdict
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict

CREATED = "2026-11-26T02:00:00+00:00"
STEP, OPERATOR, COMPARED = (f"20261126-020000-{verb}-my_file-00f1" for verb in ("step", "operator", "compare"))
AUDITED, TABLE = (f"20261126-020000-audit-{of}-00f1" for of in ("jax", "batch_norm"))
OUT = test_step_text.difference("gradients/w", score=30.0)


def a_step(*modes: str, **changes: object) -> Document:
    """Return the verification of a step that is wrong in the first of these modes, and right in the others."""
    contexts = [test_step_text.context(mode, out=() if place else (OUT,)) for place, mode in enumerate(modes or ("jit", "eager"))]
    document = test_step_text.document(*contexts, name=Verdict.REGRESSED)
    return document.replace(**({"step_id": STEP, "created": CREATED} | changes))


def a_comparison() -> Document:
    """Return the comparison of a step that NEW gets wrong."""
    document = test_step_comparison_text.document(SidesVerdict.NEW_WRONG, compared(RIGHT, WRONG, equal=1))
    return document.replace(compare_id=COMPARED, created=CREATED)


def a_family(name: str, *operators: str, verdict: Verdict = RIGHT, score: float | None = 0.4) -> AuditFamily:
    said = StepVerdict(name=verdict, reason=f"{name}: {verdict}")
    return AuditFamily(name=name, operators=operators, ways=3, forms=40, worst_score=score, verdict=said)


def an_audit(*families: AuditFamily, **changes: object) -> Audit:
    """Return an audit in which softmax is wrong, and relu as it is known to be."""
    given = families or (
        a_family("activations", "relu", "softmax", verdict=WRONG, score=50.75), a_family("pooling", "max_pool"),
    )  # fmt: skip
    findings = (
        test_site_audit_pages.finding(script="finding-1-softmax.py"),
        test_site_audit_pages.finding("relu", known="jax_relu", script="finding-2-relu.py"),
    )
    return test_site_audit_pages.audit(AUDITED, *findings, created=CREATED, families=given).replace(**changes)


def a_table() -> BatchNormTable:
    """Return a table of two frameworks, of which the second differs from its documentation."""
    wrong = BatchNormFinding(layer="nnx.BatchNorm", question="momentum", answer="0.9", expected="0.99", source="docs")
    frameworks = [
        BatchNormsOf(
            framework=name, framework_version=version, release=None, answers={"a layer": {"momentum": "0.9"}}, absent=(), same={},
            findings=findings, failure=None, environment={}, seconds=2.0,
        )
        for name, version, findings in (("torch", "2.13.0", ()), ("jax", "0.10.2", (wrong,)))
    ]  # fmt: skip
    return BatchNormTable(
        table_id=TABLE, created=CREATED, command="vigil audit batch_norm", frameworks=tuple(frameworks),
        verdict=StepVerdict(name=WRONG, reason="1 answers of 2 batch norms"), questions={"momentum": "its momentum"},
    )  # fmt: skip


def write_look(runs: Path, what: str) -> Path:
    """Write one of the documents into a directory of its own, and return that."""
    runs.mkdir(exist_ok=True)
    if what == "operator":
        file = runs.parent / "my_file.py"
        file.write_text("import torch\n", encoding="utf-8")
        document = operator_run(runs / OPERATOR, file, "torch").replace(operator_id=OPERATOR, framework_version="2.13.0")
        document.write(runs / OPERATOR)
        return runs / OPERATOR
    name, document = {
        "step": (STEP, a_step()), "comparison": (COMPARED, a_comparison()), "audit": (AUDITED, an_audit()),
        "table": (TABLE, a_table()),
    }[what]  # fmt: skip
    (runs / name).mkdir()
    document.write(runs / name)
    for number, operator in enumerate(("softmax", "relu") if what == "audit" else (), start=1):
        (runs / name / f"finding-{number}-{operator}.py").write_text("print('WRONG')\n", encoding="utf-8")
    return runs / name
