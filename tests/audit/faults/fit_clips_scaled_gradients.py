"""The loss-scaling optimizer of Keras, on PyTorch, clips gradients before it scales them back."""

import os

os.environ["KERAS_BACKEND"] = "torch"


def install():
    import keras

    kind = keras.optimizers.LossScaleOptimizer
    right = kind._stateful_handle_finite_grads
    kind._stateful_handle_finite_grads = lambda self, grads, *more: right(
        self, self.inner_optimizer._clip_gradients(grads), *more
    )
