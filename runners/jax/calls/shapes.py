"""JAX: what is made, shaped anew, repeated in loops, and made of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen
from jax import lax

from runners.contract.errors import Unsupported


def _filled_with(make: Callable[..., Any], wanted: float) -> Callable[..., Any]:
    def call(x: Any, value: float) -> Any:
        if value != wanted:
            raise Unsupported(f"value: fills with {wanted} alone.")
        return make(x)

    return call


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of an initializer."""
    return lambda x: function(jax.random.key(0), x.shape, x.dtype)


def _sequence(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, start, stop, count: function(start, stop, count, dtype=like.dtype)


def _field(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, rows, columns, above: function(rows, columns, above, dtype=like.dtype)


def _together(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function((x, y))


def _complex(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        found = function(lax.complex(x, y))
        return lax.real(found), lax.imag(found)

    return call


def _numpy_square(x: Any, y: Any) -> Any:
    found = jnp.square(x + 1j * y)
    return jnp.real(found), jnp.imag(found)


def _of_sets(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(x, y, size=len(x) + len(y), fill_value=-1)


def _step(w: Any) -> Callable[..., Any]:
    def step(last: Any, each: Any) -> Any:
        now = w * last + each
        return now, now

    return step


def _scanned(x: Any, w: Any) -> Any:
    return lax.scan(_step(w), jnp.zeros_like(x[0]), x)[1]


def _looped(x: Any, w: Any) -> Any:
    return lax.fori_loop(0, len(x), lambda place, last: w * last + x[place], jnp.zeros_like(x[0]))


def _while(x: Any, w: Any) -> Any:
    def body(carried: Any) -> Any:
        place, last = carried
        return place + 1, w * last + lax.dynamic_index_in_dim(x, place, keepdims=False)

    return lax.while_loop(lambda carried: carried[0] < len(x), body, (0, jnp.zeros_like(x[0])))[1]


def _root(x: Any) -> Any:
    def solve(function: Any, guess: Any) -> Any:
        return lax.fori_loop(0, 60, lambda place, each: each - (each**3 - x) / (3.0 * each**2), guess)

    def tangent(function: Any, y: Any) -> Any:
        return y / function(jnp.ones_like(y))

    return lax.custom_root(lambda each: each**3 - x, jnp.maximum(x, 1.0), solve, tangent)


def _put(x: Any, y: Any, value: Any = None) -> Any:
    return jnp.fill_diagonal(x, y if value is None else value, inplace=False)


def _packed(x: Any) -> Any:
    return jnp.packbits(x)


def _at(x: Any) -> Any:
    return lax.dynamic_index_in_dim(x, 1, 0, keepdims=False)


def _updated(x: Any, y: Any) -> Any:
    return lax.dynamic_update_index_in_dim(x, y, 1, 0)


def _updated_columns(x: Any, y: Any) -> Any:
    return lax.dynamic_update_slice_in_dim(x, y, 1, 1)


def _by_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of what is done with the rows of an array, each at a place along an axis with a name."""
    return lambda x: jax.vmap(function, axis_name="place")(x)


def _moved_on(x: Any) -> Any:
    pairs = [(place, (place + 1) % len(x)) for place in range(len(x))]
    return _by_place(lambda row: lax.ppermute(row, "place", pairs))(x)


def _shuffled_on(x: Any) -> Any:
    return _by_place(lambda row: lax.pshuffle(row, "place", [(place - 1) % len(x) for place in range(len(x))]))(x)


def _roots(x: Any, y: Any) -> Any:
    return jnp.sort(jnp.real(jnp.roots(jnp.stack([jnp.ones_like(x[0]), -x[0] - y[0], x[0] * y[0]]), strip_zeros=False)))


_SELF = {
    "jax.numpy.copy": None,
    "jax.numpy.array": None,
    "jax.numpy.asarray": None,
    "jax.numpy.positive": None,
    "jax.numpy.real": None,
    "jax.numpy.conj": None,
    "jax.numpy.conjugate": None,
    "jax.numpy.atleast_1d": None,
    "jax.numpy.atleast_2d": None,
    "jax.numpy.atleast_3d": lambda x: jnp.atleast_3d(x)[..., 0],
    "optax.scale_gradient": lambda x: optax.scale_gradient(x, 1.0),
    "jax.lax.optimization_barrier": None,
}

CALLS: dict[str, dict[str, Any]] = {
    "copy": _SELF
    | {
        "jax.numpy.astype": lambda x: jnp.astype(x, x.dtype),
        "jax.lax.convert_element_type": lambda x: lax.convert_element_type(x, x.dtype),
        "jax.lax.reduce_precision": lambda x: lax.reduce_precision(x, *_bits(x)),
        "jax.lax.bitcast_convert_type": lambda x: x + lax.stop_gradient(_same_bits(x) - x),
        "jax.lax.platform_dependent": lambda x: lax.platform_dependent(x, default=lambda each: each),
    },
    "copy_without_gradient": {
        "jax.lax.stop_gradient": None,
        "jax.lax.composite": lambda x: lax.composite(lambda each: each + 0, "vigil.same")(x),
    },
    "expand_dims": {
        "jax.numpy.expand_dims": None,
        "jax.lax.expand_dims": lambda x, axis: lax.expand_dims(x, (axis,)),
    },
    "squeeze": {"jax.numpy.squeeze": lambda x: jnp.squeeze(x, 1), "jax.lax.squeeze": lambda x: lax.squeeze(x, (1,))},
    "ravel": {"jax.numpy.ravel": None, "jax.lax.collapse": lambda x: lax.collapse(x, 0)},
    "reshape": {
        "jax.numpy.reshape": lambda x: jnp.reshape(x, (x.shape[1], 2, -1)),
        "jax.lax.reshape": lambda x: lax.reshape(x, (x.shape[1], 2, x.shape[0] * 2)),
    },
    "matrix_transpose": {"jax.numpy.matrix_transpose": None, "jax.numpy.linalg.matrix_transpose": None},
    "permuted": {"jax.numpy.permute_dims": lambda x: jnp.permute_dims(x, (2, 0, 1))},
    "rollaxis": {"jax.numpy.rollaxis": lambda x: jnp.rollaxis(x, 2, 0)},
    "spread_along": {
        "jax.lax.broadcast": lambda x: lax.broadcast(x, (4,)),
        "jax.lax.broadcast_to_rank": lambda x: jnp.tile(lax.broadcast_to_rank(x, 3), (4, 1, 1)),
    },
    "mirrored_rows": {"jax.numpy.flipud": None},
    "mirrored_columns": {"jax.numpy.fliplr": None},
    "broadcast_arrays": {"jax.numpy.broadcast_arrays": None},
    "at_a_place": {
        "jax.lax.index_in_dim": lambda x: lax.index_in_dim(x, 1, keepdims=False),
        "jax.lax.dynamic_index_in_dim": _at,
        "jax.lax.index_take": lambda x: lax.index_take(x, (jnp.array([1]),), (0,))[0],
    },
    "all_but_a_row": {"jax.numpy.delete": lambda x: jnp.delete(x, 1, 0)},
    "row_put_between": {"jax.numpy.insert": lambda x, y: jnp.insert(x, 1, y, 0)},
    "row_put_in": {"jax.lax.dynamic_update_index_in_dim": _updated},
    "columns_put_in": {"jax.lax.dynamic_update_slice_in_dim": _updated_columns},
    "diagonal_put_in": {"jax.numpy.fill_diagonal": _put},
    "diagonal_filled": {"jax.numpy.fill_diagonal": lambda x, value: jnp.fill_diagonal(x, value, inplace=False)},
    "resize": {"jax.numpy.resize": lambda x: jnp.resize(x, (3, 7))},
    "vstack": {"jax.numpy.vstack": _together(jnp.vstack), "jax.numpy.concat": _together(jnp.concat)},
    "hstack": {"jax.numpy.hstack": _together(jnp.hstack)},
    "dstack": {"jax.numpy.dstack": _together(jnp.dstack)},
    "column_stack": {"jax.numpy.column_stack": _together(jnp.column_stack)},
    "append": {"jax.numpy.append": lambda x, y: jnp.append(x, y, 1)},
    "block": {"jax.numpy.block": lambda x, y: jnp.block([[x, y], [y, x]])},
    "halves": {"jax.numpy.hsplit": lambda x: jnp.hsplit(x, 2), "jax.lax.split": lambda x: lax.split(x, (3, 3), 1)},
    "upper_and_lower": {"jax.numpy.vsplit": lambda x: jnp.vsplit(x, 2)},
    "front_and_back": {"jax.numpy.dsplit": lambda x: jnp.dsplit(x, 2)},
    "pieces_of_sizes": {"jax.lax.split": lambda x: lax.split(x, (1, 3, 2), 1)},
    "unstack": {"jax.numpy.unstack": None, "jax.lax.unstack": None},
    "full": {
        "optax.set_to_zero": _filled_with(lambda x: optax.set_to_zero().update(x, optax.EmptyState())[0], 0.0),
        "jax.numpy.full": lambda x, value: jnp.full(x.shape, value, x.dtype),
        "jax.numpy.full_like": lambda x, value: jnp.full_like(x, value),
        "jax.lax.full": lambda x, value: lax.full(x.shape, value, x.dtype),
        "jax.lax.full_like": lambda x, value: lax.full_like(x, value),
        "jax.lax.broadcast_like": lambda x, value: lax.broadcast_like(jnp.asarray(value, x.dtype), x),
        "jax.numpy.zeros": _filled_with(lambda x: jnp.zeros(x.shape, x.dtype), 0.0),
        "jax.numpy.zeros_like": _filled_with(jnp.zeros_like, 0.0),
        "jax.numpy.ones": _filled_with(lambda x: jnp.ones(x.shape, x.dtype), 1.0),
        "jax.numpy.ones_like": _filled_with(jnp.ones_like, 1.0),
        "jax.nn.initializers.zeros": _filled_with(_made(jax.nn.initializers.zeros), 0.0),
        "jax.nn.initializers.ones": _filled_with(_made(jax.nn.initializers.ones), 1.0),
        "jax.nn.initializers.constant": lambda x, value: _made(jax.nn.initializers.constant(value))(x),
        "flax.linen.zeros": _filled_with(_made(linen.zeros), 0.0),
        "flax.linen.ones": _filled_with(_made(linen.ones), 1.0),
        "flax.linen.zeros_init": _filled_with(_made(linen.zeros_init()), 0.0),
        "flax.linen.ones_init": _filled_with(_made(linen.ones_init()), 1.0),
    },
    "arange": {"jax.numpy.arange": lambda like, start, stop, step: jnp.arange(start, stop, step, like.dtype)},
    "linspace": {"jax.numpy.linspace": _sequence(jnp.linspace)},
    "logspace": {"jax.numpy.logspace": _sequence(jnp.logspace)},
    "geomspace": {"jax.numpy.geomspace": _sequence(jnp.geomspace)},
    "eye": {"jax.numpy.eye": _field(jnp.eye)},
    "identity_matrix": {"jax.numpy.identity": lambda like, count: jnp.identity(count, like.dtype)},
    "tri": {"jax.numpy.tri": _field(jnp.tri)},
    "tril_indices": {
        "jax.numpy.tril_indices": lambda like, above: jnp.stack(jnp.tril_indices(5, above, 4)),
        "jax.numpy.tril_indices_from": lambda like, above: jnp.stack(jnp.tril_indices_from(jnp.zeros((5, 4)), above)),
    },
    "triu_indices": {
        "jax.numpy.triu_indices": lambda like, above: jnp.stack(jnp.triu_indices(5, above, 4)),
        "jax.numpy.triu_indices_from": lambda like, above: jnp.stack(jnp.triu_indices_from(jnp.zeros((5, 4)), above)),
    },
    "diag_indices": {
        "jax.numpy.diag_indices": lambda like: jnp.stack(jnp.diag_indices(5)),
        "jax.numpy.diag_indices_from": lambda like: jnp.stack(jnp.diag_indices_from(jnp.zeros((5, 5)))),
        "jax.numpy.mask_indices": lambda like: jnp.stack(jnp.mask_indices(5, lambda x, k: jnp.diag(jnp.diag(x)), size=5)),
    },
    "indices": {
        "jax.numpy.indices": lambda like: jnp.indices((3, 4)),
        "jax.numpy.fromfunction": lambda like: jnp.stack(jnp.fromfunction(lambda i, j: (i, j), (3, 4), dtype=int)),
    },
    "iota": {
        "jax.lax.broadcasted_iota": lambda like: lax.broadcasted_iota(like.dtype, (3, 4), 0),
        "jax.lax.iota": lambda like: jnp.broadcast_to(lax.iota(like.dtype, 3)[:, None], (3, 4)),
        "jax.numpy.ix_": lambda like: jnp.broadcast_to(jnp.ix_(jnp.arange(3), jnp.arange(4))[0], (3, 4)).astype(like.dtype),
    },
    "unique": {
        "jax.numpy.unique": lambda x: jnp.unique(x, size=len(x), fill_value=-1),
        "jax.numpy.unique_values": lambda x: jnp.unique_values(x, size=len(x), fill_value=-1),
    },
    "unique_with_counts": {
        "jax.numpy.unique_counts": lambda x: _counted(*jnp.unique_counts(x, size=len(x), fill_value=-1)),
    },
    "unique_inverse": {
        "jax.numpy.unique_inverse": lambda x: jnp.unique_inverse(x, size=len(x), fill_value=-1)[1],
        "jax.numpy.unique_all": lambda x: jnp.unique_all(x, size=len(x), fill_value=-1).inverse_indices,
    },
    "intersect1d": {"jax.numpy.intersect1d": _of_sets(jnp.intersect1d)},
    "union1d": {"jax.numpy.union1d": _of_sets(jnp.union1d)},
    "setdiff1d": {"jax.numpy.setdiff1d": _of_sets(jnp.setdiff1d)},
    "setxor1d": {"jax.numpy.setxor1d": _of_sets(jnp.setxor1d)},
    "array_equal": {"jax.numpy.array_equal": None, "jax.numpy.array_equiv": None},
    "array_equal_to_itself": {
        "jax.numpy.array_equal": lambda x: jnp.array_equal(x, x + 0),
        "jax.numpy.array_equiv": lambda x: jnp.array_equiv(x, x[None]),
    },
    "allclose": {"jax.numpy.allclose": lambda x, y, by: jnp.allclose(x + by * y, x, rtol=0.0, atol=0.5) | (by < 1.0)},
    "is_real": {"jax.numpy.isreal": None, "jax.numpy.iscomplex": lambda x: ~jnp.iscomplex(x)},
    "ravel_multi_index": {"jax.numpy.ravel_multi_index": lambda x, y: jnp.ravel_multi_index((x, y), (5, 6), mode="clip")},
    "packbits": {"jax.numpy.packbits": _packed},
    "unpackbits": {"jax.numpy.unpackbits": lambda x: jnp.unpackbits(x.astype(jnp.uint8))},
    "argpartition": {"jax.numpy.argpartition": lambda x: jnp.sort(x[jnp.argpartition(x, 3)[:3]])},
    "partition": {"jax.numpy.partition": lambda x: jnp.sort(jnp.partition(x, 3)[:3])},
    "ediff1d": {"jax.numpy.ediff1d": None},
    "histogram_bin_edges": {"jax.numpy.histogram_bin_edges": lambda x: jnp.histogram_bin_edges(x, 5)},
    "histogram2d": {"jax.numpy.histogram2d": lambda x, y: jnp.histogram2d(x, y, 4, ((-2.0, 2.0), (-2.0, 2.0)))[0]},
    "unwrap": {"jax.numpy.unwrap": None},
    "piecewise": {
        "jax.numpy.piecewise": lambda x: jnp.piecewise(x, [x < 0], [lambda each: each * each, lambda each: 2.0 * each])
    },
    "sums_of_rows": {
        "jax.numpy.apply_along_axis": lambda x: jnp.apply_along_axis(lambda row: jnp.sum(row) ** 2, -1, x),
        "jax.numpy.vectorize": lambda x: jnp.vectorize(lambda row: jnp.sum(row) ** 2, signature="(n)->()")(x),
    },
    "sum_over_axes": {"jax.numpy.apply_over_axes": lambda x: jnp.apply_over_axes(jnp.sum, x, (0, 2))},
    "polyadd": {"jax.numpy.polyadd": None},
    "polysub": {"jax.numpy.polysub": None},
    "polymul": {"jax.numpy.polymul": None},
    "polyder": {"jax.numpy.polyder": None},
    "polyint": {"jax.numpy.polyint": None},
    "polydiv": {"jax.numpy.polydiv": lambda x, y: jnp.polydiv(x, y)[0]},
    "poly_of_roots": {"jax.numpy.poly": None},
    "polyfit": {"jax.numpy.polyfit": lambda x, y: jnp.polyfit(x, y, 2)},
    "roots_of_square": {"jax.numpy.roots": _roots},
    "recurrence": {"jax.lax.scan": _scanned},
    "last_of_recurrence": {"jax.lax.fori_loop": _looped},
    "last_without_gradient": {"jax.lax.while_loop": _while, "jax.lax.fori_loop": _looped},
    "map_of_rows": {"jax.lax.map": lambda x: lax.map(lambda row: jnp.sum(row * row), x)},
    "branch": {
        "jax.lax.cond": lambda x, which: lax.cond(which[0] == 0, jnp.sin, jnp.square, x),
        "jax.lax.switch": lambda x, which: lax.switch(which[0], [jnp.sin, jnp.square], x),
    },
    "root_of_cubic": {"jax.lax.custom_root": _root},
    "square_of_complex": {
        "jax.lax.complex": _complex(jnp.square),
        "jax.lax.real": _complex(jnp.square),
        "jax.lax.imag": _complex(jnp.square),
        "jax.numpy.real": _numpy_square,
        "jax.numpy.imag": _numpy_square,
    },
    "conjugate": {
        "jax.lax.conj": _complex(lax.conj),
        "jax.numpy.conj": _complex(jnp.conj),
        "jax.numpy.conjugate": _complex(jnp.conjugate),
    },
    "angle": {"jax.numpy.angle": lambda x, y: jnp.angle(lax.complex(x, y))},
    "sign_of_angle": {"jax.numpy.angle": None},
    "direction": {"jax.numpy.sign": _complex(jnp.sign), "jax.lax.sign": _complex(lax.sign)},
    "sum_over_places": {
        "jax.lax.psum": _by_place(lambda row: lax.psum(row, "place")),
    },
    "mean_over_places": {
        "jax.lax.pmean": _by_place(lambda row: lax.pmean(row, "place")),
    },
    "max_over_places": {
        "jax.lax.pmax": _by_place(lambda row: lax.pmax(row, "place")),
    },
    "min_over_places": {
        "jax.lax.pmin": _by_place(lambda row: lax.pmin(row, "place")),
    },
    "rows_of_all_places": {
        "jax.lax.all_gather": _by_place(lambda row: lax.all_gather(row, "place")),
    },
    "share_of_sum": {
        "jax.lax.psum_scatter": _by_place(lambda row: lax.psum_scatter(row, "place")),
    },
    "exchanged_by_places": {
        "jax.lax.all_to_all": _by_place(lambda row: lax.all_to_all(row, "place", 0, 0)),
    },
    "scaled_by_place": {
        "jax.lax.axis_size": _by_place(lambda row: row * (lax.axis_index("place").astype(row.dtype) / lax.axis_size("place"))),
        "jax.lax.axis_index": _by_place(lambda row: row * (lax.axis_index("place").astype(row.dtype) / lax.axis_size("place"))),
    },
    "row_of_the_place_before": {
        "jax.lax.ppermute": _moved_on,
        "jax.lax.pshuffle": _shuffled_on,
    },
    "bits_in_one_alone": {
        "jax.lax.reduce_xor": lambda x: lax.reduce_xor(x, (1,)),
    },
    "nonzero_filled": {
        "jax.numpy.flatnonzero": lambda x: jnp.flatnonzero(x, size=len(x), fill_value=-1),
        "jax.numpy.nonzero": lambda x: jnp.nonzero(x, size=len(x), fill_value=-1)[0],
        "jax.numpy.argwhere": lambda x: jnp.argwhere(x, size=len(x), fill_value=-1)[:, 0],
    },
    "extract_filled": {
        "jax.numpy.extract": lambda x, which: jnp.extract(which, x, size=len(x), fill_value=0),
        "jax.numpy.compress": lambda x, which: jnp.compress(which, x, size=len(x), fill_value=0),
    },
}


def _bits(x: Any) -> tuple[int, int]:
    """Return how many bits a type's exponent and mantissa have."""
    return jnp.finfo(x.dtype).nexp, jnp.finfo(x.dtype).nmant


def _same_bits(x: Any) -> Any:
    kind = {2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[x.dtype.itemsize]
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, kind), x.dtype)


def _counted(values: Any, counts: Any) -> Any:
    """Return counts with -1, not 0, where there is no further value."""
    return values, jnp.where(values < 0, -1, counts)
