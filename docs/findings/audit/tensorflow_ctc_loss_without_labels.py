"""TensorFlow 2.21.0: of labels without a column, tf.nn.ctc_loss counts the path of blanks twice, and is log(2) too small."""

import tensorflow as tf

print("tensorflow", tf.__version__)
logits = tf.zeros((7, 2, 4))


def loss(columns):
    labels, lengths = tf.ones((2, columns), tf.int32), tf.constant([0, 0])
    return float(tf.nn.ctc_loss(labels, logits, lengths, tf.constant([7, 7]), blank_index=0)[0])


# Without labels there is one path: seven blanks, each of probability 1/4. A column that no length reaches changes nothing.
none, one = loss(0), loss(1)
is_right = abs(none - one) < 1e-4
print("RIGHT" if is_right else "WRONG", "the loss is", none, "expected", one)
raise SystemExit(not is_right)
