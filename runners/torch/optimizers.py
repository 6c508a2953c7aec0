"""The recipe's optimizers in PyTorch, and their state under the contract's names.

Twins: runners/tensorflow/optimizers.py, runners/jax/optimizers.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import nn

from runners.contract.errors import Unsupported
from runners.contract.optimizers import decay_of

# What PyTorch adds to a norm before it divides by it.
_NORM_EPSILON = 1e-6


class NativeOptimizer:
    """A torch optimizer of some parameters. `keys`: canonical group -> the key of torch's state of a parameter."""

    keys: Mapping[str, str]

    def __init__(self, native: torch.optim.Optimizer, rule: dict, parameters: list[nn.Parameter]) -> None:
        self.native, self.parameters, self.clipping = native, parameters, rule.get("clipping")
        if self.clipping and self.clipping["epsilon"] != _NORM_EPSILON:
            raise Unsupported(
                f"clipping.epsilon {self.clipping['epsilon']}: torch.nn.utils.clip_grad_norm_ adds {_NORM_EPSILON} to the norm"
            )

    def use_rate(self, rate: float) -> None:
        """Set the learning rate of the next step."""
        for group in self.native.param_groups:
            group["lr"] = rate

    def clip(self, scaler: torch.amp.GradScaler) -> None:
        """Shorten the parameters' gradients to what the rule allows, free of the loss's scale."""
        if self.clipping:
            scaler.unscale_(self.native)
            nn.utils.clip_grad_norm_(self.parameters, self.clipping["threshold"])

    def get_slots(self) -> dict[str, list[torch.Tensor]]:
        """Return canonical group -> its array of each parameter, in their order and layout; zeros before the first step."""
        states = [(self.native.state[parameter], torch.zeros_like(parameter)) for parameter in self.parameters]
        return {slot: [_or(state.get(key), zeros) for state, zeros in states] for slot, key in self.keys.items()}

    def set_slots(self, slots: dict[str, list[torch.Tensor]]) -> None:
        """Load what `get_slots` gave, whatever its layout in memory."""
        for slot, arrays in slots.items():
            for parameter, array in zip(self.parameters, arrays, strict=True):
                self.native.state[parameter][self.keys[slot]] = torch.empty_like(parameter).copy_(array)

    def get_steps(self) -> int | None:
        """Return how many steps were taken, None where the rule does not ask."""
        return None

    def set_steps(self, steps: int) -> None:
        """Say how many steps were taken."""


class Sgd(NativeOptimizer):
    """torch.optim.SGD: its buffer is the recipe's momentum, its weight decay the coupled one."""

    def __init__(self, rule: dict, parameters: list[nn.Parameter]) -> None:
        self.keys = {"momentum": "momentum_buffer"} if rule["momentum"] else {}
        native = torch.optim.SGD(
            _by_decay(rule, parameters),
            lr=0.0,
            weight_decay=rule["weight_decay"],
            momentum=rule["momentum"],
            dampening=rule["dampening"],
            nesterov=rule["nesterov"],
        )
        super().__init__(native, rule, parameters)


class AdamW(NativeOptimizer):
    """torch.optim.AdamW: epsilon is added to the corrected root, and what decays is the parameter before the step."""

    keys = MappingProxyType({"first_moment": "exp_avg", "second_moment": "exp_avg_sq"})

    def __init__(self, rule: dict, parameters: list[nn.Parameter]) -> None:
        if rule["epsilon_beside"] != "corrected":
            raise Unsupported(f"epsilon_beside {rule['epsilon_beside']}: torch.optim.AdamW adds epsilon to the corrected root")
        native = torch.optim.AdamW(
            _by_decay(rule, parameters),
            lr=0.0,
            weight_decay=rule["weight_decay"],
            betas=(rule["beta_1"], rule["beta_2"]),
            eps=rule["epsilon"],
        )
        super().__init__(native, rule, parameters)

    def get_steps(self) -> int:
        return int(self.native.state[self.parameters[0]].get("step", 0))

    def set_steps(self, steps: int) -> None:
        for parameter in self.parameters:
            self.native.state[parameter]["step"] = torch.tensor(float(steps))


OPTIMIZERS = {"sgd": Sgd, "adamw": AdamW}


def _by_decay(rule: dict, parameters: list[nn.Parameter]) -> list:
    """Return the parameters, in torch's groups where some do not decay."""
    if rule["weight_decay_on"] == "all":
        return parameters
    decaying, still = ([each for each in parameters if bool(decay_of(rule, each.detach())) is moves] for moves in (True, False))
    return [{"params": some, **group} for some, group in ((decaying, {}), (still, {"weight_decay": 0.0})) if some]


def _or(array: torch.Tensor | None, zeros: torch.Tensor) -> torch.Tensor:
    return zeros if array is None else array
