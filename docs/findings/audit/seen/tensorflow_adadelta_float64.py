"""tensorflow.compat.v1.train.AdadeltaOptimizer, tensorflow 2.21.0, eager: outputs/2 is 3.49e+03 times rounding off."""
Unsupported = ValueError
from collections.abc import Callable
from typing import Any
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _applied(optimizer: Any) -> Callable[[], Callable[[Any, Any], Any]]:
    return lambda: lambda variable, gradient: optimizer.apply_gradients([(gradient, variable)])
def _weights(make: Callable[[], Callable[[Any, Any], Any]], w: Any, g: Any) -> list[Any]:
    """Return the weights after some steps. make: gives what takes a variable and its gradient, and changes the variable."""
    if not tf.executing_eagerly():
        raise Unsupported("jit: an optimizer's variables are made outside of a graph.")
    variable, step = (tf.Variable(w), make())
    walk = []
    for gradient in g:
        step(variable, gradient)
        walk.append(tf.identity(variable))
    return walk if len(walk) == 2 else [walk[0], walk[1], walk[-1]]
def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f'{name}: TensorFlow has no other than {wanted}. Found: {found}.')
_train = tf.compat.v1.train
def _adadelta(w: Any, g: Any, *, rate: float, rho: float, epsilon: float, weight_decay: float, decoupled: bool, maximize: bool) -> Any:
    _lacks(weight_decay=(0.0, weight_decay), maximize=(False, maximize))
    return _weights(_applied(_train.AdadeltaOptimizer(rate, rho, epsilon)), w, g)
