"""fp32, tf32, bf16 and fp16 by autocast (fp16 with loss scaling), fp64."""

from __future__ import annotations

import torch

from runners.contract.errors import Unsupported

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def set_up(precision: str, *, device: str) -> None:
    """Set the process-wide precision of float32 products. Raises Unsupported where the device has no such arithmetic."""
    if precision == "tf32" and device != "gpu":
        raise Unsupported("tf32 is an arithmetic of NVIDIA GPUs from Ampere on; the CPU has none")
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def dtype_of_parameters(precision: str) -> torch.dtype:
    return torch.float64 if precision == "fp64" else torch.float32


def autocast(precision: str, *, device: torch.device) -> torch.autocast:
    """Return the context manager for a forward pass; it does nothing outside mixed precision."""
    return torch.autocast(device.type, dtype=AUTOCAST.get(precision, torch.bfloat16), enabled=precision in AUTOCAST)


def gradient_scaler(precision: str, *, device: torch.device) -> torch.amp.GradScaler:
    """Return the loss scaler; it passes values through unless the precision is fp16."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
