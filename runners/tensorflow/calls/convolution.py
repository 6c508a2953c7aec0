"""TensorFlow: convolutions, with channels last: the CPU has no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _last(x: Any) -> Any:
    rank = len(x.shape)
    return tf.transpose(x, [0, *range(2, rank), 1])


def _first(x: Any) -> Any:
    rank = len(x.shape)
    return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def _kernel(weight: Any) -> Any:
    """Return weights [out, channels, *window] as TensorFlow has them, [*window, channels, out]."""
    return tf.transpose(weight, [*range(2, len(weight.shape)), 1, 0])


def _depth(weight: Any) -> Any:
    """Return weights [channels, multiplier, *window] as TensorFlow has them, [*window, channels, multiplier]."""
    return tf.transpose(weight, [*range(2, len(weight.shape)), 0, 1])


def _name(padding: Any) -> str:
    if not isinstance(padding, str) and max(max(pair) for pair in padding) > 0:
        raise Unsupported("padding in numbers. Allowed: SAME, VALID.")
    return padding.upper() if isinstance(padding, str) else "VALID"


def _pairs(padding: Any) -> Any:
    return padding.upper() if isinstance(padding, str) else [[0, 0], *padding, [0, 0]]


def _any(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _plain(x, weight, [1])
    if max(strides) > 1 and max(dilation) > 1:
        raise Unsupported("strides and dilations. Allowed: one of them above 1.")
    return _first(tf.nn.convolution(_last(x), _kernel(weight), strides, _name(padding), dilations=dilation) + bias)


def _plain(x: Any, weight: Any, dilation: Any) -> None:
    if x.shape[1] != weight.shape[1] or max(dilation) > 1:
        raise Unsupported("groups or dilations: no gradient on the CPU.")


def _conv1d(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _plain(x, weight, dilation)
    return _first(tf.nn.conv1d(_last(x), _kernel(weight), strides[0], _name(padding), dilations=dilation[0]) + bias)


def _conv2d(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _plain(x, weight, dilation)
    return _first(tf.nn.conv2d(_last(x), _kernel(weight), strides, _pairs(padding), dilations=dilation) + bias)


def _conv3d(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _plain(x, weight, dilation)
    steps, spread = [1, *strides, 1], [1, *dilation, 1]
    return _first(tf.nn.conv3d(_last(x), _kernel(weight), steps, _name(padding), dilations=spread) + bias)


def _atrous(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _plain(x, weight, [1])
    if max(strides) > 1 or dilation[0] != dilation[1]:
        raise Unsupported("strides, or rates of several values.")
    return _first(tf.nn.atrous_conv2d(_last(x), _kernel(weight), dilation[0], _name(padding)) + bias)


def _shape(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    """Return the shape of what a transposed convolution gives, with channels last, and how TensorFlow calls the padding."""
    if weight.shape[1] != bias.shape[0]:
        raise Unsupported("no groups.")
    if max(dilation) > 1:
        raise Unsupported("dilations: not implemented on the CPU.")
    pairs = padding
    if isinstance(padding, str):
        widths = list(zip(weight.shape[2:], strides, strict=True))
        pairs = [(0, width - stride if padding == "same" else min(0, width - stride)) for width, stride in widths]
    space = [
        (size - 1) * stride + width - before - behind
        for size, stride, width, (before, behind) in zip(x.shape[2:], strides, weight.shape[2:], pairs, strict=True)
    ]
    return [x.shape[0], *space, weight.shape[1]]


def _back_any(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    shape = _shape(x, weight, bias, strides, padding, dilation)
    return _first(tf.nn.conv_transpose(_last(x), _kernel(weight), shape, strides, _name(padding)) + bias)


def _back1d(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    shape = _shape(x, weight, bias, strides, padding, dilation)
    return _first(tf.nn.conv1d_transpose(_last(x), _kernel(weight), shape, strides, _name(padding)) + bias)


def _back2d(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    shape = _shape(x, weight, bias, strides, padding, dilation)
    border = _pairs(padding)
    if not isinstance(padding, str):
        border = [[max(0, each) for each in pair] for pair in border]
    return _first(tf.nn.conv2d_transpose(_last(x), _kernel(weight), shape, strides, border) + bias)


def _back3d(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    shape = _shape(x, weight, bias, strides, padding, dilation)
    return _first(tf.nn.conv3d_transpose(_last(x), _kernel(weight), shape, strides, _name(padding)) + bias)


def _atrous_back(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if max(strides) > 1 or dilation[0] != dilation[1] or weight.shape[1] != bias.shape[0] or not isinstance(padding, str):
        raise Unsupported("strides, groups, rates of several values, or padding in numbers.")
    space = list(x.shape[2:])
    if padding == "valid":
        space = [size + (width - 1) * dilation[0] for size, width in zip(space, weight.shape[2:], strict=True)]
    shape = [x.shape[0], *space, weight.shape[1]]
    return _first(tf.nn.atrous_conv2d_transpose(_last(x), _kernel(weight), shape, dilation[0], _name(padding)) + bias)


def _even(strides: Any, dilation: Any) -> None:
    if strides[0] != strides[1]:
        raise Unsupported("strides of several values. Allowed: one.")
    if max(strides) > 1 and max(dilation) > 1:
        raise Unsupported("strides and dilations. Allowed: one of them above 1.")


def _depthwise(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _even(strides, dilation)
    found = tf.nn.depthwise_conv2d(_last(x), _depth(weight), [1, *strides, 1], _pairs(padding), dilations=dilation)
    return _first(found)


def _separable(x: Any, weight: Any, pointwise: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _even(strides, dilation)
    mixture = tf.transpose(pointwise)[None, None]
    return _first(
        tf.nn.separable_conv2d(_last(x), _depth(weight), mixture, [1, *strides, 1], _pairs(padding), dilations=dilation)
    )


def _forms(rank: int, by_rank: Call, back_by_rank: Call) -> dict[str, dict[str, Call]]:
    return {
        f"convolution_{rank}d": {"tensorflow.nn.convolution": _any, f"tensorflow.nn.conv{rank}d": by_rank},
        f"convolution_{rank}d_transposed": {
            "tensorflow.nn.conv_transpose": _back_any,
            f"tensorflow.nn.conv{rank}d_transpose": back_by_rank,
        },
    }


_TWO = _forms(2, _conv2d, _back2d)
CALLS = {
    **_forms(1, _conv1d, _back1d),
    "convolution_2d": {**_TWO["convolution_2d"], "tensorflow.nn.atrous_conv2d": _atrous},
    "convolution_2d_transposed": {**_TWO["convolution_2d_transposed"], "tensorflow.nn.atrous_conv2d_transpose": _atrous_back},
    **_forms(3, _conv3d, _back3d),
    "convolution_2d_depthwise": {"tensorflow.nn.depthwise_conv2d": _depthwise},
    "convolution_2d_separable": {"tensorflow.nn.separable_conv2d": _separable},
}
