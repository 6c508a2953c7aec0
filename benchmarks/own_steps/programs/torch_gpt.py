"""A GPT of four layers in PyTorch, of the size that nanoGPT trains on a CPU: no biases, a tied head, AdamW that decays matrices.

https://github.com/karpathy/nanoGPT, `train_shakespeare_char.py` with what its README changes for a CPU.
"""

import torch
import torch.nn.functional as F
from torch import nn

LETTERS, WIDTH, HEADS, LENGTH, LAYERS, ROWS = 65, 128, 4, 64, 4, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        rows, length, _ = x.shape
        heads = (each.view(rows, length, HEADS, -1).transpose(1, 2) for each in self.project(self.norm_1(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).reshape(rows, length, WIDTH)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, bias=False)
        for name, each in self.named_parameters():
            if each.dim() == 2:
                deep = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(each, std=0.02 / (2 * LAYERS) ** 0.5 if deep else 0.02)

    def forward(self, letters):
        x = self.letters(letters) + self.places(torch.arange(letters.shape[1], device=letters.device))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.letters.weight)


def build():
    return GPT()


def batch(seed):
    letters = torch.randint(LETTERS, (ROWS, LENGTH + 1), generator=torch.Generator().manual_seed(seed))
    return letters[:, :-1], letters[:, 1:]


def loss(model, batch):
    letters, following = batch
    return F.cross_entropy(model(letters).flatten(0, 1), following.flatten())


def optimizer(model):
    matrices, rest = [[each for each in model.parameters() if (each.dim() == 2) is is_matrix] for is_matrix in (True, False)]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))


def predict(model, batch):
    return model(batch[0])
