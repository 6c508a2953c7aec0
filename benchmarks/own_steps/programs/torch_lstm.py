"""A classifier of sequences in PyTorch: a bidirectional LSTM of two layers with dropout, last states, SGD with momentum."""

import torch
import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(13, 24, num_layers=2, batch_first=True, bidirectional=True, dropout=0.2)
        self.head = nn.Linear(48, 7)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(states[:, -1])


def build():
    return Classifier()


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(10, 8, 13, generator=generator), torch.randint(7, (10,), generator=generator)


def loss(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.1)


def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)


def predict(model, batch):
    return model(batch[0])
