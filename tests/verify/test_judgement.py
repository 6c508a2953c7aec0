"""From answers to a verdict and an origin, on answers that are made here: no framework runs."""

import dataclasses
import math

import numpy as np
import pytest

from runners.contract.batches import Batches
from runners.contract.datasets import load
from vigil.context import make_context
from vigil.errors import CannotRun
from vigil.verify import examine, golden, localise
from vigil.verify.ask import Answers, Setting, shards_for
from vigil.verify.cases import shown
from vigil.verify.compare import Difference
from vigil.verify.examine import differences_in
from vigil.verify.golden import AGREEMENT, OracleDiffers, load_golden, make_golden, save_golden
from vigil.verify.invariants import check
from vigil.verify.known import Known, load_known
from vigil.verify.layers import rounded
from vigil.verify.limits import Limits, make_limits, summary_row
from vigil.verify.localise import Search
from vigil.verify.oracle import step as oracle
from vigil.verify.vote import count

RECIPE = {"name": "tiny", "version": 1, "hash": "a" * 12, "profile": "test"}


@pytest.fixture(scope="module")
def tape():
    """A golden tape of a narrow ResNet-8, made by the oracle alone."""
    from tests.conftest import _TINY

    training = {
        **_TINY, "batch_size": 8, "evaluation_batch_size": 8, "steps": 6,
        "model": {**_TINY["model"], "widths": [4, 6, 8]}, "data": {"name": "generated", "n_train": 96, "n_test": 16},
        "learning_rate": {"kind": "piecewise", "boundaries": [3], "values": [0.05, 0.005]},
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(golden, "MARGIN_DRAWS", 6)
        patch.setattr(golden, "FULL_DRAWS", 4)
        return make_golden(
            recipe=RECIPE, training=training, data_directory=None, progress=lambda *facts: None, precisions=("fp32",)
        )


@pytest.fixture
def limits():
    """Limits as they come from 40 clean rows whose statistics lie around 5."""
    generator = np.random.default_rng(1)
    families = ("loss", "logits", "params", "momentum", "stats", "parameter_gradient", "output", "leaf_gradient")
    cases = ("late/margin", "late/full", "late/margin/layers", "late/full/layers", "late/margin/tapped", "late/full/tapped")
    rows = []
    for _ in range(40):
        for case in cases:
            largest = {
                name: dict.fromkeys(("distance", "slope", "intercept"), float(5 * np.exp(0.3 * generator.normal())))
                for name in families
            }
            rows.append({"precision": "fp32", "case": case, "largest": largest})
    return make_limits(rows)


def as_float32(tensors):
    """Return what a framework in float32 would answer, if all its arithmetic were exact."""
    return {name: np.asarray(value, np.float32) for name, value in tensors.items() if not name.startswith("parameter_gradient/")}


def in_float32(tape, wrong=lambda case, tensors: tensors):
    """Return answers to all cases, with what is planted by `wrong`."""
    answers = {}
    for case in tape.cases:
        found = wrong(case, dict(shown(tape.expected(case))))
        found = as_float32(found)
        answers[case.name] = {f"0/{name}": value for name, value in found.items()} if case.kind == "repeat" else found
    return answers


def differences(tape, answers):
    """Return every difference of every case."""
    return [each for case in tape.cases for each in differences_in(case, tape, answers[case.name], precision="fp32")]


class FakeFramework:
    """Answers follow-up looks by the oracle's arithmetic in float32, with a fault planted in one layer."""

    def __init__(self, tape, wrong=lambda name, value: value):
        self.tape, self.wrong = tape, wrong

    def __call__(self, setting, tape, lines, *, more, on_event):
        tensors = {}
        for line in lines:
            leaves = {name: more[f"leaf/{line['leaves']}/{name}"] for name in line["cuts"]}
            cotangents = {name: more[f"cotangent/{line['leaves']}/{name}"] for name in line["cuts"]}
            leaves, cotangents = ({name: rounded(x, "float32") for name, x in each.items()} for each in (leaves, cotangents))
            probe = tape.probes[line["state"]]
            name, which = line["batch"].split("/")
            batch = getattr(tape.probes[name], which)
            found = oracle.segments(tape.training, probe.state, batch, leaves=leaves, cotangents=cotangents)
            found = {key: self.wrong(key, value) for key, value in found.items()}
            found = {key: np.asarray(value, np.float32) for key, value in found.items()}
            taps = oracle.MODELS["resnet_cifar"].taps(tape.training["model"])
            tensors[line["name"]] = found | {f"dtype/{tap}": np.array("float32") for tap in taps}
        return Answers({"failure": None, "environment": {}, "fault": None}, tensors, {})


def search(tape, limits, answers, context=None):
    """Return the search for what is out in these answers."""
    setting = Setting(context or make_context(framework="torch"), None, 0, None)
    setting = dataclasses.replace(setting, directory=__import__("pathlib").Path("nowhere/answers"))
    out = [each for each in differences(tape, answers) if limits.score(each, "fp32") > 1]
    record = {"failure": None, "environment": {}, "fault": None}
    return Search(setting, tape, limits, Answers(record, answers, {}), out, lambda event: None)


def origin_of(tape, limits, monkeypatch, *, step=lambda case, tensors: tensors, layer=lambda name, value: value, context=None):
    """Return the localisation of a fault that shows as `step` in untapped answers and as `layer` in looks."""
    monkeypatch.setattr(localise, "ask", FakeFramework(tape, layer))
    return localise.localise(search(tape, limits, in_float32(tape, step), context))


def test_answers_in_float32_are_within_their_limits(tape, limits):
    """Nothing is out when every tensor is right to the last bit of float32."""
    assert all(limits.score(each, "fp32") < 1 for each in differences(tape, in_float32(tape)))


def test_every_judged_tensor_is_there(tape):
    """Loss, gradients, parameters, statistics, momentum and evaluation are judged, at three states and on two sizes of batch."""
    judged = {(each.case, each.tensor.split("/")[0]) for each in differences(tape, in_float32(tape))}
    for state in ("init", "early", "late"):
        for size in ("margin", "full"):
            for group in ("loss", "parameter_gradient", "params", "momentum", "stats"):
                assert (f"{state}/{size}", group) in judged
    assert ("late/evaluation", "logits") in judged


def test_a_tape_is_read_as_it_was_written(tape, tmp_path):
    """States, sketches, norms, floors and chosen images survive the file."""
    save_golden(tmp_path / "golden.npz", tape)
    again = load_golden(tmp_path / "golden.npz", recipe=RECIPE, data_directory=None)
    for name, probe in tape.probes.items():
        assert again.probes[name].choice == probe.choice
        for key, value in probe.state.items():
            assert np.array_equal(again.probes[name].state[key], value), key
    for case in tape.cases:
        again.expected(case)  # its sketches are those of the tape
        for name, floor in tape.floors["fp32"][case.name].items():
            assert again.floors["fp32"][case.name][name].distance == pytest.approx(floor.distance, rel=1e-6)


def test_a_tape_of_another_recipe_is_refused(tape, tmp_path):
    """The hash of what is trained must be the tape's."""
    save_golden(tmp_path / "golden.npz", tape)
    with pytest.raises(CannotRun, match="made for recipe hash"):
        load_golden(tmp_path / "golden.npz", recipe={**RECIPE, "hash": "b" * 12}, data_directory=None)
    with pytest.raises(CannotRun, match="vigil golden tiny"):
        load_golden(tmp_path / "none.npz", recipe=RECIPE, data_directory=None)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04")
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


def test_margin_batches_have_more_margin_than_others(tape):
    """The chosen images keep away from zero further than the first four of the same batch."""
    from vigil.verify.probes import margin

    probe = tape.probes["late"]
    batches = Batches(load(tape.training["data"], None), tape.training, seed=0)
    images, labels = batches.train(probe.step)
    assert margin(tape.training, probe.state, probe.margin) > margin(tape.training, probe.state, (images[:4], labels[:4]))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("parameter_gradient/stage2.block1.conv2.kernel", ("stage2.block1.conv2", "backward", "weight gradient")),
        ("output/stage1.block1.bn1", ("stage1.block1.bn1", "forward", "output")),
        ("leaf_gradient/stage2.block1.relu1", ("stage2.block1.conv2", "backward", "data gradient")),
        ("stats/stem.bn.variance", ("stem.bn", "forward", "running variance")),
        ("loss", ("loss", "forward", "loss")),
    ],
)
def test_a_wrong_layer_is_the_origin(tape, limits, monkeypatch, name, place):
    """A tensor that is wrong in a layer alone is the origin; what is out besides is a passenger."""

    def step(case, tensors):
        return {key: value * (1.001 if key.startswith(("momentum/", "stats/", "loss")) else 1) for key, value in tensors.items()}

    found = origin_of(tape, limits, monkeypatch, step=step, layer=lambda key, value: value * (1.001 if key == name else 1))
    origin = found.origins[0]
    assert (origin.place.layer, origin.place.phase, origin.place.quantity) == place
    assert len(found.origins) == 1
    assert found.passengers
    assert origin.slope == pytest.approx(1.001, abs=1e-5)


