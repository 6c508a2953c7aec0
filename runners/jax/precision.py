"""fp32, tf32, bf16 and fp16 by the layers' dtype (fp16 with loss scaling), fp64."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from runners.contract.errors import Unsupported

HALF = {"bf16": jnp.bfloat16, "fp16": jnp.float16}


def set_up(precision: str, *, device: str) -> None:
    """Set the process-wide precision of products. Raises Unsupported where the device has no such arithmetic."""
    if precision == "tf32" and device != "gpu":
        raise Unsupported("tf32 is an arithmetic of NVIDIA GPUs from Ampere on; the CPU has none")
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if precision == "tf32" else "highest")
    jax.config.update("jax_enable_x64", precision == "fp64")


def dtype_of_parameters(precision: str) -> jnp.dtype:
    return jnp.dtype(jnp.float64 if precision == "fp64" else jnp.float32)


def dtype_of_layers(precision: str) -> jnp.dtype:
    """Return the dtype that convolutions and dense layers compute in."""
    return jnp.dtype(HALF.get(precision, dtype_of_parameters(precision)))


class Scaler(NamedTuple):
    """What the loss is multiplied by, and for how many steps every gradient has been finite since it last changed."""

    scale: jax.Array
    good_steps: jax.Array


def gradient_scaler(precision: str) -> Scaler | None:
    """Return the loss scaler of fp16, None for the others."""
    return Scaler(jnp.float32(65536.0), jnp.int32(0)) if precision == "fp16" else None


def update_scaler(scaler: Scaler, finite: jax.Array) -> Scaler:
    """Return the scaler after a step: halved where a gradient is not finite, doubled after 2,000 good steps."""
    # DIFFERS(jax): optax has no loss scaler. These are the numbers and the order of torch.amp.GradScaler.
    good_steps = jnp.where(finite, scaler.good_steps + 1, 0)
    grows = good_steps == 2000
    grown = jnp.where(jnp.isfinite(scaler.scale * 2.0), scaler.scale * 2.0, scaler.scale)
    scale = jnp.where(finite, jnp.where(grows, grown, scaler.scale), scaler.scale * 0.5)
    return Scaler(scale, jnp.where(grows, 0, good_steps))


def all_finite(tree) -> jax.Array:
    """Return whether every number of every array is finite, a boolean scalar."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree_util.tree_leaves(tree)]))
