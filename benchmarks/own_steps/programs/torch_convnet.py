"""A small ConvNet in PyTorch: batch norm, strides, max and average pooling, dropout, SGD."""

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 24, 5, stride=2, padding=2), nn.BatchNorm2d(24), nn.SiLU(), nn.AvgPool2d(2, ceil_mode=True),
        nn.Flatten(), nn.Dropout(0.1), nn.Linear(24 * 3 * 3, 10),
    )  # fmt: skip


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(8, 3, 21, 21, generator=generator), torch.randint(10, (8,), generator=generator)


def loss(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def predict(model, batch):
    return model(batch[0])
