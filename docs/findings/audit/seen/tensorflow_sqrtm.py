"""tensorflow.linalg.sqrtm, tensorflow 2.21.0, eager: outputs/0 is 71.7 times rounding off."""
from typing import Any
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _t(x: Any) -> Any:
    return tf.linalg.matrix_transpose(x)
def _symmetric(x: Any) -> Any:
    return x + _t(x)
def _of_symmetric(function: Any) -> Any:
    return lambda x: function(_symmetric(x))
call = _of_symmetric(tf.linalg.sqrtm)
x = tf.cast(tf.constant(unpack('c-jF(0lWUtWRySu-KRgJJ!L>Ix#vCB^~OKOmsUTQ5eL5>#|gluG+;m7jHbUVp>#iHCcnQ-^Qb>olGnfTeU-mV#MZyWR-ZppiRizA%yPiSyWc;|$)G<{4eCF((vv>lh!8-X<w!qjNrOKZX*s_%j6=Ou$>YC(O9sG-dv-r3Bx^rHaWp_jKykn+QKLV3f6G5O4dK75W7t1d4L-iyjf}r0wt+vq7nDEoM=d|3zXCwzu5iCIDr&#x=DR;F0UE#?Dn!6{)T6%{-Go2HhJC-4xCp<L@)*F~@MAt+Q`|qd{BOTPRe(T6O?JN~QG`F)i&{TCM$o_BzMsCj9T-5(sh_`nxM9Cp<IKP0>=D4W;50t+ImSO>IEFuLFy6nVj9kCYVER8Y!#6+XsHwkQvxYx!v>`xDg$F-6;@m&^Vm3ddx}vB', 'float32').reshape((9, 9))), tf.float32)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 3)]), float('0.02487081370967423')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.01e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
