"""Softmax of rows beyond 1,024 that four does not divide takes its sum without the last elements: a kernel's tail."""


def install():
    from torch.nn import functional

    right = functional.softmax

    def wrong(x, axis):
        found = right(x, axis)
        width = x.shape[axis]
        if width > 1024 and width % 4:
            whole = found.narrow(axis, 0, width - width % 4).sum(axis, keepdim=True)
            found = found / whole
        return found

    functional.softmax = wrong
