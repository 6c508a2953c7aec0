"""The framework's own transformer encoder in PyTorch, on sequences with padding that a mask hides, Adam."""

import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 32, padding_idx=0)
        layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, words):
        return self.head(self.encoder(self.words(words), src_key_padding_mask=words == 0))


def build():
    return Tagger()


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(1, 40, (7, 15), generator=generator)
    lengths = torch.randint(6, 16, (7, 1), generator=generator)
    words[torch.arange(15)[None] >= lengths] = 0
    tags = torch.randint(5, (7, 15), generator=generator)
    return words, torch.where(words == 0, -100, tags)


def loss(model, batch):
    words, tags = batch
    return F.cross_entropy(model(words).flatten(0, 1), tags.flatten(), ignore_index=-100)


def optimizer(model):
    return torch.optim.Adam(model.parameters(), lr=2e-3)


def predict(model, batch):
    return model(batch[0])
