"""tanh's gradient is right, and its second derivative is lost."""


def install():
    import tensorflow as tf

    right = tf.math.tanh

    @tf.custom_gradient
    def stopped(x):
        found = right(x)
        return found, lambda gradient: gradient * (1 - tf.stop_gradient(found) ** 2)

    tf.math.tanh = stopped
