"""optax.rprop, jax 0.10.2, jit: outputs/0 is 1.32e+05 times rounding off."""
from collections.abc import Callable
from functools import partial
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
import optax
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _ascending(g: Any, maximize: bool) -> Any:
    return -g if maximize else g
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
def _rprop(make: Callable[..., Any], w: Any, g: Any, *, rate: float, etas: Any, limits: Any, maximize: bool) -> Any:
    return _weights(make(rate, etas[0], etas[1], limits[0], limits[1]), w, _ascending(g, maximize))
call = partial(_rprop, optax.rprop)
w = jnp.asarray(np.array([1.5354996919631958, 1.7186678647994995, 1.8791662454605103, -3.424321174621582, 1.9584851264953613, -1.3344202041625977, -3.5640976428985596], 'float32').reshape((7,)), jnp.float32)
g = jnp.asarray(unpack('c-l=;YfzL`7=}<8SQHdk+z<s9253bw1Pi`%zEwzR6*q-c6dFg@3t*WhDd28P)Ns+bc;U9`YJx#R;;88Ep7;AOLA)V`q$nz=k)jPGtf@Ix!)rF4Kj-qC=Xsy^IVV26k93yZ<A;mcVDsN7puT+i{1MPT!bHk8>Xk!hVP|x7XqK1z@s&TQ$@y9SroMU64G(G~EQdn7c$?RT`s54FM}M8K@mda>4yK5&W1W8nVx7*Y4vRT^H)^&>rin>+m9R5#5BX^NRj6()CY47vp{Am|RxqCS4=*s!;4CRp^fD>42C<+k8k*j|jV*4wZyDNqhX29YoL+$S!lviY{_b<IZo_(rENK#*YZVs1g(Zl+sB@*I<6T)ITS_iGoY;^*cL~%$FM3(jTSMkWMROH{m&wrHa=gWoJ@7H|#$I0w4`<{;#*KP7*d$T5C1gO%qp#76??5BX3;u<5Y`2Rz@K=hkJMt{|s^=|QH(K=7wTM_(7ojNERyoev$0{v4)XY+c@kwvr<`#cyC1XlG8ruE*xxD8aP*bY5=iA@u=LX785w-6kKG?hu^q*uQZ>6%Du9N0~L?)x|=Fi064s@E|IF^YR(RK;nfCmgFOkv4EKFZKBX1HPdKIX1)o+<iBCqYP~o@gCv`1+@7VE&59$g2(`WOZsGcXvZRxmQ@s3a`WvpTsWA!DYW4{8X3+4#!)`@PGpTJ!T-9$Mfi`9=ji8qJH{*HEOlQFzjC?8&7-wmNUIHnnsmW3qxn45>DYfQ02rEnHCgwbD%2GUsSCP0XESA`Rk9>LtJPav&wHW#l|J#wKoG{mZuZu(xwX~X<KFBG|U}qera-swma_sd#QR-z~uQ0Nvm<6^2B*NNUD_l{|7s70q6MLThyY=YS?+yN)|MwqGs`|Q2wa53R0TgAkx_vdrsA*p--7MhyLuj7v{zu=Jwo~#`kEJ!H&Q@?C<Jm7p$9AW>1~GgT+Ci9PHg*`aEzfTd3+A%Sy9#T+Y-A{)Y4x_`Ew6y{uZ;EL8UBp)bLkw*MF?_?^+heM1NGlH7L*$+68aDQrA(sq>)eIUz86!pnDevvKBk&0Y&0hMN%|#`64xbOu-EtU=zEJpqD!|6NwJeE<gU1Sn6|NQC%|m5A{%WlXplL;7onQB7PjwbdEHbF&(;`x$nk$<)t!LggSU*(<V(jpouuCDyarwopl5SNQ5QPZ-y^MjSnIJ3I?qhFH)(9rZfb9HDqJ2bOI;FFv1agwLa@5bHRRhPfEx9oSZdf!8{&BM0r`G0#}4p~j{8oGM%euBR^ZrQ2ME+-^PIR}_ID|HqL$8`Dght%vyJ%?3+<N)&32G<L(lqp7U;@DuJ*(nMu$^aV1rq7ixGj<a-ZkO^Flc;TP$cT9y9mo-?=afcapZ?j=t-+ut=XN|(`fZ4D=As98=yk_DZg;h@L>Q&-#MLx`kyom3=s=_FkGh3O5iX#b{$MlO#9*jhRnVEgAQK9Nv)?1gvgw)$?eY%9k{c3}nzdyC*rRPj+Xg#HExiWFeC5Rstf<Ak_4YVo00{#U)`WOH', 'float32').reshape((50, 7)), jnp.float32)
work = jax.jit(lambda: call(w=w, g=g, rate=0.0078125, etas=[0.5, 1.2], limits=[1e-06, 0.05], maximize=False))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('-1.3422327041625977')  # by the definition in float64
is_right = abs(got - expected) < 0.00391
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
