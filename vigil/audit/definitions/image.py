"""Images: other sizes, other places, patches, pixels moved between space and channels, and colours.

Arrays are [batch, channels, height, width]. Conventions of resizing that differ are operators of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, drawn, normal, uniform
from vigil.audit.entry import operator
from vigil.audit.windows import amounts, padded, windows

TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn.{}.html"
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax.image.{}.html"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/{}"
KERAS = "https://keras.io/api/ops/image/"
KEYS = "https://doi.org/10.1109/TASSP.1981.1163711"
MITCHELL = "https://doi.org/10.1145/54852.378514"

_SPACE = ("d", "h", "w")


def _sizes(rank: int, *rows: Sequence[int]) -> list[Mapping[str, int]]:
    return [dict(zip(("n", "c", *_SPACE[-rank:]), row, strict=True)) for row in rows]


ONE = _sizes(1, (2, 3, 7), (1, 1, 1027), (3, 5, 33), (1, 2, 4099), (1, 1, 1))
TWO = _sizes(2, (1, 2, 5, 4), (1, 1, 33, 40), (2, 3, 9, 11), (1, 33, 7, 6), (1, 1, 1, 1))
THREE = _sizes(3, (1, 1, 4, 3, 5), (1, 2, 9, 8, 7), (2, 3, 5, 6, 7))
OUTPUT_1 = [{"size": [5]}, {"size": [16]}, {"size": [3]}, {"size": [7]}]
OUTPUT_2 = [{"size": [8, 9]}, {"size": [3, 3]}, {"size": [10, 2]}, {"size": [1, 7]}, {"size": [7, 13]}]
OUTPUT_3 = [{"size": [5, 2, 7]}, {"size": [2, 2, 3]}, {"size": [8, 6, 10]}]


def _input(rank: int) -> Argument:
    return normal("n", "c", *_SPACE[-rank:])


def _along(x: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Return an array with each of its last axes multiplied by a matrix [out, in]."""
    for place, matrix in enumerate(matrices):
        axis = x.ndim - len(matrices) + place
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)
    return x


def _each(x: np.ndarray, size: Sequence[int], matrix: Callable[[int, int], np.ndarray]) -> np.ndarray:
    return _along(x, [matrix(before, after) for before, after in zip(x.shape[2:], size, strict=True)])


def _ones(*dims: int) -> Argument:
    """Return an argument of ones that stands for numbers no caller gives, so that their rounding is allowed for as well."""
    return Argument(dims, lambda random, shape, sizes: np.ones(shape), is_differentiated=False)


def _stepped(x: np.ndarray, step: np.ndarray, size: Sequence[int], matrix: Callable[[int, int, float], np.ndarray]) -> np.ndarray:
    """Return the sums of matrices that depend on `before / after`, which is rounded too: times `step`, a one for each axis."""
    pairs = zip(x.shape[2:], size, step, strict=True)
    return _along(x, [matrix(before, after, float(each)) for before, after, each in pairs])


def _centres(before: int, after: int, step: float) -> np.ndarray:
    """Return where the outputs lie among the inputs, when both are pixels with an extent."""
    return (np.arange(after) + 0.5) * (before / after * step) - 0.5


def _corners(before: int, after: int, step: float) -> np.ndarray:
    """Return where the outputs lie among the inputs, when the outermost points lie on each other."""
    return np.arange(after) * ((before - 1) / (after - 1) * step if after > 1 else 0.0)


def _points(places: np.ndarray, before: int, kernel: Callable[[np.ndarray], np.ndarray], reach: int) -> np.ndarray:
    """Return weights of a kernel around places; what lies outside counts for the outermost element."""
    found = np.zeros((len(places), before))
    for row, place in enumerate(places):
        first = int(np.floor(place))
        for at in range(first - reach + 1, first + reach + 1):
            found[row, min(max(at, 0), before - 1)] += kernel(np.asarray(place - at))
    return found


def _filter(before: int, after: int, step: float, kernel: Callable[[np.ndarray], np.ndarray], is_wide: bool) -> np.ndarray:
    """Return weights of a kernel around the centres, of elements that there are; is_wide: as wide as outputs lie apart."""
    scale = max(before / after, 1.0) if is_wide else 1.0
    found = kernel((np.arange(before)[None] - _centres(before, after, step)[:, None]) / scale)
    return found / found.sum(1, keepdims=True)


def _triangle(distance: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - np.abs(distance))


