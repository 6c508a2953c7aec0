"""A small GPT on characters, nanoGPT's: pre-norm blocks without biases, tied embeddings (Radford et al. 2019).

Twins: runners/tensorflow/models/char_gpt.py, runners/jax/models/char_gpt.py. Same outline, same names, same order.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.kinds.language import block_names

LAYERS = ("qkv", "projection", "up", "down")


def untapped(name, x):
    return x


class Block(nn.Module):
    """Attention and a multi-layer perceptron, each beside a shortcut."""

    def __init__(self, name, *, width, heads, hidden, epsilon, dropout):
        super().__init__()
        self.name, self.heads, self.dropout = name, heads, dropout
        self.norm1 = norm(width, epsilon=epsilon)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.projection = nn.Linear(width, width, bias=False)
        self.norm2 = norm(width, epsilon=epsilon)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, masks, tap):
        shortcut = tap(f"{self.name}.shortcut1", x)
        x = tap(f"{self.name}.norm1", self.norm1(x))
        x = tap(f"{self.name}.qkv", self.qkv(x))
        x = tap(f"{self.name}.attention", self.attention(x, masks.get(f"{self.name}.attention")))
        x = self.dropout(self.projection(x), masks.get(f"{self.name}.projection"))
        # DIFFERS(torch): a trace's own derivative does not cast back what an addition has widened, and a product then fails.
        x = tap(f"{self.name}.sum1", shortcut + tap(f"{self.name}.projection", x).to(shortcut.dtype))
        shortcut = tap(f"{self.name}.shortcut2", x)
        x = tap(f"{self.name}.norm2", self.norm2(x))
        x = tap(f"{self.name}.up", self.up(x))
        x = tap(f"{self.name}.gelu", F.gelu(x))
        x = self.dropout(self.down(x), masks.get(f"{self.name}.down"))
        return tap(f"{self.name}.sum2", shortcut + tap(f"{self.name}.down", x).to(shortcut.dtype))

    def attention(self, x, mask):
        """Return what each head makes of values before and at each place, [batch, block, width]."""
        batch, block, width = x.shape[0], x.shape[1], x.shape[2] // 3
        heads = (part.view(batch, block, self.heads, -1).transpose(1, 2) for part in x.split(width, dim=2))
        query, key, value = heads
        if mask is None:
            rate = self.dropout.rate if self.training else 0.0
            found = F.scaled_dot_product_attention(query, key, value, dropout_p=rate, is_causal=True)
        else:
            scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads)
            later = torch.ones(block, block, dtype=torch.bool, device=x.device).triu(1)
            shares = F.softmax(scores.masked_fill(later, -math.inf), dim=3)
            found = self.dropout(shares.to(value.dtype), mask) @ value
        return found.transpose(1, 2).reshape(batch, block, width)


class Dropout(nn.Module):
    """Dropout by a mask that is given, or where there is none, by PyTorch's own."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x, mask):
        if mask is None:  # at a rate of 0, F.dropout draws a mask of ones: a tenth of a step
            return F.dropout(x, self.rate, self.training) if self.rate else x
        return x * (mask.to(x.dtype) * (1.0 / (1.0 - self.rate)))


class CharGpt(nn.Module):
    """Tokens [batch, block] to logits [batch, block, token].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, vocabulary, block, width, layers, names, dropout):
        super().__init__()
        self.dropout = Dropout(dropout)
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(block, width)
        self.blocks = nn.ModuleList([Block(name, width=width, dropout=self.dropout, **layers) for name in names])
        self.norm = norm(width, epsilon=layers["epsilon"])

    def forward(self, tokens, labels=None, tap=untapped):
        masks = labels or {}
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = tap("embedding", self.dropout(self.tokens(tokens) + self.positions(places), masks.get("embedding")))
        for block in self.blocks:
            x = block(x, masks, tap)
        x = tap("norm", self.norm(x))
        return tap("logits", F.linear(x, self.tokens.weight))


def norm(width, *, epsilon):
    layer = nn.LayerNorm(width, eps=epsilon)
    # Before PyTorch 2.1 it had no argument for that.
    layer.register_parameter("bias", None)
    return layer


def build(model, *, shards, rank):
    """Return the recipe's model."""
    return CharGpt(
        vocabulary=model["vocabulary"],
        block=model["block"],
        width=model["width"],
        layers={"heads": model["heads"], "hidden": model["hidden"], "epsilon": model["layer_norm"]["epsilon"]},
        names=block_names(model),
        dropout=model["dropout"],
    )


def evaluated(model):
    """Return what tokens are evaluated by: the model itself."""
    return model


def arguments(tokens, labels):
    """Return the arguments of a forward pass, and the right class of each place."""
    return (tokens, labels), labels["classes"]


def objective(logits, classes):
    """Return the mean over all places of -log softmax(logits)[class]."""
    return F.cross_entropy(logits.flatten(0, 1), classes.flatten())


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter."""
    rows = [(f"{name}.embedding", f"{name}.weight", "IO->IO") for name in ("tokens", "positions")]
    for index, name in enumerate(block_names(model)):
        own = f"blocks.{index}"
        rows += [(f"{name}.{norm}.scale", f"{own}.{norm}.weight", "O->O") for norm in ("norm1", "norm2")]
        rows += [(f"{name}.{layer}.kernel", f"{own}.{layer}.weight", "IO->OI") for layer in LAYERS]
    return [*rows, ("norm.scale", "norm.weight", "O->O")]
