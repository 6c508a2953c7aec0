"""A mixture of experts in plain JAX: `top_k` routing by one-hot products, a gated unit, RMS norm, Adam with a schedule."""

import jax
import jax.numpy as jnp
import optax

WIDTH, EXPERTS = 16, 4


def build():
    keys = jax.random.split(jax.random.key(2), 4)
    return {
        "router": jax.random.normal(keys[0], (WIDTH, EXPERTS)),
        "up": jax.random.normal(keys[1], (EXPERTS, WIDTH, 48)) * WIDTH**-0.5,
        "down": jax.random.normal(keys[2], (EXPERTS, 24, WIDTH)) * 24**-0.5,
        "head": jax.random.normal(keys[3], (WIDTH, 5)) * WIDTH**-0.5,
    }


def batch(seed):
    first, second = jax.random.split(jax.random.key(seed))
    return jax.random.normal(first, (5, 9, WIDTH)), jax.random.randint(second, (5, 9), 0, 5)


def predict(model, batch):
    x = batch[0]
    chances = jax.nn.softmax(x @ model["router"])
    best, which = jax.lax.top_k(chances, 2)
    shares = jnp.einsum("btk,btke->bte", best / best.sum(-1, keepdims=True), jax.nn.one_hot(which, EXPERTS, dtype=best.dtype))
    gate, value = jnp.split(jnp.einsum("btd,edh->bteh", x, model["up"]), 2, axis=-1)
    mixed = jnp.einsum("bteh,ehd,bte->btd", jax.nn.swish(gate) * value, model["down"], shares)
    x = x + mixed
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) @ model["head"]


def loss(model, batch):
    return optax.softmax_cross_entropy_with_integer_labels(predict(model, batch), batch[1]).mean()


def optimizer(model):
    return optax.adam(optax.cosine_decay_schedule(1e-2, 100))
