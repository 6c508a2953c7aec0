"""Multi-scale deformable attention as a Triton kernel, for `vigil verify`. Without a GPU Triton's interpreter runs it.

TRITON_INTERPRET=1 vigil verify examples/operator_triton.py
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before triton is imported

import triton
import triton.language as tl
from deformable_attention import deformable_attention, example_inputs

PADDING = "border"
TILE = 16  # queries that one program takes


def inputs(seed, queries=20, heads=2, channels=8, points=2, height=12, width=12):
    """Two levels, the second of half the size."""
    return example_inputs(seed, queries, heads, channels, points, height, width)


def reference(values, locations, weights):
    """By PyTorch's own sampling."""
    return deformable_attention(values, locations, weights, PADDING)


def candidate(values, locations, weights):
    """Level by level by the kernel below."""
    total = 0
    for level, value in enumerate(values):
        total = total + Sampling.apply(value, locations[:, :, :, level], weights[:, :, :, level])
    return total


class Sampling(torch.autograd.Function):
    """The weighted sum of one level's samples."""

    @staticmethod
    def forward(context, value, locations, weights):
        value, locations, weights = value.contiguous(), locations.contiguous(), weights.contiguous()
        context.save_for_backward(value, locations, weights)
        batch, heads, channels, height, width = value.shape
        queries, points = weights.shape[1], weights.shape[3]
        result = torch.empty(batch, queries, heads, channels, dtype=value.dtype, device=value.device)
        _forward[(batch * heads, triton.cdiv(queries, TILE))](
            value, locations, weights, result, queries, heads, channels, height, width, points,
            TILE, triton.next_power_of_2(channels),
        )  # fmt: skip
        return result

    @staticmethod
    def backward(context, gradient):
        value, locations, weights = context.saved_tensors
        batch, heads, channels, height, width = value.shape
        queries, points = weights.shape[1], weights.shape[3]
        of_value = torch.zeros(value.shape, dtype=torch.float32, device=value.device)
        of_locations, of_weights = torch.empty_like(locations), torch.empty_like(weights)
        _backward[(batch * heads, triton.cdiv(queries, TILE))](
            value, locations, weights, gradient.contiguous(), of_value, of_locations, of_weights,
            queries, heads, channels, height, width, points, TILE, triton.next_power_of_2(channels),
        )  # fmt: skip
        return of_value.to(value.dtype), of_locations, of_weights


@triton.jit
def _pixel(location, size):
    """The place of locations in pixels, brought into the map, and where they were inside."""
    place = location * size - 0.5
    inside = (place > 0) & (place < size - 1)
    return tl.minimum(tl.maximum(place, 0.0), size - 1.0), inside


@triton.jit
def _corners(base, x, y, width, height):
    """The four pixels around each place, and where between them it lies."""
    left, top = tl.floor(x).to(tl.int32), tl.floor(y).to(tl.int32)
    right, low = tl.minimum(left + 1, width - 1), tl.minimum(top + 1, height - 1)
    dx, dy = (x - left)[:, None], (y - top)[:, None]
    upper_left = base + (top * width + left)[:, None]
    upper_right = base + (top * width + right)[:, None]
    lower_left = base + (low * width + left)[:, None]
    lower_right = base + (low * width + right)[:, None]
    return upper_left, upper_right, lower_left, lower_right, dx, dy


