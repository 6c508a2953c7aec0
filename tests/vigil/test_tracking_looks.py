"""Users' own steps and operators, comparisons, audits and tables reach MLflow once, with what is wrong first on top."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
import typing
import zlib
from pathlib import Path

import pytest

from tests.nightly.nights import a_document, a_release, day
from tests.reports.documents import write_narrowing
from tests.steps.compared import WRONG
from tests.vigil.json_answer import answer_of
from tests.vigil.looked import AUDITED, COMPARED, OPERATOR, STEP, TABLE, a_family, a_step, an_audit, write_look
from tests.vigil.tracked import client_of, closed_port, interrupt_after, synchronise
from vigil.cli.answers import DriftAnswer
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.document import Document
from vigil.documents.failure import Failure
from vigil.documents.night import DONE
from vigil.documents.provenance import PlantedFault
from vigil.documents.step_comparison import SidesVerdict
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.nightly.cells import NightCell, row_of
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_file import NightFile
from vigil.nightly.night_tracking import bring_all
from vigil.nightly.night_verdict import judge_night
from vigil.recipes.blocks import Name
from vigil.tracking import EXPERIMENTS, TrackingUnavailable, read_document, upload, upload_or_note
from vigil.tracking.client import Store
from vigil.tracking.history import load_history
from vigil.tracking.looks import KINDS, look_entries
from vigil.tracking.views import LOOKS_VIEW

LOOKS = {
    "step": ("own-steps", STEP, "torch-jit-fp32-x1"),
    "operator": ("own-operators", OPERATOR, None),
    "comparison": ("own-comparisons", COMPARED, None),
    "audit": ("call-audits", AUDITED, "activations"),
    "table": ("batch-norms", TABLE, "jax"),
}
each_look = pytest.mark.parametrize("what", LOOKS)


@pytest.fixture
def runs(tmp_path) -> Path:
    return tmp_path / "runs"


def runs_of(uri: str, experiment: str) -> tuple[list, dict]:
    """Return what the table shows, sorted as its view sorts, and nested runs by the part that they are of."""
    client = client_of(uri)
    found = client.get_experiment_by_name(experiment)
    every = client.search_runs([found.experiment_id], order_by=[f"{LOOKS_VIEW.order_by} DESC"])
    nested = {run.data.tags["vigil.part"]: run for run in every if "mlflow.parentRunId" in run.data.tags}
    return [run for run in every if "mlflow.parentRunId" not in run.data.tags], nested


def entries_of(document: Document) -> tuple:
    [kind] = [kind for kind in KINDS if kind.document is type(document)]
    return look_entries(kind, document, text=document.text())


@each_look
def test_a_look_is_a_run_with_what_is_wrong_first(uri, runs, what):
    """Marked and FAILED, with verdict, release, command and page; its document is an artifact, and parts are nested."""
    experiment, name, wrong_part = LOOKS[what]
    directory = write_look(runs, what)
    assert upload(directory).experiment == experiment
    [run], parts = runs_of(uri, experiment)
    tags, document = run.data.tags, read_document(directory)
    assert tags["mlflow.runName"].startswith("✗ ")
    assert run.info.status == "FAILED"
    assert tags["verdict"] == str(document.verdict.name)
    assert tags["reason"] == document.verdict.reason
    assert tags["wrong_first"] in tags["mlflow.note.content"]
    assert tags["release"] in ("2.13.0", "0.10.2", "torch 2.13.0, jax 0.10.2")
    assert tags["fault"] == "none"
    assert f"`{document.command}`" in tags["mlflow.note.content"]
    assert tags.get("report", name).endswith((f"{name}.html", name))
    sent = json.loads((Path(run.info.artifact_uri.removeprefix("file://")) / document.FILE_NAME).read_text(encoding="utf-8"))
    assert sent["verdict"]["reason"] == document.verdict.reason
    marked = [part for part, run in parts.items() if run.data.tags["mlflow.runName"].startswith("✗ ")]
    assert marked == ([wrong_part] if wrong_part else [])
    assert all(part.data.tags["mlflow.parentRunId"] == run.info.run_id for part in parts.values())
    assert all((part.info.status == "FAILED") == (name in marked) for name, part in parts.items())


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("step", "blocks.1.mlp, backward: gradients/w 30x its limit (case step), in torch-jit-fp32-x1"),
        ("operator", "bug outputs/0 in fp32: 3,333x its limit, by inputs(0)"),
        ("audit", "jax.nn.softmax: wrong outputs/0 in fp32, 50.8x its limit"),
        ("table", "nnx.BatchNorm: its momentum: 0.9, not 0.99"),
    ],
)
def test_what_is_wrong_first_is_told_in_words(runs, what, words):
    """Where, which tensor or call, and how far off; of an audit nothing that is known stands before what is new."""
    parent, _ = entries_of(read_document(write_look(runs, what)))
    assert parent.shown["wrong_first"] == words


@each_look
def test_a_second_upload_writes_nothing_and_a_change_replaces_the_run(uri, runs, what):
    """As of recipes: what is held is left alone, also once its outcome is noted."""
    directory = write_look(runs, what)
    upload_or_note(directory)
    noted = read_document(directory).tracking
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, calls=0)  # the planted defect: any write at all would raise
        assert upload(directory) == noted
    document = read_document(directory)
    document.replace(verdict=document.verdict.replace(reason="another")).write(directory)
    assert upload(directory).run_id != noted.run_id
    found, _ = runs_of(uri, noted.experiment)
    assert [run.data.tags["reason"] for run in found] == ["another"]


def test_what_the_tracker_missed_is_brought_once_and_damage_stops_nothing(uri, runs, monkeypatch, capsys):
    """A tracker that is down is noted. Sync brings all but a damaged one, which costs a line; again, and nothing is due."""
    places = {what: write_look(runs, what) for what in LOOKS}
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"http://anna:s3cret@127.0.0.1:{closed_port()}")
        upload_or_note(places["audit"])
    error = read_document(places["audit"]).tracking.error
    assert "cannot be used" in error
    assert "s3cret" not in error
    path = places["operator"] / "operator.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"made"', '"mend"'), encoding="utf-8")
    assert synchronise(runs) == 3
    out = capsys.readouterr().out
    assert "4 uploaded, 0 already in MLflow, 0 skipped, 1 failed, 0 not tried" in out
    assert f"{OPERATOR}: failed: {path}: sha256: the content is not what was written" in out
    assert synchronise(runs, check_all=True) == 3
    assert "0 uploaded, 4 already in MLflow" in capsys.readouterr().out
    for what, (experiment, _, _) in LOOKS.items():
        if what != "operator":
            assert len(runs_of(uri, experiment)[0]) == 1


@pytest.mark.parametrize("calls", [0, 2, 4, 7, 10, 13])
def test_an_upload_that_was_cut_off_is_completed(uri, runs, monkeypatch, calls):
    """After any of its writes the server may die: sync brings it to hold the audit and its families once."""
    directory = write_look(runs, "audit")
    with monkeypatch.context() as patch:
        interrupt_after(patch, calls=calls)
        with pytest.raises(TrackingUnavailable, match="the server has died"):
            upload(directory)
    assert synchronise(runs) == 0
    found, parts = runs_of(uri, "call-audits")
    assert len(found) == 1
    assert sorted(parts) == ["activations", "pooling"]


def test_families_have_numbers_of_their_own(runs):
    """Asked, refused, wrong and known calls, and the farthest in limits; coverage is of the whole."""
    whole, (activations, pooling) = entries_of(an_audit())
    numbers = [{name: value for name, value, _, _ in each.metrics} for each in (whole, activations, pooling)]
    assert [each["calls_wrong"] for each in numbers] == [1, 1, 0]
    assert [each["calls_known"] for each in numbers] == [1, 1, 0]
    assert [each["worst_score"] for each in numbers] == [50.75, 50.75, 0.4]
    assert [each.get("coverage") for each in numbers] == [pytest.approx(100 * 32 / 34), None, None]
    assert (pooling.labels["family"], pooling.labels["verdict"], pooling.status) == ("pooling", "reproduced", "FINISHED")
    assert [each["operator"] for each in json.loads(activations.text)["findings"]] == ["softmax", "relu"]


def test_what_is_known_and_farther_off_puts_no_audit_on_top():
    """The order goes by what is new; the farthest of all is a number of its own."""
    document = an_audit()
    known = document.findings[1].replace(ratio=1e6)
    whole, (activations, _) = entries_of(document.replace(findings=(document.findings[0], known)))
    assert whole.shown["vigil.order"] == activations.shown["vigil.order"] == "4-00050.750"
    assert {name: value for name, value, _, _ in whole.metrics}["worst_score"] == 1e6 / 16.0


def test_a_family_of_which_nothing_was_measured_has_no_distance():
    """None at all would look as if all were well."""
    _, parts = entries_of(an_audit(a_family("a", "x", verdict=Verdict.UNKNOWN, score=None), a_family("b", "y")))
    assert ["worst_score" in {name for name, *_ in part.metrics} for part in parts] == [False, True]
    assert [part.shown["mlflow.runName"][0] for part in parts] == ["?", "a"]


def test_gradients_that_are_no_derivative_are_wrong_before_any_context(runs):
    """That is what the verdict says as well."""
    document = a_step()
    [oracle] = document.oracles
    wrong = oracle.derivatives[0].replace(gradients=7.0)
    verdict = document.verdict.replace(reason="the gradients are not the derivative of the loss")
    parent, _ = entries_of(document.replace(oracles=(oracle.replace(derivatives=(wrong,)),), verdict=verdict))
    assert parent.shown["wrong_first"] == "the gradients are not the derivative of the loss"


def test_a_planted_fault_is_told_as_one():
    """Nobody is to take what was planted on purpose for what is wrong with a framework."""
    parent, (wrong, right) = entries_of(a_step(fault=PlantedFault(name="gelu_scaled", sha256="99")))
    assert {each.labels["fault"] for each in (parent, wrong, right)} == {"gelu_scaled"}
    assert parent.shown["wrong_first"].startswith("PLANTED FAULT gelu_scaled: blocks.1.mlp")
    assert wrong.shown["wrong_first"].startswith("PLANTED FAULT")
    assert "wrong_first" not in right.shown


@pytest.mark.parametrize(
    ("what", "nothing"),
    [
        ("step", {"contexts": (), "oracles": ()}),
        ("operator", {"findings": (), "processes": (), "precisions": ()}),
        ("comparison", {"contexts": ()}),
        ("audit", {"families": (), "findings": (), "worst": {}, "coverage": ()}),
        ("table", {"frameworks": ()}),
    ],
)
def test_what_came_to_nothing_is_a_run_too(runs, what, nothing):
    """A verb has worked for minutes: what it wrote is told, however little that is."""
    document = read_document(write_look(runs, what)).replace(**nothing)
    parent, parts = entries_of(document)
    assert (parent.status, parts) == ("FAILED", [])
    assert parent.labels["verdict"] == str(document.verdict.name)
    assert "worst_score" not in {name for name, *_ in parent.metrics}


def test_a_look_of_one_part_has_no_run_nested_in_it():
    """One context, one family: the run is that part's, and is filtered by the same tags."""
    whole, parts = entries_of(a_step("compile"))
    assert (parts, whole.labels["mode"], whole.labels["context"]) == ([], "compile", "torch-compile-fp32-x1")
    whole, parts = entries_of(an_audit(a_family("activations", "relu", "softmax", verdict=WRONG)))
    assert (parts, whole.labels["family"], whole.name) == ([], "activations", "audit jax activations")


