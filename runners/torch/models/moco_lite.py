"""MoCo (He et al. 2020, arXiv 1911.05722) as in its authors' CIFAR-10 demonstration: ResNet encoders with a 3x3 stem.

Twins: runners/tensorflow/models/moco_lite.py, runners/jax/models/moco_lite.py. Same outline, same names, same order.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.kinds.contrast import has_projection
from runners.torch import devices
from runners.torch.models.resnet_cifar import conv, norm_rows, untapped


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut; a 1x1 convolution where the shape changes."""

    def __init__(self, name, *, n_in, n_out, stride, projects, convolution, batch_norm):
        super().__init__()
        self.name = name
        self.conv1 = conv(n_in, n_out, stride=stride, **convolution)
        self.bn1 = SplitBatchNorm(n_out, **batch_norm)
        self.conv2 = conv(n_out, n_out, stride=1, **convolution)
        self.bn2 = SplitBatchNorm(n_out, **batch_norm)
        self.projects = projects
        if projects:
            self.shortcut_conv = conv(n_in, n_out, stride=stride, kernel=(1, 1), padding=((0, 0), (0, 0)), bias=False)
            self.shortcut_bn = SplitBatchNorm(n_out, **batch_norm)

    def forward(self, x, tap):
        shortcut = self.shortcut(x, tap)
        x = tap(f"{self.name}.conv1", self.conv1(x))
        x = tap(f"{self.name}.bn1", self.bn1(x))
        x = tap(f"{self.name}.relu1", F.relu(x))
        x = tap(f"{self.name}.conv2", self.conv2(x))
        x = tap(f"{self.name}.bn2", self.bn2(x))
        x = tap(f"{self.name}.sum", x + shortcut)
        return tap(f"{self.name}.relu2", F.relu(x))

    def shortcut(self, x, tap):
        if not self.projects:
            return tap(f"{self.name}.shortcut", x)
        x = tap(f"{self.name}.shortcut.conv", self.shortcut_conv(x))
        return tap(f"{self.name}.shortcut.bn", self.shortcut_bn(x))


class SplitBatchNorm(nn.BatchNorm2d):
    """Batch norm whose statistics are those of so many rows at a time; the running ones are the mean over these parts."""

    def __init__(self, n, *, epsilon, momentum, rows):
        super().__init__(n, eps=epsilon, momentum=momentum)
        self.rows = rows

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        means, variances, parts = [], [], []
        for part in x.split(self.rows):
            mean, variance = torch.zeros_like(self.running_mean), torch.zeros_like(self.running_var)
            # With a momentum of 1 the running statistics are the part's own.
            parts.append(F.batch_norm(part, mean, variance, self.weight, self.bias, True, 1.0, self.eps))
            means.append(mean)
            variances.append(variance)
        with torch.no_grad():
            self.running_mean.lerp_(torch.stack(means).mean(dim=0), self.momentum)
            self.running_var.lerp_(torch.stack(variances).mean(dim=0), self.momentum)
        return torch.cat(parts)


class Encoder(nn.Module):
    """Images [batch, channel, height, width] to features [batch, dimension] of norm 1."""

    def __init__(self, *, image_shape, widths, blocks, dimension, convolution, batch_norm):
        super().__init__()
        self.stem_conv = conv(image_shape[2], widths[0], stride=1, **convolution)
        self.stem_bn = SplitBatchNorm(widths[0], **batch_norm)
        self.blocks = nn.ModuleList()
        n_in = widths[0]
        for stage, (n_out, count) in enumerate(zip(widths, blocks, strict=True), start=1):
            for block in range(1, count + 1):
                self.blocks.append(
                    Block(
                        f"stage{stage}.block{block}",
                        n_in=n_in,
                        n_out=n_out,
                        stride=2 if stage > 1 and block == 1 else 1,
                        projects=has_projection(stage, block, n_in, n_out),
                        convolution=convolution,
                        batch_norm=batch_norm,
                    )
                )
                n_in = n_out
        self.head = nn.Linear(n_in, dimension)

    def forward(self, images, tap=untapped):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x))
        x = tap("stem.relu", F.relu(x))
        for block in self.blocks:
            x = block(x, tap)
        x = tap("pool", x.mean(dim=(2, 3)))
        x = tap("head", self.head(x))
        return tap("features", normalised(x.to(self.head.weight.dtype)))


