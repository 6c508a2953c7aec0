"""A bare training loop in JAX, with Flax and Optax: ResNet-8 for CIFAR on batches that lie ready as arrays. No Vigil in it.

python -m benchmarks.throughput.bare_resnet_cifar_jax MODE PRECISION STEPS
"""

import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

RANDOM = np.random.default_rng(0)


def he_normal(key, shape, dtype, **_):
    # Drawn by NumPy: compiling JAX's own draw for every shape takes longer than compiling the step, 16 s of 22.
    return jnp.asarray(RANDOM.normal(0.0, (2 / np.prod(shape[:-1])) ** 0.5, shape), dtype)


def conv(n_in, n_out, stride, **options):
    return nnx.Conv(n_in, n_out, (3, 3), stride, padding=1, use_bias=False, kernel_init=he_normal, **options)


class Block(nnx.Module):
    def __init__(self, n_in, n_out, stride, **options):
        self.stride, self.extra = stride, (n_out - n_in) // 2
        self.conv1 = conv(n_in, n_out, stride, **options)
        self.bn1 = nnx.BatchNorm(n_out, momentum=0.9, **options)
        self.conv2 = conv(n_out, n_out, 1, **options)
        self.bn2 = nnx.BatchNorm(n_out, momentum=0.9, **options)

    def __call__(self, x):
        shortcut = jnp.pad(x[:, :: self.stride, :: self.stride], ((0, 0), (0, 0), (0, 0), (self.extra, self.extra)))
        x = nnx.relu(self.bn1(self.conv1(x)))
        return nnx.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet8(nnx.Module):
    def __init__(self, **options):
        self.conv = conv(3, 16, 1, **options)
        self.bn = nnx.BatchNorm(16, momentum=0.9, **options)
        self.block1 = Block(16, 16, 1, **options)
        self.block2 = Block(16, 32, 2, **options)
        self.block3 = Block(32, 64, 2, **options)
        self.head = nnx.Linear(64, 10, kernel_init=he_normal, **options)

    def __call__(self, x):
        x = nnx.relu(self.bn(self.conv(x)))
        x = self.block3(self.block2(self.block1(x)))
        return self.head(x.mean(axis=(1, 2)))


def count_parameters():
    parameters = nnx.state(nnx.eval_shape(lambda: ResNet8(rngs=nnx.Rngs(0))), nnx.Param)
    return sum(leaf.size for leaf in jax.tree_util.tree_leaves(parameters))


def make_batches(*, batch_size=32, count=12):
    images = RANDOM.normal(size=(count, batch_size, 32, 32, 3)).astype(np.float32)
    labels = RANDOM.integers(0, 10, (count, batch_size), np.int32)
    return [(jnp.asarray(images[i]), jnp.asarray(labels[i])) for i in range(count)]


def as_tensors(images, labels):
    return jnp.asarray(images), jnp.asarray(labels)


def train(batches, *, mode, precision):
    """Yield the loss of a step on each batch; the first may serve as an example to compile for."""
    model = ResNet8(dtype=jnp.bfloat16 if precision == "bf16" else jnp.float32, rngs=nnx.Rngs(0))
    graph, params, statistics = nnx.split(model, nnx.Param, nnx.BatchStat)
    optimizer = optax.chain(optax.add_decayed_weights(1e-2), optax.sgd(0.05, momentum=0.9))

    def step(params, statistics, state, images, labels):
        def loss_of(params):
            model = nnx.merge(graph, params, jax.tree.map(lambda x: x, statistics))  # flax changes only what this trace made
            logits = model(images).astype(jnp.float32)
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
            return loss, nnx.state(model, nnx.BatchStat)

        (loss, statistics), gradients = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), statistics, state, loss

    state = optimizer.init(params)
    if mode != "eager":
        step = jax.jit(step, donate_argnums=(0, 1, 2))
    if mode == "compile":
        step = step.lower(params, statistics, state, *next(batches)).compile()
    for images, labels in batches:
        params, statistics, state, loss = step(params, statistics, state, images, labels)
        yield loss


if __name__ == "__main__":
    losses = train(itertools.cycle(make_batches()), mode=sys.argv[1], precision=sys.argv[2])
    for step, loss in enumerate(itertools.islice(losses, int(sys.argv[3])), start=1):
        print(step, float(loss), flush=True)
