"""keras.ops.nanvar, tensorflow 2.21.0, eager: outputs/0 is 122 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
_all = lambda axis: tuple(axis) if isinstance(axis, list) else axis
call = lambda x, axis, keepdims: ops.nanvar(x, axis=_all(axis), keepdims=keepdims)
x = tf.cast(tf.constant(unpack('c-pm`YjWg941;~LzFPKVT{&7Rn;NgC2LL}vj{jI5>(R|82vYO)^=p59{aRnYf6n9IznB02dHi<G<#;;({OtR@>wV7qh3CoR{bw(4&lTspbL`r}e&y#zj`2FMuMfTLEKm2`x6fCw3-PS+nk0X>mtEMQTOY8cbgk5#d#<wqx9%j{J?y2tzqRdPpUF>>Z6?2N<um$`(Jxs)vS)JtV24VcRM$2(Z@x!&ZL}c~Lt>m%*8<&*YY)06F&z5>iM>;dqCP&!s`Rxe&qgmmZpijv9vtH^ksF8`2xEktGRc;%)5UO?@0_lu`=EFW&PP54ay{8&!Yz|7aNJwm_oE%IE(Z~N8)Io1TkhnV#!pe~qA`3Ad6w1!yU4{YCMP+C$Z9hzJ7JY47_zPB8ay@O$*JB!IPm|Dfx-63UM8$U<=Dm_qVI7%4}2}*jWN!qdYZ^-crM~CQqFo%cgLIn<wLL>&8-veYVA2bckt(*$_40{U_xMrG`Eg<WOe&MoCC2v$_tTw75+%;%8CCW7#s6@z}`?@uygH$>+ZIeEI3chfvEMgajCTbHYe7#GvFZ+Zg1B^VrE(6CmSZY#^(3UxiV6x*RdMNjbJcT7qt8p<r#h`j#(SK$@wE6gtdRe`Jns-`$a_N4L{cOj%XbCQ7o};=Jd9&*Y<-_d>C>E$}c3w!k$92-#a;l_$i6Eq~9_28rBU=yk`tU`Wj9b6Ays+nYQQkfODhrANj+QPbN6wX`CnVkoeJ5L;V=$Z+mT^w!-;(6?!K<sfT@vF)tIY<3U~{{A!E;+g@SI%~H%mc-<+^P`hn>{Kxn-*kh{e*1~t%-c}pmF`fiGKvhGPIP-}NpU4gI)pzjf=G=ANQ@BwVRC6q##-x4o5ie2x<Zi#F<O<r{^oV!5(`Vm5fHxlc^4+*i=g{u@<DL1*5uZ2M{7xUC?Nh+q*z}qSMr!Ij%B8n6Cy(Y;%Kj$p;Z`$~?F`|={%_Osy|v$F2H?g#z=Tz3o<(u8=##cJSE>=(`Ms)-U-Iy6EllK}@^Urb+s-S}{tn@v3!I<q{O`a1JnP@%*WYzK*ae>7|2=22!?BONj{98xz8=5!mF)K1_x1Su+ShqvkKb|(e*L=k`<Tqn53%>Uw%6xLkLUW|_808)dQLrixqzI(tnzj3AID4UDA}`mR@CF6Lzkz%&oR2N=Y;c<o>Z(j?|GH;br08ltItmxP;uk5FUs2_Y?kEk`g!wfwLbVBkbBnkKBu3l^<Ql#$y@oXvyW4EPS&SiocB5R@(~Bb^Iy+aF=Mjrre|U8PQ{CzZA|Iw%p>Q%&b>_WQQb%FLCUV=J<$By)@xV!tLX!}|D8ED>Sb7)vVSR05ks8Jao;&`K58$Md_Lst?9;?3g%z)|Q`qD5WqHq)G0X>!a(S@nvy|M3%JEJw)7mCGB(pKsXQ_PWu*e6N-Ued_yH)2{Jwl%9jMeJ?(w0OFe3OYe*TwA<1D_a8<((E+sMwhNDCX#;anI@NN*C^&Q-`juaTr$VP{o#1ugQD|xs=nM9oMSt-__O<>kYBj)nccge#m-#Vx+{+Aq*B|HDN8%gHX0~%GqMIrDLqbt6TeIlIIxTM66c!`4Mloua|A?HQa)$4V6!+XUR3+m~kcjcUK!a-oRl1SsMf%Tk#~S{*Cplz{YR;N;v4yi#p%oB4<k~cin#9-|Wlbv{X~O94B?PMBIm*o~(tp*9Eed<^AI1+#CmW>f`*(#Y}ZAnm^x$H=F8c&`VO+Cj4{Wf8-XH*N4N;?p(=Bq#DogZ?0x^x=VH7ltVva0>JI6UPv{%t8r8wwAT)`RjS>R-O8A}e4NKKBo0#wtUKie#}zt!uKe$e`BG=JXBTktG;49%xr;NZ4s|#-&Fm?DW{UIm_qqhVIR063WyT)P98G%VX=WqEcElwX??NVAH*t&+Yn9*0lj09~@6X9>vOO1vo4GhuFS{OJ(rv`#H{Vlp91i6MRXsv@$YcWwCnRjs%&|m!HZnoHpW%X9{$b*lry57`53Wa`I3>p`#o9CEBZqA!yH)-|`uGW($$Yw5{j2i+lxNRcRq4g$CRM|w-mc0oX+F*IovJn@vkJ;Slb@zq?6k=gQ*G}la9@+|EZ@EX4<ESn4<2KMoZf!t!!Bx|75sFESnK#h@ZOEYv4P)H_(8=4TdSL%xQdxmeUZ2bG*h~Lou%SQ``*XI%Ox8~eEu{WJn_<GHc4UZScAjwfuS=JxJFx^hiT?gEI%ju9jP~*^eE#e#7mCvmp&NgQe1zByo)5|0OA;#{hMmxgf~*pi_F}n+FaRxs{2x%)$o&UMk~huJ@?PZ{SznPW|vg#OfxF3$2D>3clvav9;dlVQUjd#acg$ZjXgff-)<dSTz+@@Q)^54)aC9pi>T@pwKm$ra(qtnJ*6&|yLq-d?{g8p+RbbzK69L>SiZ(ly;nL19_OW}+JEVO8GQ%F@gd{fyQ_Vc?`x2EaL&EDUR~m8BS)P$;WhUWZh!yn^7fW`TM3`Io}irnl0NwlY0^Sn', 'float32').reshape((2, 1027, 3))), tf.float32)
work = lambda: call(x=x, axis=1, keepdims=True)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0, 0)]), float('0.042681461304278655')  # by the definition in float64
is_right = bool(abs(got - expected) < 9.03e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
