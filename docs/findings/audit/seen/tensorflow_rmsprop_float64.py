"""tensorflow.compat.v1.train.RMSPropOptimizer, tensorflow 2.21.0, eager: outputs/2 is 3.14e+04 times rounding off."""
Unsupported = ValueError
from collections.abc import Callable
from typing import Any
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _applied(optimizer: Any) -> Callable[[], Callable[[Any, Any], Any]]:
    return lambda: lambda variable, gradient: optimizer.apply_gradients([(gradient, variable)])
_train = tf.compat.v1.train
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
def _rmsprop(w: Any, g: Any, *, rate: float, decay: float, epsilon: float, is_epsilon_inside: bool, initial: float, centered: bool, momentum: float, nesterov: bool, is_corrected: bool, weight_decay: float, decoupled: bool, maximize: bool) -> Any:
    _lacks(maximize=(False, maximize), is_epsilon_inside=(True, is_epsilon_inside), initial=(1.0, initial), nesterov=(False, nesterov), is_corrected=(False, is_corrected), weight_decay=(0.0, weight_decay))
    return _weights(_applied(_train.RMSPropOptimizer(rate, decay, momentum, epsilon, centered=centered)), w, g)
call = _rmsprop
w = tf.cast(tf.constant(np.array([3.6084443703070965, 1.086184273216332, -2.1508519408031095, 2.679092340098245, 2.693648548621912, 1.0845090169683025, 1.8125000865748164], 'float64').reshape((7,))), tf.float64)
g = tf.cast(tf.constant(unpack('c-nQ8dpwlu7RRLswY9rUHze7`2njjWPD_d?wn|r`LPDYTAQ25QF5_;-b;`I#G$f<U(3;#bNeRg<6&i}lt!UfjoIlQfeLlzMJpZlrtnd1*cRlM}nJG@ZOXS4@{-jSjDSryyE-<rleIEyobgifU4rf8^zh}~MKp0tYo3Q^mi5$bw<)Z`mk8P2Zs`6%62ob01F5`Q|Ckwd)c1z^g93UMm*AZ6!z~=$M0wdla-gS6#VZAUD%kEFQbm~)yJmll&1fkkt82n4__=TOmnCrOt_ZQoH@u$s#NX_;J+-Blt!giv8OpR3D;BYdbr&Xiyw<?(j3f756lJzB+R!KTwIynj~&KtSW`YO1mlT<2`LW4u`&gyEaNd#BDJR_f0{{Xs=9iC4%kA?Lub|m-l8g!2-%IRtz25w3~zz3%+Xi6vlN?#mI)H&QW+~-V+$D^L#ZuEF?@cwk9$J3!UENF6H*SK&Jln?h*B&Y`<)#I7i@dFe>@9}wOj{B)%SkxHR`NldQNT5;`_*V}Ev*xa}-rIuHpQ(l~rla7X`=nguSS+DuWoT3JhY=U&cKuXitW3osjqPGpOGh!^)&F7WcL6Z#i$eDcQ!uDJCuE0LHo+xXQ*yl&xInHf<xuGfc&4`GQ`wWR$ecC~ThIOifvP^@*}-(Ysh&IBx^bqT`m`AGPcJUY+6d3OKg);Js(U84DgTXatQDH6gWutS7scs<gAoQWkIQGtT%PG?+R*DbuX6n2?7x=P90}YHcG(y$COFx!(R^h_7CwDuvd-)A4Tw};xJP^0Oh1c`Wmv_mOa*%S@~fU_N{D=&9b#+3ECxWVM%YIxDx5WkQ-(v^LxYQmJUYJd_Ni}suuh#_E3VgtA74pMmi<)>?0de>cRmLZalT{H*L8wQ;AvmYbEQQQK<a##(9`+@r3_0;gc2jrSs!qZ@6Sfh63*p47GVUpwx+w0zlsOD6R2mTGh^ZO1DUsC)$j4++Pv@a&wJr=unkR}o{q+znwA+Gm_)q=hc$ZH5s&a+Z&l_E^W#7mD_xk8mw@>#BeGJ1UGTx7$WdgG38AUpHZKz63BA5^fxkCrmqWp0PlfVF+0ebTVbyP>G4w9<6=|8YgNduv@>`pd(W=j5kKfh+LeIK%m*1M9hv*WaBQJiD4rvXsDH(^v1x!zyRrKZ|=+uo-Oe>5*O~vB8$&d*A-@b;1>r0ud<ze!5kLS-=O9jJH9be@9UV?3su^NrSg8nn4HrZWK1lL&Qc;t}r18g|dcbNO>7JQSIFx+JQ4j-F8Z^<%w2(O#(E047m0JD<b+tM{NXPXNuH2b8Bu|nRqwzA3_KDpSwnZIrX6C^!`veQOkXm@b>uI&sMsT|W|p14ME_bJO7MUOdP(zHcsBsT)~7v#vc@`g}R5M4)G_8BSm3Svqn#gHAUwRo(<o2XOUK=el<B?G+;+Fx1rMj>_Y=@+(Aqo_q+R=wZ256d;3m#}mE;9m8Fe%CMl1b6fFpwrPy3^3qZ$6e&I(NvGTNRsgi$l|AZE-ih8@8&#RHM;CB`j}qs(CBa@IIRH}YXQ5Au#*QTw^kTUp+iY*T+fIQL<eGimD!m%Yp%ol_?JA#qJgqHd1PuY2NOyL%H&h~apm0vF6BS_!c##@iOWcVbEgaIeMFhF-p}`S3&Yp06z#P?TaYUHAyUzudx<p+^>RF_?XkpJ@dfLzDD2;!i~juuK8bVK_@M!GC32@Ai=59a7aN1dI+6I1v245;#(B?w6G`yAXca!i<_>;;A@NF9hXE%vOM>~{MWC%UefPEeI}H0e(Qv%z99*v-@)=~#>|N5cOP-#IX~?=>s&&Xs0EP~=q<Zo<)ZBb^Z=yv%ZZ5Oe9i2#n6Y9=Bw<015PLykjrfxi}Sec<6a)l1xc5cv(iyR~BsgdO`z2ncqwRV1%TFJ2lcd|v_yZti@7VsLvI}F1KzpyT-&P1mj1O1O~sF@cI<{x(#uSq>Z-2W+V>8BM`O5_hzOv+(ewZa-vYp<bDgs0Y>Ty)N%4DJVAS<<26O>hn(=go1~-H=LlwedB(N%-d}2T1a@Dxg37fmc;@CdxI58*Fh)nA!9DJlEgVWrO^9a8_9i1H%2x=HJ>e-{7%%jP+de33!+1cTA=#01sU2?lUmEIBRZH_kNVE%}l`^OTX+G&J`1IIPC=<+TG|v4q3&j-ivMPqNL)_vk6XJVnyw4xhQCUXnL)CZ9FJ`zgnk%um;EJoP_Qz-S7Y`+LVsR!ZBBgo4gG!GyBsS4!6~(f?baG`TeXYkkE4(44};uh*ZgwM>|_*-s?bm{TauZ|GncH$^TJ9I1Jg>2ZvZBf@w5csY_Q}ps{TczwXd0*o5sl6SXwdXreZJ3-KZJ!fq4`*@`Jd9)*3{Wv&I{g6IWNbLXu3f;q$6Q0gHYG}!IzZ?|XWtk1?VP*N`g3<Z3>mg<}6!w|mEFCItrAloIyYE8KHJTCsSaQ6O_ju=d(uc#sXkxceR_54EY-S@*@X-nR$z7yZeT$AoIfOtejF<tbQ3;CO?cdkgAE08jhvJU(F9mb2vx7XO;0+p|06&gQdi2NoWoxRq_Ji$ov>!=TMG*B7bHo%pi!imh{J?<g3U}|jEVRkkB|LV5>Ox?zqiUP@;vseD4PUEf{Nt%jEqnPYBe#Goy1;njpNr#$e5d6zh)-)|Mh_GX}E6KEex<J&Ea9R4ex%h2pO<po0_d0=yOQ)|;<=L_^&}yomXPO8*H-<||`g9=-xy(ttT?wWtG+ApV120AdIlHK3&&-+h9%V^x2@bkZ6uU|8c++iqQ{>eNxMCN@ut|9fzZn_RwmRk^)pAs2wD~$w$FUzqHV5b2#~pW)^afiPu>9*QN`wDL<Ue<%$ffjSUe8NvqZ1W3^rm+=J&GeZioRt?j+hX?7M)j4<;B6j0de+idH', 'float64').reshape((50, 7))), tf.float64)
work = lambda: call(w=w, g=g, rate=0.0078125, decay=0.99, epsilon=0.0001, is_epsilon_inside=True, initial=1.0, centered=False, momentum=0.9, nesterov=False, is_corrected=False, weight_decay=0.0, decoupled=False, maximize=False)
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('0.2420767442662594')  # by the definition in float64
is_right = bool(abs(got - expected) < 9.31e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
