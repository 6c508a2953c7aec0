"""jax.scipy.linalg.sqrtm, jax 0.10.2, jit: outputs/0 is 281 times rounding off."""
from typing import Any
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _symmetric(x: Any) -> Any:
    return x + x.mT
call = lambda x: jsl.sqrtm(_symmetric(x)).real
x = jnp.asarray(unpack('c-jF(0lWV5$TdH^lW9P<aC1K48z?}fdQ-oC@}a*-5m`Tdte-#O=mfvo>~z36Lr6b+bkRRL253JyRDwTpXcxaAWRSlGy^Fv4)Qmo*e;&UB!Q;QT`h-83LkK?%_Y*%!k%qqqLc%}GvIIZsQ$9d_&@jMWMIOHe-Y&i`?TtT{2FkzJ7Q4O{i~zvnl3TwFXYIdWw<tdx`CPvXeDuEP>$X35`<Xv$t#Q6`3O_!;Lsh`LM@zmSvwJ^&1W`X^o2@_M#n?WvcF#V#18hHYKIFcWr;NX*d%M2i(~ZAPU}!(6*u=jWN9#Z1n^L|?38+3*TAV+>`XfJhh!emCRi(ezPLw~b0XV-gB91?oY)U{H9Be-h4OqXHLt;PWzT`h7UJyT;OU=HcyE(wKtj#}CnFBr9cLP4$$`?RPWz)Zpn2<l`Y?`J', 'float32').reshape((9, 9)), jnp.float32)
work = jax.jit(lambda: call(x=x))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(6, 4)]), float('-0.007699782369747369')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.52e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
