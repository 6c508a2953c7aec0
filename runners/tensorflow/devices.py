"""One device, or several: one process under MirroredStrategy, on logical CPU devices or on GPUs with NCCL."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import tensorflow as tf
from tensorflow import keras

from runners.contract.averages import mean_over_devices
from runners.contract.data.batches import Labels, split
from runners.contract.errors import Unsupported
from runners.contract.protocol.spec import RunSpec


@dataclasses.dataclass(frozen=True)
class Replica:
    """All devices of this run, driven by this process."""

    strategy: tf.distribute.Strategy
    world: int

    @property
    def is_alone(self) -> bool:
        return self.world == 1

    def place(self, array: Labels, shards: tuple[int, ...]):
        """Return a global batch with each device's shard on that device; of labels in several arrays, all of them."""
        if isinstance(array, dict):
            return {name: self.place(each, shards) for name, each in array.items()}
        if self.is_alone:
            return tf.convert_to_tensor(array)
        parts, names = split(array, shards), self.strategy.extended.worker_devices

        def shard(context) -> tf.Tensor:
            with tf.device(names[context.replica_id_in_sync_group]):
                return tf.convert_to_tensor(parts[context.replica_id_in_sync_group])

        return self.strategy.experimental_distribute_values_from_function(shard)


@contextlib.contextmanager
def replicas(spec: RunSpec) -> Iterator[Replica]:
    """Configure the devices, before any operation has run. Raises Unsupported for devices that are not there."""
    gpus = tf.config.list_physical_devices("GPU")
    if spec.device == "gpu" and len(gpus) < spec.devices:
        raise Unsupported(f"{spec.devices} GPU(s) asked for; TensorFlow sees {len(gpus)}")
    gpus = gpus[: spec.devices] if spec.device == "gpu" else []
    tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.threading.set_intra_op_parallelism_threads(spec.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if spec.devices == 1:
        yield Replica(tf.distribute.get_strategy(), 1)
        return
    if spec.device == "cpu":
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * spec.devices)
    names = [f"{spec.device.upper()}:{index}" for index in range(spec.devices)]
    # NCCL, the default, is for GPUs.
    across = tf.distribute.ReductionToOneDevice() if spec.device == "cpu" else None
    yield Replica(tf.distribute.MirroredStrategy(names, cross_device_ops=across), spec.devices)


class BatchNorm(keras.layers.BatchNormalization):
    """Batch norm whose running variance is the unbiased one, over every value that entered the statistic.

    DIFFERS(tensorflow): across devices Keras takes E[x^2] - E[x]^2, right for uneven shards too. In float32 it is off
    by 1e-6 where the mean is about one deviation, as after a convolution, by 1e-4 at ten, by 1e-2 at a hundred.
    """

    def call(self, inputs, training=None):
        if not training:
            return super().call(inputs, training=False)
        before = tf.convert_to_tensor(self.moving_variance)
        outputs = super().call(inputs, training=True)
        # DIFFERS(tensorflow): Keras folds the biased variance in; times n / (n - 1) is that plus its share 1 / (n - 1).
        folded_in = self.moving_variance - self.momentum * before
        self.moving_variance.assign_add(folded_in / (self._count(inputs, folded_in.dtype) - 1.0))
        return outputs

    def _count(self, inputs, dtype):
        count = tf.cast(tf.size(inputs) // inputs.shape[-1], dtype)
        if not self.synchronized:
            return count
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, count)


def sum_over_replicas(x, *, replica: Replica) -> tf.Tensor:
    """Return the sum of what each device returned."""
    return replica.strategy.reduce(tf.distribute.ReduceOp.SUM, x, axis=None)


def parts(x, *, replica: Replica) -> list[tf.Tensor]:
    """Return what each device returned, in order of device."""
    return list(replica.strategy.experimental_local_results(x))


def run(function: Callable, *, replica: Replica) -> Callable:
    """Return the function that runs on every device, each with its shard of the arguments."""
    return lambda *shards: replica.strategy.run(function, args=shards)


def for_each(transform: Callable[[Callable], Callable], function: Callable, *, replica: Replica) -> Callable:
    """Return the function, transformed once for each device, to be called on the device.

    DIFFERS(tensorflow): of one compiled function XLA runs the second device's trace on the first device, and then fails
    on the second one's variables.
    """
    transformed = [transform(function) for _ in range(replica.world)]

    def on_this_device(*arguments):
        index = tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group)
        return transformed[int(index)](*arguments)

    return on_this_device


def spread(variables: Iterable[keras.Variable], *, replica: Replica) -> float:
    """Return the largest difference between devices of any element."""
    held = [np.stack([part.numpy() for part in parts(variable.value, replica=replica)]) for variable in variables]
    return max((float(np.ptp(values, axis=0).max()) for values in held), default=0.0)


def average_statistics(model: keras.Model, *, weights: Sequence[float], replica: Replica) -> None:
    """Set the running statistics of every device to their mean, in which each device's weigh so much; the weights add up to 1.

    A running mean is linear, so averaging now and then gives the same as averaging after every step.
    DIFFERS(tensorflow): left alone, Keras would read and save those of the first device only.
    """
    if replica.is_alone:
        return
    for variable in running_statistics(model):
        held = [part.numpy() for part in parts(variable.value, replica=replica)]
        variable.value.assign(mean_over_devices(held, weights))


def running_statistics(model: keras.Model) -> list[keras.Variable]:
    """Return the running means and variances of every batch norm."""
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    return [variable for norm in norms for variable in (norm.moving_mean, norm.moving_variance)]


def joined(x, shards: tuple[int, ...]):
    """On one device: return the rows of all devices, in order: the sum of each one's with zeros in the others' place."""
    context = tf.distribute.get_replica_context()
    index = int(tf.get_static_value(context.replica_id_in_sync_group))
    padded = tf.pad(x, ((sum(shards[:index]), sum(shards[index + 1 :])), (0, 0)))
    return context.all_reduce(tf.distribute.ReduceOp.SUM, padded)
