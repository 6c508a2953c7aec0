"""`vigil compare`: each pair of sides has one verdict and one exit code, and what broke off says what is there."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import vigil.cli.compare as command
import vigil.runs.carry_out
from reports.comparison_text import lines, markdown, rows
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import read_spec
from vigil.cli.main import main
from vigil.documents.comparison import ComparedSide, Comparison
from vigil.documents.context import make_context
from vigil.documents.invocation import FirstRung
from vigil.documents.judgement import Metric
from vigil.errors import EnvironmentFailed
from vigil.process.execute import Ending
from vigil.releases.release_pair import judge, losses_moved, unavailable_side
from vigil.releases.resolve import Resolved, Unavailable

METRIC = Metric(name="test_accuracy", unit="percent", direction="higher", selection="last", chance=10.0)
RIGHT = {
    "verdict": {"name": "reproduced", "reason": "824 tensors within their limits"},
    "origin": None,
    "worst": None,
    "seconds": 9,
}
ORIGIN = {"layer": "stem.bn", "phase": "backward", "quantity": "scale gradient", "tensor": "t", "case": "c"}
ORIGIN |= {"ratio": 5134.0, "slope": 0.5}
WRONG = RIGHT | {"verdict": {"name": "regressed", "reason": "9 of 824 tensors are out"}, "origin": ORIGIN}
CRASHED = RIGHT | {"verdict": {"name": "failed:crash", "reason": "TypeError"}}
UNSEEN = RIGHT | {"verdict": {"name": "unknown", "reason": "no golden tape."}}
VALUES = {0: 88.1, 1: 89.0, 2: 88.6}


def side(name: str, *, shift: float = 0.0, bits: str = "ab", verify=RIGHT, **changes) -> ComparedSide:
    """Return a side of three runs whose values are shifted by so many points."""
    made = ComparedSide(
        name=name,
        release={"request": f"jax=={name}", "key": f"key-{name}", "pins": ["jax==0.9.2", "numpy==2.4.6"]},
        invocation=name,
        verdict="reproduced",
        values={seed: value + shift for seed, value in VALUES.items()},
        verify=verify,
        states={seed: f"{bits}{seed}" for seed in VALUES},
        first_step_seconds=2.0,
        images_per_second=100.0,
        environment={"python": "3.11.7", "hardware": "a machine"},
        versions={"jax": "0.9.2", "numpy": "2.4.6", "python": "3.11.7"},
    )
    return made.replace(**changes)


def verdict_of(old: ComparedSide, new: ComparedSide) -> tuple[str, int]:
    """Return the name of the verdict on two sides, and its exit code."""
    verdict = judge(old, new, metric=METRIC, n_test=4000).verdict
    return verdict.name, verdict.exit_code


ONE_RUN = {"values": {0: 88.1}, "states": {0: "ab0"}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {}, ("identical", 0)),
        (ONE_RUN, ONE_RUN, ("identical", 0)),
        ({}, {"bits": "cd"}, ("numbers moved, not worse", 0)),
        ({}, {"bits": "cd", "shift": 0.1}, ("numbers moved, not worse", 0)),
        ({}, {"bits": "cd", "shift": -9.0}, ("NEW is lower", 1)),
        ({}, {"bits": "cd", "shift": 9.0}, ("NEW is higher", 1)),
        # What was not looked at is not called "not worse".
        ({}, {"bits": "cd", "verify": UNSEEN}, ("no difference seen", 0)),
        ({"verify": UNSEEN}, {"bits": "cd"}, ("no difference seen", 0)),
        ({}, {"bits": "cd", "verify": None}, ("no difference seen", 0)),
        ({"verify": WRONG}, {"bits": "cd"}, ("no difference seen", 0)),
        ({"verify": CRASHED}, {"bits": "cd"}, ("no difference seen", 0)),
        # A wrong step is wrong whatever the metric says, and though nothing changed.
        ({}, {"bits": "cd", "verify": WRONG}, ("a step of NEW is wrong", 1)),
        ({"verify": WRONG}, {"verify": WRONG}, ("a step of NEW is wrong", 1)),
        ({}, {"bits": "cd", "verify": WRONG, "shift": -9.0}, ("NEW is lower", 1)),
        # What did not run is neither equal nor different.
        ({}, {"bits": "cd", "verify": CRASHED}, ("could not run", 3)),
        ({}, {"problem": "failed:crash: TypeError", "values": {0: 88.1}}, ("could not run", 3)),
        ({"problem": "interrupted after 1 of 3 runs"}, {}, ("could not run", 3)),
        ({"values": {}, "states": {}}, {"values": {}, "states": {}}, ("could not run", 3)),
        (ONE_RUN, ONE_RUN | {"bits": "cd", "states": {0: "cd0"}}, ("too few runs", 4)),
        # A state that was not recorded is not equal to another one.
        ({"states": dict.fromkeys(VALUES)}, {"states": dict.fromkeys(VALUES)}, ("numbers moved, not worse", 0)),
    ],
)
def test_every_pair_of_sides_has_its_verdict(old, new, expected):
    """By what is known of both: bits, metric, the step against float64, and whether they ran at all."""
    assert verdict_of(side("OLD", **old), side("NEW", **new)) == expected


def test_no_difference_says_nothing_where_a_model_that_learned_nothing_would_not_be_seen():
    """Three runs see three points; chance is half a point away. A verified step or equal bits still say what they say."""
    blind = METRIC.replace(chance=88.0)
    unverified = side("NEW", bits="cd", verify=UNSEEN)
    judged = judge(side("OLD"), unverified, metric=blind, n_test=4000).verdict
    assert (judged.name, judged.exit_code) == ("cannot tell", 4)
    assert "from OLD's mean" in judged.reason
    assert judge(side("OLD"), side("NEW", bits="cd"), metric=blind, n_test=4000).verdict.name == "numbers moved, not worse"
    assert judge(side("OLD"), side("NEW"), metric=blind, n_test=4000).verdict.name == "identical"


@pytest.mark.parametrize(
    ("planted", "old", "new"),
    [
        ({"HIGHER": "lower"}, {}, {"bits": "cd", "shift": 9.0}),
        ({"COVERAGE": 1 - 1e-12}, {}, {"bits": "cd", "shift": -9.0}),
        ({"ComparedSide.is_wrong": False}, {}, {"bits": "cd", "verify": WRONG}),
    ],
)
def test_a_verdict_that_overlooks_something_is_caught(monkeypatch, planted, old, new):
    """A side taken for the other, an interval as wide as a house, a wrong step that counts as right: the table above differs."""
    right = verdict_of(side("OLD", **old), side("NEW", **new))
    for name, value in planted.items():
        monkeypatch.setattr(f"vigil.releases.release_pair.{name}", value)
    assert verdict_of(side("OLD", **old), side("NEW", **new)) != right


def test_the_spread_is_not_below_what_the_test_set_allows():
    """Three differences of one image are no evidence of a spread of zero; without a unit no floor is known."""
    new = side("NEW", bits="cd", values={seed: value + 0.025 for seed, value in VALUES.items()})
    difference = judge(side("OLD"), new, metric=METRIC, n_test=4000).difference
    assert difference.spread_floor == pytest.approx(0.25, abs=0.01)
    assert judge(side("OLD"), new, metric=METRIC.replace(unit="ap"), n_test=4000).difference.spread_floor == 0.0


def document_of(old: ComparedSide, new: ComparedSide) -> Comparison:
    """Return the document of two sides, written and read."""
    judgement = judge(old, new, metric=METRIC, n_test=4000)
    document = Comparison(
        compare_id="c",
        command="vigil compare",
        recipe={"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "quick"},
        context=make_context(framework="jax"),
        created="2026-11-22T00:00:00+00:00",
        seeds=tuple(VALUES),
        metric={"name": "test_accuracy", "unit": "percent", "direction": "higher"},
        old=old,
        new=new,
        verdict=judgement.verdict,
        difference=judgement.difference,
        remarks=judgement.remarks,
    )
    assert Comparison.parse(document.text(), where="c") == document
    return document


def test_both_sides_stand_next_to_each_other():
    """Versions, every seed with its difference, the interval, what would have been found, and the verdict last."""
    document = document_of(side("OLD"), side("NEW", bits="cd", shift=0.25, images_per_second=150.0))
    table = {row[0]: row[1:] for row in rows(document)}
    assert table["jax"] == ("0.9.2", "0.9.2", "")
    assert table["seed 1"] == ("89.00", "89.25", "+0.25")
    assert table["images/second"] == ("100.00", "150.00", "1.50 times")
    text = lines(document)
    assert text[0].startswith("NEW - OLD: +0.25 points, 99% interval -")
    assert "nine times in ten" in text[1]
    assert text[-1].startswith("Verdict: numbers moved, not worse (")
    assert "| seed 1 | 89.00 | 89.25 | +0.25 |" in markdown(document)
    same = {row[0]: row[1:] for row in rows(document_of(side("OLD"), side("NEW")))}
    assert same["seed 1"][2] == "+0.00, same bits"


def test_a_release_that_cannot_be_had_is_told_with_the_last_lines():
    """There is no number and no pass; the other side was not run."""
    failure = EnvironmentFailed("jax==9.9: no set of packages fits", log_tail=["ERROR: no matching distribution"])
    sides = (
        unavailable_side("OLD", Resolved("jax==0.9.2", "key", ("jax==0.9.2",))),
        unavailable_side("NEW", Unavailable("jax==9.9", failure)),
    )
    document = document_of(*sides)
    assert document.verdict.exit_code == 3
    assert "    | ERROR: no matching distribution" in lines(document)
    assert "no set of packages fits" in lines(document)[-1]
    assert "nothing ran" in markdown(document)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ({0: [2.0, 1.0, 0.5], 1: [4.0, 1.0, 0.5]}, (0.0, 0.0, 1, None)),
        ({0: [2.0, 1.0, 0.25], 1: [4.0, 1.0, 0.5]}, (0.0, 0.5, 3, 3)),
        ({0: [2.0, 1.0, 0.5], 1: [8.0, 1.0, 0.4]}, (0.5, 0.5, 1, 1)),
        ({0: [2.0, math.nan], 1: [4.0, 1.0, 0.5]}, (0.0, math.inf, 2, 2)),
    ],
)
def test_what_moved_is_told_by_step(monkeypatch, losses, expected):
    """The largest share over the seeds: of the first step, which nothing has been carried into, and of any."""
    first = {0: [2.0, 1.0, 0.5], 1: [4.0, 1.0, 0.5]}
    monkeypatch.setattr("vigil.releases.release_pair._losses", {Path("old"): first, Path("new"): losses}.get)
    moved = losses_moved(Path("old"), Path("new"))
    assert (moved.first_step, moved.largest, moved.step, moved.since) == expected
    table = {row[0]: row[3] for row in rows(document_of(side("OLD"), side("NEW")).replace(losses=moved))}
    assert ("same bits" in table["losses"]) == (expected[3] is None)


@pytest.fixture
def scripted_releases(places, monkeypatch, tmp_path):
    """Return a function that makes runs end as (version, seed) says; it returns the list of those started."""
    monkeypatch.setattr(vigil.runs.carry_out, "reference_directory", lambda source=None: tmp_path / "reference")
    monkeypatch.setattr(vigil.runs.carry_out.tracking, "upload_or_note", lambda directory: None)
    right = FirstRung.model_validate(RIGHT | {"path": None})
    monkeypatch.setattr(vigil.runs.carry_out, "verify_first", lambda *facts, **options: right)
    started: list[tuple[str, int]] = []

    def make(outcome) -> list[tuple[str, int]]:
        def execute(directory, framework, *, python, **options) -> Ending:
            request = json.loads((directory.parent / "invocation.json").read_text())["release"]["request"]
            seed, version = read_spec(directory).seed, request.split("==")[1]
            started.append((version, seed))
            value, writer = outcome(version, seed), EventWriter(directory, heartbeat_seconds=60.0)
            writer.emit("started", pid=1, framework=framework)
            if isinstance(value, str):
                writer.emit("failed", category=value, message=f"{value} on purpose", step=4, traceback="")
            else:
                facts = {"images_per_second": 9.0, "first_step_seconds": 1.0, "peak_memory_bytes": 1, "cpu_seconds": 1.0}
                writer.emit("finished", step=4, metrics={"test_accuracy": value}, state_sha256=f"{value}", **facts)
            writer.close()
            return Ending(3 if isinstance(value, str) else 0)

        monkeypatch.setattr(vigil.runs.carry_out, "execute", execute)
        return started

    return make


COMPARE = ["compare", "resnet_cifar", "jax==0.9.1", "jax==0.9.2", "--profile", "smoke", "--seeds", "3"]


def documents(places) -> list[dict]:
    """Return every compare.json that was written."""
    return [json.loads(path.read_text()) for path in sorted(places.glob("*/compare.json"))]


def test_seeds_take_turns_between_the_releases(fake, scripted_releases, places, capsys, tmp_path):
    """OLD and NEW of a seed follow each other; both are ordinary invocations, and the document has it all."""
    started = scripted_releases(lambda version, seed: 50.0 + 5 * seed + (version == "0.9.2"))
    assert main([*COMPARE, "--markdown", str(tmp_path / "compare.md")]) == 0
    assert started == [(version, seed) for seed in range(3) for version in ("0.9.1", "0.9.2")]
    [document] = documents(places)
    assert document["verdict"]["name"] == "numbers moved, not worse"
    assert document["new"]["values"] == {"0": 51.0, "1": 56.0, "2": 61.0}
    assert (document["difference"]["difference"], document["difference"]["n_pairs"]) == (1.0, 3)
    assert (places / document["new"]["invocation"] / "invocation.json").exists()
    out, err = capsys.readouterr()
    assert "Verdict: numbers moved, not worse" in out
    assert "NEW jax 0.9.2, seed 1: test_accuracy 56.00" in err
    assert "Verdict: numbers moved" in (tmp_path / "compare.md").read_text()


def test_without_a_count_there_are_seeds_enough_for_pairs(fake, scripted_releases, places, capsys):
    """Seeds differ by far more than releases do: only pairs see that NEW is 15 points higher."""
    scripted_releases(lambda version, seed: 10.0 + 13 * seed + (version == "0.9.2") * (15.0 + seed / 10))
    assert main(COMPARE[:-2]) == 1
    [document] = documents(places)
    assert (document["difference"]["method"], document["verdict"]["name"]) == ("paired", "NEW is higher")
    assert "(paired; 6 seeds under both, correlation 1.00)" in " ".join(capsys.readouterr().out.split())


def test_a_fault_is_planted_under_new_alone(fake, scripted_releases, places, capsys, tmp_path):
    """What a comparison would have caught is seen by planting it; every document of NEW is marked, and none of OLD."""
    scripted_releases(lambda version, seed: 80.0 - (40.0 if version == "0.9.2" else 0.0))
    fault, file = tmp_path / "half.py", tmp_path / "compare.json"
    fault.write_text("def install():\n    pass\n", encoding="utf-8")
    assert main([*COMPARE, "--fault", str(fault), "--json", str(file)]) == 1
    [document] = documents(places)
    assert document["fault"] == "half"
    assert json.loads(file.read_text(encoding="utf-8")) == document
    specs = {name: read_spec(places / document[name]["invocation"] / "seed0") for name in ("old", "new")}
    assert (specs["old"].fault, specs["new"].fault["name"]) == (None, "half")
    assert "PLANTED FAULT half under NEW" in " ".join(capsys.readouterr().out.split())


def test_both_releases_at_once(fake, scripted_releases, places, monkeypatch):
    """With two jobs each side has its share of the cores, and the verdict is the same."""
    monkeypatch.setattr(command, "available_cores", lambda: [0, 1])
    started = scripted_releases(lambda version, seed: 50.0)
    assert main([*COMPARE, "--jobs", "2"]) == 0
    assert sorted(started) == [(version, seed) for version in ("0.9.1", "0.9.2") for seed in range(3)]
    [document] = documents(places)
    assert document["verdict"]["name"] == "identical"
    cores = [read_spec(places / document[name]["invocation"] / "seed0").cores for name in ("old", "new")]
    assert cores == [(0,), (1,)]


def test_a_lower_metric_is_exit_code_1(fake, scripted_releases, places):
    """A drop far beyond the noise of three seeds."""
    scripted_releases(lambda version, seed: 80.0 + seed / 10 - (40.0 if version == "0.9.2" else 0.0))
    assert main(COMPARE) == 1
    assert documents(places)[0]["verdict"]["name"] == "NEW is lower"


def test_a_crash_on_one_side_is_exit_code_3(fake, scripted_releases, places, capsys):
    """The other side's numbers are there, and there is no verdict on the difference."""
    scripted_releases(lambda version, seed: "crash" if (version, seed) == ("0.9.2", 1) else 50.0 + seed)
    assert main(COMPARE) == 3
    [document] = documents(places)
    assert (document["verdict"]["name"], document["difference"]) == ("could not run", None)
    assert document["old"]["values"] == {"0": 50.0, "1": 51.0, "2": 52.0}
    assert "NEW (jax==0.9.2): failed:crash: crash on purpose" in capsys.readouterr().out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_broken_off_it_says_what_is_there(fake, scripted_releases, places, capsys, jobs):
    """After Ctrl-C the pairs that are complete are in the document, and how each side goes on."""
    scripted_releases(lambda version, seed: "interrupted" if seed == 1 and version == "0.9.2" else 50.0 + seed)
    assert main([*COMPARE, "--jobs", jobs]) == 3
    [document] = documents(places)
    assert document["new"]["values"] == {"0": 50.0}
    assert set(document["old"]["values"]) >= {"0", "1"}
    assert document["verdict"]["name"] == "could not run"
    assert "interrupted after 1 of 3 runs; `vigil resume" in document["verdict"]["reason"]


def test_a_release_that_cannot_be_had_ends_the_comparison_with_exit_code_3(fake, scripted_releases, places, capsys):
    """Nothing is trained, and the installer's last lines are shown."""
    started = scripted_releases(lambda version, seed: 50.0)
    fake.problem = "install"
    assert main(COMPARE) == 3
    assert started == []
    assert "| ERROR: disk full" in capsys.readouterr().out
    assert documents(places)[0]["old"]["release"]["key"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jax==0.9.1", "torch==1.0"], "found releases of jax and torch"),
        (["jax==0.9.1", "jax==0.9.2", "--framework", "torch"], "found releases of jax and torch"),
        (["jax==0.9.1", "jax=0.9.2"], "found 'jax=0.9.2'"),
        (["jax==0.9.1", "jax==0.9.1"], "found jax==0.9.1 twice"),
        (["jax==0.9.1", "jax==0.9.2", "--jobs", "3"], "--jobs: found '3'"),
    ],
)
def test_what_cannot_be_compared_is_refused(places, capsys, arguments, message):
    """Two frameworks, a malformed release and too many jobs are wrong usage, before anything is resolved."""
    assert main(["compare", "resnet_cifar", *arguments]) == 2
    assert message in capsys.readouterr().err
