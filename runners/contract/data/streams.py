"""Counter-based random streams: the same bits for every framework, machine and numpy release.

A stream is named by (seed, name, index). Only the raw 64-bit output of Philox is used, which numpy promises never to
change (NEP 19), and arithmetic that IEEE 754 rounds exactly; numpy's own distributions may change between releases. The one
exception is the logarithm in the normal's tails, whose last bit of 53 may differ before a weight is rounded to 24.
Philox: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3, https://doi.org/10.1145/2063384.2063405
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator

import numpy as np

_TWO_TO_MINUS_53 = 2.0**-53
_ODD = np.uint64(0x0001_0001_0001_0001)


def raw(seed: int, name: str, index: int = 0, *, count: int) -> np.ndarray:
    """Return `count` random 64-bit words of one stream, uint64 [count]."""
    return _generator(seed, name, index).random_raw(count)


def _generator(seed: int, name: str, index: int) -> np.random.Philox:
    key = np.array([seed, _number_of(name)], dtype=np.uint64)
    counter = np.array([0, 0, 0, index], dtype=np.uint64)
    return np.random.Philox(key=key, counter=counter)


@functools.lru_cache(maxsize=1024)
def _number_of(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def uniform(seed: int, name: str, index: int = 0, *, count: int) -> np.ndarray:
    """Return float64 [count], uniform in the open interval (0, 1), on a grid of 2**-53."""
    return _uniform(raw(seed, name, index, count=count))


def odd_pieces(seed: int, name: str, *, count: int, size: int) -> Iterator[np.ndarray]:
    """Yield odd numbers between -2**15 and 2**15, uniform, so many at a time (a multiple of four): int16, four of a word.

    Over 2**15 they are uniform in (-1, 1), with mean zero and a variance of 1/3 less a part of 2**-30.
    """
    generator = _generator(seed, name, 0)
    for first in range(0, count, size):
        n = min(size, count - first)
        words = generator.random_raw(-(-n // 4))
        words |= _ODD
        yield words.astype("<u8", copy=False).view("<i2")[:n]


def _uniform(words: np.ndarray) -> np.ndarray:
    words >>= np.uint64(11)
    numbers = words.astype(np.float64)
    numbers += 0.5
    numbers *= _TWO_TO_MINUS_53
    # The largest word rounds up to 1, whose normal is infinite.
    return np.minimum(numbers, 1.0 - _TWO_TO_MINUS_53, out=numbers)


def integers(seed: int, name: str, index: int = 0, *, count: int, below: int) -> np.ndarray:
    """Return int64 [count], uniform in 0 .. below-1 (bias under below / 2**32)."""
    words = raw(seed, name, index, count=count)
    # In place: the words are twice a scene's pixels, and copies of them took longer than drawing them.
    words >>= np.uint64(32)
    words *= np.uint64(below)
    words >>= np.uint64(32)
    return words.view(np.int64)


def permutation(seed: int, name: str, index: int = 0, *, count: int) -> np.ndarray:
    """Return int64 [count], a permutation: the order that sorts `count` random words."""
    return np.argsort(raw(seed, name, index, count=count), kind="stable")


def normal(seed: int, name: str, index: int = 0, *, count: int) -> np.ndarray:
    """Return float64 [count], standard normal, by inversion of the distribution function."""
    return _normal_quantile(uniform(seed, name, index, count=count))


# Algorithm AS 241 (PPND16), Wichura 1988, https://doi.org/10.2307/2347330: relative accuracy about 1e-16.
_CENTRE_NUMERATOR = (
    3.3871328727963666080,
    133.14166789178437745,
    1971.5909503065514427,
    13731.693765509461125,
    45921.953931549871457,
    67265.770927008700853,
    33430.575583588128105,
    2509.0809287301226727,
)
_CENTRE_DENOMINATOR = (
    1.0,
    42.313330701600911252,
    687.18700749205790830,
    5394.1960214247511077,
    21213.794301586595867,
    39307.895800092710610,
    28729.085735721942674,
    5226.4952788528545610,
)
_MIDDLE_NUMERATOR = (
    1.42343711074968357734,
    4.63033784615654529590,
    5.76949722146069140550,
    3.64784832476320460504,
    1.27045825245236838258,
    0.241780725177450611770,
    0.0227238449892691845833,
    7.74545014278341407640e-4,
)
_MIDDLE_DENOMINATOR = (
    1.0,
    2.05319162663775882187,
    1.67638483018380384940,
    0.689767334985100004550,
    0.148103976427480074590,
    0.0151986665636164571966,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)
_FAR_NUMERATOR = (
    6.65790464350110377720,
    5.46378491116411436990,
    1.78482653991729133580,
    0.296560571828504891230,
    0.0265321895265761230930,
    0.00124266094738807843860,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
)
_FAR_DENOMINATOR = (
    1.0,
    0.599832206555887937690,
    0.136929880922735805310,
    0.0148753612908506148525,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)


def _polynomial(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    result = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def _normal_quantile(probability: np.ndarray) -> np.ndarray:
    offset = probability - 0.5
    squared = 0.180625 - offset * offset
    centre = offset * _polynomial(_CENTRE_NUMERATOR, squared) / _polynomial(_CENTRE_DENOMINATOR, squared)
    tail = np.sqrt(-np.log(np.minimum(probability, 1.0 - probability)))
    middle = _polynomial(_MIDDLE_NUMERATOR, tail - 1.6) / _polynomial(_MIDDLE_DENOMINATOR, tail - 1.6)
    far = _polynomial(_FAR_NUMERATOR, tail - 5.0) / _polynomial(_FAR_DENOMINATOR, tail - 5.0)
    outside = np.copysign(np.where(tail <= 5.0, middle, far), offset)
    return np.where(np.abs(offset) <= 0.425, centre, outside)
