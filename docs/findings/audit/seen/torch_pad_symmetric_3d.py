"""keras.ops.pad, torch 2.13.0+cpu, eager: outputs/0 is 4.57e+08 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
from collections.abc import Callable
from typing import Any
import keras
Unsupported = ValueError
Call = Callable[..., Any]
def _all(x: Any, widths: Any) -> Any:
    return [(0, 0)] * (len(x.shape) - len(widths)) + [tuple(pair) for pair in widths]
def _mode(mode: str) -> Call:
    return lambda x, widths: keras.ops.pad(x, _all(x, widths), mode)
def _constant(x: Any, widths: Any, value: float) -> Any:
    return keras.ops.pad(x, _all(x, widths), constant_values=value)
def _layer(kind: Call, x: Any, widths: Any) -> Any:
    """Return what a layer for channels last gives."""
    given = tuple(widths[0]) if len(widths) == 1 else tuple((tuple(pair) for pair in widths))
    layer = kind(given, dtype=keras.backend.standardize_dtype(x.dtype))
    return keras.ops.moveaxis(layer(keras.ops.moveaxis(x, 1, -1)), -1, 1)
def _zeros(kind: Call) -> Call:
    def call(x: Any, widths: Any, value: float) -> Any:
        if value:
            raise Unsupported('another value than 0.')
        return _layer(kind, x, widths)
    return call
def _cropped(kind: Call) -> Call:
    def call(x: Any, widths: Any) -> Any:
        if max((max(pair) for pair in widths)) > 0:
            raise Unsupported('more than there was.')
        return _layer(kind, x, [[-before, -behind] for before, behind in widths])
    return call
CALLS: dict[str, dict[str, Call]] = {}
for _rank in (1, 2, 3):
    CALLS[f'pad_constant_{_rank}d'] = {'keras.ops.pad': _constant, f'keras.layers.ZeroPadding{_rank}D': _zeros(getattr(keras.layers, f'ZeroPadding{_rank}D'))}
    CALLS[f'pad_negative_{_rank}d'] = {f'keras.layers.Cropping{_rank}D': _cropped(getattr(keras.layers, f'Cropping{_rank}D'))}
    CALLS[f'pad_reflect_{_rank}d'] = {'keras.ops.pad': _mode('reflect')}
    CALLS[f'pad_symmetric_{_rank}d'] = {'keras.ops.pad': _mode('symmetric')}
call = CALLS['pad_symmetric_3d']['keras.ops.pad']
x = torch.from_numpy(unpack('c-jH*01yA~BBs8BsfoYVx+*@H)T+K3Be*^$ZCyUU<&{6-xC6aA*qT2UgBZUyOJzUyT2H?x2oAs7fQY~CEH=N8JSsn<b4<Tfc)vcM<21kSh$6o{#_+ubD3iXqI!r%ym<~VAMt{DEa(lj?qE)}8H-|r5SfD?J5L>?rw=%zxAML$Vpb|fFMf*P^(a}HYpTs_GUVy(4>%hJn3HZLXyV<@XS++e7fWJPK?;t-{@H##nane3h4|G57;ak5i{UN|&`zpUCRII-OX=%R(I0iq47lA)H9)i9g1UJ88xyV1~UNApmCIY@#S0ul)B{aXv9&lv', 'float32').reshape((1, 1, 4, 3, 5))).to(torch.float32)
work = lambda: call(x=x, widths=[[2, 1], [0, 2], [1, 3]])
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(0, 0, 1, 4, 8)]), float('-0.032158736139535904')  # by the definition in float64
is_right = abs(got - expected) < 0.34
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
