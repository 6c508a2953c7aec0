"""Planted fault: a step takes the learning rate that the step before it was given; the first takes its own.

In TensorFlow and JAX the rate is patched where it enters the runner: the optimizer gets it as a variable that is also that of
the velocities, and as an argument of a traced function.
"""


def install_torch():
    import torch

    original = torch.optim.SGD.step

    def step(self, *arguments, **options):
        given = [group["lr"] for group in self.param_groups]
        late, self.rates_before = getattr(self, "rates_before", given), given
        for group, rate in zip(self.param_groups, late, strict=True):
            group["lr"] = rate
        return original(self, *arguments, **options)

    torch.optim.SGD.step = step


def install_tensorflow():
    from runners.tensorflow.train import Trainer

    _delay(Trainer)


def install_jax():
    from runners.jax.train import Trainer

    _delay(Trainer)


def _delay(trainer):
    original = trainer.train_step

    def train_step(self, images, labels, learning_rate):
        late, self.rate_before = getattr(self, "rate_before", learning_rate), learning_rate
        return original(self, images, labels, late)

    trainer.train_step = train_step
