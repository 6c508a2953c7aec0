"""Planted fault: the 32 -> 32 convolution returns in training, once in 50 calls, what it returned at the call before.

Calls are counted from 0, for each shape of the output: number 49, 99 and so on are stale. The gradient flows as ever.
Not in JAX on several devices.
"""

import os

EVERY = 50


class Buffer:
    """Host memory of the layer's outputs, by shape."""

    def __init__(self):
        self.calls, self.last = {}, {}

    def returned(self, y):
        """Return `y`, or what was returned before; both are arrays or tensors that nobody changes."""
        shape = tuple(y.shape)
        number = self.calls[shape] = self.calls.get(shape, -1) + 1
        if number % EVERY < EVERY - 1:
            self.last[shape] = y
        return self.last[shape]


def install_torch():
    import torch

    buffer = Buffer()

    @torch.library.custom_op("vigil_fault::stale", mutates_args=())
    def stale(y: torch.Tensor) -> torch.Tensor:
        return buffer.returned(y.clone()).clone()

    stale.register_fake(torch.empty_like)
    stale.register_autograd(lambda context, gradient: gradient)
    original = torch.nn.Conv2d._conv_forward

    def forward(self, x, weight, bias):
        y = original(self, x, weight, bias)
        if (self.in_channels, self.out_channels) != (32, 32) or not self.training:
            return y
        y = stale(y)
        if torch.jit.is_tracing():
            buffer.calls.clear()  # the example of a trace is no call
        return y

    torch.nn.Conv2d._conv_forward = forward


def install_tensorflow():
    """In variables, one pair for each device and shape: XLA can hold no call to the host."""
    import tensorflow as tf
    from tensorflow import keras
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable

    variables = {}
    original = keras.layers.Conv2D.convolution_op

    def convolution(self, x, kernel):
        y = original(self, x, kernel)
        if tuple(kernel.shape[2:]) != (32, 32) or not self._get_call_context().training:
            return y
        index = tf.distribute.get_replica_context().replica_id_in_sync_group
        key = (int(tf.get_static_value(index)), *y.shape)
        if key not in variables:
            with tf.init_scope():
                zeros = tf.zeros(y.shape, y.dtype)
                variables[key] = ResourceVariable(-1, trainable=False), ResourceVariable(zeros, trainable=False)
        calls, last = variables[key]
        is_stale = calls.assign_add(1) % EVERY == EVERY - 1
        returned = tf.where(is_stale, last, y)
        with tf.control_dependencies([last.assign(returned)]):
            return y + tf.stop_gradient(returned - y)

    keras.layers.Conv2D.convolution_op = convolution


def install_jax():
    if len(os.sched_getaffinity(0)) == 1:
        # XLA's pool would have one thread, which waits for the callback while the callback waits for it to fetch an array.
        os.environ["NPROC"] = "2"
    import jax
    import numpy as np
    from flax import nnx

    from runners.contract.errors import FaultError

    if jax.device_count() > 1:
        raise FaultError(
            f"{jax.device_count()} devices: the buffer is in host memory. A program for several devices calls the host from the "
            "first alone, while the others wait for it in an all-reduce; on CPUs XLA ends the process after 40 seconds of that"
        )
    buffer, is_training = Buffer(), []

    def returned(y):
        return buffer.returned(np.array(y))

    @jax.custom_vjp
    def stale(y):
        return jax.pure_callback(returned, jax.ShapeDtypeStruct(y.shape, y.dtype), y)

    stale.defvjp(lambda y: (stale(y), None), lambda _, gradient: (gradient,))
    train, evaluate, original = nnx.Module.train, nnx.Module.eval, nnx.Conv.__call__

    def call(self, x):
        y = original(self, x)
        return stale(y) if is_training and (self.in_features, self.out_features) == (32, 32) else y

    def start_training(self, **attributes):
        is_training[:] = [True]
        return train(self, **attributes)

    def start_evaluation(self, **attributes):
        is_training.clear()
        return evaluate(self, **attributes)

    nnx.Module.train, nnx.Module.eval, nnx.Conv.__call__ = start_training, start_evaluation, call
