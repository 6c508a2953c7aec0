"""A request of three runs, and a watch that says nothing."""

from __future__ import annotations

from vigil.documents.context import make_context
from vigil.recipes.loading import load_recipe
from vigil.runs.plan import Request
from vigil.runs.watch import Watch


def nothing(*facts) -> None:
    pass


QUIET = Watch()


def request(*, seeds=(0, 1, 2), profile="smoke", fault=None, verify=False, **context) -> Request:
    """Return a request for resnet_cifar on torch."""
    return Request(
        recipe=load_recipe("resnet_cifar"),
        recipe_source="resnet_cifar",
        profile=profile,
        fault=fault,
        seeds=tuple(seeds),
        context=make_context(**{"framework": "torch", "mode": "eager", **context}),
        command="vigil reproduce",
        verify=verify,
    )
