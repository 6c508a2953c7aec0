"""A bare training loop in JAX, with Flax and Optax: nanoGPT's small GPT on batches that lie ready as arrays. No Vigil in it.

python -m benchmarks.throughput.bare_char_gpt_jax MODE PRECISION STEPS
"""

import itertools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

TOKENS, BLOCK, WIDTH, HEADS, LAYERS = 65, 64, 128, 4, 4
RANDOM = np.random.default_rng(0)


def normal(key, shape, dtype, **_):
    # Drawn by NumPy: compiling JAX's own draw for every shape takes longer than compiling the step.
    return jnp.asarray(RANDOM.normal(0.0, 0.02, shape), dtype)


class Block(nnx.Module):
    def __init__(self, **options):
        self.norm1, self.norm2 = (nnx.LayerNorm(WIDTH, epsilon=1e-5, use_bias=False, **options) for _ in range(2))
        sizes = (WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)
        self.qkv, self.projection, self.up, self.down = (
            nnx.Linear(*size, use_bias=False, kernel_init=normal, **options) for size in sizes
        )

    def __call__(self, x):
        parts = jnp.split(self.qkv(self.norm1(x)), 3, axis=2)
        query, key, value = (part.reshape(*part.shape[:2], HEADS, -1) for part in parts)
        x = x + self.projection(jax.nn.dot_product_attention(query, key, value, is_causal=True).reshape(x.shape))
        return x + self.down(nnx.gelu(self.up(self.norm2(x)), approximate=False))


class Gpt(nnx.Module):
    def __init__(self, **options):
        self.tokens, self.positions = (nnx.Embed(n, WIDTH, embedding_init=normal, **options) for n in (TOKENS, BLOCK))
        self.blocks = nnx.List([Block(**options) for _ in range(LAYERS)])
        self.norm = nnx.LayerNorm(WIDTH, epsilon=1e-5, use_bias=False, **options)

    def __call__(self, tokens):
        x = self.tokens(tokens) + self.positions(jnp.arange(BLOCK))
        for block in self.blocks:
            x = block(x)
        return self.tokens.attend(self.norm(x))


def count_parameters():
    parameters = nnx.state(nnx.eval_shape(lambda: Gpt(rngs=nnx.Rngs(0))), nnx.Param)
    return sum(leaf.size for leaf in jax.tree_util.tree_leaves(parameters))


def make_batches(*, batch_size=12, count=12):
    text = jnp.asarray(RANDOM.integers(0, TOKENS, (count, batch_size, BLOCK + 1), np.int32))
    return [(stretches[:, :-1], stretches[:, 1:]) for stretches in text]


def as_tensors(tokens, labels):
    return jnp.asarray(tokens), jnp.asarray(labels["classes"])


def train(batches, *, mode, precision):
    """Yield the loss of a step on each batch; the first may serve as an example to compile for."""
    model = Gpt(dtype=jnp.bfloat16 if precision == "bf16" else jnp.float32, rngs=nnx.Rngs(0))
    graph, params = nnx.split(model)
    decays = jax.tree.map(lambda leaf: leaf.ndim > 1, params)
    adamw = optax.adamw(1e-3, b1=0.9, b2=0.99, weight_decay=0.1, mask=decays)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), adamw)

    def step(params, state, tokens, classes):
        def loss_of(params):
            logits = nnx.merge(graph, params)(tokens).astype(jnp.float32)
            return optax.softmax_cross_entropy_with_integer_labels(logits, classes).mean()

        loss, gradients = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    state = optimizer.init(params)
    if mode != "eager":
        step = jax.jit(step, donate_argnums=(0, 1))
    if mode == "compile":
        step = step.lower(params, state, *next(batches)).compile()
    for tokens, classes in batches:
        params, state, loss = step(params, state, tokens, classes)
        yield loss


if __name__ == "__main__":
    losses = train(itertools.cycle(make_batches()), mode=sys.argv[1], precision=sys.argv[2])
    for step, loss in enumerate(itertools.islice(losses, int(sys.argv[3])), start=1):
        print(step, float(loss), flush=True)
