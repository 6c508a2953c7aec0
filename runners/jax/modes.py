"""eager: as written, op by op. jit: jax.jit. compile: jax.jit, lowered and compiled ahead of time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import jax
import jaxlib

from runners.contract import compiled

# Older releases were not tried.
_FIRST_TO_KEEP = (0, 10)


def keep_compiled(spec: compiled.Compiling) -> None:
    """Keep what is compiled to verify, where JAX itself offers it; a folder that the user has named stays."""
    release = tuple(int(part) for part in jax.__version__.split(".")[:2])
    libraries = Path(jaxlib.__file__).parent.glob("*.so")
    folder = compiled.directory_for(spec, version=jax.__version__, libraries=libraries, distribution="jaxlib")
    if folder is None or release < _FIRST_TO_KEEP or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Op by op, programs are many and small.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


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


def bytes_of(program: Callable) -> int | None:
    """Return the memory that a compiled program takes on each device while it runs; None where this release cannot tell."""
    tell = getattr(program, "memory_analysis", None)  # which old releases have not
    found = tell() if tell else None
    if found is None:
        return None
    given = found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
    return given + found.temp_size_in_bytes
