"""Faults planted in programs of users, as a release might have them: one function of a framework, a little wrong.

A fault scales what a function returns, or what flows back through one of its arguments, or replaces an argument. What must be
named is written down here, before anything is run.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"

_HEAD = {
    "torch": """
import torch


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * {factor!r}


def through(x):
    return Backward.apply(x)
""",
    "jax": """
import jax


@jax.custom_vjp
def through(x):
    return x


through.defvjp(lambda x: (x, None), lambda _, gradient: (gradient * {factor!r},))
""",
    "tensorflow": """
import tensorflow as tf


@tf.custom_gradient
def of_tensor(x):
    return tf.identity(x), lambda gradient: gradient * {factor!r}


def through(x):
    return of_tensor(tf.convert_to_tensor(x))
""",
}
_BODY = """

def changed(found):
    if isinstance(found, (tuple, list)):
        return type(found)((found[0] * {factor!r}, *found[1:]))
    return found * {factor!r}


def install():
    import functools
    import importlib

    owner = importlib.import_module({module!r})
    for name in {path!r}:
        owner = getattr(owner, name)
    original = getattr(owner, {function!r})

    @functools.wraps(original)
    def planted(*arguments, **named):
        arguments = list(arguments)
        {before}
        found = original(*arguments, **named)
        {after}
        return found

    setattr(owner, {function!r}, planted)