class MocoLite(nn.Module):
    """Pairs of views [batch, 2, channel, height, width] and the place of each row's key, [batch], to logits [batch, 1 + queue].

    Logit 0 is a query's similarity to its own key, over the temperature; the others are those to the queue. In training mode
    the key encoder moves before it encodes, and the new keys enter at the front of the queue after it was read.

    Args:
        shards: rows on each device, and `rank`, this one.
    """

    def __init__(self, *, queue, key_momentum, temperature, shards, rank, **encoder):
        super().__init__()
        self.encoder, self.key = Encoder(**encoder), Encoder(**encoder)
        self.key.requires_grad_(False)
        self.register_buffer("queue", torch.zeros(queue, encoder["dimension"]))
        self.key_momentum, self.temperature = key_momentum, temperature
        self.before, self.after = sum(shards[:rank]), sum(shards[rank + 1 :])

    def forward(self, pairs, place, tap=untapped):
        queries, keys = (pairs[:, view].contiguous(memory_format=torch.channels_last) for view in (0, 1))
        features = self.encoder(queries, tap)
        if self.training:
            self.move_key_encoder()
        keys = self.of_all_devices(tap("keys", self.key(keys)))
        with torch.autocast(keys.device.type, enabled=False):
            positive = (features * keys[place]).sum(dim=1, keepdim=True)
            # A copy: the queue moves before the gradient, which needs it, is taken.
            negative = features @ self.queue.clone().t()
            logits = torch.cat([positive, negative], dim=1) / self.temperature
        if self.training:
            self.enqueue(keys.detach())
        return tap("logits", logits)

    def move_key_encoder(self):
        """Let the key encoder's parameters follow the query encoder's."""
        for key, query in zip(self.key.parameters(), self.encoder.parameters(), strict=True):
            key.mul_(self.key_momentum).add_(query.detach(), alpha=1.0 - self.key_momentum)

    def of_all_devices(self, keys):
        """Return the keys of all devices, in order: the sum over devices of each one's with zeros in the others' place."""
        if not self.before and not self.after:
            return keys
        return devices.all_reduce(F.pad(keys, (0, 0, self.before, self.after)))

    def enqueue(self, keys):
        """Put new keys at the front of the queue; the oldest leave it."""
        self.queue.copy_(torch.cat([keys, self.queue[: -len(keys)]]))

    @torch.no_grad()
    def begin(self):
        """Make the key encoder the query encoder's copy, and fill the queue with noise."""
        self.key.load_state_dict(self.encoder.state_dict())
        self.queue.copy_(normalised(torch.randn_like(self.queue)))


def normalised(x):
    """Return the rows over their norms; one shorter than 1e-12 over that."""
    return F.normalize(x, dim=1)


def build(model, *, shards, rank):
    """Return the recipe's model. Raises ValueError for what these layers cannot express."""
    norm = model["batch_norm"]
    return MocoLite(
        queue=model["queue"],
        key_momentum=model["key_momentum"],
        temperature=model["temperature"],
        shards=shards,
        rank=rank,
        image_shape=model["image_shape"],
        widths=model["widths"],
        blocks=model["blocks"],
        dimension=model["dimension"],
        convolution=model["convolution"],
        batch_norm={"epsilon": norm["epsilon"], "momentum": norm["momentum"], "rows": norm["rows"]},
    )


def evaluated(model):
    """Return what images are evaluated by: the query encoder's features."""
    return model.encoder


def arguments(images, labels):
    """Return the arguments of a forward pass, and the right class of each row of its logits."""
    return (images, labels), torch.zeros_like(labels)


def objective(logits, classes):
    """Return the mean over the rows of -log softmax(logits)[class]."""
    return F.cross_entropy(logits, classes)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter, running statistic and what else moves."""
    rows = _encoder_rows(model)
    of_key = [(f"key.{name}", f"key.{native}", layout) for name, native, layout in rows]
    return [*((name, f"encoder.{native}", layout) for name, native, layout in rows), *of_key, ("queue", "queue", "IO->IO")]


def _encoder_rows(model):
    rows = [("stem.conv.kernel", "stem_conv.weight", "HWIO->OIHW"), *norm_rows("stem.bn", "stem_bn")]
    n_in, index = model["widths"][0], 0
    for stage, (n_out, count) in enumerate(zip(model["widths"], model["blocks"], strict=True), start=1):
        for block in range(1, count + 1):
            name = f"stage{stage}.block{block}"
            for k in (1, 2):
                rows.append((f"{name}.conv{k}.kernel", f"blocks.{index}.conv{k}.weight", "HWIO->OIHW"))
                rows += norm_rows(f"{name}.bn{k}", f"blocks.{index}.bn{k}")
            if has_projection(stage, block, n_in, n_out):
                rows.append((f"{name}.shortcut.conv.kernel", f"blocks.{index}.shortcut_conv.weight", "HWIO->OIHW"))
                rows += norm_rows(f"{name}.shortcut.bn", f"blocks.{index}.shortcut_bn")
            n_in, index = n_out, index + 1
    return [*rows, ("head.kernel", "head.weight", "IO->OI"), ("head.bias", "head.bias", "O->O")]
