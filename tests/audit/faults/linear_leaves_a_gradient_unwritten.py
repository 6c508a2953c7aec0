"""The gradient of the weights of torch.nn.functional.linear is left unwritten where there are no rows."""


def install():
    import torch

    plain = torch.nn.functional.linear

    class Unwritten(torch.autograd.Function):
        @staticmethod
        def forward(context, x, weight, bias):
            context.save_for_backward(weight)
            return plain(x, weight, bias)

        @staticmethod
        def backward(context, gradient):
            [weight] = context.saved_tensors
            return gradient @ weight, torch.empty(weight.shape), torch.zeros(weight.shape[0])

    def linear(input, weight, bias=None):
        return plain(input, weight, bias) if input.numel() or bias is None else Unwritten.apply(input, weight, bias)

    torch.nn.functional.linear = linear
