"""PyTorch: padding, of the last axes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import nn

Call = Callable[..., Any]


def _flat(widths: Any) -> tuple[int, ...]:
    return tuple(each for pair in reversed(widths) for each in pair)


def _mode(mode: str) -> Call:
    return lambda x, widths: F.pad(x, _flat(widths), mode=mode)


def _layer(kind: Any) -> Call:
    return lambda x, widths: kind(_flat(widths))(x)


def _calls(rank: int) -> dict[str, dict[str, Call]]:
    constant = getattr(nn, f"ConstantPad{rank}d")
    calls: dict[str, dict[str, Call]] = {
        "constant": {
            "torch.nn.functional.pad": lambda x, widths, value: F.pad(x, _flat(widths), value=value),
            f"torch.nn.ConstantPad{rank}d": lambda x, widths, value: constant(_flat(widths), value)(x),
        },
        "negative": {
            "torch.nn.functional.pad": lambda x, widths: F.pad(x, _flat(widths)),
            f"torch.nn.ZeroPad{rank}d": _layer(getattr(nn, f"ZeroPad{rank}d", None)),
        },
    }
    for name, mode, kind in (("reflect", "reflect", "Reflection"), ("edge", "replicate", "Replication"), ("circular",) * 3):
        layer = f"{kind.capitalize()}Pad{rank}d"
        calls[name] = {"torch.nn.functional.pad": _mode(mode), f"torch.nn.{layer}": _layer(getattr(nn, layer, None))}
    return {f"pad_{name}_{rank}d": each for name, each in calls.items()}


CALLS = {**_calls(1), **_calls(2), **_calls(3)}
