"""Each number of a window that equals the largest gets the whole gradient, in max_pool2d without borders."""


def install():
    import torch

    plain = torch.nn.functional.max_pool2d

    class Each(torch.autograd.Function):
        @staticmethod
        def forward(context, x, window, strides):
            context.save_for_backward(x)
            context.form = window, strides
            return plain(x, window, strides)

        @staticmethod
        def backward(context, gradient):
            window, strides = context.form
            x = context.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                seen = x.unfold(2, window[0], strides[0]).unfold(3, window[1], strides[1])
            shares = gradient[..., None, None] * (seen == seen.amax((-2, -1), keepdim=True))
            return torch.autograd.grad(seen, x, shares)[0], None, None

    def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, **more):
        if ceil_mode or (padding, dilation) != ([0, 0], [1, 1]):
            return plain(input, kernel_size, stride, padding, dilation, ceil_mode, **more)
        return Each.apply(input, kernel_size, stride)

    torch.nn.functional.max_pool2d = max_pool2d
