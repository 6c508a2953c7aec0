"""Group normalisation by reshaping, against the framework's own."""

import torch
import torch.nn.functional as F

SIZES = {"channels": (4, 8, 12, 32)}


def inputs(seed, channels=8, length=50):
    generator = torch.Generator().manual_seed(seed)
    return {
        "x": torch.randn(3, channels, length, generator=generator) + 0.5,
        "scale": torch.rand(channels, generator=generator) + 0.5,
        "shift": torch.randn(channels, generator=generator),
    }


def reference(x, scale, shift):
    return F.group_norm(x, 4, scale, shift, eps=1e-5)


def candidate(x, scale, shift):
    groups = x.float().reshape(x.shape[0], 4, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normal = (centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)).view(x.shape)
    return (normal * scale.float()[:, None] + shift.float()[:, None]).to(x.dtype)