def test_an_audit_from_before_families_had_verdicts_is_one_run():
    """Its document says of no operator which family it is of."""
    whole, parts = entries_of(an_audit().replace(families=()))
    assert (parts, whole.labels["verdict"], whole.labels.get("family")) == ([], "regressed", None)


def test_the_worst_stand_on_top(uri, runs):
    """Wrong before failed, failed before unknown, unknown before right; and of the wrong the farthest first."""
    failure = Failure(category="crash", phase="build", step=0, message="it died", log_tail=())
    verdicts = {
        "e": StepVerdict(name=Verdict.REPRODUCED, reason="right"),
        "d": StepVerdict(name=Verdict.UNKNOWN, reason="no tensor was compared"),
        "c": StepVerdict(name=Verdict.FAILED_CRASH, reason="it died", failure=failure),
        "b": StepVerdict(name=Verdict.REGRESSED, reason="out"),
    }
    for name, verdict in verdicts.items():
        (runs / name).mkdir(parents=True)
        context = a_step("jit").contexts[0].replace(verdict=verdict, worst=None, out=(), origin=None)
        a_step("jit", step_id=name, verdict=verdict, contexts=(context,)).write(runs / name)
        upload(runs / name)
    upload(write_look(runs, "step"))
    found, _ = runs_of(uri, "own-steps")
    assert [run.data.tags["vigil.look_id"] for run in found] == [STEP, "b", "c", "d", "e"]
    assert [run.data.tags["mlflow.runName"][:2] for run in found] == ["✗ ", "✗ ", "! ", "? ", "my"]
    assert [run.info.status for run in found] == ["FAILED"] * 3 + ["FINISHED"] * 2


