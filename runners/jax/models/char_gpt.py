"""A small GPT on characters, nanoGPT's: pre-norm blocks without biases, tied embeddings (Radford et al. 2019).

Twins: runners/torch/models/char_gpt.py, runners/tensorflow/models/char_gpt.py. Same outline, same names, same order.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from runners.contract.errors import Unsupported
from runners.contract.kinds.language import block_names
from runners.jax import attention

LAYERS = ("qkv", "projection", "up", "down")
# flax before 0.11 takes a plain list of modules and has no name for it.
List = getattr(nnx, "List", list)


def untapped(name, x):
    return x


class Block(nnx.Module):
    """Attention and a multi-layer perceptron, each beside a shortcut."""

    def __init__(self, name, *, width, heads, hidden, epsilon, dropout, numerics):
        self.name, self.heads, self.dropout = name, heads, dropout
        self.norm1 = norm(width, epsilon=epsilon, numerics=numerics)
        self.qkv = dense(width, 3 * width, numerics=numerics)
        self.projection = dense(width, width, numerics=numerics)
        self.norm2 = norm(width, epsilon=epsilon, numerics=numerics)
        self.up = dense(width, hidden, numerics=numerics)
        self.down = dense(hidden, width, numerics=numerics)

    def __call__(self, x, masks, tap):
        shortcut = tap(f"{self.name}.shortcut1", x)
        x = tap(f"{self.name}.norm1", self.norm1(x))
        x = tap(f"{self.name}.qkv", self.qkv(x))
        x = tap(f"{self.name}.attention", self.attention(x, masks.get(f"{self.name}.attention")))
        x = self.dropout(self.projection(x), masks.get(f"{self.name}.projection"))
        x = tap(f"{self.name}.sum1", shortcut + tap(f"{self.name}.projection", x))
        shortcut = tap(f"{self.name}.shortcut2", x)
        x = tap(f"{self.name}.norm2", self.norm2(x))
        x = tap(f"{self.name}.up", self.up(x))
        x = tap(f"{self.name}.gelu", nnx.gelu(x, approximate=False))
        x = self.dropout(self.down(x), masks.get(f"{self.name}.down"))
        return tap(f"{self.name}.sum2", shortcut + tap(f"{self.name}.down", x))

    def attention(self, x, mask):
        """Return what each head makes of values before and at each place, [batch, block, width]."""
        batch, block, width = x.shape[0], x.shape[1], x.shape[2] // 3
        query, key, value = (part.reshape(batch, block, self.heads, -1) for part in jnp.split(x, 3, axis=2))
        # DIFFERS(jax): jax.nn.dot_product_attention takes its softmax in float32, whatever it is given.
        if mask is None and x.dtype != jnp.float64:
            if x.dtype == jnp.float16 and jax.default_backend() == "cpu":
                raise Unsupported(
                    "jax.nn.dot_product_attention in float16 on a CPU: XLA has no product there that adds up in float32 "
                    "(\"The precision 'F16_F16_F32' is not supported by dot_general on CPU\")"
                )
            found = jax.nn.dot_product_attention(query, key, value, is_causal=True, **attention.options())
        else:
            scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(width // self.heads)
            later = jnp.triu(jnp.ones((block, block), bool), 1)
            shares = jax.nn.softmax(jnp.where(later, -jnp.inf, scores), axis=3)
            found = jnp.einsum("bhqk,bkhd->bqhd", self.dropout(shares, mask), value)
        return found.reshape(batch, block, width)


class Dropout(nnx.Module):
    """Dropout by a mask that is given."""

    def __init__(self, rate):
        self.rate, self.deterministic = rate, False

    def __call__(self, x, mask):
        if mask is None:
            if self.rate and not self.deterministic:
                raise Unsupported(
                    f"dropout {self.rate} under native randomness: a step in JAX takes no keys here. Use shared randomness."
                )
            return x
        return x * (mask.astype(x.dtype) * (1.0 / (1.0 - self.rate)))


class CharGpt(nnx.Module):
    """Tokens [batch, block] to logits [batch, block, token].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, vocabulary, block, width, layers, names, dropout, numerics):
        self.dropout = Dropout(dropout)
        zeros = nnx.initializers.zeros_init()
        self.tokens = nnx.Embed(vocabulary, width, embedding_init=zeros, **numerics)
        self.positions = nnx.Embed(block, width, embedding_init=zeros, **numerics)
        self.blocks = List([Block(name, width=width, dropout=self.dropout, numerics=numerics, **layers) for name in names])
        self.norm = norm(width, epsilon=layers["epsilon"], numerics=numerics)

    def __call__(self, tokens, labels=None, tap=untapped, mask=None):
        masks = labels or {}
        places = jnp.arange(tokens.shape[1])
        x = tap("embedding", self.dropout(self.tokens(tokens) + self.positions(places), masks.get("embedding")))
        for block in self.blocks:
            x = block(x, masks, tap)
        x = tap("norm", self.norm(x))
        return tap("logits", self.tokens.attend(x))


def dense(n_in, n_out, *, numerics):
    # The kernel comes from `initialise` or a state: compiling flax's draw for every shape would take seconds.
    return nnx.Linear(n_in, n_out, use_bias=False, kernel_init=nnx.initializers.zeros_init(), **numerics)


def norm(width, *, epsilon, numerics):
    return nnx.LayerNorm(width, epsilon=epsilon, use_bias=False, **numerics)


def build(model, *, shards, numerics):
    """Return the recipe's model."""
    return CharGpt(
        vocabulary=model["vocabulary"],
        block=model["block"],
        width=model["width"],
        layers={"heads": model["heads"], "hidden": model["hidden"], "epsilon": model["layer_norm"]["epsilon"]},
        names=block_names(model),
        dropout=model["dropout"],
        numerics=numerics,
    )


def evaluated(model):
    """Return what tokens are evaluated by: the model itself."""
    return model


def arguments(tokens, labels):
    """Return the arguments of a forward pass, and the right class of each place."""
    return (tokens, labels), labels["classes"]


def objective(logits, classes):
    """Return the mean over each row's places of -log softmax(logits)[class]."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, classes).mean(axis=1)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter."""
    rows = [(f"{name}.embedding", f"{name}.embedding", "IO") for name in ("tokens", "positions")]
    for index, name in enumerate(block_names(model)):
        own = f"blocks.{index}"
        rows += [(f"{name}.{norm}.scale", f"{own}.{norm}.scale", "O") for norm in ("norm1", "norm2")]
        rows += [(f"{name}.{layer}.kernel", f"{own}.{layer}.kernel", "IO") for layer in LAYERS]
    return [*rows, ("norm.scale", "norm.scale", "O")]
