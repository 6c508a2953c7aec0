"""`vigil compare`: each pair of sides has one verdict and one exit code, and what broke off says what is there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vigil.cli.compare as command
import vigil.runs.carry_out
from reports.comparison_text import lines, markdown, rows
from runners.contract.protocol.cases import CASES, write_answers
from runners.contract.protocol.checkpoint import FINAL, save_state
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import read_spec
from vigil.cli.main import build_parser, main
from vigil.documents.comparison import ComparedSide, Comparison
from vigil.documents.context import make_context
from vigil.documents.invocation import FirstRung
from vigil.documents.judgement import Metric
from vigil.documents.verification import Verification
from vigil.errors import EnvironmentFailed
from vigil.process.execute import Ending
from vigil.recipes.loading import identity_of, load_recipe
from vigil.releases.release_pair import COVERAGE, judge, unavailable_side
from vigil.releases.resolve import Resolved, Unavailable
from vigil.runs.first_rung import verify_first
from vigil.statistics.paired import fewest_pairs
from vigil.verify.golden import Golden, load_golden, path_of
from vigil.verify.standard_cases import shown

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


@pytest.mark.parametrize("verify", [RIGHT, UNSEEN])
def test_an_evaluation_that_moves_alone_is_told_as_that(verify):
    """The parameters are the same, and the numbers made of them are not: nobody is told that states differ."""
    judged = judge(side("OLD"), side("NEW", shift=0.1, verify=verify), metric=METRIC, n_test=4000)
    assert judged.verdict.reason.startswith("final states are equal bit for bit, and evaluation gives other numbers of them")
    assert not any("final states may differ" in remark for remark in judged.remarks)
    moved = judge(side("OLD"), side("NEW", bits="cd", shift=0.1, verify=verify), metric=METRIC, n_test=4000)
    assert moved.verdict.reason.startswith("final states differ, the metric does not")
    assert any("final states may differ" in remark for remark in moved.remarks)


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


@pytest.fixture
def scripted_releases(places, monkeypatch, tmp_path):
    """Return a function that makes runs end as (version, seed) says; it returns the list of those started.

    Its `leave` writes what else a run leaves: events, and files in its directory.
    """
    monkeypatch.setattr(vigil.runs.carry_out, "reference_directory", lambda source=None: tmp_path / "reference")
    monkeypatch.setattr(vigil.runs.carry_out.tracking, "upload_or_note", lambda directory: None)
    right = FirstRung.model_validate(RIGHT | {"path": None})
    monkeypatch.setattr(vigil.runs.carry_out, "verify_first", lambda *facts, **options: right)
    started: list[tuple[str, int]] = []

    def make(outcome, *, leave=lambda *facts: None) -> list[tuple[str, int]]:
        def execute(directory, framework, *, python, **options) -> Ending:
            request = json.loads((directory.parent / "invocation.json").read_text())["release"]["request"]
            seed, version = read_spec(directory).seed, request.split("==")[1]
            started.append((version, seed))
            value, writer = outcome(version, seed), EventWriter(directory, heartbeat_seconds=60.0)
            writer.emit("started", pid=1, framework=framework)
            leave(version, seed, directory, writer)
            if isinstance(value, str):
                writer.emit("failed", category=value, message=f"{value} on purpose", step=4, traceback="")
            else:
                facts = {"images_per_second": 9.0, "first_step_seconds": 1.0, "peak_memory_bytes": 1, "cpu_seconds": 1.0}
                metrics = {"test_accuracy": value, "train_loss": value}
                writer.emit("finished", step=4, metrics=metrics, state_sha256=f"{value}", **facts)
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


def test_what_chance_gives_is_what_the_runs_say_of_their_data(fake, scripted_releases, places, monkeypatch):
    """Where most test images are of one class, both sides may have learned nothing, and no difference says nothing."""

    def leave(version: str, seed: int, directory: Path, writer: EventWriter) -> None:
        writer.emit("data", checksum="c0ffee", chance=70.0)

    scripted_releases(lambda version, seed: 50.0 + 5 * seed + (version == "0.9.2"), leave=leave)
    monkeypatch.setattr(vigil.runs.carry_out, "verify_first", verify_first)
    assert main(COMPARE) == 4
    assert documents(places)[0]["verdict"]["name"] == "cannot tell"


def test_a_step_that_nothing_can_be_held_against_is_told_before_training(fake, scripted_releases, places, monkeypatch, capsys):
    """The profile smoke has no golden tape."""
    scripted_releases(lambda version, seed: 50.0)
    monkeypatch.setattr(vigil.runs.carry_out, "verify_first", verify_first)
    main(COMPARE)
    before, *_ = capsys.readouterr().err.split("seed 0")
    for title in ("OLD jax 0.9.1", "NEW jax 0.9.2"):
        assert f"{title}, one training step: unknown: " in before


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


@pytest.mark.parametrize(("of_old", "said"), [(RIGHT, "was caught."), (WRONG, "was not told from what is wrong without it")])
def test_a_fault_is_not_caught_by_what_old_has_wrong_too(of_old, said):
    """A step that is wrong under both is wrong without the fault."""
    document = document_of(side("OLD", verify=of_old), side("NEW", bits="cd", verify=WRONG)).replace(fault="half")
    assert any(f"The fault half, planted under NEW on purpose, {said}" in line for line in lines(document))


def test_packages_are_held_under_both_and_what_moved_besides_is_told(fake, scripted_releases, places, capsys):
    """The document has the packages that were held and the versions of both sides; the output says how to hold the others."""
    fake.newest["numpy"] = "2.4.4"
    fake.on_install = lambda: fake.newest.update(numpy="2.4.6")
    scripted_releases(lambda version, seed: 50.0 + seed)
    assert main([*COMPARE, "--hold", "flax==0.11"]) == 0
    [document] = documents(places)
    assert document["hold"] == document["old"]["release"]["hold"] == document["new"]["release"]["hold"] == ["flax==0.11"]
    assert document["old"]["versions"]["flax"] == document["new"]["versions"]["flax"] == "0.11"
    assert [document[side]["versions"]["numpy"] for side in ("old", "new")] == ["2.4.4", "2.4.6"]
    out = " ".join(capsys.readouterr().out.split())
    assert "Held under both: flax==0.11." in out
    assert "Besides jax moved: numpy 2.4.4 to 2.4.6. To keep what OLD has: --hold numpy==2.4.4" in out


def test_a_release_that_does_not_go_with_what_is_held_is_exit_code_3(fake, scripted_releases, places, capsys):
    """Nothing is trained, and the verdict says that it is the two together."""
    fake.impossible = {"flax==0.11", "jax==0.9.2"}
    started = scripted_releases(lambda version, seed: 50.0)
    assert main([*COMPARE, "--hold", "flax==0.11"]) == 3
    assert started == []
    assert "NEW (jax==0.9.2): jax==0.9.2 and flax==0.11 exist, and the resolver cannot put them together" in " ".join(
        capsys.readouterr().out.split()
    )
    assert documents(places)[0]["hold"] == ["flax==0.11"]


def test_where_the_metric_does_not_differ_it_is_told_how_far_all_else_is(fake, scripted_releases, places, monkeypatch, capsys):
    """Both sides' answers to one step are held side by side in floors and then removed; losses and parameters beside them."""

    def leave(version: str, seed: int, directory: Path, writer: EventWriter) -> None:
        moved = version == "0.9.2"
        writer.emit("steps", step=2, losses=[2.0 - 2e-6 * moved, 1.0 + 0.5 * moved])
        save_state(directory / FINAL, {"params/output.bias": np.full(4, 1.0 + seed + 0.25 * moved)}, step=2)

    started = scripted_releases(lambda version, seed: 0.05 + (version == "0.9.2") * 1e-9, leave=leave)
    monkeypatch.setattr(vigil.runs.carry_out, "verify_first", answered(floors={"0.9.1": 0.0, "0.9.2": 50.0}))
    assert main(["compare", "digits_mlp", *COMPARE[2:4], "--seeds", "2"]) in (0, 4)
    assert len(started) == 4
    [document] = documents(places)
    assert "why_no_floors" not in document
    [step] = document["steps"]
    assert (step["case"], step["tensor"], step["tensors"] - step["equal"]) == ("init/margin", "params/output.bias", 1)
    assert (step["ratio"], step["old_ratio"], step["new_ratio"]) == (pytest.approx(50.0), 0.0, 50.0)
    tape = tape_of_digits()
    floor = tape.floors["fp32"]["init/full"]["loss"].distance / tape.norms["init/full"]["loss"]
    assert document["losses"]["first_step_floors"] == pytest.approx(1e-6 / floor)
    assert (document["losses"]["largest"], document["losses"]["step"]) == (pytest.approx(1 / 3), 2)
    assert document["states"]["between_seeds"] == 1.0
    assert document["states"]["share"] == pytest.approx(0.25)
    assert document["states"]["tensor_floors"] > 1000
    assert list(places.glob("*/verify/answers/answers-*.npz")) == []
    out = " ".join(capsys.readouterr().out.split())
    assert "Single steps from the same states are up to 50x the noise floor apart (params/output.bias in init/margin)" in out


