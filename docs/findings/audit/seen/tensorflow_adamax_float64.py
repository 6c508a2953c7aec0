"""keras.optimizers.Adamax, tensorflow 2.21.0, eager: outputs/2 is 1.2e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
Unsupported = ValueError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
import keras
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _decay(weight_decay: float, decoupled: bool) -> float | None:
    if weight_decay and (not decoupled):
        raise Unsupported('weight_decay: Keras has the decoupled one alone.')
    return weight_decay or None
@contextmanager
def precise(like: Any) -> Iterator[str]:
    """Let Keras keep rates, and what has no type, in float64 where tensors are; give the type of tensors."""
    before, kind = (keras.config.floatx(), keras.backend.standardize_dtype(like.dtype))
    keras.config.set_floatx('float64' if kind == 'float64' else 'float32')
    try:
        yield kind
    finally:
        keras.config.set_floatx(before)
def is_symbolic(tensor: Any) -> bool:
    """Is it a tensor of a TensorFlow graph, in which no variable is made?"""
    return keras.backend.backend() == 'tensorflow' and (not hasattr(tensor, 'numpy'))
def variable(tensor: Any) -> Any:
    """Return a variable of a tensor's copy: with PyTorch, it would be the tensor itself that an optimizer writes to."""
    return keras.Variable(keras.ops.copy(tensor), dtype=keras.backend.standardize_dtype(tensor.dtype))
def walked(make: Callable[[], Any], weights: list[Any], gradients: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
    """Return the optimizer, or its state after all steps, and the weights after each step.

    gradients: of each step, of each of the weights.
    """
    if is_symbolic(weights[0]):
        raise Unsupported("jit: an optimizer's variables are made outside of a graph.")
    optimizer = make()
    variables = [variable(each) for each in weights]
    optimizer.build(variables)
    walk = []
    if keras.backend.backend() != 'jax':
        for each in gradients:
            optimizer.apply(each, variables)
            walk.append([keras.ops.copy(each.value) for each in variables])
        return (optimizer, walk)

    def step(carried: tuple[list[Any], list[Any]], gradient: list[Any]) -> tuple[tuple[list[Any], list[Any]], list[Any]]:
        found, state = optimizer.stateless_apply(carried[1], gradient, carried[0])
        return ((list(found), list(state)), list(found))
    stacked = [keras.ops.stack(each) for each in zip(*gradients, strict=True)]
    began = (list(weights), [each.value for each in optimizer.variables])
    _, found = keras.ops.scan(step, began, stacked)
    return (optimizer, [list(each) for each in zip(*found, strict=True)])
def _weights(make: Callable[[], Any], w: Any, g: Any) -> list[Any]:
    with precise(w):
        walk = [each[0] for each in walked(make, [w], [[g[step]] for step in range(len(g))])[1]]
    return walk if len(walk) == 2 else [walk[0], walk[1], walk[-1]]
def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f'{name}: Keras has no other than {wanted}. Found: {found}.')
def _adamax(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_outside: bool, weight_decay: float, decoupled: bool, maximize: bool) -> Any:
    _lacks(maximize=(False, maximize), is_epsilon_outside=(True, is_epsilon_outside))
    decay = _decay(weight_decay, decoupled)
    return _weights(lambda: keras.optimizers.Adamax(rate, beta_1=betas[0], beta_2=betas[1], epsilon=epsilon, weight_decay=decay), w, g)
