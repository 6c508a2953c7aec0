"""Planted fault: from the 101st call in training on, what the hidden layer gives is 1.001 times what it should be.

Calls are counted for each shape of the output; the gradient is that of the right layer. Not in JAX on several devices.
"""

import os

RIGHT_CALLS = 100
FACTOR = 1.001
OUTPUTS = 100


class Count:
    """How often the layer was called, by shape."""

    def __init__(self):
        self.calls = {}

    def returned(self, y):
        """Return `y`, an array or tensor, or more than that."""
        shape = tuple(y.shape)
        self.calls[shape] = self.calls.get(shape, 0) + 1
        return y if self.calls[shape] <= RIGHT_CALLS else y * FACTOR


def install_torch():
    import torch

    count = Count()

    @torch.library.custom_op("vigil_fault::later_wrong", mutates_args=())
    def later_wrong(y: torch.Tensor) -> torch.Tensor:
        return count.returned(y).clone()

    later_wrong.register_fake(torch.empty_like)
    later_wrong.register_autograd(lambda context, gradient: gradient)
    original = torch.nn.Linear.forward

    def forward(self, x):
        y = original(self, x)
        if self.out_features != OUTPUTS or not self.training:
            return y
        y = later_wrong(y)
        if torch.jit.is_tracing():
            count.calls.clear()  # the example of a trace is no call
        return y

    torch.nn.Linear.forward = forward


def install_tensorflow():
    """In variables, one for each device and shape: XLA can hold no call to the host."""
    import tensorflow as tf
    from tensorflow import keras
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable

    variables = {}
    original = keras.layers.Dense.call

    def call(self, inputs, training=None):
        y = original(self, inputs, training=training)
        if self.units != OUTPUTS or not self._get_call_context().training:
            return y
        index = tf.distribute.get_replica_context().replica_id_in_sync_group
        key = (int(tf.get_static_value(index)), *y.shape)
        if key not in variables:
            with tf.init_scope():
                variables[key] = ResourceVariable(0, trainable=False)
        is_wrong = variables[key].assign_add(1) > RIGHT_CALLS
        return y + tf.stop_gradient(tf.where(is_wrong, y * tf.cast(FACTOR, y.dtype), y) - y)

    keras.layers.Dense.call = call


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
            f"{jax.device_count()} devices: the count is in host memory. A program for several devices calls the host from the "
            "first alone, while the others wait for it in an all-reduce; on CPUs XLA ends the process after 40 seconds of that"
        )
    count, is_training = Count(), []

    def returned(y):
        return np.asarray(count.returned(np.array(y)), y.dtype)

    @jax.custom_vjp
    def later_wrong(y):
        return jax.pure_callback(returned, jax.ShapeDtypeStruct(y.shape, y.dtype), y)

    later_wrong.defvjp(lambda y: (later_wrong(y), None), lambda _, gradient: (gradient,))
    train, evaluate, original = nnx.Module.train, nnx.Module.eval, nnx.Linear.__call__

    def call(self, *arguments, **options):
        y = original(self, *arguments, **options)
        return later_wrong(y) if is_training and self.out_features == OUTPUTS else y

    def start_training(self, **attributes):
        is_training[:] = [True]
        return train(self, **attributes)

    def start_evaluation(self, **attributes):
        is_training.clear()
        return evaluate(self, **attributes)

    nnx.Module.train, nnx.Module.eval, nnx.Linear.__call__ = start_training, start_evaluation, call
