"""A second process, with which this one takes collectives together: each of the two has one row of what is given.

`python -m runners.torch.together RENDEZVOUS DESCRIPTOR` is that process. It does what it is told through a pipe, until that ends.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from runners.contract.errors import Unsupported

_DEVICES = 2
_TIMEOUT = timedelta(seconds=60)
_other: list[_Other] = []


def together(work: Callable[..., torch.Tensor], *, has_gradient: bool) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Return a call of two rows: work, a function of a module, is done in both processes, each on its own row.

    has_gradient: what the work calls has a gradient, which is taken in both processes as well.
    """

    def call(*rows: torch.Tensor, **parameters: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if rows[0].device.type != "cpu":
            raise Unsupported("two processes that share a GPU are not asked")
        if rows[0].requires_grad and not has_gradient:
            raise RuntimeError(f"a gradient is not implemented for {work.__qualname__}")
        return _Together.apply(work, parameters, *rows)

    return call


class _Together(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, work: Callable[..., torch.Tensor], parameters: dict[str, Any], *rows: torch.Tensor) -> Any:
        own, theirs = rows
        ctx.own = _Work(work, parameters, own, has_gradient=own.requires_grad)
        return _both(("do", work, parameters, _packed(theirs), own.requires_grad), ctx.own.do)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[None, None, torch.Tensor, torch.Tensor]:
        if torch.is_grad_enabled():
            raise RuntimeError("a second derivative is not implemented for what two processes do together")
        own, theirs = cotangents
        return None, None, *_both(("pull", _packed(theirs)), lambda: ctx.own.pull(own))


class _Work:
    """One process's part."""

    def __init__(
        self, work: Callable[..., torch.Tensor], parameters: dict[str, Any], row: torch.Tensor, *, has_gradient: bool
    ) -> None:
        self._work, self._parameters = work, parameters
        self._row = row.detach().clone().contiguous().requires_grad_(has_gradient)
        self._found = self._row

    def do(self) -> torch.Tensor:
        with torch.enable_grad():
            self._found = self._work(self._row, **self._parameters)
        return self._found.detach()

    def pull(self, cotangent: torch.Tensor) -> torch.Tensor:
        [gradient] = torch.autograd.grad(self._found, [self._row], [cotangent.contiguous()])
        return gradient


class _Other:
    """The other process, as this one sees it. It ends when this one does, which closes the pipe."""

    def __init__(self) -> None:
        if not dist.is_available():
            raise Unsupported("this build of PyTorch has no torch.distributed")
        self.pipe, theirs = Pipe()
        with tempfile.TemporaryDirectory(prefix="vigil-together-") as folder:
            rendezvous = str(Path(folder) / "rendezvous")
            command = [sys.executable, "-m", "runners.torch.together", rendezvous, str(theirs.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
            theirs.close()
            _join(rendezvous, rank=0)
            self.heard()  # it has joined as well, so that nobody needs the file any more

    def heard(self) -> Any:
        """Return what it says. Raises RuntimeError where it says nothing any more."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError) as error:
            raise RuntimeError(f"the other device: its process has ended, with exit code {self._process.wait()}") from error


def _both(order: tuple[Any, ...], own: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what both processes have, this one's first. Raises RuntimeError with what either says."""
    if not _other:
        _other.append(_Other())
    [other] = _other
    other.pipe.send(order)
    try:
        found = own()
    except Exception:
        # It fails there alike, or waits for what does not come: then its group gives up.
        other.heard()
        raise
    is_well, answer = other.heard()
    if not is_well:
        raise RuntimeError(f"the other device: {answer}")
    return found, _unpacked(answer)


def _join(rendezvous: str, *, rank: int) -> None:
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=_DEVICES, timeout=_TIMEOUT)


def _packed(tensor: torch.Tensor) -> bytes:
    """Return a tensor as bytes: NumPy has no bfloat16."""
    file = io.BytesIO()
    torch.save(tensor.detach().clone(), file)
    return file.getvalue()


def _unpacked(content: bytes) -> torch.Tensor:
    return torch.load(io.BytesIO(content), weights_only=True)


def main(rendezvous: str, descriptor: int) -> None:
    """Do what the first process says, until it ends."""
    torch.set_num_threads(1)
    pipe: Connection = Connection(descriptor)
    _join(rendezvous, rank=1)
    pipe.send("joined")
    own: _Work | None = None
    while True:
        try:
            what, *rest = pipe.recv()
        except EOFError:
            return
        try:
            if what == "do":
                work, parameters, row, has_gradient = rest
                own = _Work(work, parameters, _unpacked(row), has_gradient=has_gradient)
                found = own.do()
            else:
                assert own, "nothing was done that could be pulled back"
                found = own.pull(_unpacked(rest[0]))
            pipe.send((True, _packed(found)))
        except Exception as error:  # told to the first process, which is asked
            pipe.send((False, f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
