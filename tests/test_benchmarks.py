"""The benchmarks' arithmetic, options and page, and that each bare loop trains the model that the runners train."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.image import imread

import vigil.references.samples
from benchmarks import __main__ as command_line
from benchmarks import damage, detection, faults, long_runs, narrowed, small_tests, sweep_times, where_time_goes
from benchmarks.audits import __main__ as audits
from benchmarks.detection import ablations
from benchmarks.throughput import page
from benchmarks.throughput.alternate import (
    BARE_RECIPES,
    RESULT_NAME,
    SETTLING_STEPS,
    TURNS_NAME,
    AlternatingSession,
    bare_module,
    steps_needed,
)
from benchmarks.throughput.cell import Measurement, Start, training_of_profile
from benchmarks.throughput.rounds import summarise
from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.checkpoint import save_state
from runners.contract.protocol.spec import write_spec
from tests.nightly.nights import a_cell, a_document, a_row
from tests.reports.documents import a_document as a_verification
from tests.runners import fork_server
from tests.runners.harness import frameworks
from vigil.audit.definitions import catalog
from vigil.audit.known import known_calls
from vigil.audit.plan import EQUAL, GIVEN
from vigil.digests import replace_listed
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.documents.night import VERIFY
from vigil.errors import UsageError
from vigil.paths import project_root
from vigil.process.environment import is_installed
from vigil.recipes.loading import identity_of, load_recipe, recipe_hash, recipe_names
from vigil.verify.golden import load_golden, path_of

ROOT = Path(__file__).resolve().parent.parent
CONTEXT = make_context(framework="jax", mode="jit", precision="bf16")
TRAIN_BARE = """
import importlib, itertools, json, sys
bare = importlib.import_module(sys.argv[1])
losses = bare.train(itertools.cycle(bare.make_batches(batch_size=4, count=1)), mode="jit", precision="fp32")
losses = [float(loss) for loss in itertools.islice(losses, 10)]
print(json.dumps({"parameters": int(bare.count_parameters()), "losses": losses}))
"""


def assert_same_number_of_parameters(recipe: str, found: int) -> None:
    """Raise unless a bare model has as many parameters as the canonical one of the measured profile."""
    training = training_of_profile(recipe)
    expected = sum(math.prod(shape) for shape in kind_of(training).parameter_shapes(training["model"]).values())
    assert found == expected, f"the bare model has {found} parameters, the recipe's {expected}"


def assert_learns(losses: list[float]) -> None:
    """Raise unless the losses of repeated steps on one batch end below nine tenths of the first."""
    assert losses[-1] < 0.9 * losses[0], f"the loss went from {losses[0]} to {losses[-1]}"


@pytest.mark.parametrize(
    ("recipe", "framework"),
    [
        pytest.param(recipe, *each.values, marks=each.marks)
        for recipe, quick in zip(BARE_RECIPES, (FRAMEWORKS, ("torch",)), strict=True)
        for each in frameworks(*quick)
    ],
)
def test_a_bare_loop_trains_the_same_model(recipe, framework, tmp_path):
    """The bare model has the recipe's number of parameters, and ten steps on one small batch bring its loss down."""
    assert is_installed(framework), f"{framework} is not installed: run `make setup`"
    script = tmp_path / "train_bare.py"
    script.write_text(TRAIN_BARE)
    found = json.loads(fork_server.ask(framework, str(script), bare_module(recipe, framework), folder=tmp_path).splitlines()[-1])
    assert_same_number_of_parameters(recipe, found["parameters"])
    assert_learns(found["losses"])


def test_a_bare_model_with_biases_is_caught():
    """Sixteen parameters more, the biases of one convolution, are seen."""
    with pytest.raises(AssertionError, match="75306 parameters, the recipe's 75290"):
        assert_same_number_of_parameters("resnet_cifar", 75290 + 16)


