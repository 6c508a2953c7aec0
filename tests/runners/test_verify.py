"""The answers of the three runners to verify cases are equal in float64: in every mode, on one device and on two."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path

import numpy as np
import pytest

from runners.contract.kinds.weights import initial_state
from runners.contract.protocol.cases import read_answers
from runners.contract.protocol.events import read_events
from runners.contract.protocol.faults import file_sha256
from tests.runners.harness import frameworks, make_spec, name_of, start
from vigil.verify.oracle import step as oracle_step

TOLERANCE = 1e-9  # of an array's norm; measured: below 1e-13, where a float32 in the middle would give 1e-7
UNEVEN = (2, 1, 1)
RATE, MOMENTUM, DECAY = 0.1, 0.9, 0.01
SCALED = 2.0**-20  # the smallest change of an image that float32 shows plainly
FAULT = f"""
import sys

def install():
    trainer = sys.modules["runners.FRAMEWORK.train"].Trainer
    original, calls = trainer.train_step, []

    def step(self, images, labels, learning_rate):
        calls.append(None)
        return original(self, images * (1 + {SCALED} * (len(calls) == 5)), labels, learning_rate)

    trainer.train_step = step
"""


@dataclasses.dataclass(frozen=True)
class Asked:
    """One run's answers by the name of the case, and its end."""

    answers: dict[str, dict[str, np.ndarray]]
    last: dict
    log: str


@functools.cache
def tap_shapes(rows=1):
    """Return tap -> canonical shape, in forward order, for ResNet-8 on images of 32 x 32."""
    training = make_spec("torch").training
    state = {name: array.astype(np.float64) for name, array in initial_state(training, seed=3).items()}
    answer = oracle_step.train_step(training, state, [(np.ones((rows, 32, 32, 3)), np.zeros(rows, np.int32))], RATE)
    return {tap: answer[f"output/{tap}"].shape for tap in (name[7:] for name in answer if name.startswith("output/"))}


def probes_of(training):
    """Return the arrays that the cases name: a state with nothing at zero or one, batches, zero and random leaves."""
    generator = np.random.default_rng(0)
    arrays = {}
    for name, array in initial_state(training, seed=3).items():
        noise = 0.1 * generator.normal(size=array.shape)
        noise = np.abs(noise) if name.endswith(".variance") else noise
        kept = name.startswith("params/") and name.endswith("kernel")
        arrays[f"state/start/{name}"] = array.astype(np.float64) + (0.0 if kept else noise)
    for key, rows in (("a", 4), ("b", 4), ("six", 6)):
        arrays[f"batch/{key}/images"] = generator.normal(size=(rows, 32, 32, 3)).astype(np.float32)
        arrays[f"batch/{key}/labels"] = generator.integers(0, 10, rows).astype(np.int32)
    for tap, shape in tap_shapes(4).items():
        arrays[f"leaf/zero/{tap}"] = np.zeros(shape)
        arrays[f"leaf/random/{tap}"] = generator.normal(size=shape)
        arrays[f"cotangent/random/{tap}"] = generator.normal(size=shape) / np.prod(shape)
    return arrays


def cases_of(devices):
    """Return one case of each kind, and last a step of another size."""
    shards, six, evaluation = ([4], [6], [6]) if devices == 1 else (list(UNEVEN), [3, 2, 1], [2, 2, 2])
    common = {"state": "start", "shards": shards, "evaluation_rows": 6, "evaluation_shards": evaluation}
    segments = {**common, "kind": "segments", "batch": "a", "taps": list(tap_shapes())}
    return [
        {**common, "name": "step", "kind": "step", "batch": "a", "learning_rate": RATE},
        {**common, "name": "predict", "kind": "predict", "batch": "six"},
        {**common, "name": "alternate", "kind": "alternate", "batches": ["a", "b"], "batch": "six"},
        {**common, "name": "accumulate", "kind": "accumulate", "batches": ["a", "b"], "learning_rate": RATE},
        {**common, "name": "repeat", "kind": "repeat", "batches": ["a", "b"], "times": 6, "learning_rate": RATE},
        {**segments, "name": "tapped", "cuts": [], "leaves": "zero", "scale": 1.0},
        {**segments, "name": "scaled", "cuts": [], "leaves": "zero", "scale": 1024.0, "times": 4},
        {**segments, "name": "cut", "cuts": list(tap_shapes()), "leaves": "random", "scale": 1.0},
        {**common, "name": "larger", "kind": "step", "batch": "six", "learning_rate": RATE, "shards": six},
    ]


def case_named(name):
    """Return one of the cases on one device."""
    return next(case for case in cases_of(1) if case["name"] == name)


