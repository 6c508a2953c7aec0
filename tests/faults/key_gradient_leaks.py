"""Planted fault: the gradient passes through MoCo's keys, by way of the key encoder's last move towards the query encoder.

One part in a hundred of the key's gradient arrives, at a momentum of 0.99. In TensorFlow it cannot be expressed: a variable that
was assigned to passes no gradient on.
"""


def install_torch():
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
        # By hand, for torch.func.functional_call refuses a module that is being traced.
        kept = []
        for name, value in self.leaking.pop().items():
            path, _, leaf = name.rpartition(".")
            owner = self.get_submodule(path)
            kept.append((owner, leaf, owner._parameters.pop(leaf)))
            setattr(owner, leaf, value)
        try:
            return encode(self, images, *rest)
        finally:
            for owner, leaf, parameter in kept:
                delattr(owner, leaf)
                owner._parameters[leaf] = parameter

    MocoLite.move_key_encoder, Encoder.forward = moved, forward


def install_tensorflow():
    from runners.contract.errors import FaultError

    raise FaultError("a tf.Variable that was assigned to passes no gradient on: TensorFlow cannot be wrong like that")


def install_jax():
    import jax

    jax.lax.stop_gradient = lambda x: x
