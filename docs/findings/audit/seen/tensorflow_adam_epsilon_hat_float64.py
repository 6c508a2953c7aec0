"""keras.optimizers.Adam, tensorflow 2.21.0, eager: outputs/0 is 2.73e+03 times rounding off."""
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
def _adam_epsilon_hat(make: Callable[..., Any]) -> Callable[..., Any]:

    def call(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, amsgrad: bool, weight_decay: float) -> Any:
        return _weights(lambda: make(learning_rate=rate, beta_1=betas[0], beta_2=betas[1], epsilon=epsilon, amsgrad=amsgrad, weight_decay=weight_decay), w, g)
    return call
call = _adam_epsilon_hat(keras.optimizers.Adam)
w = tf.cast(tf.constant(np.array([3.3941153535811557, 2.339270726510332, 3.1695787981836077, 3.964071634802721, -2.291106454686934, 1.0932190547252971, -2.3374647005095146], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-m!_c|2768^=Y97Nw|AkrrDCskpx`Ut}q1L1ajoNGf~TVy<m0W0ZYY#*AhL8OAUM@h}J%5iR!0R#ca%XqEfd?|8kg^WQno^ZtCE?{mJ-_Z&YdvR(+21i#ICrs}#&k@EY?WTV^^<VN)EsdRe)LjSq4*UQ~gljXokM&c)pof)Ww^}o~AS9{U?y#bc+LMhDabgpL?<)Q!QYYsjQeDX9I%r_WuX`K~-^3#uw`nJGqfPwNE!DCc|>pk$n>u*?zx7lN8k%{?jKElG)YFVI=SHH?lqqEStuH`g|A2mq5Jm*!nCLIj7{5T!zUIWZgNv$VVJj`!P#~AB_J_ViHvg@P(CBj-wzYwoK(=pvndc;o?Z#IO_ZD=AUKf}1+?7)Ugx;#ji+#77J6py5FA8uWfr@)F|WT8vaJUD!p-LMc|0>oo7Dj_GTF+Gog<^KHl6#&m}Ce?;MfD9og9Z}I-^kyz_O<PqL82mBOE2j#ugC=k9JkG{AYVmGjQ70R$1evP_%Sym4KS!^UMFVjcqX2S28mLx=C*USap}J5-pWl>>asNm(bvFmH0l`OoJ3bMy=}C!s^hod+9U%rQWg=sO_~f~dkHFi_(J<_ABgUy5S}S$tb1CxptkZAtAPlW_JAC`&WHKC9i;NkwX+Rel-;Q7S%?0CKbGO;|co^q-g!H3je>lYIzRcO`7X@K9mI}2gbtpGuCTYx~1->X<d_uX&1$V1Ub}5|^7{_`0#BW+5AIK{!qp#aCK$UYmE-m{3*6*LaXA>Iy3Xy_u6Ek#W3-(-gmDfpTJr%7>V4HIDOF+{vdC<^|f*PB0tTsU@tcj&88#1VYwz!{iKj&I8uFrxP?NAg7JMDjHI3A<Jb)2{ntVzP^8F-5SEAdeYY80$EVcyBdxCY^=QtB2aY8Z_{=JM&_M?VlOc7uaBA84(V&`zL_9=q|-r38Ybg|!Esr()bjWm#2ouMEiZt1Vt}pN9TBC&UiT8ChEn$eL#Q_m1W*&e0z4OF!dd!1BB*BT$}+wq0*@j*TinmR*YdgFS`lnCrEy>ETM?g-Ndc@Fo@G?E3xlri;qa@UMp~)qw)gQn2y9VwnfR2l0|NGp$J5c3Cn>vKD$vv*-sDX&9&OmF*L|KN_pAY7pP&gmTe>L%SG7i3idpvo%JE0my7n#Kp1d4wiRjW9)nehm3LpJT3{#IzbDaHWaB$MV5LoBDZat(ILW1QKxhoEVw?kh&oq``E@J#NMz&6&<$tLnkS5G=q}q&j4Uh0;-|-d$tIqoz=W%xW14aW<`=2=GCZxZ1nn5s-zYc}jY4Csi4Dp3P=dNEp<q4)whxI!UtHM&LVFAD|JCP%ahr1t+FriML+e(}GG80{FY28M9ADl_hu#s>d{Pz-vf9Pu<$~q0xME#u+DvyiV#gEqMg}LN4(`U;D2pzHTVQl7jPX&u@{O}c{n=308{b~Fu(;2J8yuvK30WY~Ch1%LwHVY5spNeY4CFxWwIv<w0zsmTrCWF|RKC4ZHKSLAaS9XG=!LyIaIV=oI3G=ix2(>$4{w&hx8CnPwo>&-PQ0*LcX=Jy?A8#yTDLe4VVYB2S$r=fH6Jve_Rtd%sWG&#R4zn|MLr1{>wwkT`wV!UWgz=;6ld>Pjd5z_HBz@3ZtyFKC2JXz22ZILZ2}E|jw$P*%lUk;(HE`Bc}HGyzEi#_)K~OnqJb(a+B}|!E|k@m#zv9Q(5<1$)+{a>)k7tCS}Dv(yQdD$!4kg7NBn|`eHIi~nOGNg_@H%MC6|@taPT!zcU2GNF3DGL+<s{wt_qCUy@?3}B`Bg>TlhF3ABgw$0$OY;uzVk<%}(p1nz8#~qU7_-0uEZfI$vJybPSpdv3ntnPe8V2N=?JEJutG#Nl|M}Hqsux$MI}?j`d|qONOjD;)1qr+K^?h;sMi=5ebqWm9Y8q<Wse{7PRWDc?(M~3a-4}Pv8Y|FwVU6o7%g=6l9Pm^<1{t2c`~coiriUVDY1|q^=kN6~%c-y?$=G=r=gE(^^KA2e!2xy9oR;WE#L%I%HK1I$6g3&Uf0uQ2IpiKU=t<cBhz<C|`iBud0fG!!u)%{?>h(5iz-7ywG%tclgobIceP&=-o(zuiuA#t|`92xUTK$o2@0|L0_y=-h`hGBSAs=)?$3b=sM!QzmJT>Tt7u_y;%qXcf13)qzBUjP9dt?@d(pN+>_rMrb0yiw?gm6Hy1*jUW)CqaN3ghM@qAHT`56;wmgBEaykWdJeGL2H?$nKnncvd;>wZN>guMTbx}*s$L;;|uQWoP;rQ;Wr7oK&p!Lm1aeNw3O|q^4+#1k>bUpsK9SP`ihwgZln_zrXRFO}CNiGzgeUouY^Dp#0JN>SlX903fnbkAiRt`;5sf_URJXps3BJ+B%9;<gu$BZI1Q3M`Gj$f>JPeIQ!>Ft+aaj<y*E%}psa9ofomwY#A-i-Mj77=|&NFyV&<a`CM6}d~-k7p{Ui6()7F=^;A%fR9ytn=C;m&;(M1T}ku3K48Hu00%4Wui*vI4LKs2C_#8%3OzBcy+<l>BpK<%y0B!e1$$L2Is5GNKD%l)Q~V!7dTdq+*6O?S17haP(9VFU7`>z=-$<7oxX+ny}ZF<Ec{W1=?vuQQD!4EU|XY%l$}!p%u2<qFZNADF#RZLx$xru(uCwIaZTf5@ZMSYcfEEf$XssQ;p?3b3{QnTwSmX5FRo4~8W(|bx1AuCO^0Kg0X4<ksN(_ZoY+mIQ)w_i%EVi!H9@LKnEcg!{;<V*<j=WXNyv17_m1P&g>m?}%%Qad^@!v6p-)Bk9-NyJYPIsGf#JT5zoXsiK<Ep@q28k!;wHKg&buDttg^TF%zk3Rj!KuDJIRaRsiTDcIIS)g)(3lWv!D=q@sj<fdZ1x9XGc2x3o5{OCj', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.0078125, betas=[0.9, 0.999], epsilon=1e-07, amsgrad=False, weight_decay=0.0)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('2.3314585624927604')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.61e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
