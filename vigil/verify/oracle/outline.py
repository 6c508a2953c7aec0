"""What a training step is made of: taps, gates, choices, the ends of blocks, and who owns each parameter and statistic.

The oracle's layers say so as they build the graph. So whoever verifies asks here, and reads nothing from how a name is spelled.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

# How the gradient of a layer's part is called.
GRADIENTS = {"kernel": "weight gradient", "bias": "bias gradient", "scale": "scale gradient", "embedding": "embedding gradient"}


class Parameter(NamedTuple):
    """A layer's own parameter. part: kernel, bias, scale or embedding."""

    layer: str
    part: str

    @property
    def name(self) -> str:
        return f"{self.layer}.{self.part}"


class LayerForm(NamedTuple):
    """What a layer computes: its kind, the shape of what comes in, batch first and channels last, and with what it is made."""

    kind: str
    shape: tuple[int, ...]
    facts: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Statistic:
    """What a forward pass moves beside the parameters.

    quantity: what it is of its layer, as `running mean`.
    family: how far rounding may move it. Running statistics (`stats`) are as far off as activations are, averages of weights
        (`average`) only as far as their own sum is rounded, and what holds outputs (`content`) as far as those: together they
        would have one limit that fits none.
    before: the tap that it is moved for, where the pass moves it before its layer is used.
    """

    layer: str
    quantity: str
    family: str = "stats"
    before: str | None = None


@dataclasses.dataclass(frozen=True)
class StepPlace:
    """Where in a step a tensor is made: in which layer, in which phase, and what it is of the layer."""

    layer: str
    phase: str
    quantity: str


@dataclasses.dataclass(frozen=True)
class Outline:
    """What one training step is made of.

    taps: in forward order.
    readers: tap -> the taps made directly from it, in forward order; the loss is made from the last of them.
    layers: tap -> the layer whose output it is.
    gates: tap -> the tap whose sign decides what passes.
    block_ends: taps at which a block of layers ends.
    choices: tap -> the taps that it is chosen from by values that rounding moves.
    parameters, users: parameter -> what it is, and the taps that are made with it.
    statistics: what a forward pass moves.
    work: how many terms all sums of the forward pass have together.
    forms: layer -> what it computes; one whose weights are used twice has two, and what is no layer by itself has none.
    """

    taps: tuple[str, ...]
    readers: Mapping[str, tuple[str, ...]]
    layers: Mapping[str, str]
    gates: Mapping[str, str]
    block_ends: tuple[str, ...]
    choices: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, Parameter]
    users: Mapping[str, tuple[str, ...]]
    statistics: Mapping[str, Statistic]
    work: int = 0
    forms: Mapping[str, tuple[LayerForm, ...]] = dataclasses.field(default_factory=dict)

    def family(self, tensor: str) -> str:
        """Return what a tensor is, whichever layer it belongs to."""
        group, _, name = tensor.partition("/")
        return self.statistics[name].family if group == "stats" else group

    def place(self, tensor: str) -> StepPlace:
        """Return where a tensor is made.

        The gradient that arrives at a tap is made by the layers that read it: by the one with weights, where two read it.
        """
        group, _, name = tensor.partition("/")
        if group == "loss":
            return StepPlace("loss", "forward", "loss")
        if group == "output":
            return StepPlace(self.layers[name], "forward", "output")
        if group == "stats":
            return StepPlace(self.statistics[name].layer, "forward", self.statistics[name].quantity)
        if group == "leaf_gradient":
            made = self.readers[name]
            # Of two readers, the last has the weights; of more, any may be the one.
            layer = self.layers.get(made[-1], made[-1]) if len(made) < 3 else " or ".join(made)
            return StepPlace(layer, "backward", "data gradient")
        if name not in self.parameters:  # the count of the optimizer's steps
            return StepPlace("optimizer", "update", name)
        layer, part = self.parameters[name]
        if group == "parameter_gradient":
            return StepPlace(layer, "backward", GRADIENTS[part])
        return StepPlace(layer, "update", part if group == "params" else f"{group} of {part}")

    def position(self, tensor: str) -> tuple:
        """Return where in the order of a step a tensor is made: forward, the loss, then backward, then the update."""
        place, forward = self.place(tensor), self._forward
        if place.phase == "forward":
            return (0, self._moment(tensor, place), place.quantity != "output", place.quantity)
        # Of several layers that may have made it, the last one backward: it is whole only then.
        index = min(forward.get(layer, len(forward)) for layer in place.layer.split(" or "))
        # Backward a layer has its gradient of weights and that of its input at the same time.
        return (1 if place.phase == "backward" else 2, -index, place.quantity)

    @functools.cached_property
    def _forward(self) -> dict[str, int]:
        """Return layer -> its place in the forward pass; one that is used more than once has that of the last time.

        A parameter that others use too, as a penalty does, belongs where its own layer is.
        """
        order = {tap: index for index, tap in enumerate([*self.taps, "loss"])}
        layers = {self.layers.get(tap, tap): index for tap, index in order.items()}
        users = {self.parameters[name].layer: taps for name, taps in self.users.items() if taps}
        own = {layer: [tap for tap in taps if self.layers.get(tap) == layer] or taps for layer, taps in users.items()}
        return layers | {layer: order[taps[-1]] for layer, taps in own.items()}

    def _moment(self, tensor: str, place: StepPlace) -> float:
        group, _, name = tensor.partition("/")
        before = self.statistics[name].before if group == "stats" else None
        return self._forward[before] - 0.5 if before else self._forward.get(place.layer, len(self._forward))
