"""Recommendation in PyTorch: bags of embeddings with weights, a factorised interaction, batch norm over features, AdamW."""

import torch
import torch.nn.functional as F
from torch import nn


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 12, mode=mode) for mode in ("mean", "sum", "max"))
        self.dense = nn.Sequential(nn.Linear(9, 12), nn.BatchNorm1d(12), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(4 * 12 + 16, 20), nn.ELU(), nn.Linear(20, 1))

    def forward(self, numbers, words):
        parts = [self.dense(numbers), *(bag(words) for bag in self.bags)]
        stacked = torch.stack(parts, dim=1)
        products = (stacked @ stacked.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([*parts, products], dim=1)).squeeze(1)


def build():
    return Ranker()


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    clicks = torch.randint(2, (16,), generator=generator).float()
    return torch.randn(16, 9, generator=generator), torch.randint(50, (16, 6), generator=generator), clicks


def loss(model, batch):
    numbers, words, clicks = batch
    return F.binary_cross_entropy_with_logits(model(numbers, words), clicks)


def optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2, amsgrad=True)


def predict(model, batch):
    return model(*batch[:2])
