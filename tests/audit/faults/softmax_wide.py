"""Softmax of rows beyond 1,024 that four does not divide takes its sum without the last elements: a kernel's tail."""


def install():
    from torch.nn import functional

    right = functional.softmax

    def wrong(input, dim, **further):
        found = right(input, dim, **further)
        width = input.shape[dim]
        if width > 1024 and width % 4:
            whole = found.narrow(dim, 0, width - width % 4).sum(dim, keepdim=True)
            found = found / whole
        return found

    functional.softmax = wrong
