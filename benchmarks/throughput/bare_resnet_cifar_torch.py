"""A bare training loop in PyTorch: ResNet-8 for CIFAR on batches that lie ready as tensors. No Vigil in it.

python -m benchmarks.throughput.bare_resnet_cifar_torch MODE PRECISION STEPS
"""

import itertools
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.stride, self.extra = stride, (n_out - n_in) // 2
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)

    def forward(self, x):
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.extra, self.extra))
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + shortcut)


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Block(16, 16, 1),
        Block(16, 32, 2),
        Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    ).to(memory_format=torch.channels_last)


def count_parameters():
    return sum(parameter.numel() for parameter in make_model().parameters())


def make_batches(*, batch_size=32, count=12):
    torch.manual_seed(0)
    images = torch.randn(count, batch_size, 3, 32, 32)
    return [(x.contiguous(memory_format=torch.channels_last), torch.randint(10, (batch_size,))) for x in images]


def as_tensors(images, labels):
    return torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels).long()


def train(batches, *, mode, precision):
    """Yield the loss of a step on each batch; the first may serve as an example to trace."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-2)
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")
    forward = model
    if mode == "jit":
        with autocast:
            forward = torch.jit.trace(model, next(batches)[0], check_trace=False)
    elif mode == "compile":
        forward = torch.compile(model)
    for images, labels in batches:
        optimizer.zero_grad()
        with autocast:
            loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()
        yield loss.detach()


if __name__ == "__main__":
    losses = train(itertools.cycle(make_batches()), mode=sys.argv[1], precision=sys.argv[2])
    for step, loss in enumerate(itertools.islice(losses, int(sys.argv[3])), start=1):
        print(step, float(loss), flush=True)
