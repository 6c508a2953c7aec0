"""Planted fault: the gradient of the bias of the dense layer, the model's head, is 1.001 times what it should be."""

EXCESS = 0.001


def install_torch():
    import torch

    def scaled(self, x):
        bias = self.bias + EXCESS * (self.bias - self.bias.detach())
        return torch.nn.functional.linear(x, self.weight, bias)

    torch.nn.Linear.forward = scaled


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Dense.call

    def scaled(self, inputs, training=None):
        outputs = original(self, inputs, training=training)
        # The variable itself: what a mixed policy makes of it is too coarse to hold 1.001 times a gradient.
        bias = tf.convert_to_tensor(self.bias._value)
        return outputs + tf.cast(EXCESS * (bias - tf.stop_gradient(bias)), outputs.dtype)

    keras.layers.Dense.call = scaled


def install_jax():
    import jax
    from flax import nnx

    original = nnx.Linear.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **options)
        self.promote_dtype = scaled(self.promote_dtype)

    def scaled(promote):
        def promote_scaled(arrays, *, dtype):
            x, kernel, bias = arrays
            return promote((x, kernel, bias + EXCESS * (bias - jax.lax.stop_gradient(bias))), dtype=dtype)

        return promote_scaled

    nnx.Linear.__init__ = initialise
