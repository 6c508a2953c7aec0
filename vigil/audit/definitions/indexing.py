"""What picks, places, orders and rearranges numbers: gathers, scatters, segments, sorts, rolls, repeats, choices, comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, away, drawn, integers, mask, normal, permutation, spread, uniform
from vigil.audit.entry import FLAT, ROWS, operator

NUMPY = "https://numpy.org/doc/stable/reference/generated/numpy."
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/"
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax."

_TAKEN = (
    {"m": 3, "n": 5, "k": 4},
    {"m": 1, "n": 1, "k": 1},
    {"m": 7, "n": 33, "k": 9},
    {"m": 1027, "n": 3, "k": 33},
    {"m": 5, "n": 1027, "k": 65},
)
_MOVED = ({"m": 2, "n": 3, "k": 5}, {"m": 1, "n": 1, "k": 1}, {"m": 3, "n": 7, "k": 33}, {"m": 2, "n": 3, "k": 1027})
_WIDE = ("fp32", "fp64")
_EXACT = ("fp32", "bf16", "fp64")
_INTEGERS = ("fp32",)


def _places(high: str, *dims: int | str) -> Argument:
    """Return an argument of whole numbers below a size, with repetitions, and the first and last of them always."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.integers(0, sizes[high], shape)
        found.flat[0], found.flat[-1] = sizes[high] - 1, 0
        return found

    return drawn(draw, *dims, is_differentiated=False)


