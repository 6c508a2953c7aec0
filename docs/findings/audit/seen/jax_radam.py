"""optax.radam, jax 0.10.2, jit: outputs/2 is 167 times rounding off."""
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
def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f'{name}: optax has no other than {wanted}. Found: {found}.')
def _penalized(optimizer: Any, weight_decay: float) -> Any:
    return optax.chain(optax.add_decayed_weights(weight_decay), optimizer) if weight_decay else optimizer
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
def _ascending(g: Any, maximize: bool) -> Any:
    return -g if maximize else g
def _radam(make: Callable[..., Any], w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_raw: bool, weight_decay: float, decoupled: bool, maximize: bool, nesterov: bool) -> Any:
    _lacks(is_epsilon_raw=(False, is_epsilon_raw), decoupled=(False, decoupled))
    found = make(rate, betas[0], betas[1], epsilon, nesterov=nesterov)
    return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))
call = partial(_radam, optax.radam)
w = jnp.asarray(np.array([2.5288960933685303, -1.4624476432800293, 1.94059157371521, 3.9199790954589844, 1.4967988729476929, -1.8493082523345947, 3.0046944618225098], 'float32').reshape((7,)), jnp.float32)
g = jnp.asarray(unpack('c-lRZeKgcr7{`Y>*~+`H2Srn6g=5sN$oSoRlSHPlQL{wsu1enO&=I?vrKX7TQX+4w(yR8UW4C1d?laD|h@G|<Ihwo`PSKufv9{t=d*-(J{r9_{`+c78^L?(wV>yv!<a5{bOX$m}NKWwo*W9H+<)3#Ui-c8VD02%kyj9LvovuB&<rdI(R}G$hAPpQJHq*s9=2Xiz?@oaq$6V=Y-BQjo@=yG|u$te$i!fIFrj;&wq2MdxBv@x60ycEjHQBfwZ_={Fz6@}7p3hf4zk>TKZsGEKNxb{mqo$8uaQJCjVBLvp+OkOMNFIHfIP9f84~<Eqlab{}p6!UL(rU5dSs3c+tmCyTJINju?=*zcnj$Qb=a6={8oDlA-Kb?{)sHEz@`BZ|Wzb;z2Jac<_)Ec<>CTlGqiH7(R2Y~+?1BZb7d=8BeTWUV@g0}iC{>$s{%3VmmA+!C+xrE}<?ho-G`NP)lExCy{)_V8a}$q_vYMB5v!O-4haa8&6$vWXM1PAKp?KU_%KFW*!FGq|f<t*7R^IA>%uvzH4xS4#U{j$f>u-6y9j{Fmql)wsEKk+R3&<|Bm-?;ihQWFXcEhjeoQdbG-wkdzY&1MW)din{C)a_sXGc{xSzS?7G0fAS=C4{gL(7mOme||UBm*<1v;X5~INcCJdy773V)XLp@C75rGEZ8wxzf;f8a-@Ff_y!pf5{=nq_ej3XLX`!PJ9FbmoG_+ub|2Q;5Ehuc^Mb`i<)_Ud&*K}DGx#Y#gS~c0o?-C>#b8%uTutV(zD2G3vX0Ed64-u&r62&PI1zf^`)e<a0DJG8=F3L`Hp2~dc+j>?u&=*6Z52bB2$(2Y^TR4tLbtq7@Q-_V4c%lHp7%b5=hT|V7k<g-u%WM;P1;I9PlM~oWF&siw-k+Kc0J$9}_N6Ev{WoPPJ`-o;zQ&89ZeM&@jA_HZ|(u49}N1KhP1pHr!`5|5-hY<&ylq8mGN@1{bTtXyT%M{KuN(10os`wv!m&kmLF&Bl!1SE_=Hx)78*yE9F%t`^hPBCB(!%pys0N8Qr#H0&E<h4~9coIM~PmKl9(qShCetoFaCI>&n}p_WFcyugvg{WvR?dIQ0SbpaoUhgp!n)077dAkk$N^Y`zfXQn<e$n6^Gn0b`SV@Kqe*#kS{X`ek~bfG2B5pxsG<>sy`C??s`EX@+~CSyPL0eB>lw&j{}`ivzpypBUpcD}de`XS;3N+>Uah$5G3;!A#Auh?M{qNnms3412@DenK|;ea-^z7VV)O3U~g8z*V?1-WY-c`q&H!e){<B?el2iq?yV)pquS5PPvrnYT_DrmkZOhJF0@D;uTQlFGofiYt~QEWkq8fs?c<$3|FIU65SVyON8x=4edHVvtu9AWyE6J3i?j$$b3IhO0erg6Ugn&A}m86SIkL{u=`zCv*52O6FRbG2}wP3f?D-0fqtn2(>YYAInnMinjjcu9u?^_<h_3x(~Tx{fJEj1T#FJP{&gYQVSk5SuL|+dvQqIvDiRvNf5D#^Nd', 'float32').reshape((50, 7)), jnp.float32)
work = jax.jit(lambda: call(w=w, g=g, rate=0.0078125, betas=[0.9, 0.999], epsilon=0.001, is_epsilon_raw=False, weight_decay=0.0, decoupled=False, maximize=False, nesterov=False))
found = work()
found = found[2] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('-1.4841642966580673')  # by the definition in float64
is_right = abs(got - expected) < 6.29e-06
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