def test_answers_of_a_wrong_step_are_kept(fake, scripted_releases, places, monkeypatch):
    """They are the evidence; those of the side that was right are gone."""
    scripted_releases(lambda version, seed: 0.05)
    monkeypatch.setattr(vigil.runs.carry_out, "verify_first", answered(floors={"0.9.1": 0.0, "0.9.2": 5e6}, wrong="0.9.2"))
    assert main(["compare", "digits_mlp", *COMPARE[2:4], "--seeds", "2"]) == 1
    [document] = documents(places)
    kept = [path.relative_to(places).parts[0] for path in places.glob("*/verify/answers/answers-*.npz")]
    assert kept == [document["new"]["invocation"]]
    assert document["steps"][0]["ratio"] == pytest.approx(5e6)


def tape_of_digits() -> Golden:
    """Return the committed golden tape of digits_mlp."""
    identity = identity_of(load_recipe("digits_mlp"), "quick")
    return load_golden(path_of("digits_mlp", "quick"), recipe=identity, data_directory=None)


def answered(*, floors: dict[str, float], wrong: str | None = None):
    """Return what verifies a step: its answers are the oracle's, one array of it so many floors away, by version."""
    tape = tape_of_digits()
    [case] = [case for case in tape.cases if case.name == "init/margin"]
    right = {name: array for name, array in shown(case, tape.expected(case)).items() if not name.startswith("parameter_gradient")}

    def verify_first(directory: Path, invocation, *, watch, python) -> FirstRung:
        assert watch.keep_tensors
        version = invocation.release.request.split("==")[1]
        place, bias = directory / "verify", "params/output.bias"
        (place / "answers").mkdir(parents=True)
        (place / "answers" / CASES).write_text(json.dumps([{"name": case.name}]), encoding="utf-8")
        off = floors[version] * tape.floors["fp32"][case.name][bias].distance / np.sqrt(right[bias].size)
        write_answers(place / "answers", 0, right | {bias: right[bias] + off})
        verdict = (WRONG if version == wrong else RIGHT)["verdict"]
        tensor = {"case": case.name, "tensor": bias, "ratio": floors[version], "slope": 1.0, "intercept": 0.0}
        tensor |= {"slope_z": 0.0, "intercept_z": 0.0, "problem": None, "score": 0.5}
        example = Path(__file__).parents[2] / "verify" / "documents" / "reproduced.json"
        content = json.loads(example.read_text(encoding="utf-8")) | {"verdict": verdict, "tensors": [tensor]}
        content.pop("sha256", None)
        Verification.model_validate(content).write(place)
        return FirstRung.model_validate(RIGHT | {"verdict": verdict, "path": "verify/verify.json"})

    return verify_first


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
        (["jax==0.9.1", "jax==0.9.2", "--hold", "keras==3.15.1"], "NAME is flax, optax, numpy beside jax"),
    ],
)
def test_what_cannot_be_compared_is_refused(places, capsys, arguments, message):
    """Two frameworks, a malformed release and too many jobs are wrong usage, before anything is resolved."""
    assert main(["compare", "resnet_cifar", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_pages_and_output_agree_on_when_seeds_are_paired():
    """What the code prefers is what both pages and the option's default say."""
    fewest = fewest_pairs(coverage=COVERAGE)
    docs = Path(__file__).resolve().parents[3] / "docs"
    statistics = (docs / "statistics.md").read_text(encoding="utf-8")
    assert f"| **paired** | from {fewest} seeds on" in statistics
    assert f"pools with 2 to {fewest - 1} seeds and pairs from {fewest} on" in statistics
    assert f"[--seeds {fewest}]" in (docs / "releases.md").read_text(encoding="utf-8")
    assert build_parser().parse_args(COMPARE[:4]).seeds == str(fewest)
    values = {name: {seed: 80.0 + seed + (name == "NEW") * seed % 2 for seed in range(fewest)} for name in ("OLD", "NEW")}
    for seeds, said in ((fewest, "(paired; 6 seeds under both,"), (fewest - 1, "(pooled; 5 seeds under both, paired from 6 on,")):
        old, new = (side(name, values=dict(list(values[name].items())[:seeds]), states={}) for name in ("OLD", "NEW"))
        assert said in lines(document_of(old, new))[0]
