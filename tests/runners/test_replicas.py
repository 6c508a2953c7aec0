"""What devices hold alike, and what they add up, also in a release that cannot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runners.contract.errors import Unsupported
from runners.contract.protocol.spec import write_spec
from tests.runners.harness import make_spec
from vigil.paths import project_root

SCRIPT = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from runners.jax.devices import spread_between

mesh = Mesh(np.array(jax.devices()), ("batch",))
everywhere, spread = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("batch"))
keys = jax.device_put(np.arange(8.0).reshape(4, 2), spread)
queue = jax.device_put(np.arange(100.0, 112.0).reshape(6, 2), everywhere)
copies = [jax.device_put(np.array([1.0, 2.0, last]), device) for device, last in zip(jax.devices(), (3.0, 3.5))]
apart = jax.make_array_from_single_device_arrays((3,), everywhere, copies)
print(spread_between([jnp.concatenate([keys, queue[:-4]]), queue]), spread_between([queue, apart]))
"""


@pytest.mark.jax
def test_an_array_spread_over_devices_is_no_difference_between_them():
    """A queue that took up a spread batch lies in parts, which are no copies; copies that differ by a half are found."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=project_root(), capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["0.0", "0.5"], done.stderr


LEAVING = """
import sys, weakref
from pathlib import Path
import torch.distributed as dist
from runners.contract.protocol import launch
from runners.contract.protocol.spec import read_spec
from runners.torch import devices

directory, rank = Path(sys.argv[1]), int(sys.argv[2])
devices.PEER = [__file__]
with devices.replicas(read_spec(directory), run_directory=directory, rank=rank):
    group = weakref.ref(dist.group.WORLD)
dist.destroy_process_group()
print(rank, group() is not None)
launch.leave(0)
"""


@pytest.mark.torch
def test_the_group_of_devices_is_not_taken_down(tmp_path):
    """Whoever drops the last reference to it may wait for ever (docs/findings.md): each rank keeps one."""
    write_spec(tmp_path, make_spec("torch", shards=(7, 5), steps=1))
    script = tmp_path / "leaving.py"
    script.write_text(LEAVING)
    path = {**os.environ, "PYTHONPATH": str(project_root())}
    command = [sys.executable, str(script), str(tmp_path), "0"]
    done = subprocess.run(command, env=path, capture_output=True, text=True, timeout=300)
    assert sorted(done.stdout.splitlines()) == ["0 True", "1 True"], done.stderr


@pytest.mark.torch
def test_a_release_without_the_sum_over_devices_is_unsupported(monkeypatch):
    """PyTorch before 2.4 has no operators of one's own: the keys of two devices cannot be joined, and that is said."""
    import torch

    from runners.torch import devices
    from runners.torch.models import moco_lite

    monkeypatch.delattr(torch.library, "custom_op")
    monkeypatch.setattr(devices, "all_reduce", devices._define_all_reduce())
    model = moco_lite.build(make_spec("torch", "moco_lite").training["model"], shards=(8, 4), rank=0)
    with pytest.raises(Unsupported, match=r"PyTorch 2\.4"):
        model.of_all_devices(torch.zeros(8, 8))


TURNS = """
import fcntl, os, sys
from pathlib import Path
import torch
from runners.contract.protocol.spec import read_spec
from runners.torch import modes

def is_free(lock):
    if not lock.exists():
        return True
    with lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True

def in_a_fork(work, *arguments):
    if not os.fork():
        work(*arguments)
        os._exit(0)
    assert os.wait()[1] == 0

def rank(directory, is_first):
    modes.keep_compiled(read_spec(directory), run_directory=directory)
    kept = Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "nowhere")).name
    if is_first:  # it forks the others
        return in_a_fork(rank, directory, False)
    seen = []

    def backend(graph, inputs):
        seen.append(is_free(directory / "compiling"))
        return graph

    for size in (2, 3):
        modes.forget_compiled("compile")
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(size))
        seen.append(is_free(directory / "compiling"))
    print(directory.name, *seen, kept, flush=True)

for directory in sys.argv[1:]:
    in_a_fork(rank, Path(directory), True)
"""


@pytest.mark.torch
def test_ranks_that_compile_the_same_graph_take_turns(tmp_path):
    """The lock is held while one compiles, also after all was forgotten, and only then; other graphs wait for nobody.

    A precision never runs what was compiled for another one, and training keeps nothing.
    """
    specs = {
        "alike": {"shards": (6, 6), "task": "verify"},
        "uneven": {"shards": (7, 5), "task": "verify"},
        "alone": {"task": "verify"},
        "low": {"task": "verify", "precision": "bf16"},
        "trained": {"shards": (6, 6)},
    }
    for name, changes in specs.items():
        (tmp_path / name).mkdir()
        write_spec(tmp_path / name, make_spec("torch", mode="compile", **changes))
    environment = {**os.environ, "PYTHONPATH": str(project_root()), "VIGIL_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", TURNS, *(str(tmp_path / name) for name in specs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    # Is it free while rank 1 compiles, and after? Two times.
    free = {name: "False True" if name == "alike" else "True True" for name in specs}
    kept = {"low": "bf16", "trained": "nowhere"}
    expected = [f"{name} {free[name]} {free[name]} {kept.get(name, 'fp32')}" for name in specs]
    assert done.stdout.splitlines() == expected, done.stderr
    assert done.returncode == 0
