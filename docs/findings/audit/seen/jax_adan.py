"""optax.adan, jax 0.10.2, jit: outputs/1 is 2.87e+04 times rounding off."""
from collections.abc import Callable
from functools import partial
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
def _adan(make: Callable[..., Any], w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float) -> Any:
    found = make(rate, *betas, eps=epsilon, eps_root=0.0, weight_decay=weight_decay)
    return _weights(found, w, g)
call = partial(_adan, optax.adan)
w = jnp.asarray(np.array([3.582869529724121, -2.2190752029418945, -2.023918628692627, 1.6405388116836548, 1.7771470546722412, -3.842129945755005, 2.487858295440674], 'float32').reshape((7,)), jnp.float32)
g = jnp.asarray(unpack('c-mc)c~BHb6vnwi5flO4tU*|$N(EF>NC}GUbPuN@$R-L@RKTNR3Ckr!BtjsBAc`x83L3-&3AeHk5feb?^`t<=AZMi{0TH<(Nd<(Jn?*>`M#{?jXI{^*zxTe^Gi|Z*3{v?o1h#54pDnZ{Txv7p<~N9Ugidmc@1p%Uc)PD&v>OiWXu@Ie6qQXYa3SMK*@hx36l0r+4t*PiKhTON!#A%H=`vNyG=3j~e$~g^ZOazyCP@XkOFz#D9x-ogels4*Y;*n_&y?;*fhCEgVfT8fi|ZyRW={_jex(f?j@qDvO}Ti5*?H=zX;6g}WyLa{SrUBF(v(z|-$B}2-t?Qf)CCVK7Q{1qCUBgECyEfa;Q4?fl(qd(1>?`{QFxREuaG3eR;%AgZIVA_WG)|lccYdWDP_sxTIYL9{_2TJ>hsaOIx&DcPOG^Oq&`a2vD27u%!#ME(9EB>d^f}$F?J%6{*~w>p)R|^NluwqX+^fxn25dQR^S}vMO5C2>_c^sd07+HCEBsihJ8`z;pKd6hLq~2KO2X%DSc*{G>DXX8IZUJ2^n2eN@tJsehtZP6^wMdCAn4lA+1^UV&vZ9v#a$OGh2|xJ<)Ul`{Fn_VmM7K6{hst8s5$X_VGGK?!Af?RtbsL+0A5A?<vZZFJkVEe7&CL%hTWZ)Hwc%dKvXU%UL{%VS-)d#G$?b-W&LmPm(22rW<$#@`hiDo!ld^d-op@Sug?O>azQbOi$p4JjbHNuRR`O<+^j!U$T=4)xl|BBHN<R49e`#P3xN=>y+`I&l^%UuRF<P^{H_EDc&$NwhY2*SMkNYKU0>JX39;eE9f}{yliJWWWPXj+HuOvdKO^BS`V>B-S|StkI+7*K|VfSLig7HS_KA`CP=U{0ea0vIQK*iPKk)6^VV)W3gYo9#?7gW3)T)H=}(>6^EDk*XR{y!d5<~GPuT{N>4gG3m0?c*i6WaW_|!ay$rMWPc<mZI_QfdPoN|GBVY>E{c)w4m?)pwmlDsR4SIgT(&xJdx1#RA;%;_r|k+Yy0Bq|l;R&V>#9UJv7qV>6;<Q+nNbzZZufv$Ho-hscg`t0^jI<WJptuUZt&0f^WqBA%-M{zIyJcm$=kaeg#MP`Pg*$MRu+JD-^9xg|gG3_y)OLs2T$b{x2(sDG3^SK8Rg=7j3as45|d|LEX>ScAfkO*?dx!bBkr0AI)5k@}e_kOjo<Wp(5k2$cqkBIM!h^E<H{Evq_^&+)S0UxhBO#Oln8zi}F=eXS%RQ?xvx5|j<{jD&haOCl&a_(Iw7fj%zidrr^{sAAB)3c;)HxeRIVLBYUCItJEwRp}whw5~7XCWi$hL{uivN{@$#Hgv7&p1{?+2JO8V)f)YowY3BI;_*Z$UZknrVPotp;&Bz2D8JlV@LrEsN3@02lQyaj)U6JnX89dJ<gCo={2q|)q*`Z=R)Um-S!fSTMD>zgC20`Sxe?!H}J;FMp{#H(u?Y!#P8$OPO6ftuDR%}Uo`DsB65S8@^0o|PKqrF', 'float32').reshape((50, 7)), jnp.float32)
work = jax.jit(lambda: call(w=w, g=g, rate=0.0078125, betas=[0.98, 0.92, 0.99], epsilon=1e-08, weight_decay=0.0))
found = work()
found = found[1] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('-3.834189089727699')  # by the definition in float64
is_right = abs(got - expected) < 0.00244
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
