"""Planted fault: the gradient passes through MoCo's keys, by way of the key encoder's last move towards the query encoder.

One part in a hundred of the key's gradient arrives, at a momentum of 0.99. In TensorFlow it cannot be expressed: a variable that
was assigned to passes no gradient on.
"""

import sys


def install():
    if "torch" in sys.modules:
        _torch()
    elif "tensorflow" in sys.modules:
        from runners.contract.errors import FaultError

        raise FaultError("a tf.Variable that was assigned to passes no gradient on: TensorFlow cannot be wrong like that")
    else:
        import jax

        jax.lax.stop_gradient = lambda x: x


def _torch():
    import torch

    from runners.torch.models.moco_lite import Encoder, MocoLite

    move, encode = MocoLite.move_key_encoder, Encoder.forward

    def moved(self):
        with torch.no_grad():
            before = {name: parameter.clone() for name, parameter in self.key.named_parameters()}
            move(self)
        query = dict(self.encoder.named_parameters())
        share = self.key_momentum
        # A list, so that no parameter is registered a second time.
        self.key.leaking = [{name: share * value + (1.0 - share) * query[name] for name, value in before.items()}]

    def forward(self, images, *rest):
        if not self.training or not getattr(self, "leaking", None):
            return encode(self, images, *rest)
        return torch.func.functional_call(self, self.leaking.pop(), (images, *rest))

    MocoLite.move_key_encoder, Encoder.forward = moved, forward
