"""keras.ops.adaptive_max_pool, tensorflow 2.21.0, eager: gradients/x is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
from collections.abc import Callable
from typing import Any
import keras
Unsupported = ValueError
Call = Callable[..., Any]
FIRST, LAST = ('channels_first', 'channels_last')
def _in_layout(function: Call, x: Any, layout: str) -> Any:
    """Return what a function of a layout gives, with channels first."""
    if layout == LAST:
        return keras.ops.moveaxis(function(keras.ops.moveaxis(x, 1, -1)), -1, 1)
    try:
        return function(x)
    except Exception as error:
        if keras.backend.backend() == 'tensorflow' and 'only support' in str(error):
            raise Unsupported('channels first: TensorFlow has no such kernel on this device.') from error
        raise
def _type(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
def _max_form(padding: Any, dilation: Any, ceil: bool) -> None:
    if ceil or max(dilation) > 1 or (not isinstance(padding, str)):
        raise Unsupported('ceil, dilation or padding in numbers: no such form.')
def _max(layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        _max_form(padding, dilation, ceil)
        return _in_layout(lambda x: keras.ops.max_pool(x, tuple(window), tuple(strides), padding, layout), x, layout)
    return call
def _max_layer(kind: Call, layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        _max_form(padding, dilation, ceil)
        given = (window[0], strides[0]) if len(window) == 1 else (tuple(window), tuple(strides))
        return _in_layout(kind(*given, padding, data_format=layout, dtype=_type(x)), x, layout)
    return call
def _mean_form(padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> None:
    if ceil or divisor is not None or (not isinstance(padding, str)) or (counts_border and padding == 'same'):
        raise Unsupported('ceil, divisor, padding in numbers, or a border that counts: no such form.')
def _mean(layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        _mean_form(padding, ceil, counts_border, divisor)
        return _in_layout(lambda x: keras.ops.average_pool(x, tuple(window), tuple(strides), padding, layout), x, layout)
    return call
def _mean_layer(kind: Call, layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        _mean_form(padding, ceil, counts_border, divisor)
        given = (window[0], strides[0]) if len(window) == 1 else (tuple(window), tuple(strides))
        return _in_layout(kind(*given, padding, data_format=layout, dtype=_type(x)), x, layout)
    return call
def _adaptive(function: Call, layout: str) -> Call:
    return lambda x, output: _in_layout(lambda x: function(x, tuple(output), layout), x, layout)
def _adaptive_layer(kind: Call) -> Call:
    def call(x: Any, output: Any) -> Any:
        layer = kind(tuple(output) if len(output) > 1 else output[0], data_format=LAST, dtype=_type(x))
        return _in_layout(layer, x, LAST)
    return call
def _global(kind: Call, layout: str) -> Call:
    def call(x: Any) -> Any:
        given = keras.ops.moveaxis(x, 1, -1) if layout == LAST else x
        return kind(data_format=layout, dtype=_type(x))(given)
    return call
def _calls(rank: int) -> dict[str, dict[str, Call]]:
    layers, ops = (keras.layers, keras.ops)
    largest, mean = (getattr(layers, f'MaxPooling{rank}D'), getattr(layers, f'AveragePooling{rank}D'))
    mean_of_all, largest_of_all = (f'GlobalAveragePooling{rank}D', f'GlobalMaxPooling{rank}D')
    calls: dict[str, dict[str, Call]] = {f'max_pool_{rank}d': {'keras.ops.max_pool': _max(LAST), 'keras.ops.max_pool (channels first)': _max(FIRST), f'keras.layers.MaxPooling{rank}D': _max_layer(largest, LAST), f'keras.layers.MaxPooling{rank}D (channels first)': _max_layer(largest, FIRST)}, f'average_pool_{rank}d': {'keras.ops.average_pool': _mean(LAST), 'keras.ops.average_pool (channels first)': _mean(FIRST), f'keras.layers.AveragePooling{rank}D': _mean_layer(mean, LAST), f'keras.layers.AveragePooling{rank}D (channels first)': _mean_layer(mean, FIRST)}, f'global_average_pool_{rank}d': {f'keras.layers.{mean_of_all}': _global(getattr(layers, mean_of_all), LAST), f'keras.layers.{mean_of_all} (channels first)': _global(getattr(layers, mean_of_all), FIRST)}, f'global_max_pool_{rank}d': {f'keras.layers.{largest_of_all}': _global(getattr(layers, largest_of_all), LAST), f'keras.layers.{largest_of_all} (channels first)': _global(getattr(layers, largest_of_all), FIRST)}}
    for short, name in (('average', 'Average'), ('max', 'Max')):
        function, layer = (f'adaptive_{short}_pool', f'Adaptive{name}Pooling{rank}D')
        calls[f'adaptive_{short}_pool_{rank}d'] = {f'keras.ops.{function}': _adaptive(lambda *given, function=function: getattr(ops, function)(*given), LAST), f'keras.ops.{function} (channels first)': _adaptive(lambda *given, function=function: getattr(ops, function)(*given), FIRST), f'keras.layers.{layer}': _adaptive_layer(lambda *given, layer=layer, **more: getattr(layers, layer)(*given, **more))}
    return calls
CALLS = {**_calls(1), **_calls(2), **_calls(3)}
call = CALLS['adaptive_max_pool_2d']['keras.ops.adaptive_max_pool']
x = tf.cast(tf.constant(unpack('c-k$GEe^s!6olshh#mpK0T7i07Kh{r6_p$Sxgm&(3PLIxR8v6+3V~=4u)RqoN2u(#*%gy{Gnw}%9kx>5OD`wcpVU(C@!lZAYrud%!Vf(Am6l{`Bkj;v-%DM=7jW~L4OzStU7%-Rpnn06_&MBx4|tNX>#)O7pZspPjdKd}=h%0I6XsO$z7;6R{$02~GvS9Czkxdw?z?-<ta(2Hjg3An', 'float32').reshape((1, 2, 6, 5))), tf.float32)
cotangents = [np.array([0.8235329985618591, -0.6487902402877808], 'float32').reshape((1, 2, 1, 1))]
work = lambda x: call(x=x, output=[1, 1])
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = work(x)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], x, output_gradients=[c for _, c in pairs])
found = np.asarray(tf.convert_to_tensor(gradient(x))).astype(np.float64)
is_right = bool(np.isfinite(found).all())
print("RIGHT" if is_right else "WRONG", "got", found[(0, 0, 3, 4)], "expected", 'a number')
raise SystemExit(not is_right)
