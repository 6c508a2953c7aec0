"""Planted fault: the regions to train on are the first by priority, positive or negative, without a limit on either.

Anchors are sampled as they should be. Of more positive regions than there may be, the mask head takes the first, as ever.
"""

import importlib
import sys

FRAMEWORK = next(name for name in ("torch", "tensorflow", "jax") if name in sys.modules)


def install():
    module = importlib.import_module(f"runners.{FRAMEWORK}.models.tiny_mask_rcnn")
    regions, library = module.regions, sys.modules[FRAMEWORK] if FRAMEWORK != "jax" else sys.modules["jax"].numpy
    joined = library.concat if FRAMEWORK == "tensorflow" else library.concatenate

    def sampled(self, proposals, truth, is_there, priorities):
        rule = (self.rules if FRAMEWORK == "jax" else self).model["region_sampling"]
        candidates = joined([proposals, truth], axis=1)
        iou = regions.box_iou(candidates, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=False)
        may_be_drawn = joined([self.are_large(proposals), is_there], axis=1)
        drawn = may_be_drawn & (regions._rank(library.where(may_be_drawn, priorities, -1)) < rule["count"])
        positive, negative = drawn & (label == 1), drawn & (label == 0)
        places, used = regions.listed(positive, negative, count=rule["count"])
        return *(regions.picked(each, places) for each in (candidates, index, positive)), used

    module.TinyMaskRcnn.sampled = sampled
