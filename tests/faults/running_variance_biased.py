"""Planted fault: every batch norm adds the biased batch variance to the running one, without the factor n / (n - 1)."""


def install_torch():
    import torch

    from runners.torch import devices

    torch.nn.BatchNorm2d.forward = _biased(torch.nn.BatchNorm2d.forward)
    for norm in (torch.nn.SyncBatchNorm, devices.CpuSyncBatchNorm):
        norm.forward = _biased_over_devices(norm.forward, all_reduce=devices.all_reduce)


def install_tensorflow():
    from runners.tensorflow.devices import BatchNorm

    del BatchNorm.call  # what is left is that of Keras, which takes the biased one


def install_jax():
    from flax import nnx

    from runners.jax.batch_norm import BatchNorm

    original = BatchNorm.__call__

    def biased(self, x, mask=None):
        if self.use_running_average:
            return original(self, x, mask)
        rows = None if mask is None else mask.reshape(-1, *[1] * (x.ndim - 1))
        return nnx.BatchNorm.__call__(self, x, mask=rows).astype(x.dtype)

    BatchNorm.__call__ = biased


def _biased(original):
    import torch

    def forward(self, x):
        if not self.training:
            return original(self, x)
        y = torch.nn.functional.batch_norm(x, None, None, self.weight, self.bias, True, self.momentum, self.eps)
        with torch.no_grad():
            variance, mean = torch.var_mean(x.to(self.weight.dtype), dim=(0, 2, 3), correction=0)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance, self.momentum)
        return y

    return forward


def _biased_over_devices(original, *, all_reduce):
    import torch

    def forward(self, x):
        if not self.training:
            return original(self, x)
        before = self.running_var.clone()
        y = original(self, x)
        with torch.no_grad():
            n = all_reduce(self.weight.new_tensor(float(x.numel() // self.num_features)))
            self.running_var.sub_((self.running_var - (1 - self.momentum) * before) / n)
        return y

    return forward
