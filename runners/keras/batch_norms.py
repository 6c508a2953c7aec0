"""The batch norm of Keras, on whichever backend: how one is made for the table of batch norms."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from runners.contract.audit.batch_norm import Form

_POLICIES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def made(form: Form, axes: int, **more: Any) -> Any:
    """Return a fresh layer for an input of so many axes, of the policy that mixes its precision with float32."""
    name = _POLICIES[form.precision]
    policy = name if form.precision == "fp32" or form.is_cast else f"mixed_{name}"
    given = {} if form.momentum is None else {"momentum": form.momentum}
    layer = keras.layers.BatchNormalization(**given, dtype=policy, **more)
    layer.build((None,) * (axes - 1) + (form.channels,))
    if form.scale is not None:
        layer.gamma.assign(np.full(form.channels, form.scale, np.float32))
    return layer
