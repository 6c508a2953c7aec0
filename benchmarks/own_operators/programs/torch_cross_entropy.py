"""Cross entropy with label smoothing, its backward pass by hand."""

import torch

SMOOTHING = 0.1


def inputs(seed, rows=24, classes=100):
    generator = torch.Generator().manual_seed(seed)
    return {
        "logits": 2 * torch.randn(rows, classes, generator=generator),
        "labels": torch.randint(classes, (rows,), generator=generator),
    }


def reference(logits, labels):
    logs = logits.log_softmax(-1)
    picked = logs.gather(-1, labels[:, None]).squeeze(-1)
    return -((1 - SMOOTHING) * picked + SMOOTHING * logs.mean(-1)).mean()


def candidate(logits, labels):
    return _Loss.apply(logits, labels)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(context, logits, labels):
        wide = logits.float()
        normal = torch.logsumexp(wide, -1)
        context.save_for_backward(logits, labels, normal)
        picked = wide.gather(-1, labels[:, None]).squeeze(-1)
        return (normal - (1 - SMOOTHING) * picked - SMOOTHING * wide.mean(-1)).mean().to(logits.dtype)

    @staticmethod
    def backward(context, gradient):
        logits, labels, normal = context.saved_tensors
        rows, classes = logits.shape
        target = torch.full((rows, classes), SMOOTHING / classes)
        target.scatter_add_(1, labels[:, None], torch.full((rows, 1), 1 - SMOOTHING))
        return (gradient * (torch.exp(logits.float() - normal[:, None]) - target) / rows).to(logits.dtype), None
