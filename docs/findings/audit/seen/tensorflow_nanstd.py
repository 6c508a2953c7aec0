"""keras.ops.nanstd, tensorflow 2.21.0, eager: outputs/0 is 68.8 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
_all = lambda axis: tuple(axis) if isinstance(axis, list) else axis
call = lambda x, axis, keepdims: ops.nanstd(x, axis=_all(axis), keepdims=keepdims)
x = tf.cast(tf.constant(unpack('c-pO;4Q|~y41{wsU2S_ZVUM<GP<Qp{nc+t}1&X{lvMf>j84l_9_4R9iegFHl{`^0F|NgoE|9M`kpWXP6amRgi%ynOU*1G@A&2w8{v#+{N^}KFADF?A;xd-?xyG|p+@tEDndg(K%V~}jkz4dx46Ei01#)ll1m^aDIj6Y>U_G{O?^4WZhsWR_u1n7f0*G>=BeNLyy9;5v%eMZ*LbZao<-8ov_PUkzYEh>L2XW&1(dy&rxzLxk6E8Eq}+}Ua8*ND9nT_w8d_WR~shz=(^>g0^pIrPa<wtHsdqcbHq0q9tg)yV%RpRflu1)fX&t<&2srVziEY_r3bDSkbb1CC957~>j@f%i`0LW47jE@A&RuovVfga4Ue?BoOAU<QQeyVweRDbZo-CnvFWs-Hg=FMu47-93mSE&c=YNBIR=+tg>$JaGZsJFxw+?S%7kcHPZMVllzhN#>)tPq3e}LGoOpx8RJTeXX9CaB;uQ(;;3O<q_cAF^2ykTqoBG&JM*{g5e2v+8}0<vj!X*%F$qM+S(DZb0S;9i9!CP)91IjZOah_pEHS}1nZ9F`~v4wT&m6{jghf*n(shNHQ_d+Kkst<VO&e|clbQX0r6m)`^G6BGUn(&-2v%Oh$#dQO!8LD|4%XD<~o!3(h=`OxEkP3P;CO_%d{Re&WYAT-Fx5@NUaU$Fnf+4?AnN)18j_H2Vj1LPf~mt#9x}HOu4CcJtU8KP?MVYQko-l=Sy-Hf?E-ur!i>FIK7r{q52H?gw8gJUJ)LE=80&&hrI-Ea(RNOFdi7-jVU)peR!A4kNJTIKDmt@1dGzV1Ne3q3#Qn6lE=Mz*0i3o2Q~(4$FFNBYk*OQ9L}5g`-Vrwyd~ND{=zlHDP|aREYp6TVL#HFIxO;g!G9t?dC2*Y9+e-7k0c+5{bSSXk7E<SyNL4~_Vc{S?~;EYy=omFf@?7kdpxFni3B%No|$00r#*fYqmp{-8=aigccyt0s`U-(TQt5*`xwXadCTt&^VyE~e!^!Gtlr6g+Dq_LGDQ3Xz`E3aySR^V`;!{|pk6?pi~PnEcRlFSo?yRmY=SjthY$b#=kt2~{rdd-dVTKiYv0$!+OF}}-#_MF$GzwHAcu4OsWaDg!uNK0{k4X3omDmyyZd`jz%Qo^&wW%`b@`4OQ|~|Je2#a1ugd!xU)S7W>?+T?Pdk2V{hag-p7K{`A;-Wv%T4#2&!^nZJ=g2%yqx?;9AmSu^I2}4U7T`yRo8XRb;|pkQ`*J4uhXsX^gq(St;TOGCTAye=a=gEdhYcsrakJUo^?H^+Th3a1^V7QU+3&DoVD~14TtujODjLO?p?;hW?xlrmCoC<UEcR3T&m=t{A$(P#1Y->Ma04Cb0$4q%0F7)wuDTCzpuFBy!ND~mUwT8g_e#*)s7SnkunU}Sm}m3FD3s;j6k&skT0k>a?=NxU&xqfVrt?{oNdY&u|ChJ#-MY&!)!MnvNCqP`I()4l+!(lhnK-{i^Ws*x%$|yH&59z#Q^o1^tsEQSI0rAIT9|dy5eGM!tqu&f=xO7IoF`D*@P=oc0}I;Rhaz4HUrn;Vx+P!w-<zGc8|XtHg^78?t}O!<Li{)uRf>FqhgTLVHb0!eUCQgikPKxW|xn5@e$V<1OKMv+4&8EZxfdzaoW~c*WpHWU&5RY4=c>+)>C;N%L|1VZGHP{^vC4mx46EVvuNs2YM!baUH^mQXOvGMF*NZ@%3q~ghU2mlmw3bfP44e7(zFluW{*ujK;%h;&Zn4CeWu!f^0)P@tzB=Hvp9~)@`FbI)xI3J>~cmGQ`)%P^wFt2Zt`6*N>`IEIiA7A2f|-jK79N9#eGhk^NlA7xLVpQ><vr0<oE~011lSfocY#znE0P$7s_^%Zc9wF0v8(iOeG7F?<5Sbaz^DhQcgtP3$Qw-aLCFvnv}2Iu=?Qrm*~fK@WadNiL2{5pO1S33{RynL(5gJ`*^pndXBD^<KkxJ{Z##8`fiK!N9tLqpKaLpsQlTa?wPP(;#iVxOWhyjUkX>K`jO%aQvDNs7lF`E>FXEc7F@0xbKV_l2Mte~IDaQM*Q3(qfKU3tT%4M`vutCl(*bdY&Ywi?1@>&W9PjSytcla3{BXnoq5hIELsu7|?-4lLiP#m?p;O%N{8+_QPkS&DpWyoRWK3-M+sFxQkK<@BR#(%JSk&l`<8{e<AE^H+<ZB&|YU?9|KGm4-ncfDM>vuVC_ijbyLLC<rdr_9I<HWr#pWl(5c`Ki#_mygJq&8>$cBsR;x^3dD6wjb|IhT9d9)^au?|hEJ^NMG1eQrtraa{n^$5ZSgd2X!fgj$WvVc)#pWH3P2i{*Mq@OKw)T|Z5|aOC@xI_@IX{hfZ^@c+Z!W5+L%9;IX>l!tfNCiVAr++#PVst-Dzgw#G<zMtl?{Q!*|5>AUfdrgk%>S8H(=xW5V*Ur=$=(}C6f3o9mT`j}*hb&!#Q+$Hs0Be0S@rv?Ui{&-4cG+-=swPPCEBCC_FEs6MjNF~eO+sGgbl#nj>mhM*w%bd}3miVL{v_4KVohu{e&g>w{{h~cOL_', 'float32').reshape((2, 1027, 3))), tf.float32)
work = lambda: call(x=x, axis=1, keepdims=True)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1, 0, 1)]), float('0.20350516834403154')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.41e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
