"""`vigil drift`: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import vigil.cli.drift
import vigil.tracking.history
from benchmarks.simulated_nights import VERIFICATIONS
from vigil.cli.answers import DriftAnswer
from vigil.cli.main import main
from vigil.drift.reference_samples import References, rows_in
from vigil.paths import reference_directory
from vigil.recipes.loading import load_recipe, recipe_hash
from vigil.tracking import TrackingUnavailable
from vigil.tracking.history import History

TRAINING = load_recipe("resnet_cifar").resolve("quick")
RELEASES = ["0.9.2"] * 11 + ["0.10.2"] * 9


@pytest.fixture
def drift(monkeypatch, capsys):
    """Return a function that runs `vigil drift` on samples and returns exit code, output and error; MLflow is not asked."""
    monkeypatch.setattr(vigil.cli.drift, "record_drift", lambda uri, found, pools: None)

    def run(samples, *arguments: str, verifications=VERIFICATIONS, **fields) -> tuple[int, str, str]:
        history = History(samples, verifications, **fields)
        monkeypatch.setattr(vigil.tracking.history, "load_history", lambda: history)
        code = main(["drift", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def nights(cell_runs):
    """Return a function that makes twenty nights of the shipped recipe's quick profile, `drop` points lower from night 11 on."""

    def make(drop: float = 0.0, **fields) -> pd.DataFrame:
        values = 88.7 + 0.8 * np.random.default_rng(3).standard_normal(20) - drop * (np.arange(20) >= 11)
        fields = {"recipe_hash": recipe_hash(TRAINING), "releases": RELEASES} | fields
        return cell_runs(values.tolist(), seeds=[night % 5 for night in range(20)], **fields)

    return make


def test_nothing_drifts_is_exit_code_0_and_says_what_was_looked_at(drift, nights):
    """A clean history ends with 0, with what was looked at, and with what could have been seen."""
    code, out, _ = drift(nights(), as_of="2026-01-21", remarks=("two runs are older than the cache",))
    assert code == 0
    assert out.startswith("drift: nothing drifts")
    for words in (
        "looked at: 1 cells, 20 nights, night-00 to night-19, jax 2 releases, 0.9.2 to 0.10.2",
        "1 against the reference",
        "false discovery rate 5%",
        "could have been seen nine times in ten",
        "history as of 2026-01-21",
        "two runs are older than the cache",
    ):
        assert words in out


def test_a_drift_is_exit_code_1_with_night_release_and_json(drift, nights, tmp_path):
    """A drop of four points is a row with night and release, and the same in the file."""
    file = tmp_path / "drift.json"
    code, out, _ = drift(nights(4.0), "resnet_cifar", "--profile", "quick", "--json", str(file))
    assert code == 1
    for words in ("dropped, worse", "night-11", "0.9.2 -> 0.10.2", "points ["):
        assert words in out
    found = json.loads(file.read_text(encoding="utf-8"))
    (one,) = found["drifts"]
    assert one["q"] < 0.05
    assert found["nights"][one["since"]["night"]] == "night-11"
    assert one["p_values"].keys() == {"reference", "release", "step"}
    answer = DriftAnswer.parse(file.read_text(encoding="utf-8"), where=str(file))
    assert (answer.exit_code, answer.looked_at.nights, answer.drifts[0].what) == (1, 20, "dropped")


def test_four_findings_are_read_at_80_columns(drift, nights, monkeypatch):
    """The answer stands first, no word is broken, and four findings take some twenty lines and no seventy."""
    monkeypatch.setenv("COLUMNS", "80")
    samples = pd.concat([nights(4.0, mode=mode, precision=kind) for mode in ("jit", "eager") for kind in ("fp32", "bf16")])
    _, out, _ = drift(samples)
    first, *rest = out.splitlines()
    assert first.startswith("drift: 4 drift for the worse")
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("resnet_cifar quick jax-eager-bf16-x1: dropped, worse") == 1
    findings = rest[: next(place for place, line in enumerate(rest) if line.startswith("looked at"))]
    assert len(findings) < 30


def test_an_improvement_is_exit_code_1_too(drift, nights):
    """Two-sided: an unexplained rise is told as a drop is."""
    code, out, _ = drift(nights(-4.0))
    assert (code, "rose, better" in out) == (1, True)


def test_a_cell_that_only_crashes_is_neither_well_nor_drifting(drift, nights):
    """Nothing drifts, but a cell without values since a night is exit code 4, and told."""
    samples = nights()
    samples.loc[samples["night"] >= "night-17", ["value", "verdict", "reason"]] = [np.nan, "failed:crash", "the runner died"]
    code, out, _ = drift(samples)
    assert code == 4
    assert "no value since" in out
    assert "failed:crash: the runner" in out


