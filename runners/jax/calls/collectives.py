"""JAX: what devices tell each other, in programs over two devices of a CPU (`jax.shard_map`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from runners.contract.errors import Unsupported

_AXIS, _DEVICES = "place", 2


@functools.cache
def _program(work: Callable[..., Any], parameters: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """Return the program that does some work on every device, each on its own row of what is given."""
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        try:
            from jax.experimental.shard_map import shard_map
        except ImportError as error:
            raise Unsupported(f"jax {jax.__version__}: has no shard_map") from error
    devices = jax.devices()
    if len(devices) < _DEVICES:
        raise Unsupported(f"over devices: jax sees {len(devices)}. Allowed: {_DEVICES}")
    mesh = Mesh(np.array(devices[:_DEVICES]), (_AXIS,))

    def on_each(part: Any) -> Any:
        return work(part[0], **dict(parameters))[None]

    return jax.jit(shard_map(on_each, mesh=mesh, in_specs=PartitionSpec(_AXIS), out_specs=PartitionSpec(_AXIS)))


def _on_devices(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **parameters: _program(work, tuple(parameters.items()))(x)


def _furthest(row: Any, is_most: bool) -> Any:
    return (lax.pmax if is_most else lax.pmin)(row, _AXIS)


CALLS: dict[str, dict[str, Any]] = {
    "summed_on_all": {"jax.lax.psum (over devices)": _on_devices(lambda row: lax.psum(row, _AXIS))},
    "averaged_on_all": {"jax.lax.pmean (over devices)": _on_devices(lambda row: lax.pmean(row, _AXIS))},
    "furthest_on_all": {"jax.lax.pmax (over devices)": _on_devices(_furthest)},
    "joined_on_all": {"jax.lax.all_gather (over devices)": _on_devices(lambda row: lax.all_gather(row, _AXIS, tiled=True))},
    "share_of_sum_on_each": {
        "jax.lax.psum_scatter (over devices)": _on_devices(lambda row: lax.psum_scatter(row, _AXIS, tiled=True))
    },
    "exchanged": {"jax.lax.all_to_all (over devices)": _on_devices(lambda row: lax.all_to_all(row, _AXIS, 0, 0, tiled=True))},
    "sent_on": {
        "jax.lax.ppermute (over devices)": _on_devices(
            lambda row: lax.ppermute(row, _AXIS, [(place, (place + 1) % _DEVICES) for place in range(_DEVICES)])
        )
    },
}