@operator(source=NUMPY + "take.html", sizes=_TAKEN, x=normal("m", "n"), places=_places("m", "k"))
def take_rows(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Rows at places, some of them more than once."""
    return x[places]


@operator(source=NUMPY + "take.html", sizes=_TAKEN, x=normal("m", "n"), places=_places("n", "k"))
def take_columns(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Columns at places, some of them more than once."""
    return x[:, places]


@operator(source=NUMPY + "take.html", sizes=_TAKEN, x=normal("m", "n"), places=_places("m", "k", 2))
def take_by_matrix(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Rows at a matrix of places."""
    return x[places]


@operator(
    source=NUMPY + "take.html",
    sizes=_TAKEN[:3],
    x=normal("m", "n"),
    places=drawn(lambda random, shape, sizes: random.integers(-sizes["m"], sizes["m"], shape), "k", is_differentiated=False),
)
def take_from_the_end(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Rows at places of which some count from the end."""
    return x[places]


@operator(source=NUMPY + "take_along_axis.html", sizes=_TAKEN, x=normal("m", "n"), places=_places("m", "k", "n"))
def take_along_first_axis(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """In each column, the numbers at places of its own."""
    return np.take_along_axis(x, places, axis=0)


@operator(source=NUMPY + "take_along_axis.html", sizes=_TAKEN, x=normal("m", "n"), places=_places("n", "m", "k"))
def take_along_last_axis(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """In each row, the numbers at places of its own."""
    return np.take_along_axis(x, places, axis=1)


@operator(
    source=TENSORFLOW + "gather_nd",
    sizes=_TAKEN[:4],
    x=normal("m", "n", 2),
    places=drawn(
        lambda random, shape, sizes: np.stack(
            [random.integers(0, sizes["m"], shape[0]), random.integers(0, sizes["n"], shape[0])], -1
        ),
        "k",
        2,
        is_differentiated=False,
    ),
)
def gather_by_pairs(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """What stands at pairs of places along the first two axes."""
    return x[places[:, 0], places[:, 1]]


@operator(source=TENSORFLOW + "gather", sizes=_TAKEN[:4], x=normal("m", "n"), places=_places("n", "m", "k"))
def gather_of_batches(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """In each of a batch of rows, the numbers at places of its own."""
    return np.stack([row[place] for row, place in zip(x, places, strict=True)])


@operator(
    source=TORCH + "take.html",
    sizes=_TAKEN[:4],
    x=normal("m", "n"),
    places=drawn(lambda random, shape, sizes: random.integers(0, sizes["m"] * sizes["n"], shape), "k", is_differentiated=False),
)
def take_of_all(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The numbers at places in the order of memory."""
    return x.ravel()[places]


_ADDED = (
    {"m": 3, "n": 5, "k": 7},
    {"m": 1, "n": 1, "k": 1},
    {"m": 7, "n": 3, "k": 33},
    {"m": 5, "n": 2, "k": 1027},
    {"m": 1027, "n": 3, "k": 65},
)


@operator(source=TORCH + "Tensor.index_add_.html", sizes=_ADDED, x=normal("m", "n"), places=_places("m", "k"), y=normal("k", "n"))
def add_at(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows with others added at places, some of them several times."""
    found = x.copy()
    np.add.at(found, places, y)
    return found


@operator(
    source=TENSORFLOW + "tensor_scatter_nd_sub",
    sizes=_ADDED[:4],
    x=normal("m", "n"),
    places=_places("m", "k"),
    y=normal("k", "n"),
)
def subtract_at(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows with others subtracted at places, some of them several times."""
    found = x.copy()
    np.subtract.at(found, places, y)
    return found


@operator(
    source=JAX + "numpy.ndarray.at.html",
    sizes=_ADDED[:3],
    x=normal("m", "n"),
    places=_places("m", "k"),
    y=drawn(lambda random, shape, sizes: np.exp2(random.uniform(-0.2, 0.2, shape)), "k", "n"),
)
def multiply_at(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows times others at places, some of them several times."""
    found = x.copy()
    np.multiply.at(found, places, y)
    return found


def _beyond(*dims: int | str) -> Argument:
    """Return an argument half of whose numbers are above all that are drawn with `_distinct`, and half below."""
    return drawn(lambda random, shape, sizes: random.choice((-100.0, 100.0), shape) + random.uniform(-1.0, 1.0, shape), *dims)


def _distinct(first: str, more: str) -> Argument:
    return spread(first, more, axis=None)


@operator(
    source=JAX + "numpy.ndarray.at.html",
    sizes=_ADDED[:3],
    precisions=_WIDE,
    x=_beyond("m", "n"),
    places=_places("m", "k"),
    y=_distinct("k", "n"),
)
def max_at(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows, and at places the largest of them and others."""
    found = x.copy()
    np.maximum.at(found, places, y)
    return found


@operator(
    source=JAX + "numpy.ndarray.at.html",
    sizes=_ADDED[:3],
    precisions=_WIDE,
    x=_beyond("m", "n"),
    places=_places("m", "k"),
    y=_distinct("k", "n"),
)
def min_at(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows, and at places the smallest of them and others."""
    found = x.copy()
    np.minimum.at(found, places, y)
    return found


def _some_of(of: str, count: str) -> Argument:
    """Return an argument of a count of different places below a size."""
    return drawn(lambda random, shape, sizes: random.permutation(sizes[of])[: shape[0]], count, is_differentiated=False)


_PUT = ({"m": 5, "n": 4, "k": 3}, {"m": 1, "n": 1, "k": 1}, {"m": 33, "n": 7, "k": 9}, {"m": 1027, "n": 3, "k": 65})


@operator(source=TORCH + "Tensor.index_copy_.html", sizes=_PUT, x=normal("m", "n"), places=_some_of("m", "k"), y=normal("k", "n"))
def set_at(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows with others in their stead at places."""
    found = x.copy()
    found[places] = y
    return found


@operator(
    source=NUMPY + "put_along_axis.html",
    sizes=({"m": 3, "n": 5}, {"m": 1, "n": 1}, {"m": 7, "n": 33}),
    x=normal("m", "n"),
    places=permutation("m", "n"),
    y=normal("m", "n"),
)
def put_along_first_axis(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """In each column, other numbers at places of their own."""
    found = x.copy()
    np.put_along_axis(found, places, y, axis=0)
    return found


@operator(
    source=TORCH + "Tensor.scatter_add_.html", sizes=_ADDED, x=normal("m", "n"), places=_places("m", "k", "n"), y=normal("k", "n")
)
def scatter_add_along_axis(x: np.ndarray, places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """In each column, numbers added at places of their own, some of them several times."""
    found = x.copy()
    np.add.at(found, (places, np.arange(x.shape[1])), y)
    return found


@operator(
    source=TORCH + "Tensor.scatter_reduce_.html",
    sizes=_ADDED[:3],
    parameters=[{"include_self": True}, {"include_self": False}],
    x=normal("m", "n"),
    places=_places("m", "k", "n"),
    y=normal("k", "n"),
)
def scatter_mean_along_axis(x: np.ndarray, places: np.ndarray, y: np.ndarray, include_self: bool) -> np.ndarray:
    """In each column, means of numbers at places of their own, with or without what stood there."""
    sums, counts = np.zeros_like(x), np.zeros_like(x)
    at = (places, np.arange(x.shape[1]))
    np.add.at(sums, at, y)
    np.add.at(counts, at, 1.0)
    if include_self:
        return (sums + x) / (counts + 1.0)
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), x)


@operator(
    source=TORCH + "Tensor.scatter_reduce_.html",
    sizes=_ADDED[:3],
    parameters=[{"include_self": True}, {"include_self": False}],
    precisions=_WIDE,
    x=uniform(-100.0, -99.0, "m", "n"),
    places=_places("m", "k", "n"),
    y=_distinct("k", "n"),
)
def scatter_max_along_axis(x: np.ndarray, places: np.ndarray, y: np.ndarray, include_self: bool) -> np.ndarray:
    """In each column, the largest numbers at places of their own; what stood there is smaller, or does not count."""
    found = x.copy()
    np.maximum.at(found, (places, np.arange(x.shape[1])), y)
    return found


@operator(source=TENSORFLOW + "scatter_nd", sizes=_ADDED[:4], places=_places("m", "k"), y=normal("k", "n"))
def scatter_to_zeros(places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows added to 1,027 rows of zeros at places, some of them several times."""
    found = np.zeros((1027, y.shape[1]))
    np.add.at(found, places, y)
    return found


_SEGMENTS = ({"k": 7, "n": 3}, {"k": 1, "n": 1}, {"k": 33, "n": 5}, {"k": 1027, "n": 2})


def _segments(count: int = 6) -> Argument:
    return integers(0, count, "k")


@operator(source=TENSORFLOW + "math/unsorted_segment_sum", sizes=_SEGMENTS, y=normal("k", "n"), ids=_segments())
def segment_sum(y: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The sums of rows of each of seven ids; zeros for an id without rows."""
    found = np.zeros((7, y.shape[1]))
    np.add.at(found, ids, y)
    return found


@operator(source=TENSORFLOW + "math/unsorted_segment_mean", sizes=_SEGMENTS, y=normal("k", "n"), ids=_segments())
def segment_mean(y: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The means of rows of each of seven ids; zeros for an id without rows."""
    found = np.zeros((7, y.shape[1]))
    np.add.at(found, ids, y)
    return found / np.maximum(np.bincount(ids, minlength=7), 1)[:, None]


@operator(source=TENSORFLOW + "math/unsorted_segment_sqrt_n", sizes=_SEGMENTS, y=normal("k", "n"), ids=_segments())
def segment_sum_over_root(y: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The sums of rows of each of seven ids over the root of their count; zeros for an id without rows."""
    found = np.zeros((7, y.shape[1]))
    np.add.at(found, ids, y)
    return found / np.sqrt(np.maximum(np.bincount(ids, minlength=7), 1))[:, None]


def _of_each(operation: Any, y: np.ndarray, ids: np.ndarray, count: int, empty: float) -> np.ndarray:
    return np.stack(
        [operation(y[ids == each], axis=0) if (ids == each).any() else np.full(y.shape[1], empty) for each in range(count)]
    )


def _every_id(count: int) -> Argument:
    """Return an argument of ids, each of which is there; the last axis has as many at least."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        if shape[0] < count:
            raise ValueError(f"{shape[0]} ids are not all of {count}: the largest of no numbers is nobody's to say")
        return random.permutation(np.arange(shape[0]) % count)

    return drawn(draw, "k", is_differentiated=False)


_FILLED = ({"k": 7, "n": 3}, {"k": 5, "n": 1}, {"k": 33, "n": 5}, {"k": 257, "n": 2})


@operator(
    source=TENSORFLOW + "math/unsorted_segment_max", sizes=_FILLED, precisions=_WIDE, y=_distinct("k", "n"), ids=_every_id(5)
)
def segment_max(y: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The largest rows, element by element, of each of five ids."""
    return _of_each(np.max, y, ids, 5, 0.0)


@operator(
    source=TENSORFLOW + "math/unsorted_segment_min", sizes=_FILLED, precisions=_WIDE, y=_distinct("k", "n"), ids=_every_id(5)
)
def segment_min(y: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The smallest rows, element by element, of each of five ids."""
    return _of_each(np.min, y, ids, 5, 0.0)


def _gentle(*dims: int | str) -> Argument:
    return drawn(
        lambda random, shape, sizes: np.exp2(random.uniform(-0.2, 0.2, shape)) * random.choice((-1.0, 1.0), shape), *dims
    )


@operator(source=TENSORFLOW + "math/unsorted_segment_prod", sizes=_FILLED, y=_gentle("k", "n"), ids=_segments())
def segment_prod(y: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The products of rows of each of seven ids; ones for an id without rows."""
    return _of_each(np.prod, y, ids, 7, 1.0)


@operator(
    source=TENSORFLOW + "math/segment_sum",
    sizes=_SEGMENTS,
    parameters=[{"reduction": each} for each in ("sum", "mean")],
    y=normal("k", "n"),
    ids=drawn(
        lambda random, shape, sizes: np.cumsum(np.concatenate([[0], random.integers(0, 2, shape[0] - 1)])),
        "k",
        is_differentiated=False,
    ),
)
def segment_sorted(y: np.ndarray, ids: np.ndarray, reduction: str) -> np.ndarray:
    """The sums or means of rows of each of rising ids, none of which is left out."""
    operation = {"sum": np.sum, "mean": np.mean}[reduction]
    return _of_each(operation, y, ids, int(ids.max()) + 1, 0.0)


@operator(
    source=TENSORFLOW + "math/segment_max",
    sizes=_FILLED,
    parameters=[{"reduction": each} for each in ("max", "min")],
    precisions=_WIDE,
    y=_distinct("k", "n"),
    ids=drawn(
        lambda random, shape, sizes: np.cumsum(np.concatenate([[0], random.integers(0, 2, shape[0] - 1)])),
        "k",
        is_differentiated=False,
    ),
)
def segment_sorted_extremes(y: np.ndarray, ids: np.ndarray, reduction: str) -> np.ndarray:
    """The largest or smallest rows of each of rising ids, none of which is left out."""
    return _of_each({"max": np.max, "min": np.min}[reduction], y, ids, int(ids.max()) + 1, 0.0)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.segment_reduce.html",
    sizes=({"k": 7, "n": 3}, {"k": 3, "n": 1}, {"k": 33, "n": 5}),
    parameters=[{"reduction": each} for each in ("sum", "mean", "prod")],
    precisions=_WIDE,
    y=_gentle("k", "n"),
)
def segment_of_lengths(y: np.ndarray, reduction: str) -> np.ndarray:
    """The sums, means or products of the first row, of the next two and of the others."""
    operation = {"sum": np.sum, "mean": np.mean, "prod": np.prod}[reduction]
    return np.stack([operation(each, axis=0) for each in (y[:1], y[1:3], y[3:]) if len(each)])


_SORTED = ({"m": 3, "n": 7}, {"m": 2, "n": 1}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}, {"m": 1, "n": 4001})
_DESCENDING = [
    {"axis": axis, "is_descending": descending}
    for axis, descending in ((-1, False), (0, True), (1, True), (0, False), (-1, True))
]


@operator(source=NUMPY + "sort.html", sizes=_SORTED, parameters=_DESCENDING, x=spread("m", "n", axis=None))
def sort(x: np.ndarray, axis: int, is_descending: bool) -> np.ndarray:
    """Numbers in order along an axis."""
    found = np.sort(x, axis=axis)
    return np.flip(found, axis) if is_descending else found


@operator(
    source=NUMPY + "argsort.html",
    sizes=_SORTED[:4],
    parameters=_DESCENDING,
    precisions=_WIDE,
    x=spread("m", "n", axis=None).fixed(),
)
def argsort(x: np.ndarray, axis: int, is_descending: bool) -> np.ndarray:
    """Where the numbers stand that come first, second and so on."""
    return np.argsort(-x if is_descending else x, axis=axis)


@operator(
    source=NUMPY + "argsort.html",
    sizes=_SORTED,
    precisions=_INTEGERS,
    x=drawn(lambda random, shape, sizes: random.integers(0, 4, shape) * 1.0, "m", "n", is_differentiated=False),
)
def argsort_of_equals(x: np.ndarray) -> np.ndarray:
    """Where the numbers stand that come first, second and so on along the last axis; equal ones stay in their order."""
    return np.argsort(x, axis=-1, kind="stable")


@operator(source=NUMPY + "sort.html", sizes=_SORTED[:4], precisions=_INTEGERS, x=integers(-1000, 1000, "m", "n"))
def sort_of_integers(x: np.ndarray) -> np.ndarray:
    """Whole numbers in order along the last axis."""
    return np.sort(x, axis=-1)


@operator(
    source=NUMPY + "sort.html",
    sizes=_SORTED[:4],
    precisions=_INTEGERS,
    x=drawn(
        lambda random, shape, sizes: np.where(
            random.random(shape) < 0.2, np.nan, random.choice((-np.inf, np.inf, 0.0, 1.5, -2.0), shape)
        ),
        "m",
        "n",
        is_differentiated=False,
    ),
)
def sort_with_nan(x: np.ndarray) -> np.ndarray:
    """Numbers in order along the last axis, infinities at the ends and NaN after them."""
    return np.sort(x, axis=-1)


@operator(
    source=NUMPY + "lexsort.html",
    sizes=({"n": 7}, {"n": 1}, {"n": 1027}),
    precisions=_INTEGERS,
    x=integers(0, 4, "n"),
    y=spread("n").fixed(),
)
def lexsort(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The order by one key, and by another where that is equal."""
    return np.lexsort((y, x))


@operator(
    source=JAX + "lax.sort.html",
    sizes=({"n": 7}, {"n": 1}, {"n": 33}, {"n": 1027}),
    precisions=_WIDE,
    x=spread("n").fixed(),
    y=normal("n"),
)
def sort_by_key(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys in order, and other numbers in the order of the keys."""
    order = np.argsort(x)
    return x[order], y[order]


_LARGEST = [{"count": count} for count in (2, 1, 3, 9)]
_LARGE = ({"m": 3, "n": 7}, {"m": 2, "n": 3}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}, {"m": 1, "n": 4001})


@operator(source=TORCH + "topk.html", sizes=_LARGE, parameters=_LARGEST[:3], x=spread("m", "n"))
def top_k(x: np.ndarray, count: int) -> np.ndarray:
    """The largest numbers along the last axis, the largest first."""
    return -np.sort(-x, axis=-1)[..., :count]


@operator(source=TORCH + "topk.html", sizes=_LARGE, parameters=_LARGEST[:3], precisions=_WIDE, x=spread("m", "n").fixed())
def top_k_with_places(x: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest numbers along the last axis, and where they are."""
    places = np.argsort(-x, axis=-1)[..., :count]
    return np.take_along_axis(x, places, axis=-1), places


@operator(source=TORCH + "topk.html", sizes=_LARGE, parameters=_LARGEST[:3], x=spread("m", "n"))
def bottom_k(x: np.ndarray, count: int) -> np.ndarray:
    """The smallest numbers along the last axis, the smallest first."""
    return np.sort(x, axis=-1)[..., :count]


_SIDES = [{"side": "left"}, {"side": "right"}]


def _edges(*dims: int | str) -> Argument:
    """Return an argument of rising numbers, an eighth of a unit and a whole number of eighths apart."""
    return drawn(
        lambda random, shape, sizes: np.cumsum(random.integers(1, 3, shape), axis=-1) / 8.0 - 2.0, *dims, is_differentiated=False
    )


def _among(*dims: int | str) -> Argument:
    """Return an argument of eighths, many of them edges, and some beyond all of them."""
    return drawn(lambda random, shape, sizes: random.integers(-20, 40, shape) / 8.0, *dims, is_differentiated=False)


_BINS = ({"m": 3, "n": 7, "k": 9}, {"m": 1, "n": 1, "k": 1}, {"m": 2, "n": 33, "k": 65}, {"m": 1, "n": 40, "k": 1027})


@operator(
    source=NUMPY + "searchsorted.html",
    sizes=_BINS,
    parameters=_SIDES,
    precisions=_INTEGERS,
    edges=_edges("n"),
    x=_among("m", "k"),
)
def searchsorted(edges: np.ndarray, x: np.ndarray, side: str) -> np.ndarray:
    """Where numbers would stand among rising edges, before or behind an equal one."""
    return np.searchsorted(edges, x, side=side)


@operator(
    source=TORCH + "searchsorted.html",
    sizes=_BINS,
    parameters=_SIDES,
    precisions=_INTEGERS,
    edges=_edges("m", "n"),
    x=_among("m", "k"),
)
def searchsorted_of_rows(edges: np.ndarray, x: np.ndarray, side: str) -> np.ndarray:
    """Where numbers of a row would stand among rising edges of their row."""
    return np.stack([np.searchsorted(edge, each, side=side) for edge, each in zip(edges, x, strict=True)])


@operator(
    source=NUMPY + "digitize.html",
    sizes=_BINS,
    parameters=[{"right": False}, {"right": True}],
    precisions=_INTEGERS,
    x=_among("m", "k"),
    edges=_edges("n"),
)
def digitize(x: np.ndarray, edges: np.ndarray, right: bool) -> np.ndarray:
    """The bin of each number: an equal edge lies below it, or above."""
    return np.digitize(x, edges, right=right)


@operator(
    source=NUMPY + "interp.html", sizes=({"n": 7, "k": 9}, {"n": 2, "k": 1}, {"n": 33, "k": 65}, {"n": 1027, "k": 129}),
    precisions=_WIDE,
    x=drawn(lambda random, shape, sizes: random.integers(-1, sizes["n"], shape) + random.uniform(0.1, 0.9, shape), "k"),
    places=drawn(lambda random, shape, sizes: np.arange(shape[0]) * 1.0, "n", is_differentiated=False), values=normal("n"),
)  # fmt: skip
def interp(x: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values between places, by straight lines, and the outer values beyond them."""
    return np.interp(x, places, values)


@operator(
    source=NUMPY + "isin.html",
    sizes=({"m": 3, "n": 7, "k": 4}, {"m": 1, "n": 1, "k": 1}, {"m": 5, "n": 33, "k": 40}),
    parameters=[{"is_inverted": False}, {"is_inverted": True}],
    precisions=_INTEGERS,
    x=integers(0, 12, "m", "n"),
    among=integers(0, 12, "k"),
)
def isin(x: np.ndarray, among: np.ndarray, is_inverted: bool) -> np.ndarray:
    """Is each number among others?"""
    return np.isin(x, among, invert=is_inverted)


@operator(
    source=NUMPY + "where.html", sizes=FLAT[:5], is_elementwise=True, which=mask("n", share=0.5), x=normal("n"), y=normal("n")
)
def where(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One of two numbers, as a mask says."""
    return np.where(which, x, y)


@operator(source=NUMPY + "where.html", sizes=ROWS[:4], which=mask("m", 1, share=0.5), x=normal("n"), y=normal("m", "n"))
def where_broadcast(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One of two numbers, as a mask says that is repeated along rows."""
    return np.where(which, x, y)


@operator(
    source=NUMPY + "select.html",
    sizes=FLAT[:4],
    is_elementwise=True,
    one=mask("n", share=0.4),
    other=mask("n", share=0.5),
    x=normal("n"),
    y=normal("n"),
)
def select(one: np.ndarray, other: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The first number whose mask is true, or 7."""
    return np.select([one, other], [x, y], 7.0)


@operator(
    source=NUMPY + "choose.html",
    sizes=FLAT[:4],
    is_elementwise=True,
    which=integers(0, 3, "n"),
    x=normal("n"),
    y=normal("n"),
    z=normal("n"),
)
def choose(which: np.ndarray, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """One of three numbers, as another says."""
    return np.choose(which, [x, y, z])


@operator(
    source=TORCH + "Tensor.masked_fill_.html",
    sizes=ROWS[:4],
    parameters=[{"value": -1.5}, {"value": 0.0}],
    x=normal("m", "n"),
    which=mask("n", share=0.5),
)
def masked_fill(x: np.ndarray, which: np.ndarray, value: float) -> np.ndarray:
    """A value where a mask is true."""
    return np.where(which, value, x)


@operator(
    source=TORCH + "Tensor.masked_scatter_.html",
    sizes=ROWS[:4],
    x=normal("m", "n"),
    which=mask("m", "n", share=0.5),
    y=normal("m", "n"),
)
def masked_scatter(x: np.ndarray, which: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Other numbers, one after the other, where a mask is true."""
    found = x.copy()
    found[which] = y.ravel()[: int(which.sum())]
    return found


@operator(
    source=NUMPY + "clip.html",
    sizes=FLAT,
    parameters=[{"low": -0.5, "high": 1.0}, {"low": -0.5, "high": None}, {"low": None, "high": 1.0}],
    is_elementwise=True,
    takes_any=True,
    x=away("n", kinks=(-0.5, 1.0)),
)
def clip(x: np.ndarray, low: float | None, high: float | None) -> np.ndarray:
    """Numbers, none below one limit or above another."""
    found = x if low is None else np.maximum(x, low)
    return found if high is None else np.minimum(found, high)


@operator(
    source=NUMPY + "clip.html",
    sizes=FLAT[:4],
    is_elementwise=True,
    takes_equal=False,  # what a lower bound above an upper one gives is nobody's to say
    x=away("n", kinks=(-1.0, 1.0)),
    low=uniform(-1.02, -0.98, "n"),
    high=uniform(0.98, 1.02, "n"),
)
def clip_between_arrays(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers, none below one array or above another."""
    return np.minimum(np.maximum(x, low), high)


@operator(
    source=NUMPY + "clip.html",
    sizes=FLAT[:4],
    precisions=("fp32",),
    x=away("n", kinks=(-1.0, 1.0)),
    low=uniform(-1.02, -0.98, "n"),
    high=uniform(0.98, 1.02, "n"),
)
def clip_again(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers clipped to two arrays, and again to the same, which then some equal: however these share a gradient, it is one."""
    return clip_between_arrays(clip_between_arrays(x, low, high), low, high)


_ROLLS = [{"shift": shift, "axis": axis} for shift, axis in ((1, -1), (-2, 0), (5, 1), ([1, -3], [0, 1]), (9, 0))]


@operator(source=NUMPY + "roll.html", sizes=ROWS[:5], parameters=_ROLLS, precisions=_EXACT, x=normal("m", "n"))
def roll(x: np.ndarray, shift: int | list[int], axis: int | list[int]) -> np.ndarray:
    """Numbers moved along axes; what leaves at one end comes in at the other."""
    several = isinstance(axis, list)
    return np.roll(x, tuple(shift) if several else shift, tuple(axis) if several else axis)


@operator(
    source=NUMPY + "flip.html",
    sizes=_MOVED,
    parameters=[{"axis": axis} for axis in ([0], [-1], [1, 2], [0, 1, 2])],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
)
def flip(x: np.ndarray, axis: list[int]) -> np.ndarray:
    """Numbers in the opposite order along axes."""
    return np.flip(x, tuple(axis))


@operator(
    source=NUMPY + "rot90.html",
    sizes=_MOVED,
    parameters=[{"turns": turns, "axes": axes} for turns, axes in ((1, [0, 1]), (2, [1, 2]), (-1, [0, 2]), (5, [2, 1]))],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
)
def rot90(x: np.ndarray, turns: int, axes: list[int]) -> np.ndarray:
    """Quarter turns in the plane of two axes."""
    return np.rot90(x, turns, tuple(axes))


@operator(
    source=NUMPY + "repeat.html",
    sizes=_MOVED,
    parameters=[{"times": times, "axis": axis} for times, axis in ((2, -1), (3, 0), (1, 1), (2, 1))],
    x=normal("m", "n", "k"),
)
def repeat(x: np.ndarray, times: int, axis: int) -> np.ndarray:
    """Each slice several times, one after the other."""
    return np.repeat(x, times, axis=axis)


@operator(
    source=NUMPY + "tile.html",
    sizes=_MOVED[:3],
    parameters=[{"times": times} for times in ([1, 2, 3], [2, 1, 1], [1, 1, 1])],
    x=normal("m", "n", "k"),
)
def tile(x: np.ndarray, times: list[int]) -> np.ndarray:
    """The whole array several times along each axis."""
    return np.tile(x, times)


@operator(
    source=NUMPY + "concatenate.html",
    sizes=_MOVED,
    parameters=[{"axis": axis} for axis in (-1, 0, 1, 2)],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
    y=normal("m", "n", "k"),
)
def concatenate(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """One array behind the other, and the first again."""
    return np.concatenate([x, y, x], axis=axis)


@operator(
    source=NUMPY + "stack.html",
    sizes=_MOVED,
    parameters=[{"axis": axis} for axis in (-1, 0, 1, 2)],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
    y=normal("m", "n", "k"),
)
def stack(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Two arrays along a new axis."""
    return np.stack([x, y], axis=axis)


@operator(
    source=NUMPY + "split.html",
    sizes=({"m": 2, "n": 6}, {"m": 1, "n": 6}, {"m": 5, "n": 36}),
    parameters=[{"ends": [2, 5]}, {"ends": [1, 1]}],
    precisions=_EXACT,
    x=normal("m", "n"),
)
def split_at(x: np.ndarray, ends: list[int]) -> tuple[np.ndarray, ...]:
    """Columns up to each end, and the others."""
    return tuple(np.split(x, ends, axis=1))


@operator(
    source=NUMPY + "array_split.html",
    sizes=({"m": 2, "n": 7}, {"m": 1, "n": 4}, {"m": 5, "n": 33}),
    precisions=_EXACT,
    x=normal("m", "n"),
)
def split_unevenly(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Columns in three parts, the first of them longer where they cannot be equal."""
    return tuple(np.array_split(x, 3, axis=1))


@operator(
    source=NUMPY + "transpose.html",
    sizes=_MOVED,
    parameters=[{"order": order} for order in ([2, 0, 1], [1, 0, 2], [0, 2, 1], [2, 1, 0])],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
)
def transpose(x: np.ndarray, order: list[int]) -> np.ndarray:
    """Axes in another order."""
    return np.transpose(x, order)


@operator(
    source=NUMPY + "moveaxis.html",
    sizes=_MOVED,
    parameters=[{"source": 0, "destination": -1}, {"source": -1, "destination": 0}, {"source": [0, 1], "destination": [1, 2]}],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
)
def moveaxis(x: np.ndarray, source: int | list[int], destination: int | list[int]) -> np.ndarray:
    """Axes at other places, the others in their order."""
    return np.moveaxis(x, source, destination)


@operator(
    source=NUMPY + "swapaxes.html",
    sizes=_MOVED,
    parameters=[{"one": 0, "other": -1}, {"one": 1, "other": 2}],
    precisions=_EXACT,
    x=normal("m", "n", "k"),
)
def swapaxes(x: np.ndarray, one: int, other: int) -> np.ndarray:
    """Two axes in each other's places."""
    return np.swapaxes(x, one, other)


@operator(
    source=NUMPY + "broadcast_to.html",
    sizes=({"m": 3, "n": 5}, {"m": 1, "n": 1}, {"m": 7, "n": 33}, {"m": 2, "n": 1027}),
    x=normal("m", 1, "n"),
)
def broadcast_to(x: np.ndarray) -> np.ndarray:
    """An array repeated along a new axis of 2 and along an axis of 4."""
    return np.broadcast_to(x, (2, x.shape[0], 4, x.shape[2])).copy()


@operator(
    source=JAX + "lax.dynamic_slice.html",
    sizes=({"m": 5, "n": 7}, {"m": 4, "n": 3}, {"m": 9, "n": 33}, {"m": 4, "n": 1027}),
    parameters=[{"size": [2, 3]}, {"size": [4, 1]}],
    x=normal("m", "n"),
    start=drawn(
        lambda random, shape, sizes: np.array([random.integers(0, sizes["m"] + 3), random.integers(0, sizes["n"] + 3)]),
        2,
        is_differentiated=False,
    ),
)
def dynamic_slice(x: np.ndarray, start: np.ndarray, size: list[int]) -> np.ndarray:
    """A part of given size, moved back so far that it lies within."""
    row, column = (int(np.clip(at, 0, whole - part)) for at, whole, part in zip(start, x.shape, size, strict=True))
    return x[row : row + size[0], column : column + size[1]]


@operator(
    source=JAX + "lax.dynamic_update_slice.html",
    sizes=({"m": 5, "n": 7}, {"m": 4, "n": 3}, {"m": 9, "n": 33}, {"m": 4, "n": 1027}),
    x=normal("m", "n"),
    y=normal(3, 2),
    start=drawn(
        lambda random, shape, sizes: np.array([random.integers(0, sizes["m"] + 3), random.integers(0, sizes["n"] + 3)]),
        2,
        is_differentiated=False,
    ),
)
def dynamic_update_slice(x: np.ndarray, y: np.ndarray, start: np.ndarray) -> np.ndarray:
    """An array with another in it, which is moved back so far that it lies within."""
    row, column = (int(np.clip(at, 0, whole - part)) for at, whole, part in zip(start, x.shape, y.shape, strict=True))
    found = x.copy()
    found[row : row + y.shape[0], column : column + y.shape[1]] = y
    return found


def _within(*dims: int | str) -> Argument:
    """Return an argument of two places from which a part of 3 rows and 2 columns lies within."""
    return drawn(
        lambda random, shape, sizes: np.array([random.integers(0, sizes["m"] - 2), random.integers(0, sizes["n"] - 1)]),
        *dims,
        is_differentiated=False,
    )


_CUT = ({"m": 5, "n": 7}, {"m": 3, "n": 2}, {"m": 9, "n": 33}, {"m": 4, "n": 1027})


@operator(source="https://keras.io/api/ops/core/", sizes=_CUT, x=normal("m", "n"), start=_within(2))
def slice_at(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A part of 3 rows and 2 columns from two places on."""
    return x[start[0] : start[0] + 3, start[1] : start[1] + 2]


@operator(source="https://keras.io/api/ops/core/", sizes=_CUT, x=normal("m", "n"), y=normal(3, 2), start=_within(2))
def slice_update_at(x: np.ndarray, y: np.ndarray, start: np.ndarray) -> np.ndarray:
    """An array with another of 3 rows and 2 columns in it, from two places on."""
    found = x.copy()
    found[start[0] : start[0] + 3, start[1] : start[1] + 2] = y
    return found


@operator(
    source=TENSORFLOW + "strided_slice",
    sizes=({"m": 5, "n": 7}, {"m": 4, "n": 6}, {"m": 9, "n": 33}, {"m": 4, "n": 1027}),
    parameters=[{"step": 2}, {"step": 3}],
    x=normal("m", "n"),
)
def strided_slice(x: np.ndarray, step: int) -> np.ndarray:
    """Columns from the second on, by steps."""
    return x[:, 1::step]


@operator(
    source=NUMPY + "meshgrid.html",
    sizes=({"m": 3, "n": 5}, {"m": 1, "n": 1}, {"m": 7, "n": 33}),
    parameters=[{"indexing": "xy"}, {"indexing": "ij"}],
    x=normal("m"),
    y=normal("n"),
)
def meshgrid(x: np.ndarray, y: np.ndarray, indexing: str) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors, each repeated along the other."""
    one, other = np.meshgrid(x, y, indexing=indexing)
    return one, other


@operator(
    source=TORCH + "cartesian_prod.html",
    sizes=({"m": 3, "n": 5}, {"m": 1, "n": 1}, {"m": 7, "n": 33}),
    x=normal("m"),
    y=normal("n"),
)
def cartesian_prod(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """All pairs of two vectors' elements, in rows."""
    return np.stack([each.ravel() for each in np.meshgrid(x, y, indexing="ij")], -1)


def _not_numbers(*dims: int | str) -> Argument:
    """Return an argument of which a third is NaN or infinite."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return np.where(
            random.random(shape) < 0.3, random.choice((np.nan, np.inf, -np.inf), shape), random.standard_normal(shape)
        )

    return drawn(draw, *dims, is_differentiated=False)


@operator(
    source=NUMPY + "nan_to_num.html",
    sizes=FLAT[:4],
    parameters=[{"nan": 0.0, "above": 9.0, "below": -8.0}, {"nan": 1.5, "above": 2.0, "below": 3.0}],
    x=_not_numbers("n"),
)
def nan_to_num(x: np.ndarray, nan: float, above: float, below: float) -> np.ndarray:
    """Given numbers in the stead of NaN and of infinities."""
    return np.nan_to_num(x, nan=nan, posinf=above, neginf=below)


@operator(
    source=TORCH + "lerp.html", sizes=FLAT[:5], is_elementwise=True, x=normal("n"), y=normal("n"), weight=uniform(-0.5, 1.5, "n")
)
def lerp(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """One number, and a share of the way to another."""
    return x + weight * (y - x)


def _signs(*dims: int | str) -> Argument:
    return drawn(lambda random, shape, sizes: random.choice((-1.5, 0.0, 2.0), shape), *dims, is_differentiated=False)


@operator(source=NUMPY + "heaviside.html", sizes=FLAT[:4], x=_signs("n"), at_zero=normal("n").fixed())
def heaviside(x: np.ndarray, at_zero: np.ndarray) -> np.ndarray:
    """0 below zero, 1 above, and another number at it."""
    return np.heaviside(x, at_zero)


@operator(source=NUMPY + "copysign.html", sizes=FLAT[:4], is_elementwise=True, takes_any=False, x=away("n"), y=away("n").fixed())
def copysign(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The magnitude of one number with the sign of another."""
    return np.copysign(x, y)


def _compared(*dims: int | str) -> Argument:
    """Return an argument of numbers of which many are equal to each other, and some NaN or infinite."""
    return drawn(
        lambda random, shape, sizes: random.choice((-1.0, -0.0, 0.0, 1.0, 2.5, np.nan, np.inf, -np.inf), shape),
        *dims,
        is_differentiated=False,
    )


def _comparison(name: str, function: Any) -> None:
    def definition(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return function(x, y)

    definition.__name__ = name
    operator(source=NUMPY + f"{name}.html", sizes=FLAT[:5], precisions=_EXACT, x=_compared("n"), y=_compared("n"))(definition)


for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    _comparison(_name, getattr(np, _name))


def _test_of_one(name: str, function: Any) -> None:
    def definition(x: np.ndarray) -> np.ndarray:
        return function(x)

    definition.__name__ = name
    operator(source=NUMPY + f"{name}.html", sizes=FLAT[:4], precisions=_EXACT, x=_compared("n"))(definition)


for _name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf"):
    _test_of_one(_name, getattr(np, _name))


@operator(source=NUMPY + "signbit.html", sizes=FLAT[:4], precisions=_EXACT, x=_signs("n"))
def signbit(x: np.ndarray) -> np.ndarray:
    """Is the sign bit set? The sign of NaN says nothing."""
    return np.signbit(x)


@operator(
    source=NUMPY + "isclose.html",
    sizes=FLAT[:4],
    parameters=[{"equal_nan": False}, {"equal_nan": True}],
    precisions=_INTEGERS,
    x=_compared("n"),
    y=_compared("n"),
)
def isclose(x: np.ndarray, y: np.ndarray, equal_nan: bool) -> np.ndarray:
    """Do two numbers differ by no more than a tolerance?"""
    return np.isclose(x, y, rtol=1e-3, atol=1e-2, equal_nan=equal_nan)


def _logical(name: str, function: Any) -> None:
    def definition(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return function(x, y)

    definition.__name__ = name
    operator(source=NUMPY + f"{name}.html", sizes=FLAT[:4], precisions=_INTEGERS, x=mask("n", share=0.5), y=mask("n", share=0.5))(
        definition
    )


for _name in ("logical_and", "logical_or", "logical_xor"):
    _logical(_name, getattr(np, _name))


@operator(source=NUMPY + "logical_not.html", sizes=FLAT[:4], precisions=_INTEGERS, x=mask("n", share=0.5))
def logical_not(x: np.ndarray) -> np.ndarray:
    """Is it false?"""
    return np.logical_not(x)


def _of_integers(name: str, function: Any, x: Argument, y: Argument) -> None:
    def definition(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return function(x, y)

    definition.__name__ = name
    operator(source=NUMPY + f"{name}.html", sizes=FLAT[:4], precisions=_INTEGERS, x=x, y=y)(definition)


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _of_integers(_name, getattr(np, _name), integers(-(2**30), 2**30, "n"), integers(-(2**30), 2**30, "n"))
_of_integers("left_shift", np.left_shift, integers(-1000, 1000, "n"), integers(0, 20, "n"))
_of_integers("right_shift", np.right_shift, integers(-(2**30), 2**30, "n"), integers(0, 20, "n"))
_of_integers("gcd", np.gcd, integers(-360, 360, "n"), integers(-240, 240, "n"))
_of_integers("lcm", np.lcm, integers(-360, 360, "n"), integers(-240, 240, "n"))
_of_integers(
    "floor_divide_of_integers",
    np.floor_divide,
    integers(-1000, 1000, "n"),
    drawn(
        lambda random, shape, sizes: random.integers(1, 50, shape) * random.choice((-1, 1), shape), "n", is_differentiated=False
    ),
)
_of_integers(
    "remainder_of_integers",
    np.remainder,
    integers(-1000, 1000, "n"),
    drawn(
        lambda random, shape, sizes: random.integers(1, 50, shape) * random.choice((-1, 1), shape), "n", is_differentiated=False
    ),
)


@operator(source=NUMPY + "bitwise_not.html", sizes=FLAT[:4], precisions=_INTEGERS, x=integers(-(2**30), 2**30, "n"))
def bitwise_not(x: np.ndarray) -> np.ndarray:
    """Every bit the other way."""
    return np.bitwise_not(x)


@operator(source=NUMPY + "bitwise_count.html", sizes=FLAT[:4], precisions=_INTEGERS, x=integers(0, 2**30, "n"))
def bitwise_count(x: np.ndarray) -> np.ndarray:
    """How many bits are one."""
    return np.bitwise_count(x).astype(np.int64)


@operator(source=NUMPY + "unravel_index.html", sizes=FLAT[:4], precisions=_INTEGERS, x=integers(0, 210, "n"))
def unravel_index(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The places along three axes of 5, 6 and 7 of a place in the order of memory."""
    return np.unravel_index(x, (5, 6, 7))


@operator(
    source=TENSORFLOW + "math/invert_permutation",
    sizes=({"n": 7}, {"n": 1}, {"n": 1027}),
    precisions=_INTEGERS,
    x=permutation("n"),
)
def invert_permutation(x: np.ndarray) -> np.ndarray:
    """Where each number stands."""
    return np.argsort(x)


@operator(
    source=TENSORFLOW + "sequence_mask", sizes=({"n": 7}, {"n": 1}, {"n": 33}), precisions=_INTEGERS, x=integers(0, 10, "n")
)
def sequence_mask(x: np.ndarray) -> np.ndarray:
    """Rows of ten truth values, as many of the first ones true as a number says."""
    return np.arange(10) < x[:, None]


@operator(
    source=TENSORFLOW + "reverse_sequence",
    sizes=({"m": 3, "n": 7}, {"m": 1, "n": 1}, {"m": 5, "n": 33}),
    x=normal("m", "n", 2),
    lengths=drawn(lambda random, shape, sizes: random.integers(1, sizes["n"] + 1, shape), "m", is_differentiated=False),
)
def reverse_sequence(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The first numbers of each row in the opposite order, as many as a length says."""
    found = x.copy()
    for row, length in enumerate(lengths):
        found[row, :length] = x[row, :length][::-1]
    return found


@operator(
    source=TORCH + "Tensor.unfold.html",
    sizes=({"m": 2, "n": 7}, {"m": 1, "n": 4}, {"m": 3, "n": 33}, {"m": 2, "n": 1027}),
    parameters=[{"size": 3, "step": 1}, {"size": 4, "step": 2}],
    x=normal("m", "n"),
)
def windows(x: np.ndarray, size: int, step: int) -> np.ndarray:
    """Windows of a size along the last axis, by steps."""
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)[:, ::step].copy()
