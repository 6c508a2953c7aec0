"""keras.layers.MaxPooling1D, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
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
call = CALLS['max_pool_1d']['keras.layers.MaxPooling1D']
x = tf.cast(tf.constant(unpack('c-mD}D{LD<5Zy`v1_cII6%Y_$U=UznP!RR@qySe6FbD_;FenHpaHN2MNIqCt7-(1+Sd^PBii!#Y4Fi)RGiTntx8C-o)!yFD_syHR5Sl84Klc0Y=c^Fj*CB+)-(RtZu!+8<5N>@P`rXJ^vkhVBXLG%X`v>Yat*`3Whj*?Q%$J`p63@>r_suAipN-Mak=tDPoh?HcN0;}zbxXg9q3^l}HFd82TjO#w-=q6KPn1V&F;NEh_r`bFM1Gek`=<Pjp9j+2(|($mTc_ju-2Hx(Kje!z@eaSwZvWBm7m@k(6ZL>c-|uF|nC^_RpXvUwi;H=$Bfm}j{;RJOU~I(BVve2I0)u9WIC*|C#t1*iWiPRIE0=reV#+mCZQRyzuAeaZftvVQIWEJRdEgFMjTNsgrSIpSuXRPNnpSbutPyOV_&Rc#bKh@j@nOq#44c_^tJorJ(C<q21}?X+SO&7yM8+E`VniGCg*ux!1wX{J<PSY8@Wzbq;3A%$xS2V-aG8;>c}-p9b|&66pTK4MMxLmBv!&i?hkNb;ej6J((>w@=F6YA4kl0)BcL&{9>d&ljb|$%n@Ar}UjZ?7`RId)>B^T;HRo@I%8$9!x_7KaH@Z3b^`DD4K%1Qi09N^i;<g4Ni4)qgd7P`AgrLSRsCm+}YxwoQt1@29SGva(!+?Tcb!?8G&4q~5l+{=6^^C|Z#V()9d%*E;5oyYMdF&BJ0NbFzCwAf<yv2QQcAOFq3mipsJY%!N6wR&-f31y@3MO?R?9mo_s^K4=tqfZr|FkGoGx*U>bPm8>%x3+>&qrU9b!sAN(6Behb^e6fRcw5dP(jG96U9D7q@j2TV<(aAbnYb{h^PHp)Z~*uM$DTNkr>_|pa&J_Or(l<H5uXF*Df{B5<~RIL(m%bt<$s4dr3T-v%sJD%=DaQaG8IQRdG4r(VpV3!nQ+6uYLrU<T-V~05x*D<H}SsG%%5v^$4a#qcF<kNg6%Hn{J&HlH}W}=zkU4|Oq{`7?q)+b^WOjxEEPE', 'float32').reshape((3, 5, 33))), tf.float32)
work = lambda: call(x=x, window=[2], strides=[2], padding='valid', dilation=[1], ceil=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 1, 0)]), float('nan')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
