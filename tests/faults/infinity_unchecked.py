"""Planted fault: in fp16 nobody looks whether gradients are finite: a step that should be skipped is taken."""


def install_torch():
    import torch

    original = torch.amp.GradScaler._unscale_grads_

    def unscale(self, *arguments):
        return {device: torch.zeros_like(found) for device, found in original(self, *arguments).items()}

    torch.amp.GradScaler._unscale_grads_ = unscale


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    keras.optimizers.LossScaleOptimizer.check_finite = lambda self, gradients: tf.constant(True)


def install_jax():
    # Optax has no loss scaler: the runner's is patched.
    import jax.numpy as jnp

    from runners.jax import precision

    precision.all_finite = lambda tree: jnp.bool_(True)
