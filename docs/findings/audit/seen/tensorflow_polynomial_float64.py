"""keras.optimizers.schedules.PolynomialDecay, tensorflow 2.21.0, eager: outputs/0 is 2.89e+03 times rounding off."""
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
def _polynomial(rate: Any, *, end: float, power: float, total: int, begin: int) -> Any:
    if begin:
        raise Unsupported('begin: Keras begins at once.')
    return _rates(lambda first: keras.optimizers.schedules.PolynomialDecay(first, total, end, power), rate)
call = _polynomial
rate = tf.cast(tf.constant(np.array([0.8363695019864301], 'float64').reshape((1,))), tf.float64)
work = lambda: call(rate=rate, end=0.001, power=2.0, total=20, begin=0)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(20,)]), float('0.001')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.37e-11)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