call = _adadelta
w = tf.cast(tf.constant(np.array([1.2075830838070993, -3.194735837371765, 2.6504287553805024, -2.6795138106492296, -1.4019978688617574, 1.3173513897765752, -1.0919830116270928], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-m!@c|6qJ7srJxsb8}6qZEdEQ7T3~vee;`NULO*q6kqaYZ}TUp)4bzK@7s!$6!QrnHEcEL=-|<B3ss?<oW&a>-xj}@AJK%_dVyH^S#G+jUFS|i-XuBwu=b??WnN8?Ai-iGL-H*v1w7N2yy*?ZEj24b@D(YI1fDby2H(Y{8xl9uJ4^d%IxkJm7Ii5vdeqI<2cBqwkC?1Ct&V|XvGbF`#`J*%-&jje$GJZ0p{(Ud+MOx@}XK|PzJD47y_%xow09|xUu!D+!J)cJ9NX=pxa345GyZk8yl^8vFJj2(F^x3W^NYL$_5pQq{Gd86wFodcx*G*cLR}IN++beIS`QlS)a5}4}bP!4~qpKb)|t!{erho^F7Ro%h{5uCm%wpNp=(Y9~KZYL`w6CNvLV<&067@YG6CkZeFD1qMb#@z7y+nFh_Ow;x%X{BYSn`#RKa~K$>$c<Rmc$q7HeLSRQ{5yxM$HLbq?BTtSYXh*>J;a_u$kuCd7Iobf7+4$@2LBJaFl$IC&C1cfA0@h|LS*YOC7)VpA9Y42g?OHF}9t6}CdISL4-jL%$%V?rP|cY^1(KJ*KP^_p2Gz;VChd7~N2b^o)xIMN0bl_+3o4;<-+SSWkipKI~C71Bn_UhlbAj0_)tup3zj!5k&<zO}K46S^E$E0-d{fV8t?rp>W+aAo1QJcBd{qC8`Cqv;YPaZbCs{$MiZ1er_y2h-9}n}C4R(Y^U_{l&Vx!I54t5tg8tZ)t-srt05o>{4Jt^KX%^hUNYlwrd3RO}Zn)xpy}Y9H!&GRSkI^QLyU)r-C$}nDwdfVU_Erd|n^C-|F^++nt;Ss$xx_p6Sp*V6Wb*N%3@~KB!`E;5dX7*w=d`(u!ay`bJHBL@tiU4Etf#;F64vuxQ^GXEN}4brmzeimfNm-V^p2lD%<2x4vBR)!GMhvi6~k<r40Qm7M%?+N>G`LN-5}j;;s(e6O)P>AfI9qOO%;7J_tl+D~48e|#>nu-^HpSqR!CpgV2DlaFj>ea-7xnaG*>xK&t>4QpP7XNifVqJGlWN#t@5bMvG-g0Y>EP)9gh{MTY8{(fSVu}b#_14P5?J5D>K!jG{-dq>=YaGsTl&GwWd@yPJ(PoBOX49xjRUi~;kYQnyw4xBZUsu@^Ms0{Z6ZVZMj7s;a!TpHoB^1O0Ua}7|_#Hiw=1-LB4+?K2xgX(5SrYd`u|LdSf%3+fiW8vk5D`(L?2kbqiR5d*-a9oe7U#$mzW}+JvK~@1Z{+P2SNJvt$5`p`l;7feJUt@nn3Bfz5a1=C^wmAOWvs{lqE45jC=<AbMaO&w#6BlxYGqq}pLe*~}NLr^mPIeHu#P}t3I^*G$I*+f4nIGm=KXOX5jUv#Nl1sB;wxw|DxUZfE;W>2MCUUEh*%0`!Kbjp)U-5pj?1NhJCS&nAwyGl?JAb`F{q4<Gt0mL1KhZ8)<hykg)>`eBX5Er^P>+LIfP8EvSn|v-k>6CnfPU16qInL;*ybo#J&yv19ho6rE#a6O7Zq6Db?g?_>qib*5Og?*<0`Gh%hv|nOOwPq!(`+>=Wsfsez|{1uz2skExy2{^f@f<VnUsN1tYJ9j=YE42+y;JaQ+FQR{PUcmgjZBLjUd(Ssf4>mHca8UJdq<5><WA6xYI;xCwGoXCWFtTcP=pl#MyowqxI;Qy#(<R_x?pd;u`EhUTTE>1d*%xuI-(JNA8<@ZL&Se1bJWkG=iF->GOfwQJY?a5^eqI=vt@Qv_h7(XhXT1v1Y&le<J|=%l80_{p2gby2X~^w~Hd7%geFwluoOgQ!PG?aOoND1P9_p&G+Zuvw7twJxN?mrxz&vs^3Z;A5i4H}h|yP!^&Wv8R=WmagVVgc*;3s;2K2if#bNyRr3oxR&c_Y+JYANzDVK`1zhcj4y;5i)Q|-4ewyoU&ta$tp@4milkT!QCGw<eLx@*iqnzZW}@LHRSvFas<`}vMCS>l{ed{0XcGv@^ys`RltRqc_Rh)6{B{O)4c1#*{t}pP(d%h@)CjV1w44yr9+a<5;|f)#{%^iTdX);rW6tV5Ntm!Z2xS`uUso+I0IA!8hqh}n(N3MIn2O#3lsNzT@@>xuwAyrIg^R=^%*oFcj|<E`Kn*|VXVy`w;Q9vpq6tY3a-Y82pLBKz`}TPU=4^1y#Clh*WJ#vQBebs^O_t~u09|Hvc3Dq5jGY@+y|~m1u1O3<zeWb~HnKfm5|zE8K7MqAH#><o5P!8rzgmj}Deu-#v*Y@Zf9-Ua*v52-`4L5@ELvcWPE2oqdeIM_>RwQ)q+LT~D)VUF?ixffZLK=B$U(P`HO9XGlDQ(zN3nn`6Zs%CEJ|2=o>&G%Pulns=gt-LBtc_Jb%gp5^CZhV3A83>*s+uB7ujKjY`ru~#~OBk0ZiQWnd^cd!xbgzCXQ(4TZ+l4ur$o|)@n75E9wGQC4n6*OhaY;`BrMO2<2X{_5Q}612bdNpMUz;tcY(qHngLYF9zw_zMB%#jDX6ahIytH3-v2mI}WnHV*kQ$cwhPUJREOv%Cg~pV>B|jt2o~4R1V2C+ckDydIQ-Ve6OS(3ekR=!hD)XDk`=YR`Q=%?!%_vbitu1bwvFjx5q@B4URN(&o%OGAZjh+@o8cJ3{=W2rkY7e%4a%#_kYe~PIr4Ykw@bg%)8xRe@Zz8Ol!|emrm#7{P^6m++Ghxt+?Op8%;6ka!+(EKz+xQMin&PS37MqRs`z2+Hj@z3mVLo^NMtc0fvOAlgHuZ_tZLP%c~k0gBBkr9=x3T5_rWW)qAhLhTv0`DH42j*f&c(s4{ze`F^u4GslsB3h<|LS<w_K;a{j0STg', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.5, rho=0.9, epsilon=0.0001, weight_decay=0.0, decoupled=False, maximize=False)
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(6,)]), float('-1.4766894382388356')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.9e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
