"""The public calls that are audited: one module a family, `CALLS` by operator and public name."""

NAMESPACES = (
    "jax.nn", "jax.nn.initializers", "jax.lax", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.scipy.special",
    "jax.image", "jax.ops", "jax.random", "flax.nnx", "flax.linen", "optax", "optax.losses", "optax.schedules",
)  # fmt: skip
