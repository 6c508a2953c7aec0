"""keras.metrics.IoU, jax 0.10.2, jit: outputs/0 is 9.15e+06 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
from collections.abc import Callable
from typing import Any
import jax
import jax.numpy as jnp
import keras
import numpy as np
_WHOLE: dict[str, Any] = {}
metrics = keras.metrics
def _result(metric: Any, batches: list[tuple[Any, ...]], *, weights: Any=None) -> Any:
    """Return a metric of batches, its state handed from one to the next."""
    state = [each.value for each in metric.variables]
    for place, batch in enumerate(batches):
        more = {} if weights is None else {'sample_weight': weights[place]}
        state = metric.stateless_update_state(state, *batch, **more)
    return metric.stateless_result(state)
def _over(make: Callable[..., Any], y: Any, x: Any, w: Any) -> Any:
    metric = make()
    if hasattr(metric, '_build') and (not metric.variables):
        metric._build(y[0].shape, x[0].shape)
    return _result(metric, [(y[0], x[0]), (y[1], x[1])], weights=w)
def _overlap(more: dict[str, Any]) -> Callable[..., Any]:

    def call(labels: Any, found: Any, w: Any, targets: list[int] | None, ignored: int | None) -> Any:
        chosen = targets if targets else list(range(40))
        return _over(lambda: metrics.IoU(40, chosen, ignore_class=ignored, **more), labels, found, w)
    return call
call = _overlap(_WHOLE)
labels = jnp.asarray(np.array([1, 0, 0, 2, 1, 0, 1, 2], 'int64').reshape((2, 4)), jnp.int32)
found = jnp.asarray(np.array([1, 1, 1, 0, 1, 2, 2, 1], 'int64').reshape((2, 4)), jnp.int32)
w = jnp.asarray(np.array([1.4676846265792847, 1.1824404001235962, 1.0432583093643188, 0.44045495986938477, 0.8388888239860535, 1.544319987297058, 1.0883079767227173, 0.32162246108055115], 'float32').reshape((2, 4)), jnp.float32)
work = jax.jit(lambda: call(labels=labels, found=found, w=w, targets=None, ignored=None))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('0.12938936432972784')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.023)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
