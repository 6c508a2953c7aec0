"""From answers to a verdict and an origin, on answers that are made here: no framework runs."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.documents import a_record
from tests.verify.made_answers import FakeFramework, in_float32
from vigil.documents.context import make_context
from vigil.documents.failure import Failure
from vigil.recipes.loading import load_recipe
from vigil.verify import localise
from vigil.verify.ask import Answers, Setting, lines_of, shards_for
from vigil.verify.distance import Difference
from vigil.verify.examination import differences_in
from vigil.verify.invariants import check
from vigil.verify.localise import Search
from vigil.verify.standard_cases import StandardCase

# An error of one layer that is out by the limits of a search, and not by those of a verdict.
LITTLE = {"leaf_gradient/stem.conv": 1 + 1e-5}


def differences(tape, answers, *, mode="jit"):
    """Return every difference of every case."""
    context = make_context(framework="torch", mode=mode)
    return [each for case in tape.cases for each in differences_in(case, tape, answers[case.name], context=context)]


def search(tape, limits, answers, context=None):
    """Return the search for what is out in these answers."""
    setting = Setting(context or make_context(framework="torch"), None, 0, None)
    setting = dataclasses.replace(setting, directory=Path("nowhere/answers"))
    out = [each for each in differences(tape, answers) if limits.score(each, "fp32") > 1]
    return Search(setting, tape, limits, Answers(a_record(), answers, {}), out, lambda event: None, tape.cases)


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

    def step(case, tensors):  # gradients that inherit are off each in a way of its own: one number would be an origin itself
        inherit = [key for key in tensors if key.startswith(("momentum/", "stats/", "loss"))]
        factors = {key: 1.001 + 0.001 * (index % 3) for index, key in enumerate(inherit)}
        return {key: value * factors.get(key, 1) for key, value in tensors.items()}

    found = origin_of(tape, limits, monkeypatch, step=step, layer=lambda key, value: value * (1.001 if key == name else 1))
    origin = found.origins[0]
    assert (origin.layer, origin.phase, origin.quantity) == place
    assert len(found.origins) == 1
    assert found.passengers
    assert origin.slope == pytest.approx(1.001, abs=1e-5)


def test_an_evaluation_that_alone_is_wrong_after_training_is_the_origin(tape, limits, monkeypatch):
    """Logits that are out after forward passes which left the right statistics are made wrong by the evaluation."""

    def step(case, tensors):
        return tensors | ({"logits": tensors["logits"] * 1.001} if case.name == "early/alternation" else {})

    [origin] = origin_of(tape, limits, monkeypatch, step=step).origins
    assert (origin.layer, origin.phase, origin.quantity) == ("model", "evaluation", "logits")


def test_statistics_that_forward_passes_leave_wrong_are_the_origin_of_an_evaluation(tape, limits, monkeypatch):
    """The logits that come after them inherit, though they are further off."""

    def step(case, tensors):
        if case.name != "early/alternation":
            return tensors
        name = "stats/stage1.block1.bn2.mean"
        return tensors | {"logits": tensors["logits"] * 1.1, name: tensors[name] * 1.001}

    found = origin_of(tape, limits, monkeypatch, step=step)
    [origin] = found.origins
    assert (origin.layer, origin.quantity) == ("stage1.block1.bn2", "running mean")
    assert "logits" in found.passengers


@pytest.mark.parametrize(("error", "first"), [(0.5, "stage2.block1.bn1"), (1e-3, "stem.bn")])
def test_a_layer_just_beyond_its_limit_does_not_hide_one_far_beyond(tape, limits, monkeypatch, error, first):
    """Layers alone are wrong independently: the order of a step counts among those that are off alike."""

    def step(case, tensors):
        return {key: value * (1.01 if key.startswith("momentum/") else 1) for key, value in tensors.items()}

    def layer(name, value):
        return value * {"output/stem.bn": 1 + 2e-5, "output/stage2.block1.bn1": 1 + error}.get(name, 1)

    origins = origin_of(tape, limits, monkeypatch, step=step, layer=layer).origins
    assert {origin.layer for origin in origins} == {"stage2.block1.bn1", "stem.bn"}
    assert origins[0].layer == first


@pytest.mark.parametrize(("error", "first"), [(6e-6, "stage2.block1.bn1"), (2e-5, "stem.bn")])
def test_a_layer_that_may_be_chance_comes_last(tape, limits, monkeypatch, error, first):
    """Between the limits of a search and of a verdict, the stem stands behind what is beyond both; else before it."""

    def step(case, tensors):
        return {key: value * (1 + 2e-5 if key.startswith("momentum/") else 1) for key, value in tensors.items()}

    def layer(name, value):
        return value * {"output/stem.bn": 1 + error, "output/stage2.block1.bn1": 1 + 2e-4}.get(name, 1)

    origins = origin_of(tape, limits, monkeypatch, step=step, layer=layer).origins
    assert [origin.layer for origin in origins] == [first, *({"stem.bn", "stage2.block1.bn1"} - {first})]
    certain = {origin.layer for origin in origins if origin.is_certain}
    assert certain == {first, "stage2.block1.bn1"}


def decay_skipped(tape, case, tensors):
    """Leave weight decay out of the gradient of one parameter."""
    kernel = tape.probes[case.state].state["params/head.kernel"]
    return {"momentum/head.kernel": tensors["momentum/head.kernel"] - 0.01 * kernel} if case.kind == "step" else {}


def accumulated_twice(tape, case, tensors):
    """Add two micro-batches' gradients up, where their mean is due."""
    return gradients_times(tape, 2.0)(case, dict(tensors)) if case.kind == "accumulate" else {}


