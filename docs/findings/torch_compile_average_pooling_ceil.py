"""torch.compile divides the gradient of a window that hangs over the edge by the whole kernel: PyTorch, Inductor.

With `ceil_mode=True` the last window of an average pooling may hold fewer elements. The forward pass divides by as many as there
are, and so does eager's gradient. Inductor's gradient divides by the size of the kernel. Run it with PyTorch alone.
"""

import torch
import torch.nn.functional as F


def gradient(function):
    """Return the gradient of the sum of what a function makes of a 3x3 image of ones."""
    image = torch.ones(1, 1, 3, 3, requires_grad=True)
    return torch.autograd.grad(function(image).sum(), image)[0][0, 0]


def pool(image):
    return F.avg_pool2d(image, 2, ceil_mode=True)


eager, compiled = gradient(pool), gradient(torch.compile(pool))
# Four windows of 4, 2, 2 and 1 elements: each element has its share of its window.
right = torch.tensor([[0.25, 0.25, 0.5], [0.25, 0.25, 0.5], [0.5, 0.5, 1.0]])
print(f"PyTorch {torch.__version__}")
print(f"right    {right.flatten().tolist()}")
print(f"eager    {eager.flatten().tolist()}: {'RIGHT' if torch.equal(eager, right) else 'WRONG'}")
print(f"compiled {compiled.flatten().tolist()}: {'RIGHT' if torch.equal(compiled, right) else 'WRONG'}")
is_right = torch.allclose(eager, right) and torch.allclose(compiled, right)
print("RIGHT" if is_right else "WRONG", "got", compiled[-1, -1].item(), "expected", 1.0)
raise SystemExit(not is_right)
