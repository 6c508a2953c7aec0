"""One cell carried out: what the conductor's parts are asked, and what is gone on with."""

import dataclasses
import json
import threading
from pathlib import Path

import pytest

from tests.documents import a_judgement, a_record, an_invocation
from tests.nightly.nights import RECIPE, a_cell, a_document, a_release
from tests.reports.documents import a_document as a_verification
from vigil.documents.night import VERIFY
from vigil.nightly import cell_work
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.cell_work import CellRunner
from vigil.runs.carry_out import CarriedOut, Interruption

CELL, STEP = a_cell(), a_cell(VERIFY)


@pytest.fixture
def verified(monkeypatch):
    """Replace the verification by one that writes the document it is told; return how often each was asked, and with what."""
    asked = []

    def verify_context(standard, context, place, **options):
        asked.append(options)
        assert list(Path(place).iterdir()) == [], "a half verification is made anew in an empty directory"
        verdict = asked[0].get("verdict", {"name": "reproduced", "reason": "824 tensors within their limits"})
        document = a_verification(verdict=verdict, night=options["night"])
        document.write(Path(place))
        return document

    monkeypatch.setattr(cell_work, "verify_context", verify_context)
    monkeypatch.setattr(cell_work, "load_standard", lambda *arguments, **options: "standard")
    monkeypatch.setattr(cell_work.tracking, "upload_or_note", lambda place: None)
    return asked


@pytest.fixture
def place(tmp_path):
    document = a_document([], number=3, seeds=[3, 4], releases={"jax": a_release("jax")})
    return CellRunner(document, {"jax": Path("/env/python")}, recipes={"resnet_cifar": RECIPE}, files={}, runs=tmp_path)


def test_a_verification_is_of_the_night_and_its_release(place, verified, tmp_path):
    """It is started by the interpreter of the release's environment, and says which release and night it is of."""
    directory = place.prepare(STEP, None)
    outcome = place.carry_out(STEP, directory, [1], threading.Event())
    assert outcome == CellOutcome("reproduced", "824 tensors within their limits")
    [options] = verified
    assert (options["python"], options["night"], options["cores"]) == (Path("/env/python"), "2026-11-01-3", [1])
    assert options["release"].key == "jax-1.0"


def test_a_verification_in_the_short_form_is_given_its_companion(place, verified, tmp_path):
    """Once that has ended: on two devices the one on one device of the same mode and precision."""
    one, two = (dataclasses.replace(a_cell(VERIFY, f"jax-eager-bf16-{n}"), is_short=True) for n in ("x1", "x2"))
    directories = [place.prepare(cell, None) for cell in (two, one, two)]
    for cell, directory in zip((two, one, two), directories, strict=True):
        place.carry_out(cell, directory, [1], threading.Event())
    assert [options["companion"] for options in verified] == [None, None, tmp_path / directories[1]]


def test_a_half_verification_is_made_anew(place, verified, tmp_path):
    """What a killed one had answered is removed."""
    directory = place.prepare(STEP, None)
    (tmp_path / directory / "answers").mkdir()
    (tmp_path / directory / "answers" / "answers-0.npz").write_text("torn")
    assert place.carry_out(STEP, directory, None, threading.Event()).verdict == "reproduced"


def test_a_verification_that_has_its_verdict_is_not_run_again(place, verified, tmp_path):
    """Killed between its end and the night's note of it."""
    directory = place.prepare(STEP, None)
    a_verification().write(tmp_path / directory)
    assert place.carry_out(STEP, directory, None, threading.Event()).verdict == "reproduced"
    assert verified == []


def test_an_interrupted_verification_has_no_verdict(place, verified, tmp_path):
    """It is made anew when the night goes on, although it left a document."""
    directory = place.prepare(STEP, None)
    interrupted = a_verification(verdict={"name": "failed:interrupted", "reason": "stopped by the user"})
    interrupted.write(tmp_path / directory)
    assert place.carry_out(STEP, directory, None, threading.Event()).verdict == "reproduced"
    assert len(verified) == 1


def test_a_reproduction_is_of_the_night_its_seeds_and_its_release(place, tmp_path):
    """Its specs and invocation.json lie there before it starts; no first rung, which the verification was."""
    directory = place.prepare(CELL, [0])
    invocation = json.loads((tmp_path / directory / "invocation.json").read_text())
    facts = {key: invocation[key] for key in ("night", "seeds", "verify", "fault")}
    assert facts == {"night": "2026-11-01-3", "seeds": [3, 4], "verify": None, "fault": None}
    assert invocation["release"]["key"] == "jax-1.0"
    assert sorted(path.name for path in (tmp_path / directory).glob("seed*")) == ["seed3", "seed4"]


def ended(**changes) -> CarriedOut:
    """Return an invocation without runs that ended with a verdict."""
    return CarriedOut(an_invocation(runs=[], verdict=a_judgement(**changes)))


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (ended(name="regressed", reason="low", p_value=0.003), CellOutcome("regressed", "low", p_value=0.003)),
        (ended(name="reproduced", reason="", p_value=None), CellOutcome("reproduced", "")),
        (CarriedOut(an_invocation(verdict=None), Interruption("train", 3)), CellOutcome(None)),
    ],
)
def test_a_reproduction_goes_on_in_its_directory(place, monkeypatch, tmp_path, found, outcome):
    """Whatever lies there: carry_out runs what is not finished, from its checkpoint."""
    asked = []
    monkeypatch.setattr(cell_work, "carry_out", lambda directory, *, watch: asked.append(directory) or found)
    directory = place.prepare(CELL, None)
    assert place.carry_out(CELL, directory, None, threading.Event()) == outcome
    assert asked == [tmp_path / directory]


def test_the_peak_of_a_run_is_kept(place, monkeypatch, tmp_path):
    """The next night sizes itself by it."""
    directory = place.prepare(CELL, None)
    for seed, peak in ((3, 100), (4, 300)):
        a_record(peak_memory_bytes=peak).write(tmp_path / directory / f"seed{seed}")
    done = an_invocation(runs=["seed3", "seed4"])
    monkeypatch.setattr(cell_work, "carry_out", lambda directory, *, watch: CarriedOut(done))
    assert place.carry_out(CELL, directory, None, threading.Event()).peak_memory_bytes == 300


def test_another_profile_is_another_recipe_hash(place, tmp_path):
    """The cell's own profile is planned, not the default one."""
    directory = place.prepare(dataclasses.replace(CELL, profile="smoke"), None)
    assert json.loads((tmp_path / directory / "invocation.json").read_text())["recipe"]["profile"] == "smoke"
