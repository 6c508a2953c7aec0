"""What several devices tell each other: sums over devices, gathered, scattered, exchanged and sent parts, over two devices.

The first axis of every argument, and of what comes out, is that of the devices: `x[0]` is what the first device has.
"""

from __future__ import annotations

import numpy as np

from vigil.audit.arguments import normal, spread
from vigil.audit.entry import Sizes, operator

MPI = "https://www.mpi-forum.org/docs/mpi-4.1/mpi41-report.pdf"
DEVICES = 2
# Libraries choose another algorithm where a message is long.
LONG: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 1, 33, 1027, 65537))
PARTS: tuple[Sizes, ...] = tuple({"m": 2 * rows, "n": size} for rows, size in ((1, 7), (2, 1), (3, 33), (1, 1027), (2, 16411)))


def _on_all(found: np.ndarray) -> np.ndarray:
    return np.stack([found] * DEVICES)


@operator(source=MPI, sizes=LONG, is_program=True, x=normal(DEVICES, "n"))
def summed_on_all(x: np.ndarray) -> np.ndarray:
    """The sum over the devices, which all of them have (MPI_Allreduce)."""
    return _on_all(x.sum(0))


@operator(source=MPI, sizes=LONG, is_program=True, x=normal(DEVICES, "n"))
def averaged_on_all(x: np.ndarray) -> np.ndarray:
    """The mean over the devices, which all of them have."""
    return _on_all(x.mean(0))


@operator(source=MPI, sizes=LONG, is_program=True, x=normal(DEVICES, "n"))
def multiplied_on_all(x: np.ndarray) -> np.ndarray:
    """The product over the devices, which all of them have."""
    return _on_all(x.prod(0))


@operator(
    source=MPI,
    sizes=LONG,
    is_program=True,
    parameters=({"is_most": True}, {"is_most": False}),
    x=spread(DEVICES, "n", axis=0).fixed(),  # no framework has its gradient
)
def furthest_on_all(x: np.ndarray, *, is_most: bool) -> np.ndarray:
    """The largest or the least over the devices, which all of them have."""
    return _on_all(x.max(0) if is_most else x.min(0))


@operator(source=MPI, sizes=PARTS, is_program=True, x=normal(DEVICES, "m", "n"))
def joined_on_all(x: np.ndarray) -> np.ndarray:
    """The rows of all devices one after the other, which all of them have (MPI_Allgather)."""
    return _on_all(np.concatenate([*x]))


@operator(source=MPI, sizes=PARTS, is_program=True, x=normal(DEVICES, "m", "n"))
def share_of_sum_on_each(x: np.ndarray) -> np.ndarray:
    """Of the sum over the devices each one's rows (MPI_Reduce_scatter_block)."""
    return np.stack(np.split(x.sum(0), DEVICES))


@operator(source=MPI, sizes=PARTS, is_program=True, x=normal(DEVICES, "m", "n"))
def exchanged(x: np.ndarray) -> np.ndarray:
    """Each device gives every other one its part of the rows (MPI_Alltoall)."""
    parts = np.stack([np.split(rows, DEVICES) for rows in x])
    return np.stack([np.concatenate([*parts[:, device]]) for device in range(DEVICES)])


@operator(source=MPI, sizes=PARTS, is_program=True, x=normal(DEVICES, "m", "n"))
def exchanged_unevenly(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first device has the first row of each, the second all others (MPI_Alltoallv)."""
    return np.concatenate([*x[:, :1]]), np.concatenate([*x[:, 1:]])


@operator(source=MPI, sizes=PARTS, is_program=True, x=normal("m", "n"), y=normal(3, "n"))
def joined_unevenly_on_all(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rows of all devices one after the other, of which they have unequal numbers (MPI_Allgatherv)."""
    return _on_all(np.concatenate([x, y]))


@operator(source=MPI, sizes=LONG, is_program=True, parameters=({"source": 0}, {"source": 1}), x=normal(DEVICES, "n"))
def sent_to_all(x: np.ndarray, *, source: int) -> np.ndarray:
    """What one device has, which all of them have then (MPI_Bcast)."""
    return _on_all(x[source])


@operator(source=MPI, sizes=LONG, is_program=True, x=normal(DEVICES, "n"))
def sent_on(x: np.ndarray) -> np.ndarray:
    """What the device before has: each sends what it has to the next one, the last one to the first."""
    return np.roll(x, 1, axis=0)


@operator(source=MPI, sizes=LONG, is_program=True, parameters=({"target": 0}, {"target": 1}), x=normal(DEVICES, "n"))
def summed_on_one(x: np.ndarray, *, target: int) -> np.ndarray:
    """The sum over the devices, which one of them has (MPI_Reduce)."""
    del target
    return x.sum(0)


@operator(source=MPI, sizes=PARTS, is_program=True, parameters=({"target": 0}, {"target": 1}), x=normal(DEVICES, "m", "n"))
def joined_on_one(x: np.ndarray, *, target: int) -> np.ndarray:
    """The rows of all devices one after the other, which one of them has (MPI_Gather)."""
    del target
    return np.concatenate([*x])


@operator(source=MPI, sizes=PARTS, is_program=True, parameters=({"source": 0}, {"source": 1}), x=normal(DEVICES, "m", "n"))
def shared_out(x: np.ndarray, *, source: int) -> np.ndarray:
    """Of what one device has each one's rows (MPI_Scatter)."""
    return np.stack(np.split(x[source], DEVICES))