def test_a_bare_loop_that_updates_nothing_is_caught():
    """A loss that stays where it was is no training."""
    with pytest.raises(AssertionError, match="the loss went"):
        assert_learns([2.3] * 10)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("recipe", BARE_RECIPES)
def test_a_bare_script_knows_nothing_of_vigil(recipe, framework):
    """A bare script mentions neither the runners nor the conductor outside its docstring."""
    path = ROOT / f"{bare_module(recipe, framework).replace('.', '/')}.py"
    code = path.read_text(encoding="utf-8").split('"""', 2)[2]
    assert "runners" not in code
    assert "vigil" not in code


def a_round(*, bare: float, runner: float) -> dict[str, float]:
    """Return the seconds of a round's blocks."""
    return {"runner": runner, "bare": bare, "step": bare / 2}


def test_the_ratio_is_runner_speed_over_that_of_each_other():
    """Rates, medians and quartiles come out as computed by hand."""
    found = summarise([a_round(bare=1.0, runner=seconds) for seconds in (1.0, 1.25, 2.0)], images=640)
    assert found.images_per_second == 512.0
    assert dataclasses.astuple(found.ratios["bare"]) == (0.8, 0.65, 0.9)
    assert dataclasses.astuple(found.ratios["step"]) == (0.4, 0.325, 0.45)


def test_the_noise_is_that_of_two_equal_loops():
    """It is no ratio of the runner, whatever that takes."""
    found = summarise([{"runner": 9.0, "step_with_input": 2.0, "twin": seconds} for seconds in (1.8, 2.0, 2.6)], images=640)
    assert found.noise is not None
    assert dataclasses.astuple(found.noise) == pytest.approx((1.0, 0.95, 1.15))
    assert list(found.ratios) == ["step_with_input"]


def test_a_round_that_was_disturbed_does_not_move_the_median():
    """One runner block ten times too slow leaves the ratio as it is; a mean over the same rounds would show 10 % less."""
    clean = [a_round(bare=1.0, runner=1.0) for _ in range(8)]
    disturbed = [*clean, a_round(bare=1.0, runner=10.0)]
    assert [summarise(rounds, images=32).ratios["bare"].median for rounds in (clean, disturbed)] == [1.0, 1.0]
    assert sum(each["bare"] / each["runner"] for each in disturbed) / len(disturbed) == pytest.approx(0.9)


def test_a_machine_that_slows_down_does_not_move_the_ratio():
    """Each round is compared within itself: a drift over rounds cancels."""
    rounds = [a_round(bare=0.9 * slowness, runner=slowness) for slowness in (1.0, 2.0, 4.0, 8.0)]
    assert summarise(rounds, images=32).ratios["bare"].median == pytest.approx(0.9)


def test_no_round_has_no_ratio():
    """An empty measurement is refused."""
    with pytest.raises(ValueError, match="no round"):
        summarise([], images=32)


def test_the_turns_are_counted_in_equal_numbers_of_steps(make_spec, tmp_path):
    """All take the same settling and counted steps a round, and the round in which all compile is not kept."""
    taken = dict.fromkeys(("step", "bare"), 0)

    def losses_of(name):
        def losses(session):
            while True:
                taken[name] += 1
                yield 1.0

        return losses

    session = AlternatingSession(tmp_path, make_spec(), None, steps=3, others={name: losses_of(name) for name in taken})
    for _ in range(steps_needed(rounds=2, steps=3)):
        session.stepped(1.0)
    assert {session.step, *taken.values()} == {3 * (SETTLING_STEPS + 3)}
    assert [sorted(each) for each in session.rounds] == [["bare", "runner", "step"]] * 2


