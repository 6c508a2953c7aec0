"""One device, or several: one process a device under DistributedDataParallel, gloo on CPUs and NCCL on GPUs.

Rank 0 is the runner's own process; the others are started by it and end with it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from runners.contract.averages import mean_over_devices
from runners.contract.errors import Unsupported
from runners.contract.protocol import host
from runners.contract.protocol.spec import RunSpec
from runners.contract.protocol.stacks import CONDUCTOR_VARIABLE
from runners.contract.steps.request import StepRequest

PEER = ["-m", "runners.torch.peer"]
_RENDEZVOUS = "VIGIL_TORCH_RENDEZVOUS"
# DIFFERS(torch 2.13): whoever drops the last reference to a gloo group holds Python's lock and waits for the group's thread,
# which waits for that lock to drop a tensor. One run of five hung so at its end. The group lives as long as the process.
_kept: list[dist.ProcessGroup] = []


@dataclasses.dataclass(frozen=True)
class Replica:
    """This process among its peers."""

    rank: int
    world: int
    device: torch.device

    @property
    def is_alone(self) -> bool:
        return self.world == 1


def device_of(kind: str, *, count: int = 1, rank: int = 0) -> torch.device:
    """Return the device of a rank, of so many. Raises Unsupported for GPUs that are not there."""
    if kind == "cpu":
        return torch.device("cpu")
    if torch.cuda.device_count() < count:
        raise Unsupported(f"{count} GPU(s) asked for; torch sees {torch.cuda.device_count()}")
    return torch.device("cuda", rank)


@contextlib.contextmanager
def replicas(
    spec: RunSpec | StepRequest, *, run_directory: Path, rank: int, peer: Sequence[str] | None = None
) -> Iterator[Replica]:
    """Join the process group, starting the other ranks if this is rank 0. Raises Unsupported for devices that are not there."""
    device = device_of(spec.device, count=spec.devices, rank=rank)
    torch.set_num_threads(max(1, spec.threads // spec.devices))
    if spec.devices == 1:
        yield Replica(0, 1, device)
        return
    if not dist.is_available():
        raise Unsupported("this build of PyTorch has no torch.distributed")
    peers = _start_peers(spec, run_directory, peer or PEER) if rank == 0 else []
    if rank:
        _end_with_parent()
    if spec.device == "cpu" and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if spec.device == "gpu":
        torch.cuda.set_device(device)
    try:
        dist.init_process_group(
            "nccl" if spec.device == "gpu" else "gloo",
            init_method=f"file://{os.environ[_RENDEZVOUS]}",
            rank=rank,
            world_size=spec.devices,
            # The conductor ends a hang, and says which rank has not come: a group that gives up before it says neither.
            timeout=timedelta(days=1) if CONDUCTOR_VARIABLE in os.environ else timedelta(minutes=10),
        )
        _kept.append(dist.group.WORLD)
        yield Replica(rank, spec.devices, device)
        dist.barrier()
        for other, peer in enumerate(peers, start=1):
            # Past the barrier its work is done: a process that is slow to end must not fail a finished run.
            try:
                peer.wait(timeout=60)
            except subprocess.TimeoutExpired:
                print(f"rank {other} has not ended 60 s after its last step: killed", file=sys.stderr)
    finally:
        for peer in peers:
            if peer.poll() is None:
                peer.kill()
                peer.wait()
        if rank == 0:
            Path(os.environ[_RENDEZVOUS]).unlink(missing_ok=True)


def _start_peers(
    spec: RunSpec | StepRequest, run_directory: Path, peer: Sequence[str]
) -> list[subprocess.Popen] | list[host.ForkedProcess]:
    rendezvous = run_directory.resolve() / f"rendezvous-{os.getpid()}"
    rendezvous.unlink(missing_ok=True)
    os.environ[_RENDEZVOUS] = str(rendezvous)
    ranks = [str(rank) for rank in range(1, spec.devices)]
    if host.is_forked() and not spec.fault:  # a fault is planted here already, and would be twice in a fork
        return [host.fork(peer[-1], str(run_directory), rank) for rank in ranks]
    return [subprocess.Popen([sys.executable, *peer, str(run_directory), rank]) for rank in ranks]


def _end_with_parent() -> None:
    """End this process when rank 0 is gone, even by kill -9."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def synchronise_batch_norm(model: nn.Module, *, across_devices: str, replica: Replica) -> nn.Module:
    """Return the model with statistics over the global batch, where the recipe asks for them and there are several devices."""
    if replica.is_alone or across_devices != "sync":
        return model
    if replica.device.type == "cuda":
        return nn.SyncBatchNorm.convert_sync_batchnorm(model)
    # torch.nn.SyncBatchNorm refuses tensors that are not on a GPU.
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, CpuSyncBatchNorm.of(child))
    return model


