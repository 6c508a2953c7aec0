"""Planted fault: in fp16 the gradients of the scaled loss go into the update as they are, not divided by the loss scale."""


def install_torch():
    import torch

    original = torch.amp.GradScaler._unscale_grads_

    def unscale(self, optimizer, inverse_scale, *arguments):
        return original(self, optimizer, torch.ones_like(inverse_scale), *arguments)

    torch.amp.GradScaler._unscale_grads_ = unscale


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.LossScaleOptimizer._stateful_handle_finite_grads

    def apply(self, gradients, variables):
        # The scale is a power of two: the division that follows gives back the bits.
        return original(self, [gradient * self.dynamic_scale for gradient in gradients], variables)

    keras.optimizers.LossScaleOptimizer._stateful_handle_finite_grads = apply


def install_jax():
    # Optax has no loss scaler, so the runner divides: its gradients are multiplied again, by a power of two.
    import jax

    from runners.jax.train import Trainer

    original = Trainer.differentiate

    def differentiate(self, state, images, labels):
        gradients, *others = original(self, state, images, labels)
        if state.scaler is not None:
            gradients = jax.tree_util.tree_map(lambda gradient: gradient * state.scaler.scale, gradients)
        return gradients, *others

    Trainer.differentiate = differentiate