@pytest.mark.torch
def test_a_runner_takes_turns_with_its_own_step_and_the_bare_loops(make_spec, training, tmp_path):
    """In one process, on the smallest of runs; a loop that stopped, or a step that nobody could find, would end it."""
    steps = steps_needed(rounds=1, steps=1)
    spec = make_spec(training=training | {"steps": steps, "evaluate_every_steps": steps, "checkpoint_every_steps": steps})
    write_spec(tmp_path, spec)
    (tmp_path / TURNS_NAME).write_text('{"steps": 1}')
    fork_server.ask(spec.framework, "benchmarks.throughput.alternate", str(tmp_path), folder=tmp_path)
    [found] = json.loads((tmp_path / RESULT_NAME).read_text())["rounds"]
    assert sorted(found) == ["bare", "bare_with_input", "runner", "step", "step_with_input", "twin"]
    assert all(0.0 < seconds < 60.0 for seconds in found.values())


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--recipe", "moco_light", "Did you mean moco_lite?"), ("--framework", "torhc", "Did you mean torch?"),
        ("--mode", "jti", "Did you mean jit?"),
        ("--precision", "fp64", "Allowed: fp32, bf16"), ("--rounds", "0", "a whole number from 1"),
        ("--steps", "many", "a whole number from 1"), ("--output", "no/such/folder/page.md", "a folder that exists"),
        ("--round", "3", "Did you mean --rounds?"), ("--framework", "", "Allowed: torch"),
    ],
)
def test_a_wrong_option_ends_with_2_and_one_message(option, value, message, capsys):
    """Nothing is measured: the message names what was found and what is allowed."""
    assert command_line.main([option, value]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_cell_named_twice_is_measured_once():
    """Repeated names collapse."""
    arguments = command_line.build_parser().parse_args(["--framework", "jax,jax", "--mode", "jit", "--precision", "bf16"])
    if is_installed("jax"):
        assert command_line.contexts(arguments) == [CONTEXT]


def rendered(*measurements: Measurement) -> str:
    return page.render(measurements, pipelines={"moco_lite": 6400.0}, rounds=3, steps=20, command="python -m benchmarks")


def test_the_page_shows_every_cell_and_what_reaches_the_goal():
    """A measured, an unsupported and a failed cell each have a row; only measured ones are counted."""
    speed = summarise([{"runner": 1.0, "step": 0.98, "step_with_input": 0.99, "bare": 0.96, "twin": 1.089}], images=640)
    alone = summarise([{"runner": 100.0, "step": 90.0}], images=640)
    text = rendered(
        Measurement("moco_lite", CONTEXT, "0.10", speed, Start(bare_seconds=2.0, runner_seconds=3.0)),
        Measurement("moco_lite", make_context(framework="torch"), "2.13", alone, Start(bare_seconds=None, runner_seconds=4.0)),
        Measurement("moco_lite", make_context(framework="torch"), unsupported="no compiler"),
        Measurement("moco_lite", make_context(framework="tensorflow"), failure="it died"),
    )
    ratios = [f"{each} [{each}, {each}]" for each in ("0.980", "0.990", "0.960")]
    assert f"| jax | jit | bf16 | 640 | 10.0 % | {' | '.join(ratios)} | - | 1.100 [1.100, 1.100] | 3.0 s | 2.0 s |" in text
    assert "| torch | jit | fp32 | 6.4 | 0.1 % | 0.900 [0.900, 0.900] | - | - | - | - | 4.0 s | - |" in text
    assert "| torch | jit | fp32 | unsupported: no compiler |" in text
    assert "| tensorflow | jit | fp32 | failed |" in text
    assert "Beside their own step 1 of 2 reach the goal" in text
    assert "Beside their own step with input 1 of 1 reach the goal" in text
    assert "Beside the bare loop 0 of 1 reach the goal" in text
    assert "| moco_lite | 6400 | jax-jit-bf16-x1 | 640 | 10.0 |" in text


def test_a_failed_cell_ends_the_command_with_3_after_the_others(monkeypatch, capsys):
    """What was measured is printed, and the exit code says that something is missing."""
    monkeypatch.setattr(command_line.pipeline, "images_per_second", lambda training: 6400.0)
    monkeypatch.setattr(command_line, "measure", lambda *cell, **options: Measurement(*cell, failure="it died"))
    monkeypatch.setattr(command_line, "installed_frameworks", lambda: ["jax"])
    monkeypatch.setattr(command_line, "require_framework", lambda name: None)
    assert command_line.main(["--recipe", "resnet_cifar", "--mode", "jit", "--precision", "fp32"]) == 3
    captured = capsys.readouterr()
    assert "it died" in captured.err
    assert "| jax | jit | fp32 | failed |" in captured.out


@pytest.mark.parametrize("name", recipe_names())
def test_every_ablation_is_another_recipe(name):
    """Each says in its hash that it is none of the others, nor the recipe as it is shipped."""
    recipe = load_recipe(name)
    variants = [recipe, *(group.recipe for group in ablations(recipe, (0,)))]
    assert len(variants) > 3
    assert len({recipe_hash(variant.resolve("quick")) for variant in variants}) == len(variants)


def test_a_table_of_what_does_not_exist_is_refused(capsys):
    """A misspelt name would else give a table that lacks it and looks complete."""
    with pytest.raises(SystemExit):
        detection.main(["faults", "--recipe", "moco_lite", "--framework", "torch", "--only", "keys_not_shufled"])
    assert "--only: found 'keys_not_shufled'. Allowed: keys_not_shuffled, key_momentum_zero," in capsys.readouterr().err


def assert_can_be_planted(fault: faults.Fault) -> None:
    """Raise unless a fault is a file, and its context fits the quick profile of its recipe."""
    assert (faults.FOLDER / f"{fault.name}.py").is_file(), f"{fault.name} is no file in {faults.FOLDER}"
    recipe = load_recipe(str(fault.variant or fault.recipe))
    for context in faults.contexts_for(fault, ["torch"], ["eager"], ["fp32"]):
        context.shard_sizes(recipe.resolve("quick")["batch_size"])


def test_the_tape_of_a_variant_is_made_once(tmp_path, monkeypatch):
    """It is kept in runs/, and taken from there the next time."""
    fault = faults.Fault("any", "", "", "", variant=ROOT / "recipes" / "resnet_cifar.yaml")
    recipe = load_recipe("resnet_cifar")
    tape = load_golden(path_of("resnet_cifar", "quick"), recipe=identity_of(recipe, "quick"), data_directory=None)
    made = []
    monkeypatch.setattr(faults, "runs_directory", lambda: tmp_path)
    monkeypatch.setattr(faults, "make_golden", lambda **_: made.append(tape) or tape)
    standards = [faults.standard_for(fault) for _ in range(2)]
    assert len(made) == 1
    assert [standard.tape.header["seed"] for standard in standards] == [tape.header["seed"]] * 2


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)
def test_every_fault_of_the_table_can_be_planted(fault):
    """It is there, and where it needs shards they sum to the batch."""
    assert_can_be_planted(fault)


