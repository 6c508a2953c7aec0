"""MoCo (He et al. 2020, arXiv 1911.05722) as in its authors' CIFAR-10 demonstration: ResNet encoders with a 3x3 stem.

Twins: runners/torch/models/moco_lite.py, runners/tensorflow/models/moco_lite.py. Same outline, same names, same order.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from runners.contract.kinds.contrast import has_projection
from runners.jax.models.resnet_cifar import List, conv, norm_rows, untapped


class Block(nnx.Module):
    """Two 3x3 convolutions and a shortcut; a 1x1 convolution where the shape changes."""

    def __init__(self, name, *, n_in, n_out, stride, projects, convolution, batch_norm, numerics):
        self.name = name
        self.conv1 = conv(n_in, n_out, stride=stride, **convolution, **numerics)
        self.bn1 = split_norm(n_out, **batch_norm, **numerics)
        self.conv2 = conv(n_out, n_out, stride=1, **convolution, **numerics)
        self.bn2 = split_norm(n_out, **batch_norm, **numerics)
        self.projects = projects
        if projects:
            self.shortcut_conv = conv(n_in, n_out, stride=stride, kernel=(1, 1), padding=((0, 0), (0, 0)), bias=False, **numerics)
            self.shortcut_bn = split_norm(n_out, **batch_norm, **numerics)

    def __call__(self, x, tap, mask):
        shortcut = self.shortcut(x, tap, mask)
        x = tap(f"{self.name}.conv1", self.conv1(x))
        x = tap(f"{self.name}.bn1", self.bn1(x, mask))
        x = tap(f"{self.name}.relu1", nnx.relu(x))
        x = tap(f"{self.name}.conv2", self.conv2(x))
        x = tap(f"{self.name}.bn2", self.bn2(x, mask))
        x = tap(f"{self.name}.sum", x + shortcut)
        return tap(f"{self.name}.relu2", nnx.relu(x))

    def shortcut(self, x, tap, mask):
        if not self.projects:
            return tap(f"{self.name}.shortcut", x)
        x = tap(f"{self.name}.shortcut.conv", self.shortcut_conv(x))
        return tap(f"{self.name}.shortcut.bn", self.shortcut_bn(x, mask))


class SplitBatchNorm(nnx.BatchNorm):
    """Batch norm whose statistics are those of so many rows at a time; the running ones are the mean over these parts.

    The arithmetic and the statistics are in the parameters' dtype, whatever that of `x`.
    """

    def __init__(self, n, *, epsilon, momentum, rows, param_dtype, rngs):
        # DIFFERS(jax): flax's momentum is the share that stays, the recipe's is the share that comes in.
        super().__init__(n, momentum=1.0 - momentum, epsilon=epsilon, param_dtype=param_dtype, use_fast_variance=False, rngs=rngs)
        # DIFFERS(jax): nnx.BatchNorm keeps running statistics in float32 whatever param_dtype is.
        self.mean = nnx.BatchStat(jnp.zeros(n, param_dtype))
        self.var = nnx.BatchStat(jnp.ones(n, param_dtype))
        self.rows = rows

    def __call__(self, x, mask=None):
        if self.use_running_average:
            return super().__call__(x).astype(x.dtype)
        parts = x.astype(self.scale.dtype).reshape(-1, self.rows, *x.shape[1:])
        mean = parts.mean(axis=(1, 2, 3), keepdims=True)
        variance = jnp.square(parts - mean).mean(axis=(1, 2, 3), keepdims=True)
        n = self.rows * x.shape[1] * x.shape[2]
        # An uneven shard is filled up with whole parts, of which no row is kept.
        kept = None if mask is None else mask.reshape(-1, self.rows)[:, :1]
        # DIFFERS(flax 0.10): a variable takes no new content by index there; a new variable does in every release.
        self.mean, self.var = (
            nnx.BatchStat(running + (found.reshape(len(parts), -1).mean(axis=0, where=kept) - running) * (1.0 - self.momentum))
            for running, found in ((self.mean[...], mean), (self.var[...], variance * (n / (n - 1))))
        )
        y = (parts - mean) * (self.scale[...] * jax.lax.rsqrt(variance + self.epsilon)) + self.bias[...]
        return y.reshape(x.shape).astype(x.dtype)


class Encoder(nnx.Module):
    """Images [batch, height, width, channel] to features [batch, dimension] of norm 1."""

    def __init__(self, *, image_shape, widths, blocks, dimension, convolution, batch_norm, numerics):
        self.stem_conv = conv(image_shape[2], widths[0], stride=1, **convolution, **numerics)
        self.stem_bn = split_norm(widths[0], **batch_norm, **numerics)
        built = []
        n_in = widths[0]
        for stage, (n_out, count) in enumerate(zip(widths, blocks, strict=True), start=1):
            for block in range(1, count + 1):
                built.append(
                    Block(
                        f"stage{stage}.block{block}",
                        n_in=n_in,
                        n_out=n_out,
                        stride=2 if stage > 1 and block == 1 else 1,
                        projects=has_projection(stage, block, n_in, n_out),
                        convolution=convolution,
                        batch_norm=batch_norm,
                        numerics=numerics,
                    )
                )
                n_in = n_out
        self.blocks = List(built)
        self.head = nnx.Linear(n_in, dimension, kernel_init=nnx.initializers.zeros_init(), **numerics)

    def __call__(self, images, tap=untapped, mask=None):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x, mask))
        x = tap("stem.relu", nnx.relu(x))
        for block in self.blocks:
            x = block(x, tap, mask)
        x = tap("pool", x.mean(axis=(1, 2)))
        x = tap("head", self.head(x))
        return tap("features", normalised(x.astype(self.head.kernel.dtype)))


class MocoLite(nnx.Module):
    """Pairs of views [batch, 2, height, width, channel] and the place of each row's key, [batch], to logits [batch, 1 + queue].

    Logit 0 is a query's similarity to its own key, over the temperature; the others are those to the queue. In training mode
    the key encoder moves before it encodes, and the new keys enter at the front of the queue after it was read.

    Args:
        shards: rows on each device.
    """

    def __init__(self, *, queue, key_momentum, temperature, shards, **encoder):
        self.encoder, self.key = Encoder(**encoder), Encoder(**encoder)
        self.queue = nnx.BatchStat(jnp.zeros((queue, encoder["dimension"]), encoder["numerics"]["param_dtype"]))
        self.key_momentum, self.temperature, self.shards = key_momentum, temperature, tuple(shards)

    def __call__(self, pairs, place, tap=untapped, mask=None):
        features = self.encoder(pairs[:, 0], tap, mask)
        self.move_key_encoder()
        keys = jax.lax.stop_gradient(self.key(pairs[:, 1], mask=mask))
        keys = self.of_all_devices(tap("keys", keys))
        positive = (features * keys[place]).sum(axis=1, keepdims=True)
        negative = features @ self.queue[...].T
        logits = jnp.concatenate([positive, negative], axis=1) / self.temperature
        self.enqueue(jax.lax.stop_gradient(keys))
        return tap("logits", logits)

    def move_key_encoder(self):
        """Let the key encoder's parameters follow the query encoder's."""
        query, key = nnx.state(self.encoder, nnx.Param), nnx.state(self.key, nnx.Param)
        share = self.key_momentum
        moved = jax.tree_util.tree_map(lambda key, query: key * share + jax.lax.stop_gradient(query) * (1.0 - share), key, query)
        nnx.update(self.key, moved)

    def of_all_devices(self, keys):
        """Return the keys of all devices, in order, without the rows that fill up the shorter shards."""
        longest = max(self.shards)
        rows = [device * longest + row for device, size in enumerate(self.shards) for row in range(size)]
        return keys if len(rows) == len(keys) else keys[np.array(rows)]

    def enqueue(self, keys):
        """Put new keys at the front of the queue; the oldest leave it."""
        self.queue = nnx.BatchStat(jnp.concatenate([keys, self.queue[...][: -len(keys)]]))

    def begin(self, rngs):
        """Make the key encoder the query encoder's copy, and fill the queue with noise."""
        nnx.update(self.key, nnx.state(self.encoder))
        self.queue = nnx.BatchStat(normalised(jax.random.normal(rngs.params(), self.queue.shape, self.queue.dtype)))