@pytest.mark.parametrize("name", SidesVerdict)
def test_a_comparison_stands_as_its_verdict_says(runs, name):
    """NEW wrong: a cross. Nothing that differs, or could not be told, passes for all well."""
    document = read_document(write_look(runs, "comparison"))
    judged = document.verdict.replace(name=name, exit_code=name.exit_code)
    parent, _ = entries_of(document.replace(verdict=judged))
    mark = parent.shown["mlflow.runName"][0]
    assert (mark == "m") == (name.exit_code == 0)
    assert (mark == "✗") == (name is SidesVerdict.NEW_WRONG)
    assert (mark == "?") == (name is SidesVerdict.CANNOT_TELL)


def test_a_distance_that_is_no_number_is_the_farthest():
    """It is wrong by more than any number says."""
    far = a_step("jit").contexts[0].worst.replace(score=math.nan)
    document = a_step("jit", "eager")
    contexts = (document.contexts[0], document.contexts[1].replace(worst=far, verdict=document.contexts[0].verdict))
    parent, _ = entries_of(document.replace(contexts=contexts))
    assert {name: value for name, value, _, _ in parent.metrics}["worst_score"] == math.inf
    assert parent.shown["vigil.order"] == "4-99999.000"
    assert parent.shown["wrong_first"].endswith("in torch-eager-fp32-x1")


