"""A golden tape keeps what it was given, and refuses what it was not made for."""

import dataclasses
import functools
import math
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from threadpoolctl import threadpool_limits

from runners.contract.data.batches import Batches
from runners.contract.data.datasets import load
from runners.contract.kinds import weights
from tests.verify.conftest import RECIPE
from vigil.digests import replace_listed
from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.recipes.loading import load_recipe
from vigil.verify import golden, probes, standard_cases
from vigil.verify import vote as vote_module
from vigil.verify.floors import make_floors
from vigil.verify.golden import AGREEMENT, Golden, OracleDiffers, load_golden, save_golden
from vigil.verify.vote import count


def test_a_tape_is_read_as_it_was_written(tape, tmp_path):
    """States, sketches, norms and chosen images survive the file; floors, which are estimates, to a quarter of a hundredth."""
    save_golden(tmp_path / "golden.npz", tape)
    again = load_golden(tmp_path / "golden.npz", recipe=RECIPE, data_directory=None)
    for name, probe in tape.probes.items():
        assert again.probes[name].choice == probe.choice
        for key, value in probe.state.items():
            assert np.array_equal(again.probes[name].state[key], value), key
    for case in tape.cases:
        again.expected(case)  # its sketches are those of the tape
        for name, floor in tape.floors["fp32"][case.name].items():
            assert again.floors["fp32"][case.name][name].distance == pytest.approx(floor.distance, rel=0.0025)


def test_an_array_that_has_not_moved_is_not_in_the_file(tape, tmp_path):
    """What a state has of the initial one by value is made again, not kept."""
    name, early = "params/stage1.block1.conv1.kernel", tape.probes["early"]
    still = dataclasses.replace(early, state=early.state | {name: tape.probes["init"].state[name]})
    save_golden(tmp_path / "golden.npz", dataclasses.replace(tape, probes={**tape.probes, "early": still}))
    with np.load(tmp_path / "golden.npz") as archive:
        kept = set(archive.files)
    assert f"state/early/{name}" not in kept
    assert f"state/late/{name}" in kept
    again = load_golden(tmp_path / "golden.npz", recipe=RECIPE, data_directory=None)
    assert np.array_equal(again.probes["early"].state[name], still.state[name])


def test_an_array_that_a_coarse_grid_cannot_tell_from_the_initial_one_stays_it():
    """Moved by less than a step of the grid: what is kept is the initial value itself, not its nearest point."""
    training = load_recipe("digits_mlp").resolve("quick")
    initial = weights.initial_state(training, seed=0)
    kernel, bias = "params/hidden.kernel", "params/hidden.bias"
    moved = {**initial, kernel: initial[kernel] + 1e-7, bias: initial[bias] + 0.01}
    kept = probes.coarse(training, moved, initial)
    assert np.array_equal(kept[kernel], initial[kernel])
    assert np.abs(kept[bias] - moved[bias]).max() < 1e-4


@pytest.mark.parametrize(("offset", "value"), [(8, 99), (6, 1)], ids=["compression", "encryption"])
def test_a_tape_of_another_compression_is_refused(tape, tmp_path, offset, value):
    """Damage that names a compression which zipfile does not have, or a password, is told as damage."""
    path = tmp_path / "golden.npz"
    save_golden(path, tape)
    content = bytearray(path.read_bytes())
    for signature, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):  # both headers of the first entry
        content[content.index(signature) + offset + further] = value
    replace_listed(path, bytes(content))
    with pytest.raises(CannotRun, match="not a golden tape"):
        load_golden(path, recipe=RECIPE, data_directory=None)


def test_a_tape_of_another_recipe_is_refused(tape, tmp_path):
    """The hash of what is trained must be the tape's."""
    save_golden(tmp_path / "golden.npz", tape)
    with pytest.raises(CannotRun, match="made for recipe hash"):
        load_golden(tmp_path / "golden.npz", recipe=RECIPE.replace(hash="b" * 12), data_directory=None)
    with pytest.raises(CannotRun, match="vigil golden tiny"):
        load_golden(tmp_path / "none.npz", recipe=RECIPE, data_directory=None)
    replace_listed(tmp_path / "broken.npz", b"PK\x03\x04")
    with pytest.raises(CannotRun, match="not a golden tape"):
        load_golden(tmp_path / "broken.npz", recipe=RECIPE, data_directory=None)


