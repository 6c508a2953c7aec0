"""JAX: transforms and windows of signals. A complex argument or result is two: real part and imaginary part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.signal

from runners.contract.errors import Unsupported

fft = jnp.fft
signal = jax.scipy.signal


def _parts(value: Any) -> Any:
    return value.real, value.imag


def _of_complex(function: Callable[..., Any], *, is_real: bool = False) -> Callable[..., Any]:
    def call(x: Any, y: Any, **parameters: Any) -> Any:
        found = function(jax.lax.complex(x, y), **_tuples(parameters))
        return found if is_real else _parts(found)

    return call


def _of_real(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **parameters: _parts(function(x, **_tuples(parameters)))


def _tuples(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(each) if isinstance(each, list) else each for name, each in parameters.items()}


def _all_axes(function: Callable[..., Any], *, is_inverse: bool = False) -> Callable[..., Any]:
    """Return a call that has a transform of any axes do what that of one axis does."""

    def call(x: Any, n: int | None, axis: int, norm: str, y: Any = None) -> Any:
        found = function(x if y is None else jax.lax.complex(x, y), None if n is None else (n,), (axis,), norm)
        return found if is_inverse else _parts(found)

    return call


def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a window that is symmetric: a periodic one is all but the last of a longer one."""

    def call(like: Any, periodic: bool, **rest: Any) -> Any:
        if periodic and len(like) == 1:
            raise Unsupported("a periodic window of one: it has no longer one that it is a part of")
        return (1.0 + function(len(like) + periodic, **rest)[: len(like)]).astype(like.dtype)

    return call


def _detrended(x: Any, nperseg: int, noverlap: int, detrend: Any, scaling: str) -> Any:
    return signal.welch(x, nperseg=nperseg, noverlap=noverlap, detrend=detrend, scaling=scaling)[1]


