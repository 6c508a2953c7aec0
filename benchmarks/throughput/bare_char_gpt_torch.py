"""A bare training loop in PyTorch: nanoGPT's small GPT on batches that lie ready as tensors. No Vigil in it.

python -m benchmarks.throughput.bare_char_gpt_torch MODE PRECISION STEPS
"""

import itertools
import sys

import torch
import torch.nn.functional as F
from torch import nn

TOKENS, BLOCK, WIDTH, HEADS, LAYERS = 65, 64, 128, 4, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.projection = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).chunk(3, dim=2)
        query, key, value = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in parts)
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(found.transpose(1, 2).flatten(2)).to(x.dtype)  # a trace's derivative does not cast back by itself
        return x + self.down(F.gelu(self.up(self.norm2(x)))).to(x.dtype)


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(TOKENS, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)


def count_parameters():
    return sum(parameter.numel() for parameter in Gpt().parameters())


def make_batches(*, batch_size=12, count=12):
    torch.manual_seed(0)
    text = torch.randint(TOKENS, (count, batch_size, BLOCK + 1))
    return [(stretches[:, :-1], stretches[:, 1:]) for stretches in text]


def as_tensors(tokens, labels):
    return torch.from_numpy(tokens).long(), torch.from_numpy(labels["classes"]).long()


def train(batches, *, mode, precision):
    """Yield the loss of a step on each batch; the first may serve as an example to trace."""
    model = Gpt()
    groups = [{"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1}]
    groups += [{"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")
    forward = model
    if mode == "jit":
        with autocast:
            forward = torch.jit.trace(model, next(batches)[0], check_trace=False)
    elif mode == "compile":
        forward = torch.compile(model)
    for tokens, classes in batches:
        optimizer.zero_grad()
        with autocast:
            loss = F.cross_entropy(forward(tokens).flatten(0, 1), classes.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield loss.detach()


if __name__ == "__main__":
    losses = train(itertools.cycle(make_batches()), mode=sys.argv[1], precision=sys.argv[2])
    for step, loss in enumerate(itertools.islice(losses, int(sys.argv[3])), start=1):
        print(step, float(loss), flush=True)
