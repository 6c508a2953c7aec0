"""Planted fault: the mask loss reads the mask of the next class, that of the last the first's; what is found reads its own."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    head = importlib.import_module(f"runners.{FRAMEWORK}.models.tiny_mask_rcnn").MaskHead
    if FRAMEWORK == "torch":
        of_torch = head.forward

        def forward(self, x, used, tap):
            masks = of_torch(self, x, used, tap)
            return masks.roll(-1, dims=2) if self.training else masks

        head.forward = forward
    elif FRAMEWORK == "tensorflow":
        of_tensorflow = head.call

        def call(self, x, used, tap, training):
            masks = of_tensorflow(self, x, used, tap, training)
            return sys.modules["tensorflow"].roll(masks, -1, axis=-1) if training else masks

        head.call = call
    else:
        of_jax = head.__call__

        def of_instance(self, x, used, tap):
            masks = of_jax(self, x, used, tap)
            return masks if self.bn1.use_running_average else sys.modules["jax"].numpy.roll(masks, -1, axis=-1)

        head.__call__ = of_instance