class CpuSyncBatchNorm(nn.BatchNorm2d):
    """Batch norm over the global batch, with the arithmetic in float32 or wider. Shards may differ in size."""

    @classmethod
    def of(cls, norm: nn.BatchNorm2d) -> CpuSyncBatchNorm:
        return cls(norm.num_features, eps=norm.eps, momentum=norm.momentum)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return super().forward(x)
        with torch.autocast("cpu", enabled=False):
            wide = x.to(self.weight.dtype)
            # One sum for both: a compiler may put independent ones into another order on each rank, and pair the wrong ones.
            rows = wide.new_full((1,), wide.numel() // self.num_features)
            total = all_reduce(torch.cat([wide.sum(dim=(0, 2, 3)), rows]))
            count = total[-1]
            mean = total[:-1] / count
            centred = wide - mean[:, None, None]
            variance = all_reduce(centred.square().sum(dim=(0, 2, 3))) / count
            # DIFFERS(torch): a trace does not hold no_grad. Statistics would keep what each step needed for its backward pass.
            self.running_mean.lerp_(mean.detach(), self.momentum)
            self.running_var.lerp_((variance * (count / (count - 1))).detach(), self.momentum)
            scale = self.weight * torch.rsqrt(variance + self.eps)
            return (centred * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)


def _define_all_reduce():
    """Define the differentiable sum over ranks as an operator of its own: a trace and a compiled graph can hold it.

    The total loss sees each rank's input through every rank's output, so the gradient is a sum over ranks too. Where PyTorch
    has no such operators, the sum raises Unsupported when it is called.
    """
    if not hasattr(torch.library, "custom_op"):

        def refuse(x: torch.Tensor) -> torch.Tensor:
            raise Unsupported(
                f"a sum over devices in a forward pass needs torch.library.custom_op of PyTorch 2.4; this is {torch.__version__}"
            )

        return refuse

    @torch.library.custom_op("vigil::all_reduce", mutates_args=())
    def all_reduce(x: torch.Tensor) -> torch.Tensor:
        total = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    all_reduce.register_fake(lambda x: torch.empty_like(x, memory_format=torch.contiguous_format))
    all_reduce.register_autograd(lambda context, gradient: all_reduce(gradient))
    return all_reduce


all_reduce = _define_all_reduce()


def sum_over_replicas(x: torch.Tensor, *, replica: Replica) -> torch.Tensor:
    """Return the sum over ranks, in place."""
    if not replica.is_alone:
        dist.all_reduce(x)
    return x


def gather(value, *, replica: Replica) -> list:
    """Return the values of all ranks, in their order, on every rank."""
    if replica.is_alone:
        return [value]
    values = [None] * replica.world
    dist.all_gather_object(values, value)
    return values


@torch.no_grad()
def spread(tensors: Iterable[torch.Tensor], *, replica: Replica) -> float:
    """Return the largest difference between ranks of any element."""
    flat = [tensor.flatten().double() for tensor in tensors]
    if replica.is_alone or not flat:
        return 0.0
    lowest = torch.cat(flat)
    highest = lowest.clone()
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    return float((highest - lowest).max())


def average_statistics(model: nn.Module, *, weights: Sequence[float], replica: Replica) -> None:
    """Set the running statistics of every rank to their mean, in which each rank's weigh so much; the weights add up to 1.

    A running mean is linear, so averaging now and then gives the same as averaging after every step.
    """
    if replica.is_alone:
        return
    for buffer in running_statistics(model):
        held = [torch.empty_like(buffer) for _ in weights]
        dist.all_gather(held, buffer)
        buffer.copy_(mean_over_devices(held, weights))


def running_statistics(model: nn.Module) -> list[torch.Tensor]:
    """Return the running means and variances of every batch norm."""
    norms = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    return [buffer for norm in norms for buffer in (norm.running_mean, norm.running_var)]
