"""tensorflow.train.ExponentialMovingAverage, tensorflow 2.21.0, eager: outputs/0 is 7.98e+03 times rounding off."""
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
call = lambda x, *, decay: _averages(x, decay, counts=True)[-1]
x = tf.cast(tf.constant(unpack('c-jrpi9Ztx902f%CrXlBFZ1;1MLBvED$;L}Zh0k(G|}TzuaS-?w2n`AT9Yd^mAqVu#S`mNKW(1X9An85Vm8dVBXeu7zv25OP>l1F{q;!M*&dqSDm6%V)+YUZN{ELevg0$Y<dE7DaNVeG5UMowSLVKG!~M2er|+`*G5sthuvu#q7n-<@9}kpaS^k6d0`hmf6nsqk+PqGXpNZuJ%?#kIDfK6l2qoTMW_i+ljtpLApFL)%<ichB;(K;>V!VGqy?GAn8)obtV}E$k3L#T^Ws<aZ6i%!l99sHQxrI{_%MgknC#8Mf8ma&(wtZH&pSEE;lfRAFm<+vXaz^&&Zzv!3an?T43C;=b&abN_z$;Lf%-_)j`^|Y@3nVgpy`7z^A#8*lJh$~5--#e-;Vy@a%2pinQtfiN-GK|b6GdLvL`bRbw<jbk!SD45h#pEY<j;#;{SJL-;(Wd<w@?HVUCc(hy%h8;9nOV(lwqzJsW(F^2NspS`dI2GSSbqF`)dmy+4&KatG@k^=|EVXP%{aar3$af@Ctb6DY47Bs)jeTde*(50hF0`)og030WD_v+ULvExMiKOsc)75!x(c<dRL|*%dGoeK|l+RZwsZw*v=xYVosH<Y3KqGSN3*tQ4^+1+v2X~O2FnhjT)V(fY9#H$pdlUfO9fZ^$SS_rGoW6J!L|aIj-*>S}aDtSjVLcWeTt>m^JkKifPcRS#syo^|zSr&ZE7w7zK72o0}M)h2i|~8#vQlAT+TMx=JQt6(!tBhwvZJ52m`;w({Xk#syuDbtf{z4Z{z;d;!+N`%c4mnjmQo!#4g)JvJL%nJrx_hjeujGo9W8`IdQfYw9qjj{I^;=lUq922(Tr-*+O{rp^DU*#HC>s9VTxVz7uUnLqY`3rBV04vsaAp~?2RX@<r_c-|32Pt=s-P>*ZSEkgyAZdNZiIaLK6&UvPBBq?ls!VCMSRD?wSMU_X@4ARJz<kc-=IAr8_E-kVVIsL>r=Sv8rek$d3N@Nw>_3ho=yl)uz+plgjH4s8|@jDmGXLT4DTbco7Vl0ZPDf`U$@$Q53mcPs=Aczyc#4lcgCX@@07DNcZGiv#O=NAz!)$quD+wcY35_ksGcm)<7(uj7-<X}bV!!r{<%R%hmBeM-|0JhzY(a2R?Ag;B4rC&RULBTzAm&Gcm)fl(`ZIc-G{K1>Aw^xoa6%(rCNeUo7oz~qzQiI6PD5qla1U{pCY<+xX1m9%s<N59!z|dHRv5{E^YDLjT+#V`m!-YNq)uIE)Z-@hqW`uHgPsMj`Zv$SBaXFe`ufR-(|E^mpN@#EOx608`f?bwi-ut>?4CEJPvRq4md)lN>i_gdKY%c?a@4wKLx9QGjV<q~{^zRPNsmJ{WJzUqqcJR$Jk2-Oy0laP5rZF}mjL8UI`^17!J|nzAr4gl2RlLAku&x&e=Xx5u6j#6+w`MEmTp^Z<ciyx$QbD{XBS%LefE6}%TLLPT7<rs}_*Ab9w<@A6<$8lidsTFp7A!|^yLbB>7PWx2<`B(ui4yD5v_tsI#b8sCyD@sG4XRlM9!1?EtoFHbz)-gd^~ujz$`lTaSe}^SMGWB*8)n!&w_$L(`3RB&A0xq=+&K5UR{3o0ZXa`9HoSE69zP$Q0x>iqaZjEChHHn8ETVt?;kw6>9L>b7CG~|?A2moH(^^BOPbA~)OIcwJ8MWAVLzH0AF2TKL_5IriOYwi(mB;e', 'float64').reshape((24, 7))), tf.float64)
work = lambda: call(x=x, decay=0.9)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('0.1414532939763246')  # by the definition in float64
is_right = bool(abs(got - expected) < 8.58e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
