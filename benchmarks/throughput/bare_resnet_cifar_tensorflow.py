"""A bare training loop in TensorFlow: ResNet-8 for CIFAR on batches that lie ready as tensors. No Vigil in it.

python -m benchmarks.throughput.bare_resnet_cifar_tensorflow MODE PRECISION STEPS
"""

import itertools
import sys

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def conv(x, n_out, stride):
    if stride == 1:
        return layers.Conv2D(n_out, 3, padding="same", use_bias=False)(x)
    return layers.Conv2D(n_out, 3, stride, use_bias=False)(layers.ZeroPadding2D(1)(x))  # "same" pads one side only


def norm(x):
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def block(x, n_out, stride):
    extra = (n_out - x.shape[-1]) // 2
    shortcut = x
    if stride > 1:
        shortcut = keras.ops.pad(x[:, ::stride, ::stride, :], ((0, 0), (0, 0), (0, 0), (extra, extra)))
    x = layers.ReLU()(norm(conv(x, n_out, stride)))
    return layers.ReLU()(layers.add([norm(conv(x, n_out, 1)), shortcut]))


def make_model():
    images = keras.Input((32, 32, 3))
    x = layers.ReLU()(norm(conv(images, 16, 1)))
    for n_out, stride in ((16, 1), (32, 2), (64, 2)):
        x = block(x, n_out, stride)
    return keras.Model(images, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def count_parameters():
    return sum(variable.numpy().size for variable in make_model().trainable_variables)


def make_batches(*, batch_size=32, count=12):
    tf.random.set_seed(0)
    return [
        (tf.random.normal((batch_size, 32, 32, 3)), tf.random.uniform((batch_size,), maxval=10, dtype=tf.int32))
        for _ in range(count)
    ]


def as_tensors(images, labels):
    return tf.constant(images), tf.constant(labels)


def train(batches, *, mode, precision):
    """Yield the loss of a step on each batch."""
    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bf16" else "float32")
    model = make_model()
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
    optimizer.build(model.trainable_variables)

    def step(images, labels):
        with tf.GradientTape() as tape:
            logits = tf.cast(model(images, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            decay = 1e-2 * tf.add_n([tf.nn.l2_loss(variable) for variable in model.trainable_variables])
            total = loss + decay
        gradients = tape.gradient(total, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    if mode == "jit":
        step = tf.function(step)
    elif mode == "compile":
        step = tf.function(step, jit_compile=True)
    for images, labels in batches:
        yield step(images, labels)


if __name__ == "__main__":
    losses = train(itertools.cycle(make_batches()), mode=sys.argv[1], precision=sys.argv[2])
    for step, loss in enumerate(itertools.islice(losses, int(sys.argv[3])), start=1):
        print(step, float(loss), flush=True)
