"""keras.optimizers.SGD, tensorflow 2.21.0, eager: outputs/2 is 6.9e+03 times rounding off."""
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
def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f'{name}: Keras has no other than {wanted}. Found: {found}.')
def _sgd(w: Any, g: Any, *, rate: float, momentum: float, weight_decay: float, dampening: float=0.0, nesterov: bool=False, maximize: bool=False) -> Any:
    _lacks(dampening=(0.0, dampening), maximize=(False, maximize))
    if momentum and weight_decay:
        raise Unsupported('weight_decay: Keras has the decoupled one alone, which with momentum is another rule.')
    return _weights(lambda: keras.optimizers.SGD(rate, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay or None), w, g)
call = _sgd
w = tf.cast(tf.constant(np.array([1.0922075037069128, -3.1362108277894487, -1.0934591949221184, -2.4540027404165112, -1.2181271883140132, -2.9923551878303316, -1.9220717207711506], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-nQAX*kte7r=Anx|Q6BMk&=bByvkdVJRA<q9igzB|@gdF(s9Fk$Ik{6OMCm4sIFCGDL=Cmhm{!EklM-RBrB<xBq#b*YmD#d$0Xld#%0J+Iy?0PtqiLf{-03si;qxM1^SINj=^BAVzX)IQ~yBtoW~pmdaY>^F6{^2J?8sP%;#5zhRR|b%mapFlywx0z9-{&b)0Z0~DRNN3mo&@F%xwB!6kNIEfhllwTRLCf0kpP+x>Wdr@bJ!V{}E){Q<U*70j-%@*&>#A9@uIw=MTBRu<^KP1N@pU<xTA|W=GDjL`gYo@^e+ASyX-l=;hiA$94y#D$6kScb+(Nv-cM@593-r43MJ8rXPEX5T|d7tuVg});B+P!zysW^m!{;VWd_NyB(e@wJkw%QFYF3BAwI}M`Y7bW8zNtc$zktn6z?PEs9VT~DA5#eBT7E~keT6hFr$p@O)`C|}VcH~~CsvGQOUoDR~(nauw!j|--T=q~lVSV7YB2FCkfrDpic8=o-zM6F#wVfcGE7JbAk!nKUda>*K<9JWleE-En@dy<q9#eR^g>&&qBlG%9Xaz*H2DGO>2!xjjA3n~$?IXBU{caukgAOQshX4Fm=Um`h!zL^3^8pQA8N1S|mpJ`Fv|tTS7$!9-PhEc5Pxv`>GC<n1*$Mr{ncQn~>>;DIK2c<U67sih8zc7&qlaF3N3^>YDoZE#Dfx6Q%SZK=YVnL-87w<~(PV!|9#p3DTqt`mLD(1h)~@zMB$MD0c6DYaIfa1n_&WBpAF1%9XKy`sPdv1b)EkSiIzf@nN*B1E028h6)f=w16P)x5UOHEeKB&DtH*EW#2((oQ3^eZyz|4cyX@P=oF;%%``he6~bTjZ4yII0HmrJ+0$_^z3fOPb<(S->IFc{k<RWD9~f*;rRk7QQipz2~_Ua~!y_D5>+mG=<b{3yAnvw(v9>V9)qEaG6r?WG_S+5_|;iHsS9($O}!qh#uf7lthq?RI?5sWTU&=M^%RZop4Fnl8VJ1|#A89}Yha!xFPcA9!95fwsaOiw4JQC?{F{&DSrB;K)ofKJUvZxKo%KX&jORLsK>R+NEizKuXiDw11C|H<(6;uP1`*HIj9%Y{#-ZOz#MyxSxvva$|yl&15uMwi?yHw`s*8>WOD6=Amf5&bZlXp5v#ZsdJ62qCMbg`DCk#bns5P<?1ex3o*JzYIFQ;*dQBPr92h{B#J^AQ?8NVrkH_|;>m&dQTT=G^f^bQ8{TP~(xKx(T7Aaz+Hss;)c=0M(+T)>o@TI=^9as0-u8Y+T?(YEG!xMEw@1aVsxz+D5vXq8>NdNZ4OtR#?Xr_msARZ#Z(Mg9!8KV$>E}1aV)K=v)yl$`v3q!N3!ha2e)-deuXJTG^o6!=v^|srPKlRHprdD5|8g6SH$MX}Vt&?_HZBqU1-(Wj#qJomWAlk5%Oqw!q4$_+qt*q4<45M@=j(s>hfwBi{{Hzq<dLL2F}7e~xvI%HBi$EX#biymH`Nk;p0CY*<I-UYnb0&^?;VIdHasCT?nICx?PpfC)MIahQ4FK*EF=XaXIs6gB=+0K$a~9wii$0QL8XpC`GmbfXMKZh#Vi<fKCD)~+h<w6@68S<T@#2!(@>$K{;T7`+tbI-+}Iiy+aWA&<x4!Jnd|dlLo7bJ`p3<jzp6O>9<4fe%$JNAc5yq|J1DTuOY>B6IvEN_)EPZ73>18QcurzZBv|y0<;!SyEjv%S0av^5r3?tB7cDh?x{m_-<&JvHcf`8k^~bmSxNz<>Ylp69dkn+yW^~$2J1ZRLDz^&V)$zv9VcM-L>e~n|ewE0P<my6BziU3LHSW?P^rEpE={{LB{DUQ#wwdSCGQWPxM2cDTsGuMIQ}*V(xI!vi)Vh7wK$?!nU+0{15FNq;{~XM|`KJf8<u|kJ11gC9^w9H8GbsaiuFazP{Av#GCUs?1t9+3C749|Uw7|obDqDqPZm=#^XuInBVS+1JvtjKiokZllyEc>7#kuD{spcw6(lZD@pHi#7p0mp(#%e}Mu0fRv5cy5Br226N=sdZwRktLT;0ODzGd76$EzA3v1<`j~o~NMl=jcVQm2oher6>0z{1P6!E34KUI|%nAgf<1X$Kngt<B(G~VhBF7CTo>tbr1$VN_q8k$_u5%!b@6zp+L*@;9{P8ALwOHWGyT>qiN0~I?JMk;5Mb4ql|3VLBo35tUM(g?cVO)(H!p&yobuqlXPcL)X%vhN?RO61+4g(4je9WSAW8^QVb;G2k(TtMkpLQkTbs{8Uv&mVty{eXg7(JGTksR8GAj;Q(i@I8y-f9nTUo#(No7!wbQ;RApItJAvFU%cKy{?RWgE8TW3VsU&Dawh-!~O$^gN6EO|Rj?GFZ?(-gso>xo!VGVJ-guQ_&;1#eKP18`}+ORd(?5PsQq(yVP`C&9hq>n8b<^oYFJT|fEvm53+^s_I@s{D?=X>r0z#5+H)o{X@nejo<`t1f%^y6||n%vty&KA&Lvw^3W@Dpyu;ju4(5uLKS;@eSI`Ankl&!0`%qoqh5X8tr=cGQrmCTS4c+{g_Si0DQ(Cr|CYW-*9lg5##;Levf=;Ld5zCujk4Y8gk68~;&5d}2=YEOznFH5Q`e5OF8(=NTrl$x@Ad~p6p)X%9H?pY0ws&J@>_ft@TBama?gEvxT4D;YblxY-WEsHTwN6R#;~G<ynfwCD6?MVvKlJE#?G$qOfDAw5V<NGy!jrgSbz3B-@ti~>h`XtW^PDB{l8V3I|{=vQc&y1t=apydDEdpFIo#~g*SedJWB#zg#uAV-+NB~^)wE<HF&}E%**j)85bzMnyB%@CIrnw2B@?%wK()mN6IE!9b>PEjLHqNh`5V#E~s-K7Q@kAMJw?Yq3|#G0Cx2', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.0078125, momentum=0.9, dampening=0.0, nesterov=False, weight_decay=0.0, maximize=False)
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('-2.2225253414389003')  # by the definition in float64
is_right = bool(abs(got - expected) < 7.94e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
