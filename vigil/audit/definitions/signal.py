"""Transforms and windows of signals. A complex argument or result is two: real part and imaginary part."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.signal

from vigil.audit.arguments import Argument, normal, uniform
from vigil.audit.entry import operator

FFT = "https://numpy.org/doc/stable/reference/routines.fft.html"
SCIPY = "https://docs.scipy.org/doc/scipy/reference/signal.html"
TORCH_STFT = "https://docs.pytorch.org/docs/stable/generated/torch.stft.html"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/signal"
WIDE = ("fp32", "fp64")  # few frameworks transform in less

_NORMS = ("backward", "ortho", "forward")
_LINES = tuple({"m": rows, "n": size} for rows, size in ((2, 8), (3, 1), (2, 33), (2, 1027), (2, 4099), (2, 127), (2, 1024)))
_PLANES = tuple({"m": rows, "n": size} for rows, size in ((3, 4), (1, 1), (7, 33), (31, 67), (64, 48)))
_LENGTHS = tuple(
    {"n": length, "axis": axis, "norm": norm}
    for length, axis, norm in (
        *((None, -1, norm) for norm in _NORMS),
        (6, -1, "backward"),
        (11, -1, "ortho"),
        (None, 0, "forward"),
        (4, 0, "backward"),
    )
)


def _parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.real(values), np.imag(values)


def _transform(name: str, function: Any, *, has_imaginary: bool, is_real: bool) -> None:
    """Enter a transform along one axis that numpy.fft has."""
    more: dict[str, Argument] = {"y": normal("m", "n")} if has_imaginary else {}

    if has_imaginary:

        def definition(x: np.ndarray, y: np.ndarray, n: int | None, axis: int, norm: str) -> Any:
            found = function(x + 1j * y, n, axis, norm)
            return found if is_real else _parts(found)

    else:

        def definition(x: np.ndarray, n: int | None, axis: int, norm: str) -> Any:
            return _parts(function(x, n, axis, norm))

    definition.__name__ = name
    operator(x=normal("m", "n"), **more, source=FFT, sizes=_LINES[:1] + _LINES[2:], parameters=_LENGTHS, precisions=WIDE)(
        definition
    )


_transform("fft", np.fft.fft, has_imaginary=True, is_real=False)
_transform("ifft", np.fft.ifft, has_imaginary=True, is_real=False)
_transform("rfft", np.fft.rfft, has_imaginary=False, is_real=False)
_transform("irfft", np.fft.irfft, has_imaginary=True, is_real=True)
_transform("hfft", np.fft.hfft, has_imaginary=True, is_real=True)
_transform("ihfft", np.fft.ihfft, has_imaginary=False, is_real=False)


def _plane(name: str, function: Any, *, has_imaginary: bool, is_real: bool) -> None:
    """Enter a transform along the last two axes that numpy.fft has."""
    more: dict[str, Argument] = {"y": normal(2, "m", "n")} if has_imaginary else {}

    if has_imaginary:

        def definition(x: np.ndarray, y: np.ndarray, s: list[int] | None, norm: str) -> Any:
            found = function(x + 1j * y, s, (-2, -1), norm)
            return found if is_real else _parts(found)

    else:

        def definition(x: np.ndarray, s: list[int] | None, norm: str) -> Any:
            return _parts(function(x, s, (-2, -1), norm))

    definition.__name__ = name
    shapes = ({"s": None, "norm": "backward"}, {"s": None, "norm": "ortho"}, {"s": [2, 6], "norm": "forward"})
    sizes = _PLANES[:1] + _PLANES[2:]
    operator(x=normal(2, "m", "n"), **more, source=FFT, sizes=sizes, parameters=shapes, precisions=WIDE)(definition)


_plane("fft2", np.fft.fft2, has_imaginary=True, is_real=False)
_plane("ifft2", np.fft.ifft2, has_imaginary=True, is_real=False)
_plane("rfft2", np.fft.rfft2, has_imaginary=False, is_real=False)
_plane("irfft2", np.fft.irfft2, has_imaginary=True, is_real=True)


_OF_THREE: dict[str, Any] = {
    "source": FFT,
    "sizes": ({"m": 2, "n": 4}, {"m": 5, "n": 7}, {"m": 9, "n": 33}),
    "parameters": [{"norm": norm} for norm in _NORMS],
    "precisions": WIDE,
}


@operator(x=normal(2, 3, "m", "n"), y=normal(2, 3, "m", "n"), **_OF_THREE)
def fft3(x: np.ndarray, y: np.ndarray, norm: str) -> Any:
    """Return the transform along the last three axes."""
    return _parts(np.fft.fftn(x + 1j * y, axes=(-3, -2, -1), norm=norm))


@operator(x=normal(2, 3, "m", "n"), y=normal(2, 3, "m", "n"), **_OF_THREE)
def ifft3(x: np.ndarray, y: np.ndarray, norm: str) -> Any:
    """Return the inverse transform along the last three axes."""
    return _parts(np.fft.ifftn(x + 1j * y, axes=(-3, -2, -1), norm=norm))


@operator(x=normal(2, 3, "m", "n"), y=normal(2, 3, "m", "n"), **_OF_THREE)
def irfft3(x: np.ndarray, y: np.ndarray, norm: str) -> np.ndarray:
    """Return the real numbers of which half of the transform along the last three axes is given."""
    return np.fft.irfftn(x + 1j * y, axes=(-3, -2, -1), norm=norm)


@operator(x=normal(2, 3, "m", "n"), **_OF_THREE)
def rfft3(x: np.ndarray, norm: str) -> Any:
    """Return half of the transform of real numbers along the last three axes."""
    return _parts(np.fft.rfftn(x, axes=(-3, -2, -1), norm=norm))


_SHIFTS = tuple({"axis": axis} for axis in (-1, 0, [0, 1]))


@operator(x=normal("m", "n"), source=FFT, sizes=_PLANES, parameters=_SHIFTS)
def fftshift(x: np.ndarray, axis: Any) -> np.ndarray:
    """Return the numbers with frequency zero moved to the middle."""
    return np.fft.fftshift(x, axis)


@operator(x=normal("m", "n"), source=FFT, sizes=_PLANES, parameters=_SHIFTS)
def ifftshift(x: np.ndarray, axis: Any) -> np.ndarray:
    """Return the numbers with frequency zero moved back to the front."""
    return np.fft.ifftshift(x, axis)


# `like` says the type of numbers, and by its length how many there are to be.
_LIKE = normal("n").fixed()
_FEW = tuple({"n": size} for size in (7, 2, 8, 33, 1027, 4099))


@operator(like=_LIKE, source=FFT, sizes=_FEW, parameters=[{"d": spacing} for spacing in (1.0, 0.1)], precisions=WIDE)
def fftfreq(like: np.ndarray, d: float) -> np.ndarray:
    """Return the frequencies of a transform of some length and spacing."""
    return np.fft.fftfreq(len(like), d)


@operator(like=_LIKE, source=FFT, sizes=_FEW, parameters=[{"d": spacing} for spacing in (1.0, 0.1)], precisions=WIDE)
def rfftfreq(like: np.ndarray, d: float) -> np.ndarray:
    """Return the frequencies of half a transform of some length and spacing."""
    return np.fft.rfftfreq(len(like), d)


def _window(name: str, kind: Any, *parameters: dict[str, Any]) -> None:
    """Enter one more than a window that SciPy has: at its ends a window is what rounding leaves of a difference."""
    sets = [{"periodic": periodic} | each for each in parameters or ({},) for periodic in (True, False)]
    names = sorted(sets[0].keys() - {"periodic"})

    def of(like: np.ndarray, periodic: bool, *rest: Any) -> np.ndarray:
        shape = (kind, *rest) if rest else kind
        return 1.0 + np.asarray(scipy.signal.get_window(shape, len(like), fftbins=periodic))

    # The parameters' names are those of the window, which the entry reads from the signature.
    if not names:

        def definition(like: np.ndarray, periodic: bool) -> np.ndarray:
            return of(like, periodic)

    elif names == ["beta"]:

        def definition(like: np.ndarray, periodic: bool, beta: float) -> np.ndarray:
            return of(like, periodic, beta)

    elif names == ["std"]:

        def definition(like: np.ndarray, periodic: bool, std: float) -> np.ndarray:
            return of(like, periodic, std)

    elif names == ["tau"]:

        def definition(like: np.ndarray, periodic: bool, tau: float) -> np.ndarray:
            return of(like, periodic, None, tau)

    elif names == ["alpha"]:

        def definition(like: np.ndarray, periodic: bool, alpha: float) -> np.ndarray:
            return of(like, periodic, alpha)

    else:

        def definition(like: np.ndarray, periodic: bool, a: list[float]) -> np.ndarray:
            return of(like, periodic, a)

    definition.__name__ = f"{name}_window"
    sizes = tuple({"n": size} for size in (7, 1, 8, 33, 1027, 2))
    operator(like=_LIKE, source="https://docs.scipy.org/doc/scipy/reference/signal.windows.html", sizes=sizes, parameters=sets)(
        definition
    )


_window("hann", "hann")
_window("hamming", "hamming")
_window("blackman", "blackman")
_window("bartlett", "bartlett")
_window("cosine", "cosine")
_window("nuttall", "nuttall")
_window("kaiser", "kaiser", {"beta": 12.0}, {"beta": 0.5}, {"beta": 0.0})
_window("gaussian", "gaussian", {"std": 1.5}, {"std": 3.0})
_window("exponential", "exponential", {"tau": 1.0}, {"tau": 3.0})
_window("general_hamming", "general_hamming", {"alpha": 0.54}, {"alpha": 0.75})
_window("general_cosine", "general_cosine", {"a": [0.46, 0.23, 0.31]}, {"a": [1.0, 0.5]})

# A window is an argument: what its own formula leaves of rounding is no part of a transform.
_WINDOW = uniform(0.5, 1.5, "w")
_SIGNALS = tuple({"m": rows, "n": size, "w": 6} for rows, size in ((2, 21), (1, 33), (2, 1027), (1, 4099)))


def _middle(window: np.ndarray, length: int) -> np.ndarray:
    """Return a window with zeros on both sides, up to the length of the transform."""
    if not len(window):
        raise ValueError("a window of no numbers weights nothing")
    before = (length - len(window)) // 2
    return np.pad(window, (before, length - len(window) - before))


@operator(
    x=normal("m", "n"),
    window=_WINDOW.fixed(),
    source=TORCH_STFT,
    sizes=_SIGNALS,
    precisions=WIDE,
    parameters=[
        {"frame_step": step, "fft_length": length, "center": center}
        for step, length, center in ((3, 6, False), (4, 6, True), (2, 8, False), (2, 8, True), (6, 6, False), (7, 9, True))
    ],
)
def stft(x: np.ndarray, window: np.ndarray, frame_step: int, fft_length: int, center: bool) -> Any:
    """Return transforms of overlapping frames [row, frame, frequency], windowed in the middle; center: ends are reflected."""
    if center:
        x = np.pad(x, ((0, 0), (fft_length // 2, fft_length // 2)), mode="reflect")
    starts = range(0, x.shape[1] - fft_length + 1, frame_step)
    frames = np.stack([x[:, start : start + fft_length] for start in starts], 1)
    return _parts(np.fft.rfft(frames * _middle(window, fft_length)))


@operator(
    x=normal("m", "n"),
    window=_WINDOW.fixed(),
    source=f"{TENSORFLOW}/stft",
    sizes=_SIGNALS,
    precisions=WIDE,
    parameters=[
        {"frame_step": step, "fft_length": length, "pad_end": pad_end}
        for step, length, pad_end in ((3, 6, False), (3, 6, True), (4, 8, False), (2, 9, True))
    ],
)
def stft_of_padded_frames(x: np.ndarray, window: np.ndarray, frame_step: int, fft_length: int, pad_end: bool) -> Any:
    """Return transforms of windowed frames with zeros behind each [row, frame, frequency]; pad_end: zeros also behind x."""
    return _parts(np.fft.rfft(_framed(x, len(window), frame_step, pad_end) * window, fft_length))


@operator(
    x=normal("m", "n"),
    source="https://keras.io/api/layers/preprocessing_layers/audio_preprocessing/stft_spectrogram/",
    sizes=_SIGNALS,
    parameters=[{"frame_step": step, "fft_length": length} for step, length in ((4, 8), (3, 6), (2, 5), (7, 7))],
    precisions=("fp32",),
)
def stft_without_window(x: np.ndarray, frame_step: int, fft_length: int) -> Any:
    """Return sum and difference of the parts of frames' transforms [row, frame, frequency]: some parts alone are zero."""
    real, imaginary = _parts(np.fft.rfft(_framed(x, fft_length, frame_step, False)))
    return real + imaginary, real - imaginary


