"""Model.fit of Keras, on PyTorch, does not pass the weights of examples on."""

import os

os.environ["KERAS_BACKEND"] = "torch"


def install():
    import keras

    right = keras.Model.fit
    keras.Model.fit = lambda self, *data, sample_weight=None, **given: right(self, *data, **given)
