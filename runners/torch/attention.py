"""By which of its kernels PyTorch computes attention: by what it chooses itself, `default`, or by one of them alone."""

from __future__ import annotations

import torch

from runners.contract.errors import Unsupported

_SWITCHES = {
    "math": "enable_math_sdp",
    "flash": "enable_flash_sdp",
    "efficient": "enable_mem_efficient_sdp",
    "cudnn": "enable_cudnn_sdp",
}
_ON_GPUS_ALONE = ("efficient", "cudnn")


def set_up(attention: str, *, device: str, precision: str) -> None:
    """Switch all kernels but one off. Raises Unsupported for one that is not there."""
    del precision
    if attention == "default":
        return
    if device == "cpu" and attention in _ON_GPUS_ALONE:
        raise Unsupported(f"attention {attention}: PyTorch has that kernel on GPUs alone; on CPUs it has math and flash")
    # Named after CUDA, they hold on CPUs, too. Before PyTorch 2.5 there was none for cuDNN's.
    if not hasattr(torch.backends.cuda, _SWITCHES[attention]):
        raise Unsupported(f"attention {attention}: PyTorch {torch.__version__} has no torch.backends.cuda.{_SWITCHES[attention]}")
    for name, switch in _SWITCHES.items():
        if hasattr(torch.backends.cuda, switch):
            getattr(torch.backends.cuda, switch)(name == attention)
