"""Single operations and their vector-Jacobian products in float64, of a coarse rounding in float32, in canonical layouts.

Each function returns (output, backward): `backward(gradient)` gives one gradient for each array argument, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.special
from numpy.lib.stride_tricks import sliding_window_view

Backward = Callable[[np.ndarray], tuple[np.ndarray, ...]]
Padding = tuple[tuple[int, int], tuple[int, int]]
# So many float64 numbers, 2 MiB, stay in the cache of a core.
_IN_CACHE = 2**18
# So many, with what is made of them.
_ROWS_IN_CACHE = 2**14


def convolution(x: np.ndarray, kernel: np.ndarray, *, stride: int, padding: Padding) -> tuple[np.ndarray, Backward]:
    """Cross-correlate images [batch, height, width, in] with a kernel [height, width, in, out], without a bias."""
    height, width, _, n_out = kernel.shape
    (top, bottom), (left, right) = padding
    inner = (height - 1 - top, height - 1 - bottom), (width - 1 - left, width - 1 - right)

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_kernel = np.zeros((kernel.size // n_out, n_out), gradient.dtype)
        for some, patches in _patches(x, (height, width), stride, padding):
            of_kernel += patches.T @ gradient[some].reshape(-1, n_out)
        if stride > 1 or min(map(min, inner)) < 0:
            of_x = _scatter(gradient, kernel, x.shape, stride=stride, padding=padding)
        else:  # a pixel gets what its window of the gradient gives, by the kernel turned round
            of_x = _correlate(gradient, kernel[::-1, ::-1].swapaxes(2, 3), stride=1, padding=inner)
        return of_x, of_kernel.reshape(kernel.shape)

    return _correlate(x, kernel, stride=stride, padding=padding), backward


def _correlate(x: np.ndarray, kernel: np.ndarray, *, stride: int, padding: Padding) -> np.ndarray:
    n_out = kernel.shape[-1]
    rows, columns = (
        (n + before + after - side) // stride + 1
        for n, side, (before, after) in zip(x.shape[1:3], kernel.shape, padding, strict=False)
    )
    result, matrix = np.empty((len(x), rows, columns, n_out), x.dtype), kernel.reshape(-1, n_out)
    for some, patches in _patches(x, kernel.shape[:2], stride, padding):
        np.matmul(patches, matrix, out=result[some].reshape(-1, n_out))
    return result


def _patches(x: np.ndarray, sides: tuple[int, ...], stride: int, padding: Padding) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield which images, and their windows as [images * rows * columns, height * width * in]: a few that stay in the cache.

    The windows are in one array, and hold until the next are asked for.
    """
    (batch, rows, columns, n_in), ((top, bottom), (left, right)) = x.shape, padding
    n = min(batch, max(1, _IN_CACHE * stride**2 // (rows * columns * math.prod(sides) * n_in)))
    padded = np.zeros((n, rows + top + bottom, columns + left + right, n_in), x.dtype)
    windows = sliding_window_view(padded, sides, axis=(1, 2))[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    patches = np.empty(windows.shape, x.dtype)
    for first in range(0, batch, n):
        some = x[first : first + n]
        padded[: len(some), top : top + rows, left : left + columns] = some
        patches[: len(some)] = windows[: len(some)]
        yield slice(first, first + n), patches[: len(some)].reshape(-1, math.prod(sides) * n_in)


def _scatter(gradient: np.ndarray, kernel: np.ndarray, shape: tuple[int, ...], *, stride: int, padding: Padding) -> np.ndarray:
    """Return, for images of this shape, the sum of what each pixel of `gradient` gives to its window.

    By `_correlate` it would need zeros between the pixels, three numbers in four where the stride is 2.
    """
    height, width, _, n_out = kernel.shape
    (top, bottom), (left, right) = padding
    (_, rows, columns, _), (batch, x_rows, x_columns, n_in) = gradient.shape, shape
    result, matrix = np.empty(shape, gradient.dtype), kernel.reshape(-1, n_out).T
    n = max(1, _IN_CACHE // (rows * columns * matrix.shape[1]))
    for first in range(0, batch, n):
        some = gradient[first : first + n]
        patches = (some.reshape(-1, n_out) @ matrix).reshape(*some.shape[:3], height, width, n_in)
        padded = np.zeros((len(some), x_rows + top + bottom, x_columns + left + right, n_in), gradient.dtype)
        for row, column in np.ndindex(height, width):
            given = padded[:, row : row + stride * rows : stride, column : column + stride * columns : stride]
            given += patches[:, :, :, row, column]
        result[first : first + n] = padded[:, top : top + x_rows, left : left + x_columns]
    return result


def biased_convolution(
    x: np.ndarray, kernel: np.ndarray, bias: np.ndarray, *, stride: int, padding: Padding
) -> tuple[np.ndarray, Backward]:
    """Cross-correlate images with a kernel, and add a bias [out]."""
    value, of_product = convolution(x, kernel, stride=stride, padding=padding)
    return value + bias, lambda gradient: (*of_product(gradient), gradient.sum(axis=(0, 1, 2)))


def transposed_convolution(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Write each pixel of images [batch, height, width, in] as the patch that a kernel [n, n, in, out] makes of it, side by side.

    The transposed convolution whose stride is the side of its kernel.
    """
    (batch, rows, columns, _), (side, _, _, n_out) = x.shape, kernel.shape
    patches = np.einsum("bhwi,uvio->bhuwvo", x, kernel)

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        of_patches = gradient.reshape(batch, rows, side, columns, side, n_out)
        of_x = np.einsum("bhuwvo,uvio->bhwi", of_patches, kernel)
        return of_x, np.einsum("bhuwvo,bhwi->uvio", of_patches, x), gradient.sum(axis=(0, 1, 2))

    return patches.reshape(batch, rows * side, columns * side, n_out) + bias, backward


def twice_as_large(x: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return images with every pixel four times, as a square."""
    batch, rows, columns, channels = x.shape

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return (gradient.reshape(batch, rows, 2, columns, 2, channels).sum(axis=(2, 4)),)

    return x.repeat(2, axis=1).repeat(2, axis=2), backward


def for_regions(function: Callable[..., tuple[np.ndarray, Backward]]) -> Callable[..., tuple[np.ndarray, Backward]]:
    """Return the function of rows as one of regions [batch, region, ...]."""

    def of_regions(x: np.ndarray, *others: np.ndarray, **options) -> tuple[np.ndarray, Backward]:
        value, backward = function(x.reshape(-1, *x.shape[2:]), *others, **options)

        def back(gradient: np.ndarray) -> tuple[np.ndarray, ...]:
            of_x, *of_others = backward(gradient.reshape(-1, *gradient.shape[2:]))
            return of_x.reshape(x.shape), *of_others

        return value.reshape(*x.shape[:2], *value.shape[1:]), back

    return of_regions


def joined_levels(*levels: np.ndarray, numbers: int) -> tuple[np.ndarray, Backward]:
    """Return maps [batch, height, width, shape * numbers] as [batch, anchor, numbers], level by level; one number has no axis."""
    batch = len(levels[0])
    rows = [level.reshape(batch, -1, *[numbers] * (numbers > 1)) for level in levels]
    ends = np.cumsum([part.shape[1] for part in rows])[:-1]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(part.reshape(level.shape) for part, level in zip(np.split(gradient, ends, axis=1), levels, strict=True))

    return np.concatenate(rows, axis=1), backward


def of_class(x: np.ndarray, *, classes: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return of x [batch, n, ..., class] those of each row's class [batch, n], as [batch, n, ...]."""
    is_own = (np.arange(x.shape[-1]) == classes[..., None]).reshape(*classes.shape, *[1] * (x.ndim - 3), -1)
    return np.where(is_own, x, 0.0).sum(axis=-1), lambda gradient: (gradient[..., None] * is_own,)


def sum_in_use(losses: np.ndarray, *, used: np.ndarray, divisor: float) -> tuple[np.ndarray, Backward]:
    """Return the sum of losses [batch, n] over those in use, over a number, [batch]."""
    return np.where(used, losses, 0.0).sum(axis=1) / divisor, lambda gradient: (gradient[:, None] * used / divisor,)


def scaled(x: np.ndarray, *, factor: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return x times a factor of the same shape."""
    return x * factor, lambda gradient: (gradient * factor,)


def mean_of_sums(*terms: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return the mean over the batch of the sum of terms [batch], a scalar."""
    first, *others = terms
    batch = len(first)
    return sum(others, first).mean(), lambda gradient: tuple(np.full(batch, gradient / batch) for _ in terms)


def batch_norm(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray, *, epsilon: float
) -> tuple[np.ndarray, Backward]:
    """Normalise [..., channel] by the batch's own mean and biased variance, which the caller took of `x`.

    The gradient goes through mean and variance too (Ioffe and Szegedy 2015, arXiv 1502.03167, section 3); only those of x,
    scale and bias are returned.
    """
    inverse = 1.0 / np.sqrt(variance + epsilon)
    n = x.size // x.shape[-1]
    rows = _long_rows(x)
    wide_mean, wide_inverse, wide_scale, wide_bias = (_repeated(each, rows) for each in (mean, inverse, scale, bias))
    result = np.empty_like(rows)
    for some in _few(rows):
        part = np.subtract(rows[some], wide_mean, out=result[some])
        part *= wide_inverse
        part *= wide_scale
        part += wide_bias

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        given = gradient.reshape(rows.shape)
        sums, products = np.zeros((2, rows.shape[1]))
        of_x = np.empty_like(rows)
        for some in _few(rows):  # what is normalised is made again: it would leave the cache until it is used
            part = np.subtract(rows[some], wide_mean, out=of_x[some])
            part *= wide_inverse
            sums += given[some].sum(axis=0)
            products += np.einsum("rc,rc->c", given[some], part)
        of_bias, of_scale = (each.reshape(-1, x.shape[-1]).sum(axis=0) for each in (sums, products))
        wide_share, wide_of_scale = _repeated(of_bias / n, rows), _repeated(of_scale / n, rows)
        factor = _repeated(scale * inverse, rows)
        for some in _few(rows):
            part = of_x[some]
            part *= wide_of_scale
            np.subtract(given[some], part, out=part)
            part -= wide_share
            part *= factor
        return of_x.reshape(x.shape), of_scale, of_bias

    return result.reshape(x.shape), backward


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and biased variance of each channel of [..., channel]."""
    rows, n_channels = _long_rows(x), x.shape[-1]
    n = x.size // n_channels
    mean = rows.sum(axis=0, dtype=np.float64).reshape(-1, n_channels).sum(axis=0) / n
    wide_mean, squares = _repeated(mean, rows), np.zeros(rows.shape[1])
    for some in _few(rows):
        centred = rows[some] - wide_mean
        squares += np.einsum("rc,rc->c", centred, centred)
    return mean, squares.reshape(-1, n_channels).sum(axis=0) / n


def _long_rows(x: np.ndarray) -> np.ndarray:
    """Return [..., channel] as rows of several pixels: loops over a few channels take longer than what they compute."""
    return x.reshape(-1, x.shape[-2] * x.shape[-1]) if x.ndim > 2 else x


def _repeated(of_channels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return [channel] as often as a row of several pixels has them."""
    return np.tile(of_channels.astype(rows.dtype, copy=False), rows.shape[1] // of_channels.size)


def _few(rows: np.ndarray) -> Iterator[slice]:
    n = max(1, _ROWS_IN_CACHE // rows.shape[1])
    return (slice(first, first + n) for first in range(0, len(rows), n))


def split_batch_norm(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, means: np.ndarray, variances: np.ndarray, *, epsilon: float
) -> tuple[np.ndarray, Backward]:
    """Batch norm of each part of a batch by its own statistics [part, channel]; the parts have equally many rows."""
    found = [
        batch_norm(part, scale, bias, mean, variance, epsilon=epsilon)
        for part, mean, variance in zip(np.split(x, len(means)), means, variances, strict=True)
    ]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts = [back(part) for (_, back), part in zip(found, np.split(gradient, len(means)), strict=True)]
        of_x, of_scale, of_bias = zip(*parts, strict=True)
        return _joined(of_x), sum(of_scale), sum(of_bias)

    return _joined([value for value, _ in found]), backward


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def region_batch_norm(
    x: np.ndarray,
    scale: np.ndarray,
    bias: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    *,
    used: np.ndarray,
    epsilon: float,
) -> tuple[np.ndarray, Backward]:
    """Batch norm of rows [n, ..., channel] by mean and biased variance of those in use, which the caller took of them."""
    inverse = 1.0 / np.sqrt(variance + epsilon)
    normalised = (x - mean) * inverse
    counted = used.reshape(-1, *[1] * (x.ndim - 1))
    n = used.sum() * (x[0].size // x.shape[-1])

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        over = tuple(range(x.ndim - 1))
        of_bias, of_scale = gradient.sum(axis=over), (gradient * normalised).sum(axis=over)
        return scale * inverse * (gradient - counted * (of_bias + normalised * of_scale) / n), of_scale, of_bias

    return normalised * scale + bias, backward


def batch_norm_factor(scale: np.ndarray, variance: np.ndarray, *, epsilon: float) -> np.ndarray:
    """Return what batch norm multiplies a channel by in evaluation."""
    return scale / np.sqrt(variance + epsilon)


def relu(x: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return max(x, 0); the gradient at 0 is 0, as in the three frameworks."""
    return np.maximum(x, 0.0), lambda gradient: (gradient * (x > 0),)


def add(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return the sum of two arrays of one shape."""
    return x + y, lambda gradient: (gradient, gradient)


def strided_slice(x: np.ndarray, *, stride: int, channels_before: int, channels_after: int) -> tuple[np.ndarray, Backward]:
    """Return every stride-th row and column, with zero channels around (option A of He et al. 2015, arXiv 1512.03385)."""
    n = x.shape[-1]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        back = np.zeros_like(x)
        back[:, ::stride, ::stride] = gradient[..., channels_before : channels_before + n]
        return (back,)

    return np.pad(x[:, ::stride, ::stride], ((0, 0), (0, 0), (0, 0), (channels_before, channels_after))), backward


def mean_pool(x: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return the mean over rows and columns, [batch, channel]."""
    height, width = x.shape[1:3]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return (np.broadcast_to(gradient[:, None, None] / (height * width), x.shape),)

    return x.mean(axis=(1, 2)), backward


def dense(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return x [batch, in] times the kernel [in, out], plus the bias."""
    value, of_product = linear(x, kernel)
    return value + bias, lambda gradient: (*of_product(gradient), gradient.sum(axis=0))


def linear(x: np.ndarray, kernel: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return x [..., in] times the kernel [in, out]."""

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return gradient @ kernel.T, x.reshape(-1, x.shape[-1]).T @ gradient.reshape(-1, gradient.shape[-1])

    return x @ kernel, backward


def transposed_linear(x: np.ndarray, kernel: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return x [..., in] times the transpose of a kernel [out, in]."""
    value, of_product = linear(x, kernel.T)

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_x, of_transpose = of_product(gradient)
        return of_x, of_transpose.T

    return value, backward


def embedding_sum(tokens: np.ndarray, of_tokens: np.ndarray, of_places: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return, for tokens [batch, block], the row of each and the row of its place, added up: [batch, block, width]."""
    block = tokens.shape[1]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        of_rows, of_all_places = np.zeros_like(of_tokens), np.zeros_like(of_places)
        np.add.at(of_rows, tokens, gradient)
        of_all_places[:block] = gradient.sum(axis=0)
        return np.zeros(tokens.shape), of_rows, of_all_places

    return of_tokens[tokens] + of_places[:block], backward


def layer_norm(
    x: np.ndarray, scale: np.ndarray, mean: np.ndarray, variance: np.ndarray, *, epsilon: float
) -> tuple[np.ndarray, Backward]:
    """Normalise rows [..., width] by mean and biased variance of each, [..., 1], which the caller took of `x`.

    Ba et al. 2016, arXiv 1607.06450, section 3; without a bias.
    """
    inverse = 1.0 / np.sqrt(variance + epsilon)
    normalised = (x - mean) * inverse

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_normalised = gradient * scale
        along = (of_normalised * normalised).mean(axis=-1, keepdims=True)
        of_x = inverse * (of_normalised - of_normalised.mean(axis=-1, keepdims=True) - normalised * along)
        return of_x, (gradient * normalised).reshape(-1, x.shape[-1]).sum(axis=0)

    return normalised * scale, backward


def gelu(x: np.ndarray, *, rounded: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, Backward]:
    """Return x times the normal distribution function of x (Hendrycks and Gimpel 2016, arXiv 1606.08415).

    Programs take it of the error function, as (1 + erf) / 2: below zero little is left of that but its rounding.

    Args:
        rounded: array -> the array, rounded.
    """
    # The difference is the error function's rounding; the function itself keeps its digits far below zero.
    error = scipy.special.erf(x / np.sqrt(2.0))
    below = scipy.special.ndtr(x) + 0.5 * (rounded(error) - error)

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        density = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
        return (gradient * (below + x * density),)

    return x * below, backward


def attention_scores(x: np.ndarray, *, heads: int) -> tuple[np.ndarray, Backward]:
    """Return how much each place of queries, keys and values [batch, block, 3 * width] minds each, [batch, head, block, block].

    Vaswani et al. 2017, arXiv 1706.03762, equation 1, before the softmax.
    """
    query, key, _ = _heads(x, heads)
    factor = 1.0 / np.sqrt(query.shape[-1])

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        scaled = gradient * factor
        return (_joined_heads(scaled @ key, scaled.transpose(0, 1, 3, 2) @ query, np.zeros_like(key)),)

    return query @ key.transpose(0, 1, 3, 2) * factor, backward


def causal_softmax(scores: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return the shares of each row of [..., n, n], which add up to 1; a place has none in those after it."""
    scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = exponentials / exponentials.sum(axis=-1, keepdims=True)

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return (shares * (gradient - (gradient * shares).sum(axis=-1, keepdims=True)),)

    return shares, backward


def attention_values(shares: np.ndarray, x: np.ndarray, *, heads: int) -> tuple[np.ndarray, Backward]:
    """Return the values of x [batch, block, 3 * width], added up by shares [batch, head, block, block]: [batch, block, width]."""
    _, _, value = _heads(x, heads)

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_heads = gradient.reshape(*gradient.shape[:2], heads, -1).transpose(0, 2, 1, 3)
        of_value = shares.transpose(0, 1, 3, 2) @ of_heads
        nothing = np.zeros_like(of_value)
        return of_heads @ value.transpose(0, 1, 3, 2), _joined_heads(nothing, nothing, of_value)

    return (shares @ value).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1), backward


def _heads(x: np.ndarray, heads: int) -> list[np.ndarray]:
    """Return queries, keys and values of [batch, block, 3 * width], each [batch, head, block, number]."""
    return [part.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for part in np.split(x, 3, axis=2)]


def _joined_heads(*parts: np.ndarray) -> np.ndarray:
    batch, _, block, _ = parts[0].shape
    return np.concatenate([part.transpose(0, 2, 1, 3).reshape(batch, block, -1) for part in parts], axis=2)


def reshaped(x: np.ndarray, *, shape: tuple[int, ...]) -> tuple[np.ndarray, Backward]:
    """Return the same numbers in another shape."""
    return x.reshape(shape), lambda gradient: (gradient.reshape(x.shape),)


def softmax_cross_entropy(logits: np.ndarray, *, labels: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return the mean over the batch of -log softmax(logits)[label], a scalar."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1)
    rows = np.arange(len(labels))
    losses = np.log(sums) - shifted[rows, labels]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        probabilities = exponentials / sums[:, None]
        probabilities[rows, labels] -= 1.0
        return (gradient * probabilities / len(labels),)

    return losses.mean(), backward


def cross_entropy_of_rows(
    logits: np.ndarray, *, labels: np.ndarray, rounded: Callable[[np.ndarray, int], np.ndarray]
) -> tuple[np.ndarray, Backward]:
    """Return -log softmax(logits)[label] of each row, [batch].

    Of a row that is nearly certain, loss and gradient are what is left of 1: rounding a sum of exponentials, or a probability,
    by a unit moves them by many.

    Args:
        rounded: (array, terms of each sum) -> the array, rounded.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = rounded(exponentials.sum(axis=1), logits.shape[1])
    rows = np.arange(len(labels))

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        probabilities = rounded(exponentials / sums[:, None], 1)
        probabilities[rows, labels] -= 1.0
        return (gradient[:, None] * probabilities,)

    return np.log(sums) - shifted[rows, labels], backward


def normalise_rows(x: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return the rows of x [batch, dimension] over their norms."""
    norms = np.sqrt(np.square(x).sum(axis=1, keepdims=True))
    y = x / norms

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return ((gradient - y * (y * gradient).sum(axis=1, keepdims=True)) / norms,)

    return y, backward


def contrast(
    features: np.ndarray, keys: np.ndarray, *, place: np.ndarray, queue: np.ndarray, temperature: float
) -> tuple[np.ndarray, Backward]:
    """Return similarities over the temperature, [batch, 1 + queue]: to each row's own key first, then to the queue.

    He et al. 2020, arXiv 1911.05722, algorithm 1. `place` [batch] says which key is whose.
    """
    own = keys[place]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_own, of_queue = gradient[:, :1] / temperature, gradient[:, 1:] / temperature
        of_keys = np.zeros_like(keys)
        np.add.at(of_keys, place, of_own * features)
        return of_own * own + of_queue @ queue, of_keys

    positive = (features * own).sum(axis=1, keepdims=True)
    return np.concatenate([positive, features @ queue.T], axis=1) / temperature, backward