def test_what_shows_a_finding_goes_along(uri, runs):
    """Scripts of what is new, and what narrowed it; a document that was edited names no file beyond its directory."""
    directory = write_look(runs, "audit")
    upload(directory)
    write_narrowing(directory)
    (runs / "secret.py").write_text("the secret", encoding="utf-8")
    document = read_document(directory)
    edited = document.findings[0].replace(script="../secret.py")
    document.replace(findings=(*document.findings, edited)).write(directory)
    upload(directory)
    [run], _ = runs_of(uri, "call-audits")
    place = Path(run.info.artifact_uri.removeprefix("file://"))
    files = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    narrowed = {f"narrowed/1/{name}" for name in ("narrow.json", "report.md", "script.py")}
    assert files == {"audit.json", "finding-1-softmax.py"} | narrowed
    assert run.data.tags["narrowed"].endswith("jax 0.9.0 right, wrong since 0.10.1")


def test_no_password_is_sent(runs):
    """Of command, reason and the file's path."""
    secret = "http://anna:s3cret@host"
    verdict = StepVerdict(name=WRONG, reason=f"see {secret}")
    document = a_step(command=f"MLFLOW_TRACKING_URI={secret} vigil verify", verdict=verdict)
    contexts = tuple(each.replace(verdict=verdict, out=(), origin=None, worst=None) for each in document.contexts)
    assert "s3cret" not in repr(entries_of(document.replace(contexts=contexts)))


@each_look
def test_history_takes_no_row_of_them_and_reads_none(uri, runs, bring, what, monkeypatch):
    """Nights leave hundreds: MLflow, which takes its time to tell each, is not asked for them."""
    upload(write_look(runs, what))
    bring("first")
    asked: list[str] = []
    real = Store.runs

    def noted(self, experiment_ids, **options):
        ids = list(experiment_ids)
        asked.extend(each.name for each in self.experiments() if each.experiment_id in ids)
        return real(self, ids, **options)

    monkeypatch.setattr(Store, "runs", noted)
    history = load_history(uri)
    assert len(history.samples) == 1
    assert history.skipped == 0
    assert "resnet_cifar" in asked
    assert LOOKS[what][0] not in asked


def test_no_recipe_shares_an_experiment_with_them():
    """Else history would pass over it: the names of recipes have no hyphen."""
    pattern = next(each.pattern for each in typing.get_args(Name)[1].metadata if hasattr(each, "pattern"))
    assert not [name for name in EXPERIMENTS if re.fullmatch(pattern, name)]
    assert re.fullmatch(pattern, "audits")


def test_each_kind_says_what_its_numbers_are(runs):
    """Every metric stands in the note of its experiment, for a person who meets it there."""
    for what, (experiment, _, _) in LOOKS.items():
        note = EXPERIMENTS[experiment].note
        parent, children = entries_of(read_document(write_look(runs, what)))
        for name, *_ in (point for entry in (parent, *children) for point in entry.metrics):
            assert f"`{name}`" in note or name == "seconds", (experiment, name)


