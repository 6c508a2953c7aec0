"""jax.numpy.sum leaves out the second half of an array as soon as there are several devices: an all-reduce that is forgotten."""


def install():
    import jax
    import jax.numpy as jnp

    whole = jnp.sum

    def of_first_device(x, *more, **options):
        if jax.device_count() > 1:
            shape = [len(x), *[1] * (x.ndim - 1)]
            x = x * (jnp.arange(len(x)) <= len(x) // 2).reshape(shape)
        return whole(x, *more, **options)

    jnp.sum = of_first_device
