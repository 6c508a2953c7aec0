"""keras.optimizers.Adafactor, jax 0.10.2, jit: outputs/0 is 201 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
Unsupported = ValueError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
import jax
import jax.numpy as jnp
import keras
import numpy as np
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
jax.config.update("jax_enable_x64", True)
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
def _adafactor(w: Any, g: Any, *, rate: float, power: float, least_scale: float, threshold: float, is_relative: bool, is_scaled: bool, weight_decay: float, maximize: bool) -> Any:
    _lacks(maximize=(False, maximize), is_scaled=(True, is_scaled))
    if weight_decay:
        raise Unsupported('weight_decay: Keras takes it before it measures weights, which the paper leaves open.')
    return _weights(lambda: keras.optimizers.Adafactor(rate, beta_2_decay=power, epsilon_2=least_scale, clip_threshold=threshold, relative_step=is_relative), w, g)
call = _adafactor
w = jnp.asarray(np.array([-1.2393068424820046, 3.664403865126325, -3.075222611018382, 1.3933821367899237, -3.05934645594117, -2.360331703560517, -1.4529551232819502], 'float64').reshape((7,)), jnp.float64)
g = jnp.asarray(unpack('c-jrqha(h<9{_M84WpNgh#u;)m4;EheDO;3tQ1AkB0KUZdmVCDbRF(wpLOz%5Q^}nN0E{<N+LRBWS)eV@%w%LhtEZV^QN}vd2m5OSk-L{1#I43_>p253FiBorFZsxgW#XSYBtra@XMk5eDdyN;2N-dWVO2hv<;?BuGYk$k#S@|U(*99uQW0y`h{SHx(10lG>J(M_-e00HTZmrDc`d*5#B5oXnAFhfZDQhO7zBPyeU(hICa|;drstJ+|#gv#?qfV(gkKAVzFg@xqJc~Ec;!?D~G_6D;hY;$AOo=Rg26{D%Q$a{O<KQ8L|)koFT7z;F72qwK;7Lcf{MzV8bBj8gs+4^^39VcVW%qqZQEa`7qs2D+{`bTN~(IIT)*5;6y4U0jYi0yrdYf{uTSTIdhqPK(9LE%+U?U+#Z{Tl4UZysW!F<e18kY8{g~M=%(SJ+ZzH5Dpj%9SeW==Y5^U-1jiAXW6)dmXQo0%0*DBt%BpZ!ATFfIcWy2XVsnm#pESOS6S=--?z~B8sNY?<nmY-vRt&A0M|yz&OmDM^m_HV>B=H<43n{zH_(c-gz@O0HMw8CLh)gk+7||vO42(PJS-l8D<N1R#<Y8!;YCL7Pfs9V1JXf350vHprneL*dV$*F`a*uKW_>R_cd*XWFkNd$UPu!;9M@yc|2lD}FoBUQ}!;Hf;2Sq`py}9uB1tBlm=TsbSldI!-{S~a)j|M0lIzBeFFh5w_0fMa1qn_>ka9B5_ul2PrD5_nQ-`5ld_79vVjB5h%q=~sndr>0Z-X&kSceguwW~rUetp5di%O%3OMS~D1?;x&h@Cg!~#J`B8mw-edMS^Ma0VGp72XE>S;aY9g*1_Ru?D)9)+ubvK`UY|ZzOrrK;KJ||r%Pt;a7C-)61}e&WtDG#v(>AEt`7EJq=oOGT(Vhxvjqj+3=4gJn9ia_`Nk-J`$5QO*orTu#$gr3NS{Y;9D+`*+baae<8j^v1Nzojw2ey8IpIf!gu7P8s_Xpv2f97Y0&b6hfyXHBeH)G~Mn`PlC&U8}amCAg;tYhj%2>7#@<C>fZm{T^4z}-Hjb0L8;m(UM)EhW6AYFa^j!yssNUoQ@2A?kk!A|8Yz3VQZ#UuZ0ejf`qsPnfrDn5j9w+%*|haH%5v0t~dYzT;Y_kS4Zn!^UJq4hqffFu?pQ1N6Qa@8&yzRt@8%kj$>dbcElS}^gAQUn)Ynr=U4(J%qFH<$Wj%V_9kRQ<bm)eD$b3KbtPq@ltShZPgSEX=Jk7}JtD2%|cC1G61?^qZK)av#{^@U(`br67=kyl>}|9`Qd!GF^-t`r#R#e^%X4JQfDmH5}Kg%gA^pccejDZw1{>{=9li`#o$FRy8}4lL!M&a@R&H>cFnd%2i#Ag-&A{*yx#!6MfXNqDouXT1NlR>dQJVCTafI$}<fA>Yq~n^@)mC&ZVrIz3sw7!CE<l3mmXZ-u>=0fr@pN4521)1wu)!pNIPz{99=1^MZt6*Lymu)-4H*cqKyE+Bta5i>GR{Mlu|g&eW~Hm5+{0fyW}p&O*pE9prX!;L6jj?|2f2;rzZisY6lTc;Z>T<K@r_xOhWbtMD)l%m`)|>b>)!%MAC-?{~tab%x*bJB!d5Bo~-jFbXH)`_`uGQc&-GXZ1*0Gn%vi=#}MCP>OYRj+vH)gL^kR?z+T4#llUEHLuoTwquO0R4@do8rOB(rx|E5Ok{TwTv6e35>dOg1j9AsX|0T8tXZ;QehEmxh%G`_9~|Vbx1tC6MaaAdJ?_VYUX#(7A+X=wS-KP`LE(u(WDd0NSS-AIGXp;=8V#J<7>}>EuUfG=4S2CeDbl@i0`A)FZ~eSPM(ZfH;QUx4EG`&`h$lQk8{q{VTjgA+()!Qa)u|H{rrrppWv^gS7wb&-%PB~S$a)pJZwef+#`>?2a>#VN6dcf=0WnKY9=~h&2m6z?2COg`eIAdy>81^W%j6Bl6PNEmP+HD6t%?MTF8Mx*YlSfK_j1?3R1_qQ4qPRFOGKF)yRE$2VqnP2uqW5P0bF%b8mL)p7~uL@Z_0~;`{k;C>iqw;FI&YfiCu)Oj>%;HAR4Ml?Gocrr@*{}lc-e52;AQmvm$xE4feFx`E!}q(6rw6Xf)w1R1JI*R~5>`x%6qhdz3(MQwyjbt4l)ZA26?1z5rj6o)?5kcS8Buq~6z-6QI9X6GNl61NRW!%kNhuL?7_+`18|Q(0Eq&R<`{b4D%l|_Hq3I3HlkIZYd7|P04XA_e}^KZq_`q<kk)HRMUMst<zDRU7<&F%!Xd^PRSWN5`LkqNq*QejN=cyTtpkEp;-F+q`mGV%-YOOtciOHmw8?|IlL@^n&ZiwTiI@)7_@EwY<Mh)CR*<O$l%ilg|VE;pcx<-@bt$y(U4jnE3$pL0(wfXS-c2OL9`~VxvZq1YoNe!rFdx+&Liz%T6AFk`L3Ws?jVrqobL;saZr1E;flq}R`3y>J3oKr2J)UMFzfP5Lle7V)l%<3fUiqoKQh+fkpI&*fA&{+zUW`408}8W&x!@`WkAOqLo8P_4i>FU{i#iKtc=ZIg(Zi9%aW2NDfkUUc{4d=(?(!+R2y(rnD9jQ!1QOvCs>V&^(&b2$B^z!ig*qM4QC&sCLs>L@R{B9+&v89<KIJ9r#avpsk}K%@E_E8e?pqD^94RUL4C^~RfENYxv#VbW<bv?e)Q(UaloIF#RAonNY1|MtTQqU9{$8FFRPMajzY8Z`(6*ef5pp-EaibYt)*4TG8r}So`iTY38o}iTJCF0aKO9g1u4B7ZjNf`5sL;ugV^}>)`<u>w=ax;za0(6tRLvtm&9S*eDH6l312~L`;pUYd)k3RA9SL`4+D#oFBLg@8r<EBZDe<qg1a)Krg!E(RLz{+B$$wa3!?F-Y}$6<FY8?zol1is6C>b1u%83LD$BNagrm^lL!@KVT0M?MsV2drR1h~|Nq_tm0R+1Ol``2#>@sf&d0{sM9--=7k<bzNd+A~z`EmrLbQVj!KEy&6<(|EA77=})zV#r9q~fzj=2Om6p_oYUJubqTgoPPJBUh<5nCZ!5Rea1vr4vH4wHxYT*kf&Sr}IBJ8!IHeYrqe@c_@nqlR9CfTp{cFx6S%xmKokd4qYHJ)wyTiP6nb(irZ1%QdIIkeKdjj7+nXJw6=QKLb%2L@WI4KC>F0y;7y-G^X)341~1tVU_xq^+E{?RHP*i8PSs((5YM{sr&4^+5?1dtJ&Vo($DcfNaRP=}&Tm~YOVAqLD5+RE4%<Q=tjJxWp^Syx@#_s0Xv2{&>H{WP9osv4Ju3loe7odz7taAtTqfOmI|tP@Rqshub6`+`yXBp43M5pQWzBEOhLloWpBSA&WSG30-j)^)5}W8dGA3@psh_8H6(q*Mzmt$bESLcEJMoTWm1q!(r8XEm`WLDuT~ug_Ltr%Hzx4{6iV?FdlSit)LReAZax~u}{A8-0Wi-!#)uF?l!+$)1Y&C7c)6`D*AFWD@O#', 'float64').reshape((50, 7)), jnp.float64)
work = jax.jit(lambda: call(w=w, g=g, rate=0.015625, power=-0.8, least_scale=0.001, threshold=1.0, is_relative=True, is_scaled=True, weight_decay=0.0, maximize=False))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(3,)]), float('1.3544743673033146')  # by the definition in float64
is_right = bool(abs(got - expected) < 9.23e-10)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
