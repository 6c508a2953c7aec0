"""The answers of TensorFlow to a verify task. Twins: runners/torch/verify.py, runners/jax/verify.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from runners.contract.data.batches import Labels
from runners.contract.protocol.answers import Choices, Segments, answer_cases, require_oracle, sum_of_parts
from runners.contract.protocol.cases import Answers
from runners.contract.protocol.session import Session
from runners.tensorflow import devices
from runners.tensorflow.train import Trainer, set_up, to_canonical


def verify(session: Session) -> None:
    """Answer the cases of the session's run."""
    require_oracle(session.spec)
    with set_up(session) as replica:

        def make_prober(spec, example: tuple[np.ndarray, Labels]) -> Prober:
            prober = Prober(spec, replica=replica)
            prober.prepare(example=example)
            return prober

        answer_cases(session, make_prober)


class Prober(Trainer):
    """A trainer that can be asked for more than training needs."""

    has_forward_alone = True
    warm_up_calls = 0

    def prepare(self, *, example: tuple[np.ndarray, Labels]) -> None:
        """Make the programs of this context's mode; those that training has no use for are traced when first called."""
        super().prepare(example=example)
        self.forward = self._program(self._training_forward, updates=False)
        self.gradients_of_part = self._program(self.differentiate, updates=True)
        self.update_by_mean = self._program(self._update_by_mean, updates=True)

    def training_forward(self, images: np.ndarray, labels: Labels) -> tf.Tensor:
        """Make one forward pass in training mode, of which only the running statistics are left; return the loss."""
        loss = self.forward(self._images(images, self.spec.shards), self.replica.place(labels, self.spec.shards))
        return devices.sum_over_replicas(loss, replica=self.replica)

    def accumulate(self, batches: list[tuple[np.ndarray, Labels]], learning_rate: float) -> tf.Tensor:
        """Take one step by the mean of the micro-batches' gradients; return the mean of their losses."""
        self.optimizer.use_rate(learning_rate)
        shards = self.spec.shards
        placed = [(self._images(images, shards), self.replica.place(labels, shards)) for images, labels in batches]
        # One program, called for each: of all of them together it would be as many times as large to compile.
        found = [self.gradients_of_part(*part) for part in placed]
        return devices.sum_over_replicas(self.update_by_mean(found), replica=self.replica)

    def replica_spread(self) -> dict[str, float]:
        """Return how far apart devices hold what they should hold alike: the largest difference of params, momentum and stats."""
        groups = {"params": self.model.trainable_variables, **self.optimizer.native_slots(), "stats": self._held_alike()}
        return {name: devices.spread(variables, replica=self.replica) for name, variables in groups.items()}

    def _held_alike(self) -> list:
        """Return what devices hold alike besides parameters: no running statistic where each has its own parts of a batch."""
        apart = devices.running_statistics(self.model) if self.across_devices == "parts" else []
        return [variable for variable in self.model.non_trainable_variables if all(variable is not other for other in apart)]

    def segments(self, example: Segments) -> Callable[[Segments], Answers]:
        """Return the program that gives outputs, leaf and parameter gradients, loss and types; statistics move in the state."""

        def tapped(images, labels, leaves, cotangents, scale):
            outputs = {}

            def tap(name, x):
                outputs[name] = x
                leaf = tf.cast(leaves[name], x.dtype)
                return leaf if name in example.cuts else x + leaf

            with tf.GradientTape() as tape:
                tape.watch(leaves)
                arguments, classes = self.architecture.arguments(images, labels)
                found = self.model(*arguments, tap=tap, training=True)
                loss = self._loss(found, classes)
                products = [tf.reduce_sum(tf.cast(outputs[name], self._wide) * cotangents[name]) for name in example.cuts]
                total = scale * tf.add_n([loss, *products])
            wanted = leaves, [value.value for value in self.model.trainable_variables]
            gradients = tape.gradient(total, wanted, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            # DIFFERS(tensorflow): what comes back through a gather are slices.
            return outputs, *tf.nest.map_structure(tf.convert_to_tensor, gradients), loss

        program = self._program(tapped, updates=False)

        def run(inputs: Segments) -> Answers:
            found = program(*self._tapped_arguments(inputs))
            parts = [self._answers(*part) for part in self._of_each_device(found)]
            return sum_of_parts(parts, scale=inputs.scale)

        return run

    def choices(self, example: Choices) -> Callable[[], Answers]:
        """Return the program that gives the outputs of some taps, where others are given."""
        shards = self.spec.shards

        def chosen(images, labels, leaves):
            outputs = {}

            def tap(name, x):
                outputs[name] = x
                return tf.cast(leaves[name], x.dtype) if name in leaves else x

            arguments, _ = self.architecture.arguments(images, labels)
            self.model(*arguments, tap=tap, training=True)
            return {name: outputs[name] for name in example.taps}

        program = self._program(chosen, updates=False)
        leaves = {name: self._images(array, shards) for name, array in example.leaves.items()}
        arguments = self._images(example.images, shards), self.replica.place(example.labels, shards), leaves

        def run() -> Answers:
            parts = self._of_each_device(program(*arguments))
            answers = [{f"output/{name}": _at_least_float32(output) for name, output in part.items()} for part in parts]
            return sum_of_parts(answers, scale=1.0)

        return run

    def _training_forward(self, images, labels):
        arguments, classes = self.architecture.arguments(images, labels)
        return self._loss(self.model(*arguments, training=True), classes)

    def _update_by_mean(self, found):
        of_each_variable = zip(*(gradients for _, gradients in found), strict=True)
        # Divided before they are added: the sum of scaled gradients could leave float32's range where their mean does not.
        self.update([tf.add_n([gradient / len(found) for gradient in gradients]) for gradients in of_each_variable])
        return tf.add_n([loss for loss, _ in found]) / len(found)

    def _tapped_arguments(self, inputs: Segments) -> tuple:
        shards, taps = self.spec.shards, (inputs.leaves, inputs.cotangents)
        leaves, cotangents = ({name: self._images(array, shards) for name, array in arrays.items()} for arrays in taps)
        scale = tf.constant(inputs.scale, self._wide)
        return self._images(inputs.images, shards), self.replica.place(inputs.labels, shards), leaves, cotangents, scale

    def _of_each_device(self, found) -> list:
        flat = [devices.parts(value, replica=self.replica) for value in tf.nest.flatten(found)]
        return [tf.nest.pack_sequence_as(found, values) for values in zip(*flat, strict=True)]

    def _answers(self, outputs, of_leaves, of_variables, loss) -> Answers:
        answers = {"loss": loss.numpy()}
        for tap, output in outputs.items():
            answers[f"dtype/{tap}"] = np.array(output.dtype.name)
            answers[f"output/{tap}"] = _at_least_float32(output)
            answers[f"leaf_gradient/{tap}"] = _at_least_float32(of_leaves[tap])
        gradient_of = dict(zip(map(id, self.model.trainable_variables), of_variables, strict=True))
        for name, variable, layout in self._rows():
            if variable.trainable:
                answers[f"parameter_gradient/{name}"] = to_canonical(gradient_of[id(variable)].numpy(), layout)
        return answers


def _at_least_float32(tensor: tf.Tensor) -> np.ndarray:
    return (tf.cast(tensor, tf.float32) if tensor.dtype.size < 4 else tensor).numpy()
