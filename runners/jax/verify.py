"""The answers of JAX to a verify task. Twins: runners/torch/verify.py, runners/tensorflow/verify.py."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.contract.data.batches import Labels
from runners.contract.protocol.answers import Choices, Segments, answer_cases, require_oracle, sum_of_parts
from runners.contract.protocol.cases import Answers
from runners.contract.protocol.session import Session
from runners.jax import devices
from runners.jax.train import Trainer, TrainState, by_name, set_up, to_canonical


def verify(session: Session) -> None:
    """Answer the cases of the session's run."""
    require_oracle(session.spec)
    mesh = set_up(session)

    def make_prober(spec, example: tuple[np.ndarray, Labels]) -> Prober:
        prober = Prober(spec, mesh=mesh)
        prober.prepare(example=example)
        return prober

    answer_cases(session, make_prober)


class Prober(Trainer):
    """A trainer that can be asked for more than training needs."""

    warm_up_calls = 0

    def prepare(self, *, example: tuple[np.ndarray, Labels]) -> None:
        """Make the programs of this context's mode; those that training has no use for are made when asked for."""
        super().prepare(example=example)
        self.programs: dict[object, Callable] = {}
        self.has_forward_alone = self.spec.mode == "eager"

    def training_forward(self, images: np.ndarray, labels: Labels) -> jax.Array:
        """Make one forward pass in training mode, of which only the running statistics are left; return the loss."""
        batch = self._train_batch(images, labels, 0.0)
        if self.spec.mode == "eager":
            loss, statistics = self._loss_of(self.state.params, self.state.statistics, *batch[:2])
        else:
            # By a whole step, which takes the memory of what it is given: a forward pass would be another program to compile.
            moved, loss = self.step(jax.tree_util.tree_map(jnp.copy, self.state), *batch)
            statistics = moved.statistics
        self.state = self.state._replace(statistics=statistics)
        return loss

    def accumulate(self, batches: list[tuple[np.ndarray, Labels]], learning_rate: float) -> jax.Array:
        """Take one step by the mean of the micro-batches' gradients; return the mean of their losses."""
        found = []
        statistics = self.state.statistics
        for batch in batches:
            state = self.state._replace(statistics=statistics), *self._train_batch(*batch, learning_rate)[:2]
            gradients, loss, statistics = self._remembered("differentiate", self.differentiate, *state)(*state)
            found.append((gradients, loss))
        arguments = self.state, found, statistics, np.asarray(learning_rate, self.wide)
        self.state, loss = self._remembered(("update", len(batches)), self._update_by_mean, *arguments)(*arguments)
        return loss

    def replica_spread(self) -> dict[str, float]:
        """Return how far apart devices hold what they should hold alike: the largest difference of params, momentum and stats."""
        slots = self.optimizer.get_slots(self.state.optimizer)
        groups = {"params": self.state.params, **slots, "stats": self.state.statistics}
        return {name: devices.spread_between(tree) for name, tree in groups.items()}

    def segments(self, example: Segments) -> Callable[[Segments], Answers]:
        """Return the program that gives outputs, leaf and parameter gradients, loss and types; statistics move in the state."""

        def tapped(params, statistics, images, labels, leaves, cotangents, scale):
            def total(params, leaves):
                outputs = {}

                def tap(name, x):
                    outputs[name] = x
                    leaf = leaves[name].astype(x.dtype)
                    return leaf if name in example.cuts else x + leaf

                arguments, classes = self.architecture.arguments(images, labels)
                found, moved = self._forward(params, statistics, arguments, tap)
                loss = self._loss(found, classes)
                products = [(outputs[name].astype(self.wide) * cotangents[name]).sum() for name in example.cuts]
                return scale * sum(products, loss), (outputs, loss, moved)

            gradients, (outputs, loss, moved) = jax.grad(total, argnums=(0, 1), has_aux=True)(params, leaves)
            return outputs, *gradients, loss, moved

        program = self._program(tapped, *self._tapped_arguments(example))

        def run(inputs: Segments) -> Answers:
            outputs, of_params, of_leaves, loss, moved = program(*self._tapped_arguments(inputs))
            self.state = self.state._replace(statistics=moved)
            answers = {"loss": np.asarray(loss)}
            for tap, output in outputs.items():
                answers[f"dtype/{tap}"] = np.array(str(output.dtype))
                answers[f"output/{tap}"] = self._collect(output)
                answers[f"leaf_gradient/{tap}"] = self._collect(of_leaves[tap])
            gradients = by_name(of_params)
            for name, native, layout in self._rows():
                if native in gradients:
                    answers[f"parameter_gradient/{name}"] = to_canonical(gradients[native], layout)
            return sum_of_parts([answers], scale=inputs.scale)

        return run

    def choices(self, example: Choices) -> Callable[[], Answers]:
        """Return the program that gives the outputs of some taps, where others are given."""

        def chosen(params, statistics, images, labels, leaves):
            outputs = {}

            def tap(name, x):
                outputs[name] = x
                return leaves[name].astype(x.dtype) if name in leaves else x

            arguments, _ = self.architecture.arguments(images, labels)
            self._forward(params, statistics, arguments, tap)
            return {name: outputs[name] for name in example.taps}

        images, labels, _ = self._train_batch(example.images, example.labels, 0.0)
        arguments = self.state.params, self.state.statistics, images, labels, self._spread_taps(example.leaves)
        program = self._program(chosen, *arguments)
        return lambda: {f"output/{name}": self._collect(output) for name, output in program(*arguments).items()}

    def _remembered(self, key: object, function: Callable, *arguments) -> Callable:
        if key not in self.programs:
            self.programs[key] = self._program(function, *arguments)
        return self.programs[key]

    def _update_by_mean(self, state: TrainState, found, statistics, learning_rate):
        """Return the state after a step by the mean of micro-batches' gradients, and their mean loss: a pure function."""
        gradients, loss = jax.tree_util.tree_map(lambda *values: sum(values) / len(values), *found)
        return self.update(state, gradients, statistics, learning_rate), loss

    def _tapped_arguments(self, inputs: Segments) -> tuple:
        images, labels, _ = self._train_batch(inputs.images, inputs.labels, 0.0)
        leaves, cotangents = self._spread_taps(inputs.leaves), self._spread_taps(inputs.cotangents)
        scale = np.asarray(inputs.scale, self.wide)
        return self.state.params, self.state.statistics, images, labels, leaves, cotangents, scale

    def _spread_taps(self, arrays: Answers) -> dict[str, jax.Array]:
        spread = {name: array.astype(self.wide) for name, array in arrays.items()}
        return {name: devices.spread(array, self.spec.shards, mesh=self.mesh) for name, array in spread.items()}

    def _collect(self, array: jax.Array) -> np.ndarray:
        rows = devices.collect(array, self.spec.shards)
        return rows.astype(np.float32) if array.dtype in (jnp.bfloat16, jnp.float16) else rows
