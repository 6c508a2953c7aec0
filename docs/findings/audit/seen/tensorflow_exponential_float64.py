"""keras.optimizers.schedules.ExponentialDecay, tensorflow 2.21.0, eager: outputs/0 is 1.97e+05 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
Unsupported = ValueError
from collections.abc import Callable
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
import keras
import numpy as np
import tensorflow as tf
@contextmanager
def precise(like: Any) -> Iterator[str]:
    """Let Keras keep rates, and what has no type, in float64 where tensors are; give the type of tensors."""
    before, kind = (keras.config.floatx(), keras.backend.standardize_dtype(like.dtype))
    keras.config.set_floatx('float64' if kind == 'float64' else 'float32')
    try:
        yield kind
    finally:
        keras.config.set_floatx(before)
_STEPS = 64
def _rates(make: Callable[[Any], Any], rate: Any) -> Any:
    """Return the rate of each step."""
    with precise(rate):
        schedule = make(rate[0])
        return keras.ops.stack([keras.ops.cast(schedule(step), rate.dtype) for step in range(_STEPS)])
def _exponential(rate: Any, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> Any:
    if begin or end is not None:
        raise Unsupported('begin, end: Keras begins at once and has no end.')
    return _rates(lambda first: keras.optimizers.schedules.ExponentialDecay(first, period, decay, is_stair), rate)
call = _exponential
rate = tf.cast(tf.constant(np.array([0.39732256184441567], 'float64').reshape((1,))), tf.float64)
work = lambda: call(rate=rate, decay=0.9, period=1, is_stair=False, begin=0, end=None)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(55,)]), float('0.001209152967912758')  # by the definition in float64
is_right = bool(abs(got - expected) < 8.81e-10)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