def test_a_fault_that_cannot_be_planted_is_caught():
    """A name without a file and shards of another recipe's batch are each found."""
    with pytest.raises(AssertionError, match="nothing_wrong is no file"):
        assert_can_be_planted(faults.Fault("nothing_wrong", "", "", ""))
    with pytest.raises(UsageError, match="20\\+12"):
        assert_can_be_planted(faults.Fault("unused_regions_counted", "", "", "", faults.TWO, recipe="tiny_mask_rcnn"))


@pytest.mark.parametrize(
    ("precision", "verdict", "code"),
    [("fp32", "regressed", 0), ("fp32", "reproduced", 1), ("fp16", "reproduced", 1), ("bf16", "reproduced", 0)],
)
def test_a_fault_that_is_not_seen_is_told_in_the_exit_code(monkeypatch, capsys, precision, verdict, code):
    """Where its own precision is fp16, too; in bf16 many drown, and are counted only."""
    fault = next(fault for fault in faults.FAULTS if fault.name == "loss_scale_kept")
    context = make_context(framework="torch", precision=precision)
    outcome = faults.Outcome(fault, context, verdict, "a reason", None, 0.5, 1.0)
    other = faults.Outcome(fault, make_context(framework="jax", precision="fp16"), "regressed", "a reason", None, 9.0, 1.0)
    monkeypatch.setattr(faults, "collect", lambda own: {(each.context.text,): each for each in (outcome, other)})
    monkeypatch.setattr(sys, "argv", ["faults", "--jobs", "0"])
    assert faults.main() == code
    assert "loss_scale_kept" in capsys.readouterr().out


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_faults_that_training_should_show(name):
    """Three at least in each framework, each a file."""
    groups = detection.planted(load_recipe(name), list(FRAMEWORKS), (0,))
    assert len(groups) >= 3 * len(FRAMEWORKS)
    assert all(Path(group.fault).is_file() for group in groups)


