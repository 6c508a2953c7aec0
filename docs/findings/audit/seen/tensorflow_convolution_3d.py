"""keras.layers.Conv3D, tensorflow 2.21.0, eager: outputs/0 is 6.11e+07 times rounding off."""
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
from collections.abc import Callable
from typing import Any
import keras
Unsupported = ValueError
Call = Callable[..., Any]
def _last(x: Any) -> Any:
    return keras.ops.moveaxis(x, 1, -1)
def _first(x: Any) -> Any:
    return keras.ops.moveaxis(x, -1, 1)
def _kernel(weight: Any) -> Any:
    """Return weights [out, channels, *window] as Keras has them, [*window, channels, out]."""
    return keras.ops.moveaxis(weight, (1, 0), (-2, -1))
def _depth(weight: Any) -> Any:
    """Return weights [channels, multiplier, *window] as Keras has them, [*window, channels, multiplier]."""
    return keras.ops.moveaxis(weight, (0, 1), (-2, -1))
def _name(padding: Any, strides: Any, dilation: Any) -> str:
    if max(strides) > 1 and max(dilation) > 1:
        raise Unsupported('strides and dilation_rate. Allowed: one of them above 1.')
    if not isinstance(padding, str) and max((max(pair) for pair in padding)) > 0:
        raise Unsupported('padding in numbers. Allowed: same, valid.')
    return padding if isinstance(padding, str) else 'valid'
def _each(bias: Any, x: Any) -> Any:
    return keras.ops.reshape(bias, (-1, *[1] * (len(x.shape) - 2)))
