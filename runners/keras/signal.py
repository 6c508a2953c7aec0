"""Keras: transforms and windows of signals. A complex argument or result is two: real part and imaginary part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported


def _plain(n: int | None, axis: int, norm: str) -> None:
    if axis != -1 or norm != "backward" or n is not None:
        raise Unsupported("Keras transforms the whole last axis without a norm. Allowed: n=None, axis=-1, norm=backward.")


def _fft(x: Any, y: Any, n: int | None, axis: int, norm: str) -> Any:
    _plain(n, axis, norm)
    return ops.fft((x, y))


def _rfft(x: Any, n: int | None, axis: int, norm: str) -> Any:
    _plain(None, axis, norm)
    return ops.rfft(x, n)


def _irfft(x: Any, y: Any, n: int | None, axis: int, norm: str) -> Any:
    _plain(None, axis, norm)
    return ops.irfft((x, y), n)


def _plane(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any, s: list[int] | None, norm: str) -> Any:
        if s is not None or norm != "backward":
            raise Unsupported("Keras transforms whole planes without a norm. Allowed: s=None, norm=backward.")
        return function((x, y))

    return call


def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a window that is symmetric: a periodic one is all but the last of a longer one."""

    def call(like: Any, periodic: bool, **rest: Any) -> Any:
        length = like.shape[0]
        if periodic and length == 1:
            raise Unsupported("a periodic window of one: it has no longer one that it is a part of")
        if "float64" in str(like.dtype):
            raise Unsupported("float64: a window of Keras has the type keras.config.floatx() says")
        return ops.cast(1.0 + function(length + periodic, **rest)[:length], like.dtype)

    return call


def _stft(x: Any, window: Any, frame_step: int, fft_length: int, center: bool) -> Any:
    return ops.stft(x, window.shape[0], frame_step, fft_length, window, center)


def _istft(x: Any, y: Any, window: Any, frame_step: int, center: bool) -> Any:
    return ops.istft((x, y), 8, frame_step, 8, window=window, center=center)


def _mel_spectrogram(x: Any, mels: int, power: float, decibels: bool) -> Any:
    layer = keras.layers.MelSpectrogram(
        fft_length=32,
        sequence_stride=8,
        sequence_length=32,
        sampling_rate=8000,
        num_mel_bins=mels,
        min_freq=20.0,
        max_freq=4000.0,
        power_to_db=decibels,
        mag_exp=power,
        ref_power=1.0,
    )
    return layer(x)


def _stft_layer(x: Any, frame_step: int, fft_length: int) -> Any:
    of = {"frame_length": fft_length, "frame_step": frame_step, "fft_length": fft_length, "window": None, "scaling": None}
    frames = ops.expand_dims(x, -1)
    layers = [keras.layers.STFTSpectrogram(mode=mode, **of) for mode in ("real", "imag")]
    real, imaginary = (layer(frames) for layer in layers)
    return real + imaginary, real - imaginary


def _frame(x: Any, frame_length: int, frame_step: int, pad_end: bool) -> Any:
    if pad_end:
        raise Unsupported("pad_end: keras.ops.extract_sequences has none. Allowed: False.")
    return ops.extract_sequences(x, frame_length, frame_step)


def _longer(x: Any, y: Any, mode: str) -> Any:
    return ops.correlate(x, y, mode)


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "fft": {"keras.ops.fft": _fft},
    "rfft": {"keras.ops.rfft": _rfft},
    "irfft": {"keras.ops.irfft": _irfft},
    "fft2": {"keras.ops.fft2": _plane(ops.fft2)},
    "ifft2": {"keras.ops.ifft2": _plane(ops.ifft2)},
    "hann_window": {"keras.ops.hanning": _window(ops.hanning)},
    "hamming_window": {"keras.ops.hamming": _window(ops.hamming)},
    "blackman_window": {"keras.ops.blackman": _window(ops.blackman)},
    "bartlett_window": {"keras.ops.bartlett": _window(ops.bartlett)},
    "kaiser_window": {"keras.ops.kaiser": _window(ops.kaiser)},
    "stft": {"keras.ops.stft": _stft},
    "stft_without_window": {"keras.layers.STFTSpectrogram": _stft_layer},
    "istft": {
        "keras.ops.istft": _istft,
    },
    "frame": {"keras.ops.extract_sequences": _frame},
    "correlate": {"keras.ops.correlate": _longer},
    "correlate_with_longer": {"keras.ops.correlate": _longer},
    "mel_spectrogram": {"keras.layers.MelSpectrogram": _mel_spectrogram},
}
