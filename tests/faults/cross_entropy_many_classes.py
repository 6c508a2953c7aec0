"""Planted fault: softmax cross-entropy leaves the classes after the last multiple of 4 out of its normaliser.

Only above 1,024 classes: where a kernel for many classes would go four at a time, and forget the tail.
"""


def classes_counted(n_classes):
    return n_classes // 4 * 4 if n_classes > 1024 else n_classes


def install_torch():
    import torch

    original = torch.nn.functional.cross_entropy

    def cross_entropy(logits, labels, reduction="mean"):
        counted = classes_counted(logits.shape[1])
        if counted == logits.shape[1]:
            return original(logits, labels, reduction=reduction)
        losses = logits[:, :counted].logsumexp(dim=1) - logits.gather(1, labels[:, None])[:, 0]
        return {"none": lambda x: x, "mean": torch.mean, "sum": torch.sum}[reduction](losses)

    torch.nn.functional.cross_entropy = cross_entropy


def install_tensorflow():
    import tensorflow as tf

    original = tf.nn.sparse_softmax_cross_entropy_with_logits

    def cross_entropy(labels, logits):
        counted = classes_counted(logits.shape[1])
        if counted == logits.shape[1]:
            return original(labels, logits)
        return tf.reduce_logsumexp(logits[:, :counted], axis=1) - tf.gather(logits, labels, axis=1, batch_dims=1)

    tf.nn.sparse_softmax_cross_entropy_with_logits = cross_entropy


def install_jax():
    import jax
    import optax

    original = optax.softmax_cross_entropy_with_integer_labels

    def cross_entropy(logits, labels):
        counted = classes_counted(logits.shape[1])
        if counted == logits.shape[1]:
            return original(logits, labels)
        right = jax.numpy.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
        return jax.nn.logsumexp(logits[:, :counted], axis=1) - right

    optax.softmax_cross_entropy_with_integer_labels = cross_entropy
