"""A planted reference of any size and spread, and what the verdict on values is beside it."""

from __future__ import annotations

import numpy as np

from vigil.documents.context import make_context, parse_context
from vigil.documents.identity import Identity
from vigil.documents.invocation import PublishedTarget
from vigil.documents.judgement import Judgement, Metric
from vigil.documents.reference_row import ReferenceRow, SampleData
from vigil.references.judge import judge

RECIPE = Identity(name="resnet_cifar", version=1, hash="aa11", profile="quick")
METRIC = {"name": "test_accuracy", "unit": "percent", "direction": "higher", "selection": "last"}
JAX = "jax-jit-fp32-x1"
TARGET = {
    "metric": "test_accuracy",
    "value": 80.5,
    "published_as": "19.5 % test error, one run",
    "source": "a paper",
    "link": "https://example.org",
    "selection": "last",
    "protocol": "as there",
    "profile": "quick",
}


def make_rows(n_seeds=10, *, frameworks=("jax", "tensorflow", "torch"), spread=0.8, mean=80.0, unit="percent"):
    """Return reference rows, a seed after another, whose values have exactly this mean and spread."""
    generator = np.random.default_rng(2)
    draws = generator.standard_normal((n_seeds, len(frameworks)))
    draws = (draws - draws.mean()) / (draws.std(ddof=1) if draws.size > 1 else 1.0)
    return [
        ReferenceRow(
            recipe=RECIPE,
            metric="test_accuracy",
            unit=unit,
            value=float(mean + spread * draws[seed, place]),
            seed=seed,
            context=make_context(framework=framework),
            framework_version="1.0",
            packages={},
            python="3.12.3",
            hardware=None,
            environment={},
            data=SampleData(name="generated", checksum="c0de"),
            commit=None,
            dirty=False,
            date="2024-06-12",
            run_id=f"{framework}-{seed}",
            state_sha256=None,
        )
        for seed in range(n_seeds)
        for place, framework in enumerate(frameworks)
    ]


def run_judge(values, *, rows=None, **changes) -> Judgement:
    """Return the verdict on (seed, value) pairs against these rows, thirty of three frameworks where none are given."""
    settings = {"recipe": RECIPE, "metric": METRIC, "context": JAX, "checksum": "c0de", "n_test": 2000, "targets": ()} | changes
    types = {
        "recipe": Identity.model_validate(settings["recipe"]),
        "metric": Metric.model_validate(settings["metric"]),
        "context": parse_context(settings["context"]),
        "targets": tuple(map(PublishedTarget.model_validate, settings["targets"])),
    }
    return judge(values, rows=make_rows() if rows is None else rows, **settings | types)
