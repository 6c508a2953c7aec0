"""A rank above 0 of a DistributedDataParallel run: the same loop, reporting to nobody. Started by devices.py."""

import sys
from pathlib import Path

from runners.contract.protocol import launch, stacks
from runners.contract.protocol.session import Session
from runners.contract.protocol.spec import read_spec
from runners.torch.train import train
from runners.torch.verify import verify

if __name__ == "__main__":
    directory, rank = Path(sys.argv[1]), int(sys.argv[2])
    stacks.be_ready(directory, rank=rank)
    spec = read_spec(directory)
    (verify if spec.task == "verify" else train)(Session(directory, spec, None), rank=rank)
    launch.leave(launch.EXIT_FINISHED)
