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
x = torch.from_numpy(np.array([-0.31025969982147217, -0.7509175539016724, 0.5617252588272095, 1.7227747440338135], 'float32').reshape((4,))).to(torch.float32)
y = torch.from_numpy(np.array([1.178571343421936, 1.404693603515625, -1.13782799243927, -0.706400454044342, 1.749714732170105, 0.35537412762641907, 0.18093286454677582, -0.8507862687110901, 0.06386198103427887], 'float32').reshape((9,))).to(torch.float32)
work = lambda: call(x=x, y=y, mode='same')
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
is_right = bool(found.shape == (9,))
print("RIGHT" if is_right else "WRONG", "got", found.shape, "expected", (9,))
raise SystemExit(not is_right)
