"""A mean over devices weighs what they hold, and moves nothing that they hold alike."""

import numpy as np
import pytest

from runners.contract.averages import mean_over_devices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shards", [(1, 1, 1), (12, 10, 10), (1,) * 5, (1,) * 7, (20, 12)])
def test_what_devices_hold_alike_stays_to_the_bit(shards, dtype):
    """For any number of devices, and where they count by their shards, the mean of equal values is that value."""
    held = [np.random.default_rng(4).normal(size=1000).astype(dtype)] * len(shards)
    weights = [size / sum(shards) for size in shards]
    assert np.array_equal(mean_over_devices(held, weights), held[0])
    assert mean_over_devices(held, weights).dtype == dtype
    # A plain mean does move them: what this is for.
    assert not np.array_equal(sum(weight * each for weight, each in zip(weights, held, strict=True)), held[0])


def test_devices_that_differ_count_by_their_weights():
    """The mean of three devices is the sum of their shares."""
    held = [np.array([1.0, -3.0]), np.array([2.0, 5.0]), np.array([4.0, 0.5])]
    np.testing.assert_allclose(mean_over_devices(held, [0.5, 0.3, 0.2]), [1.9, 0.1], rtol=1e-14)
