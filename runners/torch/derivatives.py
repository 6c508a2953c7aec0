"""Derivatives of a call of PyTorch by forward mode, and second ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from runners.contract.audit.derivatives import (
    FORWARD,
    FORWARD_OVER_FORWARD,
    FORWARD_OVER_REVERSE,
    REVERSE_OVER_FORWARD,
    REVERSE_OVER_REVERSE,
    by_cotangent,
    first_of,
    second_of,
)

Tensors = Mapping[str, Any]


def ways_of(
    call: Callable[[Tensors], Sequence[Any]], leaves: Tensors, cotangents: Sequence[Any], first: Tensors, second: Tensors
) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what finds the derivatives by each way, as tensors by quantity.

    Args:
        call: of the tensors that derivatives are of.
        first, second: the directions.
    """
    zeros = {place: torch.zeros_like(each) for place, each in enumerate(cotangents) if each is not None}

    def outputs_of(tensors: Tensors) -> dict[int, Any]:
        """Return the outputs that have a cotangent."""
        found = call(tensors)
        return {place: found[place] for place, zero in zeros.items() if found[place].shape == zero.shape}

    def wanted() -> Tensors:
        return {name: leaf.detach().clone().requires_grad_() for name, leaf in leaves.items()}

    def duals(tensors: Tensors) -> Tensors:
        return {name: forward_ad.make_dual(each, first[name]) for name, each in tensors.items()}

    def gradient_of(tensors: Tensors, pulled: Mapping[int, Any]) -> dict[str, Any]:
        """Return the gradients that are not zero, to be differentiated once more."""
        outputs = {place: each for place, each in outputs_of(tensors).items() if each.requires_grad}
        if not outputs:
            return {}
        given = [pulled[place].to(each.dtype) for place, each in outputs.items()]
        found = torch.autograd.grad(list(outputs.values()), list(tensors.values()), given, create_graph=True, allow_unused=True)
        return {name: each for name, each in zip(tensors, found, strict=True) if each is not None}

    def along(gradients: Tensors, direction: Tensors) -> Any:
        return sum(((each * direction[name]).sum() for name, each in gradients.items()), torch.zeros((), dtype=torch.float64))

    def forward() -> dict[str, Any]:
        with forward_ad.dual_level():
            outputs = outputs_of(duals({name: leaf.detach().clone() for name, leaf in leaves.items()}))
            tangents = {place: forward_ad.unpack_dual(each).tangent for place, each in outputs.items()}
            # Adding makes numbers of a tensor that only says that it is zero.
            return {first_of(place): zeros[place] if each is None else zeros[place] + each for place, each in tangents.items()}

    def forward_over_reverse() -> dict[str, Any]:
        with forward_ad.dual_level():
            gradients = gradient_of(duals(wanted()), {place: each for place, each in enumerate(cotangents) if each is not None})
            tangents = {name: forward_ad.unpack_dual(each).tangent for name, each in gradients.items()}
        found = along({name: each for name, each in tangents.items() if each is not None}, second)
        return {second_of(FORWARD_OVER_REVERSE): found}

    def reverse_over_reverse() -> dict[str, Any]:
        tensors = wanted()
        pulled = {place: each.clone().requires_grad_() for place, each in enumerate(cotangents) if each is not None}
        whole = along(gradient_of(tensors, pulled), first)
        if not whole.requires_grad:
            return {second_of(REVERSE_OVER_REVERSE): torch.zeros(())} | {by_cotangent(place): zeros[place] for place in pulled}
        found = torch.autograd.grad(whole, [*tensors.values(), *pulled.values()], allow_unused=True)
        of_tensors = {name: each for name, each in zip(tensors, found, strict=False) if each is not None}
        of_pulled = dict(zip(pulled, found[len(tensors) :], strict=True))
        return {second_of(REVERSE_OVER_REVERSE): along(of_tensors, second)} | {
            by_cotangent(place): zeros[place] if each is None else each for place, each in of_pulled.items()
        }

    # Of forward mode a second time, and of the reverse of it, torch.func alone is capable.
    names = list(leaves)
    places: list[int] = []

    def outputs(*values: Any) -> tuple[Any, ...]:
        found = outputs_of(dict(zip(names, values, strict=True)))
        places[:] = found
        return tuple(found.values())

    def pushed(*values: Any) -> tuple[Any, ...]:
        return tuple(torch.func.jvp(outputs, values, tuple(first[name] for name in names))[1])

    given = tuple(leaves[name].detach().clone() for name in names)

    def forward_over_forward() -> dict[str, Any]:
        _, found = torch.func.jvp(pushed, given, tuple(second[name] for name in names))
        return {second_of(FORWARD_OVER_FORWARD, place): zeros[place] + each for place, each in zip(places, found, strict=True)}

    def reverse_over_forward() -> dict[str, Any]:
        def whole(*values: Any) -> Any:
            once = pushed(*values)
            return along({str(place): each for place, each in zip(places, once, strict=True)}, pulled)

        pulled = {str(place): each for place, each in enumerate(cotangents) if each is not None}
        found = torch.func.grad(whole, tuple(range(len(given))))(*given)
        return {second_of(REVERSE_OVER_FORWARD): along(dict(zip(names, found, strict=True)), second)}

    return {
        FORWARD: forward,
        FORWARD_OVER_FORWARD: forward_over_forward,
        FORWARD_OVER_REVERSE: forward_over_reverse,
        REVERSE_OVER_FORWARD: reverse_over_forward,
        REVERSE_OVER_REVERSE: reverse_over_reverse,
    }
