"""optax.adafactor, jax 0.10.2, jit: outputs/1 is 36.6 times rounding off."""
Unsupported = ValueError
from collections.abc import Callable
from functools import partial
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
import optax
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
jax.config.update("jax_enable_x64", True)
def _walked(optimizer: Any, weights: Any, g: Any) -> tuple[Any, Any, Any]:
    """Return the weights and the state after all steps, and the weights after each."""

    def step(carried: tuple[Any, Any], gradient: Any) -> tuple[tuple[Any, Any], Any]:
        weights, state = carried
        updates, state = optimizer.update(gradient, state, weights)
        weights = optax.apply_updates(weights, updates)
        return ((weights, state), weights)
    (weights, state), walk = jax.lax.scan(step, (weights, optimizer.init(weights)), g)
    return (weights, state, walk)
def _some(walk: Any) -> list[Any]:
    return list(walk) if len(walk) == 2 else [walk[0], walk[1], walk[-1]]
def _weights(optimizer: Any, w: Any, g: Any) -> list[Any]:
    return _some(_walked(optimizer, w, g)[2])
def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f'{name}: optax has no other than {wanted}. Found: {found}.')
def _ascending(g: Any, maximize: bool) -> Any:
    return -g if maximize else g
def _adafactor(make: Callable[..., Any], w: Any, g: Any, *, rate: float, power: float, least_scale: float, threshold: float, is_relative: bool, is_scaled: bool, weight_decay: float, maximize: bool) -> Any:
    _lacks(is_relative=(False, is_relative), weight_decay=(0.0, weight_decay))
    more = {'min_dim_size_to_factor': 1} if make is optax.adafactor else {}
    found = make(rate, **more, decay_rate=-power, multiply_by_parameter_scale=is_scaled, clipping_threshold=threshold)
    return _weights(found, w, _ascending(g, maximize))
