"""PyTorch: what two processes tell each other by torch.distributed (gloo), each with one row of what is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from runners.torch.together import together

_DEVICES = 2

_NAMED = "torch.distributed."
_DERIVED = "torch.distributed.nn.functional."


def _functional() -> Any:
    import torch.distributed.nn.functional  # not imported by torch.distributed itself

    return torch.distributed.nn.functional


def _halves(row: torch.Tensor) -> list[torch.Tensor]:
    return [each.contiguous() for each in row.chunk(_DEVICES)]


def _all_reduce(row: torch.Tensor, *, by: str) -> torch.Tensor:
    dist.all_reduce(row, getattr(dist.ReduceOp, by))
    return row


def _all_reduce_later(row: torch.Tensor, *, by: str) -> torch.Tensor:
    dist.all_reduce(row, getattr(dist.ReduceOp, by), async_op=True).wait()
    return row


def _functional_all_reduce(row: torch.Tensor, *, by: str) -> torch.Tensor:
    return _functional().all_reduce(row, getattr(dist.ReduceOp, by))


def _furthest(row: torch.Tensor, *, is_most: bool) -> torch.Tensor:
    dist.all_reduce(row, dist.ReduceOp.MAX if is_most else dist.ReduceOp.MIN)
    return row


def _all_gather(row: torch.Tensor) -> torch.Tensor:
    parts = [torch.empty_like(row) for _ in range(_DEVICES)]
    dist.all_gather(parts, row)
    return torch.cat(parts)


def _all_gather_into_tensor(row: torch.Tensor) -> torch.Tensor:
    joined = row.new_empty((_DEVICES * len(row), *row.shape[1:]))
    dist.all_gather_into_tensor(joined, row)
    return joined


def _functional_all_gather(row: torch.Tensor) -> torch.Tensor:
    return torch.cat(_functional().all_gather(row))


def _reduce_scatter(row: torch.Tensor) -> torch.Tensor:
    found = torch.empty_like(_halves(row)[0])
    dist.reduce_scatter(found, _halves(row))
    return found


def _reduce_scatter_tensor(row: torch.Tensor) -> torch.Tensor:
    found = torch.empty_like(_halves(row)[0])
    dist.reduce_scatter_tensor(found, row)
    return found


def _functional_reduce_scatter(row: torch.Tensor) -> torch.Tensor:
    return _functional().reduce_scatter(torch.empty_like(_halves(row)[0]), _halves(row))


def _all_to_all(row: torch.Tensor) -> torch.Tensor:
    parts = [torch.empty_like(each) for each in _halves(row)]
    dist.all_to_all(parts, _halves(row))
    return torch.cat(parts)


def _all_to_all_single(row: torch.Tensor) -> torch.Tensor:
    found = torch.empty_like(row)
    dist.all_to_all_single(found, row)
    return found


def _functional_all_to_all(row: torch.Tensor) -> torch.Tensor:
    return torch.cat(_functional().all_to_all([torch.empty_like(each) for each in _halves(row)], _halves(row)))


def _functional_all_to_all_single(row: torch.Tensor) -> torch.Tensor:
    return _functional().all_to_all_single(torch.empty_like(row), row)


def _broadcast(row: torch.Tensor, *, source: int) -> torch.Tensor:
    dist.broadcast(row, source)
    return row


def _functional_broadcast(row: torch.Tensor, *, source: int) -> torch.Tensor:
    return _functional().broadcast(row, source)


def _send_on(row: torch.Tensor) -> torch.Tensor:
    before, found = 1 - dist.get_rank(), torch.empty_like(row)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, row, before), dist.P2POp(dist.irecv, found, before)]):
        work.wait()
    return found


def _send_and_receive(row: torch.Tensor) -> torch.Tensor:
    before, found = 1 - dist.get_rank(), torch.empty_like(row)
    if dist.get_rank():
        dist.recv(found, before)
    dist.send(row, before)
    if not dist.get_rank():
        dist.recv(found, before)
    return found


def _reduce(row: torch.Tensor, *, target: int) -> torch.Tensor:
    dist.reduce(row, target)
    return row


def _functional_reduce(row: torch.Tensor, *, target: int) -> torch.Tensor:
    return _functional().reduce(row, target)


def _gather(row: torch.Tensor, *, target: int) -> torch.Tensor:
    parts = [torch.zeros_like(row) for _ in range(_DEVICES)]
    dist.gather(row, parts if dist.get_rank() == target else None, target)
    return torch.cat(parts)


def _functional_gather(row: torch.Tensor, *, target: int) -> torch.Tensor:
    return torch.cat(_functional().gather(row, target))


def _scatter(row: torch.Tensor, *, source: int) -> torch.Tensor:
    found = torch.empty_like(_halves(row)[0])
    dist.scatter(found, _halves(row) if dist.get_rank() == source else None, source)
    return found


def _functional_scatter(row: torch.Tensor, *, source: int) -> torch.Tensor:
    return _functional().scatter(_halves(row), source)


def _all_to_all_uneven(row: torch.Tensor) -> torch.Tensor:
    given, taken = _uneven_splits(len(row))
    found = row.new_empty((sum(taken), *row.shape[1:]))
    dist.all_to_all_single(found, row, taken, given)
    return found


def _functional_all_to_all_uneven(row: torch.Tensor) -> torch.Tensor:
    given, taken = _uneven_splits(len(row))
    return _functional().all_to_all_single(row.new_empty((sum(taken), *row.shape[1:])), row, taken, given)


def _uneven_splits(rows: int) -> tuple[list[int], list[int]]:
    """Return how many rows go to each device, and how many come from each: the first takes one of every device."""
    given = [1, rows - 1]
    return given, [given[dist.get_rank()]] * _DEVICES


def _apart(work: Callable[..., Any], *, has_gradient: bool, **more: Any) -> Callable[..., Any]:
    """Return a call of [device, ...] that gives what each device has by itself, not all of one size."""
    call = together(work, has_gradient=has_gradient)
    return lambda x, **parameters: call(*x.unbind(), **more, **parameters)


def _plain(work: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    """Return a call of what has no gradient, which may write to what it is given."""
    call = _apart(work, has_gradient=False, **more)
    return lambda x, **parameters: torch.stack(call(x, **parameters))


def _derived(work: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    call = _apart(work, has_gradient=True, **more)
    return lambda x, **parameters: torch.stack(call(x, **parameters))


def _on_one(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of which only one device's answer counts: what the others have is not said."""
    return lambda x, target: call(x, target=target)[target]