def test_an_oracle_that_leaves_the_tape_is_refused(tape, tmp_path):
    """A machine whose numpy adds wrongly by 1e-9 cannot verify anything."""
    save_golden(tmp_path / "golden.npz", tape)
    again = load_golden(tmp_path / "golden.npz", recipe=RECIPE, data_directory=None)
    case = again.cases[0]
    name = "momentum/stage1.block1.conv1.kernel"
    again.sketches[case.name][name] = again.sketches[case.name][name] * (1 + 20 * AGREEMENT)
    with pytest.raises(OracleDiffers, match=name):
        again.expected(case)


def test_states_are_exact_in_float32(tape):
    """A state that is loaded into float32 loses nothing, so the loading is no part of the difference."""
    for probe in tape.probes.values():
        for name, value in probe.state.items():
            assert np.array_equal(value.astype(np.float32).astype(np.float64), value), name


@pytest.mark.parametrize("largest", [0.9, 1.0, 1.003, 127.6, 128.0, 3e-9])
@pytest.mark.parametrize("bits", [8, 16])
def test_a_coarse_state_stays_as_it_is(largest, bits):
    """What is on the grid already is stored without loss, also where its largest value is a power of two."""
    from vigil.verify.probes import quantise

    array = largest * np.concatenate([[1.0], np.random.default_rng(3).uniform(-1, 1, size=200)])
    integers, scale = quantise(array, bits=bits)
    again, scale_again = quantise(integers * scale, bits=bits)
    assert np.array_equal(again * scale_again, integers * scale)
    assert np.abs(integers * scale - array).max() <= largest / 2 ** (bits - 2)


def floors_at(tape, probe):
    """Return the floors in fp32 of what is asked at a probe on its margin batches, by case."""
    found, asked = {}, {"early": probe}
    for case in (case for case in tape.cases if case.name in ("early/margin", "early/accumulation")):

        def draw(rounding, case=case):
            return standard_cases.answer(case, tape.training, asked, tape.batches, rounding=rounding)

        found[case.name] = make_floors(draw(None), draw, precision="fp32", draws=6)
    return found


@pytest.mark.parametrize("batch", [0, 1], ids=["margin", "second"])
def test_a_gate_that_draws_would_turn_makes_no_floor_wide(tape, monkeypatch, batch):
    """In each channel a pre-activation is planted at zero: rounding turns its gate, unless biases are moved by little."""
    early, tap, bias = tape.probes["early"], "stage1.block1.bn1", "params/stage1.block1.bn1.bias"
    make = functools.partial(probes.make_probe, tape.training, tape.batches, "early", step=early.step)
    few = tape.batches.few(early.step + batch, 0, count=4)
    state = dict(early.state)
    values = probes._small_taps(tape.training, state, few)[tap].reshape(-1, len(state[bias]))
    state[bias] = state[bias] - np.take_along_axis(values, np.abs(values).argmin(axis=0, keepdims=True), axis=0)[0]
    probe = make(state=state)
    for each in (probe.margin, probe.second):
        assert probes.margin(tape.training, probe.state, each, tape.outline) > 1e-4  # thousands of roundoffs
    moved = {name: np.abs(probe.state[name] - state[name]).max() for name in state}
    assert max(moved.values()) < 0.1
    assert {name for name, most in moved.items() if most} <= {name for name in state if name.endswith(".bias")}
    with monkeypatch.context() as patch:
        patch.setattr(probes, "nearby_gap", lambda values: np.zeros(values.shape[1]))
        patch.setattr(probes, "coarse", lambda training, state, initial: state)
        planted = make(state=state)
    name, kept = "momentum/stem.conv.kernel", floors_at(tape, probe)
    turned = floors_at(tape, planted)["early/accumulation"]
    assert turned[name].distance > 20 * kept["early/accumulation"][name].distance
    for case, floors in kept.items():
        assert floors[name].distance == pytest.approx(tape.floors["fp32"][case][name].distance, rel=1.0), case


