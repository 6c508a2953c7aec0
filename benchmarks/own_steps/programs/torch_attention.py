"""A decoder of two blocks in PyTorch: embeddings, causal attention of the framework, layer norm, GELU, a tied head, AdamW."""

import torch
import torch.nn.functional as F
from torch import nn

WORDS, WIDTH, HEADS, LENGTH = 61, 48, 4, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        rows, length, _ = x.shape
        heads = (each.view(rows, length, HEADS, -1).transpose(1, 2) for each in self.project(self.norm_1(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(rows, length, WIDTH)
        x = x + self.out(mixed)
        return x + self.mlp(self.norm_2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        return F.linear(self.norm(self.blocks(x)), self.words.weight)


def build():
    return Decoder()


def batch(seed):
    words = torch.randint(WORDS, (6, LENGTH + 1), generator=torch.Generator().manual_seed(seed))
    return words[:, :-1], words[:, 1:]


def loss(model, batch):
    words, following = batch
    return F.cross_entropy(model(words).flatten(0, 1), following.flatten())


def optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def predict(model, batch):
    return model(batch[0])
