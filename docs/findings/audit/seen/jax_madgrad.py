"""optax.contrib.madgrad, jax 0.10.2, jit: outputs/2 is 274 times rounding off."""
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
import optax
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
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
call = lambda w, g, *, rate, momentum, epsilon: _weights(optax.contrib.madgrad(rate, momentum, eps=epsilon), w, g)
w = jnp.asarray(np.array([-3.0661070346832275, 1.8321318626403809, -3.8864262104034424, -3.7350881099700928, 2.5350539684295654, -3.777353286743164, 2.8219029903411865], 'float32').reshape((7,)), jnp.float32)
g = jnp.asarray(unpack('c-l>reK6Ho7{@Q|Es+{hJ2orU^g>ycwKDhq&hy(uyX{JIZ(<geEaOsWr`@R*DW%Y+m1L3H=uJf%k$caJBzjZnmW_>@YZ{Fuw>0t+?K;Lz=b!WZp3n1rUd}o5Qyf*(#HYi=Ra#XUSigo!{#%*Uo4C#jr1j=5aIJVi81==JUgxa2>mA8|(t_r!>tbHvI@qwa7B_er!6;KbS|;y3^BW}pO~BOCsp?Qzg?fS8O*YDmBWI$?&4=Zq_G-vs*#mC4HKvK@ym8-#`pk2M<ODtcj%u1FpJ1BI?Yu>^Q2#<d2#NPYg|AjXxyfUh<bxFw8^*GKbrY>Ea-d_9l0+xj@p?J>R#N-En;tvoD?Zfx4kdTh8Wf;I<GL7oDVvaOVAJl{R%Ja1!UcH}UhjS3R`SxKk<XJ^kj-<22QB7%UuYus`oSA6B=$qiiEnAti95J$uNh}4`XM33wur13-c#-44YWsZkeTmCJkN56d=l(`3VFJ1Cy^rx@#@uw_+sZ>Hr`7@tchq7=P$NP9>dA3MwwUdMXozNQHpfhP82TKvf1gY;gNj+Hu!zQb#siq76x5B(9QN?dh5?2aNahB#A+h=3`;`INuQM#b**=*imPiwAqoNe`WABLbk2rqw^tK&a0BuVev3XkQ6}r&=)&t6&*;%8@*<h;)@^86@)kBJ^6`VzOgzd4T1thY+C30<C5YKg9~Sm`1PVf@ZmgHo9v*XK@jq<G&>@z1EkV6=LN%{<7<LI$3r>;9jBqhz%h+5|6|tPvXnas^>M{Dp`Z9c9BN64x<8hE>!vE*us5%EPX#iWP%!c%!2YB4y-SJM?Hax&{{Ivfpls&DIg&2&vZdtLE`!@|v6?KXPNX?DM>I*8)PFnqei?!t-yZa+}+%KdNMfup~%GjG&W123!sXK@)3?=knbrD;uh{2a7aXeRsS-fCb(ag+tTcO+jui0)^q#5r;Z#E(yw_S8gq2sH1{KChN>nx;4N#qPnozhyNzv4do@ZD;9_R)`%k|1)8o)|xA;yui@yUb&xvE}ktmR+>ed5=gM%8}jhw#skZB%IB=E()e!BvIpVYq*_z1nE`xWL|XvoE>PpBpjP>Mq9T`XB`ozS))gmY}MI3o?E+NEv?mVX3ki`W~X)Y__p+PzR&bG5e83QL^BU`f`jc!)|cguRmG?IUG21vlf?`_M@LnQuye8$8rBcWLw9}2=ev?-gzlA9!`$Uf(6}lTqSXfVPE`sSW$PMV3pMA};QOKkDuP2qBYC5`I^z=8RitE)UD>5jZ_!70)L4k21=EDO<4WF3iS;C8;_ixa7f7nY@2v&Hwbdl-CFL`mnfM+57r6&5ghx}-*j5K6Zg#BWy5zuT@{yZiVD(WTX&Lzix<551%4T=Y5<SdF@#|`sQ7AHP*bVCE@?0K}m&}>$xH}2lgVA5wXW+Ehkri9|5c`O9-e;_p3)P(OrOr7kgrz^rVAh=|3;{}hE+z9X3GI6w+2)OV!RYgTWU{UdN4Fdi#_zY?^C}dH*I8wyCsLhq#FE34x$f4aiGsJ268#Gzu`Kl', 'float32').reshape((50, 7)), jnp.float32)
work = jax.jit(lambda: call(w=w, g=g, rate=0.02, momentum=0.9, epsilon=1e-06))
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('1.2478746055746837')  # by the definition in float64
is_right = abs(got - expected) < 9.89e-06
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