@pytest.fixture(scope="module")
def ask(once):
    """Return a function that has a framework answer cases (one of each kind, if none are given) in a context, once a session."""
    known = {}

    def ask_framework(framework, *, mode="eager", devices=1, cases=None, **changes) -> Asked:
        shards = (4,) if devices == 1 else UNEVEN
        changes = {"precision": "fp64", "batch_size": 4, "evaluation_batch_size": 6, **changes}
        spec = make_spec(framework, mode=mode, shards=shards, task="verify", **changes)
        cases = cases or cases_of(devices)
        name = name_of(spec, cases)
        if name not in known:
            known[name] = read_asked(once(name, lambda directory: answer(directory, spec, cases)))
        return known[name]

    return ask_framework


def answer(directory: Path, spec, cases) -> None:
    """Run a spec on cases to its end."""
    np.savez(directory / "probes.npz", **probes_of(spec.training))
    (directory / "cases.json").write_text(json.dumps(cases))
    process = start(directory, spec)
    try:
        process.wait(timeout=500)
    finally:
        process.kill()


def read_asked(directory: Path) -> Asked:
    """Read what a run on cases left."""
    probed = {event["name"]: event["index"] for event in read_events(directory) if event["kind"] == "probed"}
    answers = {name: read_answers(directory, index) for name, index in probed.items()}
    last = [event for event in read_events(directory) if event["kind"] in ("finished", "failed")][-1]
    return Asked(answers, last, (directory / "log.txt").read_text(errors="replace"))


def assert_same_answers(ours: Asked, reference: Asked, names=None):
    """Raise unless every array of every case agrees to 1e-9 of its norm, under the same names."""
    assert ours.last["kind"] == "finished", ours.log[-3000:]
    assert set(names or reference.answers) == set(ours.answers)
    for case in ours.answers:
        assert set(ours.answers[case]) == set(reference.answers[case]), case
        for name, expected in reference.answers[case].items():
            found = ours.answers[case][name]
            assert found.shape == expected.shape, f"{case}: {name}"
            if name.startswith("dtype/"):
                assert str(found) == str(expected) == "float64", f"{case}: {name}"
                continue
            distance = np.linalg.norm(np.ravel(found - expected))
            assert distance <= TOLERANCE * np.linalg.norm(np.ravel(expected)), f"{case}: {name} is off by {distance}"


@pytest.fixture(scope="module")
def oracle(ask):
    """The answers of PyTorch, eager, one device: one of three that must be equal."""
    return ask("torch")


@pytest.fixture(scope="module")
def written(ask):
    """Return a function that has a framework answer in mode eager, without the second size: op by op that is slow in JAX."""
    return lambda framework: ask(framework, cases=[*cases_of(1)[:-1], {**case_named("repeat"), "name": "passes", "steps": 2}])


def test_frameworks_give_the_same_answers(written, framework, oracle):
    """Every kind of case has the same answers in all frameworks."""
    found = written(framework)
    both = {name: answers for name, answers in found.answers.items() if name != "passes"}
    assert_same_answers(dataclasses.replace(found, answers=both), oracle, set(oracle.answers) - {"larger"})


def test_forward_passes_repeat_what_steps_begin_with(written, framework):
    """Op by op, a forward pass gives the loss and the statistics of a step on the same batch, to the bit."""
    passes = written(framework).answers["passes"]
    assert (passes["calls"].tolist(), passes["differing"].tolist()) == ([0, 1], [])


# What JAX traces it compiles: below.
@pytest.mark.parametrize("framework", frameworks("torch", "tensorflow"))
def test_traced_programs_give_the_same_answers(ask, framework, oracle):
    """A program of each kind of case, and of a second size of batch, gives the answers of eager."""
    assert_same_answers(ask(framework, mode="jit"), oracle)


@pytest.mark.parametrize("name", frameworks("jax"))
def test_compiled_programs_give_the_same_answers(ask, name, oracle):
    """What the compilers make of each kind of case gives the answers of eager, for a second size of batch, too."""
    assert_same_answers(ask(name, mode="compile"), oracle)


@pytest.mark.parametrize("framework", frameworks("torch"))
@pytest.mark.parametrize("mode", ["jit", pytest.param("eager", marks=pytest.mark.slow)])
def test_three_uneven_devices_give_the_answers_of_one(ask, framework, mode, oracle):
    """Rows are put together in order, contributions are added up, padding is left out, and evaluation moves no bit."""
    found = ask(framework, mode=mode, devices=3)
    assert_same_answers(found, oracle)
    loaded = probes_of(make_spec(framework).training)
    for name, array in found.answers["predict"].items():
        if name != "logits":
            assert np.array_equal(array, loaded[f"state/start/{name}"]), name


def test_another_state_would_be_seen(ask, oracle):
    """A learning rate that is a millionth larger is beyond the tolerance: the comparison can fail."""
    other = ask("torch", cases=[{**case_named("step"), "learning_rate": RATE * (1 + 1e-6)}])
    with pytest.raises(AssertionError, match="step: params"):
        assert_same_answers(other, oracle, ["step"])


