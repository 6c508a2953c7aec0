"""An operator of your own, for `vigil verify`: what you wrote, what it shall compute, and inputs. Replace all three."""

import jax
import jax.numpy as jnp
import numpy as np


def inputs(seed, rows=32, columns=256):
    """Arguments made from the seed, by name. Sizes have usual values; Vigil tries others around powers of two and tiles."""
    random = np.random.default_rng(seed)
    return {"x": random.standard_normal((rows, columns), np.float32), "weight": random.random(columns, np.float32)}


def reference(x, weight):
    """The operator as its definition says, slow and plain. It is carried out in float64, and differentiated."""
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * weight


@jax.custom_vjp
def candidate(x, weight):
    """The operator to verify: a kernel, a custom primitive, a rewritten layer. Root mean square normalisation."""
    return _forward(x, weight)[0]


def _forward(x, weight):
    wide = x.astype(jnp.float32)
    inverse = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return (wide * inverse * weight.astype(jnp.float32)).astype(x.dtype), (x, weight, inverse)


def _backward(kept, gradient):
    x, weight, inverse = kept
    normal = x.astype(jnp.float32) * inverse
    scaled = gradient.astype(jnp.float32) * weight.astype(jnp.float32)
    of_x = inverse * (scaled - normal * jnp.mean(scaled * normal, axis=-1, keepdims=True))
    return of_x.astype(x.dtype), jnp.sum(gradient.astype(jnp.float32) * normal, axis=0).astype(weight.dtype)


candidate.defvjp(_forward, _backward)

# Optional: what your own test allows. Vigil says how often it will fail of correct operators, and what rounding needs.
TOLERANCE = {"fp32": {"atol": 1e-5, "rtol": 1e-5}}
# Optional: TILES = {"columns": 128}, a kernel's tile; SIZES = {"columns": (64, 128)}, where others are not allowed;
# PRECISIONS = ("fp32",); DIFFERENTIATED = ("x",), where not every float input has a gradient.
