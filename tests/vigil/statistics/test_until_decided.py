"""`--until-decided`: what is trained, what is recorded after each seed, where it stops, and how it is resumed and told."""

from __future__ import annotations

import json

import pytest

from reports.block import verdict_block
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.invocation import Invocation
from vigil.process.recording import read_record
from vigil.recipes.loading import load_recipe
from vigil.references.admission import row_from_record
from vigil.references.samples import append_rows
from vigil.runs.carry_out import carry_out, read_invocation
from vigil.runs.plan import Request, plan
from vigil.runs.until_decided import rule
from vigil.runs.watch import Watch

QUIET = Watch()


@pytest.fixture
def planned(places):
    """Return a function that plans seeds of resnet_cifar on torch, in turn or all, and returns the directory."""

    def make(seeds, *, effect=None, in_turn=True):
        return plan(
            Request(
                recipe=load_recipe("resnet_cifar"), recipe_source="resnet_cifar", profile="smoke", fault=None, seeds=tuple(seeds),
                context=make_context(framework="torch", mode="eager"), command="vigil reproduce",
                sequential=rule(seeds, effect=effect) if in_turn else None,
            ),
            places, data_directory=None,
        )  # fmt: skip

    return make


@pytest.fixture
def reference(scripted, planned, tmp_path):
    """Sixteen reference samples of mean 80 and spread 5, above the floor of 256 test images."""
    offsets = (1.6, 1.2, 0.9, 0.6, 0.4, 0.2, 0.1, 0.0)
    values = [80.0 + 5.0 * side * offset for offset in offsets for side in (-1, 1)]
    seeds = range(1000, 1016)
    started = scripted(dict(zip(seeds, values, strict=True)))
    directory = planned(seeds, in_turn=False)
    carry_out(directory, watch=QUIET)
    append_rows(tmp_path / "reference", [row_from_record(read_record(directory / f"seed{seed}")) for seed in seeds])
    started.clear()


def test_clean_runs_end_before_the_cap_as_reproduced(reference, scripted, planned):
    """Runs at the reference's mean decide after a few seeds; the rest is struck off and never trained."""
    started = scripted({seed: 80.0 + 0.5 * (-1) ** seed for seed in range(12)})
    directory = planned(range(12))
    assert len([path for path in directory.iterdir() if path.is_dir()]) == 12
    invocation = carry_out(directory, watch=QUIET).invocation
    verdict = invocation.verdict
    found = verdict.sequential
    assert (verdict.name, found.decision) == ("reproduced", "reproduced")
    assert 1 < len(started) < 6
    assert len(invocation.runs) == len(invocation.seeds) == len(found.looks) == len(started)
    assert found.looks[-1].e_value <= 0.09 < found.looks[-2].e_value
    assert invocation.sequential.planned == tuple(range(12))
    assert invocation.sequential.looks == found.looks
    assert (verdict.mean_band, verdict.welch, verdict.detectable_drop) == (None, None, None)
    assert verdict.p_value > 0.5


@pytest.mark.parametrize(("value", "name"), [(20.0, "regressed"), (99.9, "better-than-reference")])
def test_runs_that_are_off_end_as_outside_on_either_side(reference, scripted, planned, value, name):
    """Far below ends at the first seed; far above is no less suspicious."""
    started = scripted(dict.fromkeys(range(12), value))
    verdict = carry_out(planned(range(12)), watch=QUIET).invocation.verdict
    assert (verdict.name, verdict.sequential.decision) == (name, "outside")
    assert len(started) < 6
    assert verdict.p_value <= 0.01


def test_a_cap_that_is_reached_is_unknown_with_what_was_seen(reference, scripted, planned):
    """Two seeds between the two decide nothing: neither `reproduced` nor `regressed`, and the values are there."""
    started = scripted({0: 74.0, 1: 74.5})
    invocation = carry_out(planned(range(2)), watch=QUIET).invocation
    verdict = invocation.verdict
    assert (len(started), verdict.name, verdict.name.exit_code) == (2, "unknown", 4)
    assert verdict.sequential.decision is None
    assert [value.value for value in verdict.values] == [74.0, 74.5]
    assert "undecided after 2 runs" in verdict.reason


def test_a_failed_run_ends_it(reference, scripted, planned):
    """A crash decides the verdict whatever follows, so that nothing follows."""
    started = scripted({0: "nan_loss", 1: 80.0, 2: 80.0})
    invocation = carry_out(planned(range(3)), watch=QUIET).invocation
    assert (len(started), invocation.verdict.name, invocation.runs) == (1, "failed:nan_loss", ("seed0",))


def test_without_a_reference_one_seed_is_trained(scripted, planned):
    """Nothing can be decided by more of them."""
    started = scripted(dict.fromkeys(range(12), 80.0))
    verdict = carry_out(planned(range(12)), watch=QUIET).invocation.verdict
    assert (len(started), verdict.name, verdict.sequential) == (1, "unknown", None)


