"""Planted fault: one all-reduce of forty gives this device what it put in, and no sum; the others are right."""


def install():
    import torch.distributed as dist

    all_reduce, calls = dist.all_reduce, []

    def reduced(tensor, *arguments, **more):
        own = tensor.clone()
        found = all_reduce(tensor, *arguments, **more)
        calls.append(None)
        if len(calls) % 40 == 0:
            tensor.copy_(own)
        return found

    dist.all_reduce = reduced
