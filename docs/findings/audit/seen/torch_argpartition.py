"""keras.ops.argpartition, torch 2.13.0+cpu, eager: outputs/0 is 8.01e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras import ops
import numpy as np
import torch
call = lambda x: ops.sort(ops.take(x, ops.argpartition(x, 3)[:3]))
x = torch.from_numpy(np.array([0.0, -0.25, -0.5, 0.75, 0.25, 0.5, -0.75], 'float32').reshape((7,))).to(torch.float32)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(2,)]), float('-0.25')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.5)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
