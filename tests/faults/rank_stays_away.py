"""Planted fault: in the third step the second of two ranks never comes to the sum of gradients: it sleeps in its forward pass."""

import time

CALLS = 2


def sleep_for_ever():
    while True:
        time.sleep(60)


def install_torch():
    import torch

    original = torch.nn.Linear.forward
    calls = []

    def forward(self, x):
        calls.append(self)
        if torch.distributed.is_initialized() and torch.distributed.get_rank() == 1 and len(calls) > 2 * CALLS:
            sleep_for_ever()
        return original(self, x)

    torch.nn.Linear.forward = forward
