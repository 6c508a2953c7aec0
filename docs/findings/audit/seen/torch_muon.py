"""torch.optim.Muon, torch 2.13.0+cpu, eager: outputs/0 is 4.74e+03 times rounding off."""
Unsupported = ValueError
from collections.abc import Callable, Iterator
from typing import Any
import numpy as np
import torch
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype).copy_(tensor)
Make = Callable[..., torch.optim.Optimizer]
def _walked(make: Make, w: torch.Tensor, g: torch.Tensor, *, is_cut: bool) -> Iterator[Any]:
    """Yield the optimizer, its weights and these as one tensor, after each step."""
    half = len(w) // 2
    parts = [slice(0, half), slice(half, len(w))] if half and is_cut else [slice(0, len(w))]
    weights = [_copied(w[part]) for part in parts]
    optimizer = make(weights)
    for gradient in g:
        for weight, part in zip(weights, parts, strict=True):
            weight.grad = gradient[part]
        optimizer.step()
        yield (optimizer, weights, torch.cat(weights))
def _weights(make: Make, w: torch.Tensor, g: torch.Tensor, *, is_cut: bool=True) -> list[torch.Tensor]:
    walk = [whole for _, _, whole in _walked(make, w, g, is_cut=is_cut)]
    return walk if len(walk) == 2 else [walk[0], walk[1], walk[-1]]
def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f'{name}: PyTorch has no other than {wanted}. Found: {found}.')
def _muon(w: Any, g: Any, *, rate: float, scale: str, steps: int, is_corrected: bool, **parameters: Any) -> Any:
    _lacks(is_corrected=(False, is_corrected))
    if scale not in ('rows', 'rms'):
        raise Unsupported("scale: PyTorch's weights have a row for each number that a layer gives, and there is always a scale.")
    kind = {'rows': 'original', 'rms': 'match_rms_adamw'}[scale]
    return _weights(lambda weights: torch.optim.Muon(weights, lr=rate, ns_steps=steps, adjust_lr_fn=kind, **parameters), w, g, is_cut=False)
