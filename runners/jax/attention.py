"""By which kernel JAX computes attention: by what it chooses itself, `default`, by XLA's operators, or by cuDNN's kernel."""

from __future__ import annotations

from runners.contract.errors import Unsupported

_IMPLEMENTATIONS = {"math": "xla", "cudnn": "cudnn"}
_options: dict[str, str] = {}


def set_up(attention: str, *, device: str, precision: str) -> None:
    """Choose the kernel of this process. Raises Unsupported for one that is not there."""
    if attention == "default":
        return
    if attention not in _IMPLEMENTATIONS:
        raise Unsupported(f"attention {attention}: jax.nn.dot_product_attention has {' and '.join(_IMPLEMENTATIONS)}")
    if attention == "cudnn" and device == "cpu":
        raise Unsupported("attention cudnn: JAX has that kernel on GPUs alone; on CPUs it has math")
    if precision == "fp64":
        raise Unsupported(
            f"attention {attention} in fp64: jax.nn.dot_product_attention takes its softmax in float32, so that the model goes "
            "around it there"
        )
    _options["implementation"] = _IMPLEMENTATIONS[attention]


def options() -> dict[str, str]:
    """Return how jax.nn.dot_product_attention is asked for the kernel; nothing where JAX chooses itself."""
    return _options