def normalised(x):
    """Return the rows over their norms; one shorter than 1e-12 over that."""
    return x * jax.lax.rsqrt(jnp.maximum(jnp.square(x).sum(axis=1, keepdims=True), 1e-24))


def split_norm(n, *, dtype, **rule):
    del dtype  # batch norm computes in the parameters' dtype, see SplitBatchNorm
    return SplitBatchNorm(n, **rule)


def build(model, *, shards, numerics):
    """Return the recipe's model. Raises ValueError for what these layers cannot express."""
    norm = model["batch_norm"]
    return MocoLite(
        queue=model["queue"],
        key_momentum=model["key_momentum"],
        temperature=model["temperature"],
        shards=shards,
        image_shape=model["image_shape"],
        widths=model["widths"],
        blocks=model["blocks"],
        dimension=model["dimension"],
        convolution=model["convolution"],
        batch_norm={"epsilon": norm["epsilon"], "momentum": norm["momentum"], "rows": norm["rows"]},
        numerics=numerics,
    )


def evaluated(model):
    """Return what images are evaluated by: the query encoder's features."""
    return model.encoder


def arguments(images, labels):
    """Return the arguments of a forward pass, and the right class of each row of its logits."""
    return (images, labels), jnp.zeros_like(labels)


def objective(logits, classes):
    """Return -log softmax(logits)[class] of each row."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, classes)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter, running statistic and what else moves."""
    rows = _encoder_rows(model)
    of_key = [(f"key.{name}", f"key.{native}", layout) for name, native, layout in rows]
    return [*((name, f"encoder.{native}", layout) for name, native, layout in rows), *of_key, ("queue", "queue", "IO")]


def _encoder_rows(model):
    rows = [("stem.conv.kernel", "stem_conv.kernel", "HWIO"), *norm_rows("stem.bn", "stem_bn")]
    n_in, index = model["widths"][0], 0
    for stage, (n_out, count) in enumerate(zip(model["widths"], model["blocks"], strict=True), start=1):
        for block in range(1, count + 1):
            name = f"stage{stage}.block{block}"
            for k in (1, 2):
                rows.append((f"{name}.conv{k}.kernel", f"blocks.{index}.conv{k}.kernel", "HWIO"))
                rows += norm_rows(f"{name}.bn{k}", f"blocks.{index}.bn{k}")
            if has_projection(stage, block, n_in, n_out):
                rows.append((f"{name}.shortcut.conv.kernel", f"blocks.{index}.shortcut_conv.kernel", "HWIO"))
                rows += norm_rows(f"{name}.shortcut.bn", f"blocks.{index}.shortcut_bn")
            n_in, index = n_out, index + 1
    return [*rows, ("head.kernel", "head.kernel", "IO"), ("head.bias", "head.bias", "O")]
