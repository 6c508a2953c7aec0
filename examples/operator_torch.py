"""An operator of your own, for `vigil verify`: what you wrote, what it shall compute, and inputs. Replace all three."""

import torch


def inputs(seed, rows=32, columns=256):
    """Arguments made from the seed, by name. Sizes have usual values; Vigil tries others around powers of two and tiles."""
    generator = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(rows, columns, generator=generator), "weight": torch.rand(columns, generator=generator)}


def reference(x, weight):
    """The operator as its definition says, slow and plain. It is carried out in float64, and differentiated."""
    return x / torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-6) * weight


def candidate(x, weight):
    """The operator to verify: a kernel, a rewritten layer, a custom autograd function."""
    return RMSNorm.apply(x, weight)


class RMSNorm(torch.autograd.Function):
    """Root mean square normalisation, backward by hand (Zhang and Sennrich 2019, arXiv:1910.07467)."""

    @staticmethod
    def forward(context, x, weight):
        inverse = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
        context.save_for_backward(x, weight, inverse)
        return (x * inverse * weight).to(x.dtype)

    @staticmethod
    def backward(context, gradient):
        x, weight, inverse = context.saved_tensors
        normal = x.float() * inverse
        scaled = gradient.float() * weight.float()
        of_x = inverse * (scaled - normal * (scaled * normal).mean(-1, keepdim=True))
        return of_x.to(x.dtype), (gradient.float() * normal).flatten(0, -2).sum(0).to(weight.dtype)


# Optional: what your own test allows. Vigil says how often it will fail of correct operators, and what rounding needs.
TOLERANCE = {"fp32": {"atol": 1e-5, "rtol": 1e-5}}
# Optional: TILES = {"columns": 128}, a kernel's tile; SIZES = {"columns": (64, 128)}, where others are not allowed;
# PRECISIONS = ("fp32",); DIFFERENTIATED = ("x",), where not every float input has a gradient.
