"""A training step of your own, for `vigil verify`. Replace what is in each function; your model stays as it is."""

import jax
import jax.numpy as jnp
import optax


def build():
    """The parameters in float32, a tree of arrays; or a flax.nnx module. It must be the same each time."""
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": {"kernel": 0.2 * jax.random.normal(first, (20, 64)), "bias": jnp.zeros(64)},
        "head": {"kernel": 0.1 * jax.random.normal(second, (64, 5)), "bias": jnp.zeros(5)},
    }


def batch(seed):
    """One batch, made from the seed alone: arrays in tuples, lists or dicts, with the rows along their first axis."""
    first, second = jax.random.split(jax.random.key(seed))
    return jax.random.normal(first, (16, 20)), jax.random.randint(second, (16,), 0, 5)


def predict(model, batch):
    """Optional: what the model gives in evaluation mode."""
    hidden = jax.nn.gelu(batch[0] @ model["hidden"]["kernel"] + model["hidden"]["bias"])
    return hidden @ model["head"]["kernel"] + model["head"]["bias"]


def loss(model, batch):
    """What is minimised: one number. Write no jit and no grad: Vigil does these. A third argument `key` gets a random key."""
    return optax.softmax_cross_entropy_with_integer_labels(predict(model, batch), batch[1]).mean()


def optimizer(model):
    """Optional: an optax transformation that makes the update. Without it, gradients alone are verified."""
    return optax.adamw(1e-3)


# Optional: `return number, state` in loss, with collections as flax.linen's apply(..., mutable=["batch_stats"]) gives them.
# Optional: def cast(model, precision), where bf16 and fp16 are not all of the model's parameters in that type.
# Optional: def take_rows(batch, indices), where rows are not along the first axis of every array.
# Optional: def distribute(batch), which lays its rows over two devices: jax.device_put(batch, a sharding).
# Optional: STOPS_GRADIENT = True, where gradients are not the derivative of the loss on purpose (stop_gradient, custom_vjp).
