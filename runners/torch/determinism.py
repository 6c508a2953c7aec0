"""`on`: every kernel gives the same bits each time, or refuses to run. `off`: PyTorch as it is installed."""

from __future__ import annotations

import os

import torch


def set_up(determinism: str) -> None:
    if determinism == "on":
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # cuBLAS reads it when CUDA starts
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.benchmark = False
