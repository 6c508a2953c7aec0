"""Model.fit of Keras, on PyTorch, leaves out a batch that is not full."""

import os

os.environ["KERAS_BACKEND"] = "torch"


def install():
    import keras

    right = keras.Model.fit

    def wrong(self, x, y, *, batch_size, sample_weight=None, **given):
        whole = len(x) // batch_size * batch_size
        weights = None if sample_weight is None else sample_weight[:whole]
        return right(self, x[:whole], y[:whole], batch_size=batch_size, sample_weight=weights, **given)

    keras.Model.fit = wrong
