"""eager: as written, op by op. jit: jax.jit. compile: jax.jit, lowered and compiled ahead of time."""

from __future__ import annotations

from collections.abc import Callable

import jax


def jit(function: Callable, *, donate: tuple[int, ...], sharding: jax.sharding.Sharding) -> Callable:
    """Return the function compiled as a whole when it is first called.

    Args:
        donate: positions of arguments whose memory the results may take.
        sharding: of every result. Left to the partitioner it could differ from that of the arguments of the next call.
    """
    return jax.jit(function, donate_argnums=donate, out_shardings=sharding)


def compile_ahead(jitted: Callable, *arguments) -> Callable:
    """Return the program for the shapes, types and shardings of these arguments, compiled now."""
    return jitted.lower(*arguments).compile()
