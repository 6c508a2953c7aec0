"""eager: as written. jit: torch.jit.trace. compile: torch.compile."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import torch
from torch import nn

from runners.contract import compiled
from runners.contract.errors import Unsupported

# The file of a run directory that the rank which compiles has locked.
_TURN = "compiling"
_turn: list[Path] = []


def keep_compiled(spec: compiled.Compiling, *, run_directory: Path) -> None:
    """Keep what Inductor compiles to verify in a folder of this release; one that the user has named stays."""
    libraries = (Path(torch.__file__).parent / "lib").glob("libtorch*")
    folder = compiled.directory_for(spec, version=torch.__version__, libraries=libraries, distribution="torch")
    if folder is None or spec.mode != "compile":
        return
    # The key of a cached program leaves out to which type autocast casts, before 2.13 (pytorch/pytorch#181564): a step in
    # float16 would run what was compiled for bfloat16.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / spec.precision))
    _link_fast(folder)
    # Other ranks are forked from the first one, and come here as well.
    _turn[:] = [run_directory / _TURN] if spec.devices > 1 and len(set(spec.shards)) == 1 else []


def _link_fast(folder: Path) -> None:
    """Let gold link each kernel, where it is installed: in 0.1 s, and GNU's other linker takes 0.3 of a second's compilation."""
    gold = shutil.which("ld.gold")
    if gold is None or "COMPILER_PATH" in os.environ:
        return
    linker = folder / "linker" / "ld"
    with suppress(OSError):
        linker.parent.mkdir(exist_ok=True)
        with suppress(FileExistsError):
            linker.symlink_to(gold)
        os.environ["COMPILER_PATH"] = str(linker.parent)


def _take_turns() -> None:
    """Let one rank compile at a time: what the first has compiled the others find, since their graphs are the same."""
    if not _turn or importlib.util.find_spec("torch._dynamo.callback") is None:
        return
    from torch._dynamo import callback

    [path] = _turn
    held: list[IO[bytes]] = []

    def begin(*_: object) -> None:
        held.append(path.open("ab"))
        fcntl.flock(held[0], fcntl.LOCK_EX)

    callback.on_compile_start(begin)
    callback.on_compile_end(lambda *_: held.pop().close())


def trace(model: nn.Module, example: torch.Tensor | tuple, *, training: bool, autocast) -> nn.Module:
    """Return the model traced on an example (or a tuple of arguments), in training or evaluation mode: a trace holds one.

    The trace shares parameters and statistics with the model. The example moves what a forward pass moves, so it is put back.
    """
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.train(training)
    # The cache of autocast would record one cast of each weight as a constant.
    with autocast, warnings.catch_warnings(), torch.set_grad_enabled(training):
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        traced = torch.jit.trace(model, example, check_trace=False)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(before[name])
    return traced


def program(model: nn.Module, arguments: tuple, *, mode: str, autocast) -> Callable:
    """Return the model, in training mode, as a program of a mode for these arguments."""
    if mode == "jit":
        return trace(model, arguments, training=True, autocast=autocast)
    if mode == "compile":
        forget_compiled(mode)
        return compile_function(model)
    return model


def forget_compiled(mode: str) -> None:
    """Drop what torch.compile has made: a second size of the same code would be compiled with a dynamic shape.

    After eight programs of the same code it would fall back to eager, too.
    """
    if mode == "compile":
        torch._dynamo.reset()
        _take_turns()


def compile_function(function: Callable, *, dynamic: bool | None = None) -> Callable:
    """Return torch.compile of a function or module. Raises Unsupported where this PyTorch has no compiler.

    Args:
        dynamic: False compiles each size anew; None, PyTorch's own choice, makes a size dynamic that it has met two of.
    """
    if not hasattr(torch, "compile"):
        raise Unsupported(f"torch.compile came with PyTorch 2.0; this is {torch.__version__}")
    return torch.compile(function, dynamic=dynamic)
