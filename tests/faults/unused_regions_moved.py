"""No fault, though planted like one: regions that are not in use are put elsewhere. Nothing may change by it."""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    module = importlib.import_module(f"runners.{FRAMEWORK}.models.tiny_mask_rcnn")
    where = {"torch": lambda: sys.modules["torch"].where, "tensorflow": lambda: sys.modules["tensorflow"].where}
    choose = where.get(FRAMEWORK, lambda: sys.modules["jax"].numpy.where)()
    original = module.TinyMaskRcnn.sampled

    def sampled(self, *arguments):
        boxes, index, positive, used = original(self, *arguments)
        return choose(used[..., None], boxes, 0.5 * boxes + 11.0), index, positive, used

    module.TinyMaskRcnn.sampled = sampled
