"""eager: as written. jit: tf.function. compile: tf.function with XLA (`jit_compile`)."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf


def trace(function: Callable) -> Callable:
    """Return the function as a graph. Every argument is a tensor of one shape, so it is traced once."""
    return tf.function(function, autograph=False)


def compile_function(function: Callable) -> Callable:
    """Return the function as one XLA program."""
    return tf.function(function, autograph=False, jit_compile=True)