call = _muon
w = torch.from_numpy(np.array([2.2451090812683105, 3.5835702419281006, 1.2143300771713257, 2.916166305541992, -3.173218250274658, -2.9851999282836914, 3.7379822731018066, -1.1554220914840698, 3.176739454269409, 2.966033697128296, -1.1012200117111206, -3.1170287132263184, -3.1329784393310547, 2.416229009628296, 3.537569761276245], 'float32').reshape((3, 5))).to(torch.float32)
g = torch.from_numpy(unpack('c-jrti9go&0|0P^$62AAkrbVTNIcKycod5yzltboWtzzrQdHDhxg%mRM^YB)pv)xC=lHe~5i2^Jxhh@CkTsfq`y<}3*V|DqNw#K>65f6-xq5$T6pb>JqTyl#c6F}>c3r!Hzi}Nx<24-knTuiH)+lbaA_6a+(34gCQi0EUHv;eSY1rH37s;Ma68gpb02WQUQ6KYcR(raM=a0|g;m$kB&ZXVx_=iJG+dGgJzLbGp``LoUnFcb`@@FPQTn7*1chX69OT5Q-KW&hjV3r&r_1nFH>DX?9Nxm-V+1)t2Z8#g*9lb4UXzIeP3tteq&_yiPP9mwhR0CR$_oH`S<Fw309;=vc5_nDl?0laO$@GOd^iDERy_HS_EnnG>wdWy}VS@(>Vxi|fDd-$^A>Gp1_;6SnoLQH`CV!L1dC{BLg@rkYr2U2s4DQ3)ZzbUVqK`M1IMm_J&KSBqrkQfl6kK9c04IWz(ZR>3sYOvXJ8EVi6gkH*uf3iixce5fce;Uc$7*TlwR)11A1#mtuJl5R8e8h*CwmgqMXM5*;pJQM!N7=!&3y8NSNS!8xk*Ri@()hJ!|8!+MEi>PNckYJss9_c2W_CmJr?|jNYCp2O){!>bqA8pP-IgtU12BZede)KFSGR5$r9<}rTlhI6Y5|23aWimL-uFn@eRQpWS7eocHct;*Lkjjn&*shWb`cHH8+@kJ^7l0pmS)~GcEG9ZIF-^zZC}!mcpcs6X5XG6G$e~2E(6nSdn5DS#7L~R4)1Ab?5EC^*bs&R6BsX8n@9nHwMBg1-`Fg57(--gh?J=q}<&RSN3SqYGngn|5P5_wyvRd8zb=i_-q=ho53a?so*C|O}KA1m5DrGVdWotQMkiB;?Sf>dwz8hlwD_2TQ7CC(Ao#gt}Ugj-E>gqzdo!pF_RtFF2QsAdcZvKI(Yr~2pV|xFPtY4!=IWCkxADEW<I+`7O#;{f9sh7!_q?O;^~L6w~+(08#JNl$#l&9XEEPXhLY;RseI-cOI$tY2rOo?M2p<vdq*-r?3^^TcG-HEsGCJITg7-!mI+Pla7X6zCivBQ3wAIun*=I(2-;V_Fn@)U<n!P-*_o)z19UUVP_ZrwP^gkv^iRV&r!JthHSf@yGHcXitAmnsKf?C?9Q@hn!C%{#A=K$el(dS$I~yMy@Y_Ju_+7wOzFGldZp4#E&<f?oJf?fP-@~o$m8>u}oJNNnB4x#Mgm)R;Oitw<a9fg0($h_a`ROLa<u7OcVoR*-@&ZOn)~~{f=T=h94-eoiFpAHX_p*z>y1+F<NkU(^GcSB-14ZHwGShfHA;G~JcFk92o?pd*bpJ}aZqONrA6m^+K6DY#_yRvac9H#D=z!h4tp%kNN2DuB1yRNCB_6j8g=f1>h(WU<yS+mMO7o2f7%N2ugHNckhbh~0=N{Kj4@RdyQ4o<Cip!eka-d=Z9{~=+YTIzjKc12!`wz0`Lq=Fl?Jjlur54?`wL=Gf?V=C!zQ+BR&XafchTz(aHuxYy5sM3r;Mh46xGc_uN2e!{)VfHTZ=y_ARD{Vwx{UF)LMNQ*zni^xwh&4*b|Z_R53&)fwSrvh8UD#T0S@&=Ry+SS!tYci$;v(Y$i3n7U@|KRoC~wWJ#Fn&|57qdOHpAUu$39)&V>`=NoE#1ht(DL!xUMmOjER5YMN*c)dTjUkPI)-SC>NVQXNpD#ZxjRGz&)QX-Z2<G49I`l&#<FAQ<N8qO_)kR8dEXn%gjR$;h6}@r5`+`c!O@Pz=Al{SqyEph^?==_AWs^1R{8I{N9f20AJGUMQJ%2;~~L!+cRBS>Rj+FVD#(&Fk_}&Ky(8SWG|7-WP_9<I9NX#Yv<+tBb|DJYz*o+7K=ez_CWv=;pR)xa&-Y?3Y|eY-aFW*57}X&HPJG(%N>G4x2}!RV{Mt{h!`wL+T%VvE}#7y6z5K<M^I0X`aeFj-8@2S|1Y2x2J*MzzNw)yK$;_@ON<1tc^B`Kcb?p0-AKQ6JBrJjkT=XnNZ>bk0!?nemyB{tDTeN>HZur{Im+kt%^bo&pX(fKsl<`Qb-PN+>A;R4d8e6lYojG(9K%~NOo`uG+q0Zu=$G@_wgYlWY-_ny=q##dDRF}-&cyB*FBOH7d@aJLs6*en_QZOvS96(Rk-xc8J4e~1Qo)z3F(SfT+jL(%rX>_Kwne5+r6C>ied;0{Q*Vpilf~kJN)ot8eOQYflJ*#a?cx@+}LFd^c{Q6iIFb#NSaTFbyexCW(DcWnq}0-?pHKsX(Lv?u$>m$?#GgiMKHyCJG)qrjMY`GSm1|v_@VDJ|B`T#-8rhx3KhS|f(lddl3^uUX)qv3dyyh>o&ARXEQ0uH>Qbs))WXiGtd{<uYQe7Ey9}0;jwA7@3g#D*SbeBj6?s&cV=IR+dhFsuq`A+4IA)y&J66AerM)#!`|5mF?a{<`4C`@y-XxnFCKlcnTx7R(<xr!tg+%T^Fpoebr2l~uKc8$!ji08{ztUIWtx$^v%+5k#saZJDGn<vwRKi*Ej2k<y#3rS>bccU7@Hzes_cv9gTIeN|wRVtR?{Juid~uzoCb(i!1s!z#1^1=|Hh#+(e(OI?DAY-08vJ+K`MyiCB50v-cbfu^6Sq^|+lJoiF2)t2%gD?skBt6Z&89X~V9Sc_vb39euy=1H?_2W|s$8Z5yO0IEZ1aWpxNO2_%2iOsDHZq?iiMrmUn8HpL-Z3SsC}!mG{n6PPHC4yGsAn#(jBt7CtdK5Ss7JM$1CxQdVLz;<BiN#o|aUYO;GK$mq?nfhqGfNsqK@u%xT(XCf}L_)XUdm)BJEewaAk3%mK-&W=n3;kwa9UEav*M4dRavf@oeyI9?qx7g^m|L9LiE&Xwx3y(u3_S*RYCd!EkjyEnn3G3SAywVn_Y`;bJO{mdF({RDn=Y=j#t+mMf%0jkbbLYnsag8SNS=yjex`179(-gd5>#Swkjb)`of$rXgds=uS?k^-vJ_P0!9VY6&=cnA)@Rt~=I&|@~2jHP@gW(UGg!t?}r;h$-0)Nix~Wz6#jR&HHrdV>a(j%|liOA<k2)hNBW#SB|KJxPNHp3}e!>UhS5H|W-_F7SG>4X?i#!?fxqfWhPMfkL|iPhVgJlh4oK9ZuRv=A^)yN}aKr>kioOmBdc8`v{F^M^RPsA#~N~5gW}LWQsc7k}ZZq@E?&pp2CL33*GOd=)XH8isM_T*xCd8G!eF-wTqd5Cl)m7HuCqiS0rP7ll%|WI5vN>52hUzz{FugZjiK#+;m@pC7mv4aeFOEE^R^Db-sYPhXCIVLbXr7Ia4|E78Two!^`Y{!k?_<nEIo=l8p6AXtVNlGHcX~EjoJ)JPIw7^!7*N&(x6E{?C@V>gMs(d$FuDg2LL)Bx$!-4j)>^U`MwmIg$ApU69)dIvy*dsW_9=*RLnZr@Zj<8&)hd+z9$yHsw*H(?O5l2|~@bWB#9+&`>{OEq4SQ7~k~YZ@Xl^&ooi)+gq}OQ!8j&(RcWaay?o8eT!syRRlijz>wncaY@UX18mRyMO>nt26lgA3~~l$2uB_lgHH~nwCF_&*=Aor59HrKJL5&@lG|de^Ed!q@9iNs)q~;3<?|3!eg}1xcETkci>OBU5Zb+O6lAJ$5}t4Z{A_Mb<p<Z|&_!~PcIiUTM^QW>kHC?UQX-q8#hRWO@|unoctG(T>Rw?e{2wC<vVQ', 'float32').reshape((50, 3, 5))).to(torch.float32)
work = lambda: call(w=w, g=g, rate=0.02, momentum=0.95, nesterov=True, weight_decay=0.0, scale='rows', steps=5, is_corrected=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(0, 2)]), float('1.20990978607898')  # by the definition in float64
is_right = abs(got - expected) < 0.000134
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