def test_an_interrupted_one_goes_on_where_it_stopped(reference, scripted, planned):
    """The looks so far are on disk; resuming trains the next planned seed and ends as if nothing had happened."""
    scripted({0: 80.5, 1: "interrupted"})
    directory = planned(range(12))
    assert carry_out(directory, watch=QUIET).interruption
    stopped = read_invocation(directory)
    assert [look.seed for look in stopped.sequential.looks] == [0]
    assert len(stopped.runs) == 12
    started = scripted(dict.fromkeys(range(12), 80.0))
    started.clear()
    invocation = carry_out(directory, watch=QUIET).invocation
    assert started[0] == ("torch", 1)
    assert invocation.verdict.name == "reproduced"
    again = carry_out(directory, watch=QUIET).invocation
    assert len(started) == len(invocation.runs) - 1
    assert again == invocation


def test_a_trained_seed_is_never_struck_off(reference, scripted, planned):
    """If the evidence is seen to have decided earlier, runs that are there stay in the record."""
    scripted({0: 80.0, 1: 80.0, 2: 80.0, 3: 80.0, 4: 80.0})
    directory = planned(range(5))
    rest = read_invocation(directory)
    carry_out(directory, watch=QUIET)
    n_used = len(read_invocation(directory).runs)
    rest.replace(sequential=rest.sequential.replace(effect=60.0)).write(directory)  # for which one run is enough
    invocation = carry_out(directory, watch=QUIET).invocation
    assert n_used > 1
    assert len(invocation.runs) == n_used
    assert invocation.verdict.name == "reproduced"
    assert len(invocation.verdict.sequential.looks) == 1


def test_an_effect_in_the_metrics_unit_sets_what_is_looked_for(reference, scripted, planned):
    """Ten points are about two deviations of this reference; three need more runs than two."""
    for effect in (10.0, 3.0):
        scripted(dict.fromkeys(range(4), 80.0))
        found = carry_out(planned(range(4), effect=effect), watch=QUIET).invocation.verdict.sequential
        assert found.effect == pytest.approx(effect)
        assert (found.decision is None) == (effect == 3.0)


def test_an_invocation_from_before_has_no_rule(reference, scripted, planned):
    """Without the key every planned seed is trained and judged together, and `sequential` is null."""
    started = scripted(dict.fromkeys(range(3), 80.0))
    directory = planned(range(3), in_turn=False)
    old = read_invocation(directory).as_json()
    del old["sequential"]
    (directory / Invocation.FILE_NAME).write_text(json.dumps(old))
    verdict = carry_out(directory, watch=QUIET).invocation.verdict
    assert (len(started), verdict.sequential, verdict.name) == (3, None, "reproduced")
    assert verdict.mean_band is not None


def test_the_block_says_how_it_was_decided(reference, scripted, planned):
    """The evidence after each run, what ends it, and the cap."""
    scripted({seed: 80.0 + 0.5 * (-1) ** seed for seed in range(12)})
    invocation = carry_out(planned(range(12)), watch=QUIET).invocation
    text = " ".join(verdict_block(invocation, directory="x").split())
    looks = [f"{look.e_value:.3g}" for look in invocation.verdict.sequential.looks]
    assert f"evidence {', '.join(looks)} to 1 for a difference of" in text
    assert "100 or more says outside, 0.09 or less reproduced; at most 12 runs" in text
    assert f"decided after {len(looks)} runs" in text
    assert "would have caught" not in text


@pytest.mark.parametrize(
    ("options", "n_seeds"), [([], 1), (["--until-decided"], 12), (["--until-decided", "--seeds", "5"], 5), (["--seeds", "3"], 3)]
)
def test_seeds_are_the_cap_when_the_evidence_decides(places, monkeypatch, scripted, options, n_seeds):
    """One by default, twelve with --until-decided, and what --seeds says."""
    import vigil.cli.reproduce as module

    seen = []

    def planned(request, runs, **others):
        seen.append(request)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "preflight", lambda *facts, **others: None)
    monkeypatch.setattr(module, "plan", planned)
    main(["reproduce", "resnet_cifar", "--framework", "torch", "--profile", "smoke", *options])
    (request,) = seen
    assert len(request.seeds) == n_seeds
    assert (request.sequential is not None) == ("--until-decided" in options)
    if request.sequential:
        assert request.sequential.planned == request.seeds


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--effect", "1"], "without --until-decided"), (["--until-decided", "--effect", "0"], "a number above 0")],
)
def test_a_wrong_effect_is_refused(places, capsys, options, message):
    """An effect that nothing looks for, and one of zero, end with exit code 2."""
    assert main(["reproduce", "resnet_cifar", "--framework", "torch", *options]) == 2
    assert message in capsys.readouterr().err
