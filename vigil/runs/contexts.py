"""Which contexts a matrix and a verification of all of them have."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from vigil.documents.context import Context, make_context

ALL_PRECISIONS = ("fp32", "bf16", "fp16", "fp64")
MATRIX_MODES = ("eager", "jit", "compile")
MATRIX_PRECISIONS = ("fp32", "bf16")
MATRIX_DEVICES = (1, 2)


def matrix_contexts(
    frameworks: Sequence[str],
    *,
    modes: Sequence[str] = MATRIX_MODES,
    precisions: Sequence[str] = MATRIX_PRECISIONS,
    devices: Sequence[int] = MATRIX_DEVICES,
    device: str = "cpu",
) -> list[Context]:
    """Return every combination, framework by framework; what a framework cannot offer is its runner's to say."""
    return [
        make_context(framework=framework, mode=mode, precision=precision, device=device, devices=count)
        for framework, mode, precision, count in itertools.product(frameworks, modes, precisions, devices)
    ]


def every_context(
    frameworks: Sequence[str], *, modes: Sequence[str], precisions: Sequence[str], batch_size: int, rows: int = 1
) -> list[Context]:
    """Return every combination with one device, two, and two with uneven shards, as far as the batch has parts to share."""
    parts = batch_size // rows
    placements: list[tuple[int, tuple[int, int] | None]] = [(1, None)]
    if parts > 1:
        placements.append((2, None))
    if parts > 2:
        placements.append((2, uneven_shards(batch_size, rows=rows)))
    return [
        make_context(framework=framework, mode=mode, precision=precision, devices=devices, shards=shards)
        for framework, mode, precision, (devices, shards) in itertools.product(frameworks, modes, precisions, placements)
    ]


def in_short_form(contexts: Sequence[Context]) -> set[Context]:
    """Return the contexts for which a verification of training steps on margin batches is enough beside their neighbours.

    They are compiled programs on several devices. Their neighbours are the same program on one device, and the same devices in
    mode jit: both must be there, to be verified in full. A compiler takes most of the time of all contexts.
    """
    present = set(contexts)
    return {
        context
        for context in contexts
        if context.mode == "compile"
        and context.devices > 1
        and {dataclasses.replace(context, devices=1, shards=None), dataclasses.replace(context, mode="jit")} <= present
    }


def uneven_shards(batch_size: int, *, rows: int = 1) -> tuple[int, int]:
    """Return how many images each of two devices has when the first has more, about five eighths.

    Args:
        rows: of a part of the batch that no device may split.
    """
    parts = batch_size // rows
    first = rows * min(max(parts * 5 // 8, parts // 2 + 1), parts - 1)
    return first, batch_size - first
