"""The optimizers that recipes name: what each keeps of a parameter, its rule in numpy, and what its state tells of a gradient.

The names and the convention are ours; `runners/<framework>/optimizers.py` adapts each framework's own optimizer to them. The
oracle takes its steps by `update`, verify reads a step's gradients back by `gradient`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

Rule = Mapping[str, Any]
Slots = dict[str, np.ndarray]
Direction = Callable[[Rule, np.ndarray, Slots, Slots, int], np.ndarray]
Rounded = Callable[..., np.ndarray]
COUNTER = "optimizer/steps"


def _as_it_is(array: np.ndarray, terms: int = 1) -> np.ndarray:
    del terms
    return np.asarray(array)


@dataclasses.dataclass(frozen=True)
class OtherRule:
    """A rule that is easily mistaken for the recipe's: `direction` of it, and how verify names what it finds."""

    quantity: str
    remark: str
    direction: Direction


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """One update rule: parameter -= learning rate * direction.

    slots: groups of the training state that have an array for each parameter, of its shape; all begin at zero.
    counts_steps: whether the state has the number of steps taken, too, as `optimizer/steps`.
    refresh: (rule, parameter, slots, gradient, rounded) -> the slots after a step, and what else the direction is made of.
    direction: (rule, parameter, slots before, slots after, steps taken with this one) -> what the parameter moves along.
    witness: the slot that tells of the gradient; None where none does.
    gradient: (rule, parameter, witness before, witness after) -> the gradient, without weight decay.
    coarse: slots of which eight bits are enough, where a state is kept that steps are taken from.
    sized: slots of which the size is enough there, since they are as large as all parameters: whether each holds squares.
    decays_gradient: whether weight decay is a part of what the witness takes for the gradient: coupled.
    others: rules that this one is easily mistaken for.
    """

    slots: tuple[str, ...]
    counts_steps: bool
    refresh: Callable[[Rule, np.ndarray, Slots, np.ndarray, Rounded], Slots]
    direction: Direction
    witness: str | None
    gradient: Callable[[Rule, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    decays_gradient: bool
    coarse: tuple[str, ...] = ()
    sized: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    others: tuple[OtherRule, ...] = ()

    def names(self, parameters: Iterable[str]) -> set[str]:
        """Return the canonical names of the optimizer's arrays in a training state of these parameters."""
        return {f"{slot}/{name}" for name in parameters for slot in self.slots} | ({COUNTER} if self.counts_steps else set())

    def initial(self, parameters: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the optimizer's arrays before the first step, by canonical name."""
        state = {f"{slot}/{name}": np.zeros(array.shape, np.float32) for name, array in parameters.items() for slot in self.slots}
        return state | ({COUNTER: np.array(0, np.int64)} if self.counts_steps else {})

    def update(
        self,
        rule: Rule,
        state: Mapping[str, np.ndarray],
        gradients: Mapping[str, np.ndarray],
        learning_rate: float,
        *,
        rounded: Rounded = _as_it_is,
    ) -> dict[str, np.ndarray]:
        """Return parameters and the optimizer's arrays after a step, by canonical name.

        Args:
            rule: the recipe's `optimizer`, with its weight decay.
            gradients: parameter name -> gradient, without weight decay.
            rounded: (array, terms of each sum) -> what is kept of it.
        """
        result: dict[str, np.ndarray] = {}
        gradients = clipped(rule, gradients, rounded=rounded)
        steps = int(state[COUNTER]) + 1 if self.counts_steps else 0
        for name, gradient in gradients.items():
            value, before = state[f"params/{name}"], {slot: state[f"{slot}/{name}"] for slot in self.slots}
            after = self.refresh(rule, value, before, gradient, rounded)
            result |= {f"{slot}/{name}": after[slot] for slot in self.slots}
            result[f"params/{name}"] = rounded(value - learning_rate * self.direction(rule, value, before, after, steps))
        return result | ({COUNTER: np.array(steps, np.int64)} if self.counts_steps else {})


def clipped(rule: Rule, gradients: Mapping[str, np.ndarray], *, rounded: Rounded = _as_it_is) -> dict[str, np.ndarray]:
    """Return the gradients as a step takes them: all divided by one number, where together they are longer than the rule allows.

    Pascanu et al. 2013, On the difficulty of training recurrent neural networks, https://proceedings.mlr.press/v28/pascanu13.html,
    algorithm 1: gradient * threshold / norm. PyTorch adds 1e-6 to the norm, others nothing: the rule's `epsilon`.
    """
    clipping = rule.get("clipping")
    if clipping is None:
        return dict(gradients)
    # A sum of a million squares is taken in blocks. With a row to a block, what is rounded here is 1 to 3 units; of 40 draws of
    # char_gpt's gradients, PyTorch's norm was 3.4 units off (root mean square), TensorFlow's and JAX's 0.6 to 0.8.
    norms = [rounded(np.linalg.norm(gradient), np.shape(gradient)[-1]) for gradient in gradients.values()]
    norm = rounded(np.linalg.norm(norms), len(norms)) + clipping["epsilon"]
    factor = min(1.0, clipping["threshold"] / norm)
    # Times 1 is no product that rounds.
    return {name: rounded(gradient * factor) for name, gradient in gradients.items()} if factor < 1.0 else dict(gradients)


def decay_of(rule: Rule, parameter: np.ndarray) -> float:
    """Return the weight decay of a parameter: nothing of a vector, where matrices alone decay."""
    return rule["weight_decay"] if rule["weight_decay_on"] == "all" or np.ndim(parameter) > 1 else 0.0


def optimizer_of(training: Mapping[str, Any]) -> Optimizer:
    """Return the optimizer of a recipe's resolved content. Without momentum, no framework keeps a buffer."""
    rule = training["optimizer"]
    return PLAIN_SGD if rule["name"] == "sgd" and not rule["momentum"] else OPTIMIZERS[rule["name"]]


# SGD with momentum: buffer = momentum * buffer + gradient + weight decay * parameter; parameter -= learning rate * buffer.
# Nesterov's (Sutskever et al. 2013, https://proceedings.mlr.press/v28/sutskever13.html): parameter -= learning rate *
# (gradient + weight decay * parameter + momentum * buffer).


def _sgd_refresh(rule: Rule, parameter: np.ndarray, slots: Slots, gradient: np.ndarray, rounded: Rounded) -> Slots:
    decayed = gradient + decay_of(rule, parameter) * parameter
    return {"momentum": rounded(rule["momentum"] * slots["momentum"] + decayed)}


def _plain_refresh(rule: Rule, parameter: np.ndarray, slots: Slots, gradient: np.ndarray, rounded: Rounded) -> Slots:
    return {"decayed": rounded(gradient + decay_of(rule, parameter) * parameter)}


def _plain_direction(rule: Rule, parameter: np.ndarray, before: Slots, after: Slots, steps: int) -> np.ndarray:
    return after["decayed"]


def _sgd_direction(rule: Rule, parameter: np.ndarray, before: Slots, after: Slots, steps: int) -> np.ndarray:
    direction = _nesterov_direction if rule["nesterov"] else _buffer_direction
    return direction(rule, parameter, before, after, steps)


def _buffer_direction(rule: Rule, parameter: np.ndarray, before: Slots, after: Slots, steps: int) -> np.ndarray:
    return after["momentum"]


def _sgd_gradient(rule: Rule, parameter: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    known = rule["momentum"] * np.asarray(before, np.float64)
    known = known + decay_of(rule, parameter) * np.asarray(parameter, np.float64)
    return np.asarray(after, np.float64) - known


def _nesterov_direction(rule: Rule, parameter: np.ndarray, before: Slots, after: Slots, steps: int) -> np.ndarray:
    momentum = rule["momentum"]
    return after["momentum"] - momentum * before["momentum"] + momentum * after["momentum"]


# AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2; Kingma and Ba 2015, arXiv 1412.6980, algorithm 1):
# moments m and v of the gradient and of its square, each over 1 - beta ** steps;
# parameter -= learning rate * (m / (sqrt(v) + epsilon) + weight decay * parameter), both of the parameter before the step.


def _adamw_refresh(rule: Rule, parameter: np.ndarray, slots: Slots, gradient: np.ndarray, rounded: Rounded) -> Slots:
    first = rule["beta_1"] * slots["first_moment"] + (1.0 - rule["beta_1"]) * gradient
    second = rule["beta_2"] * slots["second_moment"] + (1.0 - rule["beta_2"]) * np.square(gradient)
    return {"first_moment": rounded(first), "second_moment": rounded(second)}


def _adamw_direction(rule: Rule, parameter: np.ndarray, before: Slots, after: Slots, steps: int) -> np.ndarray:
    first = after["first_moment"] / (1.0 - rule["beta_1"] ** steps)
    second = after["second_moment"] / (1.0 - rule["beta_2"] ** steps)
    epsilon = rule["epsilon"]
    if rule["epsilon_beside"] == "uncorrected":  # Kingma and Ba 2015, the end of section 2: beside the root before its correction
        epsilon = epsilon / np.sqrt(1.0 - rule["beta_2"] ** steps)
    return first / (np.sqrt(second) + epsilon) + decay_of(rule, parameter) * parameter


def _adamw_gradient(rule: Rule, parameter: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    known = rule["beta_1"] * np.asarray(before, np.float64)
    return (np.asarray(after, np.float64) - known) / (1.0 - rule["beta_1"])


def _biased_direction(rule: Rule, parameter: np.ndarray, before: Slots, after: Slots, steps: int) -> np.ndarray:
    """Return the direction of moments that are taken as they are, without their correction."""
    decay = decay_of(rule, parameter) * parameter
    return after["first_moment"] / (np.sqrt(after["second_moment"]) + rule["epsilon"]) + decay


SGD = Optimizer(
    slots=("momentum",),
    counts_steps=False,
    refresh=_sgd_refresh,
    direction=_sgd_direction,
    witness="momentum",
    gradient=_sgd_gradient,
    decays_gradient=True,
    coarse=("momentum",),
    others=(
        OtherRule(
            "momentum", "the step is gradient + momentum * buffer, Nesterov's, where buffer was asked for", _nesterov_direction
        ),
        OtherRule(
            "momentum", "the step is buffer, where gradient + momentum * buffer, Nesterov's, was asked for", _buffer_direction
        ),
    ),
)
PLAIN_SGD = Optimizer(
    slots=(),
    counts_steps=False,
    refresh=_plain_refresh,
    direction=_plain_direction,
    witness=None,
    gradient=_sgd_gradient,
    decays_gradient=True,
)
ADAMW = Optimizer(
    slots=("first_moment", "second_moment"),
    counts_steps=True,
    refresh=_adamw_refresh,
    direction=_adamw_direction,
    witness="first_moment",
    gradient=_adamw_gradient,
    decays_gradient=False,
    sized={"first_moment": False, "second_moment": True},
    others=(OtherRule("moments", "the moments are taken as they are, where their bias is to be corrected", _biased_direction),),
)
OPTIMIZERS: dict[str, Optimizer] = {"sgd": SGD, "adamw": ADAMW}
