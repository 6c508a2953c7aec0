"""What a trace of PyTorch leaves behind: it records no `no_grad`."""

from __future__ import annotations

import contextlib

import pytest

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", ["over devices", "of a detector"])
def test_running_statistics_keep_no_step(monkeypatch, name):
    """Else memory grows by all that each step needs for its backward pass: 15 MB a step of ResNet-8 on two devices."""
    import torch

    from runners.torch import devices, modes
    from runners.torch.models import tiny_mask_rcnn

    class BehindAConvolution(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(3, 3, 1), norm

        def forward(self, x, *more):
            return self.norm(self.conv(x), *more)

    monkeypatch.setattr(devices, "all_reduce", lambda x: x)
    if name == "over devices":
        norm, more = devices.CpuSyncBatchNorm(3), ()
    else:
        norm, more = tiny_mask_rcnn.RegionBatchNorm(3, epsilon=1e-5, momentum=0.1, is_alone=True), (torch.ones(4),)
    arguments, before = (torch.randn(4, 3, 5, 5), *more), norm.running_var.clone()
    traced = modes.trace(BehindAConvolution(), arguments, training=True, autocast=contextlib.nullcontext())
    traced(*arguments).sum().backward()
    assert not torch.equal(norm.running_var, before)
    assert not any(each.requires_grad for each in (norm.running_mean, norm.running_var))
