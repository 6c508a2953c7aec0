"""What is made of nothing, what changes a shape and no number, what loops, and what a complex number is made of.

Most names of arrays are here: their definition is NumPy's function of one name, whose page is the source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, away, drawn, integers, mask, normal, positive, spread, uniform
from vigil.audit.entry import Sizes, operator

NUMPY = "https://numpy.org/doc/stable/reference/generated/numpy."
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax.lax."
SIZES: tuple[Sizes, ...] = tuple({"m": rows, "n": size} for rows, size in ((3, 5), (2, 1), (5, 33), (3, 1027)))
ROWS: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 33, 1027))
WIDE = ("fp32", "fp64")
_WHOLE = ("fp32",)


def _enter(name: str, function: Callable[..., Any], *, source: str = "", **more: Any) -> None:
    """Enter a function under a name; its source is NumPy's page of that name unless said."""
    function.__name__ = name
    operator(source=source or f"{NUMPY}{name}.html", **{"sizes": SIZES, **more})(function)


def _sets(name: str, *values: Any) -> tuple[dict[str, Any], ...]:
    return tuple({name: each} for each in values)


_X, _Y = normal("m", "n"), normal("m", "n")

# The same numbers, in the same shape or in another.
_enter("copy", lambda x: x, x=_X)
_enter("copy_without_gradient", lambda x: x, source=JAX + "stop_gradient.html", x=_X.fixed())
_enter("expand_dims", lambda x, axis: np.expand_dims(x, axis), x=_X, parameters=_sets("axis", 0, 1, -1, 2))
_enter("squeeze", lambda x: x[:, 0], x=normal("m", 1, "n"))
_enter("ravel", lambda x: x.reshape(-1), x=normal("m", 2, "n"))
_enter("reshape", lambda x: x.reshape(x.shape[1], 2, -1), x=normal("m", "n", 4))
_enter("matrix_transpose", lambda x: np.swapaxes(x, -1, -2), x=normal(2, "m", "n"))
_enter("transpose_of_matrix", lambda x: x.T, source=NUMPY + "transpose.html", x=_X)
_enter("permuted", lambda x: np.transpose(x, (2, 0, 1)), source=NUMPY + "transpose.html", x=normal("m", 2, "n"))
_enter("rollaxis", lambda x: np.rollaxis(x, 2, 0), x=normal("m", 2, "n"))
_enter("spread_along", lambda x: np.broadcast_to(x, (4, *x.shape)), source=NUMPY + "broadcast_to.html", x=_X)
_enter("mirrored_rows", lambda x: x[::-1], source=NUMPY + "flipud.html", x=_X)
_enter("mirrored_columns", lambda x: x[:, ::-1], source=NUMPY + "fliplr.html", x=_X)
_enter("broadcast_arrays", lambda x, y: tuple(np.broadcast_arrays(x, y)), x=normal("m", 1), y=normal("n"))
_enter("at_a_place", lambda x: x[1], source=JAX + "index_in_dim.html", x=normal(3, "m", "n"))
_enter("some_columns", lambda x: x[:, 1:4], source=TORCH + "narrow.html", x=normal("m", 5, "n"))
_enter("all_but_a_row", lambda x: np.delete(x, 1, 0), source=NUMPY + "delete.html", x=normal(3, "m", "n"))
_enter("row_put_between", lambda x, y: np.insert(x, 1, y, 0), source=NUMPY + "insert.html", x=_X, y=normal("n"))
_enter(
    "row_put_in", lambda x, y: np.stack([x[0], y, x[2]]), source=TORCH + "select_scatter.html", x=normal(3, "n"), y=normal("n")
)
_enter(
    "columns_put_in",
    lambda x, y: np.concatenate([x[:, :1], y, x[:, 3:]], 1),
    source=TORCH + "slice_scatter.html",
    x=normal("m", 5, "n"),
    y=normal("m", 2, "n"),
)