def statistics_twice(tape, case, tensors):
    """Move a running mean by the forward passes before an evaluation twice as far."""
    name, state = "stats/stage2.block1.bn1.mean", tape.probes[case.state].state
    return {name: 2 * tensors[name] - state[name]} if case.kind == "alternate" else {}


@pytest.mark.parametrize(
    ("wrong", "quantity"),
    [
        (decay_skipped, "weight decay"),
        (accumulated_twice, "loss scale"),
        pytest.param(statistics_twice, "running mean", marks=pytest.mark.slow),  # 6 s of processor time
    ],
)
def test_a_layer_that_may_be_chance_is_no_origin_beside_what_is_far_out(tape, limits, monkeypatch, wrong, quantity):
    """A clean layer of another processor is just beyond its narrow limit: update, accumulation and evaluation keep their own."""

    def step(case, tensors):
        return tensors | wrong(tape, case, tensors)

    found = origin_of(tape, limits, monkeypatch, step=step, layer=lambda name, value: value * LITTLE.get(name, 1))
    assert [origin.quantity for origin in found.origins] == [quantity]
    assert found.looks[0].out == 1
    assert found.remarks[0].startswith("stem.bn, backward, data gradient may be chance")


def test_a_layer_that_may_be_chance_is_the_origin_of_what_is_little_out(tape, limits, monkeypatch):
    """When nothing is far out, a small error of a layer is what there is to name."""

    def step(case, tensors):
        return {key: value * (1 + 1e-4 if key == "momentum/stem.conv.kernel" else 1) for key, value in tensors.items()}

    [origin] = origin_of(tape, limits, monkeypatch, step=step, layer=lambda name, value: value * LITTLE.get(name, 1)).origins
    assert (origin.layer, origin.quantity, origin.is_certain) == ("stem.bn", "data gradient", False)


def test_what_is_not_finite_hides_nothing_that_a_segment_shows(tape, limits):
    """Everything is infinitely nearer than a NaN, and may still be where it comes from."""
    nowhere = Difference("late/margin", "loss", np.inf, np.nan, np.nan, np.inf, np.inf, "1 of 1 values are not finite")
    shown = Difference("late/margin/segments-0", "output/stem.conv", 1e4, 1.0, 0.0, 0.0, 0.0)
    look = SimpleNamespace(cuts=("stem.relu",), leaves=dict.fromkeys(tape.outline.taps), case=SimpleNamespace(name="late/margin"))
    searched = dataclasses.replace(search(tape, limits, in_float32(tape)), out=[nowhere])
    assert localise._wrong_in(searched, look, [shown]) == ([shown], [])


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
    assert (found.layer, found.quantity, found.case) == ("optimizer", "learning rate", "early/boundary")
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

    assert origin_of(tape, limits, monkeypatch, step=step).origins[0].quantity == "momentum"


def test_skipped_weight_decay_is_named(tape, limits, monkeypatch):
    """A gradient that lacks its parameter's share, while every layer is right, has lost its weight decay."""

    def step(case, tensors):
        if "momentum/head.kernel" in tensors:
            kernel = tape.probes[case.state].state["params/head.kernel"]
            tensors["momentum/head.kernel"] = tensors["momentum/head.kernel"] - 0.01 * kernel
        return tensors

    found = origin_of(tape, limits, monkeypatch, step=step)
    place = found.origins[0]
    assert (place.layer, place.phase, place.quantity) == ("head", "update", "weight decay")
    assert len(found.origins) == 1


def gradients_times(tape, factor, *, decay=0.01):
    """Return the step in which every gradient is multiplied; without `decay`, that of weight decay with it."""

    def step(case, tensors):
        state = tape.probes[case.state].state
        for name in [name for name in tensors if name.startswith("momentum/")]:
            known = 0.9 * state[name] + decay * state[name.replace("momentum/", "params/")]
            tensors[name] = known + factor * (tensors[name] - known)
        return tensors

    return step