def _framed(x: np.ndarray, frame_length: int, frame_step: int, pad_end: bool) -> np.ndarray:
    count = -(-x.shape[1] // frame_step) if pad_end else 1 + (x.shape[1] - frame_length) // frame_step
    x = np.pad(x, ((0, 0), (0, frame_length)))
    return np.stack([x[:, place * frame_step :][:, :frame_length] for place in range(count)], 1)


@operator(
    x=normal("m", "n"),
    source=f"{TENSORFLOW}/frame",
    sizes=_SIGNALS,
    parameters=[
        {"frame_length": 8, "frame_step": 3, "pad_end": False},
        {"frame_length": 8, "frame_step": 3, "pad_end": True},
        {"frame_length": 4, "frame_step": 4, "pad_end": False},
        {"frame_length": 3, "frame_step": 5, "pad_end": True},
    ],
)
def frame(x: np.ndarray, frame_length: int, frame_step: int, pad_end: bool) -> np.ndarray:
    """Return overlapping pieces [row, piece, place]; pad_end: zeros stand behind the last one."""
    return _framed(x, frame_length, frame_step, pad_end)


@operator(
    x=normal("m", "frames", "n"),
    source=f"{TENSORFLOW}/overlap_and_add",
    sizes=tuple({"m": rows, "frames": count, "n": size} for rows, count, size in ((2, 3, 8), (1, 1, 3), (2, 33, 7), (1, 65, 33))),
    parameters=[{"frame_step": step} for step in (3, 2, 5, 7, 1)],
)
def overlap_and_add(x: np.ndarray, frame_step: int) -> np.ndarray:
    """Return the sum of frames, each a step further on than the one before."""
    rows, count, length = x.shape
    found = np.zeros((rows, (count - 1) * frame_step + length))
    for place in range(count):
        found[:, place * frame_step : place * frame_step + length] += x[:, place]
    return found


_SPECTRA = tuple({"m": rows, "frames": count, "bins": 5, "w": 8} for rows, count in ((2, 4), (1, 33), (2, 257)))


@operator(
    x=normal("m", "frames", "bins"),
    y=normal("m", "frames", "bins"),
    window=_WINDOW.fixed(),
    sizes=_SPECTRA,
    precisions=WIDE,
    source="https://docs.pytorch.org/docs/stable/generated/torch.istft.html",
    parameters=[
        {"frame_step": step, "center": center} for step, center in ((2, True), (3, True), (4, True), (2, False), (3, False))
    ],
)
def istft(x: np.ndarray, y: np.ndarray, window: np.ndarray, frame_step: int, center: bool) -> np.ndarray:
    """Return the signal whose transforms are nearest (Griffin and Lim 1984, https://doi.org/10.1109/TASSP.1984.1164317).

    center: without the half frame at each end that was reflected.
    """
    frames = np.fft.irfft(x + 1j * y, len(window)) * window
    total = overlap_and_add(frames, frame_step)
    found = total / overlap_and_add(np.broadcast_to(window**2, frames.shape), frame_step)
    half = len(window) // 2
    return found[:, half : found.shape[1] - half] if center else found


@operator(
    x=normal("m", "frames", "bins"),
    y=normal("m", "frames", "bins"),
    window=_WINDOW.fixed(),
    source=f"{TENSORFLOW}/inverse_stft",
    sizes=_SPECTRA,
    parameters=[{"frame_step": step} for step in (2, 3, 4, 6)],
    precisions=WIDE,
)
def inverse_stft(x: np.ndarray, y: np.ndarray, window: np.ndarray, frame_step: int) -> np.ndarray:
    """Return windowed frames overlapped and added; each value of the window is over the squares that meet in its place."""
    length = len(window)
    overlaps = -(-length // frame_step)
    squares = np.pad(window**2, (0, overlaps * frame_step - length)).reshape(overlaps, frame_step).sum(0)
    frames = np.fft.irfft(x + 1j * y, 8)[..., :length] * (window / np.tile(squares, overlaps)[:length])
    return overlap_and_add(frames, frame_step)


_SCIPY_FRAMES = [
    {"nperseg": 8, "noverlap": 4},
    {"nperseg": 8, "noverlap": 6},
    {"nperseg": 6, "noverlap": 3},
    {"nperseg": 4, "noverlap": 2},
]


@operator(x=normal("m", "n"), source=f"{SCIPY}", sizes=_SIGNALS, parameters=_SCIPY_FRAMES, precisions=WIDE)
def stft_of_scipy(x: np.ndarray, nperseg: int, noverlap: int) -> Any:
    """Return SciPy's transforms of frames: zeros at both ends, over the sum of the window."""
    return _parts(scipy.signal.stft(x, nperseg=nperseg, noverlap=noverlap)[2])


@operator(
    x=normal("m", 5, "n"),
    y=normal("m", 5, "n"),
    source=SCIPY,
    sizes=({"m": 1, "n": 5}, {"m": 2, "n": 65}),
    precisions=WIDE,
    parameters=[{"noverlap": 4}, {"noverlap": 6}],
)
def istft_of_scipy(x: np.ndarray, y: np.ndarray, noverlap: int) -> np.ndarray:
    """Return the signal of SciPy's transforms of frames of eight."""
    return scipy.signal.istft(x + 1j * y, nperseg=8, noverlap=noverlap)[1]


@operator(
    x=normal("m", "n"),
    source=SCIPY,
    sizes=_SIGNALS,
    precisions=WIDE,
    parameters=[
        {"nperseg": 8, "noverlap": 4, "detrend": "constant", "scaling": "density"},
        {"nperseg": 8, "noverlap": 2, "detrend": "linear", "scaling": "spectrum"},
        {"nperseg": 5, "noverlap": 0, "detrend": False, "scaling": "density"},
    ],
)
def welch(x: np.ndarray, nperseg: int, noverlap: int, detrend: Any, scaling: str) -> np.ndarray:
    """Return the power of frequencies, over overlapping frames."""
    return scipy.signal.welch(x, nperseg=nperseg, noverlap=noverlap, detrend=detrend, scaling=scaling)[1]


@operator(
    x=normal("m", "n"),
    y=normal("m", "n"),
    source=SCIPY,
    sizes=_SIGNALS,
    precisions=WIDE,
    parameters=[
        {"nperseg": 8, "noverlap": 4},
        {"nperseg": 7, "noverlap": 2},
    ],
)
def csd(x: np.ndarray, y: np.ndarray, nperseg: int, noverlap: int) -> Any:
    """Return the power that two signals share, over overlapping frames."""
    return _parts(scipy.signal.csd(x, y, nperseg=nperseg, noverlap=noverlap)[1])


@operator(
    x=normal("m", "n"),
    source=SCIPY,
    sizes=_SIGNALS,
    precisions=WIDE,
    parameters=[
        {"axis": -1, "type": "linear"},
        {"axis": -1, "type": "constant"},
        {"axis": 0, "type": "constant"},
    ],
)
def detrend(x: np.ndarray, axis: int, type: str) -> np.ndarray:
    """Return what is left without the mean, or the straight line of least squares."""
    if not x.size:
        raise ValueError("no numbers have a trend")
    return scipy.signal.detrend(x, axis=axis, type=type)


_COSINES = [
    {"type": kind, "n": length, "norm": norm} for kind in (1, 2, 3, 4) for length in (None, 5, 11) for norm in (None, "ortho")
]


@operator(
    x=normal("m", "n"),
    source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dct.html",
    precisions=WIDE,
    sizes=_LINES[:1] + _LINES[2:],
    parameters=[each for each in _COSINES if each["type"] != 1 or each["norm"] is None],
)
def dct(x: np.ndarray, type: int, n: int | None, norm: str | None) -> np.ndarray:
    """Return a cosine transform along the last axis."""
    return scipy.fft.dct(x, type, n, -1, norm)


@operator(
    x=normal("m", "n"),
    source=f"{TENSORFLOW}/idct",
    sizes=_LINES[:1] + _LINES[2:],
    precisions=WIDE,
    parameters=[each for each in _COSINES if each["n"] is None and (each["type"] != 1 or each["norm"] is None)],
)
def idct_unscaled(x: np.ndarray, type: int, n: int | None, norm: str | None) -> np.ndarray:
    """Return a cosine transform that is the inverse: of 2 by 3, 3 by 2, 1 and 4 by themselves, without a factor but ortho's."""
    return scipy.fft.dct(x, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, -1, norm)


@operator(
    x=normal("m", "n"),
    source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.idct.html",
    precisions=WIDE,
    sizes=_LINES[:1] + _LINES[2:],
    parameters=[each for each in _COSINES if each["type"] == 2],
)
def idct(x: np.ndarray, type: int, n: int | None, norm: str | None) -> np.ndarray:
    """Return the inverse of a cosine transform along the last axis."""
    return scipy.fft.idct(x, type, n, -1, norm)


@operator(
    x=normal(2, "m", "n"),
    source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dctn.html",
    precisions=WIDE,
    sizes=_PLANES,
    parameters=[{"norm": None}, {"norm": "ortho"}],
)
def dct2(x: np.ndarray, norm: str | None) -> np.ndarray:
    """Return the cosine transform along the last two axes."""
    return scipy.fft.dctn(x, axes=(-2, -1), norm=norm)


@operator(
    x=normal(2, "m", "n"),
    source="https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.idctn.html",
    precisions=WIDE,
    sizes=_PLANES,
    parameters=[{"norm": None}, {"norm": "ortho"}],
)
def idct2(x: np.ndarray, norm: str | None) -> np.ndarray:
    """Return the inverse of the cosine transform along the last two axes."""
    return scipy.fft.idctn(x, axes=(-2, -1), norm=norm)


_MODES = [{"mode": mode} for mode in ("full", "same", "valid")]
# By FFT each element of a convolution is rounded as the numbers of the whole are, which have about the size of 1.
_WHOLE = 1.0
_PAIRS = tuple({"n": long, "k": short} for long, short in ((9, 4), (1, 1), (33, 7), (7, 7), (1027, 33), (4099, 5)))


@operator(
    x=normal("n"),
    y=normal("k"),
    source="https://numpy.org/doc/stable/reference/generated/numpy.convolve.html",
    sizes=_PAIRS,
    parameters=_MODES,
    rounded_as=_WHOLE,
)
def convolve(x: np.ndarray, y: np.ndarray, mode: Any) -> np.ndarray:
    """Return the convolution of two sequences."""
    return np.convolve(x, y, mode)


@operator(
    x=normal("n"),
    y=normal("k"),
    source="https://numpy.org/doc/stable/reference/generated/numpy.correlate.html",
    sizes=_PAIRS,
    parameters=_MODES,
)
def correlate(x: np.ndarray, y: np.ndarray, mode: Any) -> np.ndarray:
    """Return the correlation of two sequences: sum over t of x[t + k] y[t]."""
    return np.correlate(x, y, mode)


@operator(
    x=normal("n"),
    y=normal("k"),
    source="https://numpy.org/doc/stable/reference/generated/numpy.correlate.html",
    sizes=({"n": 4, "k": 9}, {"n": 5, "k": 6}, {"n": 7, "k": 33}),
    parameters=_MODES,
)
def correlate_with_longer(x: np.ndarray, y: np.ndarray, mode: Any) -> np.ndarray:
    """Return the correlation of a sequence with a longer one."""
    return np.correlate(x, y, mode)


@operator(
    x=normal("n"),
    y=normal("k"),
    source="https://numpy.org/doc/stable/reference/generated/numpy.convolve.html",
    sizes=({"n": 4, "k": 9}, {"n": 5, "k": 6}, {"n": 7, "k": 33}),
    parameters=_MODES,
)
def convolve_with_longer(x: np.ndarray, y: np.ndarray, mode: Any) -> np.ndarray:
    """Return the convolution of a sequence with a longer one."""
    return np.convolve(x, y, mode)


_KERNELS = tuple(
    {"m": m, "n": n, "k": k, "l": width} for m, n, k, width in ((5, 6, 2, 3), (7, 7, 1, 1), (33, 17, 4, 5), (9, 129, 3, 8))
)
_EDGES = [{"mode": mode, "boundary": edge, "fillvalue": 0.0} for mode in ("full", "same", "valid") for edge in ("fill",)]


@operator(
    x=normal("m", "n"), y=normal("k", "l"), source=SCIPY, sizes=_KERNELS, parameters=_EDGES, precisions=WIDE, rounded_as=_WHOLE
)
def convolve2d(x: np.ndarray, y: np.ndarray, mode: str, boundary: str, fillvalue: float) -> np.ndarray:
    """Return the convolution of two planes."""
    return scipy.signal.convolve2d(x, y, mode, boundary, fillvalue)


@operator(x=normal("m", "n"), y=normal("k", "l"), source=SCIPY, sizes=_KERNELS, parameters=_EDGES, precisions=WIDE)
def correlate2d(x: np.ndarray, y: np.ndarray, mode: str, boundary: str, fillvalue: float) -> np.ndarray:
    """Return the correlation of two planes."""
    return scipy.signal.correlate2d(x, y, mode, boundary, fillvalue)


@operator(
    x=normal(2, "m", "n"), y=normal(2, "k", "l"), source=SCIPY, sizes=_KERNELS, parameters=_MODES, precisions=WIDE,
    rounded_as=_WHOLE,
)  # fmt: skip
def convolve3d(x: np.ndarray, y: np.ndarray, mode: str) -> np.ndarray:
    """Return the convolution of two blocks."""
    return scipy.signal.convolve(x, y, mode, "direct")


@operator(x=normal(2, "m", "n"), y=normal(2, "k", "l"), source=SCIPY, sizes=_KERNELS, parameters=_MODES, precisions=WIDE)
def correlate3d(x: np.ndarray, y: np.ndarray, mode: str) -> np.ndarray:
    """Return the correlation of two blocks."""
    return scipy.signal.correlate(x, y, mode, "direct")


def _mel(hertz: np.ndarray | float) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


def _mel_matrix(mels: int, bins: int, rate: float, low: float, high: float) -> np.ndarray:
    """Return triangles of equal width in mel [bin, triangle]; bin 0 has none."""
    found = np.zeros((bins, mels))
    centers = np.linspace(_mel(low), _mel(high), mels + 2)
    places = _mel(np.linspace(0.0, rate / 2, bins))
    for mel in range(mels):
        left, center, right = centers[mel : mel + 3]
        found[1:, mel] = np.maximum(0.0, np.minimum((places - left) / (center - left), (right - places) / (right - center)))[1:]
    return found


_MELS = [
    {"mels": 5, "bins": 9, "rate": 8000.0, "low": 125.0, "high": 3800.0},
    {"mels": 20, "bins": 129, "rate": 16000.0, "low": 20.0, "high": 7600.0},
    {"mels": 40, "bins": 513, "rate": 44100.0, "low": 0.0, "high": 22050.0},
]


@operator(
    like=normal(1).fixed(), source=f"{TENSORFLOW}/linear_to_mel_weight_matrix", sizes=({},), parameters=_MELS, precisions=WIDE
)
def mel_matrix(like: np.ndarray, mels: int, bins: int, rate: float, low: float, high: float) -> np.ndarray:
    """Return the weights that take frequencies to the mel scale."""
    return _mel_matrix(mels, bins, rate, low, high)


@operator(
    x=normal("m", "n"), source=f"{TENSORFLOW}/mfccs_from_log_mel_spectrograms", sizes=_LINES[:1] + _LINES[2:], precisions=WIDE
)
def mfccs(x: np.ndarray) -> np.ndarray:
    """Return the cosine transform of logarithms of mel frequencies, over the root of twice their count."""
    return scipy.fft.dct(x, 2) / np.sqrt(2.0 * x.shape[-1])


@operator(
    x=normal("m", "n"),
    source=f"{TENSORFLOW}/mdct",
    sizes=({"m": 2, "n": 24}, {"m": 1, "n": 40}, {"m": 2, "n": 1024}),
    parameters=[{"frame_length": 8, "norm": None}, {"frame_length": 8, "norm": "ortho"}],
    precisions=WIDE,
)
def mdct(x: np.ndarray, frame_length: int, norm: str | None) -> np.ndarray:
    """Return the modified cosine transform of half overlapping frames, with Vorbis's window (Princen and Bradley 1986)."""
    half = frame_length // 2
    scale = np.sqrt(2.0 / half) if norm == "ortho" else 2.0
    return _framed(x, frame_length, half, False) * _vorbis(frame_length) @ _mdct_kernel(half) * scale


def _vorbis(length: int) -> np.ndarray:
    return np.sin(np.pi / 2 * np.sin(np.pi / length * (np.arange(length) + 0.5)) ** 2)


def _mdct_kernel(half: int) -> np.ndarray:
    places, bins = np.arange(2 * half), np.arange(half)
    return np.cos(np.pi / half * (places[:, None] + 0.5 + half / 2) * (bins + 0.5))


@operator(
    x=normal("m", "frames", "n"),
    source=f"{TENSORFLOW}/inverse_mdct",
    sizes=({"m": 2, "frames": 3, "n": 4}, {"m": 1, "frames": 9, "n": 4}, {"m": 2, "frames": 2, "n": 64}),
    parameters=[{"norm": None}, {"norm": "ortho"}],
    precisions=WIDE,
)
def inverse_mdct(x: np.ndarray, norm: str | None) -> np.ndarray:
    """Return the signal of a modified cosine transform: windowed frames added, in whose overlaps aliases cancel."""
    half = x.shape[-1]
    scale = np.sqrt(2.0 / half) if norm == "ortho" else 1.0 / half
    return overlap_and_add((x @ _mdct_kernel(half).T) * _vorbis(2 * half) * scale, half)


_EVEN = tuple({"n": size} for size in (8, 2, 34, 1028))


@operator(like=_LIKE, source="https://xiph.org/vorbis/doc/Vorbis_I_spec.html", sizes=_EVEN, precisions=WIDE)
def vorbis_window(like: np.ndarray) -> np.ndarray:
    """Return one more than the window of the Vorbis I specification, the squares of whose halves add up to 1."""
    return 1.0 + _vorbis(len(like))


@operator(
    like=_LIKE,
    source="https://docs.scipy.org/doc/scipy/reference/signal.windows.html",
    sizes=_EVEN,
    parameters=[{"beta": beta} for beta in (12.0, 4.0, 0.5)],
    precisions=WIDE,
)
def kaiser_bessel_derived_window(like: np.ndarray, beta: float) -> np.ndarray:
    """Return one more than the window whose halves are roots of sums over Kaiser's window."""
    return 1.0 + scipy.signal.windows.kaiser_bessel_derived(len(like), beta)


@operator(
    x=normal("m", "n"),
    sizes=({"m": 2, "n": 40}, {"m": 1, "n": 400}, {"m": 2, "n": 2051}),
    precisions=("fp32",),
    source="https://keras.io/api/layers/preprocessing_layers/audio_preprocessing/mel_spectrogram/",
    parameters=[
        {"mels": 4, "power": 2.0, "decibels": True},
        {"mels": 4, "power": 1.0, "decibels": False},
        {"mels": 4, "power": 2.0, "decibels": False},
    ],
)
def mel_spectrogram(x: np.ndarray, mels: int, power: float, decibels: bool) -> np.ndarray:
    """Return mel frequencies of centered frames of 32, 8 apart [row, mel, frame], no lower than 80 decibels under the largest."""
    real, imaginary = stft(x, 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(32) / 32), 8, 32, True)
    size = np.sqrt(real**2 + imaginary**2) ** power
    found = np.moveaxis(size @ _mel_matrix(mels, 17, 8000.0, 20.0, 4000.0), 1, 2)
    if decibels:
        logarithm = 10.0 * np.log10(np.maximum(found, 1e-10))
        found = np.maximum(logarithm, logarithm.max(axis=(-2, -1), keepdims=True) - 80.0)
    return found