def test_the_parts_of_a_verification_add_up_to_its_time():
    """Phases last until the next one begins, cases as long as they say, and the conductor has the rest."""
    events = [
        {"kind": "started", "phase": "import", "time": 100.0},
        {"kind": "phase", "phase": "build", "time": 103.0},
        {"kind": "phase", "phase": "verify", "time": 104.0},
        {"kind": "probed", "phase": "verify", "time": 106.0, "name": "init/margin", "seconds": 2.0},
        {"kind": "phase", "phase": "build", "time": 106.0},
        {"kind": "phase", "phase": "verify", "time": 106.5},
        {"kind": "probed", "phase": "verify", "time": 109.5, "name": "init/full", "seconds": 3.0},
        {"kind": "phase", "phase": "finish", "time": 109.5},
        {"kind": "finished", "phase": "finish", "time": 109.5},
    ]
    parts = where_time_goes.parts_of_verification(SimpleNamespace(seconds=12.0), [events])
    assert parts == {"import": 3.0, "build": 1.5, "finish": 0.0, "init/margin": 2.0, "init/full": 3.0, "conductor": 2.5}
    assert sum(parts.values()) == 12.0
    lines = where_time_goes.bars("a recipe", [parts, parts])
    assert lines[0] == "a recipe: 12.0 s, median of 2"
    assert lines[1] == f"  import                     3.0 s  25% {'#' * 12}"
    # Two processes at once: what both did, and what the longer one left of the time.
    parts = where_time_goes.parts_of_verification(SimpleNamespace(seconds=12.0), [events[:-1], events])
    assert parts == {"import": 6.0, "build": 3.0, "finish": 0.0, "init/margin": 4.0, "init/full": 6.0, "conductor": 2.5}


def test_the_parts_of_a_reproduction_add_up_to_its_time():
    """Phases of all seeds, the verification before them, and the rest."""
    events = [
        {"kind": "phase", "phase": "train", "time": 50.0},
        {"kind": "steps", "phase": "train", "time": 60.0},
        {"kind": "phase", "phase": "finish", "time": 61.0},
        {"kind": "finished", "phase": "finish", "time": 61.5},
    ]
    document = SimpleNamespace(wall_seconds=40.0, verify=SimpleNamespace(seconds=9.0))
    parts = where_time_goes.parts_of_reproduction(document, [events, events])
    assert parts == {"verify": 9.0, "train": 22.0, "finish": 1.0, "conductor": 8.0}


def test_the_parts_of_a_night_add_up_to_what_its_jobs_had():
    """Cells by kind and framework; two jobs for a minute had 120 seconds, and what is left of a budget had none."""
    left = a_row(a_cell(VERIFY, "torch-jit-fp32-x1"), verdict=None)
    rows = [a_row(a_cell(VERIFY), seconds=30.0), a_row(a_cell(), seconds=50.0), left]
    parts = where_time_goes.parts_of_night(a_document(rows, jobs=2, spent_seconds=60.0))
    assert parts == {"reproduce jax": 50.0, "verify jax": 30.0, "left over": 40.0}
    other = dataclasses.replace(a_cell(VERIFY), recipe="moco_lite")
    document = a_document([*rows, a_row(other, seconds=10.0)], jobs=2, spent_seconds=60.0)
    assert where_time_goes.parts_of_night(document, "moco_lite") == {"verify jax": 10.0}


