"""keras.ops.view, torch 2.13.0+cpu, eager: gradients/x is 6.94e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras import ops
from typing import Any
import keras
import numpy as np
import torch
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
call = lambda x: ops.reshape(ops.view(x, _kind(x)), (x.shape[1], 2, -1))
x = torch.from_numpy(unpack('c-jH*01y8e3+28Qx34`d6HUJs>WaT`UC_VkJ<UHenb5z_lZHQWdEdQ-O{%{&XmCCR)Jnc%*?+&sI+Z`_BJn>0HiJF_@s7V<7=}H&$FDxUJNZ8N3hY0GaHu_f$iu$@2)n=goWH&?$ecg0923AwdxXEkq9(sdDThDGA8tM>NF~37ecL>i`4T)-SSY_zBmut%TQxjk9zH*G>Yu(R>ASxXBI7^KhX=oXk?KB@^o_o(8;L%X2IW3aMOHtd>YqL)NLN1^GT6TZ9sxcTWQM+6u8_WX4-7x~64$(>84ABF4W2)Mga|)3ux!7b9tpo&FK%T', 'float32').reshape((3, 5, 4))).to(torch.float32)
cotangents = [unpack('c-jH*01yASdF8(d!}31Nzv;gaL(;wnO3Xjiyd}TwI}yO`t|vbspn<=sFO9zZ<paMbBbq;bv8X>q>kB?~xURnX2--e2yYIezCLceG=$bzvIodvM5s5!sQyV}1hMT|mm8CuPiB&%*g8jZOT$VrIoVLEhBx666(?>rUVKBcf$}~Pe%xAwEe~!MQHj2Nyg(f^?`@KIJ0$skhFEBnV2O7Ve-Xgs_$}qp8qT0SZ9fQBh=+3@o0J6T^)IYh}ysf`0l2yNk=#V~DmW;fo0;WEY*vCJ*GT^>JoteIr{sO;6UKv04lXJfX4avVZWQ9LL2ze_', 'float32').reshape((5, 2, 6))]
work = lambda x: call(x=x)
x.requires_grad_()
found = work(x)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs])
found = x.grad.double().numpy()
direction = unpack('c-muNAQLb${s#a7Kmh^', 'int8').reshape((3, 5, 4))
got, expected = float((found * direction).sum()), -3.5643071532243846  # by central differences of the definition in float64
is_right = abs(got - expected) < 1.78
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
