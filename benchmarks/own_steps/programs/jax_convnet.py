"""A ConvNet of flax.nnx: batch norm, grouped and strided convolutions, max pooling, global average, Nesterov's momentum."""

import jax
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(3, 12, (3, 3), use_bias=False, rngs=rngs)
        self.norm_1, self.norm_2 = nnx.BatchNorm(12, rngs=rngs), nnx.BatchNorm(24, rngs=rngs)
        self.second = nnx.Conv(12, 24, (3, 3), strides=2, feature_group_count=4, rngs=rngs)
        self.head = nnx.Linear(24, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(jax.nn.relu(self.norm_1(self.first(x))), (2, 2), strides=(2, 2))
        return self.head(jax.nn.silu(self.norm_2(self.second(x))).mean(axis=(1, 2)))


def build():
    return Net(nnx.Rngs(0))


def batch(seed):
    first, second = jax.random.split(jax.random.key(seed))
    return jax.random.normal(first, (8, 16, 14, 3)), jax.random.randint(second, (8,), 0, 10)


def predict(model, batch):
    return model(batch[0])


def loss(model, batch):
    return optax.softmax_cross_entropy_with_integer_labels(model(batch[0]), batch[1]).mean()


def optimizer(model):
    return optax.sgd(0.1, momentum=0.9, nesterov=True)
