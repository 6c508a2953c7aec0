"""keras.ops.view on PyTorch: an array seen in its own type has no gradient any more, without a word."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch

x = torch.ones(3, requires_grad=True)
got = keras.ops.view(x, "float32").requires_grad
print("RIGHT" if got else "WRONG", "got", got, "expected", True)
raise SystemExit(not got)
