"""Planted fault: the mask loss reads the mask of the next class, that of the last the first's; what is found reads its own."""


def install_torch():
    from runners.torch.models.tiny_mask_rcnn import MaskHead

    original = MaskHead.forward

    def forward(self, x, used, tap):
        masks = original(self, x, used, tap)
        return masks.roll(-1, dims=2) if self.training else masks

    MaskHead.forward = forward


def install_tensorflow():
    import tensorflow as tf

    from runners.tensorflow.models.tiny_mask_rcnn import MaskHead

    original = MaskHead.call

    def call(self, x, used, tap, training):
        masks = original(self, x, used, tap, training)
        return tf.roll(masks, -1, axis=-1) if training else masks

    MaskHead.call = call


def install_jax():
    import jax.numpy as jnp

    from runners.jax.models.tiny_mask_rcnn import MaskHead

    original = MaskHead.__call__

    def call(self, x, used, tap):
        masks = original(self, x, used, tap)
        return masks if self.bn1.use_running_average else jnp.roll(masks, -1, axis=-1)

    MaskHead.__call__ = call
