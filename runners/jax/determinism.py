"""`on`: every kernel gives the same bits each time, or refuses to run. `off`: JAX as it is installed."""

from __future__ import annotations

from runners.jax.devices import add_xla_flags


def set_up(determinism: str, *, device: str) -> None:
    """Forbid kernels whose result varies. To be called before the backend starts."""
    # XLA's CPU kernels have a fixed order of additions. On GPUs, timing several algorithms and taking the fastest would
    # let the choice, and with it the bits, differ between two processes.
    if determinism == "on" and device == "gpu":
        add_xla_flags("--xla_gpu_deterministic_ops=true", "--xla_gpu_autotune_level=0")
