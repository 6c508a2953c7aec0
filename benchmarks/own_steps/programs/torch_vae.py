"""A variational autoencoder in PyTorch: numbers drawn at random in the forward pass, a loss of two parts, RMSprop."""

import torch
import torch.nn.functional as F
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 16))
        self.decoder = nn.Sequential(nn.Linear(8, 48), nn.Softplus(), nn.Linear(48, 64))

    def forward(self, x):
        mean, log_variance = self.encoder(x).float().chunk(2, dim=-1)
        drawn = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(drawn), mean, log_variance


def build():
    return Autoencoder()


def batch(seed):
    return torch.rand(12, 64, generator=torch.Generator().manual_seed(seed))


def loss(model, batch):
    logits, mean, log_variance = model(batch)
    likelihood = F.binary_cross_entropy_with_logits(logits.float(), batch, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp())
    return (likelihood + divergence) / len(batch)


def optimizer(model):
    return torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.5)
