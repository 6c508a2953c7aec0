"""keras.layers.MaxPooling2D, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
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
call = CALLS['max_pool_2d']['keras.layers.MaxPooling2D']
x = tf.cast(tf.constant(unpack('c-mE0F-T-d5bXm40|SHOFfcGMFfcIKz(DSIgMkMI1{)X{7;Ip$fx-nF2=kFeL}U?JL_}mbWRYbN5g9~erh6i}$k1>?L-!&xuU^+{>+itl|KGp6tGepFS2fP9B<Fni_rJe>I=2&@yO#I5=iIH_&w_lDyQ_7q{!=b_AH$r=xtpNhrse(jpmUaRe|7n{DbL;1|Km4#jxuL8+mUx!a~yQM_M9(cvw064pO)vRDDyX*JCL;xoHrx)D1Htnd{e(KG1ihrnA1|*1M%;ZtUHpqvvQw_#kShV??7zKBz?cZ+Dh%=hx1+WoF9YU9nU)))XtK(y*$3lH6-80<%)qm)#@Xj;eV|3e0SV)J?i^s?%iknaYddbwsemirwH5XCwy2=^j)5R$n$<akHr~#lzsGEHVzw8f#b6GjqH6IEQU4bOa#VygXe|49(|HCTq3?neOe28zhT~=qwZbv+`vkH?<v08QSFR3?GkhSKs!9^P*R)t){$?2%e)UbGh+u_j3kZasoW<swi~gOIV<x1H8f&@<3!!}A?kT@{OKcnz<%%P-!b#L7Jx}z51gEXD>A=LE-aH%z#sM*$-KaP;+}Z8lJQ-+=E$2bjAL8Y9C806`L=|8y1M5DV~e~4bNGR`>oRX5X&#3f{K)(jdy9$o`F>7Lf%iwUZZ~NjfaQ!2`94Pu<lM;fsLWkT#Nbbhp>ySqoa*zw%zcz=J1J-0$-V8FFK4(!d{#5|8rURG;ommmpKLBLKkAwDmd3lA)W_?fx`cSo1lU$Tzb3`$g^aC{GtXYnJSt<WT#r4cn2UTx8;4#D6W@4W4Ah=VvG_e{{K3(W3BDCABZi49U=$cU%xB`aO0Ngv1<#X=(}1{iiE*x#I~se&sWQB65g*XXBd`0tM4N+{wJYFWF))F11l2k4>6m#a9Im@XCyTGY`aDC793qa??0eb!#nbN^KB?Wsr038Yqy8KO(-Mr&c+<@Z)`<n=iCT?1w9mD()QSmjwd097@jae{=h=^@G27%Ba8%RAZ3CCv!MF#Gexi@3!Em@)bjOpQucc<`+VNnz-7S3FK;2M3V8?sq`W@pl7L1>5){(;dfmi<RQQwLNV;ySbD*4=Dd_V9GY)=uN?TWR*sa_1?uYP&z+&AX*A{E_NTa!FfBnHMp$)Wl^7fc7<wBuF3m0Zpyt1s`9=>TeeCs>X*6Jxlc`UITqc;mFA&Me5f`DWd78dK!PR~G9XYB%&6`rsJ9-HajDwpw{nxQh9G`iNSUeXUd*V<1k+?Gy54pSUkIC-y8R^Q`;#4J^8#`Ufmb5#!K?K{Tx?Ja*K?twx-kGhL`(bq&tC!}>VNo+;Oy$~cLA?!9T*6|wzHyVumg<D_`lOQp8!Ug%-I^E_>G4fz~+Y9Bc_lo~xurTi@Xu32Y*YjEv6YOe@vLZhFe*2XdBpdT!*rAB`V))PTH9?37%9mEZq{7+Clt?5@}Uw28oN8;?HQSb7_n4sRDW!_o7Q9tHW1H-lUJE(Op)Pq@`W0`#j>ckrLAHCvTu-*{g-<5ZcwM*@g=aXRC3#?ou)kUkp8n299=DOfwle}7?AANEt_v}%%uhhJ;pnbgSSx@Ad^G>pU9eV%b)gR@s+W0|D-b+@K4jD&q2lW>HIcn<#<GGX!>swjtwbw#zx=p4(>+FekN-gLqP6zD8N0Rk>sy)=|#{ZblT<bGmb>EZH+b8WGO3lao^|${tR`;B<-U>BgI~48Jy;s?592OfJwg$eTKY$J{2g_gGvikGZ|MaxK$-ao)ZcyAU25OcAzV!}{-h0zPtc8~0e^9P*b?FrlC(}FV+fAwA?1xbEOPzz3OcOuP)W8mLdYyA@b?$+h?5H7+<iQp5i<*G?wa)Pc;^K_)yCi?qIO}>#^}kd4kyo|%oi)$(3_Ann{($>IJG56<zD16oCDV+pK#eTg;8oYAQlnRI)NDs>|JLA8$xp7gg-ezFhswDi2A%sK^OQ=8', 'float32').reshape((2, 5, 9, 11))), tf.float32)
work = lambda: call(x=x, window=[2, 2], strides=[2, 2], padding='valid', dilation=[1, 1], ceil=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0, 2, 3)]), float('nan')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
