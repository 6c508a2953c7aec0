"""PyTorch: transforms and windows of signals. A complex argument or result is two: real part and imaginary part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def _parts(value: Any) -> Any:
    return value.real, value.imag


def _of_complex(function: Callable[..., Any], *, is_real: bool = False) -> Callable[..., Any]:
    def call(x: Any, y: Any, **parameters: Any) -> Any:
        found = function(torch.complex(x, y), **_named(parameters))
        return found if is_real else _parts(found)

    return call


def _of_real(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **parameters: _parts(function(x, **_named(parameters)))


def _named(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"dim" if name == "axis" else name: each for name, each in parameters.items()}


def _all_axes(function: Callable[..., Any], *, is_inverse: bool = False) -> Callable[..., Any]:
    """Return a call that has a transform of any axes do what that of one axis does."""

    def call(x: Any, n: int | None, axis: int, norm: str, y: Any = None) -> Any:
        found = function(x if y is None else torch.complex(x, y), None if n is None else (n,), (axis,), norm)
        return found if is_inverse else _parts(found)

    return call


def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a window of `torch`, which is periodic on request."""
    return lambda like, periodic, **rest: 1.0 + function(len(like), periodic, **rest, dtype=like.dtype)


def _symmetric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a window of `torch.signal.windows`, which is symmetric on request."""
    return lambda like, periodic, **rest: 1.0 + function(len(like), **rest, sym=not periodic, dtype=like.dtype)


def _stft(x: Any, window: Any, frame_step: int, fft_length: int, center: bool) -> Any:
    found = torch.stft(x, fft_length, frame_step, len(window), window, center=center, return_complex=True)
    return _parts(found.transpose(-1, -2))


def _istft(x: Any, y: Any, window: Any, frame_step: int, center: bool) -> Any:
    return torch.istft(torch.complex(x, y).transpose(-1, -2), 8, frame_step, 8, window, center=center)


def _frame(x: Any, frame_length: int, frame_step: int, pad_end: bool) -> Any:
    if pad_end:
        x = F.pad(x, (0, (-(-x.shape[-1] // frame_step) - 1) * frame_step + frame_length - x.shape[-1]))
    return x.unfold(-1, frame_length, frame_step)


def _overlap_and_add(x: Any, frame_step: int) -> Any:
    length = (x.shape[1] - 1) * frame_step + x.shape[2]
    return F.fold(x.transpose(1, 2), (1, length), (1, x.shape[2]), stride=(1, frame_step))[:, 0, 0]


windows = torch.signal.windows
CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "fft": {"torch.fft.fft": _of_complex(torch.fft.fft), "torch.fft.fftn": _all_axes(torch.fft.fftn)},
    "ifft": {"torch.fft.ifft": _of_complex(torch.fft.ifft), "torch.fft.ifftn": _all_axes(torch.fft.ifftn)},
    "rfft": {"torch.fft.rfft": _of_real(torch.fft.rfft), "torch.fft.rfftn": _all_axes(torch.fft.rfftn)},
    "irfft": {
        "torch.fft.irfft": _of_complex(torch.fft.irfft, is_real=True),
        "torch.fft.irfftn": _all_axes(torch.fft.irfftn, is_inverse=True),
    },
    "hfft": {
        "torch.fft.hfft": _of_complex(torch.fft.hfft, is_real=True),
        "torch.fft.hfftn": _all_axes(torch.fft.hfftn, is_inverse=True),
    },
    "ihfft": {"torch.fft.ihfft": _of_real(torch.fft.ihfft), "torch.fft.ihfftn": _all_axes(torch.fft.ihfftn)},
    "fft2": {"torch.fft.fft2": _of_complex(torch.fft.fft2)},
    "ifft2": {"torch.fft.ifft2": _of_complex(torch.fft.ifft2)},
    "rfft2": {"torch.fft.rfft2": _of_real(torch.fft.rfft2)},
    "irfft2": {"torch.fft.irfft2": _of_complex(torch.fft.irfft2, is_real=True)},
    "fft3": {"torch.fft.fftn": lambda x, y, norm: _parts(torch.fft.fftn(torch.complex(x, y), dim=(-3, -2, -1), norm=norm))},
    "ifft3": {"torch.fft.ifftn": lambda x, y, norm: _parts(torch.fft.ifftn(torch.complex(x, y), dim=(-3, -2, -1), norm=norm))},
    "irfft3": {"torch.fft.irfftn": lambda x, y, norm: torch.fft.irfftn(torch.complex(x, y), dim=(-3, -2, -1), norm=norm)},
    "rfft3": {"torch.fft.rfftn": lambda x, norm: _parts(torch.fft.rfftn(x, dim=(-3, -2, -1), norm=norm))},
    "fftshift": {"torch.fft.fftshift": lambda x, axis: torch.fft.fftshift(x, axis)},
    "ifftshift": {"torch.fft.ifftshift": lambda x, axis: torch.fft.ifftshift(x, axis)},
    "fftfreq": {"torch.fft.fftfreq": lambda like, d: torch.fft.fftfreq(len(like), d, dtype=like.dtype)},
    "rfftfreq": {"torch.fft.rfftfreq": lambda like, d: torch.fft.rfftfreq(len(like), d, dtype=like.dtype)},
    "hann_window": {"torch.hann_window": _window(torch.hann_window), "torch.signal.windows.hann": _symmetric(windows.hann)},
    "hamming_window": {
        "torch.hamming_window": _window(torch.hamming_window),
        "torch.signal.windows.hamming": _symmetric(windows.hamming),
    },
    "blackman_window": {
        "torch.blackman_window": _window(torch.blackman_window),
        "torch.signal.windows.blackman": _symmetric(windows.blackman),
    },
    "bartlett_window": {
        "torch.bartlett_window": _window(torch.bartlett_window),
        "torch.signal.windows.bartlett": _symmetric(windows.bartlett),
    },
    "kaiser_window": {
        "torch.kaiser_window": _window(torch.kaiser_window),
        "torch.signal.windows.kaiser": _symmetric(windows.kaiser),
    },
    "cosine_window": {"torch.signal.windows.cosine": _symmetric(windows.cosine)},
    "nuttall_window": {"torch.signal.windows.nuttall": _symmetric(windows.nuttall)},
    "gaussian_window": {"torch.signal.windows.gaussian": _symmetric(windows.gaussian)},
    "exponential_window": {"torch.signal.windows.exponential": _symmetric(windows.exponential)},
    "general_hamming_window": {
        "torch.signal.windows.general_hamming": _symmetric(windows.general_hamming),
        "torch.hamming_window": lambda like, periodic, alpha: (
            1.0 + torch.hamming_window(len(like), periodic, alpha, 1 - alpha, dtype=like.dtype)
        ),
    },
    "general_cosine_window": {"torch.signal.windows.general_cosine": _symmetric(windows.general_cosine)},
    "stft": {"torch.stft": _stft},
    "istft": {"torch.istft": _istft},
    "frame": {"torch.Tensor.unfold": _frame},
    "overlap_and_add": {"torch.nn.functional.fold": _overlap_and_add},
}
