"""Everything that is asked of a context, with runs that are made up, and with real ones that are wrong."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from reports.determinism_text import determinism_block
from runners.contract.protocol.checkpoint import CHECKPOINT, save_state
from vigil.cli.main import main
from vigil.determinism import measure as room
from vigil.determinism.trial import Bench, Trial
from vigil.documents.context import make_context
from vigil.documents.determinism import DIFFERENT, FAILED, ROUNDING, SAME, UNSTABLE, Determinism
from vigil.documents.failure import Failure
from vigil.errors import CannotRun
from vigil.recipes.loading import identity_of, load_recipe

FAULTS = Path(__file__).parents[2] / "faults"
RECIPE = load_recipe("digits_mlp")
TRAINING = RECIPE.resolve("smoke")


@dataclasses.dataclass
class _Point:
    metrics: dict[str, float]


@dataclasses.dataclass
class _Record:
    state_sha256: str
    losses: tuple[float, ...]
    curve: list[_Point]
    environment: dict[str, object]
    failure: Failure | None = None

    @property
    def timing(self):
        return type("Timing", (), {"wall_seconds": 1.0, "images_per_second": 100.0})


class Runs:
    """Runs that are made up: `moves` says by name how far their weights are from the usual ones; None is a run that fails."""

    def __init__(self, moves: dict[str, float | None] | None = None, *, rounding: float = 1e-7) -> None:
        self.moves, self.rounding, self.ran = moves or {}, rounding, []

    def __call__(self, bench: Bench, name: str, *, context=None, checkpoint=None, **facts):
        self.ran.append(name)
        default = self.rounding if name.startswith("twin") else 0.0
        move = self.moves.get(name, default)
        directory = bench.directory / name.replace(" ", "-")
        directory.mkdir(parents=True)
        weights = np.full(4, 1.0 + (move or 0.0))
        state = None if move is None else {"params/w": weights, "stats/m": np.ones(2)}
        begun = checkpoint[1] if checkpoint else 0
        losses = tuple(1.0 + (move or 0.0) + step for step in range(begun, 6))
        if state:
            save_state(directory / CHECKPOINT, state, step=3)
        record = _Record(f"sha {move}", losses, [_Point({"accuracy": 1.0 + (move or 0.0)})], {"framework_version": "1.0"})
        if move is None:
            record.failure = Failure(category="crash", phase="train", step=0, message="an operator refuses", log_tail=())
        return Trial(name, directory, record, state)


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Return a function that measures made-up runs."""
    monkeypatch.setattr(room, "available_cores", lambda: [0, 1])
    monkeypatch.setattr(room, "_inference", lambda work: iter(()))

    def run(runs: Runs, *, framework: str = "torch", mode: str = "jit", pairs: int = 3) -> Determinism:
        monkeypatch.setattr(room, "run_trial", runs)
        context = make_context(framework=framework, mode=mode)
        bench = Bench(identity_of(RECIPE, "smoke"), TRAINING, context, tmp_path / "runs", None)
        return room.measure(bench, determinism_id="d", command="vigil determinism", release=None, pairs=pairs)

    return run


def answers(document: Determinism) -> dict[str, str]:
    return {axis.name: axis.answer for axis in document.axes}


def test_what_never_differs_is_the_same(measured) -> None:
    runs = Runs()
    document = measured(runs)
    assert (document.is_stable, document.exit_code) == (True, 0)
    assert answers(document) == dict.fromkeys(("threads", "even devices", "uneven devices", "resumed", "hash seed"), SAME)
    # In turns, each of both first every other time.
    assert runs.ran[:6] == ["off 1", "on 1", "on 2", "off 2", "off 3", "on 3"]
    assert determinism_block(document, directory="d").startswith("THE SAME: digits_mlp")


def test_runs_that_differ_in_nothing_and_part_are_the_answer(measured) -> None:
    """With the switch they agree: the other axes are held to those."""
    document = measured(Runs({"off 2": 1e-3}))
    assert (document.is_stable, document.exit_code) == (False, 1)
    off, on = document.run_to_run
    assert (off.distinct, off.runs, on.distinct) == (2, 3, 1)
    assert answers(document)["threads"] == SAME
    text = " ".join(determinism_block(document, directory="d").split())
    assert text.startswith("PARTS: ")
    assert "2 distinct results of 3 runs that differ in nothing; with the switch 1 of 3" in text