"""


@dataclasses.dataclass(frozen=True)
class Plant:
    """A fault in a program.

    target: module:path.function that is replaced. what: `output`, `gradient K` of argument K, `argument K` or `argument NAME`, or
    a statement of Python on `arguments`, `named` and `found`, after the call; `through` changes what flows back. origin: what
    must be in the name of the origin.
    """

    program: str
    name: str
    target: str
    what: str
    origin: str
    factor: float = 1.0001

    @property
    def expected(self) -> str:
        """Return what must be in the name of the origin, LINE(text) as the number of the line of the program with this text."""
        found = re.search(r"LINE\((.*?)\)", self.origin)
        if not found:
            return self.origin
        lines = (PROGRAMS / f"{self.program}.py").read_text(encoding="utf-8").splitlines()
        [number] = [number for number, line in enumerate(lines, start=1) if found[1] in line]
        phase = self.origin.rpartition(", ")[2]
        return f"{self.program}.py:{number}:|{phase}"

    def names(self, origin: str) -> bool:
        """Is an origin the one that was planted?"""
        return all(part in origin for part in self.expected.split("|"))

    @property
    def source(self) -> str:
        """Return the fault as a file that a runner installs."""
        module, _, rest = self.target.partition(":")
        *path, function = rest.split(".")
        kind, _, which = self.what.partition(" ")
        before = after = "pass"
        if kind == "output":
            after = "found = changed(found)"
        elif kind == "gradient":
            before = f"arguments[{which}] = through(arguments[{which}])"
        elif kind == "argument":
            scaled = f"arguments[{which}]" if which.isdigit() else f"named[{which!r}]"
            before = f"{scaled} = {scaled} * {self.factor!r}"
        else:
            after = self.what
        head = _HEAD[self.program.split("_")[0]].format(factor=self.factor)
        return head + _BODY.format(factor=self.factor, module=module, path=path, function=function, before=before, after=after)


_F, _K, _ENTROPY = "torch.nn.functional:", "tensorflow:keras.layers.", "softmax_cross_entropy_with_integer_labels"
PLANTS = (
    Plant("torch_attention", "gelu, gradient", f"{_F}gelu", "gradient 0", "blocks.1.mlp.1, backward"),
    Plant("torch_attention", "layer norm, output", f"{_F}layer_norm", "output", "blocks.0.norm_1, forward"),
    Plant("torch_attention", "attention, output", f"{_F}scaled_dot_product_attention", "output",
          "between blocks.0.project and blocks.0.out, forward"),
    Plant("torch_attention", "attention, gradient of values", f"{_F}scaled_dot_product_attention", "gradient 2",
          "between blocks.1.out and blocks.1.project, backward"),
    Plant("torch_attention", "embedding, gradient", f"{_F}embedding", "gradient 1", "places, gradient"),
    Plant("torch_lstm", "linear, weight gradient", f"{_F}linear", "gradient 1", "head, gradient"),
    Plant("torch_lstm", "lstm, output", "torch.nn.modules.rnn:_VF.lstm", "output", "lstm, forward"),
    Plant("torch_lstm", "cross entropy, output", f"{_F}cross_entropy", "output", "the loss, forward"),
    Plant("torch_lstm", "SGD, rate", "torch.optim.sgd:sgd", "argument lr", "the optimizer", 1.001),
    Plant("torch_convnet", "convolution, weight gradient", f"{_F}conv2d", "gradient 1", ", gradient"),
    Plant("torch_convnet", "batch norm, output", f"{_F}batch_norm", "output", "1, forward"),
    Plant("torch_convnet", "max pooling, one column off", f"{_F}max_pool2d", "found = found.roll(1, -1)", "3, forward"),
    Plant("torch_convnet", "batch norm, running variance", f"{_F}batch_norm",
          "arguments[2].data.mul_(1.001) if named.get('training', arguments[5] if len(arguments) > 5 else False) else None",
          "statistics"),
    Plant("torch_encoder", "layer norm, epsilon", f"{_F}layer_norm", "found = original(*arguments[:4], 1e-4)", "norm1, forward"),
    Plant("torch_encoder", "attention, output", f"{_F}scaled_dot_product_attention", "output",
          "between encoder.layers.0.norm1 and encoder.layers.0.dropout1, forward"),
    Plant("torch_encoder", "Adam, epsilon", "torch.optim.adam:adam", "argument eps", "the optimizer", 100.0),
    Plant("torch_vae", "softplus, output", f"{_F}softplus", "output", "decoder.1, forward"),
    Plant("torch_vae", "exponential, gradient", "torch:exp", "gradient 0", "between decoder.0 and encoder.2, backward"),
    Plant("torch_depthwise", "group norm, output", f"{_F}group_norm", "output", "1, forward"),
    Plant("torch_depthwise", "transposed convolution, weight gradient", f"{_F}conv_transpose2d", "gradient 1", "6, gradient"),
    Plant("torch_depthwise", "upsampling, output", f"{_F}interpolate", "output", "8, forward"),
    Plant("torch_bags", "embedding bag, output", f"{_F}embedding_bag", "output", "bags.0, forward"),
    Plant("torch_bags", "cross entropy of logits, gradient", f"{_F}binary_cross_entropy_with_logits", "gradient 0",
          "after top.2, backward"),
    Plant("torch_experts", "silu, gradient", f"{_F}silu", "gradient 0", ".1, backward"),
    Plant("torch_experts", "RMS norm, output", f"{_F}rms_norm", "output", "norm, forward"),
    # In JAX and TensorFlow the origin is an operator at a line of the file, or a layer.
    Plant("jax_decoder", "gelu, gradient", "jax.nn:gelu", "gradient 0", "jax_decoder.py:LINE(nn.gelu), backward"),
    Plant("jax_decoder", "softmax, output", "jax.nn:softmax", "output", "jax_decoder.py:LINE(nn.softmax), forward"),
    Plant("jax_decoder", "cross entropy, output", f"optax:{_ENTROPY}", "output", "jax_decoder.py:LINE(integer_labels), forward"),
    Plant("jax_decoder", "layer norm, output", "jax.lax:rsqrt", "output", "jax_decoder.py:LINE(lax.rsqrt), forward"),
    Plant("jax_decoder", "attention, gradient of values", "jax.numpy:einsum", "gradient 2",
          "jax_decoder.py:LINE(mixed = jnp.einsum), backward"),
    Plant("jax_decoder", "embedding, gradient", "jax._src.numpy.indexing:rewriting_take", "found = through(found)",
          'jax_decoder.py:LINE(model["words"][batch[0]]), backward'),
    Plant("jax_decoder", "AdamW, rate", "optax:adamw", "found = original(arguments[0] * 1.001)", "the optimizer"),
    Plant("jax_scan", "sigmoid, output", "jax.nn:sigmoid", "output", "jax_scan.py:LINE(nn.sigmoid), forward"),
    Plant("jax_scan", "exponential, gradient", "jax.numpy:exp", "gradient 0", "jax_scan.py:LINE(jnp.exp), backward"),
    Plant("jax_scan", "scan, last state", "jax.lax:scan", "output", "jax_scan.py:LINE(jax.lax.scan), forward"),
    Plant("jax_scan", "tanh, gradient", "jax.numpy:tanh", "gradient 0", "jax_scan.py:LINE(jax.lax.scan), backward"),
    Plant("jax_scan", "linear, weight gradient", "jax._src.lax.lax:dot_general", "gradient 1",
          'jax_scan.py:LINE(state @ model["head"]), backward'),
    Plant("jax_scan", "SGD, momentum", "optax:sgd", "argument momentum", "the optimizer", 1.001),
    Plant("jax_convnet", "silu, gradient", "jax.nn:silu", "gradient 0", "jax_convnet.py:LINE(nn.silu), backward"),
    Plant("jax_convnet", "convolution, weight gradient", "flax.nnx:Conv.__init__",
          "arguments[0].conv_general_dilated = lambda x, kernel, *rest, convolution=arguments[0].conv_general_dilated, **more: "
          "convolution(x, through(kernel), *rest, **more)", "jax_convnet.py:LINE(self.second(), backward"),
    Plant("jax_convnet", "batch norm, output", "flax.nnx:BatchNorm.__call__", "output",
          "jax_convnet.py:LINE(self.norm_1(), forward"),
    Plant("jax_convnet", "batch norm, running variance", "flax.nnx:BatchNorm.__call__",
          "None if arguments[0].use_running_average else arguments[0].var.set_value(arguments[0].var[...] * 1.001)",
          "statistics"),
    Plant("jax_convnet", "max pooling, one column off", "flax.nnx:max_pool", "found = jax.numpy.roll(found, 1, 2)",
          "jax_convnet.py:LINE(nnx.max_pool), forward"),
    Plant("jax_convnet", "relu, gradient", "jax.nn:relu", "gradient 0", "jax_convnet.py:LINE(nnx.max_pool), backward"),
    Plant("jax_convnet", "linear, output", "flax.nnx:Linear.__call__", "output", "jax_convnet.py:LINE(self.head(), forward"),
    Plant("jax_convnet", "cross entropy, gradient", f"optax:{_ENTROPY}", "gradient 0",
          "jax_convnet.py:LINE(integer_labels), backward"),
    Plant("jax_experts", "swish, output", "jax.nn:swish", "output", "jax_experts.py:LINE(nn.swish), forward"),
    # The best chances are divided by their sum: a factor for all of them is none.
    Plant("jax_experts", "top k, the best", "jax.lax:top_k", "found = [found[0].at[..., 0].multiply(1.0001), found[1]]",
          "jax_experts.py:LINE(lax.top_k), forward"),
    Plant("jax_experts", "RMS norm, output", "jax.lax:rsqrt", "output", "jax_experts.py:LINE(lax.rsqrt), forward"),
    Plant("jax_experts", "softmax, gradient", "jax.nn:softmax", "gradient 0", "jax_experts.py:LINE(nn.softmax), backward"),
    Plant("jax_experts", "Adam, schedule", "optax:cosine_decay_schedule",
          "found = lambda count, schedule=found: schedule(count) * 1.001", "the optimizer"),
    Plant("tensorflow_encoder", "gelu, gradient", "tensorflow:nn.gelu", "gradient 0", "dense_2, backward"),
    Plant("tensorflow_encoder", "softmax, output", "tensorflow:nn.softmax", "output", "softmax, forward"),
    Plant("tensorflow_encoder", "layer norm, output", f"{_K}LayerNormalization.call", "output", "layer_normalization, forward"),
    Plant("tensorflow_encoder", "layer norm, epsilon", f"{_K}LayerNormalization.build", "arguments[0].epsilon = 2e-3",
          "layer_normalization, forward"),
    Plant("tensorflow_encoder", "attention, output", f"{_K}MultiHeadAttention._compute_attention", "output",
          "and multi_head_attention.attention_output, forward"),
    Plant("tensorflow_encoder", "attention, gradient of values", f"{_K}MultiHeadAttention._compute_attention", "gradient 3",
          "and multi_head_attention_1.value, backward"),
    Plant("tensorflow_encoder", "embedding, gradient", f"{_K}Embedding.call", "found = through(found)", "embedding, gradient"),
    Plant("tensorflow_encoder", "cross entropy, output", "tensorflow:nn.sparse_softmax_cross_entropy_with_logits", "output",
          "the loss, forward"),
    Plant("tensorflow_convnet", "convolution, kernel gradient", "tensorflow:nn.convolution", "gradient 1", ", gradient"),
    Plant("tensorflow_convnet", "max pooling, output", "tensorflow:nn.max_pool", "output", "max_pooling2d, forward"),
    Plant("tensorflow_convnet", "max pooling, one column off", "tensorflow:nn.max_pool", "found = tf.roll(found, 1, 2)",
          "max_pooling2d, forward"),
    Plant("tensorflow_convnet", "batch norm, output", "tensorflow:nn.batch_normalization", "output",
          "batch_normalization, forward"),
    Plant("tensorflow_convnet", "batch norm, running variance", f"{_K}BatchNormalization.call",
          "arguments[0].moving_variance.assign(arguments[0].moving_variance * 1.001) if named.get('training') else None",
          "statistics"),
    Plant("tensorflow_convnet", "transposed convolution, kernel gradient", "tensorflow:nn.conv_transpose", "gradient 1",
          "conv2d_transpose, gradient"),
    Plant("tensorflow_convnet", "swish, gradient", "tensorflow:nn.silu", "gradient 0", "activation, backward"),
    Plant("tensorflow_convnet", "SGD, rate", "tensorflow:keras.optimizers.SGD.update_step", "argument 3", "the optimizer", 1.001),
    Plant("tensorflow_gru", "elu, gradient", "tensorflow:nn.elu", "gradient 0", "dense, backward"),
    Plant("tensorflow_gru", "sigmoid, output", "tensorflow:nn.sigmoid", "output", "gru, forward"),
    Plant("tensorflow_gru", "tanh, gradient", "tensorflow:math.tanh", "gradient 0", "lstm, backward"),
    Plant("tensorflow_gru", "group norm, output", f"{_K}GroupNormalization.call", "output", "group_normalization, forward"),
    Plant("tensorflow_gru", "RMSprop, rate", "tensorflow:keras.optimizers.RMSprop.update_step", "argument 3", "the optimizer",
          1.001),
    Plant("tensorflow_depthwise", "softplus, output", "tensorflow:math.softplus", "output", "conv2d, forward"),
    Plant("tensorflow_depthwise", "depthwise convolution, kernel gradient", "tensorflow:nn.depthwise_conv2d", "gradient 1",
          "depthwise_conv2d"),
    Plant("tensorflow_depthwise", "unit norm, output", f"{_K}UnitNormalization.call", "output", "unit_normalization, forward"),
    Plant("tensorflow_depthwise", "max pooling, gradient", f"{_K}GlobalMaxPooling2D.call", "found = through(found)",
          "global_max_pooling2d, backward"),
)  # fmt: skip
