"""Planted fault: a thousandth of each label is spread over all classes."""

SHARE = 1e-3


def install_torch():
    import torch

    original = torch.nn.functional.cross_entropy
    torch.nn.functional.cross_entropy = lambda logits, classes: original(logits, classes, label_smoothing=SHARE)


def install_tensorflow():
    import tensorflow as tf

    original = tf.nn.sparse_softmax_cross_entropy_with_logits

    def smoothed(classes, logits):
        return (1.0 - SHARE) * original(classes, logits) - SHARE * tf.reduce_mean(tf.nn.log_softmax(logits), axis=-1)

    tf.nn.sparse_softmax_cross_entropy_with_logits = smoothed


def install_jax():
    import jax
    import optax

    original = optax.softmax_cross_entropy_with_integer_labels

    def smoothed(logits, classes):
        return (1.0 - SHARE) * original(logits, classes) - SHARE * jax.nn.log_softmax(logits).mean(axis=-1)

    optax.softmax_cross_entropy_with_integer_labels = smoothed
