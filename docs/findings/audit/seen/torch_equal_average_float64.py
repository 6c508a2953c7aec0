"""torch.optim.swa_utils.get_swa_multi_avg_fn, torch 2.13.0+cpu, eager: outputs/1 is 8.95e+03 times rounding off."""
from collections.abc import Callable
from torch import nn
from torch.optim import swa_utils
from typing import Any
import numpy as np
import torch
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
class _Held(nn.Module):

    def __init__(self, value: torch.Tensor) -> None:
        super().__init__()
        half = (len(value) + 1) // 2
        self.first = nn.Parameter(value[:half].clone())
        self.rest = nn.Parameter(value[half:].clone())

    def set_to(self, value: torch.Tensor) -> None:
        with torch.no_grad():
            self.first.copy_(value[:len(self.first)])
            self.rest.copy_(value[len(self.first):])

    def whole(self) -> torch.Tensor:
        return torch.cat([self.first, self.rest]).detach()
def _averages(x: Any, **form: Any) -> list[torch.Tensor]:
    """Return the averages after each tensor but the first."""
    model = _Held(x[0])
    averaged = swa_utils.AveragedModel(model, **form)
    averaged.update_parameters(model)
    found = []
    for each in x[1:]:
        model.set_to(each)
        averaged.update_parameters(model)
        whole: Any = averaged.module
        found.append(whole.whole())
    return found
def _equal_average(**form: Any) -> Callable[..., Any]:

    def call(x: Any) -> Any:
        found = _averages(x, **form)
        return [found[0], found[-1]]
    return call
call = _equal_average(multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
x = torch.from_numpy(unpack('c-jrpi8mAo901^PCX%MC7v)G<Wh9hsUuu7`n+UbGT{TIRVk4C$Ins9U6xkg)lB*2$<~cHqBj<07Bgas#afKO1gBUZ6afRLQZ}_|t?^ZGR6`)6MQe}{qU?$Lvn($l<^gSbwKHgja-$N|>{b5p6BH9+`M2%v|X5Vl^q!?Rr_V3m4=0dWykEi{9A=sX@_^C>=fYJ=TUK8yZG;Xp>C_6WcL_RAuLTeq(smbphrQLwCZ#ESg@?p53EMZV2!r~*xh4#kNC@kLjoR~2OX7OX%V=u?>Y-&k*IztGH%e3JKTnfHVn~OXuEJfFllaAW!ePF_CR}_{DaW+Hopn%0gU(%@!GcvvSl=eFI(v5DcaI~U29FV|h{fB=pI}w=Vm=?jdPhWv#ws<DOLY8^OTc9uX?m(aZtY^M_4h+l1Y<ht_thFbXEGcs#UP)P#-8qi*%G^FpmmxT;9L*zw2<$1iy7)E=9}R0rHM#ZJT<8<HC>El_pY^NddaK}1@}Lp>=P}+e<kjy+gUHJBkn7#p2SY_1E2fMTOj`2adBus)%Co3rdAJCp<z0?_PFX_JQW>37_xN!Bq1So!>Q8W5vZ(f#<viMK5#MN7k-&(4z4YT$8`N~ReO^ln2k*u+)(6O6vD;>%nrOj8OASd-Dp81@Z*Hmlvimc(mj*lJZeIbt@PA{6_;e^|2)FN|6OOy4(5VDcF?Kx(p~>tJ<Jqf$dW}X?pl=!AlB>;wNs8gE>C>H{`%R5*aA**ZT+5icXy1s93K_+oZfg)u4Nl5P>Vq4v?*H~wz(!1*a`V#{Vb$8Y(QGXf_P8ZduA7QLUrk0DEMa5#@V*?S`86!fn17(Ez6^@TDjby3>LE}e@4~iQ^XT5Qb*pRaQ&2vfZCdh12-$1AX2XjwVJa@LE<Aq}9y*UV2kLNuW?Q7`@85x|cZVEXZMZOYWkQ)W!-2z=(RLo^>p)Z2+&LQ-!Kyw{5>h#d`Lm#MJNh+jT*zmu1jsX08zQv~WWRuG51A2L(~4T@!?c}~9F!y8WLX%>Gn+T7n<lyPV01ZH$1iOFIs+c>G^mTgqNClFLxZx+3hkKzdb1Q=8X7kT+DXuC)m@;L*N-yv+#L0@^2{AC7LuyC9AM~|ca+SEAk%62fs4vGb~rXl+^?r%k8ND&z2XH7qWZ0rWqiTGD0zlgb2~0S8ENt>7{xSxN^_UlD0p1fo7JdW#;}$GXF6#F2jqSZ;`p!OuP;74i->H+gar~MCR+jpu1+bDxBq{ws_01^Xu<mReRAK$)#7wcXgd(Zpc)a}ducrd#Omrn%Qj+s%rP@}$f*GVFHwPQ+=lIgDv|{!A>MD#|DG^YfQ3IC@L{G@qQhj4#h39FR5fs}JZU}-aaT4_bQYIDPS<VD>|70!{i82f(`K>9IeoRu=Nm9Ag6*<GNAM<jcg(r3^H87p?#H*KWvI(Gx>#_OkF}H#1=p+X$SR6qYYVz?*DFOO6R$bYPq({6iW0-A?CR<;-3m<XS5x@owGd~vW^OuSF2cCfmet)IZE(Wl+tt&aQV<7>ORrmVAgCsPDVEK~pv=7!Q6C54<xsNc7P1sIT;)@g?B>8iA&8O88o^4I&xwPj>p(FQB(@q&U`)fK)X>0g2%YJ4KVw5U{xHpW1md~Cx)a&?&RvXMqq(bDg?#v1T3u-@ON9}FL~F1?gwaN_({#UCq=h+B_prF2>YEqd6vo4A9&)3#-&Wv1BY@r{', 'float64').reshape((24, 7))).to(torch.float64)
work = lambda: call(x=x)
found = work()
found = found[1] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(1,)]), float('0.10232131493999604')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.69e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