def _diagonal_put_in(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = x.copy()
    found[np.arange(len(y)), np.arange(len(y))] = y
    return found


_enter(
    "diagonal_put_in",
    _diagonal_put_in,
    source=TORCH + "diagonal_scatter.html",
    x=normal("n", "n"),
    y=normal("n"),
    sizes=({"n": 3}, {"n": 1}, {"n": 33}),
)
_enter(
    "diagonal_filled",
    lambda x, value: _diagonal_put_in(x, np.full(len(x), value)),
    source=NUMPY + "fill_diagonal.html",
    x=normal("n", "n"),
    parameters=_sets("value", 0.0, -2.5),
    sizes=({"n": 3}, {"n": 1}, {"n": 33}),
)
_enter(
    "diagonal_of",
    lambda x: np.diagonal(x).copy(),
    source=NUMPY + "diagonal.html",
    x=normal("n", "n"),
    sizes=({"n": 3}, {"n": 33}),
)
_enter("resize", lambda x: np.resize(x, (3, 7)), x=_X)
_enter(
    "windows_of_rows",
    lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, -1)[:, ::2],
    source=TORCH + "Tensor.unfold.html",
    x=normal("m", 9),
)
_enter(
    "strided_view",
    lambda x: np.stack([x.reshape(-1)[1 + at : 4 + at] for at in (0, 2, 4)], -1),
    source=TORCH + "as_strided.html",
    x=normal("m", "n"),
    sizes=({"m": 3, "n": 5}, {"m": 5, "n": 33}),
)

# Together and apart.
_enter("vstack", lambda x, y: np.concatenate([x, y], 0), x=_X, y=normal(2, "n"))
_enter("hstack", lambda x, y: np.concatenate([x, y], 1), x=_X, y=normal("m", 2))
_enter("dstack", lambda x, y: np.stack([x, y], 2), x=_X, y=_Y)
_enter("column_stack", lambda x, y: np.stack([x, y], 1), x=normal("n"), y=normal("n"))
_enter("append", lambda x, y: np.concatenate([x, y], 1), x=_X, y=normal("m", 2))
_enter("block", lambda x, y: np.block([[x, y], [y, x]]), x=_X, y=_Y)
_HALVES = normal("m", 6, "n")
_enter("halves", lambda x: (x[:, :3], x[:, 3:]), source=NUMPY + "hsplit.html", x=_HALVES)
_enter("upper_and_lower", lambda x: (x[:3], x[3:]), source=NUMPY + "vsplit.html", x=normal(6, "m", "n"))
_enter("front_and_back", lambda x: (x[..., :3], x[..., 3:]), source=NUMPY + "dsplit.html", x=normal("m", "n", 6))
_enter("pieces_of_sizes", lambda x: (x[:, :1], x[:, 1:4], x[:, 4:]), source=TORCH + "split.html", x=_HALVES)
_enter("unstack", lambda x: (x[0], x[1], x[2]), x=normal(3, "m", "n"))

# Made of nothing but numbers. `like` has their type.
_LIKE = normal(1).fixed()
_enter("full", lambda x, value: np.full(x.shape, value), x=_X.fixed(), parameters=_sets("value", 0.0, 1.0, -2.5))
_RANGES = tuple(
    {"start": start, "stop": stop, "step": step} for start, stop, step in ((0.0, 7.0, 1.0), (-1.0, 2.0, 0.25), (3.0, -3.0, -0.5))
)
_enter("arange", lambda like, start, stop, step: np.arange(start, stop, step), like=_LIKE, parameters=_RANGES, sizes=({},))
_COUNTS = tuple(
    {"start": start, "stop": stop, "count": count} for start, stop, count in ((0.5, 2.0, 7), (2.0, -1.0, 33), (1.0, 1.0, 3))
)
_enter("linspace", lambda like, start, stop, count: np.linspace(start, stop, count), like=_LIKE, parameters=_COUNTS, sizes=({},))
_enter(
    "logspace",
    lambda like, start, stop, count: np.logspace(start, stop, count),
    like=_LIKE,
    parameters=_COUNTS,
    sizes=({},),
    precisions=WIDE,
)
_enter(
    "geomspace",
    lambda like, start, stop, count: np.geomspace(start, stop, count),
    like=_LIKE,
    sizes=({},),
    precisions=WIDE,
    parameters=({"start": 0.5, "stop": 8.0, "count": 9}, {"start": 9.0, "stop": 0.1, "count": 33}),
)
_FIELDS = tuple({"rows": rows, "columns": columns, "above": above} for rows, columns, above in ((3, 3, 0), (4, 6, 1), (5, 2, -2)))
_enter("eye", lambda like, rows, columns, above: np.eye(rows, columns, above), like=_LIKE, parameters=_FIELDS, sizes=({},))
_enter(
    "identity_matrix",
    lambda like, count: np.eye(count),
    source=NUMPY + "identity.html",
    like=_LIKE,
    parameters=_sets("count", 1, 5),
    sizes=({},),
)
_enter("tri", lambda like, rows, columns, above: np.tri(rows, columns, above), like=_LIKE, parameters=_FIELDS, sizes=({},))
_TRIANGLES = _sets("above", 0, 1, -2)
_enter("tril_indices", lambda like, above: np.stack(np.tril_indices(5, above, 4)), like=_LIKE, parameters=_TRIANGLES, sizes=({},))
_enter("triu_indices", lambda like, above: np.stack(np.triu_indices(5, above, 4)), like=_LIKE, parameters=_TRIANGLES, sizes=({},))
_enter("diag_indices", lambda like: np.stack(np.diag_indices(5)), like=_LIKE, sizes=({},))
_enter("indices", lambda like: np.indices((3, 4)), like=_LIKE, sizes=({},))
_enter("iota", lambda like: np.broadcast_to(np.arange(3.0)[:, None], (3, 4)), source=JAX + "iota.html", like=_LIKE, sizes=({},))