def test_where_the_switch_does_not_help_either_nothing_else_is_asked(measured) -> None:
    runs = Runs({"off 2": 1e-3, "on 3": 1e-3})
    document = measured(runs)
    assert answers(document) == {"all": UNSTABLE}
    assert len(runs.ran) == 6


@pytest.mark.parametrize(("move", "answer", "code"), [(1e-6, ROUNDING, 0), (1e-3, DIFFERENT, 1)])
def test_one_thing_that_makes_a_difference_is_told_with_its_size(measured, move, answer, code) -> None:
    document = measured(Runs({"two devices uneven": move}))
    [axis] = [each for each in document.axes if each.name == "uneven devices"]
    assert (axis.answer, axis.first_step, document.exit_code) == (answer, 1, code)
    assert axis.floors == pytest.approx(move / 1e-7, rel=1e-3)
    assert [each.answer for each in document.axes if each.name != "uneven devices"] == [SAME] * 4


def test_the_worst_of_two_runs_is_the_axis(measured) -> None:
    assert answers(measured(Runs({"hash seed 2": 1e-3})))["hash seed"] == DIFFERENT


def test_compilation_is_asked_where_programs_are_kept(measured) -> None:
    assert answers(measured(Runs({"compiled from cache": 1e-3}), framework="jax"))["compilation"] == DIFFERENT


def test_a_run_that_fails_is_neither_the_same_nor_different(measured) -> None:
    document = measured(Runs({"one thread": None}))
    [axis] = [each for each in document.axes if each.name == "threads"]
    assert (axis.answer, axis.says, document.exit_code) == (FAILED, "an operator refuses", 0)


def test_where_no_run_ends_the_reason_is_told(measured) -> None:
    with pytest.raises(CannotRun, match="an operator refuses"):
        measured(Runs({f"{name} {number}": None for name in ("off", "on") for number in (1, 2, 3)}))


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return a function that runs the verb for real, and returns its exit code and document."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))

    def run(*more: str, recipe: str = "digits_mlp") -> tuple[int, Determinism]:
        answer = tmp_path / "answer.json"
        code = main(["determinism", recipe, "--runs", "2", "--json", str(answer), *more])
        return code, Determinism.parse(answer.read_text(), where="answer")

    return run


def test_a_race_parts_two_runs(command) -> None:
    """Runs of PyTorch in which a weight is moved by the clock; with the switch too, so that nothing else is asked."""
    code, document = command("--framework", "torch", "--mode", "eager", "--fault", str(FAULTS / "weight_from_the_clock.py"))
    assert (code, document.is_stable) == (1, False)
    assert [each.distinct for each in document.run_to_run] == [2, 2]
    assert answers(document) == {"all": UNSTABLE}


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_a_training_that_is_right_is_the_same_or_rounding(command, framework) -> None:
    code, document = command("--framework", framework)
    assert (code, document.is_stable) == (0, True)
    assert set(answers(document).values()) <= {SAME, ROUNDING}
    assert {"inference", "row alone", "resumed", "threads"} <= set(answers(document))


@pytest.mark.slow
def test_what_is_wrong_on_uneven_devices_is_more_than_rounding(command) -> None:
    """A planted mean of means in the backward pass of batch norm: right wherever devices have equal parts."""
    fault = str(FAULTS / "sync_batch_norm_even_shards.py")
    code, document = command("--framework", "torch", "--mode", "eager", "--fault", fault, recipe="resnet_cifar")
    assert (code, document.is_stable) == (1, True)
    assert [name for name, answer in answers(document).items() if answer == DIFFERENT] == ["uneven devices"]


def test_what_is_no_document_of_the_same_is_refused(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    other = tmp_path / "determinism.json"
    other.write_text(json.dumps({"schema": 1}))
    assert main(["determinism", "digits_mlp", "--framework", "torch", "--against", str(other)]) == 2
    assert "--against: " in capsys.readouterr().err
