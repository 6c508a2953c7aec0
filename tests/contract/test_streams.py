"""The random streams: their bits are pinned, so that no numpy release, machine or refactoring can move a run."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from runners.contract.data import streams

RAW = {
    (0, "order", 0): (0x7873C5A19CDC6F1A, 0x14492B8727F1D376, 0xA4F7C8C7E9D4EA5B, 0xED475B4E79B827A6),
    (1, "order", 0): (0x99642E72D1DAB556, 0x951421BE0F73CDBB, 0x19B10B26156DABE7),
    (0, "order", 1): (0xDAC5EC73360C9E01, 0xC3B259DF7615517B, 0xD4FBAF4C49A42EEC),
    (0, "augmentation/row", 0): (0x1553E5169CDB9AA9, 0xD9CBB80851A29BD0, 0xFB795A5C8D20BAA8),
}
UNIFORM_SHA256 = "685cb46fc541ce66602578d2ab7a9c014c5a0d89f23ae8c1e9829475e65370aa"
WORD = 2**64


def philox(seed: int, name: str, index: int, *, count: int) -> list[int]:
    """Return Philox4x64-10 in Python integers, after Salmon et al. 2011; the counter begins at 1 in its lowest word."""
    words: list[int] = []
    while len(words) < count:
        c0, c1, c2, c3 = len(words) // 4 + 1, 0, 0, index
        k0, k1 = seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
        for _ in range(10):
            p0, p1 = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
            c0, c1, c2, c3 = p1 // WORD ^ c1 ^ k0, p1 % WORD, p0 // WORD ^ c3 ^ k1, p0 % WORD
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) % WORD, (k1 + 0xBB67AE8584CAA73B) % WORD
        words += [c0, c1, c2, c3]
    return words[:count]


@pytest.mark.parametrize("stream", RAW)
def test_raw_words_are_pinned(stream):
    """The first words of a stream are the ones written down here."""
    assert tuple(map(int, streams.raw(*stream, count=len(RAW[stream])))) == RAW[stream]


@pytest.mark.parametrize("stream", [(0, "order", 0), (2**63 + 5, "init/head.kernel", 2**40 + 1)])
def test_raw_words_are_philox(stream):
    """An independent Philox in Python integers gives the same words, across several blocks."""
    assert streams.raw(*stream, count=11).tolist() == philox(*stream, count=11)


def test_integers_are_pinned():
    """Small integers are the ones written down here."""
    drawn = streams.integers(7, "augmentation/row", 3, count=12, below=9)
    assert drawn.tolist() == [0, 0, 0, 7, 0, 8, 0, 8, 6, 8, 2, 3]


def test_permutation_is_pinned():
    """A permutation is the one written down here."""
    assert streams.permutation(7, "order", 2, count=12).tolist() == [6, 0, 1, 9, 3, 11, 4, 8, 2, 10, 5, 7]


def test_uniform_is_pinned():
    """A thousand uniform numbers have the hash written down here."""
    drawn = streams.uniform(7, "x", count=1000).astype("<f8")
    assert hashlib.sha256(drawn.tobytes()).hexdigest() == UNIFORM_SHA256


def test_a_generator_of_another_kind_is_caught(monkeypatch):
    """Another bit generator under the same key moves the pinned words."""
    monkeypatch.setattr(np.random, "Philox", lambda *, key, counter: np.random.PCG64(int(key[0])))
    with pytest.raises(AssertionError):
        test_raw_words_are_pinned((0, "order", 0))


def test_a_shorter_draw_is_the_beginning_of_a_longer_one():
    """How many words are asked for does not change the first of them."""
    assert np.array_equal(streams.raw(3, "x", 5, count=1000)[:7], streams.raw(3, "x", 5, count=7))


@pytest.mark.parametrize("other", [(4, "x", 5), (3, "y", 5), (3, "x", 6)])
def test_seed_name_and_index_each_give_another_stream(other):
    """Streams that differ in one of the three share no word and do not correlate."""
    first, second = streams.raw(3, "x", 5, count=4000), streams.raw(*other, count=4000)
    assert not set(first.tolist()) & set(second.tolist())
    assert abs(np.corrcoef(first.astype(float), second.astype(float))[0, 1]) < 5.0 / np.sqrt(4000)


def test_uniform_is_uniform_and_open():
    """Uniform numbers pass a Kolmogorov-Smirnov test, and neither 0 nor 1 can come out."""
    drawn = streams.uniform(0, "uniform", count=100_000)
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert drawn.min() > 0.0
    assert drawn.max() < 1.0


def test_the_extreme_words_stay_inside_the_open_interval(monkeypatch):
    """The smallest and the largest word give numbers above 0 and below 1, whose normals are finite."""
    monkeypatch.setattr(streams, "raw", lambda *stream, count: np.array([0, WORD - 1], dtype=np.uint64))
    low, high = streams.uniform(0, "x", count=2)
    assert 0.0 < low < high
    assert high < 1.0
    assert np.isfinite(streams.normal(0, "x", count=2)).all()


def test_integers_are_uniform_and_in_range():
    """Every value below the limit is equally frequent, by a chi-squared test."""
    counts = np.bincount(streams.integers(0, "integers", count=90_000, below=9))
    assert len(counts) == 9
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("count", [1, 2, 1009])
def test_permutation_holds_every_index_once(count):
    """A permutation is one, and not the identity."""
    order = streams.permutation(0, "order", count=count)
    assert sorted(order.tolist()) == list(range(count))
    assert count < 3 or order.tolist() != list(range(count))


def probabilities() -> np.ndarray:
    """Return probabilities in the centre, on both sides of each branch point, and far into both tails."""
    upper = 1.0 - np.logspace(-15.9, -1, 1000)
    branches = np.array([0.075, 0.925, np.exp(-25.0)])
    near = np.concatenate([np.nextafter(branches, 0.0), branches, np.nextafter(branches, 1.0)])
    return np.concatenate([np.logspace(-300, -1, 4000), np.linspace(0.001, 0.499, 997), upper, near, [2.0**-54]])


def assert_quantile_agrees(probability: np.ndarray) -> None:
    """Raise unless the quantile is within 1e-14, relative, of SciPy's."""
    np.testing.assert_allclose(streams._normal_quantile(probability), stats.norm.ppf(probability), rtol=1e-14, atol=0.0)