def test_a_kept_loss_scale_is_named(tape, limits, monkeypatch):
    """When every gradient is 4,096 times what it should be and every layer is right, it is the scale."""

    step = gradients_times(tape, 4096)

    found = origin_of(tape, limits, monkeypatch, step=step).origins[0]
    assert (found.layer, found.quantity) == ("optimizer", "loss scale")
    assert "never divided out" in found.remark


def test_a_kept_loss_scale_is_named_beside_a_wrong_layer(tape, limits, monkeypatch):
    """A layer's own error explains no factor in every gradient; weight decay is multiplied too where the loss holds it."""

    step = gradients_times(tape, 4096, decay=0.0)

    kernel = "parameter_gradient/stage2.block1.conv2.kernel"

    def layer(name, value):
        return value * (1.001 if name == kernel else 1)

    places = origin_of(tape, limits, monkeypatch, step=step, layer=layer).origins
    assert [place.quantity for place in places] == ["loss scale", "weight gradient"]
    assert places[1].layer == "stage2.block1.conv2"


def test_a_factor_in_the_loss_is_no_loss_scale(tape, limits, monkeypatch):
    """When the loss hands back twice its gradient, every gradient is twice as large: the loss is the origin, alone."""

    step = gradients_times(tape, 2)

    def layer(name, value):
        return value * (2 if name == "leaf_gradient/logits" else 1)

    places = origin_of(tape, limits, monkeypatch, step=step, layer=layer).origins
    assert [(place.layer, place.quantity) for place in places] == [("loss", "data gradient")]


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
    place = found.origins[0]
    assert (place.layer, place.phase, place.quantity) == ("head", "all-reduce", "weight gradient")


def test_a_sum_that_is_part_of_every_layer_is_told_apart_on_one_device(tape, limits, monkeypatch):
    """Where the layer alone is wrong on two devices and right on one, the gradient is lost where devices are summed."""

    def step(case, tensors):
        if "momentum/head.kernel" in tensors:
            tensors["momentum/head.kernel"] = tensors["momentum/head.kernel"] * 1.01
        return tensors

    wrong = FakeFramework(tape, lambda name, value: value * (1.01 if name == "parameter_gradient/head.kernel" else 1))
    right = FakeFramework(tape, lambda name, value: value)

    def ask(setting, *arguments, **options):
        return (right if setting.context.devices == 1 else wrong)(setting, *arguments, **options)

    monkeypatch.setattr(localise, "ask", ask)
    for devices, phase in ((2, "all-reduce"), (1, "backward")):
        context = make_context(framework="jax", devices=devices)
        monkeypatch.setattr(localise, "ask", ask if devices == 2 else wrong)
        origin = localise.localise(search(tape, limits, in_float32(tape, step), context)).origins[0]
        assert (origin.layer, origin.phase, origin.quantity) == ("head", phase, "weight gradient")


def test_without_looks_the_first_tensor_that_is_out_is_named(tape, limits, monkeypatch):
    """When the program that would look into the model crashes, the untapped one still says where to begin, and that it is all."""

    def step(case, tensors):
        return {
            key: value * (1.01 if key.startswith(("momentum/stage3", "momentum/stem")) else 1) for key, value in tensors.items()
        }

    failure = Failure(category="crash", phase="verify", step=0, message="no sum over ranks", log_tail=())
    record = a_record(status="failed", failure=failure)
    monkeypatch.setattr(localise, "ask", lambda *arguments, **options: Answers(record, {}, {}))
    found = localise.localise(search(tape, limits, in_float32(tape, step)))
    assert found.failure == failure
    assert found.origins[0].layer == "stage3.block1.bn2"
    assert "first tensor that is out" in found.remarks[0]


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
    late = {name.replace("1/", "49/", 1): value for name, value in repeat.items() if name.startswith("1/")}
    late["49/momentum/head.kernel"] = 1.01 * late["49/momentum/head.kernel"]
    answers["early/repeat"] = repeat | late
    out = {each.tensor for each in differences(tape, answers) if limits.score(each, "fp32") > 1}
    assert out == {"49/momentum/head.kernel", "49/parameter_gradient/head.kernel"}