def _conv(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name = _name(padding, strides, dilation)
    found = keras.ops.conv(_last(x), _kernel(weight), tuple(strides), name, 'channels_last', tuple(dilation))
    return _first(found + bias)
def _first_where_there_is(call: Call) -> Call:
    """Return the call, which has no kernel on TensorFlow's CPU but for XLA."""
    def tried(*given: Any, **arguments: Any) -> Any:
        try:
            return call(*given, **arguments)
        except Exception as error:
            if keras.backend.backend() == 'tensorflow' and 'only supports' in str(error):
                raise Unsupported('channels first: TensorFlow has no such kernel on this device.') from error
            raise
    return tried
def _conv_first(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name = _name(padding, strides, dilation)
    found = keras.ops.conv(x, _kernel(weight), tuple(strides), name, 'channels_first', tuple(dilation))
    return found + _each(bias, x)
def _called(layer: Any, x: Any, weights: list[Any]) -> Any:
    """Return what a layer gives with other weights than its own."""
    shape = tuple(x.shape)
    layer.build(shape)
    found, _ = layer.stateless_call(weights, [], x)
    return found
def _layer(kind: Any, layout: str) -> Call:
    def call(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        layer = kind(weight.shape[0], tuple(weight.shape[2:]), tuple(strides), _name(padding, strides, dilation), layout, tuple(dilation), groups=x.shape[1] // weight.shape[1], dtype=keras.backend.standardize_dtype(x.dtype))
        weights = [_kernel(weight), bias]
        return _called(layer, x, weights) if layout == 'channels_first' else _first(_called(layer, _last(x), weights))
    return call
def _causal(x: Any, weight: Any, bias: Any, strides: int, dilation: int) -> Any:
    _name('valid', [strides], [dilation])
    layer = keras.layers.Conv1D(weight.shape[0], weight.shape[2], strides, 'causal', dilation_rate=dilation, groups=x.shape[1] // weight.shape[1], dtype=keras.backend.standardize_dtype(x.dtype))
    return _first(_called(layer, _last(x), [_kernel(weight), bias]))
def _output_padding(weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    """Return padding and output_padding."""
    if weight.shape[1] != bias.shape[0]:
        raise Unsupported('no groups.')
    _name('valid', strides, dilation)
    if max(dilation) > 1 and keras.backend.backend() == 'tensorflow':
        raise Unsupported('dilation_rate: TensorFlow has no such kernel on the CPU.')
    if isinstance(padding, str):
        return (padding, None)
    raise Unsupported('padding in numbers. Allowed: same, valid.')
def _transposed(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name, more = _output_padding(weight, bias, strides, padding, dilation)
    kernel = _kernel(weight)
    found = keras.ops.conv_transpose(_last(x), kernel, tuple(strides), name, more, 'channels_last', tuple(dilation))
    return _first(found + bias)
def _transposed_first(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name, more = _output_padding(weight, bias, strides, padding, dilation)
    kernel = _kernel(weight)
    found = keras.ops.conv_transpose(x, kernel, tuple(strides), name, more, 'channels_first', tuple(dilation))
    return found + _each(bias, x)
def _transposing(kind: Any, layout: str) -> Call:
    def call(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        name, more = _output_padding(weight, bias, strides, padding, dilation)
        layer = kind(weight.shape[1], tuple(weight.shape[2:]), tuple(strides), name, output_padding=more, data_format=layout, dilation_rate=tuple(dilation), dtype=keras.backend.standardize_dtype(x.dtype))
        weights = [_kernel(weight), bias]
        return _called(layer, x, weights) if layout == 'channels_first' else _first(_called(layer, _last(x), weights))
    return call
def _depthwise(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name = _name(padding, strides, dilation)
    found = keras.ops.depthwise_conv(_last(x), _depth(weight), tuple(strides), name, 'channels_last', tuple(dilation))
    return _first(found)
def _depthwise_first(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name = _name(padding, strides, dilation)
    return keras.ops.depthwise_conv(x, _depth(weight), tuple(strides), name, 'channels_first', tuple(dilation))
def _depthwise_layer(kind: Any) -> Call:
    def call(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        layer = kind(tuple(weight.shape[2:]), tuple(strides), _name(padding, strides, dilation), weight.shape[1], 'channels_last', tuple(dilation), use_bias=False, dtype=keras.backend.standardize_dtype(x.dtype))
        return _first(_called(layer, _last(x), [_depth(weight)]))
    return call
def _mixture(pointwise: Any, rank: int) -> Any:
    return keras.ops.reshape(keras.ops.transpose(pointwise), (*[1] * rank, *reversed(pointwise.shape)))
def _separable(x: Any, weight: Any, pointwise: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    name, mixture = (_name(padding, strides, dilation), _mixture(pointwise, len(x.shape) - 2))
    depth = _depth(weight)
    return _first(keras.ops.separable_conv(_last(x), depth, mixture, tuple(strides), name, 'channels_last', tuple(dilation)))
def _separable_layer(kind: Any) -> Call:
    def call(x: Any, weight: Any, pointwise: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        layer = kind(pointwise.shape[0], tuple(weight.shape[2:]), tuple(strides), _name(padding, strides, dilation), 'channels_last', tuple(dilation), weight.shape[1], use_bias=False, dtype=keras.backend.standardize_dtype(x.dtype))
        return _first(_called(layer, _last(x), [_depth(weight), _mixture(pointwise, len(x.shape) - 2)]))
    return call
def _calls(rank: int) -> dict[str, dict[str, Call]]:
    kind, transposing = (getattr(keras.layers, f'Conv{rank}D'), getattr(keras.layers, f'Conv{rank}DTranspose'))
    calls: dict[str, dict[str, Call]] = {'': {'keras.ops.conv': _conv, 'keras.ops.conv (channels first)': _first_where_there_is(_conv_first), f'keras.layers.Conv{rank}D': _layer(kind, 'channels_last'), f'keras.layers.Conv{rank}D (channels first)': _first_where_there_is(_layer(kind, 'channels_first'))}, '_transposed': {'keras.ops.conv_transpose': _transposed, 'keras.ops.conv_transpose (channels first)': _first_where_there_is(_transposed_first), f'keras.layers.Conv{rank}DTranspose': _transposing(transposing, 'channels_last'), f'keras.layers.Conv{rank}DTranspose (channels first)': _first_where_there_is(_transposing(transposing, 'channels_first'))}}
    if rank < 3:
        calls['_depthwise'] = {'keras.ops.depthwise_conv': _depthwise, 'keras.ops.depthwise_conv (channels first)': _depthwise_first, f'keras.layers.DepthwiseConv{rank}D': _depthwise_layer(getattr(keras.layers, f'DepthwiseConv{rank}D'))}
        calls['_separable'] = {'keras.ops.separable_conv': _separable, f'keras.layers.SeparableConv{rank}D': _separable_layer(getattr(keras.layers, f'SeparableConv{rank}D'))}
    return {f'convolution_{rank}d{form}': each for form, each in calls.items()}
CALLS = {**_calls(1), **_calls(2), **_calls(3), 'convolution_1d_causal': {'keras.layers.Conv1D (causal)': _causal}}
call = CALLS['convolution_3d']['keras.layers.Conv3D (channels first)']
x = tf.cast(tf.constant(unpack('c-jHj04M+XjX1yPtGzzoR(U^>;QqexL{z^Q>_9)Eg%3Uo6$L+D1rI+J41c~GeJMa*aA7|Jm3Tish_=6u7zRL&wTeF>c@e;GE(yO16RJK@piIAc)097(#=|~`agD!aKi)qKKGePpt*<=O1W&&t8s$DO>`lJh|J**{S8hHb7XLp;(-%LG597W4?C8H1sfj=QK#V^u23x(9FJnF%KZHMnEv`O1Nhd#ZYV$t}zZ1R(Y`#6tHsHTa5;4AZ!Mnd>)Qdh-<I_H4-xt64Z=1gdILSXT=EpyF7h$p', 'float32').reshape((1, 2, 3, 3, 3))), tf.float32)
weight = tf.cast(tf.constant(np.array([-0.23300129175186157, -0.05314434692263603, 0.33459609746932983, 0.3205723464488983, -0.09928150475025177, 0.03343228995800018, 1.0284663438796997, -0.36610227823257446, -0.545651376247406, -0.28704729676246643, -0.8795081973075867, -0.13532905280590057, 0.31732773780822754, -0.5751047730445862, -0.737888753414154, -0.966410219669342], 'float32').reshape((2, 2, 2, 1, 2))), tf.float32)
bias = tf.cast(tf.constant(np.array([-1.693793535232544, 0.7113218307495117], 'float32').reshape((2,))), tf.float32)
work = lambda: call(x=x, weight=weight, bias=bias, strides=[1, 1, 1], padding=[[0, 0], [0, 0], [0, 0]], dilation=[1, 1, 1])
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 1, 1, 1, 0)]), float('-0.06519289786737481')  # by the definition in float64
is_right = abs(got - expected) < 1.2
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
