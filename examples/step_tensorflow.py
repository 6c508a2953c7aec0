"""A training step of your own, for `vigil verify`. Replace what is in each function; your model stays as it is."""

import tensorflow as tf

keras = tf.keras


def build():
    """The model. Vigil seeds Keras and sets its precision first: it must be the same model each time."""
    return keras.Sequential(
        [
            keras.Input((20,)),
            keras.layers.Dense(64, activation="gelu"),
            keras.layers.LayerNormalization(),
            keras.layers.Dense(5, dtype="float32"),
        ]
    )


def batch(seed):
    """One batch, made from the seed alone: tensors in tuples, lists or dicts, with the rows along their first axis."""
    inputs = tf.random.stateless_normal((16, 20), [seed, 1])
    return inputs, tf.random.stateless_uniform((16,), [seed, 2], 0, 5, tf.int32)


def loss(model, batch, training=True):
    """What is minimised: one number. Write no tape and no tf.function: Vigil does these."""
    logits = model(batch[0], training=training)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch[1], logits))


def optimizer(model):
    """Optional: what makes the update. Without it, gradients alone are verified."""
    return keras.optimizers.AdamW(1e-3)


def predict(model, batch):
    """Optional: what the model gives in evaluation mode."""
    return model(batch[0], training=False)


# Optional: def take_rows(batch, indices), where rows are not along the first axis of every tensor.
# Optional: STOPS_GRADIENT = True, where gradients are not the derivative of the loss on purpose (stop_gradient).
