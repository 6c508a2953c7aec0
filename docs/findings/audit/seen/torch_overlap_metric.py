"""keras.metrics.IoU, torch 2.13.0+cpu, eager: outputs/0 is 6.27e+05 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from collections.abc import Callable
from typing import Any
import keras
import numpy as np
import torch
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
_WHOLE: dict[str, Any] = {}
call = _overlap(_WHOLE)
labels = torch.from_numpy(np.array([1, 0, 1, 1, 1, 1, 0, 0], 'int64').reshape((2, 4))).to(torch.int64)
found = torch.from_numpy(np.array([1, 0, 2, 1, 2, 2, 1, 1], 'int64').reshape((2, 4))).to(torch.int64)
w = torch.from_numpy(np.array([1.7649075984954834, 1.3968874216079712, 0.9277073740959167, 1.892942190170288, 1.1076381206512451, 0.9385272860527039, 1.2477378845214844, 1.586847186088562], 'float32').reshape((2, 4))).to(torch.float32)
work = lambda: call(labels=labels, found=found, w=w, targets=None, ignored=None)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[()]), float('0.23884191813522015')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.0028)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
