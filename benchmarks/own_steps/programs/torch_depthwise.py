"""Depthwise and transposed convolutions in PyTorch: group norm, dilation, instance norm, upsampling, an L1 loss, Adagrad."""

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(
        nn.Conv2d(4, 16, 1), nn.GroupNorm(4, 16), nn.GELU(approximate="tanh"),
        nn.Conv2d(16, 16, 3, padding=2, dilation=2, groups=16), nn.InstanceNorm2d(16, affine=True), nn.LeakyReLU(0.1),
        nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.Hardswish(), nn.Upsample(scale_factor=0.5, mode="bilinear"),
        nn.Conv2d(8, 3, 3, padding=1, padding_mode="reflect"),
    )  # fmt: skip


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(5, 4, 12, 10, generator=generator), torch.randn(5, 3, 12, 10, generator=generator)


def loss(model, batch):
    return F.smooth_l1_loss(model(batch[0]), batch[1])


def optimizer(model):
    return torch.optim.Adagrad(model.parameters(), lr=0.01)


def predict(model, batch):
    return model(batch[0])
