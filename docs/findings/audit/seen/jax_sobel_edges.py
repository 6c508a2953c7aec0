"""keras.ops.image.sobel_edges, jax 0.10.2, jit: outputs/0 is 3.87e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import keras
import numpy as np
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
_last = lambda x: keras.ops.moveaxis(x, 1, -1)
call = lambda x, taps: keras.ops.moveaxis(keras.ops.image.sobel_edges(_last(x), 'channels_last'), 3, 1)
x = jnp.asarray(np.array([-2.2119123935699463, -1.0454745292663574, -0.4642253518104553, 0.5660058259963989, -0.3135462701320648, 0.28464972972869873, 0.6881496906280518, 1.4108779430389404, -0.5691679120063782, -0.808220386505127, 1.3765076398849487, 0.07512648403644562, -0.45540180802345276, 1.1553252935409546, -0.37320899963378906, -0.8591950535774231, -0.6361202001571655, -0.5828351974487305, -0.562491238117218, 1.8799595832824707, 0.5410090684890747, 0.32965922355651855, -0.8430789113044739, -1.1032631397247314, -0.16274939477443695, -0.019271062687039375, -1.1752525568008423, 0.2934989035129547, -0.22707317769527435, -0.16992999613285065, 0.8596208691596985, 1.075639009475708, -1.7259244918823242, 1.9027674198150635, 1.2491346597671509, -1.3064181804656982, 1.3698248863220215, 0.054638639092445374, 0.892065703868866, 0.354133278131485], 'float32').reshape((1, 2, 5, 4)), jnp.float32)
taps = jnp.asarray(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 'float32').reshape((3, 3)), jnp.float32)
work = jax.jit(lambda x, taps: call(x=x, taps=taps))
found = work(x, taps)
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0, 0, 3, 0)]), float('0.0')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.75)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