call = partial(_adafactor, optax.adafactor)
w = jnp.asarray(np.array([-2.489570484522835, -3.304205343327537, 2.329295494339505, 3.9332712574501656, -1.544107542655159, 2.2727018977044855, -2.1479585319207546], 'float64').reshape((7,)), jnp.float64)
g = jnp.asarray(unpack('c-jrpha(h>8vtO=x>Q7bimZ}VNr<NR(oj-HWrP;lB(p(7Xez6SjO<UzWt3I#8HMDWJLl|m_CDmZ;`e+0hR4$?F5PJ;6~aD_d>;C^jxzSHa<8-A1njx<+u4HNgj@=_ZcQ6#z#1W>y$KsdOO>v_d7~q!6emhiw~m3)?RJ+u^@$XJzJ14&JfcCzy|3}-j#jkRKa&x~=>>ne>u*&WKS6KuF1C_gEt15l?`qxlfP10*(q;`qprBA-YOy&CmRbsnT@#m3!AkTAGoc)^Lr&^)3@gAm)!2-s(Th$lW?mnDrGd4JFva{qH|Eus^pg*JfVLVb|EMtyhf8J)o&Ft%7b!8-FI5{byYb=ouZwIv=1r`ujjjcQU8NZjOkWV-95OeR^+9`$2Q#H40;!{8Imw565)xP0Y4o2Rn4+gCtDD_}YG(rymQ-Wmo?6R()_5OwjpyA_n#q8>E5bEVfkh}8ZT;B0w+YmGo*GrR(vV4ZyE>m;h4uZLZmI`ogMqW+V8RtLSRGOHuRi%6UBZ+97)3KtdC#1m-|0Ts;@6z8tXz%fT|!lr^~%8iazKUQZ%0h<S(!{UnTKeOI@Lq?Et0pyRurW(P{pLS|GC&CuuWB;DSXd><9t{3?60wLStM`&QSK=Cg7Hg1Gk@W4m)7Tx2O1$PT-;Fg=M)swROvR)kHMQK#e<o)l~`L<qw6={0|wKHHK$*<0Cz;_>anYRV0|&cHTXs_KKfc0Bd0n87Dabuauit*td%=JE2g60`!5s8MWwi!lwZ-RoB{%V&q_E=ZNMnnF3Nb9jZ)Fq>7I>an7-5L&_vw?IK_x_g$?{bQHs~_S5+Dg^2x_=eBVLGKpEE^jXB(uw!pZangD6FO~-QMIjDFi+O@^E7pPl)bA|ru2A1|3BhEjq=q+~g^e(v!pm)oByRk^1jJffBIhYd<`a9cK_wtOuEt}%A&mOcw^qhXa+<Z4I9B)pHpNc@IhL<iJb|6$U?lfum`~ZH%-ArAJXsi`^ZuMNV9oHF_{6pN<4qH{?^=J-MP_$SpWNz>Q*WBAG%f6ZfUh-3N!gHOddlIMo8}DPOv9*P_NHOlQF3uHctOSam%Dq?4Oi<mNb4Jf@1O`dG^%p!}fNg<8()MlLC@#LYmp8&0&fQn~Ci8D4s>}-9E_dsPp<ot)%YlOPBkbA&r9qUCo@sKIuLh~lnyM0!Jd`W8&!iO+2O)(ju6AksG0KjKgnS6=2CsG}E27H;h%QQVNweB9_VQJOEi(4_JjX;n@7xrgJ0+7AV*eV}<V{YnT-fMF*he<IJpkFYH$~#10hX>jrw>Js!;w#Xb)6dNpxi`G`zM@0(ckc&a~<;uO5P7?uyg8$dQg`=q%;9nn}fd^8+70{ze@w*|BWFbkLjMUehhX#RMau`=|mTjl4>X+4af5irm5!5W2wosvZh}P42vFm=bzLAEWgs7ca?h3XN)SxOS1!ke5SaB<2Uf4rdb)-{QsY@Wx%~N{n#7-s3cUR4cus7i+?S}A<@!)snKc_PTP`>*zC^&dCBH@!K6y8@o$sb?2wHDno<r#!&zjy9%>S*9|LYHnyye{83Zg;-u5B%K~PcgW;^X9$hiOM=VZ$?o)7X`E6<&Zdn^8mCW>)DSgxMZYE}jdUbGw5?^#gNy1cMIt{csK>ps@Frhv0f^DAOq5ggqz#CJhC8m~>;5(Vhv@N?j<ar&uN5Dz?yHv(s&`I3L5`9dYsrLMWWc_JCCXl>aT#Du8vOgn081XR3eJm!6bg;+TA`20&6gfE32=~I}1N!v>W`Gpn0{lSu2b1@FKdhNVx8_G@Mv3S_5b>0VL%=Cn_W~X4qjkx}%B@G;2K7Qb7!p8W80u%LqI*@AoMYV6nLyl4TN3JOzQsgG}Ow)sJ@pspM#e(b+RNF;03o;vlRh1x#gDXAQmrY}jW=sMI@*GOnOoE3`Wa;8MTqO5%9M`(rG3axp@}=xDH^nq_qbI4o1Ge3vFOxg_(J||gZ}9e~n3Y+s`1U#r<Zm9}J0dlUgv!7RIyz?fEOOdozjr%cb{D*yZ`ciQNpTMAMkn!(@xf?$zey}3tdWs134?we^VUV3K3F&)dHbkK9By<n@iXb{g>`(fV(Gc#aQ{RJMd14+?9h50XT#qDPL<6Lryg3O+L_BGP5s;yqdmr4F6N`)N$%&*-m?guyizkxJcE#45-Y8-ZUoG0+TCrk+t7=*fu>RQ4or>*5Or=6NMGY-P~P`FJ{kTy6Pip1cOU;4@mL1zX1~%{eBKA9+yf%F6DQ%;Q}^~$>Tw`GpX!jqoWf19nnqFNED*bU&snEr2rKvxUDFhtfXuo;!F|<CFuJvGnF#%0x6^^`b|w^`o9k8#<**?vR!;n*PZV_O2d|%W7=$f_MGLZw8VF>K<1}LierYI1zdF_im9a9bWhWA0!w*Zp2WM6=M%78oRPzmZ9NhnnH9HT^vEA)K)NU9voaYtb6hkO~#zL}$HY{sZ5idCg!l0OBkpu4l1`)}9ynkaL{WN*s)rJ`u(N~j}aO{Edj1&BBU(?a##?Hh2L@El2>YQR_(BP~fZ~l*(9++gT5Df~$;iu=u$ll$HctTFf%fh(_eo!NL=m#4y+2iG2PJSD#Ol~FXxw=BsslNe29;5Kv(IO{J?mi?@UCQjEH&8xhY_1J=nuN+lh2w8zr{QqP3YqCU2L1f2k@lA9(4X%4RU&*9p9=rVn*Nl8Z6^u#W=9v$KEdJjl=c{$c-xXI^`{w3=xg%aXd_tA9+FVg{RRjxC6$+Tt8w(KW}U(tH>^4-wj(T}4<)IFnI*qEA<-_iH&d(~Z3LZFdxO41oh0`Uw}3eKLa({D@`8)9QHJ)(zdZ;ec^3+9)pa5L39I7YEmhzgxV`m<^&g;q*&zU)`H*TnSKeR{3A!oiO}h%XNV}Sx=n@_8u{*C>I?E~--E((yX#As~^qUjT2<QXtP2pcQrVL{V_m_=M+V6nx!kz<XRsO=xwB7sT#FKE>+}2?=Mh|*)DZZ2+U;=U9om4*0-`HtnW0%d#!UVh2q!MNf5PrB?5Mmfm*;Ar7mKz0y<cD!Q_eQX=@}n(7hz+GC?*<vuy>L2?WCc4I==xUYa`~PlAkqu9hb>!y%<oz+QJ0PvM_v4N2g)I0H%oD>zY3n2WP~K%{)7B0E8l~>SJ39%?2&=BkHC=>+oVqCrfB2|)M^<HKv(kX10L_oVLG{cZt2?~+<!7o*dz1@FXk>%s}1U~b*@gWH#HGbxqTV+6~YuTUUsImq#SIoKI|xAL5HC(BaaP2laMBU<!-~XDXbD#wGM!8;8>!c$Uq8c&B1V!-XD}Y7tr!Ni;SY%^Q(8f8HA8)F9tjH*uYtmj9PoX56C;dW!+dmgo>~FGb5WKVd|KCQiu8<v}>QY&E*M4?(5@jCz7c!?vwc1mOTR6uJPWXs%7|DRN1KIbT4Y<sGlYIJp#MZQT7erSriN5q(@yWfRhYT=GN>26n!sevwwvF`Y{LB*Ys9lAhY9wP<TH44}2}A#s', 'float64').reshape((50, 7)), jnp.float64)
work = jax.jit(lambda: call(w=w, g=g, rate=0.015625, power=-0.8, least_scale=0.001, threshold=1.0, is_relative=False, is_scaled=True, weight_decay=0.0, maximize=False))
found = work()
found = found[1] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(4,)]), float('-1.6379043599371554')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.05e-10)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
