"""keras.layers.UpSampling2D, tensorflow 2.21.0, eager: outputs/0 is 7.58e+04 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from collections.abc import Callable
from typing import Any
import keras
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
layers = keras.layers
def _enlarged(interpolation: str) -> Callable[..., Any]:

    def call(x: Any, rows: int, columns: int) -> Any:
        return layers.UpSampling2D((rows, columns), 'channels_last', interpolation, dtype=_kind(x))(x)
    return call
call = _enlarged('bilinear')
x = tf.cast(tf.constant(unpack('c-jGg1b_Ra`_sNhe*i$XhHCBZW8J?(%J?iRd*wfIpGjf0nDRgCo!F-pH_tzwzLr}gO0>U)?Xd#!e9}Mk;!nidG~Pe)X63H6an8Tq(^m+aJN`fB>dSd9!r?ztdls~MOV__G51r}gC8)nu;&(PNb-KUT8RK|M3iUsj14FOtVwArs1qOFLf9pTSfkEFv^V2`4hLy!SYTQ4Io1`{+?$5sicr3rk?%+QODxR_6&Az{#gFfPM!}>qeAgmV<#pyrz3qAM-pwz#<wbg78!}-5$CFldY<@-M#!y6Kszw5uO9v1n`d3e9Q0sm1!Q{O*vGR0l6(D%Pvu0{ZM=-fYFJ%r3mK;l0k8B`AI_ryOsT<9H+lHb3(9v;LEcECTBEfz_9*ww$B+*>d4m&U&!!0TT3=j%WB4%MQU^z}c!&P9oiO7Xv#5P%7>vhBYI%eiJXtjIs`1VLSBpZ~ub?-oVp0lq(<@m=dT?0!G?TOPLwp5{NEyfcnS`Q^W>Y0E<gZsot6;ee-I`p3V@5h!Qk3*tW!zs`~+9`iq2v!y=Nz3soq<bP<J`{O@j48MRDBlAC|6NBl4ZR0=o&govR@W;OxJTjLr$LGIdU}C8rP2oR=Uq-$QbJIVz>XK9Q``y2hBHQ2Z`tCmvpS-rD-0wf~ZOygsO#Qz~?&@kvU9!J@X&r=NVEMmLYkGzcWA8uByZ@rYu+YEgib&1|djCHl<)d>=qv$`PoVE_f5ct2RT$oiC8o@sw(vRm;dFVfqwimOjO4z@n>Gk=aH21$ymfeX7KjOcE+j<a#qS8OA7L~<q{=+}rAk~L9FvY(Z0q=_(+{nM@Bx>T5R^Pw$F1xUe=gq&8xVm3Pr}n=%2EJ1B&)Gj+sqn`ws`bB9mR3m^5%9k-CQ|w2BJjWRdFfy@;N-vINLgVl=lMTC7*7i`aPU7XS}hx{xctBWx!K`jirl|vDMJme@dCh(M`<E~Nb0|0{EDSr1OUJXHtGLqrSrc+jN<$ND9S(86<Di~@cKW6YEf`-liWX#ZK8sZ80){-`_UwYV&XsVvWeZTa?U@)1>+mHz34xoj=)`$0^~n@C!fdYzTv->XfZ|{1LZ&Yxs0q_D+0g=DCqn<JM6#HX;QR(nB2ch#34R@VeUTw8^G>8B;!9_CMaD?#pA!o@V6^v9Kt{A8@7iJj_bdHFBXIWAjLmO-Qfe?d)B{eK$hQ#x!=EKr87+Qj>A8&O)Iac`~N@6Nt%Q0f9$`Az0}QSw*bIB|5so)CB#4B4kH~>9nrr(I_Qbtc>BLrrsl-5I`F@ClD&qYweLTE6mtq!`Q|_VBU{X&L*>7DAb0`imgT=R?(~(SM$<n&El54O^5(zH<>l>159Pm2Vkdh@VDvx9c3)zjj_bdu&GAsg^`t*xdKg_%qU*n%02<J#Jl8*15NZ_lx7fe>M^w$ZYuCRo;Y4@jA?80myBmTc)Z)K7^uq9-0R6uX_JcUyyym}a<*ITMf%-qpm3Gb', 'float64').reshape((2, 4, 6, 3))), tf.float64)
work = lambda: call(x=x, rows=2, columns=4)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0, 17, 1)]), float('-0.021062647426316305')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.74e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
