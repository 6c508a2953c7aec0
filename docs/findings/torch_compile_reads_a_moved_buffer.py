"""Compiled, a gradient that needs a buffer's copy is taken from the buffer itself, which the forward pass has changed since."""

import numpy as np
import torch


class Queue(torch.nn.Module):
    """Features against a queue of keys, as in momentum contrast: read through a copy, and then moved."""

    def __init__(self):
        super().__init__()
        self.register_buffer("queue", torch.from_numpy(generator.normal(size=(48, 16))))

    def forward(self, features, keys):
        logits = features @ self.queue.clone().t()
        self.queue.copy_(torch.cat([keys, self.queue[: -len(keys)]]))
        return logits.square().sum()


generator = np.random.default_rng(0)
features, keys = generator.normal(size=(12, 16)), generator.normal(size=(12, 16))
model = Queue()
before = model.queue.clone()
right = 2 * (features @ before.numpy().T) @ before.numpy()
errors = []
for name, backend in (("eager", None), ("aot_eager", "aot_eager"), ("inductor", "inductor")):
    torch._dynamo.reset()
    model.queue.copy_(before)
    program = torch.compile(model, backend=backend) if backend else model
    given = torch.from_numpy(features).requires_grad_()
    loss = program(given, torch.from_numpy(keys))
    loss.backward()
    error = np.linalg.norm(given.grad.numpy() - right) / np.linalg.norm(right)
    errors.append(float(error))
    print(f"{name:9s} loss {loss.item():.4f}, relative error of the gradient {error:.1e}")
is_right = max(errors) < 1e-9
print("RIGHT" if is_right else "WRONG", "got", errors[-1], "expected", 0.0)
raise SystemExit(not is_right)