def test_another_learning_rate_is_named(tape, limits, monkeypatch):
    """When buffers are right and every parameter has moved ten times as far, the learning rate is the origin."""

    def step(case, tensors):
        if case.kind == "step" and case.name == "early/boundary":
            before = tape.probes["early"].state
            for name in tensors:
                if name.startswith("params/"):
                    tensors[name] = before[name] + 10 * (tensors[name] - before[name])
        return tensors

    found = origin_of(tape, limits, monkeypatch, step=step).origins[0]
    assert (found.place.layer, found.place.quantity, found.case) == ("optimizer", "learning rate", "early/boundary")
    assert found.slope == pytest.approx(10, rel=1e-3)


def test_nesterov_is_named(tape, limits, monkeypatch):
    """When the step is gradient + momentum * buffer, that is said."""

    def step(case, tensors):
        if case.kind == "step":
            before = tape.probes[case.state].state
            for name in [name for name in tensors if name.startswith("params/")]:
                momentum = name.replace("params/", "momentum/")
                nesterov = tensors[momentum] - 0.9 * before[momentum] + 0.9 * tensors[momentum]
                tensors[name] = before[name] - case.learning_rate * nesterov
        return tensors

    assert origin_of(tape, limits, monkeypatch, step=step).origins[0].place.quantity == "momentum"