def _cubic(sharpness: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the kernel of cubic convolution (Keys 1981, equation 4, with any a)."""

    def kernel(distance: np.ndarray) -> np.ndarray:
        far = np.abs(distance)
        near = (sharpness + 2) * far**3 - (sharpness + 3) * far**2 + 1
        outer = sharpness * (far**3 - 5 * far**2 + 8 * far - 4)
        return np.where(far <= 1, near, np.where(far < 2, outer, 0.0))

    return kernel


def _lanczos(radius: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda distance: np.where(np.abs(distance) < radius, np.sinc(distance) * np.sinc(distance / radius), 0.0)


def _mitchell(distance: np.ndarray) -> np.ndarray:
    """Return the kernel of Mitchell and Netravali with B = C = 1/3."""
    far = np.abs(distance)
    near = (7 * far**3 - 12 * far**2 + 16 / 3) / 6
    outer = (-7 / 3 * far**3 + 12 * far**2 - 20 * far + 32 / 3) / 6
    return np.where(far < 1, near, np.where(far < 2, outer, 0.0))


KERNELS = {
    "linear": _triangle,
    "cubic": _cubic(-0.5),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "mitchellcubic": _mitchell,
}


def _nearest(before: int, after: int, shift: float) -> np.ndarray:
    """Return a matrix that takes the element at floor((output + shift) * before / after)."""
    places = np.floor((np.arange(after) + shift) * before / after).astype(int)
    return (np.minimum(places, before - 1)[:, None] == np.arange(before)).astype(float)


@operator(source=TORCH.format("Upsample"), sizes=ONE, parameters=OUTPUT_1, x=_input(1))
def resize_nearest_floor_1d(x: np.ndarray, size: Any) -> np.ndarray:
    """The element at floor(place * before / after)."""
    return _each(x, size, lambda before, after: _nearest(before, after, 0.0))


@operator(source=TORCH.format("Upsample"), sizes=TWO, parameters=OUTPUT_2, x=_input(2))
def resize_nearest_floor_2d(x: np.ndarray, size: Any) -> np.ndarray:
    """The element at floor(place * before / after)."""
    return _each(x, size, lambda before, after: _nearest(before, after, 0.0))


@operator(source=TORCH.format("Upsample"), sizes=THREE, parameters=OUTPUT_3, x=_input(3))
def resize_nearest_floor_3d(x: np.ndarray, size: Any) -> np.ndarray:
    """The element at floor(place * before / after)."""
    return _each(x, size, lambda before, after: _nearest(before, after, 0.0))


@operator(source=JAX.format("resize"), sizes=ONE, parameters=OUTPUT_1, x=_input(1))
def resize_nearest_1d(x: np.ndarray, size: Any) -> np.ndarray:
    """The element whose centre is nearest, floor((place + 1/2) * before / after)."""
    return _each(x, size, lambda before, after: _nearest(before, after, 0.5))


@operator(source=JAX.format("resize"), sizes=TWO, parameters=OUTPUT_2, x=_input(2))
def resize_nearest_2d(x: np.ndarray, size: Any) -> np.ndarray:
    """The element whose centre is nearest, floor((place + 1/2) * before / after)."""
    return _each(x, size, lambda before, after: _nearest(before, after, 0.5))


@operator(source=JAX.format("resize"), sizes=THREE, parameters=OUTPUT_3, x=_input(3))
def resize_nearest_3d(x: np.ndarray, size: Any) -> np.ndarray:
    """The element whose centre is nearest, floor((place + 1/2) * before / after)."""
    return _each(x, size, lambda before, after: _nearest(before, after, 0.5))


def _between(before: int, after: int, step: float) -> np.ndarray:
    return _points(_centres(before, after, step), before, _triangle, 1)


def _between_corners(before: int, after: int, step: float) -> np.ndarray:
    return _points(_corners(before, after, step), before, _triangle, 1)


@operator(source=TORCH.format("Upsample"), sizes=ONE, parameters=OUTPUT_1, x=_input(1), step=_ones(1), kept=("step",))
def resize_linear_1d(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Linear between the centres of pixels, without a filter."""
    return _stepped(x, step, size, _between)


@operator(source=TORCH.format("Upsample"), sizes=TWO, parameters=OUTPUT_2, x=_input(2), step=_ones(2), kept=("step",))
def resize_linear_2d(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Linear between the centres of pixels, without a filter."""
    return _stepped(x, step, size, _between)


@operator(source=TORCH.format("Upsample"), sizes=THREE, parameters=OUTPUT_3, x=_input(3), step=_ones(3), kept=("step",))
def resize_linear_3d(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Linear between the centres of pixels, without a filter."""
    return _stepped(x, step, size, _between)


@operator(source=TORCH.format("Upsample"), sizes=ONE, parameters=OUTPUT_1, x=_input(1), step=_ones(1), kept=("step",))
def resize_linear_corners_1d(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Linear, with the outermost points on each other."""
    return _stepped(x, step, size, _between_corners)


@operator(source=TORCH.format("Upsample"), sizes=TWO, parameters=OUTPUT_2, x=_input(2), step=_ones(2), kept=("step",))
def resize_linear_corners_2d(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Linear, with the outermost points on each other."""
    return _stepped(x, step, size, _between_corners)


@operator(source=TORCH.format("Upsample"), sizes=THREE, parameters=OUTPUT_3, x=_input(3), step=_ones(3), kept=("step",))
def resize_linear_corners_3d(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Linear, with the outermost points on each other."""
    return _stepped(x, step, size, _between_corners)


@operator(source=TORCH.format("Upsample"), sizes=TWO, parameters=OUTPUT_2, x=_input(2), step=_ones(2), kept=("step",))
def resize_cubic_clamped(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Cubic with a = -3/4; what lies outside counts for the outermost element."""
    return _stepped(x, step, size, lambda before, after, step: _points(_centres(before, after, step), before, _cubic(-0.75), 2))


@operator(source=TORCH.format("Upsample"), sizes=TWO, parameters=OUTPUT_2, x=_input(2), step=_ones(2), kept=("step",))
def resize_cubic_clamped_corners(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Cubic with a = -3/4, with the outermost points on each other."""
    return _stepped(x, step, size, lambda before, after, step: _points(_corners(before, after, step), before, _cubic(-0.75), 2))


@operator(source=KEYS, sizes=TWO, parameters=OUTPUT_2, x=_input(2), step=_ones(2), kept=("step",))
def resize_cubic(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """Cubic with a = -1/2, of elements that there are, without a filter."""
    return _stepped(x, step, size, lambda before, after, step: _filter(before, after, step, _cubic(-0.5), is_wide=False))


FILTERED = [
    {"size": size, "kernel": kernel}
    for size, kernel in (
        ([8, 9], "linear"), ([3, 3], "cubic"), ([3, 2], "lanczos3"), ([2, 3], "lanczos5"), ([3, 3], "mitchellcubic"),
        ([10, 2], "cubic"), ([2, 7], "lanczos3"), ([3, 3], "linear"),
    )
]  # fmt: skip


@operator(source=JAX.format("resize"), sizes=TWO[:4], parameters=FILTERED, x=_input(2), step=_ones(2), kept=("step",))
def resize_filtered(x: np.ndarray, step: np.ndarray, size: Any, kernel: str) -> np.ndarray:
    """Sums of a kernel that is as wide as outputs lie apart, or inputs, if that is more; their weights come to 1."""
    return _stepped(x, step, size, lambda before, after, step: _filter(before, after, step, KERNELS[kernel], is_wide=True))


def _shares(before: int, after: int, step: float) -> np.ndarray:
    """Return how much of each output's extent lies in each input's."""
    width = before / after * step
    low = np.arange(after)[:, None] * width
    at = np.arange(before)[None]
    found = np.maximum(0.0, np.minimum(low + width, at + 1) - np.maximum(low, at))
    return found / found.sum(1, keepdims=True)


@operator(
    source=TENSORFLOW.format("image/resize"), sizes=TWO, parameters=OUTPUT_2, x=_input(2).fixed(), step=_ones(2), kept=("step",)
)
def resize_area(x: np.ndarray, step: np.ndarray, size: Any) -> np.ndarray:
    """The mean over the extent that an output has among the inputs."""
    return _stepped(x, step, size, _shares)


@operator(
    source=JAX.format("scale_and_translate"),
    sizes=TWO[:4],
    parameters=[
        {"size": [8, 9], "kernel": "linear", "is_wide": True},
        {"size": [4, 4], "kernel": "cubic", "is_wide": True},
        {"size": [4, 5], "kernel": "lanczos3", "is_wide": False},
        {"size": [5, 3], "kernel": "linear", "is_wide": True},
    ],
    kept=("scale", "translation"),
    x=_input(2),
    scale=uniform(0.55, 1.8, 2).fixed(),
    translation=uniform(-1.0, 1.0, 2).fixed(),
)
def scale_and_translate(
    x: np.ndarray, scale: np.ndarray, translation: np.ndarray, size: Any, kernel: str, is_wide: bool
) -> np.ndarray:
    """Sums of a kernel around (output + 1/2 - translation) / scale; zero where that lies outside."""
    matrices = []
    for before, after, factor, shift in zip(x.shape[2:], size, scale, translation, strict=True):
        places = (np.arange(after) + 0.5 - shift) / factor - 0.5
        width = max(1.0 / factor, 1.0) if is_wide else 1.0
        found = KERNELS[kernel]((np.arange(before)[None] - places[:, None]) / width)
        total = found.sum(1, keepdims=True)
        is_inside = ((places >= -0.5) & (places <= before - 0.5))[:, None]
        matrices.append(np.where(is_inside, found / np.where(total == 0, 1.0, total), 0.0))
    return _along(x, matrices)


# What a place outside an array stands for, by SciPy's names of modes (scipy.ndimage.map_coordinates).
def _folded(at: np.ndarray, size: int, mode: str) -> np.ndarray:
    if mode == "nearest":
        return np.clip(at, 0, size - 1)
    if mode == "wrap":
        return at % size
    if mode == "mirror":
        period = max(1, 2 * (size - 1))
        return np.abs((at + size - 1) % period - (size - 1)) if size > 1 else at * 0
    if mode == "reflect":
        period = 2 * size
        return np.where(at % period < size, at % period, period - 1 - at % period)
    return np.clip(at, 0, size - 1)


def sampled(x: np.ndarray, coordinates: Sequence[np.ndarray], order: int, mode: str, fill: float = 0.0) -> np.ndarray:
    """Return an array at places between its elements: the nearest (order 0), or linear in each axis (order 1)."""
    axes = []
    for size, place in zip(x.shape, coordinates, strict=True):
        low = np.floor(place + (0.5 if order == 0 else 0.0)).astype(int)
        near = [(low, np.ones(place.shape))] if order == 0 else [(low, low + 1.0 - place), (low + 1, place - low)]
        axes.append([(_folded(at, size, mode), (at >= 0) & (at < size), weight) for at, weight in near])
    total = np.zeros(coordinates[0].shape)
    for corner in np.ndindex(*(len(each) for each in axes)):
        chosen = [axis[at] for axis, at in zip(axes, corner, strict=True)]
        values = x[tuple(at for at, _, _ in chosen)]
        if mode == "constant":
            values = np.where(np.logical_and.reduce([inside for _, inside, _ in chosen]), values, fill)
        total = total + values * np.prod([weight for _, _, weight in chosen], axis=0)
    return total


def _off_grid(random: np.random.Generator, low: float, high: float, shape: Sequence[int]) -> np.ndarray:
    """Return places between low and high that lie no nearer than a tenth to a whole number or a half."""
    whole = np.floor(random.uniform(2 * low, 2 * high, shape)) / 2
    return whole + random.uniform(0.1, 0.4, shape)


@operator(
    source="https://docs.jax.dev/en/latest/_autosummary/jax.scipy.ndimage.map_coordinates.html",
    sizes=[{"h": 4, "w": 5, "p": 9}, {"h": 3, "w": 2, "p": 33}, {"h": 33, "w": 17, "p": 100}],
    parameters=[
        {"order": order, "mode": mode, "fill": fill}
        for order, mode, fill in (
            (1, "nearest", 0.0), (0, "nearest", 0.0), (1, "wrap", 0.0), (0, "wrap", 0.0), (1, "mirror", 0.0), (0, "mirror", 0.0),
            (1, "reflect", 0.0), (0, "reflect", 0.0), (0, "constant", 0.5), (1, "constant", 0.5), (1, "constant", 0.0),
        )
    ],
    precisions=("fp32", "fp64"),
    x=normal("h", "w"),
    rows=drawn(lambda random, shape, sizes: _off_grid(random, -3, sizes["h"] + 2, shape), "p"),
    columns=drawn(lambda random, shape, sizes: _off_grid(random, -3, sizes["w"] + 2, shape), "p"),
)  # fmt: skip
def map_coordinates(x: np.ndarray, rows: np.ndarray, columns: np.ndarray, order: int, mode: str, fill: float) -> np.ndarray:
    """An image at any places; outside of it, each element counts as the mode has it."""
    return sampled(x, (rows, columns), order, mode, fill)


def _grid(rank: int) -> Argument:
    """Return places from -1.3 to 1.3 that no convention puts near a whole number or a border."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        spans = np.array([sizes[name] for name in reversed(_SPACE[-rank:])], float)
        if not spans.all():
            raise ValueError("every place is at the border of an image that has no elements")
        found = np.empty((sizes["n"], *(3, 4, 5)[-rank:], rank))
        flat = found.reshape(-1, rank)
        for row in range(len(flat)):
            for axis in range(rank):
                while True:
                    place = random.uniform(-1.3, 1.3)
                    both = np.array([(place + 1) * spans[axis] / 2 - 0.5, (place + 1) * (spans[axis] - 1) / 2])
                    halves = np.abs(2 * both - np.round(2 * both))
                    if (halves > min(0.04 * spans[axis], 0.15)).all():
                        break
                flat[row, axis] = place
        return found

    return drawn(draw)


SAMPLED = [
    {"mode": mode, "border": border, "corners": corners}
    for mode, border, corners in (
        ("bilinear", "zeros", False), ("bilinear", "border", False), ("bilinear", "reflection", False),
        ("bilinear", "zeros", True), ("bilinear", "border", True), ("bilinear", "reflection", True),
        ("nearest", "zeros", False), ("nearest", "border", True), ("nearest", "reflection", False),
        ("bicubic", "zeros", False), ("bicubic", "border", True), ("bicubic", "reflection", True),
        ("bicubic", "reflection", False),
        ("bilinear", "zeros", False),
    )
]  # fmt: skip


def _inside(place: np.ndarray, size: int, border: str, corners: bool) -> np.ndarray:
    """Return places that are brought into an image: to its border, or mirrored at its outermost centres or edges."""
    if border == "border":
        return np.clip(place, 0, size - 1)
    if border == "reflection":
        low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
        far = np.abs(place - low) % (2 * span)
        return np.clip(np.where(far > span, 2 * span - far, far) + low, 0, size - 1)
    return place


def _cubic_sampled(image: np.ndarray, places: Sequence[np.ndarray], border: str, corners: bool) -> np.ndarray:
    """Return cubic sums of sixteen neighbours, each of which is brought into the image by itself."""
    kernel = _cubic(-0.75)
    total = np.zeros(places[0].shape)
    lows = [np.floor(each) for each in places]
    for corner in np.ndindex(4, 4):
        at = [low + step - 1 for low, step in zip(lows, corner, strict=True)]
        weight = np.prod([kernel(place - each) for place, each in zip(places, at, strict=True)], axis=0)
        brought = [_inside(each, size, border, corners) for each, size in zip(at, image.shape, strict=True)]
        total += weight * sampled(image, brought, 0, "constant")
    return total


def _at_grid(x: np.ndarray, grid: np.ndarray, mode: str, border: str, corners: bool) -> np.ndarray:
    found = np.empty((*x.shape[:2], *grid.shape[1:-1]))
    for image in np.ndindex(*x.shape[:2]):
        places = []
        for axis, size in enumerate(x.shape[2:]):
            given = grid[image[0], ..., x.ndim - 3 - axis]
            places.append((given + 1) * (size - 1) / 2 if corners else (given + 1) * size / 2 - 0.5)
        if mode == "bicubic":
            found[image] = _cubic_sampled(x[image], places, border, corners)
            continue
        brought = [_inside(each, size, border, corners) for each, size in zip(places, x.shape[2:], strict=True)]
        found[image] = sampled(x[image], brought, 0 if mode == "nearest" else 1, "constant")
    return found


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grid_sample.html",
    sizes=_sizes(2, (1, 2, 5, 4), (1, 1, 2, 3), (2, 3, 7, 6), (1, 9, 4, 33)),
    parameters=SAMPLED,
    precisions=("fp32", "fp64"),
    x=_input(2),
    grid=_grid(2),
)
def grid_sample_2d(x: np.ndarray, grid: np.ndarray, mode: str, border: str, corners: bool) -> np.ndarray:
    """An image at places (x, y) from -1 to 1."""
    return _at_grid(x, grid, mode, border, corners)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grid_sample.html",
    sizes=_sizes(3, (1, 1, 4, 3, 5), (1, 2, 2, 3, 4), (2, 2, 3, 5, 4)),
    parameters=[*SAMPLED[:9], SAMPLED[-1]],
    precisions=("fp32", "fp64"),
    x=_input(3),
    grid=_grid(3),
)
def grid_sample_3d(x: np.ndarray, grid: np.ndarray, mode: str, border: str, corners: bool) -> np.ndarray:
    """A volume at places (x, y, z) from -1 to 1."""
    return _at_grid(x, grid, mode, border, corners)


def _affine(theta: np.ndarray, size: Sequence[int], corners: bool) -> np.ndarray:
    axes = []
    for count in size[2:]:
        steps = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        axes.append(steps if corners else steps * (count - 1) / count)
    places = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(size[2:])], axis=-1)
    return np.einsum("...j,nij->n...i", places, theta)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.affine_grid.html",
    sizes=[{"n": 2}, {"n": 1}, {"n": 33}],
    parameters=[{"size": [4, 5], "corners": False}, {"size": [3, 7], "corners": True}, {"size": [1, 6], "corners": False}],
    theta=normal("n", 2, 3),
)
def affine_grid_2d(theta: np.ndarray, size: Any, corners: bool) -> np.ndarray:
    """Where the pixels of an image lie in another one, by an affine map."""
    return _affine(theta, [0, 0, *size], corners)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.affine_grid.html",
    sizes=[{"n": 2}, {"n": 1}, {"n": 33}],
    parameters=[{"size": [2, 4, 5], "corners": False}, {"size": [4, 3, 7], "corners": True}],
    theta=normal("n", 3, 4),
)
def affine_grid_3d(theta: np.ndarray, size: Any, corners: bool) -> np.ndarray:
    """Where the voxels of a volume lie in another one, by an affine map."""
    return _affine(theta, [0, 0, *size], corners)


