"""fp32, tf32, bf16 and fp16 by Keras's mixed policies (fp16 with loss scaling), fp64."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from runners.contract.errors import Unsupported

POLICIES = {"bf16": "mixed_bfloat16", "fp16": "mixed_float16", "fp64": "float64"}


def set_up(precision: str, *, device: str) -> None:
    """Set the process-wide policy and precision of float32 products. Raises Unsupported for what the device lacks."""
    if precision == "tf32" and device != "gpu":
        raise Unsupported("tf32 is an arithmetic of NVIDIA GPUs from Ampere on; the CPU has none")
    tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
    # DIFFERS(tensorflow): the optimizer keeps its learning rate in Keras's floatx, whatever the layers compute in.
    keras.config.set_floatx("float64" if precision == "fp64" else "float32")
    keras.config.set_dtype_policy(POLICIES.get(precision, "float32"))


def dtype_of_parameters(precision: str) -> tf.DType:
    return tf.float64 if precision == "fp64" else tf.float32


def gradient_scaler(optimizer: keras.optimizers.Optimizer, *, precision: str) -> keras.optimizers.Optimizer:
    """Return the optimizer, within a loss scaler if the precision is fp16."""
    if precision != "fp16":
        return optimizer
    return LossScaler(optimizer, initial_scale=2.0**16, dynamic_growth_steps=2000)


class LossScaler(keras.optimizers.LossScaleOptimizer):
    """Dynamic loss scaling in which all devices take or skip a step together."""

    def check_finite(self, grads):
        # DIFFERS(tensorflow): Keras asks the first device only; the gradients are summed over devices afterwards.
        mine = tf.cast(super().check_finite(grads), tf.float32)
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, mine) >= context.num_replicas_in_sync