def test_a_forward_pass_of_many_is_held_against_the_first_step(tape, limits):
    """Op by op the later calls are forward passes: what they give is compared, and of a whole step nothing may be missing."""
    answers = in_float32(tape)
    repeat = answers["early/repeat"]
    given = {name: value for name, value in repeat.items() if name.startswith(("1/stats/", "1/loss"))}
    late = {name.replace("1/", "49/", 1): value for name, value in given.items()}
    late["49/stats/stem.bn.mean"] = 1.01 * late["49/stats/stem.bn.mean"]
    answers["early/repeat"] = repeat | late
    out = {each.tensor for each in differences(tape, answers, mode="eager") if limits.score(each, "fp32") > 1}
    assert out == {"49/stats/stem.bn.mean"}
    whole = {name.replace("1/", "49/", 1): value for name, value in repeat.items() if name.startswith("1/")}
    answers["early/repeat"] = repeat | whole | {"49/momentum/head.kernel": 1.01 * whole["49/momentum/head.kernel"]}
    out = {each.tensor for each in differences(tape, answers, mode="eager") if limits.score(each, "fp32") > 1}
    assert out == {"49/momentum/head.kernel", "49/parameter_gradient/head.kernel"}  # more than was due is looked at too
    answers["early/repeat"] = repeat | late
    missing = {each.tensor for each in differences(tape, answers) if each.is_absent}
    assert "49/momentum/head.kernel" in missing
    answers["early/repeat"] = repeat | {name: value for name, value in late.items() if name != "49/loss"}
    assert "49/loss" in {each.tensor for each in differences(tape, answers, mode="eager") if each.is_absent}


def test_what_should_not_move_is_watched(tape):
    """Statistics that move in evaluation, and parameters that do not move in a step, break an invariant."""
    by_name = {case.name: case for case in tape.cases}
    state, evaluation, step = tape.probes["late"].state, by_name["late/evaluation"], by_name["late/margin"]
    moved = {"stats/stem.bn.mean": state["stats/stem.bn.mean"] + 1e-7}
    assert [each.what for each in check(evaluation, state, moved, tape.expected(evaluation))] == [
        "moved, although nothing was trained"
    ]
    stuck = {"params/head.kernel": state["params/head.kernel"].astype(np.float32)}
    assert [each.what for each in check(step, state, stuck, tape.expected(step))] == ["did not move"]
    still = {"stats/stem.bn.mean": state["stats/stem.bn.mean"]}
    assert check(evaluation, state, still, tape.expected(evaluation)) == []
    apart = {"replicas/params": np.float64(1e-7)}
    assert "different values" in check(step, state, apart, tape.expected(step))[0].what


def test_shards_of_small_batches_keep_their_unevenness():
    """A margin batch is cut like the full one, and unevenly if that is."""
    uneven = make_context(framework="torch", devices=2, shards=(20, 12))
    assert shards_for(uneven, 4) == [3, 1]
    assert shards_for(uneven, 32) == [20, 12]
    assert shards_for(make_context(framework="torch", devices=2), 4) == [2, 2]
    assert shards_for(make_context(framework="torch", devices=3, shards=(30, 1, 1)), 4) == [2, 1, 1]
    assert shards_for(make_context(framework="torch", devices=4, shards=(11, 7, 7, 7)), 4) == [1, 1, 1, 1]


def test_no_two_devices_share_a_part_of_a_batch():
    """Batch norm in parts of 16 rows takes a full batch as training does, on three devices, too; of few rows each is a part."""
    moco = SimpleNamespace(training=load_recipe("moco_lite").resolve("quick"))
    full = StandardCase("init/full", "step", "init", ("init/full",), 0.1, 64, 500, is_full=True)
    margin = dataclasses.replace(full, rows=4, evaluation_rows=4)
    lines = lines_of(moco, [full, margin], make_context(framework="torch", devices=3))
    assert [line["shards"] for line in lines] == [[32, 16, 16], [2, 1, 1]]


@pytest.mark.parametrize("groups", [("momentum/", "params/"), ("params/",)])
def test_a_first_step_that_alone_is_off_is_the_origin(tape, limits, monkeypatch, groups):
    """Every layer is right, and so are steps from later states: what a fresh optimizer does is wrong."""

    def dampened(case, tensors):
        state = tape.probes["init"].state
        if case.name != "init/margin":
            return tensors
        moved = {name: state[name] + 0.9 * (tensors[name] - state[name]) for name in state if name.startswith(groups)}
        return tensors | moved

    found = origin_of(tape, limits, monkeypatch, step=dampened)
    origin = found.origins[0]
    assert (origin.layer, origin.phase, origin.quantity) == ("optimizer", "update", "first step")
    assert origin.slope == pytest.approx(0.9, abs=1e-5)
    assert "goes 0.9 times as far as is due" in origin.remark


def test_what_later_steps_show_too_is_no_first_step(tape, limits, monkeypatch):
    """Half the rate in every step is a learning rate."""

    def halved(case, tensors):
        state = tape.probes[case.state].state
        names = (name for name in state if name.startswith("params/") and case.kind == "step")
        return tensors | {name: (state[name] + tensors[name]) / 2 for name in names}

    found = origin_of(tape, limits, monkeypatch, step=halved)
    assert found.origins[0].quantity == "learning rate"
