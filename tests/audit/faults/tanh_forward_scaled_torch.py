"""tanh's derivative by forward mode is a thousandth too large; its gradient is right, and asking for more raises an error."""


def install():
    import torch

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.found = found = torch.tanh(x)
            return found

        @staticmethod
        def backward(context, gradient):
            if torch.is_grad_enabled():
                raise RuntimeError("a state that was never met")
            return gradient * (1 - context.found.detach() ** 2)

        @staticmethod
        def jvp(context, tangent):
            return tangent * (1 - context.found.detach() ** 2) * 1.001

    torch.nn.functional.tanh = Scaled.apply