@triton.jit
def _forward(
    value, locations, weights, result, queries, heads, channels, height, width, points, tile: tl.constexpr, block: tl.constexpr
):
    head, image = tl.program_id(0) % heads, tl.program_id(0) // heads
    query, channel = tl.program_id(1) * tile + tl.arange(0, tile), tl.arange(0, block)
    is_query = query < queries
    mask = is_query[:, None] & (channel < channels)[None, :]
    base = value + tl.program_id(0) * channels * height * width + channel[None, :] * height * width
    row = (image * queries + query) * heads + head
    total = tl.zeros((tile, block), tl.float32)
    for point in range(points):
        number = row * points + point
        weight = tl.load(weights + number, mask=is_query, other=0.0).to(tl.float32)[:, None]
        x, _ = _pixel(tl.load(locations + number * 2, mask=is_query, other=0.5).to(tl.float32), width)
        y, _ = _pixel(tl.load(locations + number * 2 + 1, mask=is_query, other=0.5).to(tl.float32), height)
        upper_left, upper_right, lower_left, lower_right, dx, dy = _corners(base, x, y, width, height)
        upper = tl.load(upper_left, mask=mask, other=0.0) * (1 - dx) + tl.load(upper_right, mask=mask, other=0.0) * dx
        lower = tl.load(lower_left, mask=mask, other=0.0) * (1 - dx) + tl.load(lower_right, mask=mask, other=0.0) * dx
        total += weight * (upper * (1 - dy) + lower * dy)
    place = row[:, None] * channels + channel[None, :]
    tl.store(result + place, total.to(result.dtype.element_ty), mask=mask)


@triton.jit
def _backward(
    value, locations, weights, gradient, of_value, of_locations, of_weights,
    queries, heads, channels, height, width, points, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    head, image = tl.program_id(0) % heads, tl.program_id(0) // heads
    query, channel = tl.program_id(1) * tile + tl.arange(0, tile), tl.arange(0, block)
    is_query = query < queries
    mask = is_query[:, None] & (channel < channels)[None, :]
    base = tl.program_id(0) * channels * height * width + channel[None, :] * height * width
    row = (image * queries + query) * heads + head
    given = tl.load(gradient + row[:, None] * channels + channel[None, :], mask=mask, other=0.0).to(tl.float32)
    for point in range(points):
        number = row * points + point
        weight = tl.load(weights + number, mask=is_query, other=0.0).to(tl.float32)
        x, is_inside_x = _pixel(tl.load(locations + number * 2, mask=is_query, other=0.5).to(tl.float32), width)
        y, is_inside_y = _pixel(tl.load(locations + number * 2 + 1, mask=is_query, other=0.5).to(tl.float32), height)
        upper_left, upper_right, lower_left, lower_right, dx, dy = _corners(base, x, y, width, height)
        at_upper_left = tl.load(value + upper_left, mask=mask, other=0.0).to(tl.float32)
        at_upper_right = tl.load(value + upper_right, mask=mask, other=0.0).to(tl.float32)
        at_lower_left = tl.load(value + lower_left, mask=mask, other=0.0).to(tl.float32)
        at_lower_right = tl.load(value + lower_right, mask=mask, other=0.0).to(tl.float32)
        upper, lower = at_upper_left * (1 - dx) + at_upper_right * dx, at_lower_left * (1 - dx) + at_lower_right * dx
        along_x = (at_upper_right - at_upper_left) * (1 - dy) + (at_lower_right - at_lower_left) * dy
        of_weight = tl.sum(given * (upper * (1 - dy) + lower * dy), axis=1)
        of_x = tl.where(is_inside_x, weight * tl.sum(given * along_x, axis=1) * width, 0.0)
        of_y = tl.where(is_inside_y, weight * tl.sum(given * (lower - upper), axis=1) * height, 0.0)
        tl.store(of_weights + number, of_weight.to(of_weights.dtype.element_ty), mask=is_query)
        tl.store(of_locations + number * 2, of_x.to(of_locations.dtype.element_ty), mask=is_query)
        tl.store(of_locations + number * 2 + 1, of_y.to(of_locations.dtype.element_ty), mask=is_query)
        share = given * weight[:, None]
        tl.atomic_add(of_value + upper_left, share * (1 - dx) * (1 - dy), mask=mask)
        tl.atomic_add(of_value + upper_right, share * dx * (1 - dy), mask=mask)
        tl.atomic_add(of_value + lower_left, share * (1 - dx) * dy, mask=mask)
        tl.atomic_add(of_value + lower_right, share * dx * dy, mask=mask)


# What the kernel's own test allows.
TOLERANCE = {"fp32": {"atol": 1e-6, "rtol": 1e-5}}
PRECISIONS = ("fp32",)
TILES = {"queries": TILE}
SIZES = {"heads": (1, 2, 3), "points": (1, 2, 4), "channels": (1, 3, 4, 8, 9, 16)}