def test_zero_is_moved_into_the_widest_gap_nearby():
    """Not to a wider one far away; where all values are one, or none is near, to the end of the reach or nowhere."""
    few = np.concatenate([np.arange(-50, 51) / 50.0, [0.011]])
    assert probes.nearby_gap(np.stack([few], axis=1)) == pytest.approx([-0.01])  # of -0.02, 0, 0.011, 0.02
    assert list(probes.nearby_gap(np.full((4, 2), [0.0, 3.0]))) == [0.0, 0.0]
    assert probes.nearby_gap(np.array([[-1.0], [0.001], [1.0]])) == pytest.approx([-0.02 * np.std([-1, 0.001, 1])])


def test_of_two_voters_that_differ_both_left_the_other():
    """With one framework installed, nobody says which of the two is wrong: no tape is made."""
    right = np.random.default_rng(1).normal(size=50)
    ballots = {"oracle": {"case": {"x": right}}, "jax": {"case": {"x": right * (1 + 1e-12)}}}
    assert all(standing.agrees for standing in count(ballots).values())
    ballots["jax"] = {"case": {"x": right * (1 + 1e-9)}}
    assert not any(standing.agrees for standing in count(ballots).values())


@pytest.fixture
def large(tape, monkeypatch):
    """The same tape with the floors of a large model: half of the draws, and an evaluation drawn on its first images."""
    monkeypatch.setattr(golden, "MARGIN_DRAWS", 6)
    monkeypatch.setattr(golden, "FULL_DRAWS", 8)
    monkeypatch.setattr(standard_cases, "_FIRST_IMAGES", 4)
    made = dataclasses.replace(tape, floors={})
    with threadpool_limits(1, user_api="blas"):
        made._exact.update({case.name: golden.exact(case, made) for case in made.cases})
        yield made


def draw_floors(tape, **options) -> None:
    """Draw the floors of a tape that has its exact answers."""
    making = golden._Making(tape, **options)
    making.run(*(job for case in tape.cases for job in making.floors_of(case)))


def test_a_large_model_has_fewer_draws_and_its_tape_says_so(large, tape, tmp_path):
    """Floors are about those of all draws, and what they may be off by follows from how many there were."""
    draw_floors(large, is_large=True, precisions=("fp32", "tf32", "fp16"), progress=lambda *facts: None)
    save_golden(tmp_path / "golden.npz", large)
    again = load_golden(tmp_path / "golden.npz", recipe=RECIPE, data_directory=None)
    assert {case.name: again.floors["fp32"][case.name]["loss"].draws for case in tape.cases if case.kind == "step"} == {
        **dict.fromkeys(("init/margin", "early/margin", "early/boundary", "late/margin"), 3),
        **dict.fromkeys(("init/full", "early/full", "late/full"), 4),
    }  # fmt: skip
    assert again.floors["tf32"] == again.floors["fp16"] != again.floors["fp32"]
    ours, all_drawn = (each.floors["fp32"]["late/evaluation_full"]["logits"].distance for each in (again, tape))
    assert ours == pytest.approx(all_drawn, rel=0.5)
    repeated = again.floors["fp32"]["early/repeat"]
    assert repeated == {name: again.floors["fp32"]["early/margin"][name] for name in repeated}


def test_a_large_model_is_looked_at_after_few_steps():
    """Of 64,000 steps at one rate the oracle takes 24; a model like those of the committed tapes 720."""
    training = load_recipe("resnet_cifar").resolve("paper")
    assert probes.probe_steps(training, is_large=True) == {"init": 0, "early": 8, "late": 24}
    assert probes.probe_steps(training) == {"init": 0, "early": 8, "late": 720}
    for profile, is_large in (("quick", False), ("paper", True)):
        training = load_recipe("resnet_cifar").resolve(profile)
        generated = {"name": "generated", "n_train": training["batch_size"], "n_test": 8}
        batches = Batches(load(generated, None), training | {"data": generated}, seed=0)
        assert probes.is_large(training, batches, seed=0) is is_large, profile


