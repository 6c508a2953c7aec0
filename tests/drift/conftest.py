"""Frames of a history, made by hand: one call a cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

SAMPLES = {
    "recipe": "resnet_cifar", "recipe_version": 1, "recipe_hash": "aa11", "profile": "quick", "framework": "jax", "mode": "jit",
    "precision": "fp32", "device": "cpu", "devices": 1, "determinism": "off", "randomness": "shared", "metric": "test_accuracy",
    "unit": "percent", "direction": "higher", "verdict": "reproduced", "reason": "", "band_low": 86.0, "band_high": 91.0,
    "fault": "none", "seconds": 60.0,
}  # fmt: skip
VERIFIED = {"tensors": 300, "tensors_out": 0, "origin_layer": None, "origin_phase": None, "origin_quantity": None}


def created(night: int) -> pd.Timestamp:
    """Return when a night began."""
    return pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(days=night)


@pytest.fixture
def cell_runs() -> Callable[..., pd.DataFrame]:
    """Return a function that makes the runs of one cell, one a value: None is a crash; `nights` are numbers from 0."""

    def make(
        values: Sequence[float | None],
        *,
        nights: Sequence[int] | None = None,
        seeds: Sequence[int] | None = None,
        releases: Sequence[str] | None = None,
        states: Sequence[str | None] | None = None,
        **fields: Any,
    ) -> pd.DataFrame:
        count = len(values)
        nights = range(count) if nights is None else nights
        fields = SAMPLES | fields
        fields.setdefault("context", f"{fields['framework']}-{fields['mode']}-{fields['precision']}-x{fields['devices']}")
        frame = pd.DataFrame(
            {
                "invocation_id": [f"{fields['context']}-{place}" for place in range(count)],
                "run_id": [f"{fields['context']}-{place}" for place in range(count)],
                "night": [f"night-{night:02d}" for night in nights],
                "created": [created(night) for night in nights],
                "release": ["0.9.2"] * count if releases is None else releases,
                "seed": list(range(count)) if seeds is None else seeds,
                "value": [float("nan") if value is None else value for value in values],
                "state_sha256": [f"{fields['context']}-{place}" for place in range(count)] if states is None else states,
                **{name: [value] * count for name, value in fields.items()},
            }
        )
        crashed = frame["value"].isna()
        frame.loc[crashed, ["verdict", "reason"]] = ["failed:crash", "the runner died"]
        return frame

    return make


@pytest.fixture
def verified() -> Callable[..., pd.DataFrame]:
    """Return a function that makes verifications: (release, verdict, worst ratio, worst score) each."""

    def make(*rows: tuple[str, str, float, float], **fields: Any) -> pd.DataFrame:
        fields = SAMPLES | VERIFIED | fields
        fields.setdefault("context", f"{fields['framework']}-{fields['mode']}-{fields['precision']}-x{fields['devices']}")
        return pd.DataFrame(
            [
                {
                    **fields,
                    "verify_id": f"v{place}",
                    "invocation_id": None,
                    "night": f"night-{place:02d}",
                    "created": created(place),
                    "release": release,
                    "verdict": verdict,
                    "worst_ratio": ratio,
                    "worst_score": score,
                }
                for place, (release, verdict, ratio, score) in enumerate(rows)
            ],
            columns=[*fields, "verify_id", "invocation_id", "night", "created", "release", "worst_ratio", "worst_score"],
        )

    return make
