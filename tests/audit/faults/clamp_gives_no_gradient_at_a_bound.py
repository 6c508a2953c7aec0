"""Where a number equals a bound, torch.clamp gives neither of them a gradient."""


def install():
    import torch

    plain = torch.clamp

    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(context, x, low, high):
            context.save_for_backward(x, low, high)
            return plain(x, low, high)

        @staticmethod
        def backward(context, gradient):
            x, low, high = context.saved_tensors
            return gradient * ((low < x) & (x < high)), gradient * (x < low), gradient * (high < x)

    torch.clamp = Inside.apply