def test_only_what_came_to_a_good_end_is_timed(tmp_path, capsys, monkeypatch):
    """A directory without a document, or one that cannot be read, is passed over; where there is nothing else, that is said."""
    (tmp_path / "1-verify-broken").mkdir()
    for name in ("verify.json", "invocation.json"):
        (tmp_path / "1-verify-broken" / name).write_text("{")
    (tmp_path / "2-verify-begun").mkdir()
    monkeypatch.setattr(sys, "argv", ["where_time_goes", "--runs", str(tmp_path)])
    with pytest.raises(SystemExit):
        where_time_goes.main()
    assert "and no nights that came to a good end. `vigil verify`" in capsys.readouterr().err


def test_what_sweeps_take_is_summed_by_recipe_framework_and_mode(tmp_path):
    """From pages that `vigil verify --all --markdown` writes; one without a verification, as a broken one, is refused."""
    row, made = "| {} | reproduced | 0 / 8 | a loss | 1x | 0.5 |  | {} |", "- toy v1 (ab12), profile quick; torch 2.13.0"
    before, after, empty = (tmp_path / name for name in ("before.md", "after.md", "empty.md"))
    before.write_text("\n".join([row.format("torch-jit-fp32-x1", 100), row.format("torch-jit-bf16-x2", 150), made]))
    after.write_text("\n".join([row.format("torch-jit-fp32-x1", 10), row.format("torch-jit-bf16-x2 (short)", 4), made]))
    columns = {name: sweep_times.rows_of(path) for name, path in (("before", before), ("after", after))}
    assert sweep_times.table(columns)[2:] == [
        "| toy torch jit | 250 | 14 |",
        "| **all** | **250** | **14** |",
        "| contexts, in the short form | 2, 0 | 2, 1 |",
        "| longest | 150 | 10 |",
        "| above 120 s | 1 | 0 |",
    ]
    assert sweep_times.longest(columns["before"]) == ["- toy torch-jit-bf16-x2: 150 s"]
    verification = a_verification(seconds=21.3)
    (tmp_path / "runs" / "one").mkdir(parents=True)
    verification.write(tmp_path / "runs" / "one")
    assert sweep_times.rows_of(tmp_path / "runs") == [("resnet_cifar", verification.context, False, 21.3)]
    empty.write_text(made)
    with pytest.raises(ValueError, match="found no verification"):
        sweep_times.rows_of(empty)
    empty.write_text(row.format("torch-jit-fp32-x1", 1))
    with pytest.raises(ValueError, match="names no recipe"):
        sweep_times.rows_of(empty)


def long_run(steps):
    """Return the samples of a run that has come to step 780 of so many."""
    return {
        "recipe": {"name": "resnet_cifar", "profile": "paper"}, "context": "torch-jit-fp32-x1", "seed": 0, "release": "2.13.0",
        "date": "2026-11-23", "steps": steps, "metric": "test_accuracy", "published": 91.25,
        "curve": [[390, 1.0, 36.9], [780, 2.0, 55.9]],
    }  # fmt: skip


def test_a_long_run_is_told_by_its_epoch_until_it_has_finished():
    """What is not finished says how far it is, of how much."""
    assert "| epoch 2 of 164 | 55.90 | 91.25 |" in long_runs.line_of(long_run(64000))
    assert "| finished | 55.90 | 91.25 |" in long_runs.line_of(long_run(780))


def test_curves_are_drawn_beside_what_was_published(tmp_path, monkeypatch):
    """The picture is made of the kept samples, and is not empty."""
    monkeypatch.setattr(long_runs, "PICTURE", tmp_path / "curves.png")
    long_runs.draw([long_run(64000)])
    assert len(np.unique(imread(tmp_path / "curves.png").reshape(-1, 4), axis=0)) > 10


