"""TensorFlow: transforms and windows of signals. A complex argument or result is two: real part and imaginary part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

signal = tf.signal


def _parts(value: Any) -> Any:
    return tf.math.real(value), tf.math.imag(value)


def _plain_norm(n: int | None, axis: int, norm: str) -> None:
    if axis != -1:
        raise Unsupported("axis: TensorFlow transforms along the last axis alone. Allowed: -1.")
    if norm != "backward":
        raise Unsupported(f"norm {norm}: TensorFlow has none. Allowed: backward.")
    if n is not None:
        raise Unsupported("n: this one has no length of a transform. Allowed: None.")


def _of_complex(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any, n: int | None, axis: int, norm: str) -> Any:
        _plain_norm(n, axis, norm)
        return _parts(function(tf.complex(x, y)))

    return call


def _nd(function: Callable[..., Any], *, is_real: bool = False) -> Callable[..., Any]:
    def call(x: Any, n: int | None, axis: int, norm: str, y: Any = None) -> Any:
        value = x if y is None else tf.complex(x, y)
        found = function(value, [value.shape[axis] if n is None else n], [axis], norm)
        return found if is_real else _parts(found)

    return call


def _rfft(x: Any, n: int | None, axis: int, norm: str) -> Any:
    _plain_norm(None, axis, norm)
    return _parts(signal.rfft(x, None if n is None else [n]))


def _irfft(x: Any, y: Any, n: int | None, axis: int, norm: str) -> Any:
    _plain_norm(None, axis, norm)
    return signal.irfft(tf.complex(x, y), None if n is None else [n])


def _irfftnd(x: Any, y: Any, n: int | None, axis: int, norm: str) -> Any:
    return signal.irfftnd(tf.complex(x, y), [2 * (x.shape[axis] - 1) if n is None else n], [axis], norm)


def _plane(function: Callable[..., Any], *, is_inverse: bool = False, has_length: bool = False) -> Callable[..., Any]:
    def call(x: Any, s: list[int] | None, norm: str, y: Any = None) -> Any:
        if s is not None and not has_length:
            raise Unsupported("s: this one has no lengths of a transform. Allowed: None.")
        if norm != "backward":
            raise Unsupported(f"norm {norm}: TensorFlow has none. Allowed: backward.")
        value = x if y is None else tf.complex(x, y)
        found = function(value, s) if has_length else function(value)
        return found if is_inverse else _parts(found)

    return call


def _planes(function: Callable[..., Any], *, is_inverse: bool = False, is_halved: bool = False) -> Callable[..., Any]:
    def call(x: Any, s: list[int] | None, norm: str, y: Any = None) -> Any:
        value = x if y is None else tf.complex(x, y)
        last = 2 * (x.shape[-1] - 1) if is_halved else x.shape[-1]
        found = function(value, s or [x.shape[-2], last], [-2, -1], norm)
        return found if is_inverse else _parts(found)

    return call


def _space(function: Callable[..., Any], *, is_real: bool = False) -> Callable[..., Any]:
    def call(x: Any, norm: str, y: Any = None) -> Any:
        if norm != "backward":
            raise Unsupported(f"norm {norm}: TensorFlow has none. Allowed: backward.")
        found = function(x if y is None else tf.complex(x, y))
        return found if is_real else _parts(found)

    return call


def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, periodic: 1.0 + function(len(like), periodic, like.dtype)


def _kaiser(like: Any, periodic: bool, beta: float) -> Any:
    if periodic:
        raise Unsupported("periodic: TensorFlow's window of Kaiser is symmetric. Allowed: False.")
    return 1.0 + signal.kaiser_window(len(like), beta, like.dtype)


def _stft(x: Any, window: Any, frame_step: int, fft_length: int, center: bool) -> Any:
    if center or len(window) != fft_length:
        raise Unsupported("center, or zeros on both sides of the window: tf.signal.stft has neither")
    return _parts(signal.stft(x, len(window), frame_step, fft_length, lambda length, dtype: window))


def _padded(x: Any, window: Any, frame_step: int, fft_length: int, pad_end: bool) -> Any:
    return _parts(signal.stft(x, len(window), frame_step, fft_length, lambda length, dtype: window, pad_end))


def _inverse_stft(x: Any, y: Any, window: Any, frame_step: int) -> Any:
    inverse = signal.inverse_stft_window_fn(frame_step, lambda length, dtype: window)
    return signal.inverse_stft(tf.complex(x, y), len(window), frame_step, 8, window_fn=inverse)


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "fft": {"tensorflow.signal.fft": _of_complex(signal.fft), "tensorflow.signal.fftnd": _nd(signal.fftnd)},
    "ifft": {"tensorflow.signal.ifft": _of_complex(signal.ifft), "tensorflow.signal.ifftnd": _nd(signal.ifftnd)},
    "rfft": {"tensorflow.signal.rfft": _rfft, "tensorflow.signal.rfftnd": _nd(signal.rfftnd)},
    "irfft": {"tensorflow.signal.irfft": _irfft, "tensorflow.signal.irfftnd": _irfftnd},
    "fft2": {"tensorflow.signal.fft2d": _plane(signal.fft2d), "tensorflow.signal.fftnd": _planes(signal.fftnd)},
    "ifft2": {"tensorflow.signal.ifft2d": _plane(signal.ifft2d), "tensorflow.signal.ifftnd": _planes(signal.ifftnd)},
    "rfft2": {
        "tensorflow.signal.rfft2d": _plane(signal.rfft2d, has_length=True),
        "tensorflow.signal.rfftnd": _planes(signal.rfftnd),
    },
    "irfft2": {
        "tensorflow.signal.irfft2d": _plane(signal.irfft2d, is_inverse=True, has_length=True),
        "tensorflow.signal.irfftnd": _planes(signal.irfftnd, is_inverse=True, is_halved=True),
    },
    "fft3": {"tensorflow.signal.fft3d": _space(signal.fft3d)},
    "ifft3": {"tensorflow.signal.ifft3d": _space(signal.ifft3d)},
    "irfft3": {"tensorflow.signal.irfft3d": _space(signal.irfft3d, is_real=True)},
    "rfft3": {"tensorflow.signal.rfft3d": _space(signal.rfft3d)},
    "fftshift": {"tensorflow.signal.fftshift": lambda x, axis: signal.fftshift(x, axis)},
    "ifftshift": {"tensorflow.signal.ifftshift": lambda x, axis: signal.ifftshift(x, axis)},
    "hann_window": {"tensorflow.signal.hann_window": _window(signal.hann_window)},
    "hamming_window": {"tensorflow.signal.hamming_window": _window(signal.hamming_window)},
    "kaiser_window": {"tensorflow.signal.kaiser_window": _kaiser},
    "vorbis_window": {
        "tensorflow.signal.vorbis_window": lambda like: 1.0 + signal.vorbis_window(len(like), like.dtype),
    },
    "kaiser_bessel_derived_window": {
        "tensorflow.signal.kaiser_bessel_derived_window": lambda like, beta: (
            1.0 + signal.kaiser_bessel_derived_window(len(like), beta, like.dtype)
        ),
    },
    "stft": {"tensorflow.signal.stft": _stft},
    "stft_of_padded_frames": {
        "tensorflow.signal.stft": _padded,
    },
    "inverse_stft": {"tensorflow.signal.inverse_stft": _inverse_stft},
    "frame": {
        "tensorflow.signal.frame": lambda x, frame_length, frame_step, pad_end: signal.frame(
            x, frame_length, frame_step, pad_end
        ),
    },
    "overlap_and_add": {"tensorflow.signal.overlap_and_add": lambda x, frame_step: signal.overlap_and_add(x, frame_step)},
    "dct": {"tensorflow.signal.dct": lambda x, type, n, norm: signal.dct(x, type, n, norm=norm)},
    "idct_unscaled": {"tensorflow.signal.idct": lambda x, type, n, norm: signal.idct(x, type, n, norm=norm)},
    "mel_matrix": {
        "tensorflow.signal.linear_to_mel_weight_matrix": lambda like, mels, bins, rate, low, high: (
            signal.linear_to_mel_weight_matrix(mels, bins, rate, low, high, like.dtype)
        ),
    },
    "mfccs": {"tensorflow.signal.mfccs_from_log_mel_spectrograms": None},
    "inverse_mdct": {"tensorflow.signal.inverse_mdct": lambda x, norm: signal.inverse_mdct(x, norm=norm)},
    "mdct": {"tensorflow.signal.mdct": lambda x, frame_length, norm: signal.mdct(x, frame_length, norm=norm)},
}