def test_the_tapped_program_has_the_gradients_of_a_step(oracle):
    """What the step's momentum shows of each gradient is what the tapped program gives, whatever it is scaled by."""
    start = {name.removeprefix("state/start/"): array for name, array in probes_of(make_spec("torch").training).items()}
    step, tapped, scaled = (oracle.answers[name] for name in ("step", "tapped", "scaled"))
    names = [name.removeprefix("momentum/") for name in step if name.startswith("momentum/")]
    assert len(names) == 17
    for name in names:
        shown = step[f"momentum/{name}"] - MOMENTUM * start[f"momentum/{name}"] - DECAY * start[f"params/{name}"]
        np.testing.assert_allclose(tapped[f"parameter_gradient/{name}"], shown, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scaled[f"parameter_gradient/{name}"], shown, rtol=1e-9, atol=1e-12)
    assert tapped["loss"] == pytest.approx(step["loss"], rel=1e-12)
    np.testing.assert_allclose(tapped["stats/stem.bn.mean"], step["stats/stem.bn.mean"], rtol=1e-12)


def test_a_cut_separates_the_layers(oracle):
    """With every tap cut a layer sees the leaf before it: relu1 is relu of bn1's leaf, whatever bn1 gave."""
    leaves, cut = probes_of(make_spec("torch").training), oracle.answers["cut"]
    np.testing.assert_array_equal(
        cut["output/stage2.block1.relu1"], np.maximum(leaves["leaf/random/stage2.block1.bn1"], 0.0)
    )
    assert np.abs(cut["output/stage2.block1.bn1"] - leaves["leaf/random/stage2.block1.bn1"]).max() > 0.1
    gradient = leaves["cotangent/random/stage2.block1.relu1"] * (leaves["leaf/random/stage2.block1.bn1"] > 0.0)
    np.testing.assert_allclose(cut["leaf_gradient/stage2.block1.bn1"], gradient, rtol=1e-12)


def test_predicting_moves_no_statistics(written, framework):
    """After evaluation mode the running statistics have the bits that were loaded; training passes move them."""
    start, found = probes_of(make_spec("torch").training), written(framework).answers
    names = [name for name in found["predict"] if name.startswith("stats/")]
    assert len(names) == 10
    for name in names:
        np.testing.assert_array_equal(found["predict"][name], start[f"state/start/{name}"], err_msg=name)
        assert np.any(found["alternate"][name] != start[f"state/start/{name}"]), name


def test_a_clean_run_repeats_itself(ask, framework):
    """The same inputs from the same state give the same bits, also in a program that is still warming up."""
    found = ask(framework, mode="jit").answers
    changed = [name for name in found["scaled"] if name.startswith("changed/")]
    assert len(changed) == 21
    assert not any(len(found["scaled"][name]) for name in changed)
    assert (found["repeat"]["differing"].tolist(), found["repeat"]["calls"].tolist()) == ([], [0, 1])


def test_a_call_that_differs_is_found(ask, framework, tmp_path):
    """The fifth call of six, whose images a fault has changed by a millionth, is named and written."""
    path = tmp_path / "once_in_six.py"
    path.write_text(FAULT.replace("FRAMEWORK", framework))
    fault = {"path": str(path), "name": path.stem, "sha256": file_sha256(path)}
    found = ask(framework, cases=[case_named("repeat")], fault=fault).answers["repeat"]
    assert (found["differing"].tolist(), found["calls"].tolist()) == ([4], [0, 1, 4])
    assert np.any(found["4/params/stem.conv.kernel"] != found["0/params/stem.conv.kernel"])


def test_taps_say_their_types(ask, framework):
    """Under bf16 convolutions give bfloat16; what is written is float32, and near float64."""
    found = ask(framework, mode="jit", precision="bf16", cases=[case_named("tapped")]).answers["tapped"]
    assert str(found["dtype/stage1.block1.conv1"]) == "bfloat16"
    assert found["output/stage1.block1.conv1"].dtype == np.float32
    assert found["parameter_gradient/stem.conv.kernel"].dtype == np.float64
    expected = ask("torch").answers["tapped"]["output/stem.conv"]
    assert np.linalg.norm(found["output/stem.conv"] - expected) < 2.0**-7 * np.linalg.norm(expected)


@pytest.mark.parametrize("name", ["torch", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tensorflow", "jax"))])
def test_what_has_no_oracle_is_refused(ask, name):
    """Batch norm per device on several devices is unsupported, with the reason, before anything is answered."""
    refused = ask(name, devices=3, across_devices="per_device")
    assert (refused.last["kind"], refused.last["category"]) == ("failed", "unsupported")
    assert "no oracle" in refused.last["message"]
    assert refused.answers == {}
