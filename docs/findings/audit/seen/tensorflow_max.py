"""tensorflow.sparse.reduce_max, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
call = lambda x, axis, keepdims: tf.sparse.reduce_max(tf.sparse.from_dense(x), axis, keepdims)
x = tf.cast(tf.constant(unpack('c-l>t3uxC>6vwYyy15NC(=1ym^SPX3KCseq_ck@BJ#@NQhL#poM8zVrAa$)55tY(|h|26`S@wVkDr@%#J;;nS1EWGBvP6w+B|U`J=lst3b^kv&+<VXCdmi`P^Zz^Nx}1v}cJ{XZ=G+SJ-22cm&$-h%9})LKBJWgQ@l^z|bFR{Kzd*Manvfl;t?Y)%oLdc6vzN1Tmm_-+Y7BxYHmcLrBlxQGJ^It2XQ9ne<>I5O*<!@c>0Zx!qOP+t=RS%Wznt6P?}j#;-XrW6pd)#9^(f{8QFAB{!dG00quzXW;d2T0O~_9PDqD}umzHZ}-vH(ftV3Ccu~wruGgI7Kz2yYfC}dUe7ek+Wi-BCHg(81F>peL4b5wtip}ROFzN{|lzT9%_@p?ZS;eQoVji%=LD(-+_{;XbtJsP`tcK*gI<_BKm8HUebegwNB=PT|8bgx6Ujdg|9d^q|8GsQaYHO_Tj>#!;6c@XD^+5aB3wjn6?i=4|c#hGk*Hz1pb{+S`&eU(?cWkp<2lld5m-W1DWb+r3oe+RtAOm*dZ!SW688=&VnAA{CdEhV13X4aGYtQYDnr?b(WU%ZEA_3=9A!^o$yzQ<Y<wbprmlhaAWHs5+;i`0Vi8|YmcQXWD@t^Y-~H?OPJ9E?*l&1nR(fzW~6hw>H#>)kvijrU+o?`cs;KGtG;KCwKJ=PTHXFQ3S-w|wUW^N;-y^v8Rx$DX|2MQqNUVD(>!&Pe=RVQ(t0WwT<QjLtLALSz@CGr(-ROWyVb_;<p;7o8uipYxf}muk}w*?zC_ZjYroE8U2EiuKxY!>$2$jKw}(<{I)P&_<u$lgJKn9)j*j*3Y1G+23xxvdZrBpAw(B9rmy0?;_2*GqCg2q7IDPpkC;R^-j@OBQmqG86$Z2<Lesq7G>#P^O;1h_nF_d=(L35-jdH&n@v|EUkPpXsrLl?E~}a7$k&L@dbtmoE6#e=X2Rd_J^a~n=k~TG_L~f2uH0Xi>hK!+zj*6AaLTL~+wn0P-M@UAYeEOmoe#Bue_l|`KfU!Kc89UM2YD;>GW*M{S1x4zkaL~ce8PU6&5?1|b5;2Jl>N6p%{`GHHTgcvVXVwl!ySjsZh5oB)8A&_Q$Ed5?P1G-Z?4UWRxtNkZddsv-&Nc-c-zn!YqKJsQS6&bYWF1P+K}GB49;_`=2zORn*?t#Sc9OJm}YSCdoau1%C){U-qfE5OZc^53@?dirM-*CO=peOGygrMF74J=`(v7iMZf5(v2HcYCf4tuhoE+R%_#a#W~B59{24OWWghn_rhM<(%->;mvc)ItwxGOoLdlFIzRH;1$4~5UfqsQLz#a_FDyS-^ItYFvyra-A`29lakq-9N7VB)A3uoCqU10u;-)Hf?G^BS?8PeR=8LP67t+o@1=Xra-lQZRwV*Mkgx!a9y2lOa(k@-JjGe`Ez?H*1f?oR0k^I6S)O!5EA{@YCFTmk=;Xf^J(*r3zk_0Q5A+HNt5T^X_(&XY2=`PwJ@I%ID`OX0l@-EDTu%x5cWIW!R8Z~4?;GwseMvc6+?+s?WP+F?C&Gy8gMce1vzUV`q^v1I=DXwApNUk?8z`|bZhen0a#(tpVR-)#P$>pzs>@-q', 'float32').reshape((3, 7, 33))), tf.float32)
work = lambda: call(x=x, axis=-1, keepdims=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0)]), float('nan')  # by the definition in float64
is_right = bool(got == expected or (got != got and expected != expected))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
