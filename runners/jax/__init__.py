"""The JAX runner: flax.nnx, optax, jax.jit, jax.sharding. Start it as `python -m runners.jax RUN_DIR`."""