def test_skipped_weight_decay_is_named(tape, limits, monkeypatch):
    """A gradient that lacks its parameter's share, while every layer is right, has lost its weight decay."""

    def step(case, tensors):
        if "momentum/head.kernel" in tensors:
            kernel = tape.probes[case.state].state["params/head.kernel"]
            tensors["momentum/head.kernel"] = tensors["momentum/head.kernel"] - 0.01 * kernel
        return tensors

    found = origin_of(tape, limits, monkeypatch, step=step)
    place = found.origins[0].place
    assert (place.layer, place.phase, place.quantity) == ("head", "update", "weight decay")
    assert len(found.origins) == 1


def test_a_kept_loss_scale_is_named(tape, limits, monkeypatch):
    """When every gradient is 4,096 times what it should be and every layer is right, it is the scale."""

    def step(case, tensors):
        state = tape.probes[case.state].state
        for name in [name for name in tensors if name.startswith("momentum/")]:
            known = 0.9 * state[name] + 0.01 * state[name.replace("momentum/", "params/")]
            tensors[name] = known + 4096 * (tensors[name] - known)
        return tensors

    found = origin_of(tape, limits, monkeypatch, step=step).origins[0]
    assert (found.place.layer, found.place.quantity) == ("optimizer", "loss scale")
    assert "never divided out" in found.remark


