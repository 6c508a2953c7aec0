"""Layouts as letters: which axes go where, and back."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.layouts import canonical_axes, native_axes


@pytest.mark.parametrize(
    ("layout", "native"),
    [("HWIO->OIHW", (5, 4, 2, 3)), ("HWIO->HWOI", (2, 3, 5, 4)), ("HWIO->IOHW", (4, 5, 2, 3)), ("HWIO", (2, 3, 4, 5))],
)
def test_axes_go_where_the_letters_say_and_come_back(layout, native):
    """[height 2, width 3, in 4, out 5] has the native shape, and the way back gives the array."""
    array = np.arange(120).reshape(2, 3, 4, 5)
    there = array.transpose(native_axes(layout))
    assert there.shape == native
    np.testing.assert_array_equal(there.transpose(canonical_axes(layout)), array)


@pytest.mark.parametrize("layout", ["HWIO->OIH", "IO->II", "II", "HW->WI"])
def test_sides_that_do_not_have_the_same_letters_are_refused(layout):
    """A letter that is missing, or there twice, is an error that names the layout."""
    with pytest.raises(ValueError, match="both sides must have the same letters"):
        native_axes(layout)
