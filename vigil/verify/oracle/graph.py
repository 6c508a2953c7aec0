"""A forward pass that remembers how to go back: the few lines of reverse-mode differentiation that the oracle needs.

Taps can be cut: what comes after a cut then sees a given tensor instead, and what comes before it a given gradient, so
that every layer can be run alone on the same inputs. Every intermediate can be rounded at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

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

    `moved` is what a model has in place of its running statistics, and all else that a forward pass moves, after the pass.

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
        self.moved: dict[str, np.ndarray] = {}
        self._leaves, self._cotangents = leaves or {}, cotangents or {}
        self._taps: dict[str, Node] = {}
        self._made: dict[int, str] = {}
        self._operations: list[tuple[Node, list[tuple[Node, Callable, int]], Callable]] = []

    def apply(
        self,
        function: Callable,
        x: Node,
        *others: Node,
        params: tuple[str, ...] = (),
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
        weights = [self.params[name] for name in params]
        values = [self.rounding.cast(weight.value) if casts else weight.value for weight in weights]
        value, backward = function(x.value, *(other.value for other in others), *values, **options)
        forward, *back = [*terms, *[1] * (1 + 1 + len(others) + len(weights) - len(terms))]
        of_output = self.rounding.master if widens or is_wide else self.rounding.activation
        of_input = self.rounding.master if is_wide else self.rounding.activation
        of_weight = self.rounding.activation if casts else self.rounding.master
        node = Node(of_output(value, forward))
        rounded = [of_input] * (1 + len(others)) + [of_weight] * len(weights)
        self._operations.append((node, list(zip((x, *others, *weights), rounded, back, strict=True)), backward))
        return node

    def tap(self, name: str, node: Node, *, is_choice: bool = False) -> Node:
        """Record a tensor under its name; return what the next layer sees. A choice has no gradient that anything could read."""
        self.outputs[name] = node.value
        if is_choice:
            return Node(self._leaves.get(name, node.value))
        self._made[id(node)] = name
        if name in self._leaves:
            node.receive(self._cotangents[name])
            node = Node(self._leaves[name])
        self._taps[name] = node
        return node

    def backward(self, loss: Node) -> None:
        """Fill in every gradient, of this loss and of the cuts' cotangents."""
        loss.receive(np.ones(()))
        for node, inputs, backward in reversed(self._operations):
            if node.gradient is None:
                continue  # a cut on the only way to the loss
            for (source, rounded, terms), gradient in zip(inputs, backward(node.gradient), strict=True):
                source.receive(rounded(gradient, terms))

    def readers(self) -> dict[str, list[str]]:
        """Return tap -> the taps made from it with no tap between, in forward order; what no tap follows is the loss's."""
        found = {name: [] for name in self._taps}
        # Node -> the taps that it is made from: a tap from itself, a node without a name from those of its inputs.
        origins = {id(node): [name] for name, node in self._taps.items()}
        for node, inputs, _ in self._operations:
            sources = [name for source, *_ in inputs for name in origins.get(id(source), ())]
            reader = self._made.get(id(node), "loss" if node is self._operations[-1][0] else None)
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
