"""Faults that are planted in users' steps: each is a file of Python, and its origin is somewhere in its program."""

from __future__ import annotations

import pytest

from benchmarks.own_steps.plant import PLANTS, Plant


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.program}, {plant.name}")
def test_a_plant_can_be_planted(plant):
    """Its source compiles, and a line that it names is one line of the program."""
    compile(plant.source, plant.name, "exec")
    assert "LINE(" not in plant.expected


def test_an_origin_is_named_by_line_and_phase():
    """At the line of the file, whatever the operator; another line or phase is another origin."""
    plant = Plant("jax_experts", "one", "jax.lax:top_k", "output", "jax_experts.py:LINE(lax.top_k), forward")
    file, line, _ = plant.expected.split(":")
    assert plant.names(f"{file}:{line}:top_k, forward")
    assert not plant.names(f"{file}:{line}:top_k, backward")
    assert not plant.names(f"{file}:{int(line) + 1}:top_k, forward")
