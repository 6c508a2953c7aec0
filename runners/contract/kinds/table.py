"""The one table of kinds: the name of a recipe's model -> what it needs. Whoever must know a kind asks here."""

from __future__ import annotations

from typing import Any

from runners.contract.kinds.classification import RESNET_CIFAR
from runners.contract.kinds.contrast import MOCO_LITE
from runners.contract.kinds.detection import TINY_MASK_RCNN
from runners.contract.kinds.kind import Kind
from runners.contract.kinds.language import CHAR_GPT
from runners.contract.kinds.perceptron import DIGITS_MLP

KINDS: dict[str, Kind] = {
    "resnet_cifar": RESNET_CIFAR,
    "moco_lite": MOCO_LITE,
    "tiny_mask_rcnn": TINY_MASK_RCNN,
    "digits_mlp": DIGITS_MLP,
    "char_gpt": CHAR_GPT,
}


def kind_of(training: dict[str, Any]) -> Kind:
    """Return the kind of a recipe's resolved content."""
    return KINDS[training["model"]["name"]]
