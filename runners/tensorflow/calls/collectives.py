"""TensorFlow: what replicas tell each other under MirroredStrategy, on two logical devices of a CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

_DEVICES = ("CPU:0", "CPU:1")
_CONTEXT = "tensorflow.distribute.ReplicaContext."
_ACROSS = {
    "": None,
    " (on one device)": tf.distribute.ReductionToOneDevice,
    " (in a hierarchy)": tf.distribute.HierarchicalCopyAllReduce,
}


@functools.cache
def _strategy(across: Callable[[], Any] | None) -> Any:
    return tf.distribute.MirroredStrategy(_DEVICES, cross_device_ops=across and across())


def _on_replicas(work: Callable[..., Any], across: Callable[[], Any] | None = None) -> Callable[..., Any]:
    """Return a call of each replica's array: work is done by each on its own, and so is its gradient."""

    def by_each(function: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        strategy = _strategy(across)
        values = tuple(
            strategy.experimental_distribute_values_from_function(
                lambda context, arrays=arrays: tf.identity(arrays[context.replica_id_in_sync_group])
            )
            for arrays in given
        )
        return list(strategy.experimental_local_results(strategy.run(function, args=values)))

    def transposed(row: Any, cotangent: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(row)
            found = work(row)
        return tape.gradient(found, row, output_gradients=cotangent)

    def call(*rows: Any) -> list[Any]:
        # No tape hears of what replicas do. All of this is linear, so that a gradient depends on nothing but its cotangent.
        @tf.custom_gradient
        def push(*rows: Any) -> Any:
            return by_each(work, rows), pull

        @tf.custom_gradient
        def pull(*cotangents: Any) -> Any:
            return by_each(transposed, [tf.zeros_like(each) for each in rows], cotangents), push

        return push(*rows)

    return call


def _reduced(row: Any, by: Any) -> Any:
    return tf.distribute.get_replica_context().all_reduce(by, row)


def _joined(row: Any) -> Any:
    return tf.distribute.get_replica_context().all_gather(row, axis=0)


def _by_all_ways(work: Callable[..., Any], name: str) -> dict[str, Any]:
    calls = {f"{_CONTEXT}{name}{said}": _on_replicas(work, across) for said, across in _ACROSS.items()}
    return {name: _of_stacked(call) for name, call in calls.items()}


def _of_stacked(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tf.stack(call(*tf.unstack(x)))


def _of_two(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: tf.stack(call(x, y))


CALLS: dict[str, dict[str, Any]] = {
    "summed_on_all": _by_all_ways(functools.partial(_reduced, by=tf.distribute.ReduceOp.SUM), "all_reduce"),
    "averaged_on_all": _by_all_ways(functools.partial(_reduced, by=tf.distribute.ReduceOp.MEAN), "all_reduce"),
    "joined_on_all": _by_all_ways(_joined, "all_gather"),
    "joined_unevenly_on_all": {
        f"{_CONTEXT}all_gather{said}": _of_two(_on_replicas(_joined, across)) for said, across in _ACROSS.items()
    },
}
