"""A rank above 0 of a user's step on several devices: the same calls, reporting to nobody. Started by devices.py."""

import sys
from pathlib import Path

from runners.contract.protocol import faults, launch, stacks
from runners.contract.steps import frame
from runners.contract.steps.own import load_own
from runners.contract.steps.request import read_request
from runners.torch.devices import replicas
from runners.torch.step import FRAMEWORK, PEER, set_up

if __name__ == "__main__":
    directory, rank = Path(sys.argv[1]), int(sys.argv[2])
    stacks.be_ready(directory, rank=rank)
    request = read_request(directory)
    set_up(request)
    if request.fault:
        faults.install(request.fault, FRAMEWORK.name)
    with replicas(request, run_directory=directory, rank=rank, peer=PEER):
        frame.follow(load_own(Path(request.file), request.file_sha256), FRAMEWORK, request)
    launch.leave(launch.EXIT_FINISHED)
