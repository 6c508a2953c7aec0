"""Keras 3.15.1 on PyTorch 2.13.0: keras.Variable(tensor) is the tensor's memory: what is assigned to it changes the tensor."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import torch

tensor = torch.ones(2)
keras.Variable(tensor).assign(keras.ops.zeros(2))
print("keras", keras.__version__, "the tensor of ones is now", tensor.tolist())
is_right = tensor.tolist() == [1.0, 1.0]
print("RIGHT" if is_right else "WRONG", "got", tensor[0].item(), "expected", 1.0)
raise SystemExit(not is_right)