def test_too_short_a_history_is_not_all_is_well(drift, cell_runs):
    """Two values that nothing can be asked of end with 4."""
    code, out, _ = drift(cell_runs([88.0, 88.1]))
    assert code == 4
    assert out.startswith("drift: nothing could be tested")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "no history"),
        ({"night": None}, "20 runs are of no night: take them with --all-runs"),
        ({"fault": "half"}, "20 runs have a planted fault: take them with --include-faults"),
    ],
)
def test_no_history_is_exit_code_3_and_says_why(drift, nights, change, words):
    """An empty history, runs by hand only, and runs with a planted fault only are told apart."""
    samples = nights().assign(**change) if change else nights().iloc[:0]
    code, _, err = drift(samples)
    assert code == 3
    assert words in err


def test_a_recipe_that_the_history_does_not_have_is_exit_code_2(drift, nights):
    """A misspelt recipe is told with the nearest name."""
    code, _, err = drift(nights(), "resnet_cifra")
    assert code == 2
    assert "Did you mean resnet_cifar?" in err


def test_cells_that_moved_together_are_one_row(drift, nights, verified):
    """Two cells with other bits under the new release, verified well on both sides, are one row with the largest ratios."""
    samples = pd.concat([nights(mode=mode) for mode in ("jit", "eager")])
    good = [("0.9.2", "reproduced", 3.0, 0.1), ("0.10.2", "reproduced", 5.0, 0.2)]
    sides = pd.concat([verified(*good, mode=mode, recipe_hash=recipe_hash(TRAINING)) for mode in ("jit", "eager")])
    # Each seed has the same bits within a release.
    samples["state_sha256"] = samples["context"] + samples["release"] + samples["seed"].astype(str)
    code, out, _ = drift(samples, verifications=sides)
    assert code == 0
    assert "jax, 2 cells" in out
    assert "moved, not worse" in out
    assert "largest worst ratio 3 before, 5" in out


def test_the_reference_is_that_of_the_hash_with_its_floor(nights):
    """The shipped samples judge the recipe's hash, with the floor of its test set; another hash has none."""
    cell = nights().iloc[0].to_dict()
    references = References(rows_in(reference_directory()))
    reference = references(cell)
    assert len(reference.values) >= 30
    assert 0.2 < reference.floor < 0.3
    assert references(cell | {"recipe_hash": "0123"}) is None


@pytest.mark.parametrize("name", ["../resnet_cifar", "long" * 4000, "\0", "/etc"])
def test_a_recipe_name_of_the_history_is_no_path(nights, name):
    """Anybody may have edited a name: it is looked up, never opened, and the cell has no reference."""
    assert References(rows_in(reference_directory()))(nights().iloc[0].to_dict() | {"recipe": name}) is None


def test_what_drifts_is_told_to_mlflow_by_cell(drift, nights, monkeypatch):
    """Size, since, release and q of what drifts, `none` of what does not; a part of the history tells nothing of the whole."""
    told = []
    whole = pd.concat([nights(3.0), nights(mode="eager", context="jax-eager-fp32-x1")])
    monkeypatch.setattr(vigil.cli.drift, "record_drift", lambda uri, found, pools: told.append(found))
    assert drift(whole)[0] == 1
    drift(whole, "resnet_cifar")
    drift(whole, "--all-runs")
    (found,) = told
    worse = next(tags for cell, tags in found.items() if cell[2].startswith("jax-jit"))
    assert (worse["drift"], worse["drift_since"], worse["drift_release"]) == ("worse", "night-11", "0.9.2 -> 0.10.2")
    assert worse["drift_size"].startswith("-3 points [-4.")
    assert float(worse["drift_q"]) < 0.001
    assert found["resnet_cifar", "quick", "jax-eager-fp32-x1"] == {"drift": "none", "drift_as_of": "night-19"}


def test_drift_is_found_where_mlflow_does_not_answer(drift, nights, monkeypatch):
    """What was found is printed, and the exit code is the finding's; that the dashboard lacks it is said."""

    def refuse(uri, found, pools):
        raise TrackingUnavailable("MLflow at http://tracker cannot be used")

    monkeypatch.setattr(vigil.cli.drift, "record_drift", refuse)
    code, out, _ = drift(nights(3.0))
    assert code == 1
    assert "drift is not in MLflow: MLflow at http://tracker cannot be used" in out
