"""Ends of two processes that trained under DistributedDataParallel on gloo: how many of 10 pairs hang.

Whoever drops the last reference to the group holds Python's lock and waits for the group's thread, which waits for that lock to
drop a tensor. It needs a busy core: both processes are put on one. `python docs/findings/torch_gloo_group_hangs.py`
"""

import os
import subprocess
import sys
import tempfile

PAIRS, SECONDS = 10, 30


def train(rank: int, rendezvous: str) -> None:
    """Take one step and return: the model, and with it the last reference to the group, goes at the end of the function."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    model(torch.ones(4, 8)).sum().backward()
    dist.barrier()
    dist.destroy_process_group()


def hangs() -> bool:
    """Start a pair; is one of them there after half a minute?"""
    with tempfile.TemporaryDirectory() as folder:
        pair = [subprocess.Popen([sys.executable, __file__, str(rank), f"{folder}/rendezvous"]) for rank in (0, 1)]
        try:
            for process in pair:
                process.wait(timeout=SECONDS)
            return False
        except subprocess.TimeoutExpired:
            return True
        finally:
            for process in pair:
                process.kill()
                process.wait()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        train(int(sys.argv[1]), sys.argv[2])
    else:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        print(sum(hangs() for _ in range(PAIRS)), "of", PAIRS, "pairs hang")
