"""Planted fault: every 256th step takes twice its learning rate.

In TensorFlow and JAX the rate is patched where it enters the runner, as in learning_rate_late.py.
"""

EVERY = 256


def install_torch():
    import torch

    original = torch.optim.SGD.step

    def step(self, *arguments, **options):
        self.steps_taken = getattr(self, "steps_taken", 0) + 1
        rates = [group["lr"] for group in self.param_groups]
        for group in self.param_groups:
            group["lr"] *= 2.0 if self.steps_taken % EVERY == 0 else 1.0
        result = original(self, *arguments, **options)
        for group, rate in zip(self.param_groups, rates, strict=True):
            group["lr"] = rate
        return result

    torch.optim.SGD.step = step


def install_tensorflow():
    from runners.tensorflow.train import Trainer

    _double(Trainer)


def install_jax():
    from runners.jax.train import Trainer

    _double(Trainer)


def _double(trainer):
    original = trainer.train_step

    def train_step(self, images, labels, learning_rate):
        self.steps_taken = getattr(self, "steps_taken", 0) + 1
        return original(self, images, labels, learning_rate * (2.0 if self.steps_taken % EVERY == 0 else 1.0))

    trainer.train_step = train_step
