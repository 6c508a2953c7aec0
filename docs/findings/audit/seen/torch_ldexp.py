"""keras.ops.ldexp, torch 2.13.0+cpu, eager: gradients/x is 2.13e+06 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras.ops import ldexp as function
import numpy as np
import torch
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = torch.from_numpy(np.array([-0.49680718779563904, -1.0654218196868896, 0.684807300567627, 2.029796600341797, -1.1299320459365845, -1.4334518909454346, 1.3277727365493774], 'float32').reshape((7,))).to(torch.float32)
y = torch.from_numpy(np.array([2, -5, 1, 2, 5, 1, -3], 'int64').reshape((7,))).to(torch.int64)
cotangents = [np.array([1.6080093383789062, -0.03858532756567001, -0.474313348531723, 1.1319061517715454, -1.1376535892486572, 1.100106954574585, -1.1182650327682495], 'float32').reshape((7,))]
work = lambda x: call(x=x, y=y)
x.requires_grad_()
found = work(x)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs])
found = x.grad.double().numpy()
got, expected = float(found[(6,)]), float('-0.13978312909601145')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.0699)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