def test_ctrl_c_ends_draws_that_would_take_hours(large, monkeypatch):
    """The processes that draw are ended, and what is waiting is not begun."""
    monkeypatch.setattr(golden, "MARGIN_DRAWS", 10**6)
    monkeypatch.setattr(golden, "FULL_DRAWS", 10**6)
    pressed: list[float] = []

    def press(*facts: object) -> None:
        if not pressed:
            pressed.append(time.monotonic())
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    # What a shell starts in the background ignores Ctrl-C, and so would this process.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            draw_floors(large, is_large=False, precisions=("fp32",), progress=press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - pressed[0] < 20.0  # an hour and more otherwise; a loaded machine takes its time


def test_a_release_that_is_named_casts_its_frameworks_vote(monkeypatch, tmp_path):
    """Each framework is asked by its own interpreter; the others by the one that runs this."""
    asked, variables = {}, []

    def ask(setting, tape, lines, **options):
        asked[setting.context.framework] = setting.python
        variables.append(setting.variables)
        return SimpleNamespace(
            record=SimpleNamespace(status="finished", failure=None, environment={"framework_version": "1.0"}), tensors={}
        )

    monkeypatch.setattr(vote_module, "ask", ask)
    tape = Golden({"seed": 0}, {}, {}, None, [], {}, {}, {})
    options = {"data_directory": None, "on_event": lambda event: None, "pythons": {"jax": tmp_path / "python"}}
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    votes = vote_module.vote(tape, tmp_path, frameworks=["torch", "jax"], **options)
    assert asked == {"torch": None, "jax": tmp_path / "python"}
    assert {name: each.version for name, each in votes.items() if name != "oracle"} == {"torch": "1.0", "jax": "1.0"}
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=3")  # a user's own stays
    vote_module.vote(tape, tmp_path, frameworks=["torch"], **options)
    assert variables == [{"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}] * 2 + [{}]


def test_a_vote_asks_for_the_first_of_repeated_calls(tape, monkeypatch, tmp_path):
    """The others are no part of the vote; the first is: a framework whose repeated call is wrong leaves."""
    lines, factors = {}, iter((1.0, 1.0 + 1e-9))

    def ask(setting, tape, asked, **options):
        lines.update({line["name"]: line for line in asked})
        tensors = {name: dict(tape.expected(case)) for name, case in cases.items()}
        tensors |= {f"{name}/tapped": {} for name in cases}
        factor = next(factors)
        tensors["early/repeat"] = {f"0/{name}": factor * array for name, array in tensors["early/repeat"].items()}
        record = SimpleNamespace(status="finished", failure=None, environment={"framework_version": "1.0"})
        return SimpleNamespace(record=record, tensors=tensors)

    monkeypatch.setattr(vote_module, "ask", ask)
    cases = {case.name: case for case in tape.cases}
    options = {"data_directory": None, "on_event": lambda event: None, "frameworks": ["torch"]}
    right, wrong = (vote_module.vote(tape, tmp_path, **options)["torch"] for _ in range(2))
    assert right.agrees
    assert (wrong.agrees, wrong.case) == (False, "early/repeat")
    assert (lines["early/repeat"]["times"], lines["early/repeat"]["steps"]) == (1, 1)


def test_a_vote_on_an_evaluation_is_on_its_first_images(tape, monkeypatch, tmp_path):
    """Those are asked for alone, one program answers them and the full steps, and one wrong logit of them leaves."""
    monkeypatch.setattr(standard_cases, "_FIRST_IMAGES", 6)
    lines, wrong = {}, np.zeros((6, 10))
    cases = {case.name: case for case in tape.cases}

    def ask(setting, tape, asked, **options):
        lines.update({line["name"]: line for line in asked})
        tensors = {name: dict(tape.expected(case)) for name, case in cases.items()} | {f"{name}/tapped": {} for name in cases}
        whole = tensors["late/evaluation_full"]
        whole["logits"] = whole["logits"][:6] + wrong
        record = SimpleNamespace(status="finished", failure=None, environment={"framework_version": "1.0"})
        return SimpleNamespace(record=record, tensors=tensors)

    monkeypatch.setattr(vote_module, "ask", ask)
    options = {"data_directory": None, "on_event": lambda event: None, "frameworks": ["torch"]}
    assert vote_module.vote(tape, tmp_path, **options)["torch"].agrees
    wrong[5, 3] = 1e-8
    left = vote_module.vote(tape, tmp_path, **options)["torch"]
    assert (left.agrees, left.case, left.tensor) == (False, "late/evaluation_full", "logits")
    assert (lines["late/evaluation_full"]["batch"], lines["late/evaluation_full"]["evaluation_rows"]) == ("evaluation/6", 6)
    assert lines["late/full"]["evaluation_shards"] == lines["late/evaluation_full"]["evaluation_shards"]


def test_votes_name_the_one_that_leaves():
    """Of four voters the one that differs by 1e-9 leaves; the others stay, and so does one that differs by 1e-12."""
    right = np.random.default_rng(1).normal(size=50)
    ballots = {name: {"case": {"x": right}} for name in ("oracle", "torch", "tensorflow", "jax")}
    ballots["jax"] = {"case": {"x": right * (1 + 1e-12)}}
    assert all(standing.agrees for standing in count(ballots).values())
    ballots["torch"] = {"case": {"x": right * (1 + 1e-9)}}
    standings = count(ballots)
    assert [name for name, standing in standings.items() if not standing.agrees] == ["torch"]
    assert (standings["torch"].case, standings["torch"].tensor) == ("case", "x")
    ballots["torch"] = {"case": {}}
    assert math.isinf(count(ballots)["torch"].largest)


@pytest.mark.parametrize("stage", ["steps of the oracle", "gates, init", "noise floors", "a runner starts"])
def test_ctrl_c_ends_the_command_wherever_it_is_pressed(stage, tmp_path, monkeypatch):
    """Days of work are left: no process that was at it lives on, a runner or the oracle's."""
    own = tmp_path / "mine.yaml"
    recipe = (project_root() / "recipes" / "resnet_cifar.yaml").read_text(encoding="utf-8")
    own.write_text(recipe.replace("steps: 8\n", "steps: 1000000\n").replace("[16, 32, 64]", "[4, 6, 8]"), encoding="utf-8")
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    # On one core floors are drawn when nothing else is left.
    late = "2" if stage in ("noise floors", "a runner starts") else "900000"
    command = [sys.executable, "-m", "tests.verify.press_ctrl_c", stage, str(own), late]
    ended = subprocess.run(command, cwd=project_root(), capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (3, "vigil: interrupted"), ended.stderr
    runner, *others = map(int, ended.stdout.split())
    assert runner > 0 or stage != "a runner starts"
    assert others or stage == "gates, init"
    assert not [pid for pid in (runner, *others) if pid and psutil.pid_exists(pid)]
    assert not list(tmp_path.rglob("golden-*.npz"))


def test_an_estimate_counts_what_is_drawn_answered_and_voted_on(tape, monkeypatch):
    """Each draw adds its passes, in each way to round; a voter answers every case once, however many draws there are."""
    times = iter(range(10**6))
    monkeypatch.setattr(golden.time, "perf_counter", lambda: float(next(times)))  # every pass takes a second
    monkeypatch.setattr(golden, "available_cores", lambda: [0])
    steps = {name: probe.step for name, probe in tape.probes.items()}

    def estimate(**draws: int):
        for name, number in draws.items():
            monkeypatch.setattr(golden, name, number)
        options = {"seed": 0, "is_large": False, "precisions": ("fp32", "bf16", "fp16", "tf32")}
        return golden._estimate(tape.training, tape.batches, steps, **options)

    (none, voter, _), (some, same, _), (more, _, _) = (estimate(MARGIN_DRAWS=n, FULL_DRAWS=n) for n in (0, 1, 2))
    # A step on the margin batch has 12 passes of an image, on a full one 24; fp16 and tf32 are drawn once.
    drawn = 3 * sum(golden._passes(case) / (24 if case.is_full else 12) for case in tape.cases if case.kind != "repeat")
    assert (some - none, more - none) == (pytest.approx(drawn), pytest.approx(2 * drawn))
    assert voter == same == pytest.approx(sum(golden._passes(case) / 24 for case in tape.cases))
