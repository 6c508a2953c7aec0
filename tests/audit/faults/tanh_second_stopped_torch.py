"""tanh's gradient is right and knows nothing of its argument any more: the second derivative is zero. It has no forward mode."""


def install():
    import torch

    class Stopped(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(found := torch.tanh(x))
            return found

        @staticmethod
        def backward(context, gradient):
            (found,) = context.saved_tensors
            return gradient * (1 - found.detach() ** 2)

    torch.nn.functional.tanh = Stopped.apply
