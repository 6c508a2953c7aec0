"""tensorflow.compat.v1.train.FtrlOptimizer, tensorflow 2.21.0, eager: outputs/2 is 525 times rounding off."""
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
_train = tf.compat.v1.train
def _ftrl(w: Any, g: Any, *, rate: float, power: float, initial: float, l1: float, l2: float, shrinkage: float, beta: float) -> Any:
    return _weights(_applied(_train.FtrlOptimizer(rate, power, initial, l1_regularization_strength=l1, l2_regularization_strength=l2, l2_shrinkage_regularization_strength=shrinkage, beta=beta)), w, g)
call = _ftrl
w = tf.cast(tf.constant(np.array([2.7894398542685868, 1.9647068535475884, -3.9401327892143474, 3.583110246961505, -3.6176327551055283, 3.4960740704880604, -1.639679732261992], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-jq?c{mgb8^tSGue68|rK}ZFH$?KbD1}s(QY0UdL?X$OE|o%Mt0+;_ST0gjZc<)L_I;a)8Dkb>Rx??Wh(3Rw=Q-!E-#O279t>ZR8mEjPzxR8Sf?PYkto++Ic^d_%cC1lZt5^qxGR8W#(E{9|x5M535)US<6M9cw9EC|1C1cZIAE-*QUX;EOfKNzeTuYJ&Hv1U1J}zp*QSlko<&nc^E*5g$H-(Et7G+<1B@KVx*b{oif(S9`Cral+D^M=LF!1`!2tHl8S@C(00B37fhOOGghfd}%?p^*M*0_3AOt{nV9KH_lKQ@9%hVL^7XPaQfGN&=cy+YJ=8W?=Kj1FabR-a1?xL`|gGP4O~!_ugJ+uNi8xUV|v)Tz&gf<HN7UMm@}q%!m_Kd&EVeoHh2#xgNtUOwaeGa)Kg{QP%jI~h~fZfm7FHiFr78DA`Y5INGulb+AmcsqIj^@BGkQ2HZng=%9z);r2bh?0q*)wf0OM>!W#uU&GXCJM1FABIe}RzXT^<Y*+h7ERS$ipF%Bv9KtnXDGB0i+2s=`Fk@k*O$%;CUgP^J%U<UEV%aM?t2#>7PQw~Jn$jC3!a<aOIJ$mf+@WpkI&{%Fsn-Ti*p$nn?rU6H-?VD=h7<O!(q*k-chvSi3SBU4buqso^w!gSuinsPXlU}B-K=E4uO#LbEvRn6y(kvu_x7uKqmc7Q_hQS42tE7SIgF7(H7Nv`}4lRWvTkWn#(NU9GbXV?8b+Wn(Oog2dFSunA@^?3k&a9#XDxY3P8f#S!HZL36)LwO*bn>a9&06Wgzhz#)9XC@VsW&?-Zy$s>6iv2Q>9}xqK*NTAWrp{1xVnXn(S7>T$yA=kAW`Y8;W5Z8>c?1m(HsYrWSmXje|*<q-;o{^^PFuI#}(<xTn5OBg6+Pu<1IZbm}|#j!PAbO?=GBmb_l59agVL=Z01z-)W1!&ZGVJjt`BPt14XoTfQT+ChlXc0ZlFRC>@g*)UIu!^DrzlLFGTYrszH>vrBW1!%Hw)`e}Lz`y|?i(BMsEc$lw+48u0*tnFNRT)A=l|;>*4NA>uR5@|=k`@zR5}ZHz#gM^x>*Th^*cSL?eqpzfax?nc>&H&?_TlCDV|5<uh46AJ**RjY2@bR>q_j`5p;dVuE3l6b5rT)Mi=`Q;7TsZ;Y0HDfPH$5)7J4mr>hT#{sR1;KjE-U)XQ2nVX4boijEh&8v{_bsfr3O|_iJa{p@Q!7;PiSL2I|?)m1T0U;NNp;D&{?)+5aUx!G07Hxk8=0X#y~|aih(Yu%IB$=z7LE1}YuZPCs(F4!#C^eXQS%SeTKNtFpEge;(5Qb?1->dj3)G?{?}&$_hnp0D*&3?6cDw?u~-Qj4Sb1Jrhf=biG^~&qgno<wBoREF6B3ujbN9g5D)D_iH*EQ38s`NE%!`{7ECM@{tJtc`8mexle<Wt{ZNwTgC>0M0}6K7aHDuC;dU3!b9O=tyQ!l5nOjPkoxwK0g9rr3nnLqKzqmU8!v?myEnA|o9{}+|9*-US_KQyhZR7k%XH&nvB7>eRe&Wn0qs$nSs*ROrL<4eU~*t~epIU#d!^M%HD7bUL4GI7rwzjlj`A|j^HA^4obA~(CN8_w9X}F7$3tuRmWw+$VEH*9=7<Uv!^Pp8;z269#p>Q6+798>t7FQb#KkC!N{i4Q64<r6C`P{`!48K%-+yV4LA~#AxpznxK6$L1-oUHHaJt7nVkZ%7!h#bXFJ~dAO2R;!#6-LJyIaMa7~n?H|3nyO;Uep5KfWso_iQ|AFd4^0ub@QB&CyI~S--n6L6(iV<Hy3~{aKjRzjb`qeiB^DaX;YiN<r5NR^QZr{b*1^7;P}6L&_p=tC$KAOxL(M^O#%+?^(*7Gvi{Wzq?4Xgo%e{ng@-dYp`k`+MGM~1yrTIKE?<4qc!1o;0rY>j#nqW)}{<#NcR0BzNa`~9^h`|o5(~Dwl()Np9&eb^>Qd@i1<T&pYeuMG+bBgLb<8RMg_uKPIE*zR^|`eDP{M9&Z^a{XScd>_<5(%6X|bI@1~b;`l<_8AC-wpn<v4QO~zHCqE5)%cGiy+%E#SX8eOMOF@Viq)$wl6Fh)k**B><D;JD(ir2Ulw$j})UQItE-jZU!JUQ5GQmYdA~m~}$Br&(GC4&c?_-Ezdg1@J{7VeR>377P?wB&G%m;b^x`Kw?uD-uP`rH8<eF8r37M!5vI|z4Ca#Q6?LvbyaqDIShk%xcKaFH4Q9-ZB;^z$YA;*X6N-`2IRMk8D!}5(O%q1>6(2nzBk?T?;5jah$C;e=m==S)60L49{7ij1$xW;GH&;wZt8&Zw9;p=m$&NHavXxCa=s%GjzU;;R&J;-iwAG#_7WwX>DV{r=;bcihU$x*@&c~5VeIP@u70x=Y*CxM!T%}%66rj{tB!{C#=d4D-xqjp9T>5xVq)B*r^k=#^1-^WK|$jv8~0AX7iw6tfR`d;=#$kCewF@uAu?RB`O(EUMLJXs94f!^L4d;bVz)gP^4-f^?~JE$(5NDUFaAFcNPLixBgysP$WW-BRh$SJu&F6Pj||+8U)*+_<Kd3NWBeZRF7OL03lwU!;iHp;1PQ4HpW)u0R<=}NX!O<%WD)UZj`zkz&nT!qa^%?(Z7$Be(wN?Gy8<U2E?d}DutDj?arf_Qxv;BA{U*Pn3Q6Lxc5S{$L*naf2`hy*G|W6>_qd6KpVytzSBkEJ5c7MoL1shPo%6<?qsW6rk$m}w+TXBP-BIqdZVfsR9|%^hph1Sbisk7+Do#c#b!8UtuzT7}n3zk)Zk0Mlgb5jy<*lu39x@@Nyx}AB5FJi%?+3164uh|B>;2*4E)do_c=+xlL&@naPXy`1Am_N;cWZPn4An_VrQTzsS!8Pb5<(*wsvM?@d}tu&=C!((M+VQ*Z9cMDJXDZO?s?I}#NKGz*)a(o#H?<O+*HScgBSBAT17*+qG2*^PeVV*e*aHuAFUbdt>Dj%Hac)krD-E+bUY|I<sE1)z=7TA;pPfV2<vX8dgRjZ@tB>so8Q8(DGm$L>LO$2QbK8J^$1L-?KQFei-d#8Q>hspl@NU3mierS2(sUo=|raUfklsf8+lR$YSSyXjVKH7c=@IJDG>((Qz_k&$Al<USi0ZYn++RY`W>HVkHF2)=?B>!U6@dochv1sJsb|3I_#O=js$ZI(7(vXH;zlLEs12I)bk{TJT*G{8qh{-H5$;QcQ47`trz8jllHD74xnxNd8%y7DC)?PakiR;Dd7fs<hni>?_*s55JU&hgrK>E?@i!To*;j<fB`X~eNpG!1q&Q%+{7wLcq-ei<(Co%{l}A6yUx;~Ig<J#=QSB(Zv4gbUB$qMV^LQw<O@NavU8QGvk3ONRc!CnZ@`)GUAvp~*r>Jpoze4g7W#yrmUtUd1-ciEXqE>NB(m>OJd3-~_`^WXu|+&cXdWxg2<yannHMn;Ml@V~OF809ln7il1_b`OB*6azoQU-D', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.1, power=-0.5, initial=0.1, l1=0.0, l2=0.0, shrinkage=0.0, beta=0.0)
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('0.5299080549525719')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.06e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
