"""tensorflow.compat.v1.train.AdagradOptimizer, tensorflow 2.21.0, eager: outputs/2 is 813 times rounding off."""
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
def _adagrad(w: Any, g: Any, *, rate: float, rate_decay: float, weight_decay: float, initial: float, epsilon: float, is_epsilon_inside: bool, maximize: bool) -> Any:
    _lacks(rate_decay=(0.0, rate_decay), weight_decay=(0.0, weight_decay), epsilon=(0.0, epsilon), maximize=(False, maximize))
    return _weights(_applied(_train.AdagradOptimizer(rate, initial)), w, g)
call = _adagrad
w = tf.cast(tf.constant(np.array([-3.47391202377707, 2.7859031070315594, 1.1963961288831493, 1.4770167464357593, -1.9105122524130653, 2.1812986879369047, -1.8191284743047862], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-nQAX*kv27RPyz;)V>#Tp5zFff8z^BB{ufj7bAZ88S<9NWw|RWA2z|GM|%So24T&i46Ts$q+Iel5Q_<KliykcfZ?fuh06fz4x>B+6T`t;RiA-P~?yv>7rZ)JTgpdu2S!S?011v%^T^6=09Wd^m9&%LnFwTut&=U)<a*vEQ5`BG!P?J2r=8@L4>@*I_lmDd;_GZ1*S}ln{Uq0Rc0#y$8n=NYWXxG2}^O&YeYbheUn+>#X$7)UvDz+^SnU`x7}=m6H4F@$2?FAG_o&|sKz{(3Uv-POx@*Z@8Y0*xL>I4AOX&W)Qvb_%0aA@92=Zf3#PX=v+Hg^bTQ1QI$uALJPd@XjqdaVkx-_lIVo#m0b*43eJYX@Xh~*pu}7jB<J!45yz#xYnErzgv>sN=HxZ9L<1y#lFjV$w_azDXaWGgvRHJhz1M^E*#fgv=N$}i+=V+wO_uu*4j=`Vw!`6e0$9lPB+aY|KPKlw6gxSwloSN_NuK*+Q&mNP5bk+8953635#eqdj3hpy!1f*E4xo8nbAZd=IC@fZkaTjzlQ;7Akh{*HhXm(yZA|;oyKbTBJ1@^7=qMPxU-$lnbQ&FL<{U|={W36?kU~|KtUs>kx{(##lU9RqyjM>q(2AQ>!mDt?k-F%%w4+Z+UDaGI7M<Fxn<p`g}bHrw{+NEBB11FggQ4P8}nA!{@92VO;&j8leBMys^P@Xoex#R2r`uuoehxQ{qFg)L9XOSBN*P^pdQ>;r+b;N={SO#Kxgw*{FE4Le9IdtUIwO3zJ?r4rCYq&L>ol&R9aRwm=z1DJr>Sm<hy}D3p^BU8WQa!S&7Eyu4QOYwe>fA6#YGNdd$cK8UCXA3WX59`Qoo^rG(;G0(=9h+vWN0<?N4;>H+w~7pXnZ3Vus0XjKj`X~-pGQb$s}Fx-Zoekw<x@Mt`Up>MG1nFRraI(3I&O-$EVSDZO0mB4ol#4ZN+Q;h=4}p*!mWZM`*8DQNMdq4yLDG7UW+ggh0%1obv|#0v2!iwO6a0XfSHB`$ah-HiXid#~9xG=3$(!8J%LOQW~i17W?rFt{~nqnyXSg=@@^$%Vk_A`U^DihYwyYsK@L{do#?b_!QU$HWBR1L*TVR<L8hQ2Pdy^8qRt;fK{D5xBK=o;9KT(tSaBCcTtwsi(F^OkjWk%q}Dl)+5Ze8eSW~?-F|Sowb@K;{;zxZkr)jOTj#`C?JK`XjD$8^#dNth4xH(>g}9O15z(KXU7Pd<^W#X!pv%vUK|&FN*YFb)=zX8-H&SjKwtmq5n3u0{21Lv@akAtQF#BW0Vkg_W3gC6=E62&NAiLEniqWr^aQK_l<ui`*5btqIK+@_Th#UztcZdtY@&r!{OQw-#c<tG}D5pLEEh?rG!EL_4`}SnV8jB0;8uO|;t~d(+yYB&}vF)buCBUaFuw2MBgSI=w6xXTR0zH?qx0jp`l)3VL-I%UMA3sh#A@<c`dXmq0@3DMML=jrjLj01+NaXsHwb3?j2)Ieo)-m!2c6IvL4wHUhG4QiUj@+vEsn}HyPoWa9`@s0KVYB0}e6am|zc;)V+p+cTk{AM9^b=A1>_PJV?pd(MRe0~)WsW#qcZqO_rT^bJe+E^uI$dDrENT+&?tmFz<hvf4Yf=#ll@AWj^)@RZ1(AiKJHix9Px|RXAikgy_$1mjw4~?Z1X(GPZ6g%X&!(FBpNT@21JgYxKDVNfA%3EfbqdDGlYaCm6Ek7WR!*FCcMos|TqWr7B%!-FEgLco5$25*hd)|%ffkdn%tP8rjHCMW%809O)w}r{fhRNBalkr0!PrYjgjV|Yu>*U_=(-~<E%kT;<~P6<y2|BDg3z+XTbiT|h*_dOx>p{K1_iilz2wtT)l%3FAHnxvJ}_>&CpZV=S_-}_Uisa}ra0Jb+PvC;PcZ9_LRvaVDixg>wsXSrifx{sFLbKF=7o5H_nWoZkjpmabI4%>su*1j50%(~80!l*E3ywtD_3@D*BJThK6VqdN;NjC;hWeoYn}9ufaf}YE`U7>XbTwH)@$70@*K04i&hjAs#R)D(PdzIZZ}G5jqd;EUKZ&cmid5oN>t=EWkdjRnYa5~q8dDQE30#npdjuzdQaz1TYW5;!EH$MRx<E=ROi&6YDFyj*DaSJ0oc~{uaj+EQDVR4W`@`xm@1fAN7`=H5#i|)m$Y~>h!T4JGKf>4AjI{&f)WJqLU7UsWnuA6_Jj-aUn#`6QN~Bvm#GPmNp4-`4qigr27_MhvnN2GxMZ-1Xb8wfzkA(lHU<4u)zoadt$tKrqS|bjpNO7%?H7KK`vtR~viH&LDshILwf@UjB*vj}Xh^?BAQ{us)Vn0*yqpTd?u|>11S*_pEX{B=j{=@=p=86=FchV7>6!M!RKzr;`p!af>mPF4sD`Ru)C@&TDd(OA{_e+OQKaeMY?xu<r@b$f1`}zcxGs@K<UFh2p&_*O?mE@dDCnVL<Zl(^w@iJDWSDq|?rA$9UgJ37kkn*I4wF<dFebz4Tf8p4HKf1ZSI63XsNz~h!dK{;>?)H$D_3Vn|6&Lj2)ugM3!fq6@MdLael@0N?89+k&(Clqejtp&DRd6rshg=unTEsptTlb);Dic2Il>F*>(OPeqkDLm!~fE2uO@^FudkpV6xk?|-M%Ql)$F?}PaJeV3V82mk^|`l21XHGRT#IeNl}qgw-8>Y!|7@1TJ$=0{g?k-0@UiCR<JE8ggnc(5)Zo`plP?HyG)A4IKGd9cVx%2pxmUi`;=@ie7KtDz7zbh^_&Zj74VfEU@;S*e0Dw%vp4*#x0`JuAS%Jn>lNJs5<Y2Iyw>~-Mw$$g@Y}tByX}6?_sKHwq!{$v{ZxpZOXt9+A<{oJV7Fw&NTw-7{{|lMTp0', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.1, rate_decay=0.0, weight_decay=0.0, initial=0.1, epsilon=0.0, is_epsilon_inside=False, maximize=False)
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2,)]), float('0.7668352316913503')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.2e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