def test_a_lost_element_is_an_all_reduce(tape, limits, monkeypatch):
    """On several devices, when the devices' own gradients add up to the right one, the sum over devices is the origin."""

    def step(case, tensors):
        name = "momentum/head.kernel"
        if name in tensors:
            tensors[name] = tensors[name].copy()
            tensors[name][-1, -1] += 0.01
        return tensors

    context = make_context(framework="torch", devices=2, shards=(5, 3))
    found = origin_of(tape, limits, monkeypatch, step=step, context=context)
    place = found.origins[0].place
    assert (place.layer, place.phase, place.quantity) == ("head", "all-reduce", "weight gradient")


def test_a_fault_that_vanishes_when_looked_at_is_said_to(tape, limits, monkeypatch):
    """When neither layers nor the tapped program show it, the document says that looking changes the program."""

    def step(case, tensors):
        return {key: value * (1.01 if key == "momentum/stem.conv.kernel" else 1) for key, value in tensors.items()}

    found = origin_of(tape, limits, monkeypatch, step=step)
    assert any("looking changes it" in remark for remark in found.remarks)
    assert found.origins[0].tensor.endswith("stem.conv.kernel")


def test_one_different_call_in_many_is_out(tape, limits):
    """A call that returns something else than the first on the same input is a difference of its own."""
    answers = in_float32(tape)
    repeat = answers["early/repeat"]
    late = {name.replace("0/", "49/", 1): value for name, value in repeat.items()}
    other = {name.replace("0/", "1/", 1): value for name, value in repeat.items()}
    late["49/momentum/head.kernel"] = 1.01 * late["49/momentum/head.kernel"]
    answers["early/repeat"] = repeat | other | late
    out = {each.tensor for each in differences(tape, answers) if limits.score(each, "fp32") > 1}
    assert out == {"49/momentum/head.kernel", "49/parameter_gradient/head.kernel"}


def test_what_should_not_move_is_watched(tape):
    """Statistics that move in evaluation, and parameters that do not move in a step, break an invariant."""
    by_name = {case.name: case for case in tape.cases}
    state = tape.probes["late"].state
    moved = {"stats/stem.bn.mean": state["stats/stem.bn.mean"] + 1e-7}
    assert [each.what for each in check(by_name["late/evaluation"], state, moved)] == ["moved, although nothing was trained"]
    stuck = {"params/head.kernel": state["params/head.kernel"].astype(np.float32)}
    assert [each.what for each in check(by_name["late/margin"], state, stuck)] == ["did not move"]
    assert check(by_name["late/evaluation"], state, {"stats/stem.bn.mean": state["stats/stem.bn.mean"]}) == []
    apart = {"replicas/params": np.float64(1e-7)}
    assert "different values" in check(by_name["late/margin"], state, apart)[0].what


def test_limits_come_from_clean_rows():
    """A limit lies above every clean value it was made from, and below what a real fault reaches."""
    generator = np.random.default_rng(2)
    rows = [
        summary_row([Difference("late/margin", "loss", value, 1.0, 0.0, 0.0, 0.0)], precision="fp32", case="late/margin")
        for value in 8 * np.exp(0.4 * generator.normal(size=100))
    ]
    limit = make_limits(rows).table["fp32", "margin", "loss", "distance"]
    assert limit.largest_seen < limit.value < 200
    assert limit.n == 100


def test_a_row_with_a_finding_makes_no_limit():
    """What was shown wrong in a context is not what a correct one may do."""
    difference = Difference("late/margin", "loss", 5.0, 1.0, 0.0, 0.0, 0.0)
    clean = summary_row([difference], precision="fp32", case="late/margin")
    wrong = summary_row([dataclasses.replace(difference, ratio=5e4)], precision="fp32", case="late/margin")
    with_wrong = make_limits([clean] * 10 + [{**wrong, "not_clean": {"loss": "a_finding"}}])
    assert with_wrong.table == make_limits([clean] * 10).table


