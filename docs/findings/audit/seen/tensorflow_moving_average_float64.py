"""tensorflow.train.ExponentialMovingAverage, tensorflow 2.21.0, eager: outputs/0 is 1.69e+04 times rounding off."""
Unsupported = ValueError
from typing import Any
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _averages(x: Any, decay: float, *, counts: bool) -> list[Any]:
    """Return the averages after each tensor but the first."""
    if not tf.executing_eagerly():
        raise Unsupported("jit: the average's variables are made outside of a graph.")
    variable, count = (tf.Variable(x[0]), tf.Variable(0))
    average = tf.train.ExponentialMovingAverage(decay, num_updates=count if counts else None)
    average.apply([variable])
    found = []
    for step, each in enumerate(x[1:], 1):
        variable.assign(each)
        count.assign(step)
        average.apply([variable])
        found.append(tf.identity(average.average(variable)))
    return found
def _moving_average(x: Any, *, decay: float, begin: str, is_corrected: bool) -> Any:
    if begin != 'first' or is_corrected:
        raise Unsupported("begin, is_corrected: TensorFlow's begins as the first, and is not corrected.")
    found = _averages(x, decay, counts=False)
    return [found[0], found[-1]]
call = _moving_average
x = tf.cast(tf.constant(unpack('c-jTQ2{;o98~|{cK1WK9l6<n39K8;akm^50C0~WNhf+d3;UN@~N|M{0dCpIT*FheoCrW>3gt?D~#ms~?Hpk{jd%vG7)yCk1>j3a8|MBbcp9eBgS0j<KglYjU$K@&z-<an(hDXs+SJ`~3gvrL_j-Fk1`Fsf4a&2>x-y-(B76wn+&>-ej+#uM@!KAj3k#dxQN~wh>&a^X;rN^fYmUbbvVrZgo106Rp3oht&)MBVFW&4dzHe7tIQxSi07&kXa@RVYEA;*&??X5q9BG3Got?E)Wk+JSanzOqgn8-a)xcC(>PbvCc)fA$aA5rnA<s5Jtzgyn?-is0~TGEuHG5q+XEk162KK4q-o=%x!BRA8wY$KnEMiOq_6Mf&&#iMI=-va?i1PzYm{6PgmRhReAhir_rY876ACfrYT?h9m9!{2o|#Q2O6P+n+XT>g)N`JxCT>X$~m+_16C)^r{D?a>Tb@v=s66CDald&0xtcQ|b;I8_C|sw!Iz6vjZ+>DM<G#~%=pAmW4teM4$X<~f}Raq_cqe#s|sHjokub0VqLC@-Tb)m*`b2$E}|C`5oCJ{uiwmac$39XeZ8Wyf%}Y5l9Rtj`ee#Bg;anuGoR(I$@WwJ2*Is^9%_7%dXo+*9Klpw##5`CpVpjC(gbH(vS$LLl!Y<8B8=r^n0xxzG#82MMiul?*gleH@mf&494P@j_0`AVk^sJas=fiUG3z2ZnG2I98AMN``YFC1zh%07<N-g{9s@y;}q+9#KA5>-(_#wa}b$Xb8iEK~m<ylSmjg);9^_0K^JB)bA|ehHSgGRuK=+AAA;DCc{U|%Yrh^Iv#FQR(c<nK7(?BDxS{dRj{wFS8z$10CBGq^13B_I0>|+n2;5GW~yx1a)^sM9hMpQr)t1hv3KV~)oCcvo!6Q#Z$x$D?Ch!N4wTQ`lvrUs27Bq7C7H@=s6GF9m%ZXNbfzpe3qYDIv`{-|wXg^cRx;_E&XfT`j`r@BPahbL+Zt~t@t|C~oRaK24Q9YM%OtVELTR@*CHE`dn<kPzM%=>wx#n}%t=l2c*FDKiS%g~DP7QN|S{&T5Mq*szqI;xT`WwF?usAIz6l4n_D{xf7%xeW?xU~c7>a*zIe@}n<#R?<|=oc6SDRO(}y5GEy)nNFecQHn;%lPHPymhQI1IX3OAveQW00k|}b3JPqdhCey^?^=gsgF#vQfa{R$YrHhy}(EGKpmDTA5Dc1n!OZ8ajk9KPgE*E!uY9bT1E}{)3hi}yLhmqku0a^R15tHWU;)uC7?;ttoDmfpw`h_w`cTd*eF~TbUW~1icAzHkJDj`){0B>jY+so<khI`{)%Zv4wsDFRv`A5Kp2oR49ZtR>rGG6QTr}&V8wSB76d(ICe%?})Qw!HTTI6b`rY~I?^kh8IH^5Jh6B@2|8*uj8pQKPweoka&!V;FH8+kd6O&)Y%r2_+piK^~b#A2#DzE-DBuP#}|EzXn7kvV<i$BH7n9hI{(TPib%S7hR%BtM7c8t`?v*mV*k?kD0aM*hSRERr&T<LlX+gLtl9|nxVr-o(E;$w5D+4Q`!pr!>$^7cX2sVP_<_cGZ)<bYx`cIJ`teB2s6n_nDF$Gp+$Qumf6xap7=Oi&!g`>p<e`MCAMjglhQkwhl^s1L9!Qf|g64VCAG@(WnxM^DVo;NhOCDEl;<I#>xg$QCnW!=09_VTW!W{15y$*n9', 'float64').reshape((24, 7))), tf.float64)
work = lambda: call(x=x, decay=0.9, begin='first', is_corrected=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('0.19494830652644254')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.03e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
