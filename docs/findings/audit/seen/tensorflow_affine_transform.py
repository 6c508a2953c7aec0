"""keras.ops.image.affine_transform, tensorflow 2.21.0, eager: outputs/0 is 3.1e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
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
def _single(x: Any) -> None:
    if keras.backend.backend() == 'tensorflow' and _type(x) == 'float64':
        raise Unsupported('float64: TensorFlow resizes in float32.')
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
        _single(x)
        return _first(keras.layers.Resizing(*size, interpolation, data_format=LAST, dtype=_type(x))(_last(x)))
    def resize(x: Any, layout: str, size: Any, step: Any=None) -> Any:
        _single(x)
        return keras.ops.image.resize(x, tuple(size), interpolation, data_format=layout)
    calls = _both('resize', resize)
    return {**calls, 'keras.layers.Resizing': layer}
def _filter(x: Any, layout: str, step: Any, size: Any, kernel: str) -> Any:
    _single(x)
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
call = CALLS['affine_transform']['keras.ops.image.affine_transform']
x = tf.cast(tf.constant(np.array([2.4071662425994873, -2.542604923248291, -1.1624785661697388, -1.0170066356658936, 0.8635674118995667, -1.146715760231018, 0.49922290444374084, 1.817297339439392, -1.5498816967010498, 0.7758545875549316, -0.8908478021621704, -0.8875585794448853, 1.245384693145752, -1.6243513822555542, -0.03177545592188835, -0.039156559854745865, -0.5288553833961487, 1.339072823524475, 0.27763834595680237, 0.7732510566711426, 1.1092703342437744, 0.6746327877044678, -0.53700852394104, 0.6562203764915466, 0.2538657784461975, 0.222359761595726, 0.43281811475753784, -0.03759361058473587, -0.7800748348236084, 0.9242885708808899, 0.25465670228004456, 2.082078456878662, -1.2521893978118896, -0.18351779878139496, 0.2987111806869507, -1.6913362741470337, 0.3175469934940338, 1.5875786542892456, 0.22746363282203674, -0.9212841987609863], 'float32').reshape((1, 2, 5, 4))), tf.float32)
transform = tf.cast(tf.constant(np.array([0.8999999761581421, 0.20999999344348907, -0.3700000047683716, -0.12999999523162842, 1.0700000524520874, 0.4099999964237213, 0.0, 0.0], 'float32').reshape((1, 8))), tf.float32)
work = lambda: call(x=x, transform=transform, order=1, mode='wrap')
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 1, 1, 0)]), float('-0.04686177631885391')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.513)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