def test_without_clean_rows_nothing_is_judged():
    """A precision that nobody measured is an error with what to do, not a pass."""
    with pytest.raises(CannotRun, match=r"benchmarks\.false_alarms"):
        Limits({}, 0).score(Difference("late/margin", "loss", 1.0, 1.0, 0.0, 0.0, 0.0), "fp32")


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


def test_shards_of_small_batches_keep_their_unevenness():
    """A margin batch is cut like the full one, and unevenly if that is."""
    uneven = make_context(framework="torch", devices=2, shards=(20, 12))
    assert shards_for(uneven, 4) == [3, 1]
    assert shards_for(uneven, 32) == [20, 12]
    assert shards_for(make_context(framework="torch", devices=2), 4) == [2, 2]
    assert shards_for(make_context(framework="torch", devices=3, shards=(30, 1, 1)), 4) == [2, 1, 1]


def known(**changes):
    """Return a known finding."""
    fields = {
        "name": "a", "recipe": "tiny", "framework": "torch", "releases": ("2.13.0",), "contexts": ("torch-*-bf16-x1",),
        "layer": "head", "quantity": "bias gradient", "evidence": "docs/findings/x.py",
    }  # fmt: skip
    return Known(**{**fields, **changes})


def record(text="torch-jit-bf16-x1", version="2.13.0+cpu", fault=None):
    """Return what is asked of a record."""
    context = {"framework": "torch", "text": text}
    return {"recipe": RECIPE, "context": context, "fault": fault, "environment": {"framework_version": version}, "failure": None}


def test_a_known_finding_is_that_release_and_context_only():
    """Another release, another context or a planted fault is not excused."""
    from vigil.verify.known import matching

    assert matching([known()], record()) == [known()]
    assert matching([known()], record(version="2.14.0")) == []
    assert matching([known()], record(text="torch-jit-fp32-x1")) == []
    assert matching([known()], record(fault={"name": "x"})) == []


def test_a_known_finding_that_no_longer_fails_is_an_error():
    """An entry whose context is right again does not pass: it has to go."""
    found = examine.Examination(Answers(record(), {}, {}), [], [])
    verdict = examine._verdict(record(), [(0.5, None)], found, None, [known()])
    assert verdict["name"] == "regressed"
    assert "no longer fails" in verdict["reason"]


def test_a_known_finding_elsewhere_is_a_regression(tape):
    """A context that is wrong in another layer than the one listed is regressed; in the listed one it is known."""
    found = examine.Examination(Answers(record(), {}, {}), [], [])
    out = [(2.0, None)]
    for layer, name in (("stem.conv", "regressed"), ("head", "known-finding")):
        origin = localise.Origin(localise.Place(layer, "backward", "bias gradient"), "x", "c", 9.0, 1.1)
        assert examine._verdict(record(), out, found, localise.Localisation([origin], [], [], []), [known()])["name"] == name


def test_a_list_with_a_missing_key_is_refused(tmp_path):
    """An entry must say all: what, where, which releases, on what evidence."""
    from vigil.errors import UsageError

    path = tmp_path / "known.yaml"
    path.write_text("- {name: x, recipe: tiny}\n")
    with pytest.raises(UsageError, match="entry 1"):
        load_known(path)


def test_a_crash_is_neither_mismatch_nor_pass():
    """A runner that died is failed, whatever its finished cases said."""
    failure = {"category": "died", "message": "killed by SIGKILL"}
    dead = {**record(), "failure": failure}
    verdict = examine._verdict(dead, [(5.0, None)], examine.Examination(Answers(dead, {}, {}), [], []), None, [])
    assert verdict["name"] == "failed:died"
