"""A training step of your own, for `vigil verify`. Replace what is in each function; your model stays as it is."""

import torch
import torch.nn.functional as F
from torch import nn


def build():
    """The model, in float32 on the CPU. Vigil seeds PyTorch first: it must be the same model each time."""
    return nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5))


def batch(seed):
    """One batch, made from the seed alone: tensors in tuples, lists or dicts, with the rows along their first axis."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(16, 20, generator=generator), torch.randint(5, (16,), generator=generator)


def loss(model, batch):
    """What is minimised: one number. Write no autocast, no backward, no `.to("cuda")`: Vigil does these."""
    inputs, labels = batch
    return F.cross_entropy(model(inputs), labels)


def optimizer(model):
    """Optional: what makes the update. Without it, gradients alone are verified."""
    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def predict(model, batch):
    """Optional: what the model gives in evaluation mode."""
    return model(batch[0])


# Optional: def take_rows(batch, indices), where rows are not along the first axis of every tensor.
# Optional: def distribute(model), what two devices call in its place, as nn.parallel.DistributedDataParallel(model).
# Optional: STOPS_GRADIENT = True, where gradients are not the derivative of the loss on purpose (detach, straight-through).
