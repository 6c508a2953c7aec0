"""keras.layers.Resizing, torch 2.13.0+cpu, eager: outputs/0 is 3e+06 times rounding off."""
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
FIRST, LAST = ('channels_first', 'channels_last')
def _last(x: Any) -> Any:
    return keras.ops.moveaxis(x, 1, -1)
def _first(x: Any) -> Any:
    return keras.ops.moveaxis(x, -1, 1)
def _type(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
def _both(name: str, function: Call) -> dict[str, Call]:
    """Return calls in both layouts of a function of an image, a layout and parameters by name."""
    def first(x: Any, **parameters: Any) -> Any:
        try:
            return function(x, FIRST, **parameters)
        except Exception as error:
            if keras.backend.backend() == 'tensorflow' and 'only supports' in str(error):
                raise Unsupported('channels first: TensorFlow has no such kernel on this device.') from error
            raise
    return {f'keras.ops.image.{name}': lambda x, **parameters: _first(function(_last(x), LAST, **parameters)), f'keras.ops.image.{name} (channels first)': first}
def _to(interpolation: str) -> dict[str, Call]:
    def layer(x: Any, size: Any, step: Any=None) -> Any:
        return _first(keras.layers.Resizing(*size, interpolation, data_format=LAST, dtype=_type(x))(_last(x)))
    calls = _both('resize', lambda x, layout, size, step=None: keras.ops.image.resize(x, tuple(size), interpolation, data_format=layout))
    return {**calls, 'keras.layers.Resizing': layer}
def _filter(x: Any, layout: str, step: Any, size: Any, kernel: str) -> Any:
    names = {'linear': 'bilinear', 'cubic': 'bicubic', 'lanczos3': 'lanczos3', 'lanczos5': 'lanczos5'}
    if kernel not in names or (kernel.startswith('lanczos') and keras.backend.backend() == 'torch'):
        raise Unsupported(f'interpolation: {kernel}.')
    return keras.ops.image.resize(x, tuple(size), names[kernel], antialias=True, data_format=layout)
def _translated(x: Any, scale: Any, translation: Any, size: Any, kernel: str, is_wide: bool) -> Any:
    return keras.ops.image.scale_and_translate(x, (*x.shape[:2], *size), scale, translation, (2, 3), kernel, is_wide)
def _coordinates(x: Any, rows: Any, columns: Any, order: int, mode: str, fill: float) -> Any:
    return keras.ops.image.map_coordinates(x, keras.ops.stack([rows, columns]), order, mode, fill)
def _affine(x: Any, layout: str, transform: Any, order: int, mode: str) -> Any:
    return keras.ops.image.affine_transform(x, transform, ('nearest', 'bilinear')[order], mode, 0, layout)
def _patches(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if not isinstance(padding, str):
        raise Unsupported('padding in numbers. Allowed: same, valid.')
    if max(strides) > 1 and max(dilation) > 1 or len(set(dilation)) > 1:
        raise Unsupported('strides and dilation, or dilations of several values.')
    return keras.ops.image.extract_patches(_last(x), tuple(window), tuple(strides), dilation[0], padding, LAST)
def _repeat(rank: int, layout: str) -> Call:
    kind = getattr(keras.layers, f'UpSampling{rank}D')
    def call(x: Any, factors: Any) -> Any:
        if rank == 1:
            return _first(kind(factors[0], dtype=_type(x))(_last(x)))
        layer = kind(tuple(factors), data_format=layout, dtype=_type(x))
        return layer(x) if layout == FIRST else _first(layer(_last(x)))
    return call
def _repeats(x: Any, factors: Any) -> Any:
    for place, factor in enumerate(factors):
        x = keras.ops.repeat(x, factor, len(x.shape) - len(factors) + place)
    return x
def _crop(x: Any, layout: str, top: int, left: int, height: int, width: int) -> Any:
    given = {'top_cropping': top, 'left_cropping': left, 'target_height': height, 'target_width': width}
    return keras.ops.image.crop_images(x, **given, data_format=layout)
def _pad(x: Any, layout: str, top: int, left: int, height: int, width: int) -> Any:
    given = {'top_padding': top, 'left_padding': left, 'target_height': height, 'target_width': width}
    return keras.ops.image.pad_images(x, **given, data_format=layout)
def _centre(x: Any, height: int, width: int) -> Any:
    return _first(keras.layers.CenterCrop(height, width, data_format=LAST, dtype=_type(x))(_last(x)))
def _blur(x: Any, layout: str, window: Any, sigma: Any) -> Any:
    return keras.ops.image.gaussian_blur(x, tuple(window), tuple(sigma), layout)
def _sobel(x: Any, taps: Any) -> Any:
    return keras.ops.moveaxis(keras.ops.image.sobel_edges(_last(x), LAST), 3, 1)
CALLS: dict[str, dict[str, Call]] = {**{f'repeat_{rank}d': {f'keras.layers.UpSampling{rank}D': _repeat(rank, LAST), **({f'keras.layers.UpSampling{rank}D (channels first)': _repeat(rank, FIRST)} if rank > 1 else {}), 'keras.ops.repeat': _repeats} for rank in (1, 2, 3)}, 'resize_nearest_2d': _to('nearest'), 'resize_linear_2d': _to('bilinear'), 'resize_cubic': _to('bicubic'), 'resize_filtered': _both('resize', _filter), 'scale_and_translate': {'keras.ops.image.scale_and_translate': _translated}, 'map_coordinates': {'keras.ops.image.map_coordinates': _coordinates}, 'affine_transform': _both('affine_transform', _affine), 'extract_patches': {'keras.ops.image.extract_patches': _patches}, 'crop': _both('crop_images', _crop), 'pad_to_box': _both('pad_images', _pad), 'crop_centre': {'keras.layers.CenterCrop': _centre}, 'rgb_to_hsv': _both('rgb_to_hsv', lambda x, layout: keras.ops.image.rgb_to_hsv(x, layout)), 'hsv_to_rgb': _both('hsv_to_rgb', lambda x, layout: keras.ops.image.hsv_to_rgb(x, layout)), 'rgb_to_grayscale': _both('rgb_to_grayscale', lambda x, layout: keras.ops.image.rgb_to_grayscale(x, layout)), 'gaussian_blur': _both('gaussian_blur', _blur), 'sobel_edges': {'keras.ops.image.sobel_edges': _sobel}, 'structural_similarity': {'keras.ops.image.ssim': lambda x, y: keras.ops.image.ssim(_last(x), _last(y), data_format=LAST), 'keras.ops.image.ssim (channels first)': lambda x, y: keras.ops.image.ssim(x, y, data_format=FIRST)}, 'flip_horizontal': {'keras.ops.flip': lambda x: keras.ops.flip(x, -1)}, 'flip_vertical': {'keras.ops.flip': lambda x: keras.ops.flip(x, -2)}, 'rotate_quarter': {'keras.ops.rot90': lambda x, turns: keras.ops.rot90(x, turns, (2, 3))}, 'rescale': {'keras.layers.Rescaling': lambda x, scale, offset: keras.layers.Rescaling(scale, offset, dtype=_type(x))(x)}}
call = CALLS['resize_cubic']['keras.layers.Resizing']
x = torch.from_numpy(np.array([1.2708706855773926, -0.40812385082244873, 0.368644654750824, -2.0015757083892822, -0.3077435791492462, 1.078259825706482, -0.7454323768615723, -0.06091342866420746, -0.1946997195482254, -0.27864617109298706, -0.41747891902923584, -0.5439497828483582, 0.05967654660344124, 1.3094362020492554, -0.07737814635038376, -0.40246447920799255, -0.0825040191411972, 1.1599464416503906, -0.0854194238781929, 0.9407147765159607, -0.09588471055030823, 0.04783229902386665, 0.6851267218589783, 0.15306998789310455, 0.7429385185241699, -0.31178706884384155, -1.4748197793960571, -0.46388664841651917, -0.023241611197590828, 0.2072025090456009, -1.0018906593322754, 0.5350928902626038, -0.0040957569144666195, 2.148540496826172, 0.9869924187660217, 0.3596704602241516, 0.4092206656932831, -0.9700663685798645, 0.36206158995628357, -0.3469514846801758], 'float32').reshape((1, 2, 5, 4))).to(torch.float32)
step = torch.from_numpy(np.array([1.0, 1.0], 'float32').reshape((2,))).to(torch.float32)
work = lambda: call(x=x, step=step, size=[8, 9])
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(0, 1, 0, 2)]), float('-0.06934538421604435')  # by the definition in float64
is_right = abs(got - expected) < 0.0164
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
