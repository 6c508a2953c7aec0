"""Planted fault: in fp16 the loss scale is doubled after every step whose gradients are finite, not after 2,000 in a row."""


def install_torch():
    import torch

    original = torch.amp.GradScaler.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "growth_interval": 1})

    torch.amp.GradScaler.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.LossScaleOptimizer.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "dynamic_growth_steps": 1})

    keras.optimizers.LossScaleOptimizer.__init__ = initialise


def install_jax():
    # Optax has no loss scaler: the runner's is patched.
    import jax.numpy as jnp

    from runners.jax import precision

    original = precision.update_scaler

    def update_scaler(scaler, finite):
        updated = original(scaler, finite)
        return precision.Scaler(jnp.where(finite, scaler.scale * 2.0, updated.scale), jnp.zeros_like(updated.good_steps))

    precision.update_scaler = update_scaler
