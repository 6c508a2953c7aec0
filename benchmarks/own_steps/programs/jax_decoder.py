"""A decoder of two blocks in plain JAX: parameters in dictionaries, attention by einsum with a causal mask, AdamW of optax."""

import jax
import jax.numpy as jnp
import optax

WORDS, WIDTH, HEADS, LENGTH, BLOCKS = 53, 32, 4, 20, 2


def build():
    keys = iter(jax.random.split(jax.random.key(0), 32))

    def matrix(rows, columns):
        return jax.random.normal(next(keys), (rows, columns)) / rows**0.5

    blocks = [
        {
            "norm_1": jnp.ones(WIDTH), "project": matrix(WIDTH, 3 * WIDTH), "out": matrix(WIDTH, WIDTH),
            "norm_2": jnp.ones(WIDTH), "up": matrix(WIDTH, 4 * WIDTH), "up_bias": jnp.zeros(4 * WIDTH),
            "down": matrix(4 * WIDTH, WIDTH),
        }
        for _ in range(BLOCKS)
    ]  # fmt: skip
    return {"words": 0.1 * matrix(WORDS, WIDTH), "places": 0.1 * matrix(LENGTH, WIDTH), "blocks": blocks, "norm": jnp.ones(WIDTH)}


def normalised(x, scale):
    x = x - x.mean(axis=-1, keepdims=True)
    return scale * x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def block(x, p):
    rows, length, _ = x.shape
    heads = jnp.split(normalised(x, p["norm_1"]) @ p["project"], 3, axis=-1)
    query, key, value = (each.reshape(rows, length, HEADS, -1) for each in heads)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (WIDTH // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), value)
    x = x + mixed.reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(normalised(x, p["norm_2"]) @ p["up"] + p["up_bias"]) @ p["down"]


def batch(seed):
    words = jax.random.randint(jax.random.key(seed), (6, LENGTH + 1), 0, WORDS)
    return words[:, :-1], words[:, 1:]


def predict(model, batch):
    x = model["words"][batch[0]] + model["places"]
    for each in model["blocks"]:
        x = block(x, each)
    return normalised(x, model["norm"]) @ model["words"].T


def loss(model, batch):
    return optax.softmax_cross_entropy_with_integer_labels(predict(model, batch), batch[1]).mean()


def optimizer(model):
    return optax.adamw(1e-3)