def test_a_run_that_goes_on_is_read_as_far_as_it_is(tmp_path, monkeypatch):
    """The evaluations of an unfinished run are its samples, those of a step that was taken again after a resume once."""
    invocation = SimpleNamespace(
        runs=["seed0"], context=make_context(framework="torch"), targets=[SimpleNamespace(value=91.25)],
        recipe=SimpleNamespace(model_dump=lambda mode: {"name": "resnet_cifar", "profile": "paper"}),
    )  # fmt: skip
    monkeypatch.setattr(long_runs.Invocation, "read", lambda directory: invocation)
    run = tmp_path / "seed0"
    run.mkdir()
    (run / "spec.json").write_text(json.dumps({"seed": 0, "training": {"metric": {"name": "test_accuracy"}, "steps": 20}}))
    events = [{"kind": "environment", "time": 1.0, "environment": {"framework_version": "2.13.0", "python": "3.11.7"}}]
    for step, value in ((5, 9.0), (10, 10.0), (10, 11.0)):
        event = {"kind": "evaluated", "time": 86400.0, "step": step, "epoch": step / 2, "metrics": {"test_accuracy": value}}
        events.append(event)
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    found = long_runs.samples_of(tmp_path, hardware="two cores")
    assert (found["steps"], found["date"], found["published"]) == (20, "1970-01-02", 91.25)
    assert found["curve"] == [[5, 2.5, 9.0], [10, 5.0, 11.0]]


def test_stretches_are_judged_by_a_runs_final_weights(tmp_path, monkeypatch):
    """Weights as they begin know nothing: each stretch is near the logarithm of 65; by larger ones it is not."""
    monkeypatch.setattr(small_tests, "STRETCHES", 60)
    training = load_recipe("char_gpt").resolve("quick")
    (tmp_path / "spec.json").write_text(json.dumps({"training": training}), encoding="utf-8")
    state = weights.initial_state(training, seed=0)
    save_state(tmp_path / "final.npz", state, step=0)
    losses, published = small_tests.losses_of(tmp_path)
    assert (len(losses), published) == (60, 240)
    np.testing.assert_allclose(losses, math.log(65), atol=0.3)
    save_state(tmp_path / "final.npz", {**state, "params/tokens.embedding": 20 * state["params/tokens.embedding"]}, step=0)
    assert np.abs(small_tests.losses_of(tmp_path)[0] - math.log(65)).max() > 0.5


def test_no_damage_changes_a_verdict_in_silence():
    """A seeded share of what `python -m benchmarks.damage` tries: each damage is refused in words that name the file."""
    told: list[str] = []
    found = damage.try_damages(count=40, seed=1, tell=told.append)
    assert told == []
    assert {outcome for _, outcome in found} == {damage.REFUSED}


def test_a_reader_that_checks_nothing_is_found(monkeypatch):
    """With no digest to hold rows to, cut files and lost ones move bands, and are counted as such."""

    def read_anything(folder, pattern):
        return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}

    monkeypatch.setattr(vigil.references.samples, "read_listed", read_anything)
    found = damage.try_damages(count=80, seed=1, tell=lambda line: None)
    assert found["reference rows", damage.CHANGED] > 3


def test_the_pages_of_findings_say_what_the_record_of_releases_does():
    """Both are as their commands write them; what is gone from the record goes from the page."""
    docs = project_root() / "docs"
    assert (docs / "narrowed.md").read_text(encoding="utf-8") == narrowed.page()
    findings = (docs / "findings.md").read_text(encoding="utf-8")
    assert narrowed.marked(findings) == findings
    of_none = "[Script](findings/no_such_thing.py):\n"
    assert narrowed.marked(f"Releases: of old.\n{of_none}") == of_none
    assert findings.count("\nReleases: ") > 3


