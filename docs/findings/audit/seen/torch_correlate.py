"""keras.ops.correlate, torch 2.13.0+cpu, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras import ops
from typing import Any
import numpy as np
import torch
def _longer(x: Any, y: Any, mode: str) -> Any:
    return ops.correlate(x, y, mode)
call = _longer
x = torch.from_numpy(np.array([1.5052167177200317], 'float32').reshape((1,))).to(torch.float32)
y = torch.from_numpy(np.array([-0.8202922940254211], 'float32').reshape((1,))).to(torch.float32)
work = lambda: call(x=x, y=y, mode='same')
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
is_right = bool(found.shape == (1,))
print("RIGHT" if is_right else "WRONG", "got", found.shape, "expected", (1,))
raise SystemExit(not is_right)
