"""A golden tape of a small model, and limits, that the tests of verify share."""

import numpy as np
import pytest

from tests.conftest import _TINY
from vigil.documents.identity import Identity
from vigil.verify import golden
from vigil.verify.golden import make_golden
from vigil.verify.limits import make_limits

RECIPE = Identity(name="tiny", version=1, hash="a" * 12, profile="test")


@pytest.fixture(scope="session")
def tape():
    """A golden tape of a narrow ResNet-8, made by the oracle alone."""
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
    kept, made = ("params", "momentum", "stats", "average", "content"), ("parameter_gradient", "output", "leaf_gradient")
    families = ("loss", "logits", *kept, *made)
    cases = ("late/margin", "late/full", "late/margin/layers", "late/full/layers", "late/margin/tapped", "late/full/tapped")
    rows = []
    for context in range(40):
        for case in cases:
            largest = {
                name: dict.fromkeys(("distance", "slope", "intercept"), float(5 * np.exp(0.3 * generator.normal())))
                for name in families
            }
            rows.append({"context": context, "precision": "fp32", "case": case, "seed": 0, "largest": largest})
    return make_limits(rows)
