"""Layouts as letters: `HWIO->OIHW` says that a canonical [height, width, in, out] is [out, in, height, width] in a framework.

The tables of names in runners/<framework>/models have one for each array; a layout without an arrow is the canonical one.
"""

from __future__ import annotations


def native_axes(layout: str) -> tuple[int, ...]:
    """Return the axes for `transpose` that make a native array of a canonical one.

    >>> native_axes("HWIO->OIHW"), native_axes("O")
    ((3, 2, 0, 1), (0,))
    """
    canonical, native = _sides(layout)
    return tuple(canonical.index(axis) for axis in native)


def canonical_axes(layout: str) -> tuple[int, ...]:
    """Return the axes for `transpose` that make a canonical array of a native one.

    >>> canonical_axes("HWIO->OIHW"), canonical_axes("O")
    ((2, 3, 1, 0), (0,))
    """
    canonical, native = _sides(layout)
    return tuple(native.index(axis) for axis in canonical)


def _sides(layout: str) -> tuple[str, str]:
    canonical, arrow, native = layout.partition("->")
    native = native if arrow else canonical
    if sorted(canonical) != sorted(native) or len(set(canonical)) != len(canonical):
        raise ValueError(f"layout {layout!r}: both sides must have the same letters, each of them once")
    return canonical, native
