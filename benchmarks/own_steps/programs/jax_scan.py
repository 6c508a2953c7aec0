"""A recurrent network in plain JAX: a GRU by `lax.scan` with rematerialised steps, a loss of counts, SGD with momentum."""

import jax
import jax.numpy as jnp
import optax

WIDTH, INPUTS = 20, 6


def build():
    keys = jax.random.split(jax.random.key(1), 4)
    shapes = {"gates": (INPUTS + WIDTH, 2 * WIDTH), "candidate": (INPUTS + WIDTH, WIDTH), "head": (WIDTH, 3)}
    model = {name: jax.random.normal(key, shape) * shape[0] ** -0.5 for (name, shape), key in zip(shapes.items(), keys)}  # noqa: B905
    return model | {"gates_bias": jnp.zeros(2 * WIDTH), "head_bias": jnp.zeros(3)}


def batch(seed):
    first, second = jax.random.split(jax.random.key(seed))
    return jax.random.normal(first, (7, 12, INPUTS)), jax.random.poisson(second, 2.0, (7, 3)).astype(jnp.float32)


def predict(model, batch):
    @jax.checkpoint
    def cell(state, x):
        gates = jax.nn.sigmoid(jnp.concatenate([x, state], axis=-1) @ model["gates"] + model["gates_bias"])
        reset, update = jnp.split(gates, 2, axis=-1)
        candidate = jnp.tanh(jnp.concatenate([x, reset * state], axis=-1) @ model["candidate"])
        return update * state + (1 - update) * candidate, None

    start = jnp.zeros((batch[0].shape[0], WIDTH), batch[0].dtype)
    state, _ = jax.lax.scan(cell, start, jnp.swapaxes(batch[0], 0, 1))
    return state @ model["head"] + model["head_bias"]


def loss(model, batch):
    logits, counts = predict(model, batch), batch[1]
    return jnp.mean(jnp.exp(logits) - counts * logits)


def optimizer(model):
    return optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.05, momentum=0.9))
