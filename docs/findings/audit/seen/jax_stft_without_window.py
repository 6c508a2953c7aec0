"""keras.layers.STFTSpectrogram, jax 0.10.2, jit: outputs/0 is 5.51e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
from keras import ops
from typing import Any
import jax
import jax.numpy as jnp
import keras
import numpy as np
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _stft_layer(x: Any, frame_step: int, fft_length: int) -> Any:
    of = {'frame_length': fft_length, 'frame_step': frame_step, 'fft_length': fft_length, 'window': None, 'scaling': None}
    frames = ops.expand_dims(x, -1)
    layers = [keras.layers.STFTSpectrogram(mode=mode, **of) for mode in ('real', 'imag')]
    real, imaginary = (layer(frames) for layer in layers)
    return (real + imaginary, real - imaginary)
call = _stft_layer
x = jnp.asarray(unpack('c-jG|09XHE*M&X@B=5g7kG(x3e4IY<QK&yPx1B$?L4iNH(-gk&QuRJHf7-t~nl8V2y9PhWX1BixnMA+M9A!V}YYx9QN9{g{8=5_&h{iu1w79<YdFnq`zXv{%r<^}E{_Q{hkSag=t1mxM*ML6~S3o}{?v_4ta*4n5B#yt&wN5|jgf&2yXAQs#e&4=<5~9D;k`O?2*-O6$NG`vyX}!O9){VX@!XCZr-%?`', 'float32').reshape((2, 21)), jnp.float32)
work = jax.jit(lambda: call(x=x, frame_step=2, fft_length=5))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1, 3, 2)]), float('-0.4791517682653621')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.89)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
