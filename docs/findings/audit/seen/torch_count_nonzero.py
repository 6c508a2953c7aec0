"""keras.ops.count_nonzero, torch 2.13.0+cpu, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras import ops
from typing import Any
import numpy as np
import torch
def _along(function: Any) -> Any:
    return lambda x, axis: function(x, axis=axis)
call = _along(ops.count_nonzero)
x = torch.from_numpy(np.array([-1.0, -0.0, -1.0, -0.0, 0.0, -2.0, 1.0, -0.0, 2.0, 2.0, -0.0, 2.0, 0.0, -1.0, -1.0, -1.0, -0.0, -0.0, 1.0, 0.0, 2.0, 1.0, -0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 2.0, -0.0], 'float32').reshape((2, 3, 5))).to(torch.float32)
work = lambda: call(x=x, axis=-1)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
is_right = bool(found.shape == (2, 3))
print("RIGHT" if is_right else "WRONG", "got", found.shape, "expected", (2, 3))
raise SystemExit(not is_right)
