"""softmax's gradient is NaN at one element, and exp leaves its last element away."""


def install():
    import torch
    from torch.nn import functional

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(context, x, axis):
            context.axis = axis
            context.save_for_backward(found := x.softmax(axis))
            return found

        @staticmethod
        def backward(context, gradient):
            (found,) = context.saved_tensors
            pulled = found * (gradient - (gradient * found).sum(context.axis, keepdim=True))
            pulled.view(-1)[-1] = float("nan")
            return pulled, None

    right = torch.exp
    functional.softmax = Wrong.apply
    torch.exp = lambda x: right(x)[:-1]
