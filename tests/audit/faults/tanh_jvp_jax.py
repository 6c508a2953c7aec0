"""jax.numpy.tanh has a rule of its own that is wrong by a thousandth; jax.lax.tanh one that stops at the first derivative."""


def install():
    import jax
    import jax.numpy as jnp

    right = jax.lax.tanh

    @jax.custom_jvp
    def scaled(x):
        return right(x)

    @jax.custom_jvp
    def stopped(x):
        return right(x)

    scaled.defjvp(lambda x, t: (right(*x), t[0] * (1 - right(*x) ** 2) * 1.001))
    stopped.defjvp(lambda x, t: (right(*x), t[0] * (1 - jax.lax.stop_gradient(right(*x)) ** 2)))
    jnp.tanh = scaled
    jax.lax.tanh = stopped
