"""Which contexts a matrix and a verification of all of them have."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from vigil.documents.context import Context, make_context

ALL_PRECISIONS = ("fp32", "bf16", "fp16", "fp64")
ALL_GPU_PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp64")
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
    frameworks: Sequence[str],
    *,
    modes: Sequence[str],
    precisions: Sequence[str],
    batch_size: int,
    rows: int = 1,
    device: str = "cpu",
) -> list[Context]:
    """Return every combination with one device, two, and two with uneven shards, as far as the batch has parts to share.

    Of GPUs one alone: a machine has as many as it has.
    """
    parts = batch_size // rows
    placements: list[tuple[int, tuple[int, int] | None]] = [(1, None)]
    if parts > 1 and device == "cpu":
        placements.append((2, None))
    if parts > 2 and device == "cpu":
        placements.append((2, uneven_shards(batch_size, rows=rows)))
    return [
        make_context(framework=framework, mode=mode, precision=precision, device=device, devices=devices, shards=shards)
        for framework, mode, precision, (devices, shards) in itertools.product(frameworks, modes, precisions, placements)
    ]


def in_short_form(contexts: Sequence[Context]) -> set[Context]:
    """Return the contexts for which a verification of training steps on margin batches is enough beside their neighbours."""
    present = set(contexts)
    return {context for context in contexts if len(near := neighbours(context)) > 1 and set(near) <= present}


def neighbours(context: Context) -> list[Context]:
    """Return the contexts that differ from mode jit in fp32 on one device in one thing alone that this context has too.

    Of a compiled program in bf16 on two devices: one that is compiled, one in bf16, one on two devices. A context of two such
    things or more is verified in the short form where each of them is verified in full.
    """
    plain = dataclasses.replace(context, mode="jit", precision="fp32", devices=1, shards=None)
    each_alone = (
        dataclasses.replace(plain, mode=context.mode),
        dataclasses.replace(plain, precision=context.precision),
        dataclasses.replace(plain, devices=context.devices, shards=context.shards),
    )
    return [alone for alone in each_alone if alone != plain]


def uneven_shards(batch_size: int, *, rows: int = 1) -> tuple[int, int]:
    """Return how many images each of two devices has when the first has more, about five eighths.

    Args:
        rows: of a part of the batch that no device may split.
    """
    parts = batch_size // rows
    first = rows * min(max(parts * 5 // 8, parts // 2 + 1), parts - 1)
    return first, batch_size - first