def _shift(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis: function(x, tuple(axis) if isinstance(axis, list) else axis)


def _freq(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, d: function(len(like), d, dtype=like.dtype)


def _scipy_planes(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, norm: function(x, axes=(-2, -1), norm=norm)


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "fft": {"jax.numpy.fft.fft": _of_complex(fft.fft), "jax.numpy.fft.fftn": _all_axes(fft.fftn)},
    "ifft": {"jax.numpy.fft.ifft": _of_complex(fft.ifft), "jax.numpy.fft.ifftn": _all_axes(fft.ifftn)},
    "rfft": {"jax.numpy.fft.rfft": _of_real(fft.rfft), "jax.numpy.fft.rfftn": _all_axes(fft.rfftn)},
    "irfft": {
        "jax.numpy.fft.irfft": _of_complex(fft.irfft, is_real=True),
        "jax.numpy.fft.irfftn": _all_axes(fft.irfftn, is_inverse=True),
    },
    "hfft": {"jax.numpy.fft.hfft": _of_complex(fft.hfft, is_real=True)},
    "ihfft": {"jax.numpy.fft.ihfft": _of_real(fft.ihfft)},
    "fft2": {"jax.numpy.fft.fft2": _of_complex(fft.fft2)},
    "ifft2": {"jax.numpy.fft.ifft2": _of_complex(fft.ifft2)},
    "rfft2": {"jax.numpy.fft.rfft2": _of_real(fft.rfft2)},
    "irfft2": {"jax.numpy.fft.irfft2": _of_complex(fft.irfft2, is_real=True)},
    "fft3": {
        "jax.numpy.fft.fftn": lambda x, y, norm: _parts(fft.fftn(jax.lax.complex(x, y), axes=(-3, -2, -1), norm=norm)),
    },
    "ifft3": {
        "jax.numpy.fft.ifftn": lambda x, y, norm: _parts(fft.ifftn(jax.lax.complex(x, y), axes=(-3, -2, -1), norm=norm)),
    },
    "irfft3": {"jax.numpy.fft.irfftn": lambda x, y, norm: fft.irfftn(jax.lax.complex(x, y), axes=(-3, -2, -1), norm=norm)},
    "rfft3": {"jax.numpy.fft.rfftn": lambda x, norm: _parts(fft.rfftn(x, axes=(-3, -2, -1), norm=norm))},
    "fftshift": {"jax.numpy.fft.fftshift": _shift(fft.fftshift)},
    "ifftshift": {"jax.numpy.fft.ifftshift": _shift(fft.ifftshift)},
    "fftfreq": {"jax.numpy.fft.fftfreq": _freq(fft.fftfreq)},
    "rfftfreq": {"jax.numpy.fft.rfftfreq": _freq(fft.rfftfreq)},
    "hann_window": {"jax.numpy.hanning": _window(jnp.hanning)},
    "hamming_window": {"jax.numpy.hamming": _window(jnp.hamming)},
    "blackman_window": {"jax.numpy.blackman": _window(jnp.blackman)},
    "bartlett_window": {"jax.numpy.bartlett": _window(jnp.bartlett)},
    "kaiser_window": {"jax.numpy.kaiser": _window(jnp.kaiser)},
    "stft_of_scipy": {
        "jax.scipy.signal.stft": lambda x, nperseg, noverlap: _parts(signal.stft(x, nperseg=nperseg, noverlap=noverlap)[2]),
    },
    "istft_of_scipy": {
        "jax.scipy.signal.istft": lambda x, y, noverlap: signal.istft(jax.lax.complex(x, y), nperseg=8, noverlap=noverlap)[1],
    },
    "welch": {"jax.scipy.signal.welch": _detrended},
    "csd": {
        "jax.scipy.signal.csd": lambda x, y, nperseg, noverlap: _parts(signal.csd(x, y, nperseg=nperseg, noverlap=noverlap)[1]),
    },
    "detrend": {"jax.scipy.signal.detrend": None},
    "dct": {"jax.scipy.fft.dct": lambda x, type, n, norm: jax.scipy.fft.dct(x, type, n, -1, norm)},
    "idct": {"jax.scipy.fft.idct": lambda x, type, n, norm: jax.scipy.fft.idct(x, type, n, -1, norm)},
    "dct2": {"jax.scipy.fft.dctn": _scipy_planes(jax.scipy.fft.dctn)},
    "idct2": {"jax.scipy.fft.idctn": _scipy_planes(jax.scipy.fft.idctn)},
    "convolve": {
        "jax.numpy.convolve": None,
        "jax.scipy.signal.convolve": None,
        "jax.scipy.signal.convolve (by fft)": lambda x, y, mode: signal.convolve(x, y, mode, method="fft"),
        "jax.scipy.signal.fftconvolve": None,
    },
    "convolve_with_longer": {
        "jax.numpy.convolve": None,
        "jax.scipy.signal.convolve": lambda x, y, mode: signal.convolve(x, y, _of_equal_order(mode)),
    },
    "correlate": {"jax.numpy.correlate": None, "jax.scipy.signal.correlate": None},
    "correlate_with_longer": {"jax.numpy.correlate": None},
    "convolve2d": {
        "jax.scipy.signal.convolve2d": lambda x, y, mode, boundary, fillvalue: signal.convolve2d(x, y, mode, boundary, fillvalue),
        "jax.scipy.signal.convolve": lambda x, y, mode, boundary, fillvalue: signal.convolve(x, y, mode),
        "jax.scipy.signal.fftconvolve": lambda x, y, mode, boundary, fillvalue: signal.fftconvolve(x, y, mode),
    },
    "correlate2d": {
        "jax.scipy.signal.correlate2d": lambda x, y, mode, boundary, fillvalue: signal.correlate2d(
            x, y, mode, boundary, fillvalue
        ),
        "jax.scipy.signal.correlate": lambda x, y, mode, boundary, fillvalue: signal.correlate(x, y, mode),
    },
    "convolve3d": {"jax.scipy.signal.convolve": None, "jax.scipy.signal.fftconvolve": None},
    "correlate3d": {"jax.scipy.signal.correlate": None},
}


def _of_equal_order(mode: str) -> str:
    """Return a mode that NumPy and SciPy have alike for a shorter first sequence: "same" is of the first's length in SciPy."""
    if mode == "same":
        raise Unsupported("same: SciPy's is as long as its first argument, NumPy's as the longer one")
    return mode
