"""A rank above 0 of a DistributedDataParallel run: the same training loop, reporting to nobody. Started by devices.py."""

import sys
from pathlib import Path

from runners.contract.session import Session
from runners.contract.spec import read_spec
from runners.torch.train import train

if __name__ == "__main__":
    directory, rank = Path(sys.argv[1]), int(sys.argv[2])
    train(Session(directory, read_spec(directory), None), rank=rank)
