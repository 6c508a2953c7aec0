"""keras.ops.image.affine_transform, tensorflow 2.21.0, eager: gradients/x is 9.14e+05 times rounding off."""
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
call = CALLS['affine_transform']['keras.ops.image.affine_transform']
x = tf.cast(tf.constant(np.array([2.131718158721924, 0.714499831199646, -0.3104232847690582, -0.41483914852142334, 0.6077176332473755, 0.308842271566391, -0.2068248987197876, 0.09335128962993622, 0.4920766353607178, -0.7477527260780334, 0.4542360007762909, -2.0463876724243164, -0.9039448499679565, 0.4665863811969757, 0.6259810328483582, 0.14671316742897034, 1.2620577812194824, 0.5187832117080688, 0.26265156269073486, 2.3640236854553223, -0.9460861682891846, -0.5756255984306335, 0.7890469431877136, -0.6359002590179443, -2.044039011001587, -0.44617533683776855, 1.5764896869659424, -1.3620082139968872, 0.4329425096511841, 0.33011099696159363, 1.2916183471679688, -0.03776701167225838, -0.35878631472587585, -0.565579891204834, -1.6544064283370972, -2.2894039154052734, 2.338245391845703, 0.8416286110877991, 0.18098826706409454, 0.29968857765197754], 'float32').reshape((1, 2, 5, 4))), tf.float32)
transform = tf.cast(tf.constant(np.array([0.8999999761581421, 0.20999999344348907, -0.3700000047683716, -0.12999999523162842, 1.0700000524520874, 0.4099999964237213, 0.0, 0.0], 'float32').reshape((1, 8))), tf.float32)
cotangents = [np.array([0.17541886866092682, -1.581986665725708, -0.3180108070373535, -0.4938046336174011, -0.8055288791656494, 0.9715379476547241, 1.125351905822754, -0.11867759376764297, -0.4381433427333832, 0.3220837116241455, -1.3995355367660522, 1.6414364576339722, -1.5535151958465576, -0.5937674641609192, 0.34677693247795105, 0.7972971796989441, 0.8500452041625977, 2.119476795196533, -0.5034798979759216, -0.30071938037872314, -0.07329722493886948, -0.8727129697799683, 1.5614778995513916, -0.19215553998947144, 1.6284825801849365, -1.504785180091858, 0.29005712270736694, -1.4043641090393066, 1.8653383255004883, -0.7621971964836121, -0.25790831446647644, 0.697543203830719, 0.7875701189041138, 0.27991053462028503, -1.0229519605636597, -0.4806356430053711, -0.11031124740839005, 0.5899444222450256, -0.9047607183456421, -0.19965997338294983], 'float32').reshape((1, 2, 5, 4))]
work = lambda x: call(x=x, transform=transform, order=1, mode='constant')
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = work(x)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], x, output_gradients=[c for _, c in pairs])
found = np.asarray(tf.convert_to_tensor(gradient(x))).astype(np.float64)
direction = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0], 'int8').reshape((1, 2, 5, 4))
got, expected = float((found * direction).sum()), -0.6430433747266114  # by central differences of the definition in float64
is_right = abs(got - expected) < 0.0579
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
