"""keras.ops.image.hsv_to_rgb, tensorflow 2.21.0, eager: gradients/x is 1.12e+07 times rounding off."""
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
call = CALLS['hsv_to_rgb']['keras.ops.image.hsv_to_rgb']
x = tf.cast(tf.constant(np.array([0.6269559860229492, 0.9602892994880676, 0.2936226427555084, 0.7936226725578308, 0.46028932929039, 0.2936226427555084, 0.6269559860229492, 0.12695598602294922, 0.7936226725578308, 0.9602892994880676, 0.12695598602294922, 0.7936226725578308, 0.19746597111225128, 0.7867454886436462, 0.352580726146698, 0.4725978970527649, 0.42449572682380676, 0.5382511019706726, 0.5593067407608032, 0.8662179112434387, 0.11733356863260269, 0.545526385307312, 0.7290719747543335, 0.21329286694526672, 0.35043469071388245, 0.43576574325561523, 0.10443012416362762, 0.17471352219581604, 0.6170739531517029, 0.765981912612915, 0.4810769557952881, 0.8448406457901001, 0.29230067133903503, 0.3669922649860382, 0.5315291881561279, 0.5810701847076416], 'float32').reshape((1, 3, 3, 4))), tf.float32)
cotangents = [np.array([-0.13367407023906708, -2.6294403076171875, 0.08228378742933273, -0.18247190117835999, 0.2507157027721405, 1.160075306892395, -1.5350464582443237, -0.6372498273849487, -0.3388845920562744, 0.48541414737701416, 0.5131273865699768, -0.09330079704523087, -0.2918131649494171, 0.20031844079494476, 1.8008075952529907, 0.8353723883628845, -1.4399420022964478, 0.3071781098842621, 0.7458111643791199, -0.015612022951245308, 1.1059319972991943, -0.2608550488948822, -0.5183585286140442, 0.5887944102287292, -1.581747055053711, -1.095526099205017, -0.046924348920583725, 0.7875047326087952, 1.6568366289138794, -0.11235678941011429, -0.8937682509422302, -0.03477160632610321, 0.5047451257705688, -0.6368845105171204, -0.23132771253585815, 0.04987196996808052], 'float32').reshape((1, 3, 3, 4))]
work = lambda x: call(x=x)
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = work(x)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], x, output_gradients=[c for _, c in pairs])
found = np.asarray(tf.convert_to_tensor(gradient(x))).astype(np.float64)
direction = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, -1], 'int8').reshape((1, 3, 3, 4))
got, expected = float((found * direction).sum()), -0.4023808609671849  # by central differences of the definition in float64
is_right = abs(got - expected) < 0.201
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
