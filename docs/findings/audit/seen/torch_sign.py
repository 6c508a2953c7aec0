"""keras.ops.sign, torch 2.13.0+cpu, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras.ops import sign as function
import numpy as np
import torch
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = torch.from_numpy(np.array([-0.7825809717178345, -0.8407669067382812, 0.3853399455547333, -0.5735342502593994, -0.4382643699645996, -0.533255398273468, -0.0, -np.inf, 1.4903939962387085, np.inf, -0.9039464592933655, -0.056915104389190674, 0.5689020156860352, np.inf, -np.inf, -1.022962212562561, np.nan, 0.9707207679748535, -1.0, 9.99994610111476e-41, -9.99994610111476e-41, 1.0, -1.2550978660583496, 1.921409249305725, np.nan, 0.0, -0.05320855975151062, -0.0, 0.7571837902069092, 0.5025393962860107, 1.0000000150474662e+30, -1.0000000150474662e+30, 0.0], 'float32').reshape((33,))).to(torch.float32)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(16,)]), float('nan')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
