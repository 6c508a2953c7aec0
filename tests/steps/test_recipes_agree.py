"""A program in float64 by itself is what the recipes' oracles, written by hand in numpy, say that it is."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from vigil.documents.context import make_context
from vigil.process.build_spec import build_spec
from vigil.recipes.loading import identity_of, load_recipe
from vigil.verify.golden import load_golden, path_of
from vigil.verify.standard_cases import derived, training_for

torch = pytest.importorskip("torch")

from runners.torch import devices  # noqa: E402
from runners.torch.shadows import Shadows  # noqa: E402
from runners.torch.train import to_canonical  # noqa: E402
from runners.torch.verify import Prober  # noqa: E402

pytestmark = pytest.mark.torch
TOLERANCE = 1e-10  # of a tensor's norm; the largest seen is 2.4e-14, where float32 gives 1e-7


@pytest.fixture(scope="module", params=["resnet_cifar", "moco_lite", "char_gpt"])
def step(request, tmp_path_factory):
    """Return what the oracle expects of a late step on a margin batch, and what PyTorch does: on shadows, and in float32."""
    recipe = load_recipe(request.param)
    identity = identity_of(recipe, "quick")
    tape = load_golden(path_of(recipe.name, "quick"), recipe=identity, data_directory=None)
    [case] = [case for case in tape.cases if case.name == "late/margin"]
    training, probe = training_for(case, tape.training), tape.probes[case.state]
    spec = build_spec(
        run_id="agree", recipe=identity, training=training, context=make_context(framework="torch", mode="eager"),
        seed=tape.header["seed"], data_directory=None, fault=None,
    )  # fmt: skip
    spec = dataclasses.replace(spec, shards=(case.rows,), evaluation_shards=(case.evaluation_rows,))
    with warnings.catch_warnings(), devices.replicas(spec, run_directory=tmp_path_factory.mktemp("agree"), rank=0) as replica:
        warnings.simplefilter("ignore")  # of flags that are for other processors
        prober = Prober(spec, replica=replica)
        prober.prepare(example=probe.margin)
        prober.set_state(probe.state)
        with torch.backends.mkldnn.flags(enabled=False), Shadows() as shadows:
            loss = prober.train_step(*probe.margin, case.learning_rate)
            of_shadows = _state(prober, loss, lambda tensor: torch.from_numpy(shadows.array(tensor)))
        in_float32 = _state(prober, loss, lambda tensor: tensor.detach())
    states = (derived(training, probe.state, state) for state in (of_shadows, in_float32))
    return tape.expected(case), *states


def _state(prober, loss, read) -> dict[str, np.ndarray]:
    tensors, trained = dict(prober.model.state_dict()), prober._trained()
    found = {"loss": read(loss).numpy()}
    slots = {slot: dict(zip(trained, arrays, strict=True)) for slot, arrays in prober.optimizer.get_slots().items()}
    for name, native, layout in prober._rows():
        found[f"{'params' if native in trained else 'stats'}/{name}"] = to_canonical(read(tensors[native]), layout)
        found |= {f"{slot}/{name}": to_canonical(read(of[native]), layout) for slot, of in slots.items() if native in trained}
    return found


def distances(observed, expected) -> dict[str, float]:
    """Return how far each tensor is off, in its norm. What is inside the step, nobody asked."""
    shared = [name for name in expected if name in observed]
    assert {name.split("/")[0] for name in shared} >= {"loss", "params", "parameter_gradient"}
    off = {name: float(np.linalg.norm(np.asarray(observed[name], np.float64) - expected[name])) for name in shared}
    return {name: off[name] / max(float(np.linalg.norm(expected[name])), 1e-300) for name in shared}


def test_shadows_agree_with_the_oracle_of_a_recipe(step):
    """Loss, gradients, parameters, statistics and what the optimizer keeps."""
    expected, of_shadows, _ = step
    assert max(distances(of_shadows, expected).values()) < TOLERANCE


def test_float32_does_not_agree(step):
    """The tolerance tells float64 from what is computed in float32 anywhere."""
    expected, _, in_float32 = step
    assert max(distances(in_float32, expected).values()) > 100 * TOLERANCE
