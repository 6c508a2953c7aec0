"""keras.optimizers.schedules.CosineDecayRestarts, tensorflow 2.21.0, eager: outputs/0 is 1.71e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
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
call = lambda rate, *, first, growth, shrinking, alpha: _rates(lambda start: keras.optimizers.schedules.CosineDecayRestarts(start, first, growth, shrinking, alpha), rate)
rate = tf.cast(tf.constant(np.array([0.5827658165334074], 'float64').reshape((1,))), tf.float64)
work = lambda: call(rate=rate, first=5, growth=2.0, shrinking=0.5, alpha=0.1)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(34,)]), float('0.059083748256010774')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.34e-10)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
