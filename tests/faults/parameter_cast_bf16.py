"""Planted fault: the kernel of the 32 -> 64 convolution at stride 2 is rounded to bfloat16 wherever it is used.

Its gradient passes as if it were not. Two plain casts would not do: torch.compile leaves out a cast and the one back.
"""

CHANNELS = (32, 64)
STRIDES = (2, (2, 2))
HALF, UPPER = 0x7FFF, -0x10000  # of a float32's bits: just under half of bfloat16's last place, and those it keeps


def install_torch():
    import torch

    original = torch.nn.Conv2d._conv_forward

    @torch.library.custom_op("vigil_fault::round_to_bfloat16", mutates_args=())
    def round_to_bfloat16(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.bfloat16).to(x.dtype)

    round_to_bfloat16.register_fake(torch.empty_like)

    def rounded(self, x, weight, bias):
        if (self.in_channels, self.out_channels) == CHANNELS and self.stride in STRIDES:
            precise = weight.detach()
            weight = weight + (round_to_bfloat16(precise) - precise)
        return original(self, x, weight, bias)

    torch.nn.Conv2d._conv_forward = rounded


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Conv2D.convolution_op

    def rounded(self, x, kernel):
        if tuple(kernel.shape[2:]) == CHANNELS and self.strides in STRIDES:
            kernel = tf.convert_to_tensor(kernel)
            bits = tf.bitcast(tf.cast(kernel, tf.float32), tf.int32)
            bits = tf.bitwise.bitwise_and(bits + HALF + tf.bitwise.bitwise_and(tf.bitwise.right_shift(bits, 16), 1), UPPER)
            kernel += tf.stop_gradient(tf.cast(tf.bitcast(bits, tf.float32), kernel.dtype) - kernel)
        return original(self, x, kernel)

    keras.layers.Conv2D.convolution_op = rounded


def install_jax():
    import jax
    from flax import nnx

    original = nnx.Conv.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **options)
        if (self.in_features, self.out_features) == CHANNELS and self.strides in STRIDES:
            self.promote_dtype = rounded(self.promote_dtype)

    def rounded(promote):
        def promote_rounded(arrays, *, dtype):
            x, kernel, bias = arrays
            change = jax.lax.reduce_precision(kernel, exponent_bits=8, mantissa_bits=7) - kernel
            return promote((x, kernel + jax.lax.stop_gradient(change), bias), dtype=dtype)

        return promote_rounded

    nnx.Conv.__init__ = initialise
