"""`on`: every kernel gives the same bits each time, or refuses to run. `off`: TensorFlow as it is installed."""

from __future__ import annotations

import tensorflow as tf


def set_up(determinism: str) -> None:
    if determinism == "on":
        tf.config.experimental.enable_op_determinism()
