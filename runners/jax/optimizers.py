"""The recipe's optimizers in optax, and their state under the contract's names.

Twins: runners/torch/optimizers.py, runners/tensorflow/optimizers.py.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import optax

from runners.contract.errors import Unsupported
from runners.contract.optimizers import decay_of


class NativeOptimizer(ABC):
    """A rule as optax has it: a state is a value, that `transformation` makes and changes."""

    def __init__(self, rule: dict) -> None:
        self.rule = rule

    def clip(self, gradients):
        """Return the gradients, shortened to what the rule allows."""
        if not (clipping := self.rule.get("clipping")):
            return gradients
        # DIFFERS(jax): optax adds nothing to the norm. This threshold means the same; a gradient of zeros has none.
        norm = optax.global_norm(gradients)
        threshold = jnp.where(norm > 0, clipping["threshold"] * norm / (norm + clipping["epsilon"]), clipping["threshold"])
        shorter, _ = optax.clip_by_global_norm(threshold).update(gradients, optax.EmptyState())
        return shorter

    @property
    def decays(self):
        """What tells of parameters which of them decay, a tree of booleans; None where all do."""
        if self.rule["weight_decay_on"] == "all":
            return None
        return functools.partial(jax.tree_util.tree_map, lambda parameter: decay_of(self.rule, parameter) > 0.0)

    @abstractmethod
    def transformation(self, rate) -> optax.GradientTransformation:
        """Return optax's optimizer; the rate may be traced."""

    @abstractmethod
    def get_slots(self, state) -> dict[str, Any]:
        """Return canonical group -> the tree of its arrays, of a state that `transformation` made."""

    @abstractmethod
    def set_slots(self, state, slots: dict[str, Any]):
        """Return the state with other trees."""

    def get_steps(self, state):
        """Return how many steps were taken, None where the rule does not ask."""
        return None

    def set_steps(self, state, steps: int):
        """Return the state after so many steps."""
        return state


class Sgd(NativeOptimizer):
    """optax.sgd, whose trace is the recipe's momentum."""

    def __init__(self, rule: dict) -> None:
        if rule["dampening"]:
            raise Unsupported(f"dampening {rule['dampening']}: optax.sgd has none")
        super().__init__(rule)

    def transformation(self, rate) -> optax.GradientTransformation:
        # DIFFERS(jax): optax.sgd knows no weight decay; put before it, it is the coupled one, on every parameter.
        return optax.chain(
            optax.add_decayed_weights(self.rule["weight_decay"], self.decays),
            # None, not 0: a trace of momentum 0 would be kept.
            optax.sgd(rate, self.rule["momentum"] or None, nesterov=self.rule["nesterov"]),
        )

    def get_slots(self, state) -> dict[str, Any]:
        _, (trace, _) = state
        return {"momentum": trace.trace} if self.rule["momentum"] else {}

    def set_slots(self, state, slots: dict[str, Any]):
        if not slots:
            return state
        decay, (trace, scale) = state
        return decay, (trace._replace(trace=slots["momentum"]), scale)


class AdamW(NativeOptimizer):
    """optax.adamw: epsilon is added to the corrected root, and what decays is the parameter before the step."""

    def __init__(self, rule: dict) -> None:
        if rule["epsilon_beside"] != "corrected":
            raise Unsupported(f"epsilon_beside {rule['epsilon_beside']}: optax.adamw adds epsilon to the corrected root")
        super().__init__(rule)

    def transformation(self, rate) -> optax.GradientTransformation:
        rule = self.rule
        return optax.adamw(
            rate,
            b1=rule["beta_1"],
            b2=rule["beta_2"],
            eps=rule["epsilon"],
            eps_root=0.0,
            weight_decay=rule["weight_decay"],
            mask=self.decays,
        )

    def get_slots(self, state) -> dict[str, Any]:
        return {"first_moment": state[0].mu, "second_moment": state[0].nu}

    def set_slots(self, state, slots: dict[str, Any]):
        moments, *rest = state
        return (moments._replace(mu=slots["first_moment"], nu=slots["second_moment"]), *rest)

    def get_steps(self, state):
        return state[0].count

    def set_steps(self, state, steps: int):
        moments, *rest = state
        return (moments._replace(count=jnp.asarray(steps, moments.count.dtype)), *rest)


OPTIMIZERS = {"sgd": Sgd, "adamw": AdamW}
