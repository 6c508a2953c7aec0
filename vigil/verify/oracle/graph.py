"""A forward pass that remembers how to go back: the few lines of reverse-mode differentiation that the oracle needs.

Taps can be cut: what comes after a cut then sees a given tensor instead, and what comes before it a given gradient, so
that every layer can be run alone on the same inputs. Every intermediate can be rounded at random. While a graph is built, the
layers say what their nodes are, so that nobody need read it from a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vigil.verify.oracle.outline import LayerForm, Outline, Parameter, Statistic
from vigil.verify.oracle.rounding import Rounding


class Node:
    """A tensor of the pass and, after `Graph.backward`, the loss's gradient with respect to it."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value
        self.gradient: np.ndarray | None = None

    def receive(self, gradient: np.ndarray) -> None:
        self.gradient = gradient if self.gradient is None else self.gradient + gradient


class Graph:
    """One pass over a model.

    `statistics`: running statistics and all else that a forward pass moves, after the pass.

    Args:
        leaves, cotangents: tap name -> tensor put in its place, and the gradient of its output; taps not named are not cut.
    """

    def __init__(
        self,
        params: Mapping[str, np.ndarray],
        *,
        rounding: Rounding | None = None,
        leaves: Mapping[str, np.ndarray] | None = None,
        cotangents: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.rounding = rounding or Rounding(None)
        self.params = {name: Node(value) for name, value in params.items()}
        self.outputs: dict[str, np.ndarray] = {}
        self.statistics: dict[str, np.ndarray] = {}
        self._leaves, self._cotangents = leaves or {}, cotangents or {}
        self._taps: dict[str, Node] = {}
        # What each tap records, and what the next layer sees: nodes by identity.
        self._recorded: dict[str, Node] = {}
        self._names: dict[int, str] = {}
        self._layers: dict[str, str] = {}
        self._gates: dict[str, str] = {}
        self._block_ends: list[str] = []
        self._choices: dict[str, tuple[str, ...]] = {}
        self.parameters: dict[str, Parameter] = {}
        self.statistic_facts: dict[str, Statistic] = {}
        self._operations: list[tuple[Node, list[tuple[Node, Callable, int]], Callable]] = []
        self._work = 0
        self._forms: dict[str, list[LayerForm]] = {}

    def apply(
        self,
        function: Callable,
        x: Node,
        *others: Node,
        params: tuple[Parameter, ...] = (),
        casts: bool = False,
        widens: bool = False,
        is_wide: bool = False,
        terms: tuple[int, ...] = (),
        **options,
    ) -> Node:
        """Return function(x, others, parameters).

        Args:
            casts: a layer that computes in the context's low precision, weights too.
            widens, is_wide: what comes out, or what comes in too, is in the parameters' type.
            terms: of how many terms an element is the sum: of the output, then of each input's gradient; 1 where left out.
        """
        self.parameters |= {parameter.name: parameter for parameter in params}
        weights = [self.params[parameter.name] for parameter in params]
        values = [self.rounding.cast(weight.value) if casts else weight.value for weight in weights]
        value, backward = function(x.value, *(other.value for other in others), *values, **options)
        forward, *back = [*terms, *[1] * (1 + 1 + len(others) + len(weights) - len(terms))]
        of_output = self.rounding.master if widens or is_wide else self.rounding.activation
        of_input = self.rounding.master if is_wide else self.rounding.activation
        of_weight = self.rounding.activation if casts else self.rounding.master
        node = Node(of_output(value, forward))
        self._work += np.size(value) * forward
        rounded = [of_input] * (1 + len(others)) + [of_weight] * len(weights)
        self._operations.append((node, list(zip((x, *others, *weights), rounded, back, strict=True)), backward))
        return node

    def tap(self, name: str, node: Node, *, layer: str | None = None, ends_block: bool = False) -> Node:
        """Record a tensor under its name; return what the next layer sees.

        Args:
            layer: whose output it is, where that is not the tap's own name.
            ends_block: a block of layers ends here, that a compiler may be shown as a whole.
        """
        self.outputs[name], self._recorded[name], self._names[id(node)] = node.value, node, name
        self._layers[name] = layer or name
        if ends_block:
            self._block_ends.append(name)
        if name in self._leaves:
            node.receive(self._cotangents[name])
            node = Node(self._leaves[name])
            self._names[id(node)] = name
        self._taps[name] = node
        return node

    def gate(self, name: str, node: Node, *, of: Node, ends_block: bool = False) -> Node:
        """Record what a gate lets through of a node that has a tap: a gradient jumps where that changes its sign."""
        self._gates[name] = self._names[id(of)]
        return self.tap(name, node, ends_block=ends_block)

    def choice(self, name: str, value: np.ndarray, *, among: tuple[Node, ...] = ()) -> np.ndarray:
        """Record what was chosen; return what the next layer sees. A choice has no gradient that anything could read.

        Args:
            among: the nodes whose values decide, where rounding moves those.
        """
        self.outputs[name], self._layers[name] = value, name
        self._choices[name] = tuple(self._names[id(node)] for node in among)
        return self._leaves.get(name, value)

    def form(self, layer: str, kind: str, x: Node, **facts: Any) -> None:
        """Note what a layer computes of x, batch first and channels last."""
        self._forms.setdefault(layer, []).append(LayerForm(kind, tuple(x.value.shape), facts))

    def move(self, name: str, value: np.ndarray, statistic: Statistic) -> None:
        """Note what a forward pass moves, and what it is."""
        self.statistics[name], self.statistic_facts[name] = value, statistic

    def backward(self, loss: Node) -> None:
        """Fill in every gradient, of this loss and of the cuts' cotangents."""
        loss.receive(np.ones(()))
        for node, inputs, backward in reversed(self._operations):
            if node.gradient is None:
                continue  # a cut on the only way to the loss
            for (source, rounded, terms), gradient in zip(inputs, backward(node.gradient), strict=True):
                source.receive(rounded(gradient, terms))

    def outline(self) -> Outline:
        """Return what the pass is made of."""
        readers = self._readers(self._taps)
        users = self._readers({name: self.params[name] for name in self.parameters})
        return Outline(
            taps=tuple(self.outputs),
            readers={name: tuple(found) for name, found in readers.items()},
            layers=self._layers,
            gates=self._gates,
            block_ends=tuple(self._block_ends),
            choices=self._choices,
            parameters=self.parameters,
            users={name: tuple(found) for name, found in users.items()},
            statistics=self.statistic_facts,
            work=self._work,
            forms={layer: tuple(found) for layer, found in self._forms.items()},
        )

    def _readers(self, nodes: Mapping[str, Node]) -> dict[str, list[str]]:
        """Return node -> the taps made from it with no tap between, in forward order; what no tap follows is the loss's."""
        found: dict[str, list[str]] = {name: [] for name in nodes}
        # Node -> those that it is made from: a named one from itself, one without a name from those of its inputs.
        origins = {id(node): [name] for name, node in nodes.items()}
        for node, inputs, _ in self._operations:
            sources = [name for source, *_ in inputs for name in origins.get(id(source), ())]
            reader = self._names.get(id(node), "loss" if node is self._operations[-1][0] else None)
            if reader is None:
                origins[id(node)] = sources
                continue
            for name in sources:
                found[name].append(reader)
        return found

    def tap_gradients(self) -> dict[str, np.ndarray]:
        """Return, for every tap, the gradient that arrives from the layers after it."""
        return {name: _or_zeros(node) for name, node in self._taps.items()}

    def parameter_gradients(self) -> dict[str, np.ndarray]:
        """Return the gradient of every parameter, without weight decay."""
        return {name: _or_zeros(node) for name, node in self.params.items()}


def _or_zeros(node: Node) -> np.ndarray:
    return np.zeros_like(node.value) if node.gradient is None else node.gradient
