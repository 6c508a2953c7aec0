"""The recipe's optimizers in Keras, and their state under the contract's names.

Twins: runners/torch/optimizers.py, runners/jax/optimizers.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import tensorflow as tf
from tensorflow import keras

from runners.contract.errors import Unsupported
from runners.contract.optimizers import decay_of

_LEAST_RATE = 1e-30


class Clipping:
    """What a Keras optimizer does to gradients before it takes a step by them.

    DIFFERS(tensorflow): Keras's own `global_clipnorm` clips each device's share of the gradient before they are summed, by the
    share's norm. This one clips the sum. It is the last to see gradients free of the loss's scale.
    """

    clipping: ClassVar[dict]

    def _clip_gradients(self, grads):
        context = tf.distribute.get_replica_context()
        whole = context.all_reduce(tf.distribute.ReduceOp.SUM, grads)
        # DIFFERS(tensorflow): it adds nothing to the norm; one that is given means the same.
        norm = tf.linalg.global_norm(whole) + self.clipping["epsilon"]
        shorter, _ = tf.clip_by_global_norm(whole, self.clipping["threshold"], use_norm=norm)
        # Keras sums over devices once more.
        return [gradient / context.num_replicas_in_sync for gradient in shorter]


class NativeOptimizer(ABC):
    """A Keras optimizer of some variables, which are there before it; `native` is built by whoever scales losses.

    Args:
        make: the class of the optimizer; numbers: its arguments, after the learning rate.
    """

    def __init__(
        self, make: type[keras.optimizers.Optimizer], rule: dict, variables: list[keras.Variable], **numbers: object
    ) -> None:
        if clipping := rule.get("clipping"):
            make = type(make.__name__, (Clipping, make), {"clipping": clipping})
        self.native, self.variables = make(1.0, **numbers), variables
        if still := [variable for variable in variables if not decay_of(rule, variable)]:
            self.native.exclude_from_weight_decay(still)

    def use_rate(self, rate: float) -> None:
        """Set the learning rate of the next step."""
        self.native.learning_rate.assign(rate)

    @abstractmethod
    def native_slots(self) -> dict[str, list[keras.Variable]]:
        """Return canonical group -> the variable that Keras keeps for each parameter, whatever its convention."""

    def get_slots(self) -> dict[str, list[np.ndarray]]:
        """Return canonical group -> its array of each parameter, in their order and layout; zeros before the first step."""
        return {slot: [variable.numpy() for variable in variables] for slot, variables in self.native_slots().items()}

    def set_slots(self, slots: dict[str, list[np.ndarray]]) -> None:
        """Load what `get_slots` gave."""
        for slot, variables in self.native_slots().items():
            for variable, array in zip(variables, slots[slot], strict=True):
                variable.assign(array)

    def get_steps(self) -> int | None:
        """Return how many steps were taken, None where the rule does not ask."""
        return None

    def set_steps(self, steps: int) -> None:
        """Say how many steps were taken."""
        del steps  # most rules do not ask

    def decayed(self, loss: tf.Tensor, penalties: list[tf.Tensor], *, world: int) -> tf.Tensor:
        """Return what the gradient is taken of: a device's share of the loss, of `world`, and the regularizers' penalties."""
        del penalties, world
        return loss


class Sgd(NativeOptimizer):
    """keras.optimizers.SGD, whose velocity is -rate * buffer.

    DIFFERS(tensorflow): the velocity holds the rate of its step, kept in `rate`; None while the buffers wait for the first step.
    """

    def __init__(self, rule: dict, variables: list[keras.Variable]) -> None:
        if rule["dampening"] != 0.0:
            raise Unsupported(f"dampening {rule['dampening']}: keras.optimizers.SGD has none")
        if rule.get("clipping") and rule["weight_decay"]:
            raise Unsupported(
                "clipping beside a coupled weight decay: in Keras that is a part of the loss, and would be clipped, too"
            )
        # DIFFERS(tensorflow): Keras rounds the numbers to float32, in float64 too, unless numpy says their type.
        momentum = np.float64(rule["momentum"])
        super().__init__(keras.optimizers.SGD, rule, variables, momentum=momentum, nesterov=rule["nesterov"])
        # DIFFERS(tensorflow): the optimizer's weight_decay is decoupled. This gradient, weight_decay * p, is coupled.
        for variable in variables:
            variable.regularizer = keras.regularizers.L2(decay_of(rule, variable) / 2)
            variable.regularizer.l2 = np.float64(variable.regularizer.l2)
        self.rate: float | None = None
        self.buffers = [np.zeros(variable.shape) for variable in variables]

    def use_rate(self, rate: float) -> None:
        # DIFFERS(tensorflow): the optimizer keeps rate times momentum, which a rate of zero would lose. This one moves nothing.
        rate = max(rate, _LEAST_RATE)
        if rate != self.rate:
            self._set_rate(rate, self._momentum())

    def native_slots(self) -> dict[str, list[keras.Variable]]:
        return {"momentum": self.native.momentums} if self.native.momentum else {}

    def get_slots(self) -> dict[str, list[np.ndarray]]:
        buffers = self._momentum()
        if self.rate is not None:
            # A float64 velocity may lose its last bit in `_momentum`: go on from what is saved, as a resumed run would.
            self._set_rate(self.rate, buffers)
        return dict.fromkeys(self.native_slots(), buffers)

    def set_slots(self, slots: dict[str, list[np.ndarray]]) -> None:
        self.buffers, self.rate = [buffer.astype(np.float64) for buffer in slots.get("momentum", self.buffers)], None

    def decayed(self, loss: tf.Tensor, penalties: list[tf.Tensor], *, world: int) -> tf.Tensor:
        return loss + tf.add_n(penalties) / world

    def _momentum(self) -> list[np.ndarray]:
        """Return the recipe's momentum buffers in float64: times -rate, they round to a float32 velocity's bits."""
        if self.rate is None or not self.native.momentums:
            return self.buffers
        return [velocity.numpy().astype(np.float64) / -self.rate for velocity in self.native.momentums]

    def _set_rate(self, rate: float, buffers: list[np.ndarray]) -> None:
        """Set the learning rate, and the velocities that these buffers have under it."""
        for velocity, buffer in zip(self.native.momentums, buffers, strict=False):  # no velocities under momentum 0
            velocity.assign(-rate * buffer)
        self.native.learning_rate.assign(rate)
        self.rate = rate


class AdamW(NativeOptimizer):
    """keras.optimizers.AdamW: what decays is the parameter before the step."""

    def __init__(self, rule: dict, variables: list[keras.Variable]) -> None:
        make = _CorrectedAdamW if rule["epsilon_beside"] == "corrected" else keras.optimizers.AdamW
        # DIFFERS(tensorflow): Keras rounds the numbers to float32, in float64 too, unless numpy says their type.
        numbers = {name: np.float64(rule[name]) for name in ("beta_1", "beta_2", "epsilon", "weight_decay")}
        super().__init__(make, rule, variables, **numbers, name="adamw")

    def native_slots(self) -> dict[str, list[keras.Variable]]:
        return {"first_moment": self.native._momentums, "second_moment": self.native._velocities}

    def get_steps(self) -> int:
        return int(self.native.iterations.numpy())

    def set_steps(self, steps: int) -> None:
        self.native.iterations.assign(steps)


class _CorrectedAdamW(keras.optimizers.AdamW):
    """AdamW with epsilon beside the corrected root.

    DIFFERS(tensorflow): Keras adds epsilon to the root before it corrects that. The epsilon that means the same there is the
    recipe's times the correction, sqrt(1 - beta_2 ** steps).
    """

    @property
    def epsilon(self):
        dtype = self.variables[-1].dtype
        steps = tf.cast(self.iterations + 1, dtype)
        return tf.cast(self.recipe_epsilon, dtype) * tf.sqrt(1 - tf.cast(self.beta_2, dtype) ** steps)

    @epsilon.setter
    def epsilon(self, value):
        self.recipe_epsilon = value


OPTIMIZERS = {"sgd": Sgd, "adamw": AdamW}