# What is there, and where.


def _filled(values: np.ndarray, count: int) -> np.ndarray:
    """Return numbers and -1 behind them, up to a count: JAX compiles nothing whose shape depends on numbers."""
    return np.concatenate([values, np.full(count - len(values), -1)])


def _of_sets(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: _filled(function(x, y), len(x) + len(y))


_FEW = integers(0, 9, "n")
_enter("unique", lambda x: _filled(np.unique(x), len(x)), x=_FEW, sizes=ROWS, precisions=_WHOLE)
_enter(
    "unique_with_counts",
    lambda x: tuple(_filled(each, len(x)) for each in np.unique(x, return_counts=True)),
    source=NUMPY + "unique.html",
    x=_FEW,
    sizes=ROWS,
    precisions=_WHOLE,
)
_enter("unique_inverse", lambda x: np.unique(x, return_inverse=True)[1].reshape(x.shape), x=_FEW, sizes=ROWS, precisions=_WHOLE)
_enter(
    "runs",
    lambda x: _filled(x[np.concatenate([[True], x[1:] != x[:-1]])], len(x)),
    source=TORCH + "unique_consecutive.html",
    x=integers(0, 3, "n"),
    sizes=ROWS,
    precisions=_WHOLE,
)
for _name, _function in (
    ("intersect1d", np.intersect1d),
    ("union1d", np.union1d),
    ("setdiff1d", np.setdiff1d),
    ("setxor1d", np.setxor1d),
):
    _enter(_name, _of_sets(_function), x=_FEW, y=integers(4, 15, "n"), sizes=ROWS, precisions=_WHOLE)


_enter("nonzero", lambda x: np.stack(np.nonzero(x), -1), x=mask("m", "n", share=0.5), precisions=_WHOLE)
_enter("extract", lambda x, which: x[which], x=_X, which=mask("m", "n", share=0.5))
_enter("compress", lambda x, which: x[:, which], x=_X, which=mask("n", share=0.5))
_enter(
    "array_equal",
    lambda x, y: np.asarray((x == y).all()),
    x=integers(0, 2, 3),
    y=integers(0, 2, 3),
    sizes=({}, {}),
    precisions=_WHOLE,
)
_enter("array_equal_to_itself", lambda x: np.asarray(True), source=NUMPY + "array_equal.html", x=_X.fixed(), precisions=WIDE)
_enter(
    "allclose",
    lambda x, y, by: np.asarray(by < 1.0),
    x=normal("n").fixed(),
    y=uniform(0.5, 1.0, "n").fixed(),
    sizes=ROWS,
    precisions=WIDE,
    parameters=_sets("by", 0.5, 1.5),
)
_enter("is_real", lambda x: np.ones(x.shape, bool), source=NUMPY + "isreal.html", x=_X.fixed(), precisions=WIDE)
_enter(
    "ravel_multi_index",
    lambda x, y: np.ravel_multi_index((x, y), (5, 6)),
    x=integers(0, 5, "n"),
    y=integers(0, 6, "n"),
    sizes=ROWS,
    precisions=_WHOLE,
)
_enter("packbits", lambda x: np.packbits(x), x=mask("n", share=0.5), sizes=ROWS, precisions=_WHOLE)
_enter("unpackbits", lambda x: np.unpackbits(x.astype(np.uint8)), x=integers(0, 256, "n"), sizes=ROWS, precisions=_WHOLE)
_enter("argpartition", lambda x: np.sort(x)[:3], x=spread("n").fixed(), sizes=ROWS, precisions=WIDE)
_enter("partition", lambda x: np.sort(x)[:3], x=spread("n"), sizes=ROWS)
_enter("ediff1d", lambda x: x[1:] - x[:-1], x=normal("n"), sizes=ROWS)
_enter("histogram_bin_edges", lambda x: np.linspace(x.min(), x.max(), 6), x=normal("n").fixed(), sizes=ROWS, precisions=WIDE)
_enter(
    "histogram2d",
    lambda x, y: np.histogram2d(x, y, 4, ((-2.0, 2.0), (-2.0, 2.0)))[0],
    x=normal("n").fixed(),
    y=normal("n").fixed(),
    sizes=ROWS,
    precisions=WIDE,
)
_enter(
    "unwrap",
    lambda x: np.unwrap(x),
    x=drawn(lambda random, shape, sizes: random.integers(-9, 9, shape) * 0.5, "n"),
    sizes=ROWS[:2],
    precisions=WIDE,
)
_enter("piecewise", lambda x: np.where(x < 0, x * x, 2.0 * x), x=away("n"), sizes=ROWS)
_enter("sums_of_rows", lambda x: x.sum(-1) ** 2, source=NUMPY + "apply_along_axis.html", x=_X, precisions=WIDE)
_enter("sum_over_axes", lambda x: x.sum((0, 2), keepdims=True), source=NUMPY + "apply_over_axes.html", x=normal("m", 2, "n"))

# Polynomials, the coefficient of the highest power first.
_P, _Q = normal("n"), normal("n")
_SHORT = ({"n": 4}, {"n": 1}, {"n": 9})
_enter("polyadd", lambda x, y: np.polyadd(x, y), x=_P, y=_Q, sizes=_SHORT)
_enter("polysub", lambda x, y: np.polysub(x, y), x=_P, y=_Q, sizes=_SHORT)
_enter("polymul", lambda x, y: np.polymul(x, y), x=_P, y=_Q, sizes=_SHORT, precisions=WIDE)
_enter("polyder", lambda x: np.polyder(x), x=_P, sizes=({"n": 4}, {"n": 9}))
_enter("polyint", lambda x: np.polyint(x), x=_P, sizes=_SHORT)
_enter(
    "polydiv",
    lambda x, y: np.polydiv(x, y)[0],
    x=normal(6),
    y=drawn(lambda random, shape, sizes: np.array([2.0, 0.5, -1.0]) + 0.1 * random.standard_normal(3), 3),
    sizes=({},),
    precisions=WIDE,
)
_enter("poly_of_roots", lambda x: np.poly(x), source=NUMPY + "poly.html", x=_P, sizes=_SHORT, precisions=WIDE)
_enter(
    "polyfit",
    lambda x, y: np.polyfit(x, y, 2),
    x=drawn(lambda random, shape, sizes: np.linspace(-1, 1, shape[0]), "n", is_differentiated=False),
    y=normal("n"),
    sizes=({"n": 7}, {"n": 33}),
    precisions=WIDE,
)
_enter(
    "roots_of_square",
    lambda x, y: np.sort(np.roots([1.0, float(-x[0] - y[0]), float(x[0] * y[0])]).real),
    source=NUMPY + "roots.html",
    x=uniform(1, 2, 1).fixed(),
    y=uniform(-2, -1, 1).fixed(),
    sizes=({},),
    precisions=WIDE,
)

# Loops: a recurrence, a map of rows, a choice between branches.


def _recurrence(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return h_t = w h_(t-1) + x_t for every t, from h_0 = 0."""
    found, last = [], np.zeros(x.shape[1])
    for each in x:
        last = w * last + each
        found.append(last)
    return np.stack(found)


_LOOP = ({"m": 5, "n": 3}, {"m": 1, "n": 1}, {"m": 33, "n": 7})
_enter("recurrence", _recurrence, source=JAX + "scan.html", x=_X, w=uniform(-0.9, 0.9, "n"), sizes=_LOOP, precisions=WIDE)
_enter(
    "last_of_recurrence",
    lambda x, w: _recurrence(x, w)[-1],
    source=JAX + "fori_loop.html",
    x=_X,
    w=uniform(-0.9, 0.9, "n"),
    sizes=_LOOP,
    precisions=WIDE,
)
_enter(
    "last_without_gradient",
    lambda x, w: _recurrence(x, w)[-1],
    source=JAX + "while_loop.html",
    x=_X.fixed(),
    w=uniform(-0.9, 0.9, "n").fixed(),
    sizes=_LOOP,
    precisions=WIDE,
)
_enter("map_of_rows", lambda x: np.sum(x * x, -1), source=JAX + "map.html", x=_X, sizes=_LOOP, precisions=WIDE)
_enter(
    "branch",
    lambda x, which: np.stack([np.sin(x), x * x])[int(which[0])],
    source=JAX + "switch.html",
    x=normal("n"),
    which=integers(0, 2, 1),
    sizes=({"n": 5}, {"n": 33}, {"n": 7}, {"n": 3}),
    precisions=WIDE,
)
_enter("root_of_cubic", lambda x: np.cbrt(x), source=JAX + "custom_root.html", x=positive("n"), sizes=ROWS, precisions=WIDE)

# Axes with a name, as those of devices: x has one row for each place along it.
_enter(
    "sum_over_places", lambda x: np.broadcast_to(x.sum(0), x.shape), source=JAX + "psum.html", x=_X, sizes=_LOOP, precisions=WIDE
)
_enter(
    "mean_over_places",
    lambda x: np.broadcast_to(x.mean(0), x.shape),
    source=JAX + "pmean.html",
    x=_X,
    sizes=_LOOP,
    precisions=WIDE,
)
_HIGH = spread("m", "n", axis=0).fixed()
_enter(
    "max_over_places",
    lambda x: np.broadcast_to(x.max(0), x.shape),
    source=JAX + "pmax.html",
    x=_HIGH,
    sizes=_LOOP,
    precisions=WIDE,
)
_enter(
    "min_over_places",
    lambda x: np.broadcast_to(x.min(0), x.shape),
    source=JAX + "pmin.html",
    x=_HIGH,
    sizes=_LOOP,
    precisions=WIDE,
)
_enter("rows_of_all_places", lambda x: np.broadcast_to(x, (len(x), *x.shape)), source=JAX + "all_gather.html", x=_X, sizes=_LOOP)
_enter("row_of_the_place_before", lambda x: np.roll(x, 1, 0), source=JAX + "ppermute.html", x=_X, sizes=_LOOP)
_enter("share_of_sum", lambda x: x.sum(0), source=JAX + "psum_scatter.html", x=normal("n", "n"), sizes=ROWS[:2], precisions=WIDE)
_enter("exchanged_by_places", lambda x: x.T, source=JAX + "all_to_all.html", x=normal("n", "n"), sizes=ROWS[:2])
_enter("scaled_by_place", lambda x: x * np.arange(len(x))[:, None] / len(x), source=JAX + "axis_index.html", x=_X, sizes=_LOOP)
_enter(
    "bits_in_one_alone",
    lambda x: np.bitwise_xor.reduce(x, -1),
    source=JAX + "reduce_xor.html",
    x=integers(0, 2**30, "m", "n"),
    precisions=_WHOLE,
)

# Places of what is true, and what stands there, with -1 or 0 behind, up to the length of all.
_TRUE = mask("n", share=0.5)
_enter(
    "nonzero_filled",
    lambda x: _filled(np.flatnonzero(x), len(x)),
    source=NUMPY + "flatnonzero.html",
    x=_TRUE,
    sizes=ROWS,
    precisions=_WHOLE,
)
_enter(
    "extract_filled",
    lambda x, which: np.concatenate([x[which], np.zeros(len(x) - int(which.sum()))]),
    source=NUMPY + "extract.html",
    x=normal("n"),
    which=_TRUE,
    sizes=ROWS,
)

# Complex numbers: real parts x and imaginary parts y.
_PARTS: dict[str, Argument] = {"x": normal("n"), "y": normal("n")}
_enter(
    "square_of_complex",
    lambda x, y: (x * x - y * y, 2 * x * y),
    source=NUMPY + "square.html",
    **_PARTS,
    sizes=ROWS,
    precisions=WIDE,
)
_enter(
    "square_of_fixed_complex",
    lambda x, y: (x * x - y * y, 2 * x * y),
    source=NUMPY + "square.html",
    x=normal("n").fixed(),
    y=normal("n").fixed(),
    sizes=ROWS,
    precisions=WIDE,
)
_enter("conjugate", lambda x, y: (x, -y), **_PARTS, sizes=ROWS, precisions=WIDE)
_enter("angle", lambda x, y: np.arctan2(y, x), x=normal("n"), y=away("n"), sizes=ROWS, precisions=WIDE)
_enter(
    "polar",
    lambda x, y: (x * np.cos(y), x * np.sin(y)),
    source=TORCH + "polar.html",
    x=positive("n"),
    y=normal("n"),
    sizes=ROWS,
    precisions=WIDE,
)
_enter(
    "sign_of_angle",
    lambda x: np.where(x < 0, np.pi, 0.0),
    source=NUMPY + "angle.html",
    x=away("n").fixed(),
    sizes=ROWS,
    precisions=WIDE,
)
_enter(
    "direction",
    lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y)),
    source=TORCH + "sgn.html",
    x=away("n").fixed(),
    y=away("n").fixed(),
    sizes=ROWS,
    precisions=WIDE,
)