def _map(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
    """Return maps that turn and stretch a little, and shift: [a0, a1, a2, b0, b1, b2, 0, 0] of each image."""
    rows = [[0.9, 0.21, -0.37, -0.13, 1.07, 0.41, 0, 0], [1.1, -0.3, 0.53, 0.17, 0.91, -0.77, 0, 0]]
    return np.array([rows[place % 2] for place in range(sizes["n"])])


@operator(
    source=KERAS,
    sizes=TWO[:1] + TWO[2:4],
    parameters=[
        {"order": order, "mode": mode}
        for order, mode in (
            (1, "constant"), (1, "nearest"), (1, "reflect"), (1, "wrap"), (0, "constant"), (0, "nearest"), (0, "wrap"),
            (1, "constant"),
        )
    ],
    precisions=("fp32", "fp64"),
    x=_input(2),
    transform=drawn(_map, is_differentiated=False),
)  # fmt: skip
def affine_transform(x: np.ndarray, transform: np.ndarray, order: int, mode: str) -> np.ndarray:
    """An image at (a0 x + a1 y + a2, b0 x + b1 y + b2) for each pixel (x, y)."""
    rows, columns = np.meshgrid(*(np.arange(size, dtype=float) for size in x.shape[2:]), indexing="ij")
    found = []
    for images, (a0, a1, a2, b0, b1, b2, _, _) in zip(x, transform, strict=True):
        places = (b0 * columns + b1 * rows + b2, a0 * columns + a1 * rows + a2)
        found.append([sampled(image, places, order, mode) for image in images])
    return np.array(found)


def _blocks(*rows: Sequence[int]) -> list[Mapping[str, int]]:
    """Return sizes of images that blocks of two fit into, and channels that are four times as many."""
    return [dict(zip(("n", "c", "h", "w"), row, strict=True)) for row in rows]


BLOCKS = _blocks((1, 4, 2, 4), (1, 4, 2, 2), (2, 36, 6, 12), (1, 72, 12, 6))
FACTOR = [{"factor": 2}]


@operator(source=TORCH.format("PixelShuffle"), sizes=BLOCKS, parameters=FACTOR, takes_any=True, x=_input(2))
def pixel_shuffle(x: np.ndarray, factor: int) -> np.ndarray:
    """Channels become blocks of pixels; those of a block are neighbours among the channels."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c // factor**2, factor, factor, h, w)
    return parts.transpose(0, 1, 4, 2, 5, 3).reshape(n, c // factor**2, h * factor, w * factor)


@operator(source=TORCH.format("PixelUnshuffle"), sizes=BLOCKS, parameters=FACTOR, takes_any=True, x=_input(2))
def pixel_unshuffle(x: np.ndarray, factor: int) -> np.ndarray:
    """Blocks of pixels become channels; those of a block are neighbours among the channels."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // factor, factor, w // factor, factor)
    return parts.transpose(0, 1, 3, 5, 2, 4).reshape(n, c * factor**2, h // factor, w // factor)


@operator(source=TENSORFLOW.format("nn/depth_to_space"), sizes=BLOCKS, parameters=FACTOR, takes_any=True, x=_input(2))
def depth_to_space(x: np.ndarray, factor: int) -> np.ndarray:
    """Channels become blocks of pixels; those of one pixel are neighbours among the channels."""
    n, c, h, w = x.shape
    parts = x.reshape(n, factor, factor, c // factor**2, h, w)
    return parts.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // factor**2, h * factor, w * factor)


@operator(source=TENSORFLOW.format("nn/space_to_depth"), sizes=BLOCKS, parameters=FACTOR, takes_any=True, x=_input(2))
def space_to_depth(x: np.ndarray, factor: int) -> np.ndarray:
    """Blocks of pixels become channels; those of one pixel are neighbours among the channels."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // factor, factor, w // factor, factor)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * factor**2, h // factor, w // factor)


@operator(
    source=TENSORFLOW.format("space_to_batch"),
    sizes=BLOCKS,
    parameters=[{"block": [2, 2], "border": [[0, 0], [0, 0]]}, {"block": [2, 3], "border": [[1, 1], [2, 0]]}],
    x=drawn(lambda random, shape, sizes: random.standard_normal((sizes["n"], sizes["c"], 6, 4)), "n", "c"),
)
def space_to_batch(x: np.ndarray, block: Any, border: Any) -> np.ndarray:
    """Blocks of pixels become images of their own."""
    x = padded(x, border)
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // block[0], block[0], w // block[1], block[1])
    return parts.transpose(3, 5, 0, 1, 2, 4).reshape(-1, c, h // block[0], w // block[1])


@operator(
    source=TENSORFLOW.format("batch_to_space"),
    sizes=[{"n": 1, "c": 2}, {"n": 3, "c": 5}, {"n": 2, "c": 33}],
    parameters=[{"block": [2, 3], "crops": [[0, 0], [0, 0]]}, {"block": [2, 3], "crops": [[1, 0], [2, 1]]}],
    x=drawn(lambda random, shape, sizes: random.standard_normal((6 * sizes["n"], sizes["c"], 2, 3)), "n", "c"),
)
def batch_to_space(x: np.ndarray, block: Any, crops: Any) -> np.ndarray:
    """Images become blocks of pixels."""
    many, c, h, w = x.shape
    parts = x.reshape(*block, many // (block[0] * block[1]), c, h, w).transpose(2, 3, 4, 0, 5, 1)
    found = parts.reshape(-1, c, h * block[0], w * block[1])
    (top, bottom), (left, right) = crops
    return found[:, :, top : found.shape[2] - bottom, left : found.shape[3] - right]


@operator(
    source=TORCH.format("ChannelShuffle"),
    sizes=[*TWO[:1], TWO[2]],
    parameters=[{"groups": 3}, {"groups": 1}],
    x=normal("n", 6, "h", 2),
)
def channel_shuffle(x: np.ndarray, groups: int) -> np.ndarray:
    """Channels of groups, taken in turns."""
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).swapaxes(1, 2).reshape(x.shape)


def _patch(window: list[int], strides: list[int], padding: Any, dilation: list[int]) -> dict[str, Any]:
    return {"window": window, "strides": strides, "padding": padding, "dilation": dilation}


PATCHES = [
    _patch([2, 3], [1, 1], [[0, 0], [0, 0]], [1, 1]),
    _patch([2, 2], [2, 1], [[1, 1], [0, 0]], [1, 1]),
    _patch([3, 2], [1, 2], [[1, 1], [1, 1]], [1, 2]),
    _patch([2, 2], [2, 2], "valid", [1, 1]),
    _patch([3, 3], [1, 1], "same", [1, 1]),
    _patch([3, 3], [2, 2], "same", [1, 1]),
    _patch([2, 2], [1, 1], "valid", [2, 2]),
]
_LARGE = [size for size in TWO if size["h"] > 3]


@operator(source=TORCH.format("Unfold"), sizes=_LARGE, parameters=PATCHES, x=_input(2))
def unfold(x: np.ndarray, window: Any, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Windows as columns, [batch, channels * window, places], the channel outermost."""
    pairs = amounts(padding, x.shape[2:], window, strides, dilation)
    found = windows(padded(x, pairs), window, strides, dilation).transpose(0, 1, 4, 5, 2, 3)
    return found.reshape(x.shape[0], x.shape[1] * window[0] * window[1], -1)


@operator(source=TENSORFLOW.format("image/extract_patches"), sizes=_LARGE, parameters=PATCHES[3:], x=_input(2))
def extract_patches(x: np.ndarray, window: Any, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Windows as channels, [batch, height, width, window * channels], the channel innermost."""
    pairs = amounts(padding, x.shape[2:], window, strides, dilation)
    found = windows(padded(x, pairs), window, strides, dilation).transpose(0, 2, 3, 4, 5, 1)
    return found.reshape(*found.shape[:3], -1)


def _columns(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
    return random.standard_normal((sizes["n"], 4 * sizes["c"], (sizes["h"] + 1) * (sizes["w"] + 1)))


@operator(
    source=TORCH.format("Fold"),
    sizes=_blocks((1, 1, 2, 3), (1, 1, 1, 1), (2, 3, 5, 6), (1, 33, 4, 3)),
    parameters=[{"window": [2, 2]}],
    x=drawn(_columns),
    image=normal("n", "c", "h", "w").fixed(),
)
def fold(x: np.ndarray, image: np.ndarray, window: Any) -> np.ndarray:
    """Columns of windows with a border of one, added up where their windows stand; `image` has the shape."""
    n, c, h, w = image.shape
    found = np.zeros((n, c, h + 2, w + 2))
    parts = x.reshape(n, c, *window, h + 1, w + 1)
    for row, column in np.ndindex(*window):
        found[:, :, row : row + h + 1, column : column + w + 1] += parts[:, :, row, column]
    return found[:, :, 1:-1, 1:-1]


@operator(source=TENSORFLOW.format("image/flip_left_right"), sizes=TWO, takes_any=True, x=_input(2))
def flip_horizontal(x: np.ndarray) -> np.ndarray:
    """An image mirrored from left to right."""
    return x[..., ::-1]


@operator(source=TENSORFLOW.format("image/flip_up_down"), sizes=TWO, takes_any=True, x=_input(2))
def flip_vertical(x: np.ndarray) -> np.ndarray:
    """An image turned upside down."""
    return x[..., ::-1, :]


@operator(
    source=TENSORFLOW.format("image/rot90"), sizes=TWO, parameters=[{"turns": turns} for turns in (1, 2, 3, 0)], x=_input(2)
)
def rotate_quarter(x: np.ndarray, turns: int) -> np.ndarray:
    """An image turned by quarters against the clock."""
    return np.rot90(x, turns, (2, 3))


@operator(
    source=TENSORFLOW.format("image/crop_to_bounding_box"),
    sizes=_LARGE,
    parameters=[{"top": 1, "left": 0, "height": 3, "width": 2}, {"top": 0, "left": 1, "height": 4, "width": 3}],
    x=_input(2),
)
def crop(x: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
    """A part of an image."""
    return x[:, :, top : top + height, left : left + width]


@operator(
    source=TENSORFLOW.format("image/pad_to_bounding_box"),
    sizes=TWO,
    parameters=[{"top": 1, "left": 0, "height": 43, "width": 44}, {"top": 0, "left": 3, "height": 34, "width": 45}],
    x=_input(2),
)
def pad_to_box(x: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
    """An image with zeros around it, up to a size."""
    h, w = x.shape[2:]
    return np.pad(x, [(0, 0), (0, 0), (top, height - h - top), (left, width - w - left)])


@operator(
    source="https://keras.io/api/layers/preprocessing_layers/image_preprocessing/center_crop/",
    sizes=_LARGE,
    parameters=[{"height": 3, "width": 2}, {"height": 2, "width": 3}, {"height": 4, "width": 4}],
    x=_input(2),
)
def crop_centre(x: np.ndarray, height: int, width: int) -> np.ndarray:
    """The middle of an image; an odd element stays behind."""
    top, left = (x.shape[2] - height) // 2, (x.shape[3] - width) // 2
    return x[:, :, top : top + height, left : left + width]


@operator(
    source=TENSORFLOW.format("image/crop_and_resize"),
    sizes=_sizes(2, (1, 2, 5, 4), (3, 1, 9, 11), (2, 5, 7, 6)),
    parameters=[
        {"size": [3, 4], "method": "bilinear"},
        {"size": [2, 2], "method": "nearest"},
        {"size": [5, 3], "method": "bilinear"},
    ],
    precisions=("fp32",),
    x=_input(2),
    boxes=drawn(
        lambda random, shape, sizes: np.concatenate(
            [random.uniform(-0.1, 0.4, (sizes["n"], 2)), random.uniform(0.55, 1.1, (sizes["n"], 2))], axis=1
        )
    ).fixed(),
)
def crop_and_resize(x: np.ndarray, boxes: np.ndarray, size: Any, method: str) -> np.ndarray:
    """A box (top, left, bottom, right) of each image, with points at its corners; zero outside."""
    found = np.zeros((*x.shape[:2], *size))
    for at, (top, left, bottom, right) in enumerate(boxes):
        h, w = x.shape[2:]
        rows, columns = np.linspace(top, bottom, size[0]) * (h - 1), np.linspace(left, right, size[1]) * (w - 1)
        places = np.meshgrid(rows, columns, indexing="ij")
        inside = (places[0] >= 0) & (places[0] <= h - 1) & (places[1] >= 0) & (places[1] <= w - 1)
        for channel in range(x.shape[1]):
            values = sampled(x[at, channel], places, 1 if method == "bilinear" else 0, "nearest")
            found[at, channel] = np.where(inside, values, 0.0)
    return found


def _colours() -> Argument:
    """Return colours whose parts differ by a twentieth at least, and are no nearer to 0 or 1."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        order = random.permuted(np.broadcast_to(np.arange(3.0), (sizes["n"], sizes["h"], sizes["w"], 3)), axis=-1)
        return np.moveaxis(0.15 + 0.27 * order + random.uniform(-0.1, 0.1, order.shape), -1, 1)

    return drawn(draw)


_PICTURES = [{"n": n, "h": h, "w": w} for n, h, w in ((1, 3, 4), (1, 1, 1), (2, 5, 7), (1, 33, 40))]
_PRECISE = ("fp32",)  # what tf.image converts colours to, whatever it is given
_REDUCED = ("fp32", "bf16", "fp16")


def _hsv(x: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(x, 1, 0)
    value, low = x.max(1), x.min(1)
    span = value - low
    hue = np.where(
        value == red, ((green - blue) / span) % 6, np.where(value == green, (blue - red) / span + 2, (red - green) / span + 4)
    )
    return np.stack([hue / 6, span / value, value], axis=1)


def _rgb(x: np.ndarray) -> np.ndarray:
    hue, saturation, value = np.moveaxis(x, 1, 0)
    parts = []
    for shift in (5, 3, 1):
        at = (shift + 6 * hue) % 6
        parts.append(value - value * saturation * np.clip(np.minimum(at, 4 - at), 0, 1))
    return np.stack(parts, axis=1)


SMITH = "https://doi.org/10.1145/965139.807361"


@operator(source=SMITH, sizes=_PICTURES, precisions=_PRECISE, x=_colours())
def rgb_to_hsv(x: np.ndarray) -> np.ndarray:
    """Hue, saturation and value, from 0 to 1, of red, green and blue."""
    return _hsv(x)


@operator(
    source=SMITH,
    sizes=_PICTURES,
    precisions=_PRECISE,
    x=drawn(
        lambda random, shape, sizes: np.moveaxis(
            np.stack(
                [
                    (random.integers(0, 6, (sizes["n"], sizes["h"], sizes["w"])) + random.uniform(0.1, 0.9)) / 6,
                    random.uniform(0.1, 0.9, (sizes["n"], sizes["h"], sizes["w"])),
                    random.uniform(0.1, 0.9, (sizes["n"], sizes["h"], sizes["w"])),
                ]
            ),
            0,
            1,
        )
    ),
)
def hsv_to_rgb(x: np.ndarray) -> np.ndarray:
    """Red, green and blue of hue, saturation and value."""
    return _rgb(x)


@operator(source=TENSORFLOW.format("image/rgb_to_grayscale"), sizes=_PICTURES, precisions=_REDUCED, x=_colours())
def rgb_to_grayscale(x: np.ndarray) -> np.ndarray:
    """The luma of ITU-R BT.601 with four digits."""
    return np.einsum("nchw,c->nhw", x, [0.2989, 0.587, 0.114])[:, None]


@operator(source=TENSORFLOW.format("image/rgb_to_yuv"), sizes=_PICTURES, precisions=_PRECISE, x=_colours())
def rgb_to_yuv(x: np.ndarray) -> np.ndarray:
    """Luma of ITU-R BT.601, and the differences of blue and red from it as PAL and NTSC scale them."""
    red, _, blue = np.moveaxis(x, 1, 0)
    luma = np.einsum("nchw,c->nhw", x, [0.299, 0.587, 0.114])
    return np.stack([luma, 0.492111041122 * (blue - luma), 0.877283219910 * (red - luma)], axis=1)


@operator(
    source=TENSORFLOW.format("image/adjust_brightness"),
    sizes=_PICTURES,
    parameters=[{"delta": 0.1}, {"delta": -0.3}],
    precisions=_REDUCED,
    x=_colours(),
)
def adjust_brightness(x: np.ndarray, delta: float) -> np.ndarray:
    """An image, brighter everywhere."""
    return x + delta


@operator(
    source=TENSORFLOW.format("image/adjust_contrast"),
    sizes=_PICTURES,
    parameters=[{"factor": 1.5}, {"factor": 0.4}],
    precisions=_REDUCED,
    x=_colours().fixed(),
)
def adjust_contrast(x: np.ndarray, factor: float) -> np.ndarray:
    """The distances of each channel from its mean over an image, times a factor."""
    mean = x.mean((2, 3), keepdims=True)
    return (x - mean) * factor + mean


@operator(
    source=TENSORFLOW.format("image/adjust_saturation"),
    sizes=_PICTURES,
    parameters=[{"factor": 0.5}, {"factor": 1.05}],
    precisions=_PRECISE,
    x=_colours().fixed(),
)
def adjust_saturation(x: np.ndarray, factor: float) -> np.ndarray:
    """An image whose saturation is multiplied, and no more than 1."""
    hue, saturation, value = np.moveaxis(_hsv(x), 1, 0)
    return _rgb(np.stack([hue, np.clip(saturation * factor, 0, 1), value], axis=1))


@operator(
    source=TENSORFLOW.format("image/adjust_hue"),
    sizes=_PICTURES,
    parameters=[{"delta": 0.2}, {"delta": -0.45}],
    precisions=_PRECISE,
    x=_colours().fixed(),
)
def adjust_hue(x: np.ndarray, delta: float) -> np.ndarray:
    """An image whose hue is moved around its circle."""
    hue, saturation, value = np.moveaxis(_hsv(x), 1, 0)
    return _rgb(np.stack([(hue + delta) % 1.0, saturation, value], axis=1))


@operator(
    source=TENSORFLOW.format("image/adjust_gamma"),
    sizes=_PICTURES,
    parameters=[{"gamma": 2.2, "gain": 1.0}, {"gamma": 0.5, "gain": 1.5}],
    precisions=_REDUCED,
    x=_colours(),
)
def adjust_gamma(x: np.ndarray, gamma: float, gain: float) -> np.ndarray:
    """A power of an image, times a gain."""
    return gain * x**gamma


@operator(
    source=TENSORFLOW.format("image/per_image_standardization"),
    sizes=_PICTURES[:1] + _PICTURES[2:],
    precisions=_REDUCED,
    x=_colours(),
)
def standardize_image(x: np.ndarray) -> np.ndarray:
    """Each image less its mean, by its standard deviation or 1 / sqrt(elements), whichever is more."""
    axes = (1, 2, 3)
    count = x[0].size
    spread = np.maximum(x.std(axes, keepdims=True), 1.0 / np.sqrt(count))
    return (x - x.mean(axes, keepdims=True)) / spread


@operator(source=TENSORFLOW.format("image/sobel_edges"), sizes=_LARGE, x=_input(2), taps=_ones(3, 3))
def sobel_edges(x: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Sobel's differences from top to bottom and from left to right, behind a mirrored border, [..., 2]; taps: ones."""
    down = np.array([[-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]])
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], mode="reflect")
    found = windows(wide, [3, 3], [1, 1], [1, 1])
    return np.stack([(found * (down * taps)).sum((-2, -1)), (found * (down.T * taps)).sum((-2, -1))], axis=-1)


@operator(source=TENSORFLOW.format("image/image_gradients"), sizes=_LARGE, x=_input(2))
def image_gradients(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences to the next row and to the next column; zero at the end."""
    down, right = np.zeros_like(x), np.zeros_like(x)
    down[:, :, :-1] = x[:, :, 1:] - x[:, :, :-1]
    right[..., :-1] = x[..., 1:] - x[..., :-1]
    return down, right


@operator(source=TENSORFLOW.format("image/total_variation"), sizes=[TWO[0], TWO[2]], x=_input(2))
def total_variation(x: np.ndarray) -> np.ndarray:
    """The sum of the sizes of all differences between neighbours of each image."""
    axes = (1, 2, 3)
    return np.abs(x[:, :, 1:] - x[:, :, :-1]).sum(axes) + np.abs(x[..., 1:] - x[..., :-1]).sum(axes)


def _unit(*dims: Any) -> Argument:
    return uniform(0.05, 0.95, *dims)


@operator(
    source=TENSORFLOW.format("image/psnr"),
    sizes=TWO[:4],
    precisions=_PRECISE,
    x=_unit("n", "c", "h", "w"),
    y=_unit("n", "c", "h", "w"),
)
def peak_signal_to_noise(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """-10 log10 of the mean square of differences, for a range of 1."""
    return -10 * np.log10(np.square(x - y).mean((1, 2, 3)))


@operator(
    source="https://doi.org/10.1109/TIP.2003.819861",
    sizes=[{"n": 1, "c": 1, "h": 11, "w": 12}, {"n": 2, "c": 3, "h": 15, "w": 13}],
    precisions=_PRECISE,
    x=_unit("n", "c", "h", "w"),
    y=_unit("n", "c", "h", "w"),
)
def structural_similarity(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """SSIM with a Gaussian of 11 pixels and 1.5 wide, mean over places and channels."""
    line = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
    kernel = np.outer(line, line) / line.sum() ** 2

    def mean(image: np.ndarray) -> np.ndarray:
        return (windows(image, [11, 11], [1, 1], [1, 1]) * kernel).sum((-2, -1))

    first, second, c1, c2 = mean(x), mean(y), 0.01**2, 0.03**2
    luminance = (2 * first * second + c1) / (first**2 + second**2 + c1)
    both = mean(x * y) - first * second
    spread = mean(x * x) - first**2 + mean(y * y) - second**2
    return (luminance * (2 * both + c2) / (spread + c2)).mean((1, 2, 3))


@operator(
    source=KERAS,
    sizes=_LARGE,
    parameters=[{"window": [3, 3], "sigma": [1.0, 1.0]}, {"window": [3, 5], "sigma": [0.8, 1.7]}],
    x=_input(2),
)
def gaussian_blur(x: np.ndarray, window: Any, sigma: Any) -> np.ndarray:
    """Each channel's convolution with a Gaussian whose sum is 1; zeros outside."""
    lines = [np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * each**2)) for size, each in zip(window, sigma, strict=True)]
    kernel = np.outer(lines[0] / lines[0].sum(), lines[1] / lines[1].sum())
    wide = padded(x, [((size - 1) // 2, size // 2) for size in window])
    return (windows(wide, window, [1, 1], [1, 1]) * kernel).sum((-2, -1))


@operator(
    source="https://keras.io/api/layers/preprocessing_layers/image_preprocessing/rescaling/",
    sizes=TWO,
    parameters=[{"scale": 0.25, "offset": -1.0}, {"scale": 3.0, "offset": 0.5}],
    x=_input(2),
)
def rescale(x: np.ndarray, scale: float, offset: float) -> np.ndarray:
    """An image times a scale, plus an offset."""
    return x * scale + offset


def _repeated(x: np.ndarray, factors: Sequence[int]) -> np.ndarray:
    for place, factor in enumerate(factors):
        x = np.repeat(x, factor, axis=x.ndim - len(factors) + place)
    return x


@operator(source=TORCH.format("UpsamplingNearest2d"), sizes=ONE, parameters=[{"factors": [2]}, {"factors": [3]}], x=_input(1))
def repeat_1d(x: np.ndarray, factors: Any) -> np.ndarray:
    """Each element several times."""
    return _repeated(x, factors)


@operator(
    source=TORCH.format("UpsamplingNearest2d"), sizes=TWO, parameters=[{"factors": [2, 2]}, {"factors": [1, 3]}], x=_input(2)
)
def repeat_2d(x: np.ndarray, factors: Any) -> np.ndarray:
    """Each pixel several times."""
    return _repeated(x, factors)


@operator(
    source=TORCH.format("UpsamplingNearest2d"),
    sizes=THREE,
    parameters=[{"factors": [2, 2, 2]}, {"factors": [1, 3, 2]}],
    x=_input(3),
)
def repeat_3d(x: np.ndarray, factors: Any) -> np.ndarray:
    """Each voxel several times."""
    return _repeated(x, factors)