def test_what_is_float32_in_float64_is_recorded_apart_and_bounded(tmp_path, monkeypatch):
    """One call whose values are float32's and whose forward mode is 0: an entry without a bound would explain any value."""

    def finding(quantity, ratio, values=GIVEN):
        return SimpleNamespace(
            operator="resize", kind="wrong", way="tf.resize", mode="eager", quantity=quantity, precision="fp64", ratio=ratio,
            problem="", known=None, script="shown.py", smallest=SimpleNamespace(values=values),
        )  # fmt: skip

    findings = [finding("outputs/0", 1.3e5), finding("gradients/x", 7e3), finding("forward/0", 1e11)]
    findings.append(finding("gradients/x", 1e11, EQUAL))
    found = SimpleNamespace(framework="tensorflow", framework_version="2.21.0", findings=findings)
    monkeypatch.setattr(audits, "Audit", SimpleNamespace(read=lambda folder: found))
    monkeypatch.setattr(audits, "project_root", lambda: tmp_path)
    monkeypatch.setattr(audits, "reference_directory", lambda: tmp_path)
    monkeypatch.setattr(audits, "_append_row", lambda audit: None)
    list_of_known = tmp_path / audits.NAME / audits.FILE_NAME
    list_of_known.parent.mkdir()
    replace_listed(list_of_known, b"# known\n[]\n")
    (tmp_path / "shown.py").write_text("new")
    seen = tmp_path / "docs" / "findings" / "audit" / "seen"
    seen.mkdir(parents=True)
    (seen / "tensorflow_resize.py").write_text("its releases are on record")
    audits.record(tmp_path)
    entries = {each.name: each for each in known_calls(list_of_known)}
    asked_of_resize = {"operator": "resize", "way": "tf.resize", "kind": "wrong", "precision": "fp64"}
    assert sorted(entries) == ["tensorflow_resize", "tensorflow_resize_float64", "tensorflow_resize_of_equal_numbers"]
    of_equal = {**asked_of_resize, "quantity": "gradients/x", "ratio": 1e11}
    assert entries["tensorflow_resize_of_equal_numbers"].explains(**of_equal, form=f"n=33, fp64, {EQUAL}")
    assert not any(each.explains(**of_equal, form="n=33, fp64") for each in entries.values())
    float32 = entries["tensorflow_resize_float64"]
    assert float32.quantities == ("*",)
    assert 1.3e5 < float32.most < 1e7
    asked = {**asked_of_resize, "quantity": "outputs/0"}
    assert float32.explains(**asked, ratio=1.3e5)
    assert not any(each.explains(**asked, ratio=1e9) for each in entries.values())
    assert entries["tensorflow_resize"].explains(**asked | {"quantity": "forward/0"}, ratio=1e12)
    assert (seen / "tensorflow_resize.py").read_text() == "its releases are on record"
    assert (seen / "tensorflow_resize_float64.py").read_text() == "new"


@pytest.mark.torch
@pytest.mark.parametrize(("precision", "planted"), [("fp32", {"scaled", "bfloat16"}), ("bf16", set())])
def test_mutants_are_those_that_a_precision_could_show(precision, planted):
    """A tail that is left out and half of a gradient are seen in bfloat16 too; a thousandth is no defect of it."""
    found = audits.mutants("torch", mode="eager", seed=0, entries=[catalog()["softmax"]], precision=precision)
    mutants = {mutant for _, _, mutant, _ in found}
    assert mutants & {"scaled", "bfloat16"} == planted
    assert {"tail", "gradient"} <= mutants
    assert all(is_seen for *_, is_seen in found)


def test_mutants_are_planted_in_one_precision(capsys, monkeypatch):
    """The message says what was found, and what is allowed."""
    monkeypatch.setattr("sys.argv", ["audits", "mutants", "--framework", "torch", "--precision", "bf16,fp16"])
    with pytest.raises(SystemExit):
        audits.main()
    assert "Found: bf16,fp16. Allowed: fp32, fp64, bf16, fp16." in capsys.readouterr().err