call = _adamax
w = tf.cast(tf.constant(np.array([1.067133304859243, 3.9420630336095286, 2.5339873251647287, 2.6078214480798714, -3.4157904433711064, -1.1523660933864124, 3.232727085517375], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-m!^c{tTu7soS}E-6zoyy#N7l6lCbeMN{&B@rs~6-p(Pq{E>yABjk&43)7X^RSNL7{W0{g~&YI$Z>GY-hbZr=Xq}XzrCK{XMNZH{?^{hKf(C!#?cE<PkdtOys`u}EWMLwc%zU?&XK5Gl}y<6zqO>UkgFv%1`5p!wj7a6q^xH)5gf%;5Zl5SA2qlJZ>|(Lgxw8-tdWWyOP@0Ie{Q{l+1)T~8oE?=>!-DiprJ^YmmyEygFOD)T>PmLEI;{c+Dw8>F2>d0$8(*$#YXDsP5bh4>=P0t7P%^TWJ3J;dOpLd4A6Y~P~j?XDEe~9f&s4{iE%^TH*MVG7hqo4C`Dp76^boKWDilj5T6n+o)lMyAna6rLVzz!sV>)04_0FOcyW?J%TO=;*2ea+%e)h%drt5BaqR^npTC#lAU^`lNrXZ|VKjJ$B1t!B#JGR20Z}8Tc5gho`i)$!T|!6US%V~Ds~9NEd%^U?z7FHUSj{^hiZ=qG5t)3D9)YKoC9iulo<pd2D$h;P1*ma)5xGCk4Unt3>#JS$7}rj0?mE&`2p_bs(HHw?;6xHJFsSwsdNDmxe){Vo95)hkwayJk?Z(e?3X&=?UvTZV7Uo(%L6>8_Wb$S^oG-HGcNd68gLb5YHN``~vYYwjL^K|8rtO{I^v}lhDp_sCQd_8qz%SZr<-CM4FLy6z-Hrv>l%nE0a%9jGytzSH_Cs8|bZW#kYB4>U@MBXY&keBBdz=v@u?DLZ+}_&#x53n(GOYf71*D&G7?e~*!xu^4w$O+gOwW(YD36nK00~a;s8hOWkUrp(bxf%mJf6HZH>#fk&Ua_6xJ|Et?jOsA+*`gF*W|7h#Mn9vR}`i+yk5^DVxg{<0Q-*L;d?q*MHb^hxpvb-Q#S{TOP2}sCbrXoNH{wn$})@2y{L^C->QUQE7EEk?=}b>aLv?nxr3Gl%5aQ?FzkHuw^C+cY77m&x};-$V-*5-e_8iXsX@Ku)@^ir6WTQy1Y3vQ(X3j*<0AP&jFVQ|tvKl3jpS;I{O_7ALK(A(wU5XfNSQj|Ms41LF{`pa<6nEBfA>|8PE%(U<0=d-u(R%AZUC<N!(MosTsSJ>=zN4W3o3UEY%jzIp=8<1c?<8$u=Dja2|3<8H4APuzkL=K6X0a6?0Y7@1T-icfo&I~Ahz}1+e@Aiu$lAs=(uS+#>p@9oP1N(fjCN>U9`(4;hP8_SMESHa&1YH)-3u7%HuY{Dw+=vj@Ih^{9X=L@38h>O$OT$7*Cw;ccIW>)Y|AmV<~`casVfxJsTE<8njK%`~_x_`6fpdT`;}(xbhnYb)#^C^VOE6doN7%(JZQ&8bQ)BTkGO>DM&?$yC$VSM^3MV(=B^<{InSn5@kCu4lhFrYSq&jNdtPzw=ZOqp_WoIXwEtaP3zpaPmM94Fz9&2r-Ov)ox5rrBDlpu5|U|(SIeRUzJb@Uiz^4r=mn9awFStlmcK2ma|4Boz4hc7{fy};GSG?a^5ZCaH89-rk1dquV6Bm;oD1}oZpHwGCDg&_T;t7XhWhRwo+bB_F^+0;JDM$S4)w+~3^5SKfL))pPQ#`VDC42$oh8Phy?#woQav0-WxrI|IT3gInu#ycv3v@Mn>^ikh9B@l&wRh9e-4z;V|6&A$3aaF=T;??h(wy&<_~6k#Ps|^)eM!TSE0wq-o#k!C!o)1xXn)$P$5e0JU#sp?qr))2>SZ~Z6r^ji~J1Z^snlQMm}8zKHCgt)&&{_`&K;crxJiTJ9=z5{VC+89=azuiTkBLGpTJwMJ-gUZgzgjFlF=>a7`A+RJXoDV&b^2%SIIX@K>HUOL7PH-3O}zjhC^#*uFy8H{+IACY&!lAadGi0Ue~UJ6V3dgB*t<@`B}e`t#m>B?I5>4P;M@RSmA2MDpT#RcXm@;eizlmd~|=XEJNA&-^1)-g)Ta9KIUklxUd|TtSnNyw0UAqrZ--hkvf``MnYvBkV2(O!dGCRkM@TO_4~%uQauiCl2G@ZT52HHq9d0%w{dVx2-@Ic(UEMul|=gu+%b>*Q>rWH}$%*haPZzh2ZIv!vpUoP!$ieh)9SuQodnW_JM^04<8t6j!xYJQ8!h}_~D&=o7YRz%@XKfb04R9RB8kX1cpm#TV$bqjmxq@d+CrV<q)-XEgc!xSAL%vti?Dnv%7|CIkP}==ow%w{eqNf0*Upf^TAeHXU#FI2lls#339WCz~~(1n+$6k#x0Ax<VhOM!3BD(yt4WRn9!SZxjn9-cl&_jMMDP)o3x-S@e>f@krL{s?7XX=?J6@0Q&-`0-626a5h~!%y|HT(C&88LyQ_Q|XCVK0{+uT%2`+nc5assbFfNX9P6_O~AmY*Tl$2fz*f^7LItuAnU-fO1IR0b*67AK9&bK2MV;m)v%6K?^9=w$dq!Wr)u=tAV^qjlu4=`i<6r~uBg9xehhb}I!v3$-gn|(iNW9a(O+YoKLX^6|}NnR0o2lX=MM~0Wzp{TYyN#!FR0{*_uDMhIK<-anlE*GyJ*anY3lM;M_Q?R`JVP!`8GAWQ+XMf)~J_h5IB{Ut59N7XbT0`w83K6|2;iz=2tbwbY#m{S#*TJhaGS|;53Z#Vt`N9oISiUX|KkeW6=OK}6?R$p(cVrTN-_gAP=`Z)KSfZ|$eX{|Jr;_z!3SF2;(l&~M7M#;axTaR|l0+f;Nd4Azl8p{r6P|k-w+Sdj^RT*{M+;VGsw=C9;n@#BO4n>~AuPZ@%Azdss_%g8F`aTzYz|J?^NAkhPlYA2j^eBN9bX=O?>dBc?c166E#D<11WAzgPfx&Mo+;>#W?J*R=>3b2Iw_CTw13|O_XM^@+QK661`ODn^q0bFRhO0ILpmBM*DVniOhb+Brg}dVf4yHe0--A$-+Ewxceq(n!V_YsRVN(PS0L`#mJLr)2*@AZSZMJrz&P;*2J`tR^H`n#1);LE!~', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.0078125, betas=[0.9, 0.999], epsilon=1e-08, is_epsilon_outside=True, weight_decay=0.125, decoupled=True, maximize=False)
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('1.1315425774880963')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.79e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
