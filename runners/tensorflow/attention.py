"""By which kernel TensorFlow computes attention: Keras has one way through it there, `math`, which is also `default`."""

from __future__ import annotations

from runners.contract.errors import Unsupported


def set_up(attention: str, *, device: str, precision: str) -> None:
    """Raise Unsupported for a kernel that is not there."""
    del device, precision
    if attention not in ("default", "math"):
        raise Unsupported(f"attention {attention}: Keras has no fused attention on TensorFlow; it has math")
