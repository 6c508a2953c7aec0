"""Multi-scale deformable attention (Zhu et al. 2021, https://arxiv.org/abs/2010.04159, section 4.1), plain and differentiable.

Each query looks at a few points of each of several feature maps, and takes a weighted sum of what bilinear sampling finds there.
Locations are in shares of a map's width and height: 0 is its left edge, 1 its right one. Outside, `zeros` counts as zero, and
`border` is the nearest pixel.
"""

import torch
import torch.nn.functional as F


def deformable_attention(values, locations, weights, padding):
    """Return (batch, queries, heads, channels).

    values: of each level (batch, heads, channels, height, width). locations: (batch, queries, heads, levels, points, 2), x first.
    weights: (batch, queries, heads, levels, points).
    """
    total = 0
    for level, value in enumerate(values):
        batch, heads, channels = value.shape[:3]
        grid = 2 * locations[:, :, :, level].transpose(1, 2).flatten(0, 1) - 1
        found = F.grid_sample(value.flatten(0, 1), grid, mode="bilinear", padding_mode=padding, align_corners=False)
        weight = weights[:, :, :, level].transpose(1, 2).flatten(0, 1).unsqueeze(1)
        total = total + (found * weight).sum(-1).view(batch, heads, channels, -1)
    return total.permute(0, 3, 1, 2)


def example_inputs(seed, queries, heads, channels, points, height, width):
    """Return inputs as a detector has them when it begins: reference points on centres of pixels, offsets of a float16 layer.

    Two levels, the second of half the size. Such offsets are multiples of 2**-10 to 2**-8 of a pixel: some of them are whole, and
    then a point lies on the grid, where the derivative with respect to its location jumps.
    """
    generator = torch.Generator().manual_seed(seed)
    sizes = [(height, width), (max(1, height // 2), max(1, width // 2))]
    values = [torch.randn(1, heads, channels, *size, generator=generator) for size in sizes]
    extent = torch.tensor([[size[1], size[0]] for size in sizes], dtype=torch.float32).view(1, 1, 1, 2, 1, 2)
    pixels = (torch.rand(1, queries, 1, 2, 1, 2, generator=generator) * extent).floor() + 0.5
    offsets = (2 * torch.randn(1, queries, heads, 2, points, 2, generator=generator)).half().float()
    weights = torch.rand(1, queries, heads, 2 * points, generator=generator).softmax(-1).view(1, queries, heads, 2, points)
    return {"values": values, "locations": (pixels + offsets) / extent, "weights": weights}
