"""One device, or several: one program over a mesh, in which arrays of images are cut along their first axis.

The program is written for the global batch; XLA's partitioner adds the communication. The devices hold equally many
rows, so an uneven shard is filled up with rows that the loss and batch norm leave out.
"""

from __future__ import annotations

import os

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from runners.contract.data.batches import split
from runners.contract.errors import Unsupported
from runners.contract.protocol.spec import RunSpec

AXIS = "data"
_EAGER_THREADS = 4


def set_up(spec: RunSpec) -> None:
    """Choose the platform, and make a CPU show as many devices as asked for: to be called before the backend starts."""
    if spec.device == "gpu" and spec.task != "train":
        share_gpu()
    if spec.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
        show_devices(spec.devices, is_op_by_op=spec.mode == "eager")


def show_devices(count: int, *, is_op_by_op: bool) -> None:
    """Make a CPU show so many devices: to be called before the backend starts."""
    add_xla_flags(f"--xla_force_host_platform_device_count={count}")
    if is_op_by_op and count > 1:
        # DIFFERS(jax): op by op, all-reduces follow each other closely, and each holds a thread of XLA's pool until
        #   its partners have one too. Two devices hang on a pool of 2, sometimes on 3, and XLA ends the process
        #   after 40 seconds; they did not on 4 or more. NPROC is where XLA reads the size of its pools.
        os.environ["NPROC"] = str(max(os.cpu_count() or 1, _EAGER_THREADS * count))


def share_gpu() -> None:
    """Take of a GPU's memory only what is used, since others compute on it side by side; what the user has set stays."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def add_xla_flags(*flags: str) -> None:
    """Append to what XLA reads once, when its backend starts; what the user has set stays."""
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()


def mesh(spec: RunSpec) -> Mesh:
    """Return the run's devices in a row. Raises Unsupported for devices that are not there."""
    return Mesh(np.array(devices_of(spec.device, count=spec.devices)), (AXIS,))


def devices_of(kind: str, *, count: int = 1) -> list[jax.Device]:
    """Return so many devices of a kind. Raises Unsupported for devices that are not there."""
    try:
        present = jax.devices(kind)
    except RuntimeError as error:
        raise Unsupported(f"{count} {kind.upper()}(s) asked for; jax sees {_seen()} ({error})") from error
    if len(present) < count:
        raise Unsupported(f"{count} {kind.upper()}(s) asked for; jax sees {len(present)}")
    return present[:count]


def replicated(mesh: Mesh) -> NamedSharding:
    """Return the sharding of what every device holds whole: parameters, statistics, momentum."""
    return NamedSharding(mesh, PartitionSpec())


def spread(array: np.ndarray, shards: tuple[int, ...], *, mesh: Mesh) -> jax.Array:
    """Return the batch with each shard on its device, [devices * longest shard, ...]; the rest is zero."""
    if len(set(shards)) > 1:
        rest = [(0, 0)] * (array.ndim - 1)
        longest = max(shards)
        array = np.concatenate([np.pad(shard, [(0, longest - len(shard)), *rest]) for shard in split(array, shards)])
    return jax.device_put(array, NamedSharding(mesh, PartitionSpec(AXIS)))


def collect(array: jax.Array, shards: tuple[int, ...]) -> np.ndarray:
    """Return the rows of a spread batch, without those that only fill it up: the reverse of `spread`."""
    return np.concatenate([rows[:n] for rows, n in zip(np.split(np.asarray(array), len(shards)), shards, strict=True)])


def spread_between(tree) -> float:
    """Return the largest difference of any element between the devices that hold it.

    Op by op an array may come out spread over devices, as a queue does that takes up a spread batch: each holds rows of its own.
    """
    held: dict[tuple[int, str], list[np.ndarray]] = {}
    for number, leaf in enumerate(jax.tree_util.tree_leaves(tree)):
        for shard in leaf.addressable_shards:
            held.setdefault((number, str(shard.index)), []).append(np.asarray(shard.data))
    return max((float(np.ptp(np.stack(copies), axis=0).max(initial=0)) for copies in held.values()), default=0.0)


def valid_rows(shards: tuple[int, ...], *, mesh: Mesh) -> jax.Array | None:
    """Return which rows of a spread batch are images, bool [rows]; None where all are."""
    return spread(np.ones(sum(shards), bool), shards, mesh=mesh) if len(set(shards)) > 1 else None


def _seen() -> str:
    return ", ".join(f"{device.platform}:{device.id}" for device in jax.devices())