def test_normal_quantile_agrees_with_scipy():
    """The quantile agrees to 1e-14 in the centre and in the tails."""
    assert_quantile_agrees(probabilities())
    assert streams._normal_quantile(np.array([0.5])) == 0.0


@pytest.mark.parametrize("table", ["_CENTRE_NUMERATOR", "_MIDDLE_NUMERATOR", "_FAR_DENOMINATOR"])
def test_a_wrong_coefficient_is_caught(monkeypatch, table):
    """One coefficient off in its twelfth digit, in any branch, shows."""
    values = getattr(streams, table)
    monkeypatch.setattr(streams, table, (values[0] * (1.0 + 1e-12), *values[1:]))
    with pytest.raises(AssertionError):
        assert_quantile_agrees(probabilities())


def test_normal_numbers_are_normal():
    """Normal draws pass a Kolmogorov-Smirnov test against the standard normal."""
    assert stats.kstest(streams.normal(0, "normal", count=100_000), "norm").pvalue > 1e-3


def test_pieces_are_the_same_numbers():
    """Drawn a few at a time, a stream is the same, also where its end is no whole word."""
    whole, *_ = streams.odd_pieces(3, "pieces", count=1002, size=2000)
    pieces = np.concatenate(list(streams.odd_pieces(3, "pieces", count=1002, size=96)))
    assert np.array_equal(pieces, whole)
    assert (whole.dtype, whole.size) == (np.int16, 1002)


def test_odd_numbers_are_uniform_and_have_no_mean():
    """They are odd, as often above zero as below, and pass a Kolmogorov-Smirnov test; their variance is a third of 2**30."""
    numbers = np.concatenate(list(streams.odd_pieces(0, "odd", count=400_000, size=4096))).astype(float)
    assert (numbers % 2 == 1).all()
    assert stats.kstest(numbers / 2**15, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert abs(numbers.mean()) < 4 * 2**15 / np.sqrt(3 * numbers.size)
    assert numbers.var() / 2**30 == pytest.approx(1 / 3, rel=0.01)
    neighbours = np.corrcoef(np.stack([numbers[part::4] for part in range(4)]))
    assert np.abs(neighbours - np.eye(4)).max() < 4 / np.sqrt(numbers.size / 4)