def a_finished_night(runs: Path) -> NightFile:
    """Return a night that verified a step and audited a family, the second wrong since the night before."""
    family = a_family("activations", "relu", "softmax", verdict=WRONG)
    looks = {"step": a_step("jit", night="2026-11-02-2"), "audit": an_audit(family, night="2026-11-02-2")}
    rows = []
    for kind, document in looks.items():
        (runs / kind).mkdir(parents=True)
        document.write(runs / kind)
        cell = NightCell(kind, "my_step.py" if kind == "step" else "activations", "quick", make_context(framework="jax"))
        ended = {"status": DONE, "verdict": "regressed", "reason": "out", "seconds": 3.0, "directory": kind}
        rows.append(row_of(cell, basis="b", chosen="never looked at").replace(**ended))
    releases = {"jax": a_release("jax")}
    earlier = a_document([], steps=(rows[1],), when=day(0), files=("/ours/my_step.py",), releases=releases)
    night = a_document([], steps=rows, number=2, when=day(1), files=("/ours/my_step.py",), releases=releases)
    night = judge_night(night, Ledger([earlier]))
    directory = runs / "nights" / night.id
    directory.mkdir(parents=True)
    (directory / "summary.md").write_text("# a night\n", encoding="utf-8")
    night.write(directory)
    return NightFile(directory, night)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_night_brings_its_steps_and_audits_and_says_since_when(uri, runs, is_there):
    """Also where they were uploaded as they ended, when no night knew it yet; each is there once."""
    night = a_finished_night(runs)
    if is_there:
        for kind in ("step", "audit"):
            upload_or_note(runs / kind)
    assert bring_all([night], runs) == []
    assert bring_all([night], runs, is_check=True) == []
    for experiment, kind, since in (("own-steps", "step", "2026-11-02-2"), ("call-audits", "audit", "2026-11-01-1")):
        [run], _ = runs_of(uri, experiment)
        assert (run.data.tags["night"], run.data.tags["since"]) == ("2026-11-02-2", since)
        assert read_document(runs / kind).tracking.run_id == run.info.run_id


def test_a_store_that_was_made_anew_gets_since_when_again(uri, runs, empty_store, tmp_path, monkeypatch):
    """The runs from their directories, the rest from the night."""
    night = a_finished_night(runs)
    assert bring_all([night], runs) == []
    (tmp_path / "another").mkdir()
    another = f"sqlite:///{shutil.copy(empty_store, tmp_path / 'another')}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", another)
    assert synchronise(runs) == 0
    [run], _ = runs_of(another, "call-audits")
    assert run.data.tags["since"] == "2026-11-01-1"


def test_the_view_shows_what_is_wrong_by_how_much_and_since_when(uri, runs):
    """Saved in the experiment, as those of recipes: the verdict, what is wrong first and the release, sorted by how wrong."""
    upload(write_look(runs, "audit"))
    tags = client_of(uri).get_experiment_by_name("call-audits").tags
    saved = json.loads(tags["mlflow.sharedViewState.vigil"])["state"].removeprefix("deflate;")
    state = json.loads(zlib.decompress(base64.b64decode(saved)))
    assert state["selectedColumns"][:3] == ["tags.`verdict`", "tags.`release`", "tags.`wrong_first`"]
    found, parts = runs_of(uri, "call-audits")
    shown = client_of(uri).search_runs([found[0].info.experiment_id], filter_string=state["searchFilter"])
    assert parts
    assert [run.info.run_id for run in shown] == [run.info.run_id for run in found]
    assert (state["orderByKey"], state["orderByAsc"]) == ("tags.`vigil.order`", False)
    assert EXPERIMENTS["call-audits"].note == tags["mlflow.note.content"]


@pytest.mark.parametrize("where", ["nowhere", "here", "in MLflow"])
def test_drift_says_that_they_are_no_part_of_it_where_there_are_any(uri, runs, bring, monkeypatch, capsys, where):
    """One line, and in the answer; without such documents not a word."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(runs))
    bring("first")
    if where != "nowhere":
        directory = write_look(runs, "step")
        if where == "in MLflow":
            upload(directory)
            shutil.rmtree(directory)
    answer = answer_of(capsys, DriftAnswer, "drift", "--all-runs")
    said = [remark for remark in answer.remarks if "no part of drift" in remark]
    assert len(said) == (0 if where == "nowhere" else 1)


def test_drift_of_nothing_but_steps_says_why_there_is_none(uri, runs, monkeypatch, capsys):
    """Nobody is to think that a step that drifts would be told."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(runs))
    upload(write_look(runs, "step"))
    assert main(["drift"]) == 3
    assert "Steps and operators of your own, and audits, are no part of drift" in " ".join(capsys.readouterr().err.split())