def _reduced(by: str) -> dict[str, Any]:
    return {
        _NAMED + "all_reduce": _plain(_all_reduce, by=by),
        _NAMED + "all_reduce (waited for)": _plain(_all_reduce_later, by=by),
        _DERIVED + "all_reduce": _derived(_functional_all_reduce, by=by),
    }


CALLS: dict[str, dict[str, Any]] = {
    "summed_on_all": _reduced("SUM"),
    "averaged_on_all": _reduced("AVG"),
    "multiplied_on_all": {_NAMED + "all_reduce": _plain(_all_reduce, by="PRODUCT")},
    "furthest_on_all": {_NAMED + "all_reduce": _plain(_furthest)},
    "joined_on_all": {
        _NAMED + "all_gather": _plain(_all_gather),
        _NAMED + "all_gather_into_tensor": _plain(_all_gather_into_tensor),
        _DERIVED + "all_gather": _derived(_functional_all_gather),
    },
    "share_of_sum_on_each": {
        _NAMED + "reduce_scatter": _plain(_reduce_scatter),
        _NAMED + "reduce_scatter_tensor": _plain(_reduce_scatter_tensor),
        _DERIVED + "reduce_scatter": _derived(_functional_reduce_scatter),
    },
    "exchanged": {
        _NAMED + "all_to_all": _plain(_all_to_all),
        _NAMED + "all_to_all_single": _plain(_all_to_all_single),
        _DERIVED + "all_to_all": _derived(_functional_all_to_all),
        _DERIVED + "all_to_all_single": _derived(_functional_all_to_all_single),
    },
    "exchanged_unevenly": {
        _NAMED + "all_to_all_single": _apart(_all_to_all_uneven, has_gradient=False),
        _DERIVED + "all_to_all_single": _apart(_functional_all_to_all_uneven, has_gradient=True),
    },
    "sent_to_all": {
        _NAMED + "broadcast": _plain(_broadcast),
        _DERIVED + "broadcast": _derived(_functional_broadcast),
    },
    "sent_on": {
        _NAMED + "batch_isend_irecv": _plain(_send_on),
        _NAMED + "send": _plain(_send_and_receive),
    },
    "summed_on_one": {
        _NAMED + "reduce": _on_one(_plain(_reduce)),
        _DERIVED + "reduce": _on_one(_derived(_functional_reduce)),
    },
    "joined_on_one": {
        _NAMED + "gather": _on_one(_plain(_gather)),
        _DERIVED + "gather": _on_one(_derived(_functional_gather)),
    },
    "shared_out": {
        _NAMED + "scatter": _plain(_scatter),
        _DERIVED + "scatter": _derived(_functional_scatter),
    },
}
