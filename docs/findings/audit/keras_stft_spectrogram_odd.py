"""Keras 3.15.1, every backend: STFTSpectrogram with an odd fft_length computes other frequencies."""

import keras
import numpy as np

print("keras", keras.__version__, keras.backend.backend())
x = np.random.default_rng(0).standard_normal((1, 14)).astype("float32")
for length in (6, 7):
    layer = keras.layers.STFTSpectrogram(
        mode="real", frame_length=length, frame_step=length, fft_length=length, window=None, scaling=None
    )
    got = keras.ops.convert_to_numpy(layer(x[..., None]))[0, 0]
    error = np.abs(got - np.fft.rfft(x[0, :length]).real).max()
    print("fft_length", length, "largest error", error.round(5))
is_right = bool(error < 1e-3)
print("RIGHT" if is_right else "WRONG", "got", error, "expected", 0.0)
raise SystemExit(not is_right)
