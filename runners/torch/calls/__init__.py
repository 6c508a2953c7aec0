"""The public calls that are audited: one module a family, `CALLS` by operator and public name."""

NAMESPACES = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.special", "torch.linalg", "torch.fft", "torch.optim",
    "torch.optim.lr_scheduler",
)  # fmt: skip
