"""keras.ops.image.sobel_edges, torch 2.13.0+cpu, eager: outputs/0 is 5.36e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from typing import Any
import keras
import numpy as np
import torch
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
LAST = 'channels_last'
def _last(x: Any) -> Any:
    return keras.ops.moveaxis(x, 1, -1)
def _sobel(x: Any, taps: Any) -> Any:
    return keras.ops.moveaxis(keras.ops.image.sobel_edges(_last(x), LAST), 3, 1)
call = _sobel
x = torch.from_numpy(np.array([-0.03701464831829071, -0.3107593059539795, -1.396315336227417, 0.5374209880828857, -0.613502025604248, -1.2883732318878174, -0.2516569197177887, -0.20702384412288666, 0.29236143827438354, 0.9190986752510071, 0.06331828981637955, -1.1214227676391602, 0.08475705981254578, -0.3553420603275299, -0.49978527426719666, 0.4309629201889038, 1.1785942316055298, 0.24646921455860138, 0.2123265564441681, 0.04651550203561783, -2.227128505706787, 2.202507734298706, 1.0814554691314697, -1.70326828956604, -0.5543092489242554, 0.8106436729431152, 0.7548590898513794, -0.30351585149765015, 0.9728593826293945, -1.763646125793457, 0.2597685754299164, -0.07903639227151871, -1.2723497152328491, -1.1520849466323853, 1.6846803426742554, 2.270352840423584, 1.1895194053649902, 1.1020240783691406, 0.31307387351989746, -1.3671822547912598], 'float32').reshape((1, 2, 5, 4))).to(torch.float32)
taps = torch.from_numpy(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 'float32').reshape((3, 3))).to(torch.float32)
work = lambda: call(x=x, taps=taps)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(0, 0, 4, 1, 0)]), float('0.0')  # by the definition in float64
is_right = abs(got - expected) < 0.563
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
