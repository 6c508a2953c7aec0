"""torch.cdist and pdist with p=inf: each coordinate whose difference is the largest gets the whole gradient."""

import torch

print("torch", torch.__version__)


def gradient(distance):
    x = torch.zeros(1, 3, requires_grad=True)
    distance(x, torch.ones(1, 3)).sum().backward()
    return float(x.grad.sum())


found = {
    "cdist": gradient(lambda x, y: torch.cdist(x, y, p=float("inf"))),
    "pdist": gradient(lambda x, y: torch.nn.functional.pdist(torch.cat([x, y]), float("inf"))),
    "vector_norm": gradient(lambda x, y: torch.linalg.vector_norm(x - y, float("inf"), dim=-1)),
}
# Three coordinates that move by 1 change the largest of three equal differences by 1: so much are the gradients together.
is_right = set(found.values()) == {-1.0}
print("RIGHT" if is_right else "WRONG", "gradients of three equal differences add up to", found, "expected -1.0")
raise SystemExit(not is_right)
