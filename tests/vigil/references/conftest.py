"""A finished run, from which rows of a reference are made."""

from __future__ import annotations

import pytest

from tests.vigil.references.sampled import RECIPE


@pytest.fixture
def record():
    """A finished run of seed 3 in JAX."""
    return {
        "schema": 1,
        "run_id": "run-3",
        "invocation_id": "first",
        "created": "2024-06-12T10:00:00+00:00",
        "recipe": RECIPE.as_json(),
        "context": {"framework": "jax", "mode": "jit", "text": "jax-jit-fp32-x1"},
        "seed": 3,
        "status": "finished",
        "failure": None,
        "metric": {
            "name": "test_accuracy",
            "unit": "percent",
            "direction": "higher",
            "selection": "last",
            "value": 81.5,
        },
        "curve": [],
        "losses": [],
        "state_sha256": "ff00",
        "timing": {"wall_seconds": 1.0, "cpu_seconds": 1.0, "first_step_seconds": 0.1, "images_per_second": 900.0},
        "peak_memory_bytes": 1000,
        "fault": None,
        "environment": {
            "framework": "jax",
            "framework_version": "0.10.2",
            "framework_path": "/home/somebody/jax/__init__.py",
            "python": "3.12.3",
            "numpy": "2.4.0",
            "hardware": "2 cores",
            "threads": 2,
        },
        "data": {"name": "generated", "n_train": 100, "n_test": 2000, "checksum": "c0de"},
        "code": {"commit": "abc", "dirty": True},
    }
